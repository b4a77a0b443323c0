//! A sign that stands for another between two things of a statement, `axis q -> --flag=[1]`, `on load& chat`, or that is one too many beside a
//! word: where the statement can be read with one other sign in its place, or without it, that sign is the mistake.

use std::ops::Range;

use super::blocks::first_word;
use super::misplaced::Statement;
use super::words;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Expected};

/// Signs of other languages and of neighbouring keys.
const SIGNS: [char; 13] = ['-', '<', '>', '&', '|', ';', '!', '$', '.', '?', '@', '^', '~'];
/// What separates or joins things here.
const MEANT: [&str; 4] = ["=", ",", ":", ".."];

/// The statement as it was meant, as long as it is, and what is said of it. `stop` is where it could not be read on.
pub(super) fn mended(statement: &Statement, stop: usize) -> Option<(String, Diagnostic)> {
    let text = statement.written();
    let here = sign_at(text, stop);
    let sign = here.clone().or_else(|| sign_before(text, stop))?;
    // `confirm on docs.`: a sentence ends there, and no list goes on
    let ends = &text[sign.clone()] == "."
        && text[sign.end..].split('\n').next().is_none_or(|rest| rest.trim().is_empty());
    let mut read: Vec<(String, &'static str)> = MEANT
        .into_iter()
        .filter(|right| *right != "," || !ends)
        // behind a value that took the sign along, only a comma is missing
        .filter(|right| if here.is_some() { !is_within_a_word(text, &sign) } else { *right == "," })
        .filter_map(|right| Some((with(statement, &sign, right)?, right)))
        .collect();
    if read.is_empty() && here.is_some() && is_beside_a_word(text, &sign) {
        read.extend(with(statement, &sign, "").map(|mended| (mended, "")));
    }
    // which of several was meant, nobody knows
    let (mended, right) = read.pop().filter(|_| read.is_empty())?;
    let place = statement.span(sign.clone());
    let said = statement.said_at(place);
    if said.is_some_and(|d| here.is_none() || d.edits.len() > 1)
        || here.is_some() && statement.is_told(&mended)
    {
        return None;
    }
    // what was said in the same way may say what the sign was meant for
    let alike = |d: &&&Diagnostic| {
        d.span == place && matches!(d.edits.as_slice(), [edit] if edit.span == place && edit.text == right)
    };
    let told = said.filter(alike).map_or_else(|| told(statement, &sign, right), |d| (**d).clone());
    Some((mended, told))
}

/// The statement with another sign in that place, or none, if it can be read then.
fn with(statement: &Statement, sign: &Range<usize>, right: &str) -> Option<String> {
    let lists = || matches!(first_word(statement.written()), "rate" | "concurrency");
    let of_profile = statement.chunk.is_of_a_profile();
    let known = || words::PROFILE_SETTINGS.contains(&first_word(statement.written()));
    let fits = right.len() <= sign.len() && (!of_profile || known() && (right != "," || lists()));
    let mut mended = statement.written().to_owned();
    mended.replace_range(sign.clone(), &format!("{right:0$}", sign.len()));
    (fits && statement.chunk.reads_at(&mended, sign)).then_some(mended)
}

fn told(statement: &Statement, sign: &Range<usize>, right: &str) -> Diagnostic {
    let text = statement.written();
    let span = statement.span(sign.clone());
    let d =
        Diagnostic::new(Code::Unexpected, span, format!("`{}` was not expected here", &text[sign.clone()]));
    if right.is_empty() {
        return d.label("one too many").help("remove it").edit(span, "");
    }
    let d = d.about(About::Expected(Expected::sign(right))).label(format!("expected `{right}`"));
    // no space stands before a comma
    let start =
        if right == "," { text[..sign.start].trim_end_matches([' ', '\t']).len() } else { sign.start };
    d.help(format!("write `{right}`")).edit(statement.span(start..sign.end), right)
}

/// The sign that stands at a place, of one letter or two.
fn sign_at(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?.trim_start_matches([' ', '\t']);
    let start = text.len() - rest.len();
    let len = rest.find(|c| !SIGNS.contains(&c)).unwrap_or(rest.len());
    // two dots and two dashes are signs of this language
    let other = !matches!(&rest[..len], ".." | "--");
    let alone = other && !text[..start].ends_with(SIGNS) && !rest[len..].starts_with(['=', ',', ':', '"']);
    (matches!(len, 1 | 2) && alone).then_some(start..start + len)
}

/// The sign that was read as the end of the value before a place.
fn sign_before(text: &str, at: usize) -> Option<Range<usize>> {
    let end = text.get(..at)?.trim_end().len();
    let start = text[..end].trim_end_matches(['<', '>', ';']).len();
    let glued = text[..start].ends_with(|c: char| c.is_alphanumeric());
    (end - start == 1 && end < at && glued).then_some(start..end)
}

/// `my-load`, `1.5`
fn is_within_a_word(text: &str, sign: &Range<usize>) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    matches!(&text[sign.clone()], "-" | ".")
        && word(text[..sign.start].chars().next_back())
        && word(text[sign.end..].chars().next())
}

/// `study$ x`, `on- chat`: on one side a word goes on to the sign, and on the other none does.
fn is_beside_a_word(text: &str, sign: &Range<usize>) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    word(text[..sign.start].chars().next_back()) && !word(text[sign.end..].chars().next())
}
