//! How often a text is read again to see what fixes make of it. It ends, so that a check takes no longer for many mistakes that no
//! machine can mend: what was not tried by then is left to people.

use std::cell::Cell;

use super::analyze::Analysis;
use super::diag::Diagnostic;

/// Readings that show what mistakes hide: each shows what those mended in it have hidden, and few hide more than one below the other.
const MOST_READINGS: usize = 12;
/// Readings that try fixes. All that help together take one, and each that does harm a few.
const MOST_TRIALS: usize = 30;
/// Where a text is long, no more are begun once this was read,
const MOST_BYTES: usize = 2 << 20;
/// but some are always.
const LEAST: usize = 4;

/// Reads texts, as long as there is reason to.
pub(super) struct Effort<'a> {
    analyze: &'a dyn Fn(&str) -> Analysis,
    most: usize,
    count: Cell<usize>,
    bytes: Cell<usize>,
}

impl<'a> Effort<'a> {
    pub(super) fn of_readings(analyze: &'a dyn Fn(&str) -> Analysis) -> Self {
        Self { analyze, most: MOST_READINGS, count: Cell::new(0), bytes: Cell::new(0) }
    }

    pub(super) fn of_trials(analyze: &'a dyn Fn(&str) -> Analysis) -> Self {
        Self { most: MOST_TRIALS, ..Self::of_readings(analyze) }
    }

    pub(super) fn is_spent(&self) -> bool {
        let count = self.count.get();
        count >= self.most || count >= LEAST && self.bytes.get() > MOST_BYTES
    }

    /// What is found in a text; `None` where that is too much to know, or to find out.
    pub(super) fn read(&self, text: &str) -> Option<Vec<Diagnostic>> {
        if self.is_spent() {
            return None;
        }
        self.count.set(self.count.get() + 1);
        self.bytes.set(self.bytes.get() + text.len());
        let analysis = (self.analyze)(text);
        (analysis.unlisted == 0).then_some(analysis.diagnostics)
    }
}
