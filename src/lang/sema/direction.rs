//! Which way is better: an objective, a requirement or a rule that asks for slower answers or less work done is a slip of the word or
//! of the sign. Said only of metrics that everybody reads one way, and of expressions of which that is certain.

use super::bounds;
use super::check::Checker;
use super::program::{Expr, Owner};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, BinaryOp, ExprKind};

/// What it means that an expression's value grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    Better,
    Worse,
    /// it is the same for every result, or above zero and neither
    Same,
}

impl Growth {
    fn flipped(self) -> Self {
        match self {
            Self::Better => Self::Worse,
            Self::Worse => Self::Better,
            Self::Same => Self::Same,
        }
    }

    /// Of two that grow together; `None` where they pull apart.
    fn with(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Same, one) | (one, Self::Same) => Some(one),
            _ => (self == other).then_some(self),
        }
    }
}

impl Checker<'_> {
    /// `maximize p99(ttft)`; `word` is the span of its line, which begins with `maximize` or `minimize`.
    pub(super) fn objective_improves(&mut self, word: Span, maximize: bool, expr: &Expr) {
        let Some((growth, metric)) = growth(expr).zip(first_metric(expr)) else { return };
        if growth == Growth::Same || (growth == Growth::Better) == maximize {
            return;
        }
        let (written, meant) = if maximize { ("maximize", "minimize") } else { ("minimize", "maximize") };
        let (what, is) = if maximize { ("highest", worst(metric)) } else { ("lowest", worst(metric)) };
        let message = format!("the {what} `{metric}` is the worst: {is}");
        let span = Span { end: word.start + written.len() as u32, ..word };
        let d = Diagnostic::new(Code::WrongWay, span, message).suggest(meant);
        self.sink.push(d.help(format!("write `{meant}`, or measure something else")));
    }

    /// `require p99(ttft) >= 2s`, in each part that must hold.
    pub(super) fn requires_better(&mut self, written: &ast::Expr, checked: &Expr) {
        self.keeps_worse(written, checked, Asks::default());
    }

    /// `prune … when p99(ttft) < 2s`, in each part that suffices.
    pub(super) fn prunes_worse(&mut self, written: &ast::Expr, checked: &Expr) {
        self.keeps_worse(written, checked, Asks { prunes: true, ..Asks::default() });
    }

    /// `goodput(ttft >= 500ms)`, which counts the requests that nobody wants.
    pub(super) fn counts_better(&mut self, written: &ast::Expr, checked: &Expr) {
        self.keeps_worse(written, checked, Asks { counts: true, ..Asks::default() });
    }

    /// A comparison that is met by what is worse, where what meets it is kept; or by what is better, where that is pruned.
    fn keeps_worse(&mut self, written: &ast::Expr, checked: &Expr, asks: Asks) {
        if let (ExprKind::Not(w), Expr::Not(c)) = (&written.kind, checked) {
            return self.keeps_worse(w, c, Asks { not: !asks.not, ..asks });
        }
        let ExprKind::Binary { op: as_written, left: l, right: r } = &written.kind else { return };
        let Expr::Binary { op, left, right } = checked else { return };
        if as_written != op {
            return;
        }
        // parts that exclude each other are told of as that
        let unsettled = |e: &Expr| bounds::settled(e).is_none();
        if asks.keeps() && bounds::settled(checked) == Some(false) && unsettled(left) && unsettled(right) {
            return;
        }
        if *op == if asks.keeps() { BinaryOp::And } else { BinaryOp::Or } {
            self.keeps_worse(l, left, asks);
            self.keeps_worse(r, right, asks);
            return;
        }
        // one that is settled is told of as that
        if bounds::settled(checked).is_some() {
            return;
        }
        let Some((side, above)) = bounded(*op, left, right) else { return };
        let Some((growth, metric)) = growth(side).zip(first_metric(side)) else { return };
        let met_by = if above { growth } else { growth.flipped() };
        if (met_by == Growth::Worse) != asks.keeps() {
            return;
        }
        let does = if asks.keeps() { "keeps only what is worse" } else { "prunes what is better" };
        // `1tok / p50(tpot)`
        let against = growth != of_metric(metric).unwrap_or(Growth::Better);
        let why = if against { format!("it falls as `{metric}` grows") } else { worst(metric).to_owned() };
        let message = format!("this {does}: {why}");
        let d = Diagnostic::new(Code::WrongWay, written.span, message).label("the other way round?");
        let (sign, plain) = (if above { "<" } else { ">" }, spelled(side, metric));
        let what = if against { named(if std::ptr::eq(side, left.as_ref()) { l } else { r }) } else { plain };
        self.sink.push(d.help(format!("turn the sign: `{}`", asks.line(&format!("{what} {sign} …")))));
    }
}

/// What a condition does with what meets it.
#[derive(Debug, Clone, Copy, Default)]
struct Asks {
    prunes: bool,
    /// it says which requests count
    counts: bool,
    /// under a `not`
    not: bool,
}

impl Asks {
    fn keeps(self) -> bool {
        self.prunes == self.not
    }

    fn line(self, condition: &str) -> String {
        let condition = if self.not { format!("not {condition}") } else { condition.to_owned() };
        match self {
            Self { counts: true, .. } => format!("goodput({condition})"),
            Self { prunes: true, .. } => format!("prune … when {condition}"),
            _ => format!("require {condition}"),
        }
    }
}

/// The side of a comparison that has the metric, and whether it is to be above the other, which says the same of every result.
fn bounded<'e>(op: BinaryOp, left: &'e Expr, right: &'e Expr) -> Option<(&'e Expr, bool)> {
    let above = match op {
        BinaryOp::Gt | BinaryOp::Ge => true,
        BinaryOp::Lt | BinaryOp::Le => false,
        _ => return None,
    };
    // a gain is held against bounds below zero too
    let same = |e: &Expr| matches!(e, Expr::Number(_)) || growth(e) == Some(Growth::Same);
    match (same(left), same(right)) {
        (false, true) => Some((left, above)),
        (true, false) => Some((right, !above)),
        _ => None,
    }
}

/// The metric as it reads in a help.
fn spelled(side: &Expr, metric: &str) -> String {
    let mut found = None;
    side.walk(&mut |e| {
        if let Expr::Metric { name, stat: Some(stat), .. } = e
            && name == metric
        {
            found.get_or_insert_with(|| format!("{}({name})", stat.name()));
        }
    });
    found.unwrap_or_else(|| if metric == "goodput" { "goodput(…)".to_owned() } else { metric.to_owned() })
}

/// The side of a comparison as it reads in a help where no metric says it.
fn named(written: &ast::Expr) -> String {
    match &written.kind {
        ExprKind::Call { owner: None, name, args: None } => name.value.clone(),
        _ => "…".to_owned(),
    }
}

/// What growing says of an expression, if that is certain whatever is measured.
fn growth(expr: &Expr) -> Option<Growth> {
    Some(match expr {
        Expr::Number(n) if *n >= 0.0 => Growth::Same,
        Expr::Gpus { .. } => Growth::Same,
        // what another configuration came to is a bound like any number
        Expr::Metric { of, .. } | Expr::Goodput { of, .. } if *of != Owner::Own => Growth::Same,
        Expr::Metric { name, .. } => of_metric(name)?,
        Expr::Goodput { .. } | Expr::Gain => Growth::Better,
        Expr::Binary { op, left, right } => {
            let (left, right) = (growth(left)?, growth(right)?);
            match op {
                BinaryOp::Add | BinaryOp::Mul => left.with(right)?,
                BinaryOp::Div | BinaryOp::Sub => left.with(right.flipped())?,
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// The metrics that everybody reads one way.
fn of_metric(name: &str) -> Option<Growth> {
    Some(match name {
        "ttft" | "tpot" | "itl" | "latency" | "startup" | "failed" | "cost_per_mtok" => Growth::Worse,
        "request_rate" | "input_tps" | "output_tps" | "total_tps" | "success_rate" | "tokens_per_joule"
        | "accept_length" | "draft_acceptance" | "exact_match" => Growth::Better,
        _ => return None,
    })
}

/// The metric that decides which way an expression goes.
fn first_metric(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Metric { of: Owner::Own, name, .. } => of_metric(name).map(|_| name.as_str()),
        Expr::Goodput { of: Owner::Own, .. } => Some("goodput"),
        Expr::Gain => Some("gain"),
        Expr::Binary { left, right, .. } => first_metric(left).or_else(|| first_metric(right)),
        _ => None,
    }
}

/// What is bad about the worse end of a metric.
fn worst(metric: &str) -> &'static str {
    match metric {
        "ttft" | "tpot" | "itl" | "latency" => "a longer time is a slower answer",
        "startup" => "a longer time is a slower start",
        "failed" => "more of it are more failed requests",
        "cost_per_mtok" => "more of it costs more",
        "success_rate" => "less of it are more failed requests",
        "exact_match" => "less of it are more wrong answers",
        "gain" => "less of it is a worse result",
        "tokens_per_joule" => "less of it is more energy for the same",
        "accept_length" | "draft_acceptance" => "less of it are more drafts in vain",
        _ => "less of it is less work done",
    }
}
