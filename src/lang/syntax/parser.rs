//! One file's text to its tree: guards against hostile text, one pest parse of the whole, then a second look at what did not fit.

use foldhash::{HashSet, HashSetExt};
use pest::Parser;

use super::ast::File;
use super::brackets::Doubled;
use super::build::Builder;
use super::conflicts::settled;
use super::early::kept_open;
use super::grammar::{Grammar, Rule};
use super::lexical;
use super::opened::opened;
use super::quotes::curly_values;
use super::unseen::unseen;
use super::{
    brace_words, commented, dashed_points, ends_of_no_step, escapes, foreign_lines, heads, look_alikes,
    misplaced, mixed, nameless_engines, nesting, operators_in_front, pasted, rename, side_by_side,
    split_words, stray, torn_objects, torn_texts, twice, words,
};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// A reviewed study has some hundred lines; this is far beyond any, and far below what would hurt.
const MAX_BYTES: usize = 1 << 20;

/// What could be read of a file.
#[derive(Debug, Default)]
pub struct Parsed {
    pub file: File,
    /// names whose declarations could not be read: using them is no further mistake
    pub broken: HashSet<String>,
}

/// Reads a file. Never fails: what cannot be read is a diagnostic, the rest is in the tree.
pub fn parse(id: FileId, text: &str, sink: &mut Sink) -> Parsed {
    let mut told = Sink::default();
    let parsed = parse_as_it_is(id, text, &mut told);
    if !told.has_errors() {
        sink.take_over(told);
        return parsed;
    }
    if let Some(right) = torn_objects::whole(id, text, sink) {
        return parse(id, &right, sink);
    }
    if let Some(right) = torn_texts::whole(id, text, &told, sink) {
        return parse(id, &right, sink);
    }
    if let Some(right) = split_words::joined(id, text, &told, sink) {
        return parse(id, &right, sink);
    }
    if let Some(right) = misplaced::in_place(id, text, &told, sink) {
        let mut told = Sink::default();
        let parsed = parse_as_it_is(id, &right, &mut told);
        return without_strays(id, &right, (parsed, told), sink);
    }
    without_strays(id, text, (parsed, told), sink)
}

/// What was read of a text and told of it, or the same of the text without the signs in it that are too many.
fn without_strays(id: FileId, text: &str, (parsed, told): (Parsed, Sink), sink: &mut Sink) -> Parsed {
    if told.has_errors() {
        let mut strays = Sink::default();
        if let Some((right, names)) = stray::without(id, text, &told, &mut strays) {
            sink.take_over(strays);
            let mut parsed = parse_as_it_is(id, &right, sink);
            parsed.broken.extend(names);
            return parsed;
        }
    }
    sink.take_over(told);
    parsed
}

/// The same without a look for single signs that are too many.
pub(super) fn parse_as_it_is(id: FileId, text: &str, sink: &mut Sink) -> Parsed {
    let mut own = Sink::default();
    let parsed = parse_whole(id, text, &mut own);
    hidden_by_quotes(text, &mut own);
    sink.take_over(own);
    parsed
}

/// What a string holds that does not end counts for no bracket: one that closes nothing on the same line follows from it.
fn hidden_by_quotes(text: &str, sink: &mut Sink) {
    let line = |d: &Diagnostic| d.span.line_in(text).range();
    let quotes: Vec<_> = sink.found().filter(|d| d.code == Code::UnclosedString).map(line).collect();
    if !quotes.is_empty() {
        sink.forget(|d| d.code == Code::Unopened && quotes.contains(&line(d)));
    }
}

fn parse_whole(id: FileId, text: &str, sink: &mut Sink) -> Parsed {
    if let Some(problem) = hostile(id, text) {
        sink.push(problem);
        return Parsed::default();
    }
    let mut lost = HashSet::new();
    let text = &*settled(id, text, sink, &mut lost);
    let survey = lexical::survey(id, text);
    if let Some(problem) = survey.problem {
        sink.push(problem);
        return Parsed::default();
    }
    // what looks wrong may be the layout of somebody else: the grammar is asked first
    let mut alone = Sink::default();
    let parsed = read(id, text, &mut alone, lost.clone());
    if !alone.has_errors() {
        sink.take_over(alone);
        return parsed;
    }
    let (right, torn) = put_right(id, text, survey.closes_too_much, sink);
    if right == text && torn.is_empty() {
        sink.take_over(alone);
        return parsed;
    }
    lost.extend(torn);
    let mut parsed = read(id, &right, sink, lost);
    let lost = heads::lose_torn_parents(text, sink, &mut parsed.file);
    parsed.broken.extend(lost);
    parsed
}

/// Reads a text whose brackets are as they were meant. `lost` are names of what was left out of it.
fn read(id: FileId, text: &str, sink: &mut Sink, lost: HashSet<String>) -> Parsed {
    match Grammar::parse(Rule::file, text) {
        Ok(pairs) => {
            let mut builder = Builder::new(id, text, 0, sink);
            let mut file = builder.file(pairs);
            let mut broken = builder.into_broken();
            broken.extend(lost);
            broken.extend(nameless_engines::told(&mut file, sink));
            uses_of_no_names(id, text, &broken, sink);
            rename::everywhere(id, text, sink);
            unseen(id, text, sink);
            curly_values(id, text, sink);
            Parsed { file, broken }
        }
        Err(error) => {
            // the grammar's catch-all rules take any text; only a limit inside pest can end here
            let at = match error.location {
                pest::error::InputLocation::Pos(p) | pest::error::InputLocation::Span((p, _)) => p,
            };
            let span = Span::new(id, at..at);
            sink.push(Diagnostic::new(Code::Unexpected, span, "the file cannot be read from here on").help(
                "write each declaration as `keyword name = value` or `keyword name { settings }`, starting on a line of its own",
            ));
            Parsed::default()
        }
    }
}

/// The text with its brackets and braces as they were meant, all else in its place; what was wrong with them is told. And the
/// names that stand in what was left out.
fn put_right(id: FileId, text: &str, closes_too_much: bool, sink: &mut Sink) -> (String, Vec<String>) {
    let (mut right, mut lost) = (text.to_owned(), Vec::new());
    look_alikes::as_they_look(id, &mut right, sink);
    twice::once(id, &mut right, sink);
    commented::heads(id, &mut right, sink);
    for doubled in Doubled::of_blocks(&right) {
        sink.push(doubled.diagnostic(id, 0));
        right = doubled.without(&right);
    }
    foreign_lines::without(id, &mut right, sink);
    brace_words::as_braces(id, &mut right, sink);
    escapes::undone(id, &mut right, sink);
    operators_in_front::behind_their_halves(id, &mut right, sink);
    dashed_points::with_commas(id, &mut right, sink);
    pasted::within(id, &mut right, sink, &mut lost);
    side_by_side::below_each_other(id, &mut right, sink);
    mixed::made_alike(id, &mut right, sink);
    nesting::by_layout(id, &mut right, sink, &mut lost);
    let closes_too_much =
        if right == text { closes_too_much } else { lexical::survey(id, &right).closes_too_much };
    // a step that lacks its `{` may make up for a `}` that is missing below
    right = opened(id, &right, sink).into_owned();
    if closes_too_much {
        ends_of_no_step::without(&mut right);
        right = kept_open(id, &right, sink, &mut lost).into_owned();
    }
    (right, lost)
}

/// A name that is none was told of where it is declared: its uses, which cannot be read either, are no further mistakes.
fn uses_of_no_names(id: FileId, text: &str, broken: &HashSet<String>, sink: &mut Sink) {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let whole = |span: Span| {
        let start = span.before_in(text).trim_end_matches(in_word).len();
        let end = text.len() - span.before().behind_in(text).trim_start_matches(in_word).len();
        &text[start..end]
    };
    let is_name = |w: &str| {
        w.starts_with(|c: char| c.is_ascii_lowercase())
            && w.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let no_name = |d: &Diagnostic| {
        let here = d.span.file == id && d.code == Code::Unexpected;
        here && broken.contains(whole(d.span)) && !is_name(whole(d.span))
    };
    let told: HashSet<&str> =
        sink.found().filter(|d| no_name(d) && is_declared(text, d.span)).map(|d| whole(d.span)).collect();
    let mut declared = HashSet::new();
    sink.forget(|d| {
        // the first of them is the declaration, wherever in the file it stands
        no_name(d)
            && told.contains(whole(d.span))
            && !(is_declared(text, d.span) && declared.insert(whole(d.span)))
    });
}

/// Whether a span is the name behind a keyword at the margin, or that of a step.
fn is_declared(text: &str, span: Span) -> bool {
    let line = span.before_in(text).rsplit('\n').next().unwrap_or_default().trim();
    words::DECLARATIONS.contains(&line) || line == "step"
}

fn hostile(id: FileId, text: &str) -> Option<Diagnostic> {
    let top = Span::new(id, 0..0);
    if text.len() > MAX_BYTES {
        let message =
            format!("the file has {} bytes, more than the {MAX_BYTES} that a study may have", text.len());
        return Some(
            Diagnostic::new(Code::TooLarge, top, message)
                .help("is this a .plab file? Give the path of a study"),
        );
    }
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    // of plain text the bytes say it faster
    if text.is_ascii() && !text.bytes().any(|b| control(char::from(b))) {
        return None;
    }
    let (at, c) = text.char_indices().find(|(_, c)| control(*c))?;
    let span = Span::new(id, at..at + c.len_utf8());
    Some(
        Diagnostic::new(Code::NotText, span, "the file holds control characters")
            .label("not text")
            .help("is this a .plab file? Save it as plain UTF-8 text"),
    )
}
