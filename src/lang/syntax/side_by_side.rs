//! Declarations side by side on one line: each begins its own, so that the end of a line takes the place of the space between them.

use std::ops::Range;

use pest::Parser;

use super::blocks::first_word;
use super::grammar::{Grammar, Rule};
use super::lexical::{Piece, Scanner};
use super::twice::lines;
use super::words;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// Nobody writes longer lines of two declarations.
const LONGEST: usize = 400;

/// The text with such declarations below each other, all else in its place.
pub fn below_each_other(id: FileId, text: &mut String, sink: &mut Sink) {
    for line in lines(text) {
        if let Some(at) = behind_a_block(&text[line.clone()]).map(|at| line.start + at) {
            let gap = line.start + 1..at;
            sink.push(apart(id, text, at, gap.clone()));
            text.replace_range(gap.clone(), &format!("{}\n", " ".repeat(gap.len() - 1)));
            continue;
        }
        let declares = words::DECLARATIONS.contains(&first_word(&text[line.clone()]));
        if !declares || line.len() > LONGEST {
            continue;
        }
        let mut start = line.start;
        while let Some(at) = second(&text[start..line.end]).map(|at| start + at) {
            sink.push(apart(id, text, at, text[..at].trim_end().len()..at));
            text.replace_range(at - 1..at, "\n");
            start = at;
        }
    }
}

/// What is said of a declaration that begins at a place, with a gap before it in which its line was to begin.
fn apart(id: FileId, text: &str, at: usize, gap: Range<usize>) -> Diagnostic {
    let word = first_word(&text[at..]);
    let span = Span::new(id, at..at + word.len());
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{word}` was not expected here"));
    let d = d.label("begins another declaration").help("a declaration begins on a line of its own");
    d.edit(Span::new(id, gap), "\n")
}

/// `} axis a = --x=[1, 2]`, `}; engine e = sim {`: where a declaration begins behind the end of a block.
fn behind_a_block(line: &str) -> Option<usize> {
    let rest = line.strip_prefix('}')?.trim_start_matches([' ', '\t', ';']);
    let at = line.len() - rest.len();
    let code = rest[..start_of_comment(rest).unwrap_or(rest.len())].trim_end();
    let begins = at > 1 && line.len() <= LONGEST && words::DECLARATIONS.contains(&first_word(code));
    (begins && (code.ends_with('{') || Grammar::parse(Rule::only_item, code).is_ok())).then_some(at)
}

/// Where another declaration begins behind a whole one.
fn second(line: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, piece) in Scanner::new(line) {
        match piece {
            Piece::Open(_) => depth += 1,
            Piece::Close(_) => depth = depth.saturating_sub(1),
            Piece::Comment(_) => return None,
            Piece::Other if depth == 0 && at > 0 && line.as_bytes()[at - 1] == b' ' => {
                let begins = words::DECLARATIONS.contains(&first_word(&line[at..]));
                let whole = |text: &str| Grammar::parse(Rule::only_item, text).is_ok();
                if begins
                    && whole(line[..at].trim_end())
                    && (whole(&line[at..]) || second(&line[at..]).is_some())
                {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_begins_a_line() {
        let apart = |text: &str| {
            let mut text = text.to_owned();
            below_each_other(FileId(0), &mut text, &mut Sink::default());
            text
        };
        assert_eq!(apart("axis a = --x axis b = --y # c\n"), "axis a = --x\naxis b = --y # c\n");
        assert_eq!(
            apart("use std/a { b } param c = 1 param d = 2"),
            "use std/a { b }\nparam c = 1\nparam d = 2"
        );
        assert_eq!(apart("axis a = axis b = --y\n"), "axis a = axis b = --y\n");
        assert_eq!(
            apart("engine e = sim {\n}; engine f = sim { # x\n}\n"),
            "engine e = sim {\n} \nengine f = sim { # x\n}\n"
        );
        assert_eq!(apart("engine e = sim {\n} axis a = --x\n"), "engine e = sim {\n}\naxis a = --x\n");
        assert_eq!(apart("a {\n} axis\n"), "a {\n} axis\n");
    }
}
