//! What is said and written down before the first launch of an invocation and at each step; and how much is still to come.

use std::collections::HashSet;
use std::path::Path;

use indexmap::IndexMap;

use super::clean::Levels;
use super::event::{Event, Listener};
use super::execution::{Execution, RunError};
use super::provenance::{Outdated, Standing};
use super::{provenance, surroundings};
use crate::journal::{History, Kind};
use crate::judge::walk::Role;
use crate::judge::{Outcome, Walk, Wanted};
use crate::lang::sema::program::{Repeat, Study};
use crate::plan::Config;

/// Between what does not count and why.
const AGAIN: &str = " measured again: ";

/// Writes down what the invocation measures with, and says what a user should know before it begins.
pub fn open(
    x: &Execution<'_>,
    walk: &Walk,
    levels: &Levels,
    (checks, outdated): (usize, &[Outdated]),
    listener: &mut dyn Listener,
) -> Result<(), RunError> {
    let host = x.host.shown();
    let scripted = x.host.script().map(Path::display).map(|s| s.to_string());
    if let Some(script) = &scripted {
        let text =
            format!("the GPUs are played by the script {script}: nothing here is measured on a real one");
        listener.hear(&Event::Warning { text });
    }
    let engine = walk.baseline.as_ref().is_some_and(|(c, _)| c.engine.simulated());
    let simulated = engine || scripted.is_some();
    let again = measured_again(outdated, walk);
    x.journal.append(Kind::Session {
        perflab: env!("CARGO_PKG_VERSION").to_owned(),
        file: x.file.to_owned(),
        file_hash: x.file_hash.clone(),
        pid: std::process::id(),
        set: x.program.given.clone(),
        site: x.program.site.as_ref().map(|s| s.name.clone()),
        price_per_s: x.program.site.as_ref().and_then(|s| s.price_per_s),
        simulated,
        host,
        gpu_levels: levels.iter().map(|(uuid, level)| (uuid.clone(), *level)).collect(),
        machine: Some(provenance::machine()),
        client: x.client.clone(),
        again: again.clone(),
    })?;
    for text in again {
        listener.hear(&Event::Warning { text });
    }
    if let Some(trial) = x.client.as_ref().filter(|trial| !trial.enough) {
        listener.hear(&Event::Warning { text: trial.text.clone() });
    }
    if x.yard.lacks_cores() {
        let text = "this machine has too few processors to give each of several launches, and the load generator, its own: they \
                    share them"
            .to_owned();
        listener.hear(&Event::Warning { text });
    }
    let dropped = surroundings::dropped(&x.site);
    if !dropped.is_empty() {
        let text = format!(
            "not passed on to engines: {}; state in the site's or the study's `env` what they need",
            dropped.join(", ")
        );
        listener.hear(&Event::Warning { text });
    }
    listener.hear(&Event::Study {
        study: x.study.title.clone(),
        simulated,
        measured: x.journal.history().launches().len(),
        remaining: remaining(walk, x.study),
        checks,
        steps: x.whole().steps.len(),
    });
    Ok(())
}

/// Which results of the study count no more and are measured again, and why, a sentence for each reason.
pub fn measured_again(outdated: &[Outdated], walk: &Walk) -> Vec<String> {
    let sentence = |(why, n): (&str, usize)| match n {
        1 => format!("1 result does not count any more and is{AGAIN}{why}"),
        n => format!("{n} results do not count any more and are{AGAIN}{why}"),
    };
    whys(outdated, walk).into_iter().map(sentence).collect()
}

/// The same where nothing is measured now: what is shown is what was.
pub fn shown_as_was(outdated: &[Outdated], walk: &Walk) -> Vec<String> {
    let sentence = |(why, n): (&str, usize)| match n {
        1 => format!("1 result does not count any more, `perflab exec` measures it again: {why}"),
        n => format!("{n} results do not count any more, `perflab exec` measures them again: {why}"),
    };
    whys(outdated, walk).into_iter().map(sentence).collect()
}

/// Why results of the study count no more, and how many for each reason.
fn whys<'o>(outdated: &'o [Outdated], walk: &Walk) -> IndexMap<&'o str, usize> {
    let rows = walk.steps.iter().flat_map(|s| &s.rows).filter_map(|r| r.config.as_ref());
    let wanted: HashSet<&str> = walk.baseline.iter().map(|(c, _)| c).chain(rows).map(Config::id).collect();
    let mut counts: IndexMap<&str, usize> = IndexMap::new();
    for one in outdated.iter().filter(|o| wanted.contains(o.config_id.as_str())) {
        *counts.entry(one.why.as_str()).or_default() += 1;
    }
    counts
}

/// What the last invocation that measured something said of results that count no more.
pub fn told_last(history: &History) -> &[String] {
    history.sessions().last().map_or(&[], |s| &s.again)
}

/// Of these sentences those that are still true: what was put back counts again, and then what was measured meanwhile does not.
pub fn measured_again_still(history: &History, standing: &Standing<'_>) -> Vec<String> {
    if standing.lacks_all_of_the_last(history) {
        return Vec::new();
    }
    let whys = standing.whys(history);
    let holds = |text: &&String| text.split_once(AGAIN).is_some_and(|(_, why)| whys.contains(why));
    told_last(history).iter().filter(holds).cloned().collect()
}

pub fn say_step(study: &Study, wanted: &Wanted, shown: &mut Option<usize>, listener: &mut dyn Listener) {
    let index = if wanted.confirming { study.steps.len() + 1 } else { wanted.step.map_or(0, |i| i + 1) };
    if *shown == Some(index) {
        return;
    }
    *shown = Some(index);
    let title = match index {
        0 => "Baseline".to_owned(),
        i => study.steps.get(i - 1).map_or_else(|| "Other profiles".to_owned(), |s| s.title.clone()),
    };
    listener.hear(&Event::Step { index, title });
}

/// Launches that may still come, at most: what is known to be missing, and the confirming ones.
pub fn remaining(walk: &Walk, study: &Study) -> usize {
    let confirming = if study.confirm.is_empty() || study.objective.is_none() { 0 } else { 2 };
    // those of `confirm` are counted as needs once they are known
    let already = walk.needs.iter().any(|n| n.confirming);
    let known: usize = walk.needs.iter().map(|n| n.missing).sum();
    let later = if already || walk.needs.is_empty() { 0 } else { confirming + offers(walk, study) };
    known + later * repeats(study)
}

/// Candidates that may still be offered, and are then measured on the profiles of `require … on`.
fn offers(walk: &Walk, study: &Study) -> usize {
    if study.objective.is_none() || study.require.iter().all(|r| r.on.is_none()) {
        return 0;
    }
    let open = walk.needs.first().and_then(|n| n.step).unwrap_or(0);
    let rows = walk.steps.iter().skip(open).flat_map(|s| &s.rows);
    rows.filter(|r| r.role == Role::Candidate && r.judged.outcome == Outcome::Missing && r.same_as.is_none())
        .count()
}

fn repeats(study: &Study) -> usize {
    match study.repeat {
        Repeat::Auto => 1,
        Repeat::Times(n) => n as usize,
    }
}
