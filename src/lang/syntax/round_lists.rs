//! A list that begins with a round bracket and ends with its square one: `one_of (low, high]`. The square one says what was meant.

use super::lexical::{Piece, Scanner};
use super::misplaced::Statement;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Expected};

/// The statement with the bracket as it was meant, and what is said of it. `stop` is where it could not be read on.
pub(super) fn mended(statement: &Statement, stop: usize) -> Option<(String, Diagnostic)> {
    let text = statement.written();
    let at = stop + text.get(stop..)?.len() - text[stop..].trim_start_matches([' ', '\t']).len();
    let opens = text[at..].starts_with('(') && closed_by(&text[at + 1..]) == Some(b']');
    if !opens {
        return None;
    }
    let mut mended = text.to_owned();
    mended.replace_range(at..=at, "[");
    statement.chunk.reads_at(&mended, &(at..at + 1)).then(|| {
        let span = statement.span(at..at + 1);
        let d = Diagnostic::new(Code::Unexpected, span, "`(` was not expected here");
        let d = d.about(About::Expected(Expected::sign("["))).label("expected `[`");
        (mended, d.help("a list stands in square brackets: write `[`").edit(span, "["))
    })
}

/// The first bracket of a line that closes none which the line opens.
fn closed_by(text: &str) -> Option<u8> {
    let line = text.split('\n').next()?;
    let mut depth = 0_usize;
    for (_, piece) in Scanner::new(line) {
        match piece {
            Piece::Open(_) => depth += 1,
            Piece::Close(b) if depth == 0 => return Some(b),
            Piece::Close(_) => depth -= 1,
            _ => {}
        }
    }
    None
}
