//! Offers and what is asked of them on other profiles: `require … on P` is measured for the baseline and for each candidate that is about
//! to be adopted; one that breaks it makes way for the next best.

use super::adoption::decide;
use super::setup::Setup;
use super::trial::{Judged, Outcome, Peers, judge};
use super::walk::StepView;
use crate::lang::sema::program::Step;
use crate::plan::Config;

/// Decides a step whose candidates have all run. A configuration that comes back is offered and has to be measured on the other profiles
/// first; the step is open until then.
pub fn settle(
    setup: &Setup<'_>,
    view: &mut StepView,
    step: &Step,
    incumbent: &Config,
    baseline: &Config,
) -> Option<Config> {
    let profiles: Vec<String> = setup.elsewhere().map(str::to_owned).collect();
    if profiles.is_empty() {
        decide(setup, view, step, incumbent, baseline);
        return None;
    }
    loop {
        let mut decided = view.clone();
        decide(setup, &mut decided, step, incumbent, baseline);
        let Some(row) = decided.chosen.filter(|_| decided.adopted) else {
            *view = decided;
            return None;
        };
        let offer = decided.incumbent_after.clone();
        let peers = Peers { best: Some(incumbent), baseline: Some(baseline), may_be_pruned: false };
        match judge(setup, &offer, &profiles, peers) {
            None => {
                view.open = true;
                return Some(offer);
            }
            Some(j) if j.is_valid() => {
                *view = decided;
                return None;
            }
            Some(j) => refuse(&mut view.rows[row].judged, setup, j),
        }
    }
}

/// What is not in a recording is not met: it is said, and never guessed.
fn refuse(judged: &mut Judged, setup: &Setup<'_>, elsewhere: Judged) {
    let why = elsewhere.reason.unwrap_or_default();
    (judged.outcome, judged.reason) = match elsewhere.outcome {
        Outcome::Missing => {
            let asked = setup.study.require.iter().find(|r| r.on.is_some());
            let asked =
                asked.map(|r| format!("requires {} on {}", r.text, r.on.as_deref().unwrap_or_default()));
            (Outcome::Refused, Some(format!("{}; {why}", asked.unwrap_or_default()).into()))
        }
        outcome => (outcome, Some(why)),
    };
}
