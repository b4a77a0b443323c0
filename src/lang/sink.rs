//! Where every pass puts what it finds, and takes back what turns out to follow from something else.

use foldhash::HashSet;

use super::codes::Code;
use super::diag::{Diagnostic, Severity, sort};
use super::source::Span;

/// More errors than this are not looked into: a file of noise would yield one for each line. Far more than are listed, for what follows
/// from others is taken back at the end.
const MOST_ERRORS: usize = 2000;
/// Nor are more warnings and notes.
const MOST_REMARKS: usize = 2000;

/// Where every pass puts what it finds.
#[derive(Debug, Default)]
pub struct Sink {
    found: Vec<Diagnostic>,
    /// codes and places of what was ever pushed
    places: HashSet<(Code, Span)>,
    errors: usize,
    /// how many errors were only counted
    unexplained: usize,
}

impl Sink {
    /// Pushes unless the same was already reported at the same place, or enough has been.
    pub fn push(&mut self, d: Diagnostic) {
        let same = |o: &Diagnostic| o.code == d.code && o.span == d.span && o.message == d.message;
        if !self.places.insert((d.code, d.span)) && self.found.iter().any(same) {
            return;
        }
        if d.is_error() {
            if self.is_full() {
                self.unexplained();
                return;
            }
            self.errors += 1;
        } else if self.found.len() - self.errors >= MOST_REMARKS {
            return;
        }
        self.found.push(d);
    }

    /// Pushes all that another one holds.
    pub fn take_over(&mut self, other: Self) {
        self.unexplained += other.unexplained;
        other.found.into_iter().for_each(|d| self.push(d));
    }

    /// Whether so many errors were found that more are only counted.
    pub fn is_full(&self) -> bool {
        self.errors >= MOST_ERRORS
    }

    /// Counts a mistake that was not looked into, because enough were.
    pub fn unexplained(&mut self) {
        self.unexplained += 1;
    }

    /// Takes the fix from what was found last.
    pub fn leave_to_people(&mut self) {
        if let Some(last) = self.found.last_mut() {
            last.edits.clear();
        }
    }

    /// Takes back what turned out to follow from a mistake: errors and doubts.
    pub fn forget(&mut self, mut follows: impl FnMut(&Diagnostic) -> bool) {
        let mut errors = 0;
        self.found.retain(|d| {
            let gone = follows(d);
            errors += usize::from(gone && d.is_error());
            !gone
        });
        self.errors -= errors;
    }

    /// What was found up to now, in no order that matters.
    pub fn found(&self) -> impl Iterator<Item = &Diagnostic> {
        self.found.iter()
    }

    /// The same, to be completed by who knows more.
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut Diagnostic> {
        self.found.iter_mut()
    }

    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// How many errors there are, those that were only counted among them.
    pub fn count(&self) -> usize {
        self.errors + self.unexplained
    }

    /// The errors that begin within a span.
    pub fn in_span(&self, within: Span) -> impl Iterator<Item = &Diagnostic> {
        let inside = move |s: Span| s.file == within.file && s.start < within.end && within.start <= s.start;
        self.found.iter().filter(move |d| d.is_error() && inside(d.span))
    }

    /// Whether a code was given within a span.
    pub fn says(&self, code: Code, within: Span) -> bool {
        let inside = |s: Span| s.file == within.file && s.start < within.end && within.start < s.end;
        self.found.iter().any(|d| d.code == code && inside(d.span))
    }

    /// Whether some mistake was probably meant to be this word.
    pub fn suggests(&self, word: &str) -> bool {
        // a text inserts a param in braces
        let same = |s: &String| s.trim_matches(['{', '}']) == word;
        self.found.iter().any(|d| d.suggested.iter().any(same))
    }

    /// How many errors were only counted.
    pub fn unlisted(&self) -> usize {
        self.unexplained
    }

    /// Everything found, in the order of the text; a file's errors before its warnings on the same place. Notes say what becomes
    /// of a file that is right, so that a file with errors has none.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        if self.has_errors() {
            self.found.retain(|d| d.severity() != Severity::Note);
        }
        sort(&mut self.found);
        self.found
    }
}
