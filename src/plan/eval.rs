//! Evaluates conditions and objectives over what is known: yes, no, or not yet.

use super::config::Config;
use crate::lang::sema::program::{Expr, Owner};
use crate::lang::sema::schema::{Found, Value};
use crate::lang::sema::{Stat, typed};
use crate::lang::syntax::ast::BinaryOp;

/// A value, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Known<T> {
    Value(T),
    /// it is known not to be there: a comparison with it is not met
    Absent,
    /// it will be known later
    Later,
}

/// What an expression may read.
pub trait Facts {
    fn config(&self) -> &Config;
    /// In base units.
    fn metric(&self, of: Owner, name: &str, stat: Option<Stat>) -> Known<f64>;
    /// How much better than the incumbent, a fraction.
    fn gain(&self) -> Known<f64>;
    /// Completed requests per second that meet a condition.
    fn goodput(&self, of: Owner, _when: &Expr) -> Known<f64> {
        self.metric(of, "goodput", None)
    }
    /// The configuration itself, the incumbent's or the baseline's.
    fn config_of(&self, of: Owner) -> Known<&Config> {
        if of == Owner::Own { Known::Value(self.config()) } else { Known::Later }
    }
}

/// Only the configuration is known: what a plan can settle.
pub struct Before<'a>(pub &'a Config);

impl Facts for Before<'_> {
    fn config(&self) -> &Config {
        self.0
    }

    fn metric(&self, _: Owner, _: &str, _: Option<Stat>) -> Known<f64> {
        Known::Later
    }

    fn gain(&self) -> Known<f64> {
        Known::Later
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Number(f64),
    Text(String),
    Bool(bool),
}

/// Whether a condition holds; `None` if that is known later.
pub fn condition(e: &Expr, facts: &dyn Facts) -> Option<bool> {
    e.truth(&|part| match part {
        Expr::Binary { op, left, right } if op.is_comparison() => compare(*op, left, right, facts),
        other => match operand(other, facts) {
            Known::Value(Operand::Bool(b)) => Some(b),
            Known::Later => None,
            _ => Some(false),
        },
    })
}

/// Whether a condition surely holds: what compares with something that is known not to be there decides nothing, under a `not` either.
pub fn surely(e: &Expr, facts: &dyn Facts) -> bool {
    let holds = e.truth(&|part| match part {
        Expr::Binary { op, left, right } if op.is_comparison() => {
            let absent = |side: &Expr| matches!(operand(side, facts), Known::Absent);
            if absent(left) || absent(right) { None } else { compare(*op, left, right, facts) }
        }
        other => condition(other, facts),
    });
    holds == Some(true)
}

/// The first metric that an expression reads and that is known not to be there, in words.
pub fn absent(e: &Expr, facts: &dyn Facts) -> Option<String> {
    let lacking = |known: &Known<f64>| *known == Known::Absent;
    match e {
        Expr::Metric { of, name, stat } if lacking(&facts.metric(*of, name, *stat)) => {
            let metric = stat.map_or_else(|| name.clone(), |s| format!("{}({name})", s.name()));
            Some(format!("`{}{metric}` was not measured", of.prefix()))
        }
        Expr::Goodput { of, when } if lacking(&facts.goodput(*of, when)) => {
            Some(format!("`{}goodput` needs the times of every request, and they are not there", of.prefix()))
        }
        Expr::Not(inner) => absent(inner, facts),
        Expr::Binary { left, right, .. } => absent(left, facts).or_else(|| absent(right, facts)),
        _ => None,
    }
}

/// A number in base units.
pub fn number(e: &Expr, facts: &dyn Facts) -> Known<f64> {
    match operand(e, facts) {
        Known::Value(Operand::Number(n)) if n.is_finite() => Known::Value(n),
        // a flag that takes any text, or one of some, may hold a number
        Known::Value(Operand::Text(t)) => {
            t.parse().ok().filter(|n: &f64| n.is_finite()).map_or(Known::Absent, Known::Value)
        }
        Known::Later => Known::Later,
        _ => Known::Absent,
    }
}

fn compare(op: BinaryOp, left: &Expr, right: &Expr, facts: &dyn Facts) -> Option<bool> {
    if let Some(same) = engine_is(left, right, facts) {
        return Some(if op == BinaryOp::Ne { !same } else { same });
    }
    let (left_value, right_value) = match (left, right) {
        (Expr::Flag(flag), Expr::Text(text)) => (operand(left, facts), as_spelled(flag, text, facts)),
        (Expr::Text(text), Expr::Flag(flag)) => (as_spelled(flag, text, facts), operand(right, facts)),
        _ => (operand(left, facts), operand(right, facts)),
    };
    let (l, r) = match (left_value, right_value) {
        (Known::Absent, _) | (_, Known::Absent) => return Some(false),
        (Known::Later, _) | (_, Known::Later) => return None,
        (Known::Value(l), Known::Value(r)) => alike(op, l, r),
    };
    Some(match (op, &l, &r) {
        (BinaryOp::Eq, _, _) => l == r,
        (BinaryOp::Ne, _, _) => l != r,
        (_, Operand::Number(a), Operand::Number(b)) => match op {
            BinaryOp::Le => a <= b,
            BinaryOp::Ge => a >= b,
            BinaryOp::Lt => a < b,
            // nothing is a multiple of zero but zero
            BinaryOp::Divides => {
                if *a == 0.0 {
                    *b == 0.0
                } else {
                    b % a == 0.0
                }
            }
            _ => a > b,
        },
        _ => false,
    })
}

/// A text that a flag is compared with, spelled as the flag's values are.
fn as_spelled(flag: &str, text: &str, facts: &dyn Facts) -> Known<Operand> {
    let engine = &facts.config().engine;
    let text = match engine.schema.find(flag, engine.version.as_deref()) {
        Found::Known(spec, _) => typed::named(spec, text),
        _ => text,
    };
    Known::Value(Operand::Text(text.to_owned()))
}

/// A flag that takes any text may hold a number: beside one, and where two are put in order, it is read as that.
fn alike(op: BinaryOp, left: Operand, right: Operand) -> (Operand, Operand) {
    let ordered = !matches!(op, BinaryOp::Eq | BinaryOp::Ne);
    let read = |text: String| text.parse().map_or(Operand::Text(text), Operand::Number);
    match (left, right) {
        (Operand::Text(text), Operand::Number(n)) => (read(text), Operand::Number(n)),
        (Operand::Number(n), Operand::Text(text)) => (Operand::Number(n), read(text)),
        (Operand::Text(l), Operand::Text(r)) if ordered => (read(l), read(r)),
        both => both,
    }
}

/// `engine == NAME` holds for all that derive from it.
fn engine_is(left: &Expr, right: &Expr, facts: &dyn Facts) -> Option<bool> {
    let ((Expr::Engine, Expr::EngineName(name)) | (Expr::EngineName(name), Expr::Engine)) = (left, right)
    else {
        return None;
    };
    Some(facts.config().engine.ancestry.contains(name))
}

fn operand(e: &Expr, facts: &dyn Facts) -> Known<Operand> {
    let config = facts.config();
    match e {
        Expr::Number(n) => Known::Value(Operand::Number(*n)),
        Expr::Text(t) => Known::Value(Operand::Text(t.clone())),
        Expr::Bool(b) => Known::Value(Operand::Bool(*b)),
        Expr::Flag(name) => config.flag(name).map_or(Known::Absent, |v| Known::Value(flag_operand(v))),
        Expr::Given(name) => Known::Value(Operand::Bool(config.sets(name))),
        Expr::Env(name) => match config.env().iter().find(|e| e.name == *name) {
            Some(variable) => Known::Value(Operand::Text(variable.value.clone())),
            None => Known::Absent,
        },
        Expr::Engine => Known::Value(Operand::Text(config.engine.name.clone())),
        Expr::EngineName(n) => Known::Value(Operand::Text(n.clone())),
        Expr::Model => Known::Value(Operand::Text(config.model.clone())),
        Expr::Gpus { of } => match facts.config_of(*of) {
            Known::Value(c) => Known::Value(Operand::Number(f64::from(c.gpus()))),
            Known::Absent => Known::Absent,
            Known::Later => Known::Later,
        },
        Expr::Gain => wrap(&facts.gain()),
        Expr::Metric { of, name, stat } => wrap(&facts.metric(*of, name, *stat)),
        Expr::Goodput { of, when } => wrap(&facts.goodput(*of, when)),
        Expr::Not(_) => settled(condition(e, facts)),
        Expr::Binary { op, left, right } => arithmetic(*op, e, left, right, facts),
    }
}

fn arithmetic(op: BinaryOp, whole: &Expr, left: &Expr, right: &Expr, facts: &dyn Facts) -> Known<Operand> {
    if op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or) {
        return settled(condition(whole, facts));
    }
    match (number(left, facts), number(right, facts)) {
        (Known::Absent, _) | (_, Known::Absent) => Known::Absent,
        (Known::Later, _) | (_, Known::Later) => Known::Later,
        (Known::Value(a), Known::Value(b)) => Known::Value(Operand::Number(match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            _ => a / b,
        })),
    }
}

fn settled(condition: Option<bool>) -> Known<Operand> {
    condition.map_or(Known::Later, |b| Known::Value(Operand::Bool(b)))
}

fn wrap(n: &Known<f64>) -> Known<Operand> {
    match n {
        Known::Value(v) => Known::Value(Operand::Number(*v)),
        Known::Absent => Known::Absent,
        Known::Later => Known::Later,
    }
}

fn flag_operand(value: Value) -> Operand {
    match value {
        Value::Switch(b) => Operand::Bool(b),
        Value::Int(n) => Operand::Number(n as f64),
        Value::Float(f) => Operand::Number(f),
        Value::Json(j) => Operand::Text(j.to_string()),
        Value::Text(t) => Operand::Text(t),
    }
}
