//! What a name is compared with, as far as that shows from the text alone: for a name that nothing declares, or that two things have.

use super::metrics::{MetricKind, kind_of};
use crate::lang::syntax::ast::{BinaryOp, Expr, ExprKind, Item, Step, StudyLineKind};
use crate::lang::units::{self, Dim};

/// The kinds of what a name is compared with in a file.
pub(super) fn kinds_met(items: &[Item], name: &str) -> Vec<Dim> {
    let mut all = Vec::new();
    let mut add = |e: &Expr| compared(e, name, &mut all);
    for item in items {
        match item {
            Item::Prune(rule) => add(&rule.when),
            Item::Study(study) => study.lines.iter().for_each(|line| match &line.kind {
                StudyLineKind::Require { expr, .. } => add(expr),
                StudyLineKind::Prune(rule) => add(&rule.when),
                StudyLineKind::Step(step) => guard(step).into_iter().for_each(&mut add),
                StudyLineKind::Track(track) => track.steps.iter().filter_map(guard).for_each(&mut add),
                _ => {}
            }),
            _ => {}
        }
    }
    all
}

fn guard(step: &Step) -> Option<&Expr> {
    step.when.as_ref()
}

fn compared(e: &Expr, name: &str, all: &mut Vec<Dim>) {
    match &e.kind {
        ExprKind::Not(inner) => compared(inner, name, all),
        ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
            compared(left, name, all);
            compared(right, name, all);
        }
        ExprKind::Binary { op, left, right } if op.is_comparison() => {
            for (side, other) in [(left, right), (right, left)] {
                all.extend(dim(other).filter(|_| is_of(side, name)));
            }
        }
        _ => {}
    }
}

/// Whether a side is what is called so, or so many times that.
fn is_of(side: &Expr, name: &str) -> bool {
    match &side.kind {
        ExprKind::Call { owner: None, name: called, args: None } => called.value == name,
        ExprKind::Binary { op: BinaryOp::Mul, left, right } => {
            let times = |e: &Expr| dim(e) == Some(Dim::PLAIN);
            is_of(left, name) && times(right) || is_of(right, name) && times(left)
        }
        _ => false,
    }
}

fn dim(e: &Expr) -> Option<Dim> {
    match &e.kind {
        ExprKind::Number(n) => units::unit(&n.unit).map(|(_, dim)| dim),
        ExprKind::Call { name, args: None, .. } => match kind_of(&name.value)? {
            MetricKind::Number(dim) => Some(dim),
            MetricKind::Distribution(_) => None,
        },
        // `p99(ttft)`
        ExprKind::Call { args: Some(args), .. } => match args.as_slice() {
            [Expr { kind: ExprKind::Call { owner: None, name, args: None }, .. }] => {
                match kind_of(&name.value)? {
                    MetricKind::Distribution(dim) => Some(dim),
                    MetricKind::Number(_) => None,
                }
            }
            _ => None,
        },
        ExprKind::Binary { op: BinaryOp::Mul, left, right } => Some(dim(left)?.times(dim(right)?)),
        ExprKind::Binary { op: BinaryOp::Div, left, right } => Some(dim(left)?.per(dim(right)?)),
        _ => None,
    }
}
