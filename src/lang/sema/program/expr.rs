//! Conditions and metrics, with every name resolved.

use super::super::metrics::Stat;
use crate::lang::source::Span;
use crate::lang::syntax::ast::BinaryOp;

/// A checked expression: names resolved, params and derived metrics inserted, dimensions right, numbers in base units.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Number(f64),
    Text(String),
    Bool(bool),
    Flag(String),
    /// whether a flag, or a key of one, is set; its default does not count
    Given(String),
    /// the text of a variable of the server
    Env(String),
    Engine,
    /// an engine's name, which all that derive from it are equal to
    EngineName(String),
    Model,
    /// how many GPUs a configuration needs
    Gpus {
        of: Owner,
    },
    Gain,
    Metric {
        of: Owner,
        name: String,
        stat: Option<Stat>,
    },
    /// completed requests per second that meet a condition; in it, metrics are a request's own times
    Goodput {
        of: Owner,
        when: Box<Expr>,
    },
    Not(Box<Expr>),
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
}

impl Expr {
    /// Whether a condition holds for every, or for no, candidate of an engine that goes by these names; `None` where more decides.
    pub fn of_engine(&self, ancestry: &[String]) -> Option<bool> {
        match self {
            Self::Not(inner) => inner.of_engine(ancestry).map(|holds| !holds),
            Self::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                let decides = *op == BinaryOp::Or;
                let sides = [left.of_engine(ancestry), right.of_engine(ancestry)];
                if sides.contains(&Some(decides)) {
                    Some(decides)
                } else {
                    (!sides.contains(&None)).then_some(!decides)
                }
            }
            Self::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right } => {
                let ((Self::Engine, Self::EngineName(name)) | (Self::EngineName(name), Self::Engine)) =
                    (&**left, &**right)
                else {
                    return None;
                };
                Some(ancestry.contains(name) == (*op == BinaryOp::Eq))
            }
            _ => None,
        }
    }

    /// The conditions that `and` and `or` join, in order.
    pub fn joined(&self) -> Vec<&Self> {
        match self {
            Self::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
                [left.joined(), right.joined()].concat()
            }
            _ => vec![self],
        }
    }

    /// Where the only one of them stands of which something is so; `parts` are their places, and `whole` that of all of them.
    pub fn place_of(&self, parts: &[Span], whole: Span, is_so: impl Fn(&Self) -> bool) -> Span {
        let joined = self.joined();
        // what a name stands for may be more than it
        if joined.len() != parts.len() {
            return whole;
        }
        let mut found = joined.iter().zip(parts).filter(|(e, _)| is_so(e)).map(|(_, at)| *at);
        found.next().filter(|_| found.next().is_none()).unwrap_or(whole)
    }

    /// Visits every node.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        match self {
            Self::Not(e) | Self::Goodput { when: e, .. } => e.walk(visit),
            Self::Binary { left, right, .. } => {
                left.walk(visit);
                right.walk(visit);
            }
            _ => {}
        }
    }

    /// Whether a condition holds, by what is known of the parts that `not`, `and` and `or` join: one part may settle it.
    pub fn truth(&self, part: &impl Fn(&Expr) -> Option<bool>) -> Option<bool> {
        match self {
            Self::Not(inner) => inner.truth(part).map(|b| !b),
            Self::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                let settles = Some(*op == BinaryOp::Or);
                let left = left.truth(part);
                if left == settles {
                    return settles;
                }
                match right.truth(part) {
                    right if right == settles => settles,
                    right => left.and(right),
                }
            }
            other => part(other),
        }
    }

    /// Whether the configuration alone can settle it so, whichever that is. What compares with a measurement never holds before there is
    /// one, though it may be lost already, where the configuration lacks the other side.
    pub fn may_settle(&self, truth: bool) -> bool {
        match self {
            Self::Not(inner) => inner.may_settle(!truth),
            Self::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                let (l, r) = (left.may_settle(truth), right.may_settle(truth));
                if truth == (*op == BinaryOp::Or) { l || r } else { l && r }
            }
            part => part.is_static() || !truth && part.reads_configuration(),
        }
    }

    /// How many parts it has.
    pub fn size(&self) -> usize {
        let mut count = 0;
        self.walk(&mut |_| count += 1);
        count
    }

    /// Whether it can be settled before anything runs.
    pub fn is_static(&self) -> bool {
        let mut known = true;
        self.walk(&mut |e| known &= !matches!(e, Expr::Metric { .. } | Expr::Goodput { .. } | Expr::Gain));
        known && !self.compares()
    }

    /// Whether it reads what a configuration is, beside what is measured of it.
    pub fn reads_configuration(&self) -> bool {
        let mut found = false;
        self.walk(&mut |e| {
            found |= matches!(
                e,
                Expr::Flag(_)
                    | Expr::Given(_)
                    | Expr::Env(_)
                    | Expr::Engine
                    | Expr::Model
                    | Expr::Gpus { of: Owner::Own }
            );
        });
        found
    }

    /// Whether it compares with the incumbent or the baseline.
    pub fn compares(&self) -> bool {
        self.compares_with(Owner::Best) || self.compares_with(Owner::Baseline)
    }

    /// Whether it compares with one of them.
    pub fn compares_with(&self, owner: Owner) -> bool {
        let mut found = false;
        self.walk(&mut |e| {
            found |= match e {
                Expr::Gain => owner == Owner::Best,
                Expr::Metric { of, .. } | Expr::Goodput { of, .. } | Expr::Gpus { of } => *of == owner,
                _ => false,
            };
        });
        found
    }
}

/// Whose metric: the candidate's own, the incumbent's, the baseline's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Own,
    Best,
    Baseline,
}

impl Owner {
    /// What stands before a name of it.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Own => "",
            Self::Best => "best.",
            Self::Baseline => "baseline.",
        }
    }
}
