//! Rules that prune what the study says is to be adopted: a bound of the gain above that of `adopt`, most often without its sign.

use crate::lang::Diagnostic;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Expr, Prune, Study};
use crate::lang::source::FileId;
use crate::lang::syntax::ast::BinaryOp;

/// The rules of the study's file of which this is so.
pub(super) fn overruled(study: &Study) -> Vec<Diagnostic> {
    let own = study.prune.iter().filter(|rule| rule.span.file == FileId::default());
    let above = own.filter_map(|rule| Some((rule, pruned_below(&rule.when)?)));
    above
        .filter(|(_, bound)| *bound > study.adopt)
        .map(|(rule, bound)| told(rule, bound, study.adopt))
        .collect()
}

/// The gain below which a condition holds, whatever else is measured.
fn pruned_below(when: &Expr) -> Option<f64> {
    let Expr::Binary { op, left, right } = when else { return None };
    match (op, &**left, &**right) {
        (BinaryOp::Or, left, right) => pruned_below(left).or_else(|| pruned_below(right)),
        (BinaryOp::Lt | BinaryOp::Le, Expr::Gain, Expr::Number(bound))
        | (BinaryOp::Gt | BinaryOp::Ge, Expr::Number(bound), Expr::Gain) => Some(*bound),
        _ => None,
    }
}

fn told(rule: &Prune, bound: f64, adopt: f64) -> Diagnostic {
    let percent = |share: f64| format!("{}%", (share * 1e6).round() / 1e4);
    let message = format!(
        "the rule `{}` prunes gains up to {}, and the study adopts from {} on",
        rule.name,
        percent(bound),
        percent(adopt)
    );
    let at = rule.place_of(|e| pruned_below(e).is_some());
    let d = Diagnostic::new(Code::Overruled, at, message).label("prunes what would be adopted");
    d.help(format!(
        "a loss is written with its sign, `gain < -{0}`; if less is not worth it, say so: `adopt gain >= {0}`",
        percent(bound)
    ))
}
