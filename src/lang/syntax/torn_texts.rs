//! Texts that lack their first quote, where more is wrong with the declaration around them: each is read with that quote, as what stands
//! behind a text that does not end hides the other mistakes, or looks like one.

use std::ops::Range;

use pest::Parser;

use super::blocks::{Block, first_word};
use super::closing::declaration;
use super::grammar::{Grammar, Rule};
use super::lexical;
use super::twice::lines;
use super::words;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// Nobody writes longer ones, and a machine's need no such help.
const LONGEST_LINE: usize = 400;
/// Lines that are tried.
const MOST: usize = 40;

/// The text with those quotes, each in the room of the space before its text; `None` where none is missing.
pub(super) fn whole(id: FileId, text: &str, told: &Sink, sink: &mut Sink) -> Option<String> {
    let errors: Vec<Range<usize>> =
        told.found().filter(|d| d.is_error() && d.span.file == id).map(|d| d.span.range()).collect();
    if errors.is_empty() {
        return None;
    }
    let is_torn = |place: &Range<usize>| {
        place.len() < LONGEST_LINE && lexical::unclosed_text(&text[place.clone()]).is_some()
    };
    let torn: Vec<Range<usize>> = lines(text).into_iter().filter(is_torn).take(MOST).collect();
    let mut right = text.to_owned();
    for place in &torn {
        let around = declaration(text, place.start);
        let is_beside = |at: usize| around.contains(&at) && !(place.start..=place.end).contains(&at);
        // one that is alone is mended as it is told
        if !errors.iter().chain(&torn).any(|other| is_beside(other.start)) {
            continue;
        }
        let keyword = first_word(&text[around.clone()]);
        let line = &text[place.clone()];
        let Some(start) = begins(line, keyword) else { continue };
        let end = line[start..].find('"').map_or(line.len(), |n| start + n + 1);
        sink.push(lacks_first(id, place.start, line, start..end));
        right.replace_range(place.start + start - 1..place.start + start, "\"");
    }
    (right != text).then_some(right)
}

/// Where the text begins whose first quote a line lacks, if the line can be read with it.
fn begins(line: &str, keyword: &str) -> Option<usize> {
    let quote = lexical::unclosed_text(line)?;
    let ends = line[..start_of_comment(line).filter(|c| *c > quote).unwrap_or(line.len())].trim_end().len();
    let reads = |line: &str| reads(&line[..line.trim_end().len()], keyword);
    // it may as well lack its last quote
    let ends_a_word =
        |(at, _): &(usize, char)| *at > quote + 1 && !line[..*at].ends_with(char::is_whitespace);
    let mut places =
        line.char_indices().chain([(ends, ' ')]).filter(ends_a_word).filter(|(at, _)| *at <= ends);
    if places.any(|(at, _)| reads(&format!("{}\"{}", &line[..at], &line[at..ends]))) {
        return None;
    }
    let words = line[..quote].char_indices().skip(1).filter(|(at, c)| {
        !c.is_whitespace() && line[..*at].ends_with([' ', '\t']) && !line[..*at].trim().is_empty()
    });
    let mut starts: Vec<usize> = words.map(|(at, _)| at).collect();
    // what separates things is hardly part of a text
    starts.sort_by_key(|at| line[*at..quote].contains(['"', ',', ':', '{', '=', '[']));
    starts.into_iter().find(|at| reads(&format!("{}\"{}", &line[..at - 1], &line[*at..ends])))
}

/// Whether a line alone can be read as one of such a declaration: its first one, one of its block or of a block in that, or a point.
pub(super) fn reads(line: &str, keyword: &str) -> bool {
    let is = |rule: Rule, text: &str| Grammar::parse(rule, text).is_ok_and(|pairs| !has_bad_lines(pairs));
    let own = line.trim_start();
    if own.len() == line.len() && words::DECLARATIONS.contains(&first_word(line)) {
        let points = if line.starts_with("axis ") { " a: --seed=1" } else { "" };
        return is(Rule::only_item, line)
            || line.ends_with('{') && is(Rule::only_item, &format!("{line}{points}\n}}"));
    }
    let blocks: &[Block] = match keyword {
        "engine" => &[Block::Engine],
        "profile" => &[Block::Profile],
        "study" => &[Block::Study, Block::Track, Block::Step],
        "site" => &[Block::Site],
        "axis" => {
            let point = own.trim_end_matches([',', '}']).trim_end();
            return is(Rule::only_item, &format!("axis a = {{ {point} }}"));
        }
        _ => return false,
    };
    let whole = if own.ends_with('{') { format!("{own}\n}}") } else { own.to_owned() };
    blocks.iter().any(|block| is(block.rule(), &whole))
}

fn has_bad_lines(pairs: pest::iterators::Pairs<'_, Rule>) -> bool {
    pairs.flatten().any(|p| matches!(p.as_rule(), Rule::bad_line | Rule::bad_item))
}

/// What is said of a text in a line that begins at a place of the file.
fn lacks_first(id: FileId, at: usize, line: &str, written: Range<usize>) -> Diagnostic {
    let span = Span::new(id, at + written.start..at + written.end);
    let d = Diagnostic::new(Code::UnclosedString, span, "a string does not begin with a quote");
    let d = d.label("ends with one").help(format!("write `\"{}`", &line[written]));
    d.edit(Span { end: span.start, ..span }, "\"")
}
