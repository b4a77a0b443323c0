//! A key that stands twice in one JSON object: JSON readers keep the last and say nothing.

use std::collections::hash_map::Entry;
use std::ops::Range;

use foldhash::{HashMap, HashMapExt};

/// A key that stands twice: where first and where again, in the text.
#[derive(Debug, PartialEq, Eq)]
pub struct Doubled {
    pub first: Range<usize>,
    pub again: Range<usize>,
}

/// Every second key of an object of a JSON text, which may hold comments. The text is known to be JSON else.
pub fn keys(text: &str) -> Vec<Doubled> {
    let mut seen: HashMap<(usize, &str), Range<usize>> = HashMap::new();
    let mut out = Vec::new();
    for (object, at) in all_keys(text) {
        match seen.entry((object, &text[at.clone()])) {
            Entry::Occupied(first) => out.push(Doubled { first: first.get().clone(), again: at }),
            Entry::Vacant(free) => drop(free.insert(at)),
        }
    }
    out
}

/// Where the keys of the outermost object of a JSON text stand, quotes included.
pub fn top_keys(text: &str) -> impl Iterator<Item = Range<usize>> {
    all_keys(text).into_iter().filter(|(object, _)| *object == 0).map(|(_, at)| at)
}

/// Every key, with the number of its object among the brackets as they open.
fn all_keys(text: &str) -> Vec<(usize, Range<usize>)> {
    let bytes = text.as_bytes();
    let (mut open, mut opened) = (Vec::new(), 0);
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                open.push(opened);
                opened += 1;
            }
            b'}' | b']' => drop(open.pop()),
            b'#' => at += text[at..].find('\n').unwrap_or(text.len() - at) - 1,
            b'"' => {
                let end = string_end(bytes, at);
                if let Some(object) = open.last().filter(|_| is_key(text, end)) {
                    out.push((*object, at..end));
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
