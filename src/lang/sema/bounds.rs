//! What is certain of a condition before anything is measured: shares lie between 0 and 1, no time, rate or count is below zero, a
//! gain is more than −100 %, and nothing is above one bound and below a smaller one.

use super::metrics::Stat;
use super::program::Expr;
use crate::lang::syntax::ast::BinaryOp;

/// Metrics that are shares of something.
const SHARES: &[&str] =
    &["success_rate", "kv_cache_usage", "prefix_hit_rate", "draft_acceptance", "exact_match", "identical"];

/// Whether a metric is a share of something, which lies between 0 and 1.
pub fn is_share(metric: &str) -> bool {
    SHARES.contains(&metric)
}

/// Where a quantity can lie, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    low: f64,
    high: f64,
}

/// The condition with every part that is certain replaced by its truth.
pub fn simplified(e: &Expr) -> Expr {
    if let Some(truth) = settled(e) {
        return Expr::Bool(truth);
    }
    match e {
        Expr::Not(inner) => Expr::Not(Box::new(simplified(inner))),
        Expr::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
            let (left, right) = (Box::new(simplified(left)), Box::new(simplified(right)));
            Expr::Binary { op: *op, left, right }
        }
        other => other.clone(),
    }
}

/// Whether a condition holds whatever is measured; `None` if that depends.
pub fn settled(e: &Expr) -> Option<bool> {
    match e {
        Expr::Bool(b) => Some(*b),
        Expr::Not(inner) => settled(inner).map(|b| !b),
        Expr::Binary { op: BinaryOp::And, left, right } => match (settled(left), settled(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => contradicts(e).then_some(false),
        },
        Expr::Binary { op: BinaryOp::Or, left, right } => match (settled(left), settled(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        Expr::Binary { op, left, right } if op.is_comparison() => compared(*op, range(left)?, range(right)?),
        _ => None,
    }
}

/// Whether an expression is measured, and zero or more whatever is.
pub fn is_never_negative(e: &Expr) -> bool {
    !e.is_static() && range(e).is_some_and(|r| r.low >= 0.0)
}

/// Whether an expression is zero whatever is measured.
pub fn is_zero(e: &Expr) -> bool {
    range(e).is_some_and(|r| r.low == 0.0 && r.high == 0.0)
}

fn compared(op: BinaryOp, l: Range, r: Range) -> Option<bool> {
    let certain = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
    match op {
        BinaryOp::Divides => None,
        BinaryOp::Lt => certain(l.high < r.low, l.low >= r.high),
        BinaryOp::Le => certain(l.high <= r.low, l.low > r.high),
        BinaryOp::Gt => certain(l.low > r.high, l.high <= r.low),
        BinaryOp::Ge => certain(l.low >= r.high, l.high < r.low),
        BinaryOp::Eq => (l.high < r.low || r.high < l.low).then_some(false),
        _ => (l.high < r.low || r.high < l.low).then_some(true),
    }
}

fn range(e: &Expr) -> Option<Range> {
    Some(match e {
        Expr::Number(n) => Range { low: *n, high: *n },
        Expr::Metric { name, .. } if is_share(name) => Range { low: 0.0, high: 1.0 },
        // whatever takes time takes some
        Expr::Metric { stat: Some(stat), .. } if *stat != Stat::Stddev => {
            Range { low: f64::MIN_POSITIVE, high: f64::INFINITY }
        }
        Expr::Metric { .. } => Range { low: 0.0, high: f64::INFINITY },
        Expr::Gain => Range { low: -1.0, high: f64::INFINITY },
        Expr::Gpus { .. } => Range { low: 1.0, high: f64::INFINITY },
        Expr::Binary { op, left, right } if !op.is_comparison() => {
            computed(*op, range(left)?, range(right)?)?
        }
        _ => return None,
    })
}

fn computed(op: BinaryOp, l: Range, r: Range) -> Option<Range> {
    let positive = l.low >= 0.0 && r.low >= 0.0;
    let found = match op {
        BinaryOp::Add => Range { low: l.low + r.low, high: l.high + r.high },
        BinaryOp::Sub => Range { low: l.low - r.high, high: l.high - r.low },
        BinaryOp::Mul if positive => Range { low: l.low * r.low, high: l.high * r.high },
        BinaryOp::Div if positive && r.low > 0.0 => Range { low: l.low / r.high, high: l.high / r.low },
        BinaryOp::Div if positive => Range { low: l.low / r.high, high: f64::INFINITY },
        _ => return None,
    };
    (!found.low.is_nan() && !found.high.is_nan()).then_some(found)
}

/// Whether comparisons that are joined by `and` leave nothing of what they compare.
fn contradicts(e: &Expr) -> bool {
    let mut bounds: Vec<(&Expr, BinaryOp, f64)> = Vec::new();
    conjuncts(e, &mut bounds);
    bounds.iter().any(|(x, op, a)| {
        bounds.iter().any(|(y, other, b)| match (op, other) {
            (BinaryOp::Gt, BinaryOp::Lt | BinaryOp::Le) | (BinaryOp::Ge | BinaryOp::Eq, BinaryOp::Lt) => {
                a >= b && at_most(x, y)
            }
            (BinaryOp::Ge | BinaryOp::Eq, BinaryOp::Le | BinaryOp::Eq) => a > b && at_most(x, y),
            (BinaryOp::Gt, BinaryOp::Eq) => a >= b && at_most(x, y),
            _ => false,
        })
    })
}

/// Whether one is the other, or a statistic that is never above that of the same metric.
fn at_most(x: &Expr, y: &Expr) -> bool {
    const ORDER: [Stat; 7] = [Stat::Min, Stat::P50, Stat::P90, Stat::P95, Stat::P99, Stat::P999, Stat::Max];
    let (
        Expr::Metric { of, name, stat: Some(lower) },
        Expr::Metric { of: of_other, name: other, stat: Some(higher) },
    ) = (x, y)
    else {
        return x == y;
    };
    let rank = |stat| ORDER.iter().position(|s| s == stat);
    let mean = |stat: &Stat| *stat == Stat::Mean;
    let ordered = lower == higher
        || rank(lower).zip(rank(higher)).is_some_and(|(l, h)| l < h)
        || mean(lower) && *higher == Stat::Max
        || mean(higher) && *lower == Stat::Min;
    of == of_other && name == other && ordered
}

/// `x OP number` for every such comparison among the parts of an `and`.
fn conjuncts<'e>(e: &'e Expr, out: &mut Vec<(&'e Expr, BinaryOp, f64)>) {
    match e {
        Expr::Binary { op: BinaryOp::And, left, right } => {
            conjuncts(left, out);
            conjuncts(right, out);
        }
        Expr::Binary { op, left, right } if op.is_comparison() => match (&**left, &**right) {
            (x, Expr::Number(n)) => out.push((x, *op, *n)),
            (Expr::Number(n), x) => out.push((x, mirrored(*op), *n)),
            _ => {}
        },
        _ => {}
    }
}

fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        same => same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::sema::program::Owner;

    fn metric(name: &str) -> Expr {
        Expr::Metric { of: Owner::Own, name: name.to_owned(), stat: None }
    }

    fn binary(left: Expr, op: BinaryOp, right: Expr) -> Expr {
        Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
    }

    #[test]
    fn shares_and_signs_are_certain() {
        let share = |op, n| settled(&binary(metric("success_rate"), op, Expr::Number(n)));
        assert_eq!(share(BinaryOp::Gt, 1.0), Some(false));
        assert_eq!(share(BinaryOp::Ge, 1.0), None);
        assert_eq!(share(BinaryOp::Le, 1.0), Some(true));
        assert_eq!(share(BinaryOp::Lt, 0.0), Some(false));
        let half = binary(Expr::Number(0.5), BinaryOp::Mul, metric("total_tps"));
        assert_eq!(settled(&binary(metric("total_tps"), BinaryOp::Lt, half)), None);
        assert_eq!(settled(&binary(Expr::Gain, BinaryOp::Lt, Expr::Number(-1.5))), Some(false));
        assert_eq!(settled(&binary(Expr::Gain, BinaryOp::Lt, Expr::Number(-0.2))), None);
    }

    #[test]
    fn bounds_that_exclude_each_other_are_certain() {
        let above = binary(metric("total_tps"), BinaryOp::Gt, Expr::Number(100.0));
        let below = binary(Expr::Number(50.0), BinaryOp::Gt, metric("total_tps"));
        let other = binary(metric("output_tps"), BinaryOp::Lt, Expr::Number(50.0));
        assert_eq!(settled(&binary(above.clone(), BinaryOp::And, below.clone())), Some(false));
        assert_eq!(settled(&binary(above.clone(), BinaryOp::And, other)), None);
        assert_eq!(settled(&binary(above, BinaryOp::Or, below)), None);
    }

    #[test]
    fn a_median_is_never_above_a_tail() {
        let ttft = |stat| Expr::Metric { of: Owner::Own, name: "ttft".to_owned(), stat: Some(stat) };
        let both = |low, high| {
            let above = binary(ttft(low), BinaryOp::Ge, Expr::Number(2.0));
            let below = binary(ttft(high), BinaryOp::Le, Expr::Number(1.0));
            settled(&binary(below, BinaryOp::And, above))
        };
        assert_eq!(both(Stat::P50, Stat::P99), Some(false));
        assert_eq!(both(Stat::P99, Stat::P99), Some(false));
        assert_eq!(both(Stat::Mean, Stat::Max), Some(false));
        assert_eq!(both(Stat::P99, Stat::P50), None);
        assert_eq!(both(Stat::Mean, Stat::P99), None);
    }

    #[test]
    fn two_numbers_for_one_thing_exclude_each_other() {
        let is = |n| binary(metric("failed"), BinaryOp::Eq, Expr::Number(n));
        assert_eq!(settled(&binary(is(1.0), BinaryOp::And, is(2.0))), Some(false));
        assert_eq!(settled(&binary(is(2.0), BinaryOp::And, is(2.0))), None);
        let above = binary(metric("failed"), BinaryOp::Gt, Expr::Number(2.0));
        assert_eq!(settled(&binary(is(2.0), BinaryOp::And, above)), Some(false));
    }
}
