//! `confirm on`: baseline and winner on fresh launches, after the last step. It decides nothing.

use std::sync::Arc;

use super::results::Run;
use super::setup::Setup;
use super::spread;
use super::trial;
use super::walk::{ConfirmView, Need};
use crate::plan::{Config, command};

/// The profiles that confirming launches measure: the objective's, then those of `confirm on`.
fn profiles(setup: &Setup<'_>) -> Vec<String> {
    if setup.study.confirm.is_empty() || setup.study.objective.is_none() {
        return Vec::new();
    }
    let mut profiles = setup.profiles();
    profiles.extend(setup.study.confirm.iter().filter(|p| !setup.profiles().contains(p)).cloned());
    profiles
}

/// The confirming launches that are missing. A baseline that won is run alone.
pub(super) fn needs(setup: &Setup<'_>, baseline: &Config, winner: &Config) -> Vec<Need> {
    let profiles = profiles(setup);
    let pair = [(baseline, "confirm baseline"), (winner, "confirm winner")];
    let pair = &pair[..if baseline.id() == winner.id() { 1 } else { 2 }];
    let mut out = Vec::new();
    for (config, label) in pair {
        let runs = |p: &String| setup.confirming(config, p).len();
        // what did not start or broke down once will not be confirmed by more of the same
        if !setup.replay
            && !setup.confirms_not(config)
            && !trial::has_failed(setup, config, &profiles)
            && profiles.iter().any(|p| runs(p) < setup.repeat())
        {
            out.push(Need::of(setup, config, &profiles, runs, (*label).to_owned(), None, true));
        }
    }
    out
}

/// A row for each profile.
pub(super) fn views(setup: &Setup<'_>, baseline: &Config, winner: &Config) -> Vec<ConfirmView> {
    profiles(setup).iter().filter_map(|p| view(setup, baseline, winner, p)).collect()
}

fn view(setup: &Setup<'_>, baseline: &Config, winner: &Config, profile: &str) -> Option<ConfirmView> {
    let o = setup.study.objective.as_ref()?;
    let winner = recommended(setup, winner, profile);
    let (theirs, ours) = (runs(setup, baseline, profile), runs(setup, &winner, profile));
    let each = |config, runs: &[_]| trial::each_on(setup, config, o, profile, runs);
    let value = |config, runs: &[_]| trial::objective_of(setup, config, o, profile, runs);
    let of_the_steps = again(setup, baseline, profile) || again(setup, &winner, profile);
    // what failed has no value, however much of its load was done
    let failed = trial::failed_on(setup, ours);
    let baseline_failed = trial::failed_on(setup, theirs);
    let b = value(baseline, theirs).filter(|_| baseline_failed.is_none());
    let w = value(&winner, ours).filter(|_| failed.is_none());
    Some(ConfirmView {
        profile: profile.to_owned(),
        gain: setup.gain(w, b),
        interval: spread::interval(o.maximize, &each(&winner, ours), &each(baseline, theirs))
            .filter(|_| b.is_some() && w.is_some()),
        failed,
        baseline_failed,
        baseline: b,
        winner: w,
        runs: ours.len().min(theirs.len()),
        of_the_steps,
        recommended: winner,
    })
}

/// Whether the runs that the steps used stand in the place of confirming ones.
fn again(setup: &Setup<'_>, config: &Config, profile: &str) -> bool {
    setup.confirming(config, profile).is_empty() && !setup.counted(config, profile).is_empty()
}

/// A recording may hold only one run of the objective's profile.
fn runs<'a>(setup: &'a Setup<'_>, config: &Config, profile: &str) -> &'a [Arc<Run>] {
    let fresh = setup.confirming(config, profile);
    if fresh.is_empty() { setup.counted(config, profile) } else { fresh }
}

/// Published runs confirm the command that was published. Where a recording holds no run of the winner as it was measured,
/// but one of it with its engine's `publish` applied, that one stands in its place, under its own flags.
fn recommended(setup: &Setup<'_>, winner: &Config, profile: &str) -> Config {
    if setup.replay && setup.all(winner, profile).is_empty() {
        let published = command::published_config(winner);
        if !setup.all(&published, profile).is_empty() {
            return published;
        }
    }
    winner.clone()
}
