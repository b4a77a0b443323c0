//! Rules that never fire in any study of the file, or always do.

use foldhash::{HashMap, HashSet};

use super::reach::flags_in;
use crate::lang::codes::Code;
use crate::lang::diag::About;
use crate::lang::sema::program::{Expr, Prune};
use crate::lang::sema::scope::Kind;
use crate::lang::source::{FileId, Span};
use crate::lang::syntax::ast::Item;
use crate::lang::{Analysis, Diagnostic};

/// What each rule of a file comes to, by its place.
pub(super) type Rules<'a> = HashMap<Span, (Verdict, &'a Prune, Span)>;

/// A rule of the file must be idle in each of its studies; `place` is the part of it that makes it so.
pub(super) fn join<'a>(rules: &mut Rules<'a>, rule: &'a Prune, verdict: Verdict, place: Span) {
    let known = rules.entry(rule.span).or_insert((verdict, rule, place));
    known.0 = known.0.and(verdict);
    if known.2 != place {
        known.2 = rule.span;
    }
}

/// What a condition comes to in every configuration of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Never,
    Always,
    Depends,
}

impl Verdict {
    pub(super) fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::Depends }
    }
}

/// What is to be said of a rule of the file that is idle in each of its studies.
pub(super) fn idle(verdict: Verdict, rule: &Prune, place: Span) -> Option<Diagnostic> {
    // an imported rule is kept for other studies too
    if rule.span.file != FileId::default() {
        return None;
    }
    match verdict {
        Verdict::Never => {
            let message = format!("the rule `{}` can never fire", rule.name);
            let d = Diagnostic::new(Code::NeverFires, place, message).label("holds for nothing here");
            if let Some(flag) = compared_with_auto(&rule.when) {
                return Some(d.help(format!(
                    "a flag that is `auto` counts as not there, and no comparison with what is not there is met: `not given {flag}` \
                     holds where the configuration leaves {flag} to the engine"
                )));
            }
            Some(d.help(
                "no candidate of any step meets this, and the baseline is never pruned: mend the condition, or remove the rule",
            ))
        }
        Verdict::Always => {
            let message = format!("the rule `{}` always fires", rule.name);
            let d = Diagnostic::new(Code::AlwaysFires, rule.span, message).label("holds for everything here");
            Some(d.help(
                "it leaves nothing but the baseline to measure: mend the condition, or remove the rule",
            ))
        }
        Verdict::Depends => None,
    }
}

/// A rule that reads what only an axis sets which no step varies can never fire, and that nothing varies the axis has been said.
pub(super) fn without_unused_axes(analysis: &Analysis, found: &mut Vec<Diagnostic>) {
    let modules = &analysis.modules;
    let flags = |span: Span| flags_in(modules.slice(span));
    let items = &modules.root().file.items;
    let unused = analysis.diagnostics.iter().filter(|d| d.about == About::Unused(Kind::Axis));
    let set: HashSet<String> =
        unused.filter_map(|d| Item::at(items, d.span)).flat_map(|item| flags(item.span())).collect();
    found.retain(|d| d.code != Code::NeverFires || flags(d.span).is_disjoint(&set));
}

/// The flag of a condition that is compared with `auto`.
fn compared_with_auto(when: &Expr) -> Option<String> {
    let mut found = None;
    when.walk(&mut |e| {
        if let Expr::Binary { left, right, .. } = e
            && let (Expr::Flag(flag), Expr::Text(text)) | (Expr::Text(text), Expr::Flag(flag)) =
                (&**left, &**right)
            && text == "auto"
        {
            found.get_or_insert_with(|| flag.clone());
        }
    });
    found
}
