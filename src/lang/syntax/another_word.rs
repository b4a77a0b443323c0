//! A word in the place of `on` before a profile, `confirm to chat`, and one too many beside what an engine or a profile derives from,
//! `engine v = new vllm {`, `profile q = chat with {`: what the file declares says which word it is.

use std::ops::Range;

use super::blocks::first_word;
use super::misplaced::{Statement, units};
use super::twice::blank;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Expected};

/// The statement as it was meant, as long as it is, and what is said of it. `stop` is where it could not be read on.
pub(super) fn mended(statement: &Statement, stop: usize) -> Option<(String, Diagnostic)> {
    match first_word(statement.written()) {
        "confirm" | "curve" | "maximize" | "minimize" => instead_of_on(statement, stop),
        "engine" | "profile" => beside_its_parent(statement, stop),
        _ => None,
    }
}

/// `confirm to chat`
fn instead_of_on(statement: &Statement, stop: usize) -> Option<(String, Diagnostic)> {
    let text = statement.written();
    let units = units(text);
    let at = units.iter().position(|u| u.start >= stop)?;
    // `maximize on total_tps chat`: the word is there, and stands elsewhere
    if units[..at].iter().any(|u| &text[u.clone()] == "on") {
        return None;
    }
    let (word, profile) = (units[at].clone(), units.get(at + 1)?.clone());
    let is_profile = |unit: &Range<usize>| is_called(statement.text, "profile", &text[unit.clone()]);
    if word.len() < "on".len() || !is_name(&text[word.clone()]) || is_profile(&word) || !is_profile(&profile)
    {
        return None;
    }
    let mut mended = text.to_owned();
    mended.replace_range(word.clone(), &format!("{:1$}", "on", word.len()));
    if !statement.chunk.reads_at(&mended, &word) || statement.is_told(&mended) {
        return None;
    }
    let span = statement.span(word.clone());
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{}` was not expected here", &text[word]));
    let d = d.about(About::Expected(Expected::default())).label("expected `on`");
    Some((mended, d.help("write `on`").edit(span, "on")))
}

/// `engine v = new vllm {`, `profile q = chat with {`
fn beside_its_parent(statement: &Statement, stop: usize) -> Option<(String, Diagnostic)> {
    let text = statement.written();
    let kind = first_word(text);
    let units = units(text);
    let second = units.iter().position(|u| u.start >= stop).filter(|at| *at > 3)?;
    let (one, two) = (units[second - 1].clone(), units[second].clone());
    let behind_sign = &text[units[second - 2].clone()] == "=";
    let names = is_name(&text[one.clone()]) && is_name(&text[two.clone()]);
    let ends = units.get(second + 1).is_some_and(|u| text[u.clone()].starts_with(['{', '"']));
    if !behind_sign || !names || !ends {
        return None;
    }
    let known = |unit: &Range<usize>| is_called(statement.text, kind, &text[unit.clone()]);
    let (spare, gone) = match (known(&one), known(&two)) {
        (false, true) => (one.clone(), one.start..two.start),
        (true, false) => (two.clone(), one.end..two.end),
        _ => return None,
    };
    let mut mended = text.to_owned();
    blank(&mut mended, spare.clone());
    if !statement.chunk.reads_at(&mended, &spare) || statement.is_told(&mended) {
        return None;
    }
    let span = statement.span(spare.clone());
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{}` was not expected here", &text[spare]));
    let d =
        d.label("one word too many").help("what it derives from stands alone behind `=`: remove the word");
    Some((mended, d.edit(statement.span(gone), "")))
}

fn is_name(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(inner)
}

/// Whether a file declares or imports something of a kind by a name.
fn is_called(text: &str, kind: &str, name: &str) -> bool {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.lines().any(|line| {
        let mut words = line.split(|c| !in_name(c)).filter(|w| !w.is_empty());
        match words.next() {
            Some("use") => words.any(|w| w == name),
            Some(word) => word == kind && words.next() == Some(name),
            None => false,
        }
    })
}
