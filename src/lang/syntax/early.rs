//! Each `}` that ends a block before its last lines: it is taken away, so that the lines below it are read as what they are.

use std::borrow::Cow;

use super::blocks::first_word;
use super::lexical::{Piece, Scanner};
use super::words;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The text without those braces, everything else in its place; they are told of. Asked of texts in which a `}` closes too much.
pub fn kept_open<'t>(id: FileId, text: &'t str, sink: &mut Sink) -> Cow<'t, str> {
    let mut mended = Cow::Borrowed(text);
    for at in too_early(text) {
        let here = Span::new(id, at..at + 1);
        let line = here.line_in(text).range();
        let message = if is_of_a_flag(&text[line.clone()]) {
            "this `}` closes nothing on its line"
        } else {
            "this `}` ends the block before its last lines"
        };
        let d = Diagnostic::new(Code::Unopened, here, message).label("one too many");
        let lacks_open = is_of_a_flag(&text[line.clone()]) && !text[line.clone()].contains('{');
        if lacks_open {
            // what the line sets cannot be made out without its `{`
            sink.push(d.label("nothing is open here").help("add a `{` where the object begins"));
            mended.to_mut().replace_range(line.clone(), &" ".repeat(line.len()));
        } else {
            sink.push(d.help("remove it").edit(here, ""));
            mended.to_mut().replace_range(at..=at, " ");
        }
    }
    mended
}

/// Where braces end declarations below which their lines go on, each up to a brace that closes nothing.
fn too_early(text: &str) -> Vec<usize> {
    let (mut depth, mut early, mut found) = (0_i64, None, Vec::new());
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(b'{') => depth += 1,
            Piece::Close(b'}') => depth -= 1,
            _ => continue,
        }
        if depth < 0 {
            // with the early one taken away this one ends the declaration
            let Some(taken) = early.take() else { break };
            found.push(taken);
            depth = 0;
        }
        let closes = depth == 0 && early.is_none() && piece == Piece::Close(b'}');
        if closes && (goes_on(&text[at + 1..]) || is_beyond_its_flag(text, at)) {
            early = Some(at);
        }
    }
    found
}

/// Whether a `}` ends a line of a flag, indented, which opens none for it: `--x={"a": 1}}`.
fn is_beyond_its_flag(text: &str, at: usize) -> bool {
    // asked of each brace, which may be many on one line: of that only the last one is looked at closely
    let behind = text[at + 1..].trim_start_matches([' ', '\t', '\r']);
    if !(behind.is_empty() || behind.starts_with(['\n', '#'])) {
        return false;
    }
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let line = &text[start..=at];
    if !is_of_a_flag(line) || line.len() == line.trim_start().len() {
        return false;
    }
    let depth = Scanner::new(line).fold(0_i64, |depth, (_, piece)| match piece {
        Piece::Open(b'{') => depth + 1,
        Piece::Close(b'}') => depth - 1,
        _ => depth,
    });
    depth < 0
}

fn is_of_a_flag(line: &str) -> bool {
    line.trim_start().starts_with("--")
}

/// Whether nothing else stands on the line, and a line of a study, indented, is the next one.
fn goes_on(rest: &str) -> bool {
    let behind = rest.trim_start_matches([' ', '\t', '\r']);
    if !(behind.is_empty() || behind.starts_with(['\n', '#'])) {
        return false;
    }
    let blank = |l: &&str| l[..start_of_comment(l).unwrap_or(l.len())].trim().is_empty();
    rest.split('\n').skip(1).find(|l| !blank(l)).is_some_and(|l| {
        l.starts_with([' ', '\t']) && words::STUDY_SETTINGS.contains(&first_word(l.trim_start()))
    })
}
