//! Requirements held against each other: two that no result can meet together are one mistake, which neither shows alone.

use super::bounds;
use super::check::Checker;
use super::program::{Expr, Require, Study};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, BinaryOp, StudyLineKind as Line};

impl Checker<'_> {
    /// Each requirement against those before it; where they agree, whether each asks for what is better.
    pub(super) fn requirements_agree(&mut self, decl: &ast::Study, study: &Study) {
        let mut torn: Vec<Span> = Vec::new();
        for (i, later) in study.require.iter().enumerate() {
            let is_same = |r: &&Require| r.text == later.text && r.on == later.on;
            if let Some(first) = study.require[..i].iter().find(is_same) {
                let message = format!("the study requires `{}` twice", later.text);
                let d = Diagnostic::new(Code::SettingTwice, later.span, message).label("the second one");
                self.sink.push(d.related(first.span, "the first one").help("keep one of them"));
                continue;
            }
            if let Some(earlier) = study.require[..i].iter().find(|r| exclude(r, later, study)) {
                let message = "no result can meet this requirement and another one";
                let d = Diagnostic::new(Code::Impossible, later.span, message).label("never true with it");
                let help = format!("`{}` excludes it, and both must hold: mend or remove one", earlier.text);
                self.sink.push(d.related(earlier.span, "the other one").help(help));
                torn.extend([earlier.span, later.span]);
            }
        }
        // of two that exclude each other one asks for what is worse, mostly: that is the same mistake
        let written = decl.lines.iter().filter_map(|line| match &line.kind {
            Line::Require { expr, .. } if !torn.contains(&expr.span) => Some(expr),
            _ => None,
        });
        for expr in written {
            if let Some(checked) = study.require.iter().find(|r| r.span == expr.span) {
                self.requires_better(expr, &checked.expr);
                self.plausible(expr, &checked.expr);
            }
        }
    }
}

/// Whether two requirements about one load, each of which could be met, cannot be met together.
fn exclude(one: &Require, other: &Require, study: &Study) -> bool {
    let objective: &[String] = study.objective.as_ref().map_or(&[], |o| &o.profiles);
    let of_objective = |on: &Option<String>| on.as_ref().is_none_or(|p| objective.contains(p));
    let one_load = one.on == other.on
        || (one.on.is_none() || other.on.is_none()) && of_objective(&one.on) && of_objective(&other.on);
    let never = |e: &Expr| bounds::settled(e) == Some(false);
    if !one_load || one.implied || other.implied || never(&one.expr) || never(&other.expr) {
        return false;
    }
    let (left, right) = (Box::new(one.expr.clone()), Box::new(other.expr.clone()));
    never(&Expr::Binary { op: BinaryOp::And, left, right })
}
