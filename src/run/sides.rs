//! Who may run beside whom: launches of one front, each with GPUs of its own, on a machine whose neighbours were seen to leave each
//! other alone. What is not known yet is found out first, once, by an A/A check.

use std::collections::HashMap;

use super::coordinator::Running;
use super::event::Event;
use super::execution::Execution;
use super::neighbours;
use super::spending::refused;
use super::task::{Ground, Purpose};
use super::yard::Berth;
use crate::engine::caches;
use crate::journal::{History, JournalError};
use crate::judge::forecast::check_pays;
use crate::judge::neighbours::{self as check, Next, Sample, Verdict};
use crate::judge::{Setup, Walk, Wanted};
use crate::lang::sema::program::Via;
use crate::plan::Config;

/// What is known of this machine's neighbours in this invocation, by the number of GPUs of a launch.
#[derive(Debug, Default)]
pub struct Sides {
    allowed: HashMap<u32, bool>,
}

/// What launches have in common that may run side by side: step, confirming or not, and round of repeats. The baseline's further
/// launches take turns with the first step's.
pub fn front(need: &Wanted) -> (Option<usize>, bool, usize) {
    let step = if need.confirming { need.step } else { need.step.or(Some(0)) };
    (step, need.confirming, need.done)
}

/// Started and stopped here, on GPUs of its own.
pub fn is_managed(config: &Config) -> bool {
    !matches!(config.engine.via, Via::Url(_))
}

/// How often a configuration was in each slot.
pub fn uses(history: &History, config: &Config) -> HashMap<usize, usize> {
    let mut uses = HashMap::new();
    for number in history.launches().iter().filter(|l| *l.config_id == *config.id()).filter_map(|l| l.slot) {
        *uses.entry(number).or_default() += 1;
    }
    uses
}

/// A launch of a check: what, where and what for.
pub type Checking = (Wanted, Berth, Purpose);

impl Sides {
    /// Launches of so many GPUs each that run at a time.
    pub fn room(&self, x: &Execution<'_>, size: u32) -> usize {
        if self.allowed.get(&size) == Some(&true) { x.yard.room(size) } else { 1 }
    }

    /// Whether a launch may begin beside those that run.
    pub fn allow(&self, x: &Execution<'_>, running: &[Running], need: &Wanted) -> bool {
        let allowed = |config: &Config| self.allowed.get(&config.gpus()) == Some(&true);
        running.len() < x.yard.limit()
            && may_share(x, need)
            && allowed(&need.config)
            && running
                .iter()
                .all(|r| is_managed(&r.config) && allowed(&r.config) && !tunes_alone(&r.config, r.front.1))
    }

    /// The next launches of an A/A check, where several launches are ready and nobody knows yet whether they disturb each other.
    pub fn check(
        &mut self,
        x: &Execution<'_>,
        ground: &Ground<'_>,
        setup: &Setup<'_>,
        walk: &Walk,
        ready: &[Wanted],
    ) -> Result<Vec<Checking>, JournalError> {
        let sharing: Vec<&Wanted> = ready.iter().filter(|n| may_share(x, n)).collect();
        if sharing.len() < 2 {
            return Ok(Vec::new());
        }
        for need in sharing {
            let size = need.config.gpus();
            if x.yard.room(size) < 2 || self.allowed.contains_key(&size) {
                continue;
            }
            let launches = self.check_of(x, ground, setup, walk, need)?;
            if !launches.is_empty() {
                return Ok(launches);
            }
        }
        Ok(Vec::new())
    }

    fn check_of(
        &mut self,
        x: &Execution<'_>,
        ground: &Ground<'_>,
        setup: &Setup<'_>,
        walk: &Walk,
        need: &Wanted,
    ) -> Result<Vec<Checking>, JournalError> {
        let size = need.config.gpus();
        let of = neighbours::here(&x.host, &x.yard, size);
        if let Some(verdict) = neighbours::taken_over(x, &of)? {
            self.settled(ground, size, of.launches, &verdict);
            return Ok(Vec::new());
        }
        let wanted = representative(setup, walk, need);
        if !refused(x, setup, walk, std::slice::from_ref(&wanted), &[]).is_empty() {
            self.allowed.insert(size, false);
            let text = "no budget for the A/A check of neighbours: launches run one after another".to_owned();
            ground.said.hear(&Event::Warning { text });
            return Ok(Vec::new());
        }
        let samples: Vec<Sample> = x.journal.history().checked(&of);
        if samples.is_empty() && !pays(x, setup, walk, &wanted.config) {
            self.allowed.insert(size, false);
            let text = format!(
                "launches run one after another: the A/A check of neighbours, {} launches or more, would take longer here than \
                 launches side by side save; `--parallel {}` makes it all the same",
                check::launches(of.launches),
                of.launches
            );
            ground.said.hear(&Event::Warning { text });
            return Ok(Vec::new());
        }
        let within =
            x.host.gpus(0).map_or(check::TOLERATED, |(source, _)| source.tolerated(check::TOLERATED));
        let slots: Vec<Berth> = (1..=of.launches).filter_map(|n| x.yard.slot(size, n)).collect();
        let (round, alone) = match check::next(&samples, slots.len(), within) {
            Next::Alone { round } => (round, true),
            Next::Together { round } => (round, false),
            Next::Settled(verdict) => {
                neighbours::settle(x, &of, &verdict)?;
                self.settled(ground, size, of.launches, &verdict);
                return Ok(Vec::new());
            }
        };
        let purpose = Purpose::Check { of, round, alone };
        let number = (round as usize - 1) % slots.len().max(1);
        let taken = slots.into_iter().enumerate().filter(|(i, _)| !alone || *i == number);
        let how = if alone { "alone" } else { "side by side" };
        let wanted = Wanted { label: format!("A/A check of neighbours, {how}, round {round}"), ..wanted };
        Ok(taken.map(|(_, berth)| (wanted.clone(), berth, purpose.clone())).collect())
    }

    fn settled(&mut self, ground: &Ground<'_>, size: u32, launches: usize, verdict: &Verdict) {
        self.allowed.insert(size, verdict.passed);
        ground.said.hear(&Event::Neighbours {
            passed: verdict.passed,
            size,
            launches,
            text: verdict.to_string(),
        });
    }
}

/// Whether a check that nobody asked for is worth its time.
fn pays(x: &Execution<'_>, setup: &Setup<'_>, walk: &Walk, config: &Config) -> bool {
    let costs = x.journal.history().costs(x.guess.clone());
    x.yard.was_asked() || check_pays(setup, walk, &costs, config, |size| x.yard.room(size))
}

/// Launches that a check takes at least which is still to be made, as far as that is known before the first launch.
pub fn check_ahead(x: &Execution<'_>, setup: &Setup<'_>, walk: &Walk) -> usize {
    let Some((baseline, _)) = walk.baseline.as_ref() else { return 0 };
    let of = neighbours::here(&x.host, &x.yard, baseline.gpus());
    let others = walk.needs.iter().filter(|n| n.step.is_some() && may_share(x, n)).count();
    if of.launches < 2 || others < 2 || !is_managed(baseline) {
        return 0;
    }
    let history = x.journal.history();
    let known = neighbours::known(&history, &of).is_some();
    let begun = !history.checked(&of).is_empty();
    drop(history);
    if known || (!begun && !pays(x, setup, walk, baseline)) { 0 } else { check::launches(of.launches) }
}

/// GPUs of its own, and nothing measured that another launch could find.
fn may_share(x: &Execution<'_>, need: &Wanted) -> bool {
    x.yard.is_shared() && is_managed(&need.config) && !tunes_alone(&need.config, need.confirming)
}

/// A launch that confirms begins without what autotuners have measured, and one beside it would leave it some.
fn tunes_alone(config: &Config, confirming: bool) -> bool {
    confirming && caches::keeps_choices(config.engine.root())
}

/// What is launched for a check: the baseline, which is known to run, or else what is wanted of that size.
fn representative(setup: &Setup<'_>, walk: &Walk, need: &Wanted) -> Wanted {
    let size = need.config.gpus();
    let baseline = walk.baseline.as_ref().map(|(config, _)| config).filter(|c| c.gpus() == size);
    let config = baseline.unwrap_or(&need.config).clone();
    let profiles = setup.profiles();
    Wanted { config, profiles, done: 0, missing: 1, confirming: false, ..need.clone() }
}
