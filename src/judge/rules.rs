//! What a study's rules, requirements and guards say of a configuration that was measured.

use std::sync::Arc;

use super::broken;
use super::facts::{Measured, Reads, UnderLoad};
use super::metrics::Metrics;
use super::results::{Run, RunOutcome};
use super::scale;
use super::setup::Setup;
use super::trial::{Peers, objective_of};
use crate::lang::sema::program::{Guard, Objective, Prune, Require};
use crate::plan::config::short_hash;
use crate::plan::eval::{absent, condition};
use crate::plan::{Config, Known};

/// The first rule that fires, on any profile. Rules are settled after the first run: they read it alone, of the others too.
pub(super) fn pruned_by(
    setup: &Setup<'_>,
    config: &Config,
    profiles: &[String],
    peers: Peers<'_>,
) -> Option<String> {
    let gain = match (peers.best, setup.study.objective.as_ref()) {
        (Some(best), Some(o)) => match (first_objective(setup, config, o), first_objective(setup, best, o)) {
            (Some(c), Some(b)) => Known::Value(scale::gain(o.maximize, c, b)),
            _ => Known::Absent,
        },
        _ => Known::Absent,
    };
    for name in profiles {
        let stopped = setup.counted(config, name).iter().find_map(|r| match &r.outcome {
            RunOutcome::Stopped { rule, .. } => setup.study.prune.iter().find(|p| p.name == *rule),
            _ => None,
        });
        if let Some(rule) = stopped {
            return Some(format!("{} ({}, under load)", rule.reason, rule.text));
        }
        let facts = Measured { setup, config, profile: name, peers, gain: gain.clone(), reads: Reads::First };
        let fired = setup.study.prune.iter().find(|p| condition(&p.when, &facts) == Some(true));
        if let Some(rule) = fired {
            return Some(format!("{} ({})", rule.reason, rule.text));
        }
    }
    None
}

pub(super) fn first_objective(setup: &Setup<'_>, config: &Config, objective: &Objective) -> Option<f64> {
    let on = |p: &String| objective_of(setup, config, objective, p, Reads::First.of(setup, config, p));
    scale::objective_mean(&objective.profiles.iter().map(on).collect::<Option<Vec<f64>>>()?)
}

/// The first requirement that does not hold, on each profile that it is about.
pub(super) fn broken_requirement(
    setup: &Setup<'_>,
    config: &Config,
    profiles: &[String],
    peers: Peers<'_>,
) -> Option<String> {
    for name in profiles {
        let facts =
            Measured { setup, config, profile: name, peers, gain: Known::Absent, reads: Reads::Counted };
        for r in setup.study.require.iter().filter(|r| is_about(setup, r, name)) {
            if condition(&r.expr, &facts) != Some(true) {
                let runs = setup.counted(config, name);
                let seen = match success_of(runs) {
                    Some(text) if r.text.contains("success_rate") => format!("; {text}"),
                    _ => broken::seen(&r.expr, &facts).map_or_else(String::new, |s| format!("; {s}")),
                };
                let lacks = absent(&r.expr, &facts).map_or_else(String::new, |l| format!("; {l}"));
                let on = r.on.as_ref().map_or_else(String::new, |p| format!(" on {p}"));
                // of several loads, which one
                let told = !(seen.is_empty() && lacks.is_empty());
                let load = if r.on.is_none() && profiles.len() > 1 && told {
                    format!(" on {name}")
                } else {
                    String::new()
                };
                return Some(format!("requires {}{on}{seen}{lacks}{load}", r.text));
            }
        }
    }
    None
}

/// A requirement without a profile is about those that steps measure; that requests succeed is asked of every load.
pub(super) fn is_about(setup: &Setup<'_>, require: &Require, profile: &str) -> bool {
    match &require.on {
        Some(on) => on == profile,
        None => require.implied || setup.profiles().iter().any(|p| p == profile),
    }
}

/// "514 of 1000 requests succeeded", of all runs together: it is their share that a requirement is about.
fn success_of(runs: &[Arc<Run>]) -> Option<String> {
    let all = |name| runs.iter().map(|run| run.metrics.number(name)).sum::<Option<f64>>();
    let (completed, planned) = (all("completed")?, all("planned").filter(|n| *n > 0.0)?);
    let runs = if runs.len() > 1 { format!(" in {} runs", runs.len()) } else { String::new() };
    Some(format!("{completed} of {planned} requests succeeded{runs}"))
}

/// Whether a guard holds for the incumbent, on every profile.
pub fn guard_holds(setup: &Setup<'_>, incumbent: &Config, guard: &Guard) -> bool {
    let peers = Peers { best: None, baseline: None, may_be_pruned: false };
    let profiles = setup.profiles();
    !profiles.is_empty()
        && profiles.iter().all(|p| {
            let facts = Measured {
                setup,
                config: incumbent,
                profile: p,
                peers,
                gain: Known::Absent,
                reads: Reads::Counted,
            };
            condition(&guard.expr, &facts) == Some(true)
        })
}

/// The rule that ends a load after so many requests, if one fires.
pub fn rule_that_ends(
    setup: &Setup<'_>,
    config: &Config,
    profile: &str,
    done: u64,
    so_far: &Metrics,
    best: Option<&Config>,
    baseline: Option<&Config>,
) -> Option<RunOutcome> {
    let peers = Peers { best, baseline, may_be_pruned: true };
    let measured = Measured { setup, config, profile, peers, gain: Known::Later, reads: Reads::First };
    let facts = UnderLoad { so_far, measured };
    let due = setup.study.prune.iter().filter(|p| p.after.is_some_and(|n| n <= done));
    let fired = due.into_iter().find(|p| condition(&p.when, &facts) == Some(true))?;
    Some(RunOutcome::Stopped { rule: fired.name.clone(), when: definition(fired) })
}

/// What a rule asks, as one hash: what it ended is no result under another one.
pub fn definition(rule: &Prune) -> String {
    short_hash(&format!("{:?} after {:?}", rule.when, rule.after))
}
