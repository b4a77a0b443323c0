//! Steps and tracks whose lines stand below them without a `{`: the brace is put where it was forgotten, so that the rest of the study is
//! read as it was meant.

use std::borrow::Cow;

use super::blocks::first_word;
use super::lexical::{Piece, Scanner};
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The text with those braces, everything else in its place; what was missing is told.
pub fn opened<'t>(id: FileId, text: &'t str, sink: &mut Sink) -> Cow<'t, str> {
    let mut mended = Cow::Borrowed(text);
    let lines: Vec<(usize, &str)> = text
        .split_inclusive('\n')
        .scan(0, |at, line| Some((std::mem::replace(at, *at + line.len()), line)))
        .collect();
    for (n, &(at, line)) in lines.iter().enumerate() {
        let Some(head) = head(line).filter(|_| is_opened(&lines[n + 1..], indent(line))) else { continue };
        if !closes_too_much(&mended) {
            break;
        }
        let written = head.trim_end();
        let colon = written.ends_with(':');
        // what stands behind the head, a colon or a comment, gives way to the brace; else the end of the line does
        let place = at + written.len() - usize::from(colon);
        let end = place + text[place..].find('\n').unwrap_or(text.len() - place);
        let gap = place..end.max(place + 1);
        let spaces = gap.len() - 1;
        mended.to_mut().replace_range(gap, &format!("{{{}", " ".repeat(spaces)));
        let last = written.char_indices().next_back().map_or(0, |(i, _)| i);
        let span = Span::new(id, at + last..at + written.len());
        let instead = Span::new(id, place..at + written.len());
        sink.push(
            Diagnostic::new(Code::Unexpected, span, "the block that begins here lacks its `{`")
                .label("expected `{`")
                .help("write `{` at the end of the line")
                .edit(instead, " {"),
        );
    }
    mended
}

/// The part of a line that names a step or a track, if no brace follows it; up to where the brace belongs.
fn head(line: &str) -> Option<&str> {
    let word = first_word(line.trim_start());
    if indent(line) == 0 || !matches!(word, "step" | "track") {
        return None;
    }
    let line = line.trim_end_matches(['\n', '\r']);
    let bare = &line[..start_of_comment(line).unwrap_or(line.len())];
    let goes_on = bare.trim_end().ends_with([',', '=', '*', '+', '>', '<']);
    (!bare.contains('{') && !goes_on).then_some(bare)
}

/// Whether lines further in follow, and then a `}` as far to the left as the head.
fn is_opened(rest: &[(usize, &str)], column: usize) -> bool {
    let mut said = rest.iter().map(|(_, line)| *line).filter(|l| {
        let line = l.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let first = said.next().is_some_and(|l| indent(l) > column && !l.trim_start().starts_with('{'));
    first
        && said
            .find(|l| indent(l) <= column)
            .is_some_and(|l| indent(l) == column && l.trim_start().starts_with('}'))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Whether more braces close than open.
fn closes_too_much(text: &str) -> bool {
    let mut depth = 0_i64;
    Scanner::new(text).any(|(_, piece)| {
        match piece {
            Piece::Open(b'{') => depth += 1,
            Piece::Close(b'}') => depth -= 1,
            _ => {}
        }
        depth < 0
    })
}
