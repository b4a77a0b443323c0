//! Expressions: chains of operators as trees that lean to the left.

use pest::iterators::Pair;

use super::{Builder, kids, skip};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::syntax::ast::{BinaryOp, Expr, ExprKind};
use crate::lang::syntax::grammar::Rule;

/// Operators in one expression; more is a generated file, and a tree too deep to walk.
const MAX_OPERATORS: usize = 100;

impl<'a> Builder<'a, '_> {
    pub(super) fn whole_expr(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.operators = 0;
        let span = self.span(&pair);
        let expr = self.expr(pair);
        if self.operators > MAX_OPERATORS {
            let message = format!("an expression has more than {MAX_OPERATORS} operators");
            let help = "split it: name a part with `metric` and use the name";
            self.sink.push(Diagnostic::new(Code::TooDeep, span, message).help(help));
            return None;
        }
        expr
    }

    pub(super) fn expr(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.chain(pair, Self::conjunct)
    }

    pub(super) fn conjunct(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.chain(pair, Self::negation)
    }

    pub(super) fn sum(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.chain(pair, Self::term)
    }

    pub(super) fn term(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        self.chain(pair, Self::operand)
    }

    /// `a op b op c`, from the left.
    pub(super) fn chain(
        &mut self,
        pair: Pair<'a, Rule>,
        next: fn(&mut Self, Pair<'a, Rule>) -> Option<Expr>,
    ) -> Option<Expr> {
        let mut k = kids(pair);
        let mut left = next(self, k.next()?)?;
        while let Some(op) = k.next() {
            let op = binary_op(op.as_str())?;
            let right = next(self, k.next()?)?;
            self.operators += 1;
            if self.operators <= MAX_OPERATORS {
                left = binary(op, left, right);
            }
        }
        Some(left)
    }

    pub(super) fn negation(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let mut nots = 0usize;
        while skip(&mut k, Rule::k_not) {
            nots += 1;
        }
        let mut expr = self.sum(k.next()?)?;
        if let Some(op) = k.next() {
            let right = self.sum(k.next()?)?;
            expr = binary(binary_op(op.as_str())?, expr, right);
        }
        self.operators += nots;
        if nots % 2 == 1 {
            expr = Expr { kind: ExprKind::Not(Box::new(expr)), span };
        }
        Some(expr)
    }

    pub(super) fn operand(&mut self, pair: Pair<'a, Rule>) -> Option<Expr> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let inner = k.next()?;
        let kind = match inner.as_rule() {
            Rule::k_env => ExprKind::Env(k.next()?.as_str().to_owned()),
            Rule::k_given => ExprKind::Given(k.next()?.as_str().to_owned()),
            Rule::expr => return self.expr(inner).map(|e| Expr { span, ..e }),
            Rule::number => ExprKind::Number(self.number(&inner)),
            Rule::string => ExprKind::Text(self.text(&inner)),
            Rule::bool => ExprKind::Bool(inner.as_str() == "true"),
            Rule::flag_name => ExprKind::Flag(inner.as_str().to_owned()),
            _ => self.call(inner)?,
        };
        Some(Expr { kind, span })
    }

    pub(super) fn call(&mut self, pair: Pair<'a, Rule>) -> Option<ExprKind> {
        let has_args = pair.as_str().trim_end().ends_with(')');
        let mut k = kids(pair);
        let first = self.maybe_name(&mut k)?;
        let second = self.maybe_name(&mut k);
        let args = k.map(|e| self.expr(e)).collect::<Option<Vec<_>>>()?;
        let (owner, name) = match second {
            Some(name) => (Some(first), name),
            None => (None, first),
        };
        Some(ExprKind::Call { owner, name, args: has_args.then_some(args) })
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, span }
}

fn binary_op(text: &str) -> Option<BinaryOp> {
    Some(match text {
        "or" => BinaryOp::Or,
        "and" => BinaryOp::And,
        "<=" => BinaryOp::Le,
        ">=" => BinaryOp::Ge,
        "==" => BinaryOp::Eq,
        "!=" => BinaryOp::Ne,
        "<" => BinaryOp::Lt,
        ">" => BinaryOp::Gt,
        "divides" => BinaryOp::Divides,
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        _ => return None,
    })
}
