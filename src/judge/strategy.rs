//! A step is a strategy that is asked: given the results so far, which runs are wanted, or is it decided. The grid is the first;
//! `plan`, `exec` and replays all drive this one function, and there is no list of trials made beforehand.

use super::setup::Setup;
use super::trial::{Peers, holds_so_far};
use super::walk::{Need, Walk, walk};

/// What to do next.
#[derive(Debug, Clone)]
pub enum Next {
    /// these launches are wanted; the first is next, the others are known already
    Run(Vec<Wanted>),
    /// nothing is missing
    Decided,
}

/// A launch that is wanted: a fresh start of a configuration that serves the profiles.
pub type Wanted = Need;

/// How a study's results lead to its next launches.
pub trait Strategy {
    /// The walk so far, and what it needs.
    fn next(&self, setup: &Setup<'_>) -> (Walk, Next);
}

/// Every candidate of every step, as often as `repeat` says: all of them once, then all again, so that a machine that grows warm or
/// slow favours none.
pub struct Grid;

impl Strategy for Grid {
    fn next(&self, setup: &Setup<'_>) -> (Walk, Next) {
        let walk = walk(setup);
        // later steps depend on what earlier ones adopt: only the first open step's launches are certain
        let Some(first) = walk.needs.first() else { return (walk, Next::Decided) };
        let open = (first.step, first.confirming);
        let is_open = |n: &Need| match open {
            (None, false) => n.step.is_none() || n.step == Some(0) && baseline_may_wait(setup, &walk),
            open => (n.step, n.confirming) == open,
        };
        let mut wanted: Vec<Wanted> = walk.needs.iter().filter(|n| is_open(n)).cloned().collect();
        wanted.sort_by_key(|n| n.done);
        (walk, Next::Run(wanted))
    }
}

/// Whether the baseline's further launches may take turns with the first step's candidates: it has run, nothing speaks against it so
/// far, and no guard has to be read first.
fn baseline_may_wait(setup: &Setup<'_>, walk: &Walk) -> bool {
    let Some((baseline, None)) = &walk.baseline else { return false };
    let unguarded = setup.study.steps.first().is_some_and(|s| s.when.is_none());
    let peers = Peers { best: None, baseline: Some(baseline), may_be_pruned: false };
    unguarded && holds_so_far(setup, baseline, &setup.baseline_profiles(), peers)
}
