//! What the report document says about a study as a whole: its engines, loads and tracks, notes, warnings, and what was not checked.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::build::Material;
use super::document::{Engine, Profile, Replay, Track};
use super::resolved::meaning;
use crate::journal::Recording;
use crate::judge::{Run, RunOutcome, checks};
use crate::lang::sema::program::Require;
use crate::plan::{self, profile};

/// "p99(ttft) <= 500ms on chat"
pub(super) fn requirement(r: &Require) -> String {
    let on = r.on.as_ref().map_or_else(String::new, |on| format!(" on {on}"));
    let means = meaning(&r.text, &r.expr).map_or_else(String::new, |means| format!(", which is {means}"));
    format!("{}{on}{means}", r.text)
}

pub(super) fn simulated(m: &Material<'_>) -> bool {
    m.recording.is_none() && (measured(m).any(|c| c.engine.simulated()) || some_run(m, is_simulated))
}

/// Its server was the simulated engine behind another name, or a script played its GPUs.
fn is_simulated(run: &Run) -> bool {
    run.simulated || is_scripted(run)
}

fn is_scripted(run: &Run) -> bool {
    run.devices.as_ref().is_some_and(|d| d.scripted)
}

fn some_run(m: &Material<'_>, is_so: impl Fn(&Run) -> bool) -> bool {
    let profiles = m.setup.profiles();
    measured(m).any(|c| profiles.iter().any(|p| m.setup.counted(c, p).iter().any(|run| is_so(run))))
}

/// The configurations of baseline and rows.
pub(super) fn measured<'a>(m: &'a Material<'_>) -> impl Iterator<Item = &'a plan::Config> {
    let rows = m.walk.steps.iter().flat_map(|s| &s.rows).filter_map(|r| r.config.as_ref());
    m.walk.baseline.iter().map(|b| &b.0).chain(rows)
}

/// Whether any run was made on GPUs that a script plays, as tests do.
pub(super) fn scripted_gpus(m: &Material<'_>) -> bool {
    some_run(m, is_scripted)
}

pub(super) fn replay(r: &Recording, differences: &[String]) -> Replay {
    Replay {
        recording: r.recording.clone(),
        title: r.title.clone().unwrap_or_default(),
        hardware: r.hardware.clone().unwrap_or_default(),
        measured_with: r.measured_with.clone(),
        differences: differences.to_vec(),
    }
}

pub(super) fn engines(m: &Material<'_>) -> Vec<Engine> {
    let mut out: Vec<Engine> = Vec::new();
    let rows = m.walk.steps.iter().flat_map(|s| &s.rows).filter_map(|r| r.config.as_ref());
    for config in m.walk.baseline.iter().map(|b| &b.0).chain(rows) {
        let e = &config.engine;
        if !out.iter().any(|o| o.name == e.name) {
            out.push(Engine {
                name: e.name.clone(),
                title: e.title.clone(),
                root: e.root().to_owned(),
                version: e.version.clone(),
            });
        }
    }
    out
}

pub(super) fn profiles(m: &Material<'_>) -> Vec<Profile> {
    let mut names = m.setup.baseline_profiles();
    names.extend(m.setup.study.confirm.iter().filter(|p| !m.setup.baseline_profiles().contains(p)).cloned());
    let known = names.iter().filter_map(|n| m.setup.program.profiles.get(n));
    known
        .map(|p| Profile { name: p.name.clone(), title: p.title.clone(), load: profile::describe(p) })
        .collect()
}

pub(super) fn notes(m: &Material<'_>) -> Vec<String> {
    let given = m.setup.program.given.iter();
    let mut out: Vec<String> = given.map(|(n, v)| format!("set on the command line: {n}={v}")).collect();
    out.extend(m.setup.study.notes.iter().cloned());
    out.extend(super::said::of_the_client(m, true));
    if let Some(winner) = &m.walk.winner {
        let because: BTreeSet<&str> = winner.engine.publish.iter().map(|p| p.because.as_str()).collect();
        out.extend(
            because.into_iter().map(|b| format!("the published command differs from the measured one: {b}")),
        );
    }
    out
}

pub(super) fn warnings(m: &Material<'_>) -> Vec<String> {
    let mut out = m.warnings.clone();
    out.extend(super::said::of_runs(m));
    out.extend(super::said::of_the_machine(m));
    out.extend(super::said::of_the_client(m, false));
    out.extend(super::said::of_what_changed(m));
    out.extend(m.again.iter().cloned());
    // what a budget left out is named, one by one
    out.extend(m.setup.all_left_out().iter().map(|what| format!("left out: {what}")));
    if scripted_gpus(m) {
        out.push("the GPUs were played by a script: their figures are of no real GPU".to_owned());
    }
    out
}

/// Which checks could not be made on what there is, and of whose results, and which this version does not make. What failed has no
/// results to check.
pub(super) fn not_checked(m: &Material<'_>) -> Vec<String> {
    let mut lacking: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut checked: BTreeSet<&str> = BTreeSet::new();
    let rows = m.walk.steps.iter().flat_map(|s| &s.rows);
    let candidates = rows.filter_map(|r| Some((r.config.as_ref()?, &*r.label)));
    let mut seen = HashSet::new();
    for (config, label) in m.walk.baseline.iter().map(|b| (&b.0, "the baseline")).chain(candidates) {
        // later rows of the same configuration have other names
        if !seen.insert(config.id()) {
            continue;
        }
        for name in m.setup.profiles() {
            let Some(profile) = m.setup.program.profiles.get(&name) else { continue };
            for run in m.setup.counted(config, &name) {
                let claims = m.setup.claims(&name);
                let subject = checks::Subject { run, profile, config, against: None, claims, caps: &[] };
                let failed =
                    matches!(run.outcome, RunOutcome::FailedLoad { .. } | RunOutcome::FailedStart { .. });
                if failed || run.metrics.number("completed").is_none() {
                    continue;
                }
                let without = checks::check(&subject).1;
                checked.extend(checks::CHECKS.iter().map(|c| c.name).filter(|c| !without.contains(c)));
                for check in without {
                    lacking.entry(check).or_default().insert(label);
                }
            }
        }
    }
    let about = checks::CHECKS.iter().filter_map(|c| Some((c, lacking.get(c.name)?)));
    let (some, none): (Vec<_>, Vec<_>) = about.partition(|(c, _)| checked.contains(c.name));
    let of_some = |(c, of): &(&checks::Check, &BTreeSet<&str>)| {
        format!("{}: {} ({}the results do not hold what it reads)", c.name, c.about, some_of(of))
    };
    let mut out: Vec<String> = some.iter().map(of_some).collect();
    if let [(c, _)] = none.as_slice() {
        out.push(format!("{}: {} (the results do not hold what it reads)", c.name, c.about));
    } else if !none.is_empty() {
        let all: Vec<String> = none.iter().map(|(c, _)| format!("{} ({})", c.name, c.about)).collect();
        out.push(format!("the results do not hold what these read: {}", all.join(", ")));
    }
    out.extend(checks::NOT_MADE.iter().map(|s| (*s).to_owned()));
    out
}

/// `not of a, b, c and 4 more: `
pub(super) fn some_of(labels: &BTreeSet<&str>) -> String {
    const NAMED: usize = 3;
    let named: Vec<&str> = labels.iter().take(NAMED).copied().collect();
    let more = labels.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("not of {}{more}: ", named.join(", "))
}

pub(super) fn tracks(m: &Material<'_>) -> Vec<Track> {
    let tracks = m.setup.study.tracks.iter();
    let title = |t: &crate::lang::sema::program::Track| m.setup.track_label(&t.engine).to_owned();
    tracks.map(|t| Track { name: t.engine.clone(), title: title(t), notes: t.notes.clone() }).collect()
}
