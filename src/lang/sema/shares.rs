//! Shares written as if they were percent: `success_rate >= 99.9`, `gain < -20`, `adopt gain >= 1`. A share is a plain number from 0 to
//! 1, and `99.9%` is 0.999; what compares with more than there can be was meant as percent.

use super::bounds;
use super::check::Checker;
use super::program::Expr;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::syntax::ast::{self, ExprKind, Number};

/// The gain from which a plain number is taken for percent.
const DOUBLED: f64 = 1.0;
/// The gain from which it may have been: no flag is expected to bring a fifth.
const MUCH: f64 = 0.2;
/// A share above it can only be percent.
const TELLING: f64 = 10.0;

impl Checker<'_> {
    /// A share, or the gain, compared with a plain number that it can never be. `None` after saying so.
    pub(super) fn as_percent(&mut self, left: &ast::Expr, right: &ast::Expr) -> Option<()> {
        for (metric, number) in [(left, right), (right, left)] {
            let (Some(name), ExprKind::Number(n)) = (named(metric), &number.kind) else { continue };
            if name == "failed" && n.unit == "%" {
                let d = Diagnostic::new(
                    Code::OutOfRange,
                    n.span,
                    "`failed` counts requests, and this is a share",
                );
                let least = format!("success_rate >= {}%", round(100.0 - n.value));
                self.sink.push(d.label("a share").help(format!("write for example `{least}`")));
                return None;
            }
            let beyond =
                if name == "gain" { n.value < -1.0 } else { bounds::is_share(name) && n.value > 1.0 };
            if name == "gain" && n.unit.is_empty() && n.value >= 1.0 {
                let whole = round(n.value * 100.0);
                let message = format!("`gain` is a share of 1, and `{}` is {whole} %", n.value);
                let d = Diagnostic::new(Code::Implausible, n.span, message).label("without `%`");
                self.sink.push(d.help(format!("write `{}%`, or `{whole}%` if that is meant", n.value)));
            }
            if !n.unit.is_empty() || !beyond {
                continue;
            }
            let whole = round(n.value * 100.0);
            let message = format!("`{name}` is a share of 1, and `{}` is {whole} %", n.value);
            let d = Diagnostic::new(Code::OutOfRange, n.span, message).label("without `%`");
            self.sink.push(percent(d, n));
            return None;
        }
        Some(())
    }

    /// `p99(ttft) > -2s`: what is measured is never below zero, so such a number was not meant. `None` after saying so.
    pub(super) fn below_zero(&mut self, measured: (&ast::Expr, &Expr), number: &ast::Expr) -> Option<()> {
        let ExprKind::Number(n) = &number.kind else { return Some(()) };
        if n.value >= 0.0 || !bounds::is_never_negative(measured.1) {
            return Some(());
        }
        let (what, written) = (self.source_text(measured.0.span), self.source_text(n.span));
        let message = format!("`{what}` is never below zero, and `{written}` is");
        let right = written.trim_start_matches('-').to_owned();
        let d = Diagnostic::new(Code::OutOfRange, n.span, message).label("below zero");
        self.sink.push(d.help(format!("write a number that it can be, for example `{right}`")));
        None
    }

    /// `adopt gain >= 1` asks for twice as much: whoever means that says `100%`. `None` after saying so. More than that no flag brings.
    pub(super) fn adopts_share(&mut self, n: &Number) -> Option<()> {
        if n.unit == "%" && n.value > 100.0 * DOUBLED && n.value <= 1000.0 {
            let message = format!("hardly anything gains `{}%`, so that nothing is adopted", n.value);
            let d = Diagnostic::new(Code::Implausible, n.span, message).label("more than twice the base");
            let likely = round(n.value / 100.0);
            self.sink.push(d.help(format!(
                "the least gain that is worth a change stands here, for example `adopt gain >= {likely}%`"
            )));
        }
        if !n.unit.is_empty() {
            return Some(());
        }
        if n.value < DOUBLED {
            if n.value >= MUCH {
                let whole = round(n.value * 100.0);
                let message = format!("`{}` is a gain of {whole} %", n.value);
                let d = Diagnostic::new(Code::Implausible, n.span, message).label("without `%`");
                self.sink
                    .push(d.help(format!("write `{}%`; if {whole} % is meant, write `{whole}%`", n.value)));
            }
            return Some(());
        }
        let whole = round(n.value * 100.0);
        let message = format!("the gain to adopt from is a share of 1, and `{}` is {whole} %", n.value);
        let d = Diagnostic::new(Code::OutOfRange, n.span, message).label("without `%`");
        self.sink.push(if n.value > 10.0 {
            d.help(format!("write `{}%`", n.value))
        } else {
            d.help(format!("write `{}%`; if {whole} % is meant, write `{whole}%`", n.value))
        });
        None
    }
}

/// Without what is left of reckoning with decimals.
fn round(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

fn percent(d: Diagnostic, n: &Number) -> Diagnostic {
    if n.value.abs() > 100.0 {
        return d.help("write a share in percent, for example `99%`");
    }
    let right = format!("{}%", n.value);
    // `1.1` may be `100%`, `99%` or a slip of the point: as `1.1%` it would let everything pass
    if n.value > 1.0 && n.value <= TELLING {
        return d.help(format!(
            "a share is `100%` at most: write for example `99%`, or `{right}` if that is meant"
        ));
    }
    d.help(format!("write `{right}`")).edit(n.span, right)
}

fn named(e: &ast::Expr) -> Option<&str> {
    if let ExprKind::Call { name, args: None, .. } = &e.kind { Some(&name.value) } else { None }
}
