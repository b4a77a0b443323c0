//! Several mistakes in one JSON object: each is told, with those before it mended, and JSON is recognised wherever it may stand.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::blocks::first_word;
use super::expected::by_rule;
use super::grammar::Rule;
use super::remedies::number_in_words;
use super::signs::digits;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// Mistakes that are told of one object.
const MOST: usize = 8;

/// Where the JSON begins that is open at the end of a text: behind the sign of a flag, or the word of a request's body.
pub fn open(before: &str) -> Option<usize> {
    let at = match before.rfind("={") {
        Some(sign) => sign + 1,
        // objects in a list
        None if before.contains("=[{") => before.find("=[{")? + 2,
        None if first_word(before.trim_start()) == "body" => before.find('{')?,
        None => return None,
    };
    let inner = &before[at..];
    (inner.matches('{').count() > inner.matches('}').count()).then_some(at)
}

/// Tells what else is wrong with the JSON in which a mistake was found; `text` is what could not be read, at `base` of the file.
pub fn others(id: FileId, rule: Rule, text: &str, base: usize, first: &Diagnostic, sink: &mut Sink) {
    let (mut mended, mut found, mut moved) = (text.to_owned(), first.clone(), 0_isize);
    for _ in 0..MOST {
        let [edit] = found.edits.as_slice() else { return };
        let within = edit.span.range().start.checked_sub(base).zip(edit.span.range().end.checked_sub(base));
        let Some((from, to)) = within.filter(|(from, to)| mended.get(*from..*to).is_some()) else { return };
        let at = found.span.range().start.saturating_sub(base);
        if found.code != Code::Unexpected || mended.get(..at).and_then(open).is_none() {
            return;
        }
        moved += edit.text.len() as isize - (to - from) as isize;
        mended.replace_range(from..to, &edit.text);
        let behind = from + edit.text.len();
        found = by_rule(id, rule, &mended, base, &[]);
        let next = found.span.range().start.saturating_sub(base);
        let inside = mended.get(..next).and_then(open).is_some();
        if !inside || next < behind || found.edits.iter().any(|e| e.span.range().start < base + behind) {
            return;
        }
        sink.push(back(&found, moved));
    }
}

/// `1_000`, `0x10`, `3.`, `four`: a number as JSON has it, and what it has not.
pub(super) fn number_elsewhere(word: &str) -> Option<(String, &'static str)> {
    if let Some(number) = number_in_words(word) {
        return Some((number.to_string(), "a number is written in digits"));
    }
    if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        let number = u32::from_str_radix(hex, 16).ok()?;
        return Some((number.to_string(), "numbers in JSON are decimal"));
    }
    if let Some(whole) = word.strip_suffix('.').filter(|n| digits(n)) {
        return Some((format!("{whole}.0"), "digits stand behind a point"));
    }
    let grouped = word.contains('_') && word.split('_').all(digits);
    grouped.then(|| (word.replace('_', ""), "digits stand together"))
}

/// What was found in a text with edits, where it stands without them.
fn back(found: &Diagnostic, moved: isize) -> Diagnostic {
    let place = |at: u32| (at as usize).saturating_add_signed(-moved);
    let whole = |span: Span| Span::new(span.file, place(span.start)..place(span.end));
    let mut d = found.clone();
    d.span = whole(d.span);
    d.edits.iter_mut().for_each(|e| e.span = whole(e.span));
    d
}

/// `={method: "ngram", tokens: 3}`: the object that a token stands in with quotes around its keys, if that is all that it lacks.
pub(super) fn bare_keys(chunk: &str, token: &Range<usize>) -> Option<(Range<usize>, String)> {
    static BARE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)").expect("a pattern"));
    let line = chunk[..token.start].rfind('\n').map_or(0, |n| n + 1);
    let open = line + chunk[line..token.start].find("={")? + 1;
    let line = chunk[open..].lines().next()?;
    let object = &line[..=line.rfind('}')?];
    let right = BARE.replace_all(object, "$1\"$2\"$3").into_owned();
    serde_json::from_str::<Json>(&right)
        .is_ok_and(|v| v.is_object())
        .then(|| (open..open + object.len(), right))
}
