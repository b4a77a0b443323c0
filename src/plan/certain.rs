//! The doubts of a file with errors that hold whatever its errors come to: each study is looked at with the mistakes that concern it alone, and
//! each of its tracks too.

use foldhash::{HashMapExt, HashSet, HashSetExt};

use super::idle::{Rules, Verdict, idle, join};
use super::overruled::overruled;
use super::refused::refused_engines;
use super::review::{Looked, review};
use super::torn::Torn;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Space, Step, Study};
use crate::lang::syntax::ast::Item;
use crate::lang::{Analysis, Diagnostic, Program};

/// Studies of a file with errors, and tracks of one of them, that are looked at one by one.
const MOST_APART: usize = 16;

/// The doubts of a file with errors. Of each of its studies those count that concern it; of many studies all, as each is looked at anew.
pub(super) fn certain(analysis: &Analysis) -> Vec<Diagnostic> {
    let program = &analysis.program;
    if program.studies.len() > MOST_APART {
        Torn::of(analysis, None, None).map(|torn| {
            let mut rest = torn.rest(program);
            rest.studies.retain(|s| !s.baseline.is_empty());
            let mut found = review(&rest);
            found.retain(|d| torn.spares(d, &rest));
            found
        })
    } else {
        each_apart(analysis)
    }
    .unwrap_or_default()
}

/// Each study with the mistakes that concern it. A rule is idle where it surely is in all of them. `None` where nothing is certain.
fn each_apart(analysis: &Analysis) -> Option<Vec<Diagnostic>> {
    let (mut found, mut rules) = (Vec::new(), Rules::new());
    for study in &analysis.program.studies {
        let torn = Torn::of(analysis, Some(study), None)?;
        let alone = Program { studies: vec![study.clone()], ..analysis.program.clone() };
        let rest = torn.rest(&alone);
        let looked = Looked::at(&rest, &rest.studies);
        found.extend(looked.found.into_iter().filter(|d| torn.spares(d, &rest)));
        let refused = refused_engines(&torn.as_declared(&alone), study);
        found.extend(refused.into_iter().filter(|d| torn.spares(d, &alone)));
        // a bound of the gain stands for itself, whatever else its rule reads
        found.extend(overruled(study).into_iter().filter(|d| torn.spares(d, &alone)));
        for track in study.tracks.iter().filter(|_| study.tracks.len() <= MOST_APART) {
            found.extend(of_track(analysis, study, &track.engine));
        }
        for rule in &study.prune {
            let known = looked.rules.get(&rule.span).map(|(verdict, _, place)| (*verdict, *place));
            let sure = known.filter(|(v, at)| idle(*v, rule, *at).is_some_and(|d| torn.spares(&d, &rest)));
            let (verdict, place) = sure.unwrap_or((Verdict::Depends, rule.span));
            join(&mut rules, rule, verdict, place);
        }
    }
    // a study that could not be made out may be what a rule of the file is there for
    let declared = analysis.modules.root().file.items.iter().filter(|i| matches!(i, Item::Study(_))).count();
    if analysis.program.studies.len() == declared {
        found.extend(rules.into_values().filter_map(|(verdict, rule, place)| idle(verdict, rule, place)));
    }
    let mut seen = HashSet::new();
    found.retain(|d| seen.insert((d.code, d.span)));
    Some(found)
}

/// The doubts of the steps of one track, whatever is wrong with the others.
fn of_track(analysis: &Analysis, study: &Study, track: &str) -> Vec<Diagnostic> {
    let Some(torn) = Torn::of(analysis, Some(study), Some(track)) else { return Vec::new() };
    let mut alone = study.clone();
    let is_own = |s: &Step| s.track.as_deref() == Some(track);
    for step in alone.steps.iter_mut().filter(|s| !is_own(s)) {
        (step.space, step.when, step.pick) = (Space::Sum(Vec::new()), None, None);
    }
    let program = Program { studies: vec![alone], ..analysis.program.clone() };
    let rest = torn.rest(&program);
    let looked = Looked::at(&rest, &rest.studies);
    let others = |d: &Diagnostic| study.steps.iter().any(|s| s.span == d.span && !is_own(s));
    let of_steps = |d: &Diagnostic| {
        matches!(d.code, Code::OnlyBase | Code::SameTwice | Code::Unreachable | Code::SettledGuard)
    };
    looked.found.into_iter().filter(|d| of_steps(d) && !others(d) && torn.spares(d, &rest)).collect()
}
