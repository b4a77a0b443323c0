//! Lists with comments: an element to a line, one step further in, and the bracket that closes them where the row begins.

use super::tokens::What;
use super::wrap::Placed;

/// Where lines begin within a row, in steps of an indent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// the piece begins a line, so far in
    pub begins: Option<usize>,
    /// lines behind it go on so far in; `None` where no such list is open
    pub on: Option<usize>,
}

/// The places of a row's pieces.
pub fn places(placed: &[Placed]) -> Vec<Place> {
    let mut found = vec![Place::default(); placed.len()];
    let mut at = 0;
    while at < placed.len() {
        let close = closing(placed, at).filter(|close| commented(&placed[at..*close]));
        let Some(close) = close else {
            at += 1;
            continue;
        };
        lay(placed, at, close, &mut found);
        at = close;
    }
    found
}

fn is(placed: &Placed, sign: &str) -> bool {
    placed.piece.what == What::Sign && placed.piece.text == sign
}

/// The bracket that closes the one which a piece opens.
fn closing(placed: &[Placed], open: usize) -> Option<usize> {
    if !is(&placed[open], "[") {
        return None;
    }
    let mut depth = 0_usize;
    for (at, piece) in placed.iter().enumerate().skip(open) {
        depth += usize::from(is(piece, "["));
        depth -= usize::from(is(piece, "]"));
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn commented(placed: &[Placed]) -> bool {
    placed.iter().any(|p| !p.piece.remarks.is_empty())
}

fn lay(placed: &[Placed], open: usize, close: usize, found: &mut [Place]) {
    let mut depth = 0_usize;
    for at in open..close {
        depth += usize::from(is(&placed[at], "["));
        depth -= usize::from(is(&placed[at], "]"));
        found[at].on = Some(1);
        if depth == 1 && (at == open || is(&placed[at], ",")) {
            found[at + 1].begins = Some(1);
        }
    }
    found[close].begins = Some(0);
}
