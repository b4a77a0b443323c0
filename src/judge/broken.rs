//! What was measured of a requirement that does not hold, in words: "p99(tpot) is 80 ms".

use crate::lang::sema::program::{Expr, Owner};
use crate::lang::sema::{MetricKind, metric_kind};
use crate::lang::syntax::ast::BinaryOp;
use crate::plan::eval::{Facts, Known, condition};

/// The candidate's own metrics in the part of a condition that is not met, but for success, which is told in requests.
pub(super) fn seen(e: &Expr, facts: &dyn Facts) -> Option<String> {
    if let Expr::Binary { op: BinaryOp::And, left, right } = e {
        let left_holds = condition(left, facts) == Some(true);
        return seen(if left_holds { right } else { left }, facts);
    }
    let mut parts: Vec<String> = Vec::new();
    e.walk(&mut |e| {
        let Expr::Metric { of: Owner::Own, name, stat } = e else { return };
        let Known::Value(value) = facts.metric(Owner::Own, name, *stat) else { return };
        let metric = stat.map_or_else(|| name.clone(), |s| format!("{}({name})", s.name()));
        let part = format!("{metric} is {}", quantity(name, value));
        if name != "success_rate" && !parts.contains(&part) {
            parts.push(part);
        }
    });
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn quantity(name: &str, value: f64) -> String {
    match metric_kind(name) {
        Some(MetricKind::Distribution(_)) if value < 1.0 => format!("{} ms", four_digits(value * 1e3)),
        Some(MetricKind::Distribution(_)) => format!("{} s", four_digits(value)),
        Some(MetricKind::Number(dim)) => {
            let unit = dim.base_unit().map_or_else(String::new, |u| format!(" {u}"));
            format!("{}{unit}", four_digits(value))
        }
        None => four_digits(value),
    }
}

/// Four digits that mean something; whole numbers stay whole.
fn four_digits(value: f64) -> String {
    let before = value.abs().max(1e-9).log10().floor() as i32 + 1;
    let decimals = usize::try_from(4 - before).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_four_digits_and_their_unit() {
        assert_eq!(quantity("ttft", 0.080_004), "80 ms");
        assert_eq!(quantity("ttft", 1.4765), "1.476 s");
        assert_eq!(quantity("total_tps", 12_345.6), "12346 tok/s");
        assert_eq!(quantity("exact_match", 0.98765), "0.9877");
        assert_eq!(quantity("failed", 0.0), "0");
    }
}
