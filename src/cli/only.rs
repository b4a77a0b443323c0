//! `exec --only STEP`: one step alone, over the recorded results of what stands before it. The study is cut off behind the step, so that
//! predictions, budgets and questions are about what is really to come.

use std::borrow::Cow;

use super::console::Console;
use super::exit;
use crate::judge::walk::Need;
use crate::judge::{Grid, Results, Setup, Strategy as _, Walk};
use crate::lang::diag::did_you_mean;
use crate::lang::sema::program::{Step, Study};
use crate::report::Report;
use crate::run::Execution;

/// The word for what is measured before all steps.
const BASELINE: &str = "baseline";
/// So many are listed of what is missing.
const LISTED: usize = 8;

/// The study as far as it is carried out: up to the step that is named, and nothing is confirmed. What is wrong has been said.
pub fn cut<'a>(study: &'a Study, only: Option<&str>, console: Console) -> Result<Cow<'a, Study>, u8> {
    let Some(name) = only else { return Ok(Cow::Borrowed(study)) };
    let until = match found(study, name) {
        Ok(until) => until,
        Err((message, help)) => {
            console.error(&message, &help);
            return Err(exit::INPUT);
        }
    };
    let mut cut = study.clone();
    cut.steps.truncate(until);
    // without an objective these are what steps measure
    if cut.objective.is_some() {
        cut.confirm.clear();
    }
    Ok(Cow::Owned(cut))
}

/// How many steps there are up to the one that is meant, itself included.
fn found(study: &Study, name: &str) -> Result<usize, (String, String)> {
    let called = |step: &Step| step.name == name || full_name(step) == name;
    let all: Vec<usize> = (0..study.steps.len()).filter(|i| called(&study.steps[*i])).collect();
    match all.as_slice() {
        [one] => Ok(one + 1),
        [] if name == BASELINE => Ok(0),
        [] => {
            let names: Vec<String> = study.steps.iter().map(full_name).collect();
            let known = study.steps.iter().map(|s| s.name.as_str()).chain(names.iter().map(String::as_str));
            let near = did_you_mean(name, known.chain([BASELINE]));
            let near = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
            let help = match names.len() {
                0 => format!("{near}it has no steps: name `{BASELINE}`"),
                _ => format!("{near}it has {}, and `{BASELINE}`", names.join(", ")),
            };
            Err((format!("--only: study {} has no step `{name}`", study.name), help))
        }
        several => {
            let names: Vec<String> = several.iter().map(|i| full_name(&study.steps[*i])).collect();
            let message = format!("--only: several tracks have a step `{name}`");
            Err((message, format!("name one of them: {}", names.join(", "))))
        }
    }
}

/// A step's name, behind that of its track.
fn full_name(step: &Step) -> String {
    step.track.as_ref().map_or_else(|| step.name.clone(), |track| format!("{track}.{}", step.name))
}

/// Why a step cannot be carried out alone: what it stands on is not measured. A message and its help.
pub fn trouble(
    x: &Execution<'_>,
    results: impl Fn() -> Results,
    only: Option<&str>,
) -> Option<(String, String)> {
    let name = only?;
    let results = results();
    let setup = Setup::new(x.program, x.study, &results, x.checks, false);
    let (walk, _) = Grid.next(&setup);
    let missing = missing(x.study, &walk);
    if missing.is_empty() {
        return None;
    }
    let listed = missing.iter().take(LISTED).cloned().collect::<Vec<_>>().join("; ");
    let more = match missing.len().saturating_sub(LISTED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let message = format!("--only {name}: what it stands on is not measured: {listed}{more}");
    let help = format!(
        "`perflab exec {}` measures all in order; `--only` takes one step after another, from `baseline` on",
        x.file
    );
    Some((message, help))
}

/// What is missing of the baseline and of the steps before the last one, in words.
fn missing(study: &Study, walk: &Walk) -> Vec<String> {
    // without steps the baseline is what is asked for
    let Some(last) = study.steps.len().checked_sub(1) else { return Vec::new() };
    let before = walk.needs.iter().filter(|n| n.step.is_none_or(|i| i < last));
    let named = |n: &Need| match n.step.and_then(|i| study.steps.get(i)) {
        Some(step) => format!("{} of step {}", n.label, full_name(step)),
        None => format!("the baseline, {}", n.label),
    };
    before.map(named).collect()
}

/// The status of a study that was carried out up to a step.
pub fn code(x: &Execution<'_>) -> u8 {
    let results = x.results();
    let setup = Setup::new(x.program, x.study, &results, x.checks, false).leaving(&x.left_out);
    let (walk, _) = Grid.next(&setup);
    let machine_failed = x.journal.history().machine_failed(x.checks);
    if !walk.needs.is_empty() || !x.left_out.is_empty() || machine_failed {
        return exit::INCOMPLETE;
    }
    if walk.refused.is_some() { exit::NOTHING } else { exit::DONE }
}

/// The report as it is shown: one step recommends nothing, whatever else was measured before. The files are the whole study's.
pub fn shown(mut report: Report, only: Option<&str>) -> Report {
    let Some(name) = only else { return report };
    let rest = "the same command without `--only` carries out the rest";
    if report.recommended.take().is_some() || !report.complete {
        let refused = report.no_recommendation.take().filter(|_| report.complete);
        report.no_recommendation = refused.or_else(|| Some(format!("only `{name}` was asked for; {rest}")));
    }
    if let Some(goes_on) = &mut report.goes_on {
        rest.clone_into(goes_on);
    }
    report
}
