//! Values as the language writes them: bare words, strings with their escapes, JSON objects as they are.

use serde_json::Value as Json;

/// A string of the language that inserts nothing: quotes, backslashes and braces are escaped.
pub fn text(value: &str) -> String {
    quoted(&value.replace('{', "{{").replace('}', "}}"))
}

/// A string of the language whose braces stand as they are: for serve lines.
pub fn template(value: &str) -> String {
    quoted(value)
}

fn quoted(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A flag's or variable's value: a bare word where it can be one, else a string.
pub fn single(value: &str) -> String {
    let breaks = |c: char| c.is_whitespace() || c.is_control() || "\"',[](){}".contains(c);
    if value.is_empty() || value.contains(breaks) { text(value) } else { value.to_owned() }
}

/// A JSON flag's value: an object stands as it is, everything else as a string.
pub fn json(value: &str) -> String {
    match serde_json::from_str::<Json>(value) {
        Ok(object @ Json::Object(_)) => spaced(&object),
        _ => single(value),
    }
}

/// A word as it can stand in a message.
pub fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(48).collect()
}

/// JSON on one line, with a space behind colons and commas.
pub fn spaced(json: &Json) -> String {
    match json {
        Json::Object(map) => {
            let pair = |(k, v): (&String, &Json)| format!("{}: {}", Json::from(k.as_str()), spaced(v));
            format!("{{{}}}", map.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        Json::Array(all) => format!("[{}]", all.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// A name of the language: `snake_case` that begins with a letter and is no reserved word.
pub fn name(wanted: &str) -> String {
    let mut out = String::new();
    for c in wanted.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if out.ends_with('_') || out.is_empty() => {}
            _ => out.push('_'),
        }
        if out.len() >= 40 {
            break;
        }
    }
    let out = out.trim_end_matches('_');
    let begins = out.starts_with(|c: char| c.is_ascii_lowercase());
    let reserved = ["and", "or", "not", "true", "false", "engine", "best", "base"].contains(&out);
    if begins && !reserved { out.to_owned() } else { format!("x_{out}").trim_end_matches('_').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_people_write_them() {
        assert_eq!(single("qwen3"), "qwen3");
        assert_eq!(single("a, b"), "\"a, b\"");
        assert_eq!(single(""), "\"\"");
        assert_eq!(single("[1, 2]"), "\"[1, 2]\"");
        assert_eq!(single("a{b}"), "\"a{{b}}\"");
        assert_eq!(json("{\"a\":[1,2],\"b\":{}}"), "{\"a\": [1, 2], \"b\": {}}");
        assert_eq!(json("[1,2]"), "\"[1,2]\"");
        assert_eq!(text("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
    }

    #[test]
    fn names_are_names() {
        assert_eq!(name("Qwen3-8B"), "qwen3_8b");
        assert_eq!(name("3B"), "x_3b");
        assert_eq!(name("--"), "x");
        assert_eq!(name("not"), "x_not");
        assert_eq!(name("Ünïcode.Model"), "n_code_model");
    }
}
