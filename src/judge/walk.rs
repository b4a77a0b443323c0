//! The walk through a study: steps in order, over the results there are, up to the first that is missing.
//!
//! It is made anew from the results each time it is asked, so that a decision follows from the journal alone: nothing is remembered
//! between two questions, and a replay, a plan and an execution take the same path.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::confirm;
use super::offers;
use super::rows::Around;
use super::rules::guard_holds;
use super::setup::Setup;
use super::spread::Interval;
use super::track::Incumbents;
use super::trial::{Judged, Outcome, Peers, judge};
use crate::lang::sema::program::{From, Guard, Step};
use crate::plan::{Config, Id, OpenRules, never_holds};

/// What part a row plays in its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Incumbent,
    Base,
    Candidate,
}

/// One row of a step's table.
#[derive(Debug, Clone)]
pub struct Row {
    pub role: Role,
    pub label: Arc<str>,
    /// `None` where there can be no such configuration
    pub config: Option<Config>,
    /// the label of an earlier row with the same configuration
    pub same_as: Option<String>,
    pub judged: Judged,
    pub gain: Option<f64>,
    /// rules that may still prune it
    pub open_rules: OpenRules,
    /// the rule that keeps it from being measured, by its place among those of the study
    pub pruned_by: Option<usize>,
}

/// One step as far as it is known.
#[derive(Debug, Clone)]
pub struct StepView {
    pub step: usize,
    pub skipped: Option<String>,
    pub base: Config,
    pub incumbent_before: Config,
    pub incumbent_after: Config,
    pub rows: Vec<Row>,
    /// index of the best valid candidate's row
    pub best: Option<usize>,
    /// index of the row that was settled on; `None`: the incumbent stays
    pub chosen: Option<usize>,
    pub adopted: bool,
    pub by_hand: bool,
    pub reason: Option<String>,
    /// the best valid candidate's, adopted or not
    pub gain: Option<f64>,
    /// not all of its candidates have run yet
    pub open: bool,
}

impl StepView {
    /// What a row's configuration changes over the step's base; the incumbent changes nothing.
    pub fn changes<'r>(&self, row: &'r Row) -> Vec<Cow<'r, str>> {
        match (&row.config, row.role) {
            (Some(config), Role::Candidate | Role::Base) => config.differences(&self.base),
            _ => Vec::new(),
        }
    }
}

/// A profile of `confirm on`, baseline against winner.
#[derive(Debug, Clone)]
pub struct ConfirmView {
    pub profile: String,
    pub gain: Option<f64>,
    /// between what it lies; `None` without repeats
    pub interval: Option<Interval>,
    /// the objective of the two, from the confirming launches
    pub baseline: Option<f64>,
    pub winner: Option<f64>,
    /// the winner, as it was measured or, in a replay, as its command was published
    pub recommended: Config,
    /// what the winner failed on, if it did
    pub failed: Option<Arc<str>>,
    /// and what the baseline did
    pub baseline_failed: Option<Arc<str>>,
    /// launches of each: of the arm that has fewer
    pub runs: usize,
    /// a recording has no other runs than those that the steps used
    pub of_the_steps: bool,
}

/// A configuration that must run before the walk can go on.
#[derive(Debug, Clone)]
pub struct Need {
    pub config: Config,
    /// the loads that its next launch runs
    pub profiles: Vec<String>,
    /// launches of its that count already, and those that are still to come
    pub done: usize,
    pub missing: usize,
    pub label: String,
    /// index of the step, `None` for the baseline and for confirming launches
    pub step: Option<usize>,
    pub confirming: bool,
}

/// How far a study has come.
#[derive(Debug, Clone)]
pub struct Walk {
    pub baseline: Option<(Config, Option<Judged>)>,
    pub steps: Vec<StepView>,
    pub winner: Option<Config>,
    pub confirm: Vec<ConfirmView>,
    /// everything that is known to be missing now, the first first
    pub needs: Vec<Need>,
    /// why there is nothing to recommend
    pub refused: Option<String>,
}

/// Walks a study.
pub fn walk(setup: &Setup<'_>) -> Walk {
    let mut walker = Walker {
        setup,
        out: Walk {
            baseline: None,
            steps: Vec::new(),
            winner: None,
            confirm: Vec::new(),
            needs: Vec::new(),
            refused: None,
        },
        seen: HashMap::new(),
        needed: HashSet::new(),
    };
    walker.run();
    walker.out
}

pub(super) struct Walker<'a> {
    pub(super) setup: &'a Setup<'a>,
    pub(super) out: Walk,
    /// configurations with a row, and where each stood first
    pub(super) seen: HashMap<Id, Seen>,
    needed: HashSet<Id>,
}

/// The first row of a configuration.
pub(super) struct Seen {
    pub(super) label: String,
    /// none of the baseline
    step: Option<usize>,
}

impl Seen {
    /// Its label, with its step where that is another: two tracks may call different configurations `tp 4`.
    fn beside(&self, setup: &Setup<'_>, step: Option<usize>) -> String {
        let Some(of) = self.step.filter(|of| Some(*of) != step) else { return self.label.clone() };
        let Some(declared) = setup.study.steps.get(of) else { return self.label.clone() };
        let title = &declared.title;
        match &declared.track {
            Some(track) => format!("{} of {}: {title}", self.label, setup.track_label(track)),
            None => format!("{} of {title}", self.label),
        }
    }
}

impl Walker<'_> {
    fn run(&mut self) {
        let setup = self.setup;
        let Some(baseline) = setup.baseline() else {
            self.out.refused = Some("the baseline's engine is not declared".to_owned());
            return;
        };
        let profiles = setup.baseline_profiles();
        let alone = Peers { best: None, baseline: Some(&baseline), may_be_pruned: false };
        let judged = judge(setup, &baseline, &profiles, alone);
        self.see(&baseline, "baseline", None);
        self.out.baseline = Some((baseline.clone(), judged.clone()));
        match judged {
            None => self.need(&baseline, &profiles, baseline.engine.title.clone(), None),
            Some(j) if !j.is_valid() => {
                let why = j.reason.unwrap_or_default();
                // what a budget had no room for was never looked at
                let left_out = setup.left_out(&baseline).filter(|left| *left == &*why);
                let (refused, skipped) = match left_out {
                    Some(left) => (format!("the baseline was {left}"), "the baseline was left out"),
                    None => (format!("the baseline is not valid ({why})"), "the baseline is not valid"),
                };
                self.out.refused = Some(refused);
                // they stand in the report all the same, as what was not run
                let incumbents = Incumbents::new(setup, &baseline);
                for i in 0..setup.study.steps.len() {
                    let view = self.step(i, &incumbents, &baseline, Some(skipped.to_owned()));
                    self.out.steps.push(view);
                }
                // nor does what a track would have begun with
                self.out.needs.clear();
                return;
            }
            Some(_) => {}
        }
        let mut incumbents = Incumbents::new(setup, &baseline);
        for (i, step) in setup.study.steps.iter().enumerate() {
            let view = self.step(i, &incumbents, &baseline, None);
            incumbents.settle(step, &view.incumbent_after);
            self.out.steps.push(view);
        }
        let winner = incumbents.best().clone();
        if self.out.needs.is_empty() {
            self.confirm(&baseline, &winner);
        }
        self.out.winner = Some(winner);
    }

    /// Baseline and winner on the profiles of `confirm on`: what is missing, or what came of it.
    fn confirm(&mut self, baseline: &Config, winner: &Config) {
        self.out.needs = confirm::needs(self.setup, baseline, winner);
        if self.out.needs.is_empty() {
            self.out.confirm = confirm::views(self.setup, baseline, winner);
        }
    }

    pub(super) fn need(&mut self, config: &Config, profiles: &[String], label: String, step: Option<usize>) {
        if self.setup.replay || !self.needed.insert(config.key()) {
            return;
        }
        let setup = self.setup;
        let runs = |p: &String| setup.counted(config, p).len();
        self.out.needs.push(Need::of(setup, config, profiles, runs, label, step, false));
    }

    /// The row that a configuration has already, as a row of this step is told of it.
    pub(super) fn see(&mut self, config: &Config, label: &str, step: Option<usize>) -> Option<String> {
        match self.seen.entry(config.key()) {
            Entry::Occupied(first) => Some(first.get().beside(self.setup, step)),
            Entry::Vacant(place) => {
                place.insert(Seen { label: label.to_owned(), step });
                None
            }
        }
    }

    fn step(
        &mut self,
        index: usize,
        incumbents: &Incumbents<'_>,
        baseline: &Config,
        skipped: Option<String>,
    ) -> StepView {
        let setup = self.setup;
        let step = &setup.study.steps[index];
        let incumbent = &incumbents.before(step);
        let base = self.base(step, incumbent, baseline);
        let mut view = StepView {
            step: index,
            skipped,
            base: base.clone(),
            incumbent_before: incumbent.clone(),
            incumbent_after: incumbent.clone(),
            rows: Vec::new(),
            best: None,
            chosen: None,
            adopted: false,
            by_hand: false,
            reason: None,
            gain: None,
            open: false,
        };
        let blocked = !self.out.needs.is_empty();
        let readable =
            |guard: &&Guard| !blocked || guard.expr.is_static() && self.incumbent_is_settled(index);
        if let Some(guard) = step.when.as_ref().filter(|_| view.skipped.is_none()) {
            if readable(&guard) && !guard_holds(setup, incumbent, guard) {
                view.skipped = Some(format!("the guard `{}` does not hold for the incumbent", guard.text));
            } else if !readable(&guard)
                && never_holds(setup.program, setup.study, &guard.expr, incumbent, &self.open(index))
            {
                view.skipped = Some(format!("the guard `{}` can hold for no incumbent", guard.text));
            }
        }
        let around = Around::new(setup, incumbent, &base, baseline);
        let open_guard = step.when.as_ref().filter(|g| view.skipped.is_none() && !readable(g));
        let over = open_guard.and_then(|g| self.meeting_guard(step, g, incumbent));
        self.incumbent_rows(&mut view, &around);
        if let Some(over) = over {
            self.candidate_rows(&mut view, step, &around.over(&over));
            view.base = over;
        } else {
            self.candidate_rows(&mut view, step, &around);
        }
        self.winner_rows(&mut view, step, incumbents, &around);
        if view.skipped.is_some() {
            return view;
        }
        view.open = view.rows.iter().any(|r| {
            r.judged.outcome == Outcome::Missing
                && !setup.replay
                && r.config.as_ref().is_some_and(|c| setup.left_out(c).is_none())
        });
        if !view.open && !blocked {
            let offer = offers::settle(setup, &mut view, step, incumbent, baseline);
            if let Some(config) = offer {
                let elsewhere: Vec<String> = setup.elsewhere().map(str::to_owned).collect();
                self.need(&config, &elsewhere, format!("offer of {}", step.title), Some(index));
            }
        }
        view
    }

    /// The steps that may still change a step's incumbent.
    fn open(&self, step: usize) -> Vec<&Step> {
        let study = self.setup.study;
        let track = &study.steps[step].track;
        let own = |s: &&Step| track.is_none() || s.track == *track;
        self.out.steps.iter().filter(|v| v.open).map(|v| &study.steps[v.step]).filter(own).collect()
    }

    /// Whether nothing that is still missing can change a step's incumbent: then a guard that reads no result is decided.
    fn incumbent_is_settled(&self, step: usize) -> bool {
        let open = |view: &StepView| view.open || self.out.needs.iter().any(|n| n.step == Some(view.step));
        let track = &self.setup.study.steps[step].track;
        let own = |view: &&StepView| track.is_none() || self.setup.study.steps[view.step].track == *track;
        !self.out.steps.iter().filter(own).any(open)
    }

    fn base(&self, step: &Step, incumbent: &Config, baseline: &Config) -> Config {
        match &step.from {
            From::Best => incumbent.clone(),
            From::Step(i) => {
                self.out.steps.get(*i).map_or_else(|| incumbent.clone(), |s| s.incumbent_after.clone())
            }
            From::Engine(name) => {
                let engine = self.setup.program.engines.get(name);
                engine.map_or_else(|| baseline.clone(), |e| Config::declared(e, self.setup.study))
            }
        }
    }
}

impl Need {
    /// The next launch of a configuration: of its profiles those that have the fewest runs, so that an interrupted launch is made up for
    /// by the loads that it lacks.
    pub(super) fn of(
        setup: &Setup<'_>,
        config: &Config,
        profiles: &[String],
        runs: impl Fn(&String) -> usize,
        label: String,
        step: Option<usize>,
        confirming: bool,
    ) -> Self {
        let done = profiles.iter().map(&runs).min().unwrap_or(0);
        Self {
            config: config.clone(),
            profiles: profiles.iter().filter(|p| runs(p) == done).cloned().collect(),
            done,
            missing: setup.repeat().saturating_sub(done),
            label,
            step,
            confirming,
        }
    }
}

/// The identity of a trial: a configuration under a profile's settings.
pub fn trial_id(setup: &Setup<'_>, config: &Config, name: &str) -> String {
    config.trial(setup.load(name)).to_string()
}
