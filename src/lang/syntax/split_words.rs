//! A space within a word: `concurr ency 512`, `axis qu ant = …`. Two words side by side that are nothing by themselves, and together one
//! that the language has or that the file has elsewhere. And the words of a metric's name with spaces between: `tokens per joule`.

use std::ops::Range;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::blocks::first_word;
use super::hints::is_condition;
use super::lexical::{Piece, Scanner};
use super::words;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::sema::metric_kind;
use crate::lang::source::{FileId, Span};

/// Words are not counted in longer files.
const MOST_BYTES: usize = 256 << 10;
/// Shorter words are made of too many others.
const SHORTEST: usize = 3;

/// The text with such words made one, all else in its place; `None` where there are none on the lines that `told` finds wrong.
pub(super) fn joined(id: FileId, text: &str, told: &Sink, sink: &mut Sink) -> Option<String> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let mut lines: Vec<_> = told
        .found()
        .filter(|d| d.is_error() && d.span.file == id)
        .map(|d| d.span.line_in(text).range())
        .collect();
    lines.sort_by_key(|l| l.start);
    lines.dedup();
    let metrics: HashSet<&str> =
        text.lines().filter_map(|l| l.strip_prefix("metric ")).map(first_word).collect();
    let mut counts = None;
    let mut right = text.to_owned();
    for line in lines {
        if let Some(place) = spaced_metric(text, line.clone(), &metrics) {
            let (written, whole) = (&text[place.clone()], text[place.clone()].replace(' ', "_"));
            sink.push(one_word(Span::new(id, place.clone()), written, &whole));
            right.replace_range(place, &whole);
            continue;
        }
        for (first, second) in pairs(&text[line.clone()]) {
            let (one, two) = (
                &text[line.start + first.0..line.start + first.1],
                &text[line.start + second.0..line.start + second.1],
            );
            let whole = format!("{one}{two}");
            let counts = counts.get_or_insert_with(|| counted(text));
            // a single letter may be a unit elsewhere
            let is_rare = |word: &str| word.len() == 1 || counts.get(word).is_none_or(|n| *n < 2);
            let is_alone = |word: &str| !is_of_the_language(word) && is_rare(word);
            if !one.starts_with(|c: char| c.is_ascii_alphabetic()) {
                continue;
            }
            let is_there = is_of_the_language(&whole) || counts.contains_key(whole.as_str());
            // `5 per cent` lacks the sign of its unit
            if whole.len() < SHORTEST || whole == "percent" || !is_there || !is_alone(one) || !is_alone(two) {
                continue;
            }
            let place = line.start + first.0..line.start + second.1;
            // the second word of a pair begins no other
            if right[place.clone()] != text[place.clone()] {
                continue;
            }
            sink.push(one_word(Span::new(id, place.clone()), &format!("{one} {two}"), &whole));
            let begins = text[line.start..place.start].trim().is_empty();
            right.replace_range(place, &if begins { format!("{whole} ") } else { format!(" {whole}") });
        }
    }
    (right != text).then_some(right)
}

/// `metric frugal = tokens per joule`: where the words of a metric's name stand apart on a line that asks for metrics, one that is built in
/// or declared in the file.
fn spaced_metric(text: &str, line: Range<usize>, declared: &HashSet<&str>) -> Option<Range<usize>> {
    /// `tokens_per_joule`
    const MOST_WORDS: usize = 4;
    let own = &text[line.clone()];
    if !is_condition(own) {
        return None;
    }
    let words = words_of(own);
    let is_metric = |name: &str| metric_kind(name).is_some() || declared.contains(name);
    let apart = |all: &[(usize, usize)]| {
        all.windows(2).all(|w| w[0].1 + 1 == w[1].0 && own.as_bytes()[w[0].1] == b' ')
    };
    (2..=MOST_WORDS).rev().find_map(|n| {
        let mut found = words.windows(n).filter(|all| apart(all));
        let [first, .., last] =
            found.find(|all| is_metric(&own[all[0].0..all[n - 1].1].replace(' ', "_")))?
        else {
            return None;
        };
        Some(line.start + first.0..line.start + last.1)
    })
}

/// What is said of a word that is written as two.
pub(in crate::lang) fn one_word(span: Span, written: &str, whole: &str) -> Diagnostic {
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{written}` is one word"));
    d.label("a space stands in it").help(format!("write `{whole}`")).edit(span, whole)
}

/// Where words of a line stand that one space is between, texts and comments apart.
fn pairs(line: &str) -> Vec<((usize, usize), (usize, usize))> {
    let apart = |w: &[(usize, usize)]| {
        (w[0].1 + 1 == w[1].0 && line.as_bytes()[w[0].1] == b' ').then_some((w[0], w[1]))
    };
    words_of(line).windows(2).filter_map(apart).collect()
}

/// Where the words of a line stand, texts and comments apart.
fn words_of(line: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, piece) in Scanner::new(line) {
        // a flag is one word, in which no other stands
        let in_word =
            line.as_bytes()[at].is_ascii_alphanumeric() || matches!(line.as_bytes()[at], b'_' | b'-');
        match found.last_mut() {
            Some(last) if piece == Piece::Other && in_word && last.1 == at => last.1 = at + 1,
            _ if piece == Piece::Other && in_word => found.push((at, at + 1)),
            _ => {}
        }
    }
    found
}

/// How often a text has each of its words.
fn counted(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty()) {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn is_of_the_language(word: &str) -> bool {
    let all = [
        words::DECLARATIONS,
        words::RESERVED,
        words::ENGINE_SETTINGS,
        words::PROFILE_SETTINGS,
        words::STUDY_SETTINGS,
        words::STEP_SETTINGS,
        words::SITE_SETTINGS,
    ];
    let of_others =
        ["on", "of", "by", "when", "from", "because", "gain", "after", "requests", "auto", "as", "get"];
    all.iter().any(|of| of.contains(&word)) || of_others.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(text: &str) -> Option<String> {
        let mut told = Sink::default();
        for (at, _) in text.match_indices('\n') {
            told.push(Diagnostic::new(Code::Unexpected, Span::new(FileId::default(), at - 1..at), "wrong"));
        }
        joined(FileId::default(), text, &told, &mut Sink::default())
    }

    #[test]
    fn metrics_in_words_are_made_one() {
        for (torn, whole) in [
            ("metric m = tokens per joule\n", "metric m = tokens_per_joule\n"),
            ("require success rate >= 99%\n", "require success_rate >= 99%\n"),
            (
                "metric per_gpu = x\nmaximize per gpu on chat\n",
                "metric per_gpu = x\nmaximize per_gpu on chat\n",
            ),
        ] {
            assert_eq!(right(torn).as_deref(), Some(whole));
        }
        for text in ["require gain per gpu\n", "note \"tokens per joule\"\n"] {
            assert_eq!(right(text), None, "{text}");
        }
    }

    #[test]
    fn words_with_a_space_in_them_are_made_one() {
        for (torn, whole) in [
            ("concurr ency 512\n", "concurrency  512\n"),
            ("axis qu ant = --x\nvary quant\n", "axis  quant = --x\nvary quant\n"),
            ("repea t 3\n", "repeat  3\n"),
        ] {
            assert_eq!(right(torn).as_deref(), Some(whole));
        }
        for text in ["step a seqs\nvary aseqs seqs\n", "note \"concurr ency\"\n", "confirm on chat\n"] {
            assert_eq!(right(text), None, "{text}");
        }
    }
}
