//! What follows from a gap in a line, or goes with one: a flag apart from its value, something that is missing before a flag.

use foldhash::HashSet;

use super::check::Checker;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Edit};
use crate::lang::source::{FileId, Span};

impl Checker<'_> {
    /// `--enable-x True`: what is wrong is the word behind the switch, and the space before it goes with that.
    pub(super) fn switches_set_apart(&mut self) {
        let switch = |d: &&Diagnostic| matches!(d.about, About::TakesNone { .. });
        let apart = |d: &&Diagnostic| d.code == Code::SpacedFlag;
        let switches: Vec<Diagnostic> = self.sink.found().filter(switch).cloned().collect();
        let spaced: Vec<Span> = self.sink.found().filter(apart).map(|d| d.span).collect();
        let holds = |s: &Span, at: Span| s.file == at.file && s.start <= at.start && at.end <= s.end;
        for d in switches {
            let Some(whole) = spaced.iter().find(|s| holds(s, d.span)).copied() else { continue };
            self.sink.forget(|o| o.code == d.code && o.span == d.span);
            self.sink.forget(|o| o.code == Code::SpacedFlag && o.span == whole);
            let edits = d.edits.iter().map(|e| Edit { span: whole, ..e.clone() }).collect();
            self.sink.push(Diagnostic { span: whole, edits, ..d });
        }
    }

    /// `--port 8000`: how a flag is written that perflab sets by itself is of no matter.
    pub(super) fn reserved_with_a_gap(&mut self) {
        let reserved = self.sink.found().filter(|d| d.code == Code::ReservedFlag);
        let reserved: HashSet<(FileId, u32)> = reserved.map(|d| (d.span.file, d.span.start)).collect();
        let is_reserved = |s: Span| reserved.contains(&(s.file, s.start));
        self.sink.forget(|d| d.code == Code::SpacedFlag && is_reserved(d.span));
    }

    /// `unset --seqs` in the place of a point: what is missing before the flag may be what it needs.
    pub(super) fn valueless_behind_a_gap(&mut self) {
        let gaps = self.sink.found().filter(|d| d.code == Code::Unexpected);
        let gaps: HashSet<(FileId, u32)> = gaps.map(|d| (d.span.file, d.span.start)).collect();
        let is_gap = |s: Span| gaps.contains(&(s.file, s.start));
        self.sink.forget(|d| d.code == Code::FlagNeedsValue && is_gap(d.span));
    }
}
