//! Two declarations that are called alike, of which one gets another name: which of them was to have it is a guess.

use super::changes::{Step, is_here, mended};
use super::codes::Code;
use super::diag::{About, Diagnostic};
use super::effort::Effort;
use super::hidden::in_place;
use super::sema::scope::Kind;

/// What is found in a text where the first of them gets the name that a fix gives to the second.
pub(super) struct Renamed(Vec<Diagnostic>);

impl Renamed {
    /// `None` where nothing is renamed on which it hangs what flags are.
    pub(super) fn by(
        fixes: &[&Diagnostic],
        text: &str,
        fresh: &[&Diagnostic],
        effort: &Effort<'_>,
    ) -> Option<Self> {
        fixes.iter().find(|f| renames_what_sets_flags(f))?;
        // few texts are read once more
        if !fresh.iter().any(|d| of_its_name(d)) {
            return Some(Self(Vec::new()));
        }
        let fixes: Vec<Diagnostic> = fixes.iter().map(|f| of_the_first(f)).collect();
        let (next, step) = mended(text, &fixes.iter().collect::<Vec<_>>());
        let found = effort.read(&next).unwrap_or_default();
        Some(Self(found.iter().map(|d| in_place(d, std::slice::from_ref(&step))).collect()))
    }

    /// Whether what was found after a step may be right with the other name.
    pub(super) fn leaves_unsure(&self, d: &Diagnostic, step: &Step) -> bool {
        let here = in_place(d, std::slice::from_ref(step));
        let same = |o: &Diagnostic| (o.code, o.span) == (here.code, here.span) && o.message == here.message;
        of_its_name(d) && !self.0.iter().any(same)
    }
}

/// A fix that gives its name to the first of two.
fn of_the_first(fix: &Diagnostic) -> Diagnostic {
    let mut fix = fix.clone();
    let first = fix.related.first().map(|(at, _)| *at).filter(|at| is_here(*at));
    if let (true, Some(first), [edit]) = (renames_what_sets_flags(&fix), first, fix.edits.as_mut_slice()) {
        edit.span = first;
    }
    fix
}

/// Whether one of two that are called alike gets another name, which is more than a load or a number.
fn renames_what_sets_flags(fix: &Diagnostic) -> bool {
    fix.code == Code::DeclaredTwice && !matches!(fix.about, About::Second(Kind::Profile | Kind::Metric))
}

/// Whether it is wrong because of what a name stands for: with the other one of two that are called alike it may be right.
fn of_its_name(d: &Diagnostic) -> bool {
    matches!(d.code, Code::UnknownPoint | Code::UnknownFlag | Code::FlagVersion | Code::BadFlagValue)
}
