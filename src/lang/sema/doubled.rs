//! A key that stands twice in one JSON object: JSON readers keep the last and say nothing.

use std::ops::Range;

/// A key that stands twice: where first and where again, in the text.
#[derive(Debug, PartialEq, Eq)]
pub struct Doubled {
    pub first: Range<usize>,
    pub again: Range<usize>,
}

/// Every second key of an object of a JSON text, which may hold comments. The text is known to be JSON else.
pub fn keys(text: &str) -> Vec<Doubled> {
    let bytes = text.as_bytes();
    // for each open bracket the keys so far; a list has none
    let mut open: Vec<Vec<Range<usize>>> = Vec::new();
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => open.push(Vec::new()),
            b'}' | b']' => drop(open.pop()),
            b'#' => at += text[at..].find('\n').unwrap_or(text.len() - at) - 1,
            b'"' => {
                let end = string_end(bytes, at);
                if is_key(text, end)
                    && let Some(keys) = open.last_mut()
                {
                    match keys.iter().find(|k| text[(*k).clone()] == text[at..end]) {
                        Some(first) => out.push(Doubled { first: first.clone(), again: at..end }),
                        None => keys.push(at..end),
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    out
}

/// Where the keys of the outermost object of a JSON text stand, quotes included.
pub fn top_keys(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut out, mut at, mut depth) = (Vec::new(), 0, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'#' => at += text[at..].find('\n').unwrap_or(text.len() - at) - 1,
            b'"' => {
                let end = string_end(bytes, at);
                if depth == 1 && is_key(text, end) {
                    out.push(at..end);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    out
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Whether a colon follows, comments and line ends apart.
fn is_key(text: &str, end: usize) -> bool {
    let mut rest = text[end..].trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, next)| next).trim_start();
    }
    rest.starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_of_one_object_are_doubled() {
        let text = r#"{"a": {"a": 1}, "b": ["a", "a"], "c": "a", "a": 2}"#;
        let again = text.rfind("\"a\"").unwrap_or(0);
        assert_eq!(keys(text), [Doubled { first: 1..4, again: again..again + 3 }]);
        assert_eq!(keys("{\"a\" # \"a\":\n : 1, # \"a\": \n \"b\": 1}"), []);
    }
}
