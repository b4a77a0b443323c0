//! A document masked piece by piece: that of a long study is too large to be held as a tree beside its text.

use indexmap::IndexMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use super::mask::{Masker, is_variable};

/// What a piece of a document is: a field, or an element of a field's list.
struct Piece<'a> {
    raw: &'a RawValue,
    /// the field's name, where the piece is all of it
    field: Option<String>,
}

/// The document with its secrets masked; `None` if there are none, or if this is no object of JSON.
pub(super) fn masked(masker: &Masker, text: &str) -> Option<String> {
    if !masker.may_hold(text.as_bytes()) {
        return None;
    }
    // one line stays one line
    let lines = text.starts_with("{\n");
    let mut out = String::new();
    let mut copied = 0;
    for piece in pieces(text)? {
        let Some(instead) = piece.masked(masker, lines) else { continue };
        // a raw value is a part of the text that it was read from
        let start = piece.raw.get().as_ptr().addr() - text.as_ptr().addr();
        out.push_str(&text[copied..start]);
        out.push_str(&instead);
        copied = start + piece.raw.get().len();
    }
    (copied > 0).then(|| out + &text[copied..])
}

fn pieces(text: &str) -> Option<Vec<Piece<'_>>> {
    let fields: IndexMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    let mut all = Vec::new();
    for (name, raw) in fields {
        match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
            Ok(elements) if !is_variable(&name) => {
                all.extend(elements.into_iter().map(|raw| Piece { raw, field: None }));
            }
            _ => all.push(Piece { raw, field: Some(name) }),
        }
    }
    Some(all)
}

impl Piece<'_> {
    /// The piece masked, as far to the right as it stood; `None` if nothing in it is to be masked.
    fn masked(&self, masker: &Masker, lines: bool) -> Option<String> {
        let (value, depth) = match &self.field {
            Some(name) => {
                let value: Json = serde_json::from_str(self.raw.get()).ok()?;
                let mut alone = Json::Object(Map::from_iter([(name.clone(), value)]));
                if !masker.tree(&mut alone) {
                    return None;
                }
                (alone[name].take(), 1)
            }
            None => (masker.json(self.raw.get().as_bytes())?, 2),
        };
        if !lines {
            return serde_json::to_string(&value).ok();
        }
        let text = serde_json::to_string_pretty(&value).ok()?;
        Some(text.replace('\n', &format!("\n{}", "  ".repeat(depth))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(document: &Json) -> (String, String) {
        let masker = Masker::new(["very-secret-value".to_owned()]);
        let text = serde_json::to_string_pretty(document).expect("text");
        let whole = masker.json(text.as_bytes()).and_then(|v| serde_json::to_string_pretty(&v).ok());
        (masked(&masker, &text).unwrap_or(text.clone()), whole.unwrap_or(text))
    }

    #[test]
    fn pieces_say_what_the_whole_says() {
        for document in [
            serde_json::json!({"a": "very-secret-value", "b": [1, {"c": ["very-secret-value"], "d": {}}, "x"], "e": null}),
            serde_json::json!({"HF_TOKEN": "anything", "env": {"MY_API_KEY": "another"}, "flags": [{"name": "--api-key", "value": "k"}]}),
            serde_json::json!({"MY_KEYS": ["one", {"two": "three"}], "plain": [], "text": "no secret"}),
            serde_json::json!({"only": ["plain", "things"]}),
        ] {
            let (by_piece, whole) = both(&document);
            assert_eq!(by_piece, whole);
            assert!(!by_piece.contains("very-secret-value"));
        }
    }
}
