//! What comes of a condition when a configuration is held against itself, as the baseline is by a requirement that compares with it.

use crate::lang::sema::program::{Expr, Owner};
use crate::lang::syntax::ast::BinaryOp;

/// Metrics that are above zero of all that ran at all.
const ABOVE_ZERO: &[&str] = &[
    "ttft",
    "tpot",
    "itl",
    "latency",
    "startup",
    "request_rate",
    "input_tps",
    "output_tps",
    "total_tps",
    "success_rate",
    "tokens_per_joule",
    "cost_per_mtok",
    "gpu_power",
    "gpu_memory",
    "energy",
];

/// Whether a condition holds of the baseline, if that is certain whatever it measures.
pub(super) fn of_itself(e: &Expr) -> Option<bool> {
    e.truth(&|part| match part {
        Expr::Binary { op, left, right } if op.is_comparison() && part.compares() => {
            compared(*op, &Linear::of(left)?.and(Linear::of(right)?, -1.0))
        }
        _ => None,
    })
}

/// How a difference lies to zero: of a number, or of some times a metric that is above zero.
fn compared(op: BinaryOp, difference: &Linear) -> Option<bool> {
    let d = match difference.terms.as_slice() {
        [] => difference.number,
        [(metric, times)] if difference.number == 0.0 && is_above_zero(metric) => *times,
        _ => return None,
    };
    Some(match op {
        BinaryOp::Lt => d < 0.0,
        BinaryOp::Le => d <= 0.0,
        BinaryOp::Gt => d > 0.0,
        BinaryOp::Ge => d >= 0.0,
        BinaryOp::Eq => d == 0.0,
        _ => d != 0.0,
    })
}

fn is_above_zero(e: &Expr) -> bool {
    match e {
        Expr::Metric { name, .. } => ABOVE_ZERO.contains(&name.as_str()),
        Expr::Gpus { .. } => true,
        Expr::Number(n) => *n > 0.0,
        Expr::Binary { op: BinaryOp::Mul | BinaryOp::Div | BinaryOp::Add, left, right } => {
            is_above_zero(left) && is_above_zero(right)
        }
        _ => false,
    }
}

/// A number and so many times some metrics, those of the baseline being its own.
struct Linear {
    number: f64,
    terms: Vec<(Expr, f64)>,
}

impl Linear {
    fn of(e: &Expr) -> Option<Self> {
        match e {
            Expr::Number(n) => Some(Self { number: *n, terms: Vec::new() }),
            Expr::Binary { op: BinaryOp::Add, left, right } => {
                Some(Self::of(left)?.and(Self::of(right)?, 1.0))
            }
            Expr::Binary { op: BinaryOp::Sub, left, right } => {
                Some(Self::of(left)?.and(Self::of(right)?, -1.0))
            }
            Expr::Binary { op: op @ (BinaryOp::Mul | BinaryOp::Div), left, right } => {
                let (left, right) = (Self::of(left)?, Self::of(right)?);
                match (op, left.terms.as_slice(), right.terms.as_slice()) {
                    (BinaryOp::Div, _, []) => Some(left.times(1.0 / right.number)),
                    (BinaryOp::Mul, _, []) => Some(left.times(right.number)),
                    (BinaryOp::Mul, [], _) => Some(right.times(left.number)),
                    (BinaryOp::Div, [above], [below])
                        if above.0 == below.0 && left.is_one() && right.is_one() =>
                    {
                        Some(Self { number: above.1 / below.1, terms: Vec::new() })
                    }
                    _ => Some(Self::one(own(e)?)),
                }
            }
            _ => Some(Self::one(own(e)?)),
        }
    }

    /// Some times one metric, and nothing besides.
    fn is_one(&self) -> bool {
        self.number == 0.0 && self.terms.len() == 1
    }

    fn one(term: Expr) -> Self {
        Self { number: 0.0, terms: vec![(term, 1.0)] }
    }

    fn times(mut self, factor: f64) -> Self {
        self.number *= factor;
        self.terms.iter_mut().for_each(|(_, n)| *n *= factor);
        self
    }

    fn and(mut self, other: Self, factor: f64) -> Self {
        let other = other.times(factor);
        self.number += other.number;
        for (term, n) in other.terms {
            match self.terms.iter_mut().find(|(t, _)| *t == term) {
                Some((_, times)) => *times += n,
                None => self.terms.push((term, n)),
            }
        }
        self.terms.retain(|(_, n)| *n != 0.0);
        self
    }
}

/// A quantity of the baseline as its own; `None` of one that hangs on what else was measured.
fn own(e: &Expr) -> Option<Expr> {
    let mine = |of: Owner| (of != Owner::Best).then_some(Owner::Own);
    Some(match e {
        Expr::Number(n) => Expr::Number(*n),
        Expr::Gpus { of } => Expr::Gpus { of: mine(*of)? },
        Expr::Metric { of, name, stat } => Expr::Metric { of: mine(*of)?, name: name.clone(), stat: *stat },
        Expr::Goodput { of, when } => Expr::Goodput { of: mine(*of)?, when: when.clone() },
        Expr::Binary { op, left, right } => {
            Expr::Binary { op: *op, left: Box::new(own(left)?), right: Box::new(own(right)?) }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(of: Owner, name: &str) -> Expr {
        Expr::Metric { of, name: name.to_owned(), stat: None }
    }

    fn binary(left: Expr, op: BinaryOp, right: Expr) -> Expr {
        Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
    }

    #[test]
    fn what_compares_with_itself_is_certain() {
        let own = || metric(Owner::Own, "total_tps");
        let base = || metric(Owner::Baseline, "total_tps");
        let times = |n| binary(Expr::Number(n), BinaryOp::Mul, base());
        assert_eq!(of_itself(&binary(own(), BinaryOp::Ge, times(1.05))), Some(false));
        assert_eq!(of_itself(&binary(own(), BinaryOp::Ge, times(0.95))), Some(true));
        assert_eq!(of_itself(&binary(own(), BinaryOp::Gt, base())), Some(false));
        assert_eq!(of_itself(&binary(own(), BinaryOp::Ge, base())), Some(true));
        let ratio = binary(own(), BinaryOp::Div, base());
        assert_eq!(of_itself(&binary(ratio, BinaryOp::Gt, Expr::Number(1.1))), Some(false));
        let more = binary(base(), BinaryOp::Add, Expr::Number(10.0));
        assert_eq!(of_itself(&binary(own(), BinaryOp::Gt, more)), Some(false));
    }

    #[test]
    fn what_may_be_zero_or_hangs_on_others_is_not() {
        let half = binary(Expr::Number(0.5), BinaryOp::Mul, metric(Owner::Baseline, "failed"));
        assert_eq!(of_itself(&binary(metric(Owner::Own, "failed"), BinaryOp::Le, half)), None);
        let best = metric(Owner::Best, "total_tps");
        assert_eq!(of_itself(&binary(metric(Owner::Own, "total_tps"), BinaryOp::Gt, best)), None);
        let other = metric(Owner::Baseline, "output_tps");
        assert_eq!(of_itself(&binary(metric(Owner::Own, "total_tps"), BinaryOp::Gt, other)), None);
        assert_eq!(
            of_itself(&binary(metric(Owner::Own, "total_tps"), BinaryOp::Gt, Expr::Number(1.0))),
            None
        );
    }
}
