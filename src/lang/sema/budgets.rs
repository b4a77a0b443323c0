//! Budgets that nothing can count: money and GPU hours of a study that asks for no GPUs, money without a price.

use super::check::Checker;
use super::program::Study;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::Block;
use crate::lang::syntax::ast::{self, Budget, BudgetUnit, StepLineKind, StudyLineKind};
use crate::lang::units::{self, Dim};

impl Checker<'_> {
    /// Says which budgets are never spent; those in money wait for a site that says what a GPU costs.
    pub(super) fn countable(&mut self, decl: &ast::Study, study: &mut Study) {
        // a line that means nobody knows what may say it
        let nobodys = About::NoSetting(Block::Study);
        let unread =
            decl.unread.contains(&"gpus") || self.sink.in_span(decl.span).any(|d| d.about == nobodys);
        let gpus_stated = unread || decl.lines.iter().any(|l| matches!(l.kind, StudyLineKind::Gpus { .. }));
        for budget in budgets(decl) {
            let money = budget.unit.is_none()
                && units::unit(&budget.amount.unit).is_some_and(|(_, d)| d == Dim::MONEY);
            if !money && budget.unit != Some(BudgetUnit::GpuHours) {
                continue;
            }
            if gpus_stated {
                study.in_money.extend(money.then_some(budget.span));
                continue;
            }
            if self.sink.says(Code::OutOfRange, budget.amount.span) {
                continue;
            }
            let message = "this budget is never spent: the study asks for no GPUs";
            let d = Diagnostic::new(Code::BudgetUncounted, budget.span, message).about(About::WithoutGpus);
            self.sink.push(d.label("counts GPUs").help(
                "state `gpus N` in the study, or a budget of time or trials: `budget 6h`, `budget 48 trials`",
            ));
        }
    }
}

/// A budget in money where no site says what a GPU costs.
pub fn unpriced(span: Span) -> Diagnostic {
    Diagnostic::new(Code::BudgetUncounted, span, "no site here says what a GPU hour costs")
        .label("needs a price")
        .help("write `price 2.99usd/h` in the site (`site.plab` beside the study, or `--site FILE`); `exec` refuses it without one")
}

/// The budgets of a study, its tracks and steps.
fn budgets(decl: &ast::Study) -> Vec<&Budget> {
    let mut out = Vec::new();
    for line in &decl.lines {
        match &line.kind {
            StudyLineKind::Budget(b) => out.push(b),
            StudyLineKind::Step(step) => out.extend(of_step(step)),
            StudyLineKind::Track(track) => {
                out.extend(&track.budgets);
                out.extend(track.steps.iter().flat_map(of_step));
            }
            _ => {}
        }
    }
    out
}

/// A guided search takes trials: its other budgets are mistakes of their own.
fn of_step(step: &ast::Step) -> impl Iterator<Item = &Budget> {
    let guided = |l: &ast::StepLine| matches!(&l.kind, StepLineKind::Vary { by: Some(by), .. } if by.value == ast::Search::Guided);
    let guided = step.lines.iter().any(guided);
    step.lines.iter().filter(move |_| !guided).filter_map(|l| match &l.kind {
        StepLineKind::Budget(b) => Some(b),
        _ => None,
    })
}
