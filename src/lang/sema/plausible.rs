//! Bounds that tell no servers apart: `tpot <= 60s`, where 60ms was meant, `ttft <= 1us`, which no server comes near; and what is
//! compared with itself, or with what it cannot be beyond. A doubt.

use super::check::Checker;
use super::metrics::Stat;
use super::program::{Expr, Owner};
use super::scope::Kind;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, with_article};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, BinaryOp, ExprKind, Item};

/// Seconds beyond which nobody asks for a metric, and tokens per second that no server makes.
const BEYOND: [(&str, f64); 6] = [
    ("tpot", 5.0),
    ("itl", 5.0),
    ("ttft", 300.0),
    ("latency", 24.0 * 3600.0),
    ("total_tps", 1e8),
    ("output_tps", 1e8),
];

/// Seconds within which nobody answers. Between two tokens there may be none at all, and times may differ by less than they are.
const WITHIN: [(&str, f64); 3] = [("tpot", 1e-5), ("ttft", 1e-4), ("latency", 2e-3)];

impl Checker<'_> {
    /// Each comparison of a time with a number in a condition.
    pub(super) fn plausible(&mut self, written: &ast::Expr, checked: &Expr) {
        if let (ExprKind::Not(w), Expr::Not(c)) = (&written.kind, checked) {
            return self.plausible(w, c);
        }
        let ExprKind::Binary { op: as_written, left: l, right: r } = &written.kind else { return };
        let Expr::Binary { op, left, right } = checked else { return };
        if as_written != op {
            return;
        }
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            self.plausible(l, left);
            self.plausible(r, right);
            return;
        }
        let (one, other) = (scaled(left).0, scaled(right).0);
        if one == other && measures(one) && !one.compares() {
            return self.with_itself(written, r);
        }
        for (one, other, at) in [(left, right, l), (right, left, r)] {
            if let Some(factor) = times_its_own(one, other) {
                return self.out_of_proportion(written, one, at, factor);
            }
        }
        if let Some((name, low, high)) = in_order(left, right) {
            return self
                .with_its_own_order(written, &format!("`{low}({name})` is never above `{high}({name})`"));
        }
        let (metric, number, at) = match (&**left, &**right) {
            (Expr::Metric { of: Owner::Own, name, stat }, Expr::Number(n)) => ((name, stat), *n, r),
            (Expr::Number(n), Expr::Metric { of: Owner::Own, name, stat }) => ((name, stat), *n, l),
            _ => return,
        };
        let (metric, stat) = metric;
        let differs = *stat == Some(Stat::Stddev);
        // a bound of nothing has a code of its own
        let within =
            number > 0.0 && !differs && WITHIN.iter().any(|(name, least)| name == metric && number < *least);
        let beyond = BEYOND.iter().any(|(name, most)| name == metric && number > *most);
        let text = self.modules.slice(at.span);
        if metric == "success_rate" && (0.009..0.01).contains(&number) && text.ends_with('%') {
            return self.percent_of_a_percent(text, number, at.span);
        }
        if !within && !beyond {
            return;
        }
        // a param by what it is
        let param = match &at.kind {
            ExprKind::Call { owner: None, name, args: None } => {
                self.modules.home(at.span).find(Kind::Param, &name.value)
            }
            _ => None,
        };
        let value = param.and_then(|param| match self.modules.item(param) {
            Item::Param(param) => Some(self.modules.slice(param.value.span())),
            _ => None,
        });
        let named = value.map_or_else(|| text.to_owned(), |value| format!("{value} (the param `{text}`)"));
        let message = format!("no server has {} near {named}", with_article(metric));
        let d = Diagnostic::new(Code::Implausible, at.span, message);
        let meant = text.strip_suffix('s').filter(|digits| digits.parse::<f64>().is_ok());
        let d = match meant.map(|digits| format!("{digits}ms")) {
            // which of the two was meant is for people to say
            Some(meant) if beyond => d.suggest_as(format!("did you mean {meant}?"), [meant.as_str()]),
            _ if within => d.label("faster than all"),
            _ => d.label("beyond all"),
        };
        self.sink.push(d.help(
            "a bound that everything or nothing meets decides nothing: state the one that your users need",
        ));
    }

    /// `success_rate >= 0.99%`: the share with the sign of what it is in percent.
    fn percent_of_a_percent(&mut self, text: &str, share: f64, at: Span) {
        let meant = format!("{}%", (share * 1e6).round() / 100.0);
        let message = format!("nobody asks that {text} of all requests succeed");
        let d = Diagnostic::new(Code::Implausible, at, message);
        // which of the two was meant is for people to say
        let d = d.suggest_as(format!("did you mean {meant}?"), [meant.as_str()]);
        self.sink.push(
            d.help(format!("write `{meant}`, or the share as it is: `{}`", (share * 1e6).round() / 1e4)),
        );
    }

    /// `p50(ttft) > p99(ttft)`: what lies further out is never below.
    fn with_its_own_order(&mut self, written: &ast::Expr, message: &str) {
        let d =
            Diagnostic::new(Code::Implausible, written.span, message).label("settled before it is measured");
        self.sink
            .push(d.help("compare one of the two with a time, or with `best.` or `baseline.` before it"));
    }

    /// `total_tps < -0.5 * best.total_tps`, `success_rate < 99 * best.success_rate`: so far apart no two results are.
    fn out_of_proportion(&mut self, written: &ast::Expr, own: &Expr, at: &ast::Expr, factor: f64) {
        let name = match own {
            Expr::Metric { name, .. } => name,
            _ => self.modules.slice(at.span),
        };
        let message = format!("no {name} is compared well with {factor} times that of another result");
        let d =
            Diagnostic::new(Code::Implausible, written.span, message).label("settled before it is measured");
        self.sink.push(d.help(if factor < 0.0 {
            format!("a share of it is a positive factor: `{} * …`", -factor)
        } else {
            format!("a share of it is below 1: `{factor}% * …`")
        }));
    }

    /// `p99(ttft) <= 1.1 * p99(ttft)`: whose the second one is was left out.
    fn with_itself(&mut self, written: &ast::Expr, right: &ast::Expr) {
        let text = self.modules.slice(right.span);
        let metric = text.rsplit(['*', '/']).next().unwrap_or(text).trim();
        let message = format!("`{metric}` is compared with itself");
        let d =
            Diagnostic::new(Code::Implausible, written.span, message).label("settled before it is measured");
        let help = format!(
            "say whose the other one is: `baseline.{metric}`, or `best.{metric}` of what was measured so far"
        );
        self.sink.push(d.help(help));
    }
}

/// The factor by which what one side measures stands on the other as that of another result, where it is out of all proportion.
fn times_its_own(one: &Expr, other: &Expr) -> Option<f64> {
    let (own, by) = scaled(one);
    let (others, times) = scaled(other);
    let is_same = measures(own) && is_of_another(own, others);
    let is_success = matches!(own, Expr::Metric { name, .. } if name == "success_rate");
    let most = if is_success { 2.0 } else { 20.0 };
    let factor = times / by;
    (is_same && (factor < 0.0 || factor > most)).then_some(factor)
}

/// What stands times and over numbers, and what these make.
fn scaled(e: &Expr) -> (&Expr, f64) {
    let Expr::Binary { op, left, right } = e else { return (e, 1.0) };
    match (op, &**left, &**right) {
        (BinaryOp::Mul, Expr::Number(n), one) | (BinaryOp::Mul, one, Expr::Number(n)) => {
            let (what, factor) = scaled(one);
            (what, factor * n)
        }
        (BinaryOp::Div, one, Expr::Number(n)) => {
            let (what, factor) = scaled(one);
            (what, factor / n)
        }
        _ => (e, 1.0),
    }
}

/// Whether the second reads of another result what the first reads of its own.
fn is_of_another(own: &Expr, other: &Expr) -> bool {
    match (own, other) {
        (
            Expr::Metric { of: Owner::Own, name, stat },
            Expr::Metric { of, name: of_other, stat: as_other },
        ) => *of != Owner::Own && name == of_other && stat == as_other,
        (Expr::Gpus { of: Owner::Own }, Expr::Gpus { of }) => *of != Owner::Own,
        (Expr::Binary { op, left, right }, Expr::Binary { op: as_op, left: l, right: r }) => {
            op == as_op && is_of_another(left, l) && is_of_another(right, r)
        }
        (Expr::Number(n), Expr::Number(m)) => n.total_cmp(m).is_eq(),
        _ => false,
    }
}

/// Whether it is measured, of the configuration itself.
fn measures(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        found |= matches!(e, Expr::Metric { of: Owner::Own, .. } | Expr::Goodput { of: Owner::Own, .. });
    });
    found
}

/// A distribution and two of its statistics, of which the second one is never below the first, whichever stands where.
fn in_order<'a>(left: &'a Expr, right: &Expr) -> Option<(&'a str, &'static str, &'static str)> {
    const RISING: [Stat; 7] = [Stat::Min, Stat::P50, Stat::P90, Stat::P95, Stat::P99, Stat::P999, Stat::Max];
    let (
        Expr::Metric { of: Owner::Own, name, stat: Some(l) },
        Expr::Metric { of: Owner::Own, name: other, stat: Some(r) },
    ) = (left, right)
    else {
        return None;
    };
    let place = |stat: &Stat| RISING.iter().position(|s| s == stat);
    let (l, r) = (place(l)?, place(r)?);
    (name == other && l != r).then(|| (name.as_str(), RISING[l.min(r)].name(), RISING[l.max(r)].name()))
}
