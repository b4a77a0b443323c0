//! YAML as a tree, by the types that PyYAML's safe loader gives plain scalars: the tools that these files belong to read them so.
//!
//! The parser gives events; the tree is made here, with limits, and without aliases, which could blow it up.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

const DEEPEST: usize = 32;
const MOST: usize = 100_000;

/// Lines that are read as if they were indented, at most.
const MOST_INDENTED: usize = 100;

/// The first document of a text. The error says what is wrong and where.
pub fn tree(text: &str) -> Result<Value, String> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..MOST_INDENTED {
        match strict(&text) {
            Err(Wrong { line: Some(line), why }) => {
                text = Cow::Owned(closed_deeper(&text, line).ok_or(why)?);
            }
            other => return other.map_err(|wrong| wrong.why),
        }
    }
    strict(&text).map_err(|wrong| wrong.why)
}

/// The text with a line further in, where that is what a strict reader minds: a `]` that stands as far out as the key of its list, which is
/// how people write it, and which PyYAML and Kubernetes read.
fn closed_deeper(text: &str, line: usize) -> Option<String> {
    let begins: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let (before, rest) = text.split_at_checked(begins)?;
    let closes = rest.trim_start_matches(' ').starts_with([']', '}']);
    let indent = rest.len() - rest.trim_start_matches(' ').len();
    // deep enough for any key; twice does not help
    (closes && indent < DEEP).then(|| format!("{before}{}{rest}", " ".repeat(DEEP)))
}

const DEEP: usize = 200;

/// What is wrong with a text.
struct Wrong {
    why: String,
    /// the line, counting from 1, where it is how far in that stands
    line: Option<usize>,
}

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Self { why, line: None }
    }
}

impl From<&str> for Wrong {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

fn strict(text: &str) -> Result<Value, Wrong> {
    let mut stack: Vec<Open> = Vec::new();
    let mut count = 0;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|e| Wrong {
            why: format!("it is not YAML: line {}: {}", e.marker().line(), e.info()),
            line: e.info().contains("indent").then(|| e.marker().line()),
        })?;
        count += 1;
        if count > MOST || stack.len() > DEEPEST {
            return Err("it is larger or deeper than any benchmark's file".into());
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
            Event::Alias(_) => return Err("aliases (`*name`) are not read".into()),
            _ => None,
        };
        let Some(value) = done else { continue };
        match stack.last_mut() {
            Some(open) => open.add(value)?,
            None => return Ok(value),
        }
    }
    Err("there is nothing in it".into())
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
    fn a_list_may_be_closed_as_far_out_as_its_key() {
        for (text, expected) in [
            ("a: [\n  \"x\"\n]\nb: 1\n", json!({"a": ["x"], "b": 1})),
            ("a:\n  b: {\n    x: 1\n  }\n  c: 2\n", json!({"a": {"b": {"x": 1}, "c": 2}})),
            ("- a: [1,\n    2\n  ]\n  b: [\n    3\n  ]\n", json!([{"a": [1, 2], "b": [3]}])),
        ] {
            assert_eq!(tree(text), Ok(expected), "{text}");
        }
        assert!(tree("a:\n  b: 1\n ]\n").is_err());
        let many = "a: [\n]\n".repeat(MOST_INDENTED * 3);
        assert!(tree(&many).is_err(), "a key that stands twice");
    }

    #[test]
    fn bombs_and_broken_text_are_errors() {
        assert!(tree("a: &x [1]\nb: *x\n").is_err_and(|e| e.contains("aliases")));
        assert!(tree(&"[".repeat(5000)).is_err());
        assert!(tree("a: [1").is_err_and(|e| e.contains("line")));
        assert!(tree("").is_err());
    }
}
