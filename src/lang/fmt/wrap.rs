//! Pieces to lines: on one if they fit, else broken where the grammar lets a line go on, at the best such place.

use super::print::{INDENT, Line, WIDTH};
use super::rows::{Piece, Remark};
use super::tokens::What;
use super::{json, lists};

/// A piece, and how many spaces stand before it unless it begins a line.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'p, 'a> {
    pub gap: usize,
    pub piece: &'p Piece<'a>,
}

/// All pieces on one line.
pub fn joined(placed: &[Placed]) -> String {
    let mut code = String::new();
    for p in placed {
        code.extend(std::iter::repeat_n(' ', p.gap));
        code.push_str(p.piece.text);
    }
    code
}

/// The lines of a row: the first at `indent`, those after it at `on`.
pub fn wrapped<'a>(placed: &[Placed<'_, 'a>], indent: usize, on: usize) -> Vec<Line<'a>> {
    let begins = lists::places(placed);
    let mut wrap = Wrap {
        lines: Vec::new(),
        current: Line { indent, ..Line::default() },
        width: 0,
        ends: Vec::new(),
        on,
    };
    let mut at = 0;
    while let Some(next) = placed.get(at) {
        if let Some(steps) = begins[at].begins {
            wrap.begin(indent + INDENT * steps);
            // the comments behind elements stand in a column
            wrap.current.whole = steps > 0;
        }
        wrap.on = begins[at].on.map_or(on, |steps| indent + INDENT * steps);
        at = if let Some(end) = wrap.best_end(next) {
            wrap.break_after(end)
        } else {
            wrap.push(next, at, begins[at].on.is_some());
            at + 1
        };
    }
    if !wrap.current.code.is_empty() {
        wrap.lines.push(wrap.current);
    }
    wrap.lines
}

/// A place at which the current line may end.
#[derive(Clone, Copy)]
struct End {
    level: u8,
    /// the piece after which it ends
    piece: usize,
    bytes: usize,
}

struct Wrap<'a> {
    lines: Vec<Line<'a>>,
    current: Line<'a>,
    /// characters of the current line's code
    width: usize,
    ends: Vec<End>,
    on: usize,
}

impl<'a> Wrap<'a> {
    /// Where to end the line if the piece has no room on it.
    fn best_end(&self, next: &Placed) -> Option<End> {
        let first_line = next.piece.text.split(['\n', '\r']).next().unwrap_or_default();
        let width = self.current.indent + self.width + next.gap + first_line.chars().count();
        if width <= WIDTH {
            return None;
        }
        self.ends.iter().rev().min_by_key(|e| e.level).copied()
    }

    fn break_after(&mut self, end: End) -> usize {
        self.current.code.truncate(end.bytes);
        self.finish();
        end.piece + 1
    }

    /// A line of its own for what follows.
    fn begin(&mut self, indent: usize) {
        if !self.current.code.is_empty() {
            self.finish();
        }
        self.current.indent = indent;
    }

    fn finish(&mut self) {
        let next = Line { indent: self.on, ..Line::default() };
        self.lines.push(std::mem::replace(&mut self.current, next));
        self.width = 0;
        self.ends.clear();
    }

    fn push(&mut self, placed: &Placed<'_, 'a>, at: usize, listed: bool) {
        let piece = placed.piece;
        if !self.current.code.is_empty() {
            self.current.code.extend(std::iter::repeat_n(' ', placed.gap));
            self.width += placed.gap;
        }
        if piece.what == What::Json && piece.breaks() {
            self.json(piece.text);
        } else {
            self.current.code.push_str(piece.text);
            self.width += piece.width();
        }
        if let Some(level) = piece.end {
            self.ends.push(End { level, piece: at, bytes: self.current.code.len() });
        }
        self.remarks(&piece.remarks, listed);
    }

    /// Comments end the line; those that stood alone do so again.
    fn remarks(&mut self, remarks: &[Remark<'a>], listed: bool) {
        for remark in remarks {
            if !self.current.code.is_empty() && remark.alone {
                self.finish();
            }
            // where it stood on a line of several elements says nothing of this one
            let column = if listed { 0 } else { remark.column };
            self.current.remark = Some(Remark { column, ..remark.clone() });
            self.finish();
        }
    }

    /// JSON over several lines goes on at the indent of the line that it begins on.
    fn json(&mut self, text: &str) {
        let base = self.current.indent;
        for (number, line) in json::lines(text).into_iter().enumerate() {
            if number > 0 {
                self.finish();
                self.current.indent = if line.is_blank() { 0 } else { base + 4 * line.depth };
            }
            self.current.code.push_str(&line.code);
            self.width += line.code.chars().count();
            let remark = |text: String| Remark { text: text.into(), column: 0, alone: false };
            self.current.remark = line.comment.map(remark);
        }
    }
}
