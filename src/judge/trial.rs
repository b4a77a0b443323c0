//! One configuration judged on a step's profiles: is it there, did it run, does a rule prune it, is it valid.

use crate::lang::sema::Stat;
use crate::lang::sema::program::{Objective, Owner};
use crate::plan::eval::{condition, number};
use crate::plan::{Config, Facts, Known};

use super::checks::{self, Finding, Level, Subject};
use super::results::{Run, RunOutcome};
use super::scale;
use super::setup::{Checks, Setup};

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
    pub reason: Option<String>,
    /// the objective, geometric mean over runs and profiles; there for whatever was measured, valid or not
    pub objective: Option<f64>,
    pub findings: Vec<Finding>,
}

impl Judged {
    fn of(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, reason: Some(reason.into()), objective: None, findings: Vec::new() }
    }

    pub fn missing(reason: impl Into<String>) -> Self {
        Self::of(Outcome::Missing, reason)
    }

    pub fn pruned(reason: impl Into<String>) -> Self {
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

/// The facts of one configuration under one profile.
struct Measured<'a> {
    setup: &'a Setup<'a>,
    config: &'a Config,
    profile: &'a str,
    peers: Peers<'a>,
    gain: Known<f64>,
}

impl Facts for Measured<'_> {
    fn config(&self) -> &Config {
        self.config
    }

    fn metric(&self, of: Owner, name: &str, stat: Option<Stat>) -> Known<f64> {
        let config = match of {
            Owner::Own => Some(self.config),
            Owner::Best => self.peers.best,
            Owner::Baseline => self.peers.baseline,
        };
        let Some(config) = config else { return Known::Absent };
        match mean_metric(self.setup, config, self.profile, name, stat) {
            Some(v) => Known::Value(v),
            None => Known::Absent,
        }
    }

    fn gain(&self) -> Known<f64> {
        self.gain.clone()
    }
}

/// A metric over the runs that count: the geometric mean where it is defined, else the arithmetic one.
fn mean_metric(
    setup: &Setup<'_>,
    config: &Config,
    profile: &str,
    name: &str,
    stat: Option<Stat>,
) -> Option<f64> {
    let runs = setup.counted(config, profile);
    let values: Vec<f64> = runs.iter().filter_map(|r| r.metrics.read(name, stat)).collect();
    if values.is_empty() {
        return None;
    }
    scale::geometric_mean(&values).or_else(|| Some(values.iter().sum::<f64>() / values.len() as f64))
}

/// The objective of a configuration: the geometric mean over its profiles; `None` unless every profile has it.
pub fn objective(setup: &Setup<'_>, config: &Config, objective: &Objective) -> Option<f64> {
    let values = objective.profiles.iter().map(|p| objective_on(setup, config, objective, p));
    let values: Option<Vec<f64>> = values.collect();
    scale::geometric_mean(&values?)
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
    runs: &[Run],
) -> Option<f64> {
    let each = |run: &Run| {
        let facts = OneRun { setup, config, profile, run };
        match number(&objective.expr, &facts) {
            Known::Value(v) => Some(v),
            _ => None,
        }
    };
    let values: Option<Vec<f64>> = runs.iter().map(each).collect();
    scale::geometric_mean(&values?)
}

/// One run's own metrics.
struct OneRun<'a> {
    setup: &'a Setup<'a>,
    config: &'a Config,
    profile: &'a str,
    run: &'a Run,
}

impl Facts for OneRun<'_> {
    fn config(&self) -> &Config {
        self.config
    }

    fn metric(&self, of: Owner, name: &str, stat: Option<Stat>) -> Known<f64> {
        // objectives read their own metrics only; the checker refuses the others
        debug_assert!(of == Owner::Own && !self.setup.study.name.is_empty() && !self.profile.is_empty());
        self.run.metrics.read(name, stat).map_or(Known::Absent, Known::Value)
    }

    fn gain(&self) -> Known<f64> {
        Known::Absent
    }
}

/// Judges a configuration on profiles. `None`: not all of them have run yet.
pub fn judge(setup: &Setup<'_>, config: &Config, profiles: &[String], peers: Peers<'_>) -> Option<Judged> {
    let mut first_missing = None;
    for name in profiles {
        let runs = setup.counted(config, name);
        if let Some(failed) = runs.iter().find_map(failure) {
            return Some(failed);
        }
        if runs.len() < setup.repeat() && first_missing.is_none() {
            first_missing = Some((name, runs.is_empty()));
        }
    }
    match first_missing {
        Some((name, true)) if setup.replay => {
            return Some(Judged::missing(format!("not in the recording under `{name}`")));
        }
        Some((_, nothing)) if nothing || !setup.replay => return None,
        _ => {}
    }
    let mut judged = judge_measured(setup, config, profiles, peers);
    let goal = setup.study.objective.as_ref();
    judged.objective = goal.and_then(|o| objective(setup, config, o));
    if goal.is_some() && judged.objective.is_none() && judged.is_valid() {
        judged.outcome = Outcome::Refused;
        judged.reason = Some("the objective cannot be computed from what was measured".to_owned());
    }
    Some(judged)
}

fn failure(run: &Run) -> Option<Judged> {
    let reason =
        |class: &str, line: &str| if line.is_empty() { class.to_owned() } else { format!("{class}: {line}") };
    match &run.outcome {
        RunOutcome::FailedStart { class, line } => {
            Some(Judged::of(Outcome::Failed, format!("did not start: {}", reason(class, line))))
        }
        RunOutcome::FailedLoad { class, line } => {
            Some(Judged::of(Outcome::Failed, format!("failed under load: {}", reason(class, line))))
        }
        RunOutcome::Done | RunOutcome::Stopped { .. } => None,
    }
}

fn judge_measured(setup: &Setup<'_>, config: &Config, profiles: &[String], peers: Peers<'_>) -> Judged {
    let findings: Vec<Finding> = profiles.iter().flat_map(|p| findings(setup, config, p)).collect();
    let mut judged = Judged { outcome: Outcome::Ok, reason: None, objective: None, findings };
    if let Some(reason) = peers.may_be_pruned.then(|| pruned_by(setup, config, profiles, peers)).flatten() {
        judged.outcome = Outcome::Pruned;
        judged.reason = Some(reason);
    } else if let Some(reason) = broken_requirement(setup, config, profiles, peers) {
        judged.outcome = Outcome::Refused;
        judged.reason = Some(reason);
    } else {
        by_findings(&mut judged, setup.checks);
    }
    judged
}

fn by_findings(judged: &mut Judged, checks: Checks) {
    let Some(level) = judged.findings.iter().map(|f| f.level).max() else { return };
    let worst: Vec<&Finding> = judged.findings.iter().filter(|f| f.level == level).collect();
    let Some(first) = worst.first() else { return };
    let more = if worst.len() > 1 { format!(" (and {})", others(&worst[1..])) } else { String::new() };
    judged.reason = Some(format!("{}: {}{more}", first.check, first.text));
    judged.outcome =
        if level == Level::Refuse && checks == Checks::Refuse { Outcome::Refused } else { Outcome::Flagged };
}

fn others(findings: &[&Finding]) -> String {
    findings.iter().map(|f| f.check).collect::<Vec<_>>().join(", ")
}

/// What the checks found in a configuration's runs under a profile, each check once.
pub fn findings(setup: &Setup<'_>, config: &Config, name: &str) -> Vec<Finding> {
    let Some(profile) = setup.program.profiles.get(name) else { return Vec::new() };
    let runs = setup.counted(config, name);
    let mut found: Vec<Finding> = Vec::new();
    for run in runs {
        for f in checks::check(&Subject { run, profile, config, claims: setup.claims() }).0 {
            if !found.iter().any(|o| o.check == f.check) {
                found.push(f);
            }
        }
    }
    found
}

/// The first rule that fires, on any profile.
fn pruned_by(setup: &Setup<'_>, config: &Config, profiles: &[String], peers: Peers<'_>) -> Option<String> {
    let gain = match (peers.best, setup.study.objective.as_ref()) {
        (Some(best), Some(o)) => match (objective(setup, config, o), objective(setup, best, o)) {
            (Some(c), Some(b)) => Known::Value(scale::gain(o.maximize, c, b)),
            _ => Known::Absent,
        },
        _ => Known::Absent,
    };
    for name in profiles {
        let stopped = setup.counted(config, name).iter().find_map(|r| match &r.outcome {
            RunOutcome::Stopped { rule } => setup.study.prune.iter().find(|p| p.name == *rule),
            _ => None,
        });
        if let Some(rule) = stopped {
            return Some(format!("{} ({}, under load)", rule.reason, rule.text));
        }
        let facts = Measured { setup, config, profile: name, peers, gain: gain.clone() };
        let fired = setup.study.prune.iter().find(|p| condition(&p.when, &facts) == Some(true));
        if let Some(rule) = fired {
            return Some(format!("{} ({})", rule.reason, rule.text));
        }
    }
    None
}

/// The first requirement that does not hold, on each profile.
fn broken_requirement(
    setup: &Setup<'_>,
    config: &Config,
    profiles: &[String],
    peers: Peers<'_>,
) -> Option<String> {
    for name in profiles {
        let facts = Measured { setup, config, profile: name, peers, gain: Known::Absent };
        for r in &setup.study.require {
            if condition(&r.expr, &facts) != Some(true) {
                let runs = setup.counted(config, name);
                let seen = match success_of(runs) {
                    Some(text) if r.text.contains("success_rate") => format!("; {text}"),
                    _ => String::new(),
                };
                return Some(format!("requires {}{seen}", r.text));
            }
        }
    }
    None
}

/// "514 of 1000 requests succeeded"
fn success_of(runs: &[Run]) -> Option<String> {
    let m = &runs.last()?.metrics;
    let (completed, planned) = (m.number("completed")?, m.number("planned")?);
    Some(format!("{completed} of {planned} requests succeeded"))
}

/// Whether a guard holds for the incumbent, on every profile.
pub fn guard_holds(setup: &Setup<'_>, incumbent: &Config, guard: &crate::lang::sema::program::Guard) -> bool {
    let peers = Peers { best: None, baseline: None, may_be_pruned: false };
    let profiles = setup.profiles();
    !profiles.is_empty()
        && profiles.iter().all(|p| {
            let facts = Measured { setup, config: incumbent, profile: p, peers, gain: Known::Absent };
            condition(&guard.expr, &facts) == Some(true)
        })
}

/// A load that is going on: the candidate's own metrics so far, and those that the others ended with.
struct UnderLoad<'a> {
    so_far: &'a super::metrics::Metrics,
    measured: Measured<'a>,
}

impl Facts for UnderLoad<'_> {
    fn config(&self) -> &Config {
        self.measured.config
    }

    fn metric(&self, of: Owner, name: &str, stat: Option<Stat>) -> Known<f64> {
        match of {
            Owner::Own => self.so_far.read(name, stat).map_or(Known::Absent, Known::Value),
            _ => self.measured.metric(of, name, stat),
        }
    }

    fn gain(&self) -> Known<f64> {
        // a gain is between whole runs
        Known::Later
    }
}

/// The rule that ends a load after so many requests, if one fires.
pub fn rule_that_ends(
    setup: &Setup<'_>,
    config: &Config,
    profile: &str,
    done: u64,
    so_far: &super::metrics::Metrics,
    best: Option<&Config>,
    baseline: Option<&Config>,
) -> Option<String> {
    let peers = Peers { best, baseline, may_be_pruned: true };
    let measured = Measured { setup, config, profile, peers, gain: Known::Later };
    let facts = UnderLoad { so_far, measured };
    let due = setup.study.prune.iter().filter(|p| p.after.is_some_and(|n| n <= done));
    due.into_iter().find(|p| condition(&p.when, &facts) == Some(true)).map(|p| p.name.clone())
}
