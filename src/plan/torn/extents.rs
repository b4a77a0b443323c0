//! Where the parts of a file reach to, and which of them a mistake is in.

use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, Item, StudyLineKind};

pub(super) fn holds(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.start <= inner.start && inner.start < outer.end.max(outer.start + 1)
}

/// Whether a line with a misspelt word is there all the same.
pub(super) fn was_read(item: &Item, at: Span) -> bool {
    let begins = |span: Span| span.start == at.start;
    let vary = |s: &ast::Step| s.lines.iter().any(|l| begins(l.span));
    begins(item.span())
        || match item {
            Item::Study(study) => study.lines.iter().any(|l| {
                begins(l.span)
                    || match &l.kind {
                        StudyLineKind::Step(step) => vary(step),
                        StudyLineKind::Track(t) => t.steps.iter().any(|s| begins(s.span) || vary(s)),
                        _ => false,
                    }
            }),
            Item::Engine(engine) => engine.lines.iter().any(|l| begins(l.span)),
            _ => false,
        }
}

/// The part of a step that decides on no candidate, if a mistake stands there.
pub(super) fn in_step(step: &ast::Step, at: Span) -> Option<Span> {
    let guard = step.when.as_ref().map(|w| w.span).filter(|s| holds(*s, at));
    let lines = step.lines.iter().filter(|l| !matches!(l.kind, ast::StepLineKind::Vary { .. }));
    guard.or_else(|| lines.map(|l| l.span).find(|s| holds(*s, at)))
}

/// Whether a place is in an expression, which reads what is set and sets nothing.
pub(super) fn asks(item: &Item, at: Span) -> bool {
    let guards = |s: &ast::Step| s.when.as_ref().is_some_and(|w| holds(w.span, at));
    match item {
        Item::Prune(_) | Item::Metric(_) => true,
        Item::Study(study) => study.lines.iter().filter(|l| holds(l.span, at)).any(|l| match &l.kind {
            StudyLineKind::Prune(_) | StudyLineKind::Require { .. } | StudyLineKind::Objective { .. } => true,
            StudyLineKind::Step(step) => guards(step),
            StudyLineKind::Track(track) => track.steps.iter().any(guards),
            _ => false,
        }),
        _ => false,
    }
}

/// Whether a place is in the last step of a line.
pub(super) fn ends(line: &StudyLineKind, at: Span) -> bool {
    match line {
        StudyLineKind::Step(_) => true,
        StudyLineKind::Track(track) => track.steps.last().is_some_and(|s| holds(s.span, at)),
        _ => false,
    }
}
