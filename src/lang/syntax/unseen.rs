//! Characters that take no room on the screen, within texts and values: copied from a page they make another value, and nobody sees why.
//! Those that join letters of other scripts and the parts of an emoji are part of what is written.

use super::lexical::{Piece, Scanner};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Sink};
use crate::lang::invisible;
use crate::lang::source::{FileId, Span};

/// Says so of the first one on each line, comments apart.
pub fn unseen(id: FileId, text: &str, sink: &mut Sink) {
    if text.is_ascii() {
        return;
    }
    let mut line_end = 0;
    for (at, piece) in Scanner::new(text) {
        let end = match piece {
            Piece::Comment(_) => continue,
            Piece::Text(end) => end,
            // the scanner goes from byte to byte
            _ => at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8),
        };
        let Some(piece) = text.get(at.max(line_end)..end) else { continue };
        let start = at.max(line_end);
        let mut hidden = piece.char_indices().filter_map(|(i, c)| Some((start + i, c, invisible::name(c)?)));
        let Some((place, c, name)) = hidden.find(|(place, c, _)| *place > 0 && !joins(text, *place, *c))
        else {
            continue;
        };
        line_end = text[place..].find('\n').map_or(text.len(), |n| place + n);
        let span = Span::new(id, place..place + c.len_utf8());
        let message = format!("an invisible character, U+{:04X} ({name})", u32::from(c));
        let d = Diagnostic::new(Code::Unexpected, span, message).about(About::Untyped).label("stands here");
        sink.push(d.help("remove it").edit(span, ""));
    }
}

/// What an invisible character, or a quote of a word processor, makes of a value is no further mistake.
pub fn only_unseen(sink: &mut Sink) {
    let untyped = |d: &&Diagnostic| d.about == About::Untyped;
    let places: Vec<Span> = sink.found().filter(untyped).map(|d| d.span).collect();
    if places.is_empty() {
        return;
    }
    let holds = |s: Span, p: &Span| s.file == p.file && s.start <= p.start && p.end <= s.end;
    sink.forget(|d| {
        !matches!(d.code, Code::Unexpected | Code::SingleQuotes) && places.iter().any(|p| holds(d.span, p))
    });
}

/// `ZWJ` and `ZWNJ` between what is no ASCII.
fn joins(text: &str, at: usize, c: char) -> bool {
    let other = |c: Option<char>| c.is_some_and(|c| !c.is_ascii());
    matches!(c, '\u{200c}' | '\u{200d}')
        && other(text[..at].chars().next_back())
        && other(text[at + c.len_utf8()..].chars().next())
}
