//! Who is the best so far, and where: the study has an incumbent, and each track one of its own that starts from its engine
//! as declared. After a row of tracks their incumbents meet the study's.

use std::collections::HashMap;

use super::setup::Setup;
use super::walk::StepView;
use crate::lang::sema::program::{From, Step, Study};
use crate::plan::Config;

/// The incumbents as the steps so far left them.
pub(super) struct Incumbents<'a> {
    setup: &'a Setup<'a>,
    best: Config,
    tracks: HashMap<&'a str, Config>,
}

impl<'a> Incumbents<'a> {
    pub(super) fn new(setup: &'a Setup<'a>, baseline: &Config) -> Self {
        Self { setup, best: baseline.clone(), tracks: HashMap::new() }
    }

    /// The study's own.
    pub(super) fn best(&self) -> &Config {
        &self.best
    }

    /// The one that a step's candidates are compared with.
    pub(super) fn before(&self, step: &Step) -> Config {
        let own = step.track.as_ref().and_then(|name| self.of_track(name));
        own.unwrap_or_else(|| self.best.clone())
    }

    /// A track's, which is its engine as declared until a step changes it. `None` if no such engine is known.
    pub(super) fn of_track(&self, name: &str) -> Option<Config> {
        let declared = || {
            let engine = self.setup.program.engines.get(name)?;
            Some(Config::declared(engine, self.setup.study))
        };
        self.tracks.get(name).cloned().or_else(declared)
    }

    /// Takes over what a step settled on.
    pub(super) fn settle(&mut self, step: &'a Step, after: &Config) {
        match &step.track {
            Some(name) => drop(self.tracks.insert(name, after.clone())),
            None => self.best = after.clone(),
        }
    }
}

/// The steps that may still change what a step's candidates stand on. A track waits for its own steps only.
pub fn open_before<'a>(study: &'a Study, steps: &[StepView], step: usize) -> Vec<&'a Step> {
    let declared = &study.steps[step];
    let until = match &declared.from {
        From::Best => step,
        From::Step(i) => i + 1,
        From::Engine(_) => 0,
    };
    let open = steps.iter().take(until).filter(|v| v.open).map(|v| &study.steps[v.step]);
    open.filter(|s| s.track == declared.track || declared.track.is_none()).collect()
}

/// Whether what a step's candidates stand on is known before earlier steps are decided.
pub fn base_is_settled(study: &Study, steps: &[StepView], step: usize) -> bool {
    open_before(study, steps, step).is_empty()
}
