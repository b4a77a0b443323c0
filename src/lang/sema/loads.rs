//! What the numbers of a load must be among themselves: ranges that rise, curves without repeats, caps where there is something to cap.

use super::check::Checker;
use super::program::{Load, Profile};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Number, WordLine};
use crate::lang::units::Dim;

impl Checker<'_> {
    /// A range goes from the smaller number to the bigger.
    pub(super) fn rises(&mut self, line: &WordLine, from: f64, to: Option<f64>) -> Option<()> {
        if to.is_none_or(|to| to > from) {
            return Some(());
        }
        self.wrong(line, "a range from the smaller number to the bigger");
        None
    }

    /// The loads of a curve have a row each.
    pub(super) fn each_once<T: PartialEq>(&mut self, written: &[Number], loads: &[T]) {
        for (i, load) in loads.iter().enumerate() {
            if let Some(first) = loads[..i].iter().position(|l| l == load) {
                let d =
                    Diagnostic::new(Code::ProfileSetting, written[i].span, "the curve has this load twice");
                let d = d.label("the second one").related(written[first].span, "the first one");
                self.sink.push(d.help("name each load once"));
            }
        }
    }

    pub(super) fn temperature(&mut self, n: &Number) -> Option<f64> {
        let value = self.number_of(n, Dim::PLAIN, "`temperature`")?;
        if value < 0.0 {
            let d = Diagnostic::new(Code::OutOfRange, n.span, "`temperature` is not below zero");
            self.sink.push(
                d.label("out of range").help("write `temperature 0` for the likeliest token each time"),
            );
            return None;
        }
        Some(value)
    }

    /// `in_flight` caps an open load; a closed one is its own cap.
    pub(super) fn capped(&mut self, span: Span, p: &Profile) {
        if matches!(
            p.load,
            Some(Load::Concurrency(_) | Load::Concurrencies(_) | Load::ConcurrencyRange { .. })
        ) {
            let message = "`in_flight` caps the load of a `rate`, and this one is closed";
            let d = Diagnostic::new(Code::ProfileSetting, span, message).label("without a rate");
            self.sink
                .push(d.help("`concurrency` is the number in flight: state a rate, or remove this line"));
        }
    }
}
