//! A step is a strategy that is asked: given the results so far, which runs are wanted, or is it decided. The grid is the first;
//! `plan`, `exec` and replays all drive this one function, and there is no list of trials made beforehand.

use super::setup::Setup;
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

/// Every candidate of every step, once.
pub struct Grid;

impl Strategy for Grid {
    fn next(&self, setup: &Setup<'_>) -> (Walk, Next) {
        let walk = walk(setup);
        // later steps depend on what earlier ones adopt: only the first open step's launches are certain
        let open = walk.needs.first().map(|n| (n.step, n.confirming));
        let wanted: Vec<Wanted> = match open {
            None => return (walk, Next::Decided),
            Some((None, false)) => walk.needs.iter().take(1).cloned().collect(),
            Some(first) => walk.needs.iter().filter(|n| (n.step, n.confirming) == first).cloned().collect(),
        };
        (walk, Next::Run(wanted))
    }
}
