//! Conditions as they were resolved, params and metrics inserted: what a file says the same of may have become another.

use std::collections::HashSet;

use crate::lang::sema::program::Expr;
use crate::lang::sema::{MetricKind, metric_kind};
use crate::lang::syntax::ast::BinaryOp;
use crate::lang::units::Dim;

/// A condition of each revision, as text and as it was resolved; where the text is the same, with what it now comes to.
pub(in crate::report) fn told(before: (&str, &Expr), now: (&str, &Expr)) -> (String, String) {
    if before.0 != now.0 {
        return (before.0.to_owned(), now.0.to_owned());
    }
    let whole = |(text, expr): (&str, &Expr)| format!("{text}, which is {}", spelled(expr));
    (whole(before), whole(now))
}

/// What a metric or condition comes to, where it is written with the file's own names: derived metrics and params.
pub(in crate::report) fn meaning(text: &str, expr: &Expr) -> Option<String> {
    let whole = spelled(expr);
    let known: HashSet<&str> = words(&whole).collect();
    words(text).any(|word| !known.contains(word)).then_some(whole)
}

/// The names in a text; `300ms` is a quantity.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    parts.filter(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// A condition with every name resolved.
pub(in crate::report) fn spelled(expr: &Expr) -> String {
    match expr {
        Expr::Number(n) => n.to_string(),
        Expr::Text(t) => format!("\"{t}\""),
        Expr::Bool(b) => b.to_string(),
        Expr::Flag(name) | Expr::EngineName(name) => name.clone(),
        Expr::Given(name) => format!("given {name}"),
        Expr::Env(name) => format!("env {name}"),
        Expr::Engine => "engine".to_owned(),
        Expr::Model => "model".to_owned(),
        Expr::Gpus { of } => format!("{}gpus", of.prefix()),
        Expr::Gain => "gain".to_owned(),
        Expr::Metric { of, name, stat: None } => format!("{}{name}", of.prefix()),
        Expr::Metric { of, name, stat: Some(stat) } => format!("{}({}{name})", stat.name(), of.prefix()),
        Expr::Goodput { of, when } => format!("{}goodput({})", of.prefix(), spelled(when)),
        Expr::Not(inner) => format!("not {}", part(inner)),
        Expr::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
            format!("{} {} {}", joined(left), op.symbol(), joined(right))
        }
        Expr::Binary { op, left, right } => {
            let dim = dim(left).or_else(|| dim(right)).filter(|_| op.is_comparison());
            format!("{} {} {}", side(left, dim), op.symbol(), side(right, dim))
        }
    }
}

/// One side of a comparison: a number is a quantity of what it is compared with.
fn side(expr: &Expr, dim: Option<Dim>) -> String {
    match (expr, dim.and_then(Dim::base_unit)) {
        (Expr::Number(n), Some(unit)) => format!("{n} {unit}"),
        _ => part(expr),
    }
}

/// What `and` and `or` join: comparisons bind closer.
fn joined(expr: &Expr) -> String {
    match expr {
        Expr::Binary { op, .. } if op.is_comparison() => spelled(expr),
        _ => part(expr),
    }
}

fn part(expr: &Expr) -> String {
    match expr {
        Expr::Binary { .. } => format!("({})", spelled(expr)),
        _ => spelled(expr),
    }
}

/// What a quantity is of, where it holds a measurement.
fn dim(expr: &Expr) -> Option<Dim> {
    match expr {
        Expr::Metric { name, .. } => {
            metric_kind(name).map(|(MetricKind::Number(dim) | MetricKind::Distribution(dim))| dim)
        }
        Expr::Goodput { .. } => Some(Dim::RATE),
        Expr::Binary { op: BinaryOp::Mul, left, right } => {
            Some(dim(left).unwrap_or(Dim::PLAIN).times(dim(right).unwrap_or(Dim::PLAIN)))
        }
        Expr::Binary { op: BinaryOp::Div, left, right } => {
            Some(dim(left).unwrap_or(Dim::PLAIN).per(dim(right).unwrap_or(Dim::PLAIN)))
        }
        Expr::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right } => dim(left).or_else(|| dim(right)),
        _ => None,
    }
}
