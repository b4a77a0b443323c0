//! One configuration judged on a step's profiles: is it there, did it run, does a rule prune it, is it valid.

use std::borrow::Borrow;
use std::sync::Arc;

use super::checks::{self, Finding, Level, Subject};
use super::facts::OneRun;
use super::results::{Run, RunOutcome};
use super::rules::{broken_requirement, pruned_by};
use super::scale;
use super::setup::{Checks, Setup};
use crate::lang::sema::program::Objective;
use crate::plan::eval::{absent, number};
use crate::plan::{Config, Known};

/// What became of a trial. The first two are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Flagged,
    Refused,
    Failed,
    Pruned,
    Missing,
}

impl Outcome {
    pub fn is_valid(self) -> bool {
        matches!(self, Self::Ok | Self::Flagged)
    }
}

/// A configuration's verdict on some profiles.
#[derive(Debug, Clone)]
pub struct Judged {
    pub outcome: Outcome,
    /// shared with the report of it, as ten thousand have one
    pub reason: Option<Arc<str>>,
    /// the objective, geometric mean over runs and profiles; there for whatever was measured, valid or not
    pub objective: Option<f64>,
    pub findings: Vec<Finding>,
}

impl Judged {
    fn of(outcome: Outcome, reason: impl Into<Arc<str>>) -> Self {
        Self { outcome, reason: Some(reason.into()), objective: None, findings: Vec::new() }
    }

    pub fn missing(reason: impl Into<Arc<str>>) -> Self {
        Self::of(Outcome::Missing, reason)
    }

    pub fn pruned(reason: impl Into<Arc<str>>) -> Self {
        Self::of(Outcome::Pruned, reason)
    }

    pub fn is_valid(&self) -> bool {
        self.outcome.is_valid()
    }
}

/// Whom rules compare with.
#[derive(Clone, Copy)]
pub struct Peers<'a> {
    pub best: Option<&'a Config>,
    pub baseline: Option<&'a Config>,
    /// the baseline is never pruned
    pub may_be_pruned: bool,
}

/// The objective of a configuration: the geometric mean over its profiles, 0 where it is 0 on one; `None` unless every profile has it.
pub fn objective(setup: &Setup<'_>, config: &Config, objective: &Objective) -> Option<f64> {
    let values = objective.profiles.iter().map(|p| objective_on(setup, config, objective, p));
    let values: Option<Vec<f64>> = values.collect();
    scale::objective_mean(&values?)
}

/// The objective under one profile.
pub fn objective_on(setup: &Setup<'_>, config: &Config, objective: &Objective, profile: &str) -> Option<f64> {
    let runs = setup.counted(config, profile);
    objective_of(setup, config, objective, profile, runs)
}

/// The objective over given runs: the geometric mean of each run's own.
pub fn objective_of(
    setup: &Setup<'_>,
    config: &Config,
    objective: &Objective,
    profile: &str,
    runs: &[impl Borrow<Run>],
) -> Option<f64> {
    let each = |run: &_| {
        let facts = OneRun { setup, config, profile, run: Borrow::borrow(run) };
        match number(&objective.expr, &facts) {
            Known::Value(v) => Some(v),
            _ => None,
        }
    };
    let values: Option<Vec<f64>> = runs.iter().map(each).collect();
    scale::objective_mean(&values?)
}

/// The objective of each launch that counts, over its profiles: what spreads and intervals are computed from.
pub fn objective_of_each(setup: &Setup<'_>, config: &Config, objective: &Objective) -> Vec<f64> {
    let of = |p: &String| each_on(setup, config, objective, p, setup.counted(config, p));
    let profiles: Vec<Vec<f64>> = objective.profiles.iter().map(of).collect();
    let launches = profiles.iter().map(Vec::len).min().unwrap_or(0);
    let one = |i: usize| scale::objective_mean(&profiles.iter().map(|p| p[i]).collect::<Vec<_>>());
    (0..launches).filter_map(one).collect()
}

/// The objective of each of the runs under one profile; empty unless all have it.
pub fn each_on(
    setup: &Setup<'_>,
    config: &Config,
    objective: &Objective,
    profile: &str,
    runs: &[Arc<Run>],
) -> Vec<f64> {
    let one = |run: &Arc<Run>| objective_of(setup, config, objective, profile, std::slice::from_ref(run));
    runs.iter().map(one).collect::<Option<Vec<f64>>>().unwrap_or_default()
}

/// Judges a configuration on profiles. `None`: not all of their runs are there yet, and what is there does not settle it.
pub fn judge(setup: &Setup<'_>, config: &Config, profiles: &[String], peers: Peers<'_>) -> Option<Judged> {
    for name in profiles {
        let runs = setup.counted(config, name);
        if let Some(failed) = runs.iter().enumerate().find_map(|(i, run)| failure(setup, i, run)) {
            return Some(failed);
        }
    }
    let unrun = profiles.iter().find(|p| setup.counted(config, p).is_empty());
    match unrun {
        Some(name) if setup.replay => {
            return Some(Judged::missing(format!("not in the recording under `{name}`")));
        }
        Some(_) => return setup.left_out(config).map(Judged::missing),
        None => {}
    }
    let incomplete = profiles.iter().any(|p| setup.counted(config, p).len() < setup.repeat());
    // what a budget keeps from running more often counts with the runs that there are
    if incomplete && !setup.replay && setup.left_out(config).is_none() {
        return settled_early(setup, config, profiles, peers);
    }
    let mut judged = judge_measured(setup, config, profiles, peers);
    let goal = setup.study.objective.as_ref();
    judged.objective = goal.and_then(|o| objective(setup, config, o));
    if goal.is_some() && judged.objective.is_none() && judged.is_valid() {
        judged.outcome = Outcome::Refused;
        judged.reason = Some(no_objective(setup, config).into());
    }
    Some(judged)
}

fn no_objective(setup: &Setup<'_>, config: &Config) -> String {
    let why = setup.study.objective.as_ref().and_then(|o| {
        o.profiles.iter().find_map(|profile| {
            let lacks = |run: &Arc<Run>| {
                let facts = OneRun { setup, config, profile, run };
                absent(&o.expr, &facts).or_else(|| match number(&o.expr, &facts) {
                    Known::Value(v) if v < 0.0 => Some(format!("it is {v}, and gains are ratios")),
                    _ => None,
                })
            };
            setup.counted(config, profile).iter().find_map(lacks)
        })
    });
    let why = why.map_or_else(String::new, |w| format!(": {w}"));
    format!("the objective cannot be computed from what was measured{why}")
}

/// The verdict of a configuration with some of its runs, where no further one can change it: a rule has settled it by the first, or a
/// check has refused one. Then it is launched no more.
fn settled_early(
    setup: &Setup<'_>,
    config: &Config,
    profiles: &[String],
    peers: Peers<'_>,
) -> Option<Judged> {
    let mut judged = judge_measured(setup, config, profiles, peers);
    let refused = setup.checks == Checks::Refuse && judged.findings.iter().any(|f| f.level == Level::Refuse);
    if judged.outcome != Outcome::Pruned && !refused {
        return None;
    }
    judged.objective = setup.study.objective.as_ref().and_then(|o| objective(setup, config, o));
    Some(judged)
}

/// Whether what there is of a configuration speaks against it: nothing has run yet, or a requirement is not met so far.
pub fn holds_so_far(setup: &Setup<'_>, config: &Config, profiles: &[String], peers: Peers<'_>) -> bool {
    profiles.iter().all(|p| !setup.counted(config, p).is_empty())
        && judge_measured(setup, config, profiles, peers).is_valid()
}

/// Whether a confirming launch of a configuration failed.
pub fn has_failed(setup: &Setup<'_>, config: &Config, profiles: &[String]) -> bool {
    let runs = |p: &String| setup.confirming(config, p).iter().any(|r| failure(setup, 0, r).is_some());
    profiles.iter().any(runs)
}

/// What the first failed of some runs failed on: "failed under load: out of GPU memory: …".
pub fn failed_on(setup: &Setup<'_>, runs: &[Arc<Run>]) -> Option<Arc<str>> {
    runs.iter().find_map(|run| failure(setup, (run.n as usize).saturating_sub(1), run)?.reason)
}

/// One failed run of several is enough: what starts only sometimes is not recommended.
fn failure(setup: &Setup<'_>, index: usize, run: &Run) -> Option<Judged> {
    let which = if setup.repeat() > 1 {
        format!("launch {} of {}: ", index + 1, setup.repeat())
    } else {
        String::new()
    };
    let (what, class, line) = match &run.outcome {
        RunOutcome::FailedStart { class, line } => ("did not start", class, line),
        RunOutcome::FailedLoad { class, line } => ("failed under load", class, line),
        RunOutcome::Done | RunOutcome::Stopped { .. } => return None,
    };
    // an engine may have a class of that name
    let parts = [what, class, line].into_iter().filter(|part| !part.is_empty()).collect::<Vec<&str>>();
    let parts = if what == class { &parts[1..] } else { &parts };
    Some(Judged::of(Outcome::Failed, format!("{which}{}", parts.join(": "))))
}

fn judge_measured(setup: &Setup<'_>, config: &Config, profiles: &[String], peers: Peers<'_>) -> Judged {
    let mut findings: Vec<Finding> =
        profiles.iter().flat_map(|p| findings(setup, config, p, peers.best)).collect();
    // most have one, and ten thousand rows keep theirs
    findings.shrink_to_fit();
    let mut judged = Judged { outcome: Outcome::Ok, reason: None, objective: None, findings };
    if let Some(reason) = peers.may_be_pruned.then(|| pruned_by(setup, config, profiles, peers)).flatten() {
        judged.outcome = Outcome::Pruned;
        judged.reason = Some(reason.into());
    } else if let Some(reason) = broken_requirement(setup, config, profiles, peers) {
        judged.outcome = Outcome::Refused;
        judged.reason = Some(reason.into());
    } else {
        by_findings(&mut judged, setup.checks);
    }
    judged
}

fn by_findings(judged: &mut Judged, checks: Checks) {
    let Some(level) = judged.findings.iter().map(|f| f.level).max() else { return };
    let worst: Vec<&Finding> = judged.findings.iter().filter(|f| f.level == level).collect();
    let Some(first) = worst.first() else { return };
    let more = others(&worst).map_or_else(String::new, |others| format!(" (and {others})"));
    judged.reason = Some(format!("{}: {}{more}", first.check, first.text).into());
    judged.outcome =
        if level == Level::Refuse && checks == Checks::Refuse { Outcome::Refused } else { Outcome::Flagged };
}

/// The other checks that found something, each once: on several profiles one may have found the same.
fn others(findings: &[&Finding]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for f in findings {
        if !names.contains(&f.check) {
            names.push(f.check);
        }
    }
    (names.len() > 1).then(|| names[1..].join(", "))
}

/// What the checks found in a configuration's runs under a profile, each check once.
pub fn findings(setup: &Setup<'_>, config: &Config, name: &str, against: Option<&Config>) -> Vec<Finding> {
    let Some(profile) = setup.program.profiles.get(name) else { return Vec::new() };
    let runs = setup.counted(config, name);
    let mut found: Vec<Finding> = Vec::new();
    let (claims, caps) = (setup.claims(name), setup.caps(name));
    for run in runs {
        for f in checks::check(&Subject { run, profile, config, against, claims, caps: &caps }).0 {
            if !found.iter().any(|o| o.check == f.check) {
                found.push(f);
            }
        }
    }
    found
}
