//! What an engine or a profile derives from, in quotes as a title is: `engine v = "vllm" {`.

use super::blocks::first_word;
use super::heads::{spelled, states_own};

pub(super) fn is_quoted_name(text: &str) -> bool {
    let inner = text.trim_matches('"');
    text.len() == inner.len() + 2 && spelled(inner).as_deref() == Some(inner)
}

/// Whether a file has a word more than once: where it is used and, as far as one can tell, where it is declared or imported.
pub(super) fn is_named_twice(file: &str, word: &str) -> bool {
    file.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| *w == word).nth(1).is_some()
}

/// Whether the sign between the name of an engine or a profile and the rest of its text stands before what it derives from, in quotes.
pub(super) fn derives_from_a_text(file: &str, before: &str, behind: &str) -> bool {
    let Some(brace) = behind.find('{') else { return false };
    let (text, block) = (behind[..brace].trim(), &behind[brace..]);
    before.split_whitespace().count() == 2
        && is_quoted_parent(first_word(before), text, block)
        && is_named_twice(file, text.trim_matches('"'))
}

/// `engine v = "vllm" {`: whether a text behind the sign is what it derives from. A block that says all itself has a title there.
pub(super) fn is_quoted_parent(keyword: &str, text: &str, behind: &str) -> bool {
    let block = behind.trim_start();
    let derives = matches!(keyword, "engine" | "profile") && block.starts_with('{');
    derives && is_quoted_name(text) && !states_own(keyword, block)
}
