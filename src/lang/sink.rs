//! Where every pass puts what it finds, and takes back what turns out to follow from something else.

use std::ops::Range;

use foldhash::HashSet;

use super::codes::Code;
use super::diag::{Diagnostic, Edit, Severity, sort};
use super::source::{FileId, Span};

/// More errors than this are not looked into: a file of noise would yield one for each line. Far more than are listed, for what follows
/// from others is taken back at the end.
const MOST_ERRORS: usize = 2000;
/// Nor are more warnings and notes.
const MOST_REMARKS: usize = 2000;

/// Two parts of a line that change places before the file is read on, with what stands between them.
#[derive(Debug, Clone)]
pub struct Swap {
    pub file: FileId,
    /// where they stand in the file
    pub first: Range<usize>,
    pub second: Range<usize>,
}

impl Swap {
    /// What is said of the file as it is, before it is read on.
    #[must_use]
    pub fn foretold(&self, d: Diagnostic) -> Diagnostic {
        let Range { start, end } = self.place();
        let first = start..start + self.second.len();
        Self { file: self.file, first, second: end - self.first.len()..end }.moved(d)
    }

    /// What was found with the two in each other's place, where it stands in the file. A fix that would be torn apart is none.
    fn moved(&self, mut d: Diagnostic) -> Diagnostic {
        let whole = |span: Span| self.written(span).unwrap_or(Span::new(self.file, self.place()));
        d.span = whole(d.span);
        d.related.iter_mut().for_each(|(span, _)| *span = whole(*span));
        let edits = d.edits.iter().map(|e| Some(Edit { span: self.written(e.span)?, text: e.text.clone() }));
        d.edits = edits.collect::<Option<_>>().unwrap_or_default();
        d
    }

    fn place(&self) -> Range<usize> {
        self.first.start..self.second.end
    }

    /// Where something stands in the file that was found with the two in each other's place; `None` if it is torn apart.
    fn written(&self, span: Span) -> Option<Span> {
        let place = self.place();
        let Range { start, end } = span.range();
        let inside = span.file == self.file && start < place.end && end > place.start && start < end;
        if !inside || span.range() == place {
            return Some(span);
        }
        let at = |byte: usize| {
            let (back, on) = (self.second.start - self.first.start, self.second.end - self.first.end);
            if !place.contains(&byte) {
                byte
            } else if byte < self.first.start + self.second.len() {
                byte + back
            } else if byte < place.end - self.first.len() {
                byte + self.first.len() - self.second.len()
            } else {
                byte - on
            }
        };
        let (first, last) = (at(start), at(end - 1) + 1);
        (last.checked_sub(first) == Some(end - start)).then(|| Span::new(span.file, first..last))
    }
}

/// Where every pass puts what it finds.
#[derive(Debug, Default)]
pub struct Sink {
    found: Vec<Diagnostic>,
    /// codes and places of what was ever pushed
    places: HashSet<(Code, Span)>,
    errors: usize,
    /// how many errors were only counted
    unexplained: usize,
    /// what stands in another place in the files than where it is found, the first change first
    swaps: Vec<Swap>,
    /// what is a mistake unless a declaration that lost its name accounts for it
    supposed: Option<Box<Sink>>,
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
        self.swaps.extend(other.swaps);
        if let Some(supposed) = other.supposed {
            self.supposed().take_over(*supposed);
        }
        other.found.into_iter().for_each(|d| self.push(d));
    }

    /// Where that is put which is a mistake unless a declaration that lost its name accounts for it, until all of it is known.
    pub fn supposed(&mut self) -> &mut Self {
        self.supposed.get_or_insert_default()
    }

    /// All that was put there.
    pub fn take_supposed(&mut self) -> Vec<Diagnostic> {
        self.supposed.take().map(|supposed| supposed.found).unwrap_or_default()
    }

    /// From here on a file is read with two of its parts in each other's place.
    pub fn swapped(&mut self, swap: Swap) {
        self.swaps.push(swap);
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

    /// Everything found, in the order of the text; a file's errors before its warnings on the same place. Notes say what becomes of a file
    /// that is right, so that one with errors has none, but the one by which a line that is missing is told.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        if self.has_errors() {
            self.found.retain(|d| d.severity() != Severity::Note || d.code == Code::NothingWins);
        }
        for swap in self.swaps.iter().rev() {
            self.found = self.found.into_iter().map(|d| swap.moved(d)).collect();
        }
        sort(&mut self.found);
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_after_a_swap_stands_where_it_was_written() {
        // `confirm chat on x` is read as `confirm on chat x`
        let swap = Swap { file: FileId(1), first: 8..12, second: 13..15 };
        let at = |range: Range<usize>| swap.written(Span::new(FileId(1), range)).map_or(8..15, Span::range);
        assert_eq!(
            [at(0..7), at(8..10), at(10..11), at(11..15), at(16..17)],
            [0..7, 13..15, 12..13, 8..12, 16..17]
        );
        assert_eq!([at(8..15), at(0..10), at(9..12), at(12..14)], [8..15, 8..15, 8..15, 9..11]);
        let other = Span::new(FileId(0), 8..10);
        assert_eq!(swap.written(other), Some(other));
        let d = Diagnostic::new(Code::Unexpected, Span::new(FileId(1), 13..15), "no");
        assert_eq!(swap.moved(swap.foretold(d.clone().edit(d.span, ""))), d.clone().edit(d.span, ""));
    }
}
