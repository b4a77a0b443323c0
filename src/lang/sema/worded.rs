//! The words of a `words` flag: apart at spaces, but a JSON object or array is one word, as a shell hands it over in quotes.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::schema::sorted;

/// The words of a text.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let space = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let end = json(rest).map_or(space, |(_, len)| len);
        let (word, behind) = rest.split_at(end);
        rest = behind;
        (!word.is_empty()).then_some(word)
    })
}

/// The words as identity reads them: one space apart, JSON by what it says.
pub fn normal(text: &str) -> String {
    let word = |w| json(w).map_or(Cow::from(w), |(value, _)| sorted(&value).to_string().into());
    split(text).map(word).collect::<Vec<_>>().join(" ")
}

/// The object or array that a text begins with, as far as it goes; none where something is glued to it.
fn json(text: &str) -> Option<(Json, usize)> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    let value = values.next()?.ok()?;
    let len = values.byte_offset();
    let ends = text[len..].chars().next().is_none_or(char::is_whitespace);
    ends.then_some((value, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_one_word_and_counts_by_what_it_says() {
        let text = "  a=b {\"b\": 1.0, \"a\": [1,  2]}\n{\"x\": 1}  [1, 2] {c d} {}e";
        let words: Vec<_> = split(text).collect();
        let whole = ["a=b", "{\"b\": 1.0, \"a\": [1,  2]}", "{\"x\": 1}", "[1, 2]", "{c", "d}", "{}e"];
        assert_eq!(words, whole);
        assert_eq!(normal(text), "a=b {\"a\":[1,2],\"b\":1} {\"x\":1} [1,2] {c d} {}e");
        assert_eq!(normal("a   b"), "a b");
        assert_eq!(split(" ").count(), 0);
    }
}
