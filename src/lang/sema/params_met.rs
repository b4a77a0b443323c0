//! Params without a unit, and what they are compared with: one that is right in one place is not mended for another.

use super::check::Checker;
use super::scope::{ItemRef, Kind};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{BinaryOp, Expr, ExprKind, Item, Literal, Param};
use crate::lang::units::Dim;

/// A comparison with a param that has no unit.
pub(super) struct Met {
    param: ItemRef,
    at: Span,
    /// what is wrong with it, if it meets no plain number
    wrong: Option<String>,
}

impl Checker<'_> {
    /// Notes what a param without a unit is compared with, in a comparison that is right.
    pub(super) fn param_fits(&mut self, left: &Expr, right: &Expr) {
        for side in [left, right] {
            if let ExprKind::Call { owner: None, name, args: None } = &side.kind
                && let Some(param) = self.modules.home(side.span).find(Kind::Param, &name.value)
                && self.plain(param).is_some()
            {
                self.params_met.push(Met { param, at: left.span.to(right.span), wrong: None });
            }
        }
    }

    /// The same of a comparison that is wrong.
    pub(super) fn param_misfits(
        &mut self,
        param: ItemRef,
        op: BinaryOp,
        plain: &Expr,
        (other, dim): (&Expr, Dim),
    ) {
        let message = format!("`{}` meets {dim} and a plain number", op.symbol());
        let (first, last) = if plain.span.start < other.span.start { (plain, other) } else { (other, plain) };
        self.params_met.push(Met { param, at: first.span.to(last.span), wrong: Some(message) });
    }

    fn plain(&self, param: ItemRef) -> Option<&Param> {
        match self.modules.item(param) {
            Item::Param(p) => matches!(&p.value, Literal::Number(n) if n.unit.is_empty()).then_some(p),
            _ => None,
        }
    }

    /// `success_rate >= top` and `p99(tpot) <= top`: with a unit the param would be wrong in the one place, without it in the other. It is told
    /// where it does not fit.
    pub(super) fn params_right_elsewhere(&mut self) {
        let mut told: Vec<Span> = Vec::new();
        for met in self.params_met_both() {
            let Some(param) = self.plain(met.param) else { continue };
            let (name, value) = (param.name.value.clone(), param.value.span());
            let written = self.modules.slice(value).to_owned();
            let (Some(message), false) = (met.wrong, told.contains(&met.at)) else { continue };
            told.push(met.at);
            self.sink.forget(|d| d.code == Code::MissingUnit && d.span == value && d.about != About::InSum);
            let d = Diagnostic::new(Code::Dimension, met.at, message).label("quantities of different kinds");
            let help = format!(
                "the param `{name}` is {written}, and is right elsewhere: give this place a param of its own"
            );
            self.sink.push(d.help(help).related(value, "declared here"));
        }
    }

    /// Comparisons that are wrong, of params that are right somewhere else.
    fn params_met_both(&mut self) -> Vec<Met> {
        let all = std::mem::take(&mut self.params_met);
        let (wrong, right): (Vec<Met>, Vec<Met>) = all.into_iter().partition(|m| m.wrong.is_some());
        let fits = |m: &Met| {
            let inserted = |p: &Param| self.modules.mentions(0, &format!("{{{}}}", p.name.value)) > 0;
            right.iter().any(|r| r.param == m.param) || self.plain(m.param).is_some_and(inserted)
        };
        wrong.into_iter().filter(|m| fits(m)).collect()
    }
}
