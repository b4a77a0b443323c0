//! A `}` that ends a block before its last lines: it is taken away, so that the lines below it are read as what they are.

use std::borrow::Cow;

use super::blocks::first_word;
use super::lexical::{Piece, Scanner};
use super::words;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The text without that brace, everything else in its place; it is told of. Asked of texts in which a `}` closes too much.
pub fn kept_open<'t>(id: FileId, text: &'t str, sink: &mut Sink) -> Cow<'t, str> {
    let Some(at) = too_early(text) else { return Cow::Borrowed(text) };
    let here = Span::new(id, at..at + 1);
    let d = Diagnostic::new(Code::Unopened, here, "this `}` ends the block before its last lines");
    sink.push(d.label("one too many").help("remove it").edit(here, ""));
    let mut mended = text.to_owned();
    mended.replace_range(at..=at, " ");
    Cow::Owned(mended)
}

/// Where a brace ends a declaration below which its lines go on, up to a brace that closes nothing.
fn too_early(text: &str) -> Option<usize> {
    let (mut depth, mut early) = (0_i64, None);
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(b'{') => depth += 1,
            Piece::Close(b'}') => {
                depth -= 1;
                if depth == 0 && early.is_none() && goes_on(&text[at + 1..]) {
                    early = Some(at);
                }
            }
            _ => {}
        }
        if depth < 0 {
            return early;
        }
    }
    None
}

/// Whether nothing else stands on the line, and a line of a study, indented, is the next one.
fn goes_on(rest: &str) -> bool {
    let mut lines = rest.split('\n');
    let blank = |l: &str| l[..start_of_comment(l).unwrap_or(l.len())].trim().is_empty();
    lines.next().is_some_and(blank)
        && lines.find(|l| !blank(l)).is_some_and(|l| {
            l.starts_with([' ', '\t']) && words::STUDY_SETTINGS.contains(&first_word(l.trim_start()))
        })
}
