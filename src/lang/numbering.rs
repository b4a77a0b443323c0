//! A file that is read again with its mistakes mended may use more files, and meet them in another order. What those readings find names
//! its files as the first reading does, so that it can be shown beside what that one found.

use std::cell::RefCell;

use super::analyze::Analysis;
use super::source::{FileId, Sources, Span};

/// The files of a first reading, to which later ones add theirs.
pub(super) struct Numbering(RefCell<Sources>);

impl Numbering {
    pub(super) fn of(first: &mut Analysis) -> Self {
        Self(RefCell::new(std::mem::take(&mut first.sources)))
    }

    /// Another reading of the same file, its text changed.
    pub(super) fn alike(&self, mut later: Analysis) -> Analysis {
        let mut all = self.0.borrow_mut();
        let known: Vec<FileId> = later.sources.iter().map(|(id, source)| all.known_as(id, source)).collect();
        let renamed = |span: &mut Span| span.file = known[span.file.0 as usize];
        for d in &mut later.diagnostics {
            renamed(&mut d.span);
            d.related.iter_mut().for_each(|(span, _)| renamed(span));
            d.edits.iter_mut().for_each(|e| renamed(&mut e.span));
        }
        later
    }

    /// Gives the files back, those that only later readings met among them.
    pub(super) fn end(self, first: &mut Analysis) {
        first.sources = self.0.into_inner();
    }
}
