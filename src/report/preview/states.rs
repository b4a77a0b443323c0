//! What each candidate's state is, counted once for the whole study.
//!
//! A step's base may hang on what earlier steps adopt. Two configurations that are equal over the bases as they are now are then one
//! trial only if they stand on one base, so known configurations are kept apart by what their base hangs on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Serialize;

use super::budgets::Needs;
use super::document::Counts;
use super::twins::Twins;
use crate::judge::track::{base_is_settled, open_before};
use crate::judge::walk::{Role, Row, StepView};
use crate::judge::{Outcome, Setup, Walk};
use crate::lang::sema::program::{Change, From, Point};
use crate::plan::bases::Bases;
use crate::plan::{Config, Id};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    ToMeasure,
    Measured,
    Pruned,
    SameAs,
    /// its base is not known before an earlier step is decided
    Later,
    /// its step is not run
    Skipped,
}

/// What a base hangs on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Base {
    Known,
    /// the incumbent before a step (an index)
    Before(usize),
    /// the incumbent as a step left it
    After(usize),
}

/// The states of all candidates, and what they come to.
pub(super) struct States<'a> {
    /// by step and row
    of: Vec<Vec<State>>,
    bases: Vec<Base>,
    /// where a configuration stands first
    first: HashMap<(Base, Id), &'a str>,
    /// what candidates of steps whose base is open are the same as
    same: HashMap<(usize, usize), &'a str>,
    pub counts: Counts,
    /// candidates that are still to be measured
    pub to_come: usize,
    /// launches that candidates need, without those that confirm
    pub launches: usize,
    /// the same, times the GPUs that each takes
    pub gpu_launches: f64,
    /// of that what each step needs
    pub needs: Vec<Needs>,
    /// for each step, the row of an incumbent that stands there first: what a track begins with
    starts: Vec<Option<usize>>,
    /// nothing is run beside the baseline
    refused: bool,
}

impl<'a> States<'a> {
    pub fn new(setup: &'a Setup<'a>, walk: &'a Walk) -> Self {
        let mut twins = Twins::new(setup, walk);
        let mut states = Self {
            of: Vec::with_capacity(walk.steps.len()),
            bases: Vec::with_capacity(walk.steps.len()),
            first: HashMap::new(),
            same: HashMap::new(),
            counts: Counts::default(),
            to_come: 0,
            launches: 0,
            gpu_launches: 0.0,
            needs: Vec::with_capacity(walk.steps.len()),
            starts: Vec::with_capacity(walk.steps.len()),
            refused: walk.refused.is_some(),
        };
        let profiles = setup.profiles();
        if let Some((config, judged)) = &walk.baseline {
            let state = if judged.is_some() { State::Measured } else { State::ToMeasure };
            states.first.insert((Base::Known, config.key()), "the baseline");
            states.count(setup, &profiles, config, state);
        }
        for (at, view) in walk.steps.iter().enumerate() {
            let base = base(setup, walk, view);
            let before = states.so_far();
            let may_be = may_be(setup, walk, view, &base);
            let alone = alone(setup, walk, view, &base);
            let mut start = None;
            let mut of = Vec::with_capacity(view.rows.len());
            for (i, row) in view.rows.iter().enumerate() {
                let (before, base) = (states.first.len(), if alone[i] { &Base::Known } else { &base });
                of.push(states.row((setup, &profiles, view), ((at, i), row), base, may_be[i], &mut twins));
                if row.role == Role::Incumbent && states.first.len() > before {
                    start = Some(i);
                }
            }
            states.of.push(of);
            states.starts.push(start);
            states.bases.push(base);
            let now = states.so_far();
            states.needs.push(Needs {
                launches: now.launches - before.launches,
                gpu_launches: now.gpu_launches - before.gpu_launches,
                trials: now.trials - before.trials,
            });
        }
        states
    }

    fn so_far(&self) -> Needs {
        Needs { launches: self.launches, gpu_launches: self.gpu_launches, trials: self.to_come }
    }

    /// The state of a row.
    pub fn of(&self, step: usize, row: usize) -> State {
        self.of[step][row]
    }

    /// Under which label a row's configuration stands first.
    pub fn first(&self, step: usize, row: usize, config: &Config) -> Option<&'a str> {
        if let Some(label) = self.same.get(&(step, row)) {
            return Some(label);
        }
        let on = |base: &Base| self.first.get(&(base.clone(), config.key())).copied();
        on(&self.bases[step]).or_else(|| on(&Base::Known))
    }

    /// The row of what a step's track begins with, where that is measured there first.
    pub fn start(&self, step: usize) -> Option<usize> {
        self.starts[step]
    }

    fn row(
        &mut self,
        (setup, profiles, view): (&Setup<'_>, &[String], &StepView),
        (place, row): ((usize, usize), &'a Row),
        base: &Base,
        may_be: bool,
        twins: &mut Twins<'a>,
    ) -> State {
        let Some(config) = &row.config else {
            if may_be {
                self.to_come += 1;
                self.add_to_measure(profiles.len(), setup.repeat(), &view.base);
                return State::Later;
            }
            self.counts.pruned += profiles.len();
            return State::Pruned;
        };
        // before earlier steps are decided, it is one of their candidates
        if row.role == Role::Incumbent && *base != Base::Known {
            return State::Later;
        }
        // winners of tracks were measured there
        let counts = setup.study.steps[view.step].contest.is_empty() || *base == Base::Known;
        let state = match row.judged.outcome {
            _ if is_measured(setup, profiles, config, row) => State::Measured,
            Outcome::Pruned if !may_be => State::Pruned,
            _ if view.skipped.is_some() && (row.role != Role::Incumbent || self.refused) => State::Skipped,
            _ if *base != Base::Known => State::Later,
            _ => State::ToMeasure,
        };
        if state == State::Pruned {
            self.counts.pruned += profiles.len();
            return state;
        }
        // what is measured is known, whatever it stands on
        let on = if state == State::Measured { &Base::Known } else { base };
        if *on != Base::Known
            && let Some(first) = twins.of(on, config.key(), place)
        {
            self.same.insert(place, first);
            return if view.skipped.is_some() { state } else { State::SameAs };
        }
        match self.first.entry((on.clone(), config.key())) {
            Entry::Occupied(_) if *on != Base::Known => {
                self.counted(setup, profiles, (config, state), counts)
            }
            Entry::Occupied(_) if state == State::Measured || view.skipped.is_some() => state,
            Entry::Occupied(_) => State::SameAs,
            Entry::Vacant(place) => {
                place.insert(&row.label);
                self.counted(setup, profiles, (config, state), counts)
            }
        }
    }

    /// Counts a configuration that stands nowhere before.
    fn counted(
        &mut self,
        setup: &Setup<'_>,
        profiles: &[String],
        (config, state): (&Config, State),
        counts: bool,
    ) -> State {
        // what a guard kept from running does not run, but for what a track came to without it
        let runs = state != State::Skipped;
        if counts && runs || state == State::Measured {
            self.to_come += usize::from(state != State::Measured);
            self.count(setup, profiles, config, state);
        }
        state
    }

    fn count(&mut self, setup: &Setup<'_>, profiles: &[String], config: &Config, state: State) {
        let runs: Vec<usize> = profiles.iter().map(|p| setup.counted(config, p).len()).collect();
        let is_measured = |runs: &&usize| state == State::Measured || **runs >= setup.repeat();
        let measured = runs.iter().filter(is_measured).count();
        self.counts.max += measured;
        self.counts.measured += measured;
        if state != State::Measured {
            let have = runs.iter().min().copied().unwrap_or(0);
            self.add_to_measure(profiles.len() - measured, setup.repeat().saturating_sub(have), config);
        }
    }

    /// So many trials, which need so many launches on the GPUs of such a configuration.
    fn add_to_measure(&mut self, trials: usize, launches: usize, like: &Config) {
        self.counts.max += trials;
        self.counts.to_measure += trials;
        self.launches += launches;
        self.gpu_launches += launches as f64 * f64::from(like.gpus());
    }
}

/// For each row, whether it is excluded over the base as it is now and need not be over the base that there will be.
fn may_be(setup: &Setup<'_>, walk: &Walk, view: &StepView, base: &Base) -> Vec<bool> {
    let mut out = vec![false; view.rows.len()];
    if *base == Base::Known || view.skipped.is_some() {
        return out;
    }
    let step = &setup.study.steps[view.step];
    let open = open_before(setup.study, &walk.steps, view.step);
    let mut bases = None;
    let candidates = view.rows.iter().position(|r| r.role == Role::Candidate).unwrap_or(0);
    for (i, row) in view.rows.iter().enumerate().skip(candidates).take(step.space.len()) {
        if row.judged.outcome == Outcome::Pruned {
            let bases =
                bases.get_or_insert_with(|| Bases::new(setup.program, setup.study, &view.base, &open, true));
            out[i] = !bases.exclude(step, i - candidates);
        }
    }
    out
}

/// For each row, whether it is what it is whatever its step's base will be: an engine as declared, with points over it.
fn alone(setup: &Setup<'_>, walk: &Walk, view: &StepView, base: &Base) -> Vec<bool> {
    let mut out = vec![false; view.rows.len()];
    let step = &setup.study.steps[view.step];
    let is_engine = |p: &Point| p.changes.iter().any(|c| matches!(c, Change::Engine(_)));
    if *base == Base::Known || !step.space.any(&is_engine) {
        return out;
    }
    // a model that a point set stays under another engine
    let is_model = |p: &Point| p.changes.iter().any(|c| matches!(c, Change::Model(_)));
    let models = open_before(setup.study, &walk.steps, view.step).iter().any(|s| s.space.any(&is_model));
    let candidates = view.rows.iter().position(|r| r.role == Role::Candidate).unwrap_or(0);
    for (i, own) in out.iter_mut().skip(candidates).take(step.space.len()).enumerate() {
        let points = step.space.candidate(i);
        *own = points.iter().any(|p| is_engine(p)) && (!models || points.iter().any(|p| is_model(p)));
    }
    out
}

/// Whether every run that a step reads is there, or one has shown that no other is needed.
fn is_measured(setup: &Setup<'_>, profiles: &[String], config: &Config, row: &Row) -> bool {
    let has = |enough: usize| profiles.iter().all(|p| setup.counted(config, p).len() >= enough);
    let judged = match row.judged.outcome {
        Outcome::Missing => false,
        // by a rule that names metrics, once the first run is there
        Outcome::Pruned => has(1),
        _ => true,
    };
    judged || has(setup.repeat())
}

/// What the candidates of a step stand on.
pub(super) fn base(setup: &Setup<'_>, walk: &Walk, view: &StepView) -> Base {
    if base_is_settled(setup.study, &walk.steps, view.step) {
        return Base::Known;
    }
    match &setup.study.steps[view.step].from {
        From::Step(i) => Base::After(*i),
        From::Best | From::Engine(_) => Base::Before(view.step),
    }
}
