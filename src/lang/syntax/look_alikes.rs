//! Letters and signs that look like those of the language and are others: a Cyrillic `а` in a flag or in a name that is declared with a Latin
//! one, the dash of a word processor in front of a flag, wide braces. What was meant is read, so that nothing else follows from them.

use std::ops::Range;

use super::lexical::{Piece, Scanner};
use super::words;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Expected, Sink};
use crate::lang::invisible::plain;
use crate::lang::source::{FileId, Span};

/// Nobody types more of them by chance; each makes a fix longer.
const MOST: usize = 64;
/// Words with such letters that are looked for in the whole file.
const MOST_LOOKED_FOR: usize = 256;

/// The text with what they look like, all behind them in its place; they are told of.
pub(super) fn as_they_look(id: FileId, text: &mut String, sink: &mut Sink) {
    if text.is_ascii() {
        return;
    }
    for found in braces(text).into_iter().chain(dashes(text)).chain(letters(text)).take(MOST) {
        sink.push(found.told(id, text));
        found.mend(text);
    }
}

/// What stands in a place, and how it is written.
struct LookAlike {
    place: Range<usize>,
    right: String,
    /// where there is room for what is shorter: at the space before it
    room: usize,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Brace,
    Dash,
    Letter,
}

impl LookAlike {
    fn told(&self, id: FileId, text: &str) -> Diagnostic {
        let written = &text[self.place.clone()];
        let other = written.char_indices().find(|(_, c)| !c.is_ascii());
        let (at, sign) = other.map_or((0, ' '), |(at, c)| (self.place.start + at, c));
        let here = Span::new(id, at..at + sign.len_utf8());
        let d = Diagnostic::new(Code::Unexpected, here, format!("`{sign}` was not expected here"));
        let (right, whole) = (self.right.as_str(), Span::new(id, self.place.clone()));
        match self.what {
            What::Brace => d
                .about(About::Expected(Expected::sign(right)))
                .label(format!("expected `{right}`"))
                .help(format!("`{sign}` is a wide sign: write `{right}`"))
                .edit(here, right),
            What::Dash => d
                .label("expected `--`")
                .help(format!("flags begin with two plain dashes: write `--` for `{sign}`"))
                .edit(whole, right),
            What::Letter => d
                .label("a letter of another script")
                .help(format!(
                    "it looks like `{}` and is another: write `{right}`",
                    plain(sign).unwrap_or(sign)
                ))
                .edit(whole, right),
        }
    }

    /// What is longer than what it stands for gets spaces behind it, or before the word that it is a part of.
    fn mend(&self, text: &mut String) {
        let spare = " ".repeat(self.place.len().saturating_sub(self.right.len()));
        let mended = if self.what == What::Brace {
            [&self.right, spare.as_str()].concat()
        } else {
            [spare.as_str(), &text[self.room..self.place.start], &self.right].concat()
        };
        let from = if self.what == What::Brace { self.place.start } else { self.room };
        text.replace_range(from..self.place.end, &mended);
    }
}

/// The places of a text that are in no string and no comment, where a character begins.
fn plain_places(text: &str) -> impl Iterator<Item = (usize, char)> {
    let other = |(at, piece): (usize, Piece)| (piece == Piece::Other).then_some(at);
    Scanner::new(text).filter_map(other).filter_map(|at| Some((at, text.get(at..)?.chars().next()?)))
}

/// `｛`, `｝`
fn braces(text: &str) -> Vec<LookAlike> {
    let apart = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "=\"{}[](),:".contains(c));
    let found = plain_places(text).filter_map(|(at, c)| {
        let right = match c {
            '｛' | '﹛' | '❴' => "{",
            '｝' | '﹜' | '❵' => "}",
            _ => return None,
        };
        let place = at..at + c.len_utf8();
        // within a value it is a part of that
        let alone = apart(text[..at].chars().next_back()) || apart(text[place.end..].chars().next());
        alone.then(|| LookAlike { place, right: right.to_owned(), room: at, what: What::Brace })
    });
    found.collect()
}

/// `—max-num-seqs`, `-–max-num-seqs`
fn dashes(text: &str) -> Vec<LookAlike> {
    let dash = |c: char| matches!(c, '-' | '—' | '–' | '−');
    let mut found: Vec<LookAlike> = Vec::new();
    for (at, c) in plain_places(text) {
        let begins = dash(c) && (at == 0 || text[..at].ends_with([' ', '\t', '\n', '(', ',', ':', '[']));
        let name = text[at..].trim_start_matches(dash);
        let place = at..text.len() - name.len();
        let other = !text[place.clone()].is_ascii() && name.starts_with(|c: char| c.is_ascii_alphabetic());
        if begins && other {
            found.push(LookAlike { room: at, place, right: "--".to_owned(), what: What::Dash });
        }
    }
    found
}

/// Words in which such letters stand: flags, words of the language, and names that the file has elsewhere with the right ones.
fn letters(text: &str) -> Vec<LookAlike> {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let (mut found, mut last): (Vec<LookAlike>, usize) = (Vec::new(), 0);
    let mut left = MOST_LOOKED_FOR;
    for (at, c) in plain_places(text) {
        if at < last || plain(c).is_none() {
            continue;
        }
        // a text of another script holds as many as it has words
        left -= 1;
        if left == 0 {
            break;
        }
        let start = text[..at].trim_end_matches(in_word).len();
        let end = text[at..].find(|c| !in_word(c)).map_or(text.len(), |n| at + n);
        last = end;
        let word = &text[start..end];
        let right: Option<String> =
            word.chars().map(|c| if c.is_ascii() { Some(c) } else { plain(c) }).collect();
        let Some(right) = right.filter(|_| word.chars().any(|c| c.is_ascii_alphabetic())) else { continue };
        let room = text[..start].trim_end_matches(|c: char| !c.is_whitespace()).len();
        // of a value all letters may be meant, and what is declared with such a letter is told of there
        let is_value = text[room..start].contains(['=', '"']);
        let known = right.starts_with("--") || has_word(text, &right) || is_of_the_language(&right);
        if !is_value && known && !is_declared(text, word) {
            found.push(LookAlike { place: start..end, right, room, what: What::Letter });
        }
    }
    found
}

/// Whether a text has a word elsewhere, as it is.
fn has_word(text: &str, word: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(in_word) && !text[at + word.len()..].starts_with(in_word))
}

fn is_of_the_language(word: &str) -> bool {
    let all = [
        words::DECLARATIONS,
        words::ENGINE_SETTINGS,
        words::PROFILE_SETTINGS,
        words::STUDY_SETTINGS,
        words::STEP_SETTINGS,
        words::SITE_SETTINGS,
    ];
    all.iter().any(|known| known.contains(&word))
}

/// Whether a word stands behind one that gives names: as it is written there, it is called.
fn is_declared(text: &str, word: &str) -> bool {
    let named = |at: usize| {
        let line = text[..at].rsplit(['\n', '{']).next().unwrap_or_default().trim();
        words::DECLARATIONS.contains(&line) || matches!(line, "step" | "track" | "prune")
    };
    text.match_indices(word).any(|(at, _)| named(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> (String, usize) {
        let (mut right, mut sink) = (text.to_owned(), Sink::default());
        as_they_look(FileId(0), &mut right, &mut sink);
        assert_eq!(right.len(), text.len());
        (right, sink.found().count())
    }

    #[test]
    fn what_looks_alike_is_read_as_that() {
        for (text, right) in [
            ("step a ｛ vary b ｝", "step a {   vary b }  "),
            ("    -–seqs=4", "      --seqs=4"),
            ("axis a = --mаx-seqs=[1]", "axis a =  --max-seqs=[1]"),
            ("axis seqs = --x\nvary sеqs", "axis seqs = --x\nvary  seqs"),
            (
                "use std/engines { vllm, sglаng }\nengine b = sglang {",
                "use std/engines { vllm,  sglang }\nengine b = sglang {",
            ),
        ] {
            assert_eq!(mended(text), (right.to_owned(), text.matches(['｛', '｝', '–', 'а', 'е']).count()));
        }
    }

    #[test]
    fn texts_values_and_names_as_they_are_declared_stay() {
        for text in [
            "note \"sеqs ｛\"\naxis seqs = --x",
            "axis sеqs = --x\nvary sеqs",
            "--x=sеqs\naxis seqs = --y",
            "# sеqs",
        ] {
            assert_eq!(mended(text), (text.to_owned(), 0), "{text}");
        }
    }
}
