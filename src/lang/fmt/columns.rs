//! Columns: how far apart the cells of each row stand, so that those of neighbours meet.
//!
//! Cells much wider than their neighbours do not push the others away, and a row that columns would make too long is left as it is.

use super::print::{Form, form, width_on_one_line};
use super::rows::{Cell, Entry, Kind, Row};
use crate::lang::syntax::grammar::Rule;

/// How far columns may push a line.
const WIDEST: usize = 140;
/// A wider first cell, or another, does not count.
const NAME_CAP: usize = 40;
const CELL_CAP: usize = 48;
const TYPE_CAP: usize = 12;
/// A cell so much wider than every narrower one is much wider than its neighbours.
const FAR: usize = 16;
/// So many settings of an engine make a table.
const SOME_SETTINGS: usize = 3;

/// The spaces before each cell of each entry (the first has none), and before the block.
pub fn gaps(entries: &[Entry], indent: usize) -> Vec<Vec<usize>> {
    let mut gaps: Vec<Vec<usize>> = entries.iter().map(plain).collect();
    for run in runs(entries, indent) {
        Run { entries, indent, rows: &run }.align(&mut gaps);
    }
    gaps
}

fn plain(entry: &Entry) -> Vec<usize> {
    match entry {
        Entry::Comment { .. } => Vec::new(),
        Entry::Row(row) => vec![least(row.kind); row.cells.len() + 1],
    }
}

/// A schema's cells hold several words, so that one space would not part them.
fn least(kind: Kind) -> usize {
    if kind == Kind::Table(Rule::e_flag) { 2 } else { 1 }
}

fn row<'e, 'a>(entry: &'e Entry<'a>) -> Option<&'e Row<'a>> {
    match entry {
        Entry::Row(row) => Some(row),
        Entry::Comment { .. } => None,
    }
}

/// Rows that stand in columns together. Tables end at anything else and at a block over several lines; the settings of a block are
/// one table up to a blank line or a declaration.
fn runs(entries: &[Entry], indent: usize) -> Vec<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let mut current: Option<Kind> = None;
    for (at, entry) in entries.iter().enumerate() {
        let setting = matches!(current, Some(Kind::Setting(_)));
        let (blank, kind) = match entry {
            Entry::Comment { blank, .. } => (*blank, Kind::Plain),
            Entry::Row(row) => (row.blank, row.kind),
        };
        if blank || !setting && kind == Kind::Plain {
            current = None;
        }
        if kind == Kind::Plain {
            continue;
        }
        match runs.last_mut() {
            Some(run) if current == Some(kind) => run.push(at),
            _ => runs.push(vec![at]),
        }
        let ends = row(entry).is_some_and(|r| r.body.is_some() && form(r, indent) != Form::OneLine);
        current = (!ends).then_some(kind);
    }
    runs
}

/// The greatest width up to which none is much wider than those before it.
fn near(mut widths: Vec<usize>) -> usize {
    widths.sort_unstable();
    let far = widths.windows(2).find(|pair| pair[1] - pair[0] > FAR).map(|pair| pair[0]);
    far.or(widths.last().copied()).unwrap_or(0)
}

struct Run<'r, 'a> {
    entries: &'r [Entry<'a>],
    indent: usize,
    rows: &'r [usize],
}

impl<'r, 'a> Run<'r, 'a> {
    fn row(&self, at: usize) -> &'r Row<'a> {
        row(&self.entries[at]).expect("runs hold rows")
    }

    fn is_on_one_line(&self, at: usize) -> bool {
        form(self.row(at), self.indent) == Form::OneLine
    }

    fn align(&self, gaps: &mut [Vec<usize>]) {
        let mut aside = self.column(self.rows, 0, gaps);
        for group in self.rows.chunk_by(|a, b| self.alike(*a, *b)) {
            let cells = group.iter().map(|at| self.row(*at).cells.len()).max().unwrap_or(0);
            for column in 1..cells {
                // a row that is not in one column is in none behind it
                let rows: Vec<usize> = group.iter().copied().filter(|at| !aside.contains(at)).collect();
                aside.extend(self.column(&rows, column, gaps));
            }
        }
        for &at in self.rows {
            self.relax(at, &mut gaps[at]);
        }
    }

    /// Whether rows share the columns after the first. A schema is one table, whatever its flags state.
    fn alike(&self, a: usize, b: usize) -> bool {
        let (left, right) = (self.row(a), self.row(b));
        let tags = |r: &Row| r.cells.iter().map(|c| c.tag).collect::<Vec<_>>();
        let same = self.is_on_one_line(a)
            && self.is_on_one_line(b)
            && left.body.is_some() == right.body.is_some()
            && tags(left) == tags(right);
        same || left.kind == Kind::Table(Rule::e_flag)
    }

    /// Makes the cell after this one begin at the same place in all rows that have both, but for those whose cell is too wide, which
    /// it returns.
    fn column(&self, rows: &[usize], column: usize, gaps: &mut [Vec<usize>]) -> Vec<usize> {
        let Some(kind) = rows.first().map(|at| self.row(*at).kind) else { return Vec::new() };
        let cap = match (kind, column) {
            (_, 0) => NAME_CAP,
            (Kind::Table(Rule::e_flag), 1) => TYPE_CAP,
            _ => CELL_CAP,
        };
        let has_next = |at: &&usize| {
            let row = self.row(**at);
            row.cells.len() > column + 1
                || row.cells.len() == column + 1 && row.body.is_some() && self.is_on_one_line(**at)
        };
        let width_of = |at: usize| self.row(at).cells.get(column).map_or(0, Cell::width);
        let padded: Vec<usize> = rows.iter().filter(has_next).copied().collect();
        // the columns of a schema hold what they hold
        let cap = match kind {
            Kind::Table(Rule::e_flag) => cap,
            _ => near(padded.iter().map(|at| width_of(*at)).collect()).min(cap),
        };
        let (padded, aside): (Vec<usize>, Vec<usize>) =
            padded.into_iter().partition(|at| width_of(*at) <= cap);
        let mut width = padded.iter().map(|at| width_of(*at)).max().unwrap_or(0);
        if let Kind::Setting(least) = kind
            && rows.len() >= SOME_SETTINGS
        {
            width = width.max(least);
        }
        for at in padded {
            gaps[at][column + 1] = width - width_of(at) + least(kind);
        }
        // the flags of a schema share their columns whatever they hold
        if kind == Kind::Table(Rule::e_flag) { Vec::new() } else { aside }
    }

    /// Takes columns back from a row that they would make too long, the first column last.
    fn relax(&self, at: usize, gaps: &mut [usize]) {
        let row = self.row(at);
        let Some(natural) = width_on_one_line(row).filter(|_| self.is_on_one_line(at)) else { return };
        let least = least(row.kind);
        let over = |gaps: &[usize]| {
            let added: usize = gaps.iter().skip(1).map(|g| g - least).sum();
            self.indent + natural + added > WIDEST
        };
        for from in [2, 1] {
            if over(gaps) {
                gaps.iter_mut().skip(from).for_each(|g| *g = least);
            }
        }
    }
}
