//! Rows to lines: which blocks stay on one line, and where the lines of the others go.

use super::columns;
use super::rows::{Body, Cell, Entry, Piece, Remark, Row};
use super::spacing::Glue;
use super::tokens::What;
use super::wrap::{self, Placed};

/// What a line may take before it is broken.
pub const WIDTH: usize = 120;
pub const INDENT: usize = 4;

/// One line of the result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Line<'a> {
    pub indent: usize,
    pub code: String,
    pub remark: Option<Remark<'a>>,
    /// a row that stands on this line alone
    pub whole: bool,
}

impl Line<'_> {
    pub fn is_blank(&self) -> bool {
        self.code.is_empty() && self.remark.is_none()
    }
}

/// How a row is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    OneLine,
    /// its block, or what it says, takes several lines
    Broken,
}

static OPEN: Piece<'static> = sign("{");
static CLOSE: Piece<'static> = sign("}");

const fn sign(text: &'static str) -> Piece<'static> {
    let glue = Glue { before: false, after: false };
    Piece { text, what: What::Sign, glue, end: None, remarks: Vec::new() }
}

/// The lines of a file.
pub fn lines<'a>(entries: &[Entry<'a>]) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    print(entries, 0, &mut lines);
    lines
}

fn print<'a>(entries: &[Entry<'a>], indent: usize, lines: &mut Vec<Line<'a>>) {
    let gaps = columns::gaps(entries, indent);
    for (entry, gaps) in entries.iter().zip(&gaps) {
        match entry {
            Entry::Comment { remark, blank } => {
                lines.extend(blank.then(Line::default));
                lines.push(Line { indent, remark: Some(remark.clone()), ..Line::default() });
            }
            Entry::Row(row) => {
                lines.extend(row.blank.then(Line::default));
                print_row(row, gaps, indent, lines);
            }
        }
    }
}

fn print_row<'a>(row: &Row<'a>, gaps: &[usize], indent: usize, lines: &mut Vec<Line<'a>>) {
    let mut placed = Vec::new();
    for (cell, gap) in row.cells.iter().zip(gaps) {
        place(cell, if placed.is_empty() { 0 } else { *gap }, &mut placed);
    }
    let one_line = form(row, indent) == Form::OneLine;
    match &row.body {
        Some(body) if one_line => place_body(body, gaps[row.cells.len()], &mut placed),
        Some(_) => placed.push(Placed { gap: 1, piece: &OPEN }),
        None => {}
    }
    if one_line {
        lines.push(Line { indent, code: wrap::joined(&placed), remark: None, whole: true });
    } else {
        lines.extend(wrap::wrapped(&placed, indent, indent + row.continued));
    }
    if let Some(body) = row.body.as_ref().filter(|_| !one_line) {
        mark(lines, body.remark.as_ref());
        print(&body.entries, indent + INDENT, lines);
        lines.push(Line { indent, code: "}".to_owned(), ..Line::default() });
        // the comments inside are no neighbours of one behind the block, nor is where it stood before
        let tail = row.tail.as_ref().map(|t| Remark { column: 0, ..t.clone() });
        mark(lines, tail.as_ref());
        return;
    }
    mark(lines, row.tail.as_ref());
}

fn mark<'a>(lines: &mut [Line<'a>], remark: Option<&Remark<'a>>) {
    if let (Some(line), Some(remark)) = (lines.last_mut(), remark) {
        line.remark = Some(remark.clone());
    }
}

/// A cell's pieces, the first of them `gap` spaces after what stands there.
fn place<'p, 'a>(cell: &'p Cell<'a>, gap: usize, placed: &mut Vec<Placed<'p, 'a>>) {
    let mut glued = None;
    for piece in &cell.pieces {
        let touches = glued.is_some_and(|after| after || piece.glue.before);
        let gap = if glued.is_none() { gap } else { usize::from(!touches) };
        placed.push(Placed { gap, piece });
        glued = Some(piece.glue.after);
    }
}

/// A block on one line. What stands on one line holds rows alone.
fn place_body<'p, 'a>(body: &'p Body<'a>, gap: usize, placed: &mut Vec<Placed<'p, 'a>>) {
    placed.push(Placed { gap, piece: &OPEN });
    for entry in &body.entries {
        let Entry::Row(row) = entry else { continue };
        for cell in &row.cells {
            place(cell, 1, placed);
        }
        if let Some(body) = &row.body {
            place_body(body, 1, placed);
        }
    }
    let gap = usize::from(!body.entries.is_empty());
    placed.push(Placed { gap, piece: &CLOSE });
}

/// Whether a row stands on one line at this indent. Columns have no say in it: they come after.
pub fn form(row: &Row, indent: usize) -> Form {
    match width_on_one_line(row) {
        Some(width) if indent + width <= WIDTH => Form::OneLine,
        Some(_) | None => Form::Broken,
    }
}

/// How wide a row is on one line with single spaces; nothing if it cannot stand on one.
pub fn width_on_one_line(row: &Row) -> Option<usize> {
    let head = head_width(row)?;
    match &row.body {
        Some(body) => Some(head + 1 + body_width(body)?),
        None => Some(head),
    }
}

/// How wide a row's head is on one line.
fn head_width(row: &Row) -> Option<usize> {
    let breaks = |c: &Cell| c.pieces.iter().any(Piece::breaks);
    if row.cells.iter().any(breaks) {
        return None;
    }
    Some(row.cells.iter().map(|c| c.width() + 1).sum::<usize>().saturating_sub(1))
}

fn body_width(body: &Body) -> Option<usize> {
    let empty = body.entries.is_empty() && body.remark.is_none();
    if !body.one_line && !empty {
        return None;
    }
    let mut width = 2;
    for entry in &body.entries {
        let Entry::Row(row) = entry else { return None };
        width += 1 + width_on_one_line(row)?;
    }
    Some(width + usize::from(!body.entries.is_empty()))
}

impl Piece<'_> {
    /// Whether its line ends with it, or within it.
    pub fn breaks(&self) -> bool {
        !self.remarks.is_empty() || self.text.contains(['\n', '\r'])
    }

    pub fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl Cell<'_> {
    /// Its width on one line.
    pub fn width(&self) -> usize {
        let mut placed = Vec::new();
        place(self, 0, &mut placed);
        placed.iter().map(|p| p.gap + p.piece.width()).sum()
    }
}
