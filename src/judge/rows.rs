//! The rows of a step's table: the incumbent, the base, every candidate, each judged against what stands around it.

use super::setup::Setup;
use super::track::Incumbents;
use super::trial::{Judged, Peers, judge, objective};
use super::walk::{Role, Row, StepView, Walker};
use crate::lang::sema::program::Step;
use crate::plan::candidate::{self, Candidate, Ruling};
use crate::plan::{Config, OpenRules, Prepared};

/// What the rows of a step are compared with.
pub(super) struct Around<'a> {
    incumbent: &'a Config,
    base: &'a Config,
    baseline: &'a Config,
    /// false where the incumbent was measured and is not valid, which only the start of a track can be: nothing is
    /// compared with it
    comparable: bool,
    /// the incumbent's objective
    value: Option<f64>,
}

impl<'a> Around<'a> {
    pub(super) fn new(
        setup: &Setup<'_>,
        incumbent: &'a Config,
        base: &'a Config,
        baseline: &'a Config,
    ) -> Self {
        let alone = Peers { best: None, baseline: Some(baseline), may_be_pruned: false };
        let judged = judge(setup, incumbent, &setup.profiles(), alone);
        let comparable = judged.is_none_or(|j| j.is_valid());
        let goal = setup.study.objective.as_ref().filter(|_| comparable);
        let value = goal.and_then(|o| objective(setup, incumbent, o));
        Self { incumbent, base, baseline, comparable, value }
    }

    /// The same for candidates over another base.
    pub(super) fn over(&self, base: &'a Config) -> Self {
        Self { base, ..*self }
    }

    /// What can have won before.
    fn best(&self) -> Option<&'a Config> {
        self.comparable.then_some(self.incumbent)
    }
}

impl Walker<'_> {
    /// The incumbent's row, and the base's where that is another configuration: measured beside the candidates, not offered.
    pub(super) fn incumbent_rows(&mut self, view: &mut StepView, around: &Around<'_>) {
        let (incumbent, base) = (around.incumbent, around.base);
        // under the name that it won with
        let known = self.seen.get(&incumbent.key()).map(|seen| seen.label.clone());
        let called = |config: &Config| self.setup.engine_label(&config.engine).to_owned();
        let label = known.filter(|l| l != "baseline").unwrap_or_else(|| called(incumbent));
        let of_base = called(base);
        let before = self.row(Role::Incumbent, &label, incumbent, around, view.step);
        view.rows.push(before);
        if base.id() != incumbent.id() && view.skipped.is_none() {
            let row = self.row(Role::Base, &of_base, base, around, view.step);
            view.rows.push(row);
        }
    }

    /// A row of a configuration that is to be measured.
    fn row(&mut self, role: Role, label: &str, config: &Config, around: &Around<'_>, step: usize) -> Row {
        let setup = self.setup;
        let profiles = setup.profiles();
        let may_be_pruned = role == Role::Candidate && config.id() != around.baseline.id();
        let peers = Peers { best: around.best(), baseline: Some(around.baseline), may_be_pruned };
        let judged = judge(setup, config, &profiles, peers);
        let same_as = self.see(config, label, Some(step));
        let goal = setup.study.objective.as_ref();
        let gain = setup.gain(goal.and_then(|o| objective(setup, config, o)), around.value);
        let judged = judged.unwrap_or_else(|| {
            self.need(config, &profiles, label.to_owned(), Some(step));
            Judged::missing("not measured yet")
        });
        Row {
            role,
            label: label.into(),
            config: Some(config.clone()),
            same_as: same_as.filter(|_| role == Role::Candidate),
            judged,
            gain: gain.filter(|_| role != Role::Incumbent),
            open_rules: OpenRules::default(),
            pruned_by: None,
        }
    }

    pub(super) fn candidate_rows(&mut self, view: &mut StepView, step: &Step, around: &Around<'_>) {
        let setup = self.setup;
        let mut prepared = Prepared::new(setup.program, setup.study);
        view.rows.reserve(step.space.len());
        for i in 0..step.space.len() {
            let candidate = candidate::candidate(step, i, around.base, &mut prepared);
            let ruling = candidate::ruling(&candidate, &mut prepared);
            let row = self.candidate_row(view, &candidate, ruling, around);
            view.rows.push(row);
        }
    }

    fn candidate_row(
        &mut self,
        view: &StepView,
        candidate: &Candidate,
        ruling: Ruling,
        around: &Around<'_>,
    ) -> Row {
        let measured = |walker: &mut Self, config: &Config| {
            walker.row(Role::Candidate, &candidate.label, config, around, view.step)
        };
        match (ruling, &candidate.config, &view.skipped) {
            (_, Ok(config), Some(_)) => {
                unrun(&candidate.label, Some(config), Judged::missing("the step was not run"))
            }
            (Ruling::Pruned { reason, rule }, config, _) if !is(config.as_ref().ok(), around.baseline) => {
                let pruned_by = rule.and_then(|name| self.setup.rule(&name));
                Row { pruned_by, ..unrun(&candidate.label, config.as_ref().ok(), Judged::pruned(reason)) }
            }
            (Ruling::Run { open }, Ok(config), None) => Row { open_rules: open, ..measured(self, config) },
            (_, Ok(config), None) => measured(self, config),
            (_, Err(reason), _) => unrun(&candidate.label, None, Judged::pruned(reason.clone())),
        }
    }

    /// The candidates of a contest between tracks: what each has come to.
    pub(super) fn winner_rows(
        &mut self,
        view: &mut StepView,
        step: &Step,
        incumbents: &Incumbents<'_>,
        around: &Around<'_>,
    ) {
        let setup = self.setup;
        for name in &step.contest {
            let Some(winner) = incumbents.of_track(name) else { continue };
            let label = setup.track_label(name);
            let row = if view.skipped.is_some() {
                unrun(label, Some(&winner), Judged::missing("the step was not run"))
            } else {
                self.row(Role::Candidate, label, &winner, around, view.step)
            };
            view.rows.push(row);
        }
    }
}

fn is(config: Option<&Config>, other: &Config) -> bool {
    config.is_some_and(|c| c.id() == other.id())
}

fn unrun(label: &str, config: Option<&Config>, judged: Judged) -> Row {
    Row {
        role: Role::Candidate,
        label: label.into(),
        config: config.cloned(),
        same_as: None,
        judged,
        gain: None,
        open_rules: OpenRules::default(),
        pruned_by: None,
    }
}
