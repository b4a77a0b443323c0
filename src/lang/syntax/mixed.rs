//! Two brackets of one line, or of the first and last line of a block, that belong together and are of two kinds, `known [a, b}`: a brace among them would end another block, or begin
//! one, so that they are put right before anything is read. Which of the two is wrong, the grammar knows.

use pest::Parser;

use super::grammar::{Grammar, Rule};
use super::lexical::{Piece, Scanner};
use super::twice::lines;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Expected, Sink};
use crate::lang::source::{FileId, Span};

/// Lines that are tried; nobody writes more of them.
const MOST: usize = 40;

/// Makes such brackets alike; each pair is told once, at the one that is wrong.
pub(super) fn made_alike(id: FileId, text: &mut String, sink: &mut Sink) {
    for (at, right) in over_lines(text) {
        sink.push(other(id, text, at, right));
        text.replace_range(at..=at, right);
    }
    let mut left = MOST;
    for place in lines(text) {
        let line = &text[place.clone()];
        let line = &line[..start_of_comment(line).unwrap_or(line.len())];
        let Some((open, close)) = pair(line).filter(|_| left > 0) else { continue };
        left -= 1;
        let Some((at, right)) = wrong(line, open, close) else { continue };
        let at = place.start + at;
        sink.push(other(id, text, at, right));
        text.replace_range(at..=at, right);
    }
}

/// What is said of a bracket of another kind.
fn other(id: FileId, text: &str, at: usize, right: &str) -> Diagnostic {
    let (span, written) = (Span::new(id, at..at + 1), text.as_bytes()[at] as char);
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{written}` was not expected here"));
    d.about(About::Expected(Expected::sign(right)))
        .label(format!("expected `{right}`"))
        .help(format!("write `{right}`"))
        .edit(span, right)
}

/// Closing brackets alone on their lines that stand below the line which opened a bracket of another kind, at its end, and as far to the
/// left: where they are, and what they should be.
fn over_lines(text: &str) -> Vec<(usize, &'static str)> {
    let indent = |at: usize| {
        let line = &text[text[..at].rfind('\n').map_or(0, |n| n + 1)..];
        line.len() - line.trim_start_matches([' ', '\t']).len()
    };
    let last = |at: usize| {
        let line = text[at + 1..].split('\n').next().unwrap_or_default();
        line[..start_of_comment(line).unwrap_or(line.len())].trim().is_empty()
    };
    let first = |at: usize| text[..at].rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut found: Vec<(usize, &'static str)> = Vec::new();
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(b) => open.push((at, b)),
            Piece::Close(b) => {
                let Some((start, o)) = open.pop() else { continue };
                let right = match o {
                    b'{' => "}",
                    b'[' => "]",
                    _ => ")",
                };
                let wrong = right.as_bytes() != [b];
                if wrong && last(start) && first(at) && last(at) && indent(start) == indent(at) {
                    found.push((at, right));
                }
            }
            _ => {}
        }
    }
    found
}

/// The only two of a line that stand for one pair and are of two kinds, one of them a brace.
fn pair(line: &str) -> Option<(usize, usize)> {
    let (mut open, mut found) = (Vec::new(), None);
    for (at, piece) in Scanner::new(line) {
        match piece {
            Piece::Open(b) => open.push((at, b)),
            Piece::Close(b) => {
                let (start, o) = open.pop()?;
                let alike = matches!((o, b), (b'{', b'}') | (b'[', b']') | (b'(', b')'));
                if !alike && found.replace((start, at)).is_some() {
                    return None;
                }
            }
            Piece::UnclosedText => return None,
            _ => {}
        }
    }
    let bytes = line.as_bytes();
    // a block may begin at the end of the line
    let ends = match open.as_slice() {
        [] => true,
        [(at, b'{')] => line[at + 1..].trim().is_empty(),
        _ => false,
    };
    found.filter(|(open, close)| ends && (bytes[*open] == b'{' || bytes[*close] == b'}'))
}

/// Which of the two is wrong, and what it should be; `None` where either may be, or the line is wrong anyhow.
fn wrong(line: &str, open: usize, close: usize) -> Option<(usize, &'static str)> {
    let as_open = match line.as_bytes()[open] {
        b'{' => "}",
        b'[' => "]",
        _ => ")",
    };
    let as_close = match line.as_bytes()[close] {
        b'}' => "{",
        b']' => "[",
        _ => "(",
    };
    let reads = |at: usize, right: &str| {
        let mut mended = line.trim_end().to_owned();
        mended.replace_range(at..=at, right);
        let block = if mended.ends_with('{') { " }" } else { "" };
        let mended = format!("{}{block}", mended.trim_start());
        let rules = [
            Rule::only_engine_line,
            Rule::only_word_line,
            Rule::only_study_line,
            Rule::only_step_line,
            Rule::only_site_line,
            Rule::only_item,
        ];
        rules.into_iter().any(|rule| Grammar::parse(rule, &mended).is_ok())
    };
    match (reads(open, as_close), reads(close, as_open)) {
        (true, false) => Some((open, as_close)),
        (false, true) => Some((close, as_open)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrong_one_of_a_pair_is_put_right() {
        let right = |text: &str| {
            let (mut mended, mut sink) = (text.to_owned(), Sink::default());
            made_alike(FileId(0), &mut mended, &mut sink);
            assert_eq!(sink.found().count(), usize::from(mended != text), "{text}");
            mended
        };
        for (text, mended) in [
            ("    flag --k text known {a, b]\n", "    flag --k text known [a, b]\n"),
            ("    flag --k text known [a, b} # c\n", "    flag --k text known [a, b] # c\n"),
            ("axis a = --x={2, 3]\n", "axis a = --x=[2, 3]\n"),
            ("    --x={\"a\": 1]\n", "    --x={\"a\": 1}\n"),
            ("        vary engine{a, b]\n", "        vary engine[a, b]\n"),
            ("axis a = {\n    b: -c,\n]\n", "axis a = {\n    b: -c,\n}\n"),
            (
                "study s { # S\n    step a {\n    ) # end\n}\n",
                "study s { # S\n    step a {\n    } # end\n}\n",
            ),
        ] {
            assert_eq!(right(text), mended);
        }
        for text in ["axis a = --x=[2, 3)\n", "step a { vary b[1 }\n", "}\n", "axis q = {\n", "x [ } y { ]\n"]
        {
            assert_eq!(right(text), text);
        }
    }
}
