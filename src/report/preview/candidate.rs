//! One candidate as it is printed, made when it is looked at: a grid has tens of thousands, and nobody looks at two at once.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::build::Again;
use super::states::{State, States};
use crate::judge::walk::{Role, Row, StepView};
use crate::judge::{Outcome, Setup, Walk};
use crate::lang::sema::program::Prune;
use crate::plan::{Config, Id, Normal, command};

#[derive(Debug, Serialize)]
pub struct Candidate<'a> {
    #[serde(serialize_with = "as_text")]
    pub id: Id,
    pub label: Cow<'a, str>,
    /// `None` where there can be no such configuration
    pub config: Option<Normal<'a>>,
    pub command: String,
    /// GPUs that it needs, 0 where there can be no such configuration; JSON has them in `config`
    #[serde(skip)]
    pub gpus: u32,
    /// what it changes over its base
    pub changes: Vec<Cow<'a, str>>,
    pub state: State,
    pub reason: Option<Cow<'a, str>>,
    /// its engine failed, which is a finding: only what changed, or the user, has it measured again
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// rules that may still prune it: once it has run, or over the base that there will be
    pub rules: Vec<&'a str>,
}

impl Candidate<'_> {
    /// ", on 4 GPUs", where that is not as many as elsewhere.
    pub(super) fn on_gpus(&self, elsewhere: u32) -> String {
        match self.gpus {
            n if n == 0 || n == elsewhere => String::new(),
            1 => ", on 1 GPU".to_owned(),
            n => format!(", on {n} GPUs"),
        }
    }
}

fn as_text<S: Serializer>(id: &Id, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(id.as_str())
}

/// The candidates of a step, in written order.
pub struct Candidates<'a> {
    pub(super) view: &'a StepView,
    pub(super) at: usize,
    pub(super) around: Around<'a>,
}

/// What rendering a candidate needs beside its row.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub states: &'a States<'a>,
    /// the identity of the load on the steps' first profile
    pub load: &'a str,
    pub name: &'a str,
    pub again: &'a Again,
    pub prune: &'a [Prune],
}

impl<'a> Candidates<'a> {
    pub fn iter(&self) -> impl Iterator<Item = Candidate<'a>> {
        let (view, at, around) = (self.view, self.at, self.around);
        let rows = view.rows.iter().enumerate().filter(|(_, r)| r.role != Role::Incumbent);
        rows.map(move |(i, row)| candidate(view, (row, i), around.states.of(at, i), at, around))
    }

    /// Their states alone, which costs nothing.
    pub fn states(&self) -> impl Iterator<Item = State> {
        let rows = self.view.rows.iter().enumerate().filter(|(_, r)| r.role != Role::Incumbent);
        rows.map(|(i, _)| self.around.states.of(self.at, i))
    }

    pub fn len(&self) -> usize {
        self.view.rows.iter().filter(|r| r.role != Role::Incumbent).count()
    }
}

impl std::fmt::Debug for Candidates<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Candidates<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

/// The baseline, which stands before all steps.
pub(super) fn baseline<'a>(setup: &Setup<'_>, walk: &'a Walk, again: &'a Again) -> Candidate<'a> {
    let profile = setup.profiles().into_iter().next().unwrap_or_default();
    let mut out = Candidate {
        id: Id::of(b"baseline"),
        label: "baseline".into(),
        config: None,
        command: String::new(),
        gpus: 0,
        changes: Vec::new(),
        state: State::Pruned,
        reason: walk.refused.as_deref().map(Cow::from),
        failed: false,
        rules: Vec::new(),
    };
    if let Some((config, judged)) = &walk.baseline {
        out.state = if judged.is_some() { State::Measured } else { State::ToMeasure };
        out.failed = judged.as_ref().is_some_and(|j| j.outcome == Outcome::Failed);
        out.reason = judged.as_ref().and_then(|j| j.reason.as_deref()).map(Cow::from);
        if judged.is_none() {
            out.reason = why_again(again, config, setup.load(&profile));
        }
        fill(&mut out, config, setup.load(&profile));
    }
    out
}

fn fill<'a>(candidate: &mut Candidate<'a>, config: &'a Config, load: &str) {
    candidate.id = config.trial(load);
    candidate.config = Some(config.shown_form());
    candidate.command = command::line(config);
    candidate.gpus = config.gpus();
}

fn candidate<'a>(
    view: &'a StepView,
    (row, index): (&'a Row, usize),
    state: State,
    at: usize,
    around: Around<'a>,
) -> Candidate<'a> {
    let mut out = Candidate {
        id: view.base.key(),
        label: (&*row.label).into(),
        config: None,
        command: String::new(),
        gpus: 0,
        changes: Vec::new(),
        state,
        reason: reason(view, (row, index), state, at, around),
        failed: state == State::Measured && row.judged.outcome == Outcome::Failed,
        rules: rules(row, state, around.prune),
    };
    match &row.config {
        Some(config) => {
            fill(&mut out, config, around.load);
            out.changes = config.differences(&view.base);
        }
        // as the report calls it
        None => out.id = Id::of(format!("{}/{}/{}", around.name, row.label, view.base.id()).as_bytes()),
    }
    out
}

/// What a step's track begins with: its engine as declared.
pub(super) fn start<'a>(view: &'a StepView, row: usize, at: usize, around: Around<'a>) -> Candidate<'a> {
    let state = around.states.of(at, row);
    let mut out = candidate(view, (&view.rows[row], row), state, at, around);
    out.label = as_declared(&out.label).into();
    out
}

/// What an engine is called that stands as its declaration has it.
pub(super) fn as_declared(engine: &str) -> String {
    format!("{engine}, as declared")
}

/// The rules that may still prune a candidate; one that does over the base as it is may do so over the one that there will be.
fn rules<'a>(row: &Row, state: State, prune: &'a [Prune]) -> Vec<&'a str> {
    if !matches!(state, State::ToMeasure | State::Later) {
        return Vec::new();
    }
    match row.pruned_by {
        Some(rule) => vec![&prune[rule].name],
        None => row.open_rules.iter().map(|r| prune[*r].name.as_str()).collect(),
    }
}

fn reason<'a>(
    view: &'a StepView,
    (row, index): (&'a Row, usize),
    state: State,
    at: usize,
    around: Around<'a>,
) -> Option<Cow<'a, str>> {
    match state {
        State::SameAs => {
            let first = around.states.first(at, index, row.config.as_ref()?)?;
            Some(format!("the same configuration as {first}").into())
        }
        State::Later => {
            let later = "its base is known when the steps before are decided";
            let now = row.judged.reason.as_deref().filter(|_| row.config.is_none());
            Some(now.map_or(later.into(), |why| format!("not over the base as it is: {why}; {later}").into()))
        }
        State::Skipped => view.skipped.as_deref().map(Cow::from),
        State::ToMeasure => why_again(around.again, row.config.as_ref()?, around.load),
        State::Measured | State::Pruned => row.judged.reason.as_deref().map(Cow::from),
    }
}

/// Why a result that there is does not count any more.
fn why_again<'a>(again: &'a Again, config: &Config, load: &str) -> Option<Cow<'a, str>> {
    if again.is_empty() {
        return None;
    }
    again.get(&(config.id().to_owned(), load.to_owned())).map(|why| why.as_str().into())
}
