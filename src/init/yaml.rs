//! YAML as a tree, by the types that PyYAML's safe loader gives plain scalars: the tools that these files belong to read them so.
//!
//! The parser gives events; the tree is made here, with limits, and without aliases, which could blow it up.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

const DEEPEST: usize = 32;
const MOST: usize = 100_000;

/// The first document of a text. The error says what is wrong and where.
pub fn tree(text: &str) -> Result<Value, String> {
    let mut stack: Vec<Open> = Vec::new();
    let mut count = 0;
    for event in Parser::new_from_str(text) {
        let (event, _) =
            event.map_err(|e| format!("it is not YAML: line {}: {}", e.marker().line(), e.info()))?;
        count += 1;
        if count > MOST || stack.len() > DEEPEST {
            return Err("it is larger or deeper than any benchmark's file".to_owned());
        }
        let done = match event {
            Event::MappingStart(..) => {
                stack.push(Open::Map(Map::new(), None));
                None
            }
            Event::SequenceStart(..) => {
                stack.push(Open::List(Vec::new()));
                None
            }
            Event::MappingEnd | Event::SequenceEnd => stack.pop().map(Open::close),
            Event::Scalar(text, style, ..) => Some(scalar(&text, style)),
            Event::Alias(_) => return Err("aliases (`*name`) are not read".to_owned()),
            _ => None,
        };
        let Some(value) = done else { continue };
        match stack.last_mut() {
            Some(open) => open.add(value)?,
            None => return Ok(value),
        }
    }
    Err("there is nothing in it".to_owned())
}

enum Open {
    Map(Map<String, Value>, Option<String>),
    List(Vec<Value>),
}

impl Open {
    fn add(&mut self, value: Value) -> Result<(), String> {
        match self {
            Self::List(all) => all.push(value),
            Self::Map(map, key) => match key.take() {
                Some(key) if map.contains_key(&key) => {
                    return Err(format!("`{}` is there twice", super::value::plain(&key)));
                }
                Some(key) => {
                    map.insert(key, value);
                }
                None => *key = Some(word(&value).ok_or("a key of it is no word")?),
            },
        }
        Ok(())
    }

    fn close(self) -> Value {
        match self {
            Self::Map(map, _) => Value::Object(map),
            Self::List(all) => Value::Array(all),
        }
    }
}

/// A scalar as a word of a command.
pub fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        Value::Null => Some(String::new()),
        _ => None,
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Ok(n) = text.parse::<i64>() {
        return Some(n.into());
    }
    text.parse::<f64>().ok().filter(|_| text.contains('.')).and_then(Number::from_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_have_the_types_that_the_tools_give_them() {
        let text = "a: 1\nb: 0.85\nc: [x, null, true]\nd: \"1\"\ne: {f: off}\ng: 0,1\nh:\n- 1\n- 2\ni:\n";
        let expected = json!({"a": 1, "b": 0.85, "c": ["x", null, true], "d": "1", "e": {"f": false}, "g": "0,1", "h": [1, 2], "i": null});
        assert_eq!(tree(text), Ok(expected));
    }

    #[test]
    fn bombs_and_broken_text_are_errors() {
        assert!(tree("a: &x [1]\nb: *x\n").is_err_and(|e| e.contains("aliases")));
        assert!(tree(&"[".repeat(5000)).is_err());
        assert!(tree("a: [1").is_err_and(|e| e.contains("line")));
        assert!(tree("").is_err());
    }
}
