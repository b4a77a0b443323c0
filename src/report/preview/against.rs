//! What a plan changes against another revision of the file: trials added and gone, and what decides.
//!
//! Trials are matched by what they are, a configuration under a serve line and a load, so renaming costs nothing. What decides is
//! compared as it was resolved: another name for the same metric is no change, another definition under the same name is one.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde::{Serialize, Serializer};

use super::candidate::as_declared;
use super::decides::decides;
use super::shown::whole;
use super::states::{State, States};
use crate::judge::walk::{Role, Row};
use crate::judge::{Setup, Walk};
use crate::plan::{Config, Id, command};

/// What changed.
#[derive(Debug, Serialize)]
pub struct Against {
    /// the other revision
    pub file: String,
    pub trials: Counts,
    pub decides: Vec<Decides>,
    pub added: Vec<Changed>,
    pub gone: Vec<Changed>,
    #[serde(skip)]
    added_ids: HashSet<Id>,
}

#[derive(Debug, Serialize)]
pub struct Counts {
    pub added: usize,
    /// of the added ones
    pub already_measured: usize,
    pub gone: usize,
    pub kept: usize,
}

/// A trial that only one of the revisions has.
#[derive(Debug, Serialize)]
pub struct Changed {
    #[serde(serialize_with = "as_text")]
    pub id: Id,
    /// `None` for the baseline, and for the winner that is confirmed
    pub step: Option<String>,
    pub label: String,
    pub profile: String,
    /// empty for the winner, which is not known yet
    pub command: String,
    pub state: State,
    pub reason: Option<String>,
}

/// A setting that decides over results, `None` where a revision does not have it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Decides {
    pub what: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

fn as_text<S: Serializer>(id: &Id, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(id.as_str())
}

impl Against {
    /// "3 trials added (1 already measured), 2 gone, 15 kept"
    pub fn headline(&self) -> String {
        let t = &self.trials;
        if t.added + t.gone + self.decides.len() == 0 {
            return format!("nothing changes: the same {} trials, decided alike", whole(t.kept));
        }
        let known = if t.added == 0 {
            String::new()
        } else {
            format!(" ({} already measured)", whole(t.already_measured))
        };
        let (added, gone, kept) = (whole(t.added), whole(t.gone), whole(t.kept));
        format!("trials: {added} added{known}, {gone} gone, {kept} kept")
    }

    /// Whether a trial is new in this revision.
    pub fn is_added(&self, id: Id) -> bool {
        self.added_ids.contains(&id)
    }
}

impl Changed {
    /// "seqs: 512"
    pub fn place(&self) -> String {
        match &self.step {
            Some(step) => format!("{step}: {}", self.label),
            None => self.label.clone(),
        }
    }

    /// What is known of a trial that is gone.
    pub fn left(&self) -> String {
        match (self.state, &self.reason) {
            (State::Pruned, Some(reason)) => format!("pruned now: {reason}"),
            (State::Skipped, Some(reason)) => format!("not run now: {reason}"),
            (State::Measured, _) => "measured; its runs stay in the journal".to_owned(),
            _ => "never measured".to_owned(),
        }
    }

    /// What state a trial that is added is in.
    pub fn now(&self) -> String {
        let reason = self.reason.as_ref().map(|r| format!(": {r}")).unwrap_or_default();
        format!("{}{reason}", super::shown::mark(self.state))
    }
}

impl Decides {
    /// "adopt: 1 %, now 2 %"
    pub fn sentence(&self) -> String {
        match (&self.before, &self.after) {
            (Some(b), Some(a)) => format!("{}: {b}; now {a}", self.what),
            (Some(b), None) => format!("{}: no more {b}", self.what),
            (None, Some(a)) => format!("{}: new, {a}", self.what),
            (None, None) => self.what.clone(),
        }
    }
}

/// One revision of a study, walked over the same results.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub setup: &'a Setup<'a>,
    pub walk: &'a Walk,
}

/// Compares two revisions. `file` is the other one's name.
pub fn compare(old: Side<'_>, new: Side<'_>, file: String) -> Against {
    let (mut before, now) = (trials(old), trials(new));
    // where no configuration is in both, none can have won in both
    if !now.iter().any(|(key, s)| s.config.is_some() && before.contains_key(key)) {
        before = before
            .into_iter()
            .map(|(key, s)| (if s.config.is_none() { (key.0, GONE, key.2) } else { key }, s))
            .collect();
    }
    let added: Vec<Changed> = only(&now, &before, new);
    let mut gone = only(&before, &now, old);
    let kept_out = kept_out(new);
    for trial in &mut gone {
        if let Some((state, reason)) = kept_out.get(&trial.id) {
            (trial.state, trial.reason) = (*state, Some((*reason).to_owned()));
        }
    }
    let already_measured = added.iter().filter(|c| c.state == State::Measured).count();
    Against {
        file,
        trials: Counts {
            added: added.len(),
            already_measured,
            gone: gone.len(),
            kept: now.len() - added.len(),
        },
        decides: decides(old, new),
        added_ids: added.iter().map(|c| c.id).collect(),
        added,
        gone,
    }
}

/// What is confirmed beside the baseline.
const WINNER: &str = "winner";
/// In the place of a winner's serve line: it is none of the other revision.
const GONE: &str = "gone";

/// What makes a trial the same in both: its configuration, the line that serves it, its load.
type Key<'a> = (Id, &'a str, &'a str);

/// A trial where it stands first.
struct Stands<'a> {
    /// `None`: the winner's, whatever that will be
    config: Option<&'a Config>,
    profile: &'a str,
    step: Option<&'a str>,
    label: &'a str,
    /// what a track begins with
    declared: bool,
    state: State,
}

/// Every trial that may be run.
fn trials(side: Side<'_>) -> IndexMap<Key<'_>, Stands<'_>> {
    let states = States::new(side.setup, side.walk);
    let mut out = IndexMap::new();
    beside_steps(side, &mut out);
    for (at, view) in side.walk.steps.iter().enumerate() {
        let step = Some(side.setup.study.steps[view.step].name.as_str());
        for (i, row) in view.rows.iter().enumerate() {
            let state = states.of(at, i);
            let declared = states.start(at) == Some(i);
            let config = row.config.as_ref().filter(|_| declared || row.role != Role::Incumbent);
            // what a rule or a guard keeps out is none
            let runs = |_: &&Config| !matches!(state, State::Pruned | State::Skipped);
            let Some(config) = config.filter(runs) else { continue };
            for (profile, state) in loads_of(side, config, state) {
                let stands =
                    Stands { config: Some(config), profile, step, label: &row.label, declared, state };
                out.entry(key(side, config, profile)).or_insert(stands);
            }
        }
    }
    out
}

/// The baseline's trials, and those of the winner on what no step measures.
fn beside_steps<'a>(side: Side<'a>, out: &mut IndexMap<Key<'a>, Stands<'a>>) {
    let study = side.setup.study;
    let Some((config, judged)) = &side.walk.baseline else { return };
    let (names, elsewhere) = (names(side), side.setup.elsewhere());
    let confirmed: Vec<&str> = study.confirm.iter().filter(|p| !names.contains(p)).map(|p| &**p).collect();
    let state = if judged.is_some() { State::Measured } else { State::ToMeasure };
    for profile in names.iter().map(|p| &**p).chain(elsewhere).chain(confirmed.iter().copied()) {
        let label = "baseline";
        let stands = Stands { config: Some(config), profile, step: None, label, declared: false, state };
        out.insert(key(side, config, profile), stands);
    }
    for profile in confirmed {
        let state = if side.walk.needs.is_empty() { State::Measured } else { State::Later };
        let stands = Stands { config: None, profile, step: None, label: WINNER, declared: false, state };
        out.insert((Id::of(WINNER.as_bytes()), "", side.setup.load(profile)), stands);
    }
}

/// The profiles on which all candidates are measured.
fn names(side: Side<'_>) -> &[String] {
    let study = side.setup.study;
    study.objective.as_ref().map_or(&study.confirm, |o| &o.profiles)
}

/// The loads of a candidate in such a state: those of its step, and those of `require … on`, unless it is decided and was never offered.
fn loads_of<'a>(
    side: Side<'a>,
    config: &Config,
    state: State,
) -> impl Iterator<Item = (&'a str, State)> + use<'a> {
    let all = names(side).iter().map(move |p| (&**p, state));
    let setup = side.setup;
    let goal = setup.study.objective.is_some();
    let elsewhere: Vec<(&str, State)> = setup
        .elsewhere()
        .filter(|_| goal)
        .filter_map(|p| {
            let ran = !setup.counted(config, p).is_empty();
            (ran || state != State::Measured).then_some((p, if ran { State::Measured } else { State::Later }))
        })
        .collect();
    all.chain(elsewhere)
}

fn offered(row: &Row) -> Option<&Config> {
    row.config.as_ref().filter(|_| row.role != Role::Incumbent)
}

fn key<'a>(side: Side<'a>, config: &'a Config, profile: &str) -> Key<'a> {
    (config.key(), &config.engine.serve, side.setup.load(profile))
}

fn only(
    own: &IndexMap<Key<'_>, Stands<'_>>,
    others: &IndexMap<Key<'_>, Stands<'_>>,
    side: Side<'_>,
) -> Vec<Changed> {
    let alone = own.iter().filter(|(key, _)| !others.contains_key(*key));
    let changed = alone.map(|(_, s)| Changed {
        id: s.config.map_or_else(
            || Id::of(format!("{WINNER}/{}", side.setup.load(s.profile)).as_bytes()),
            |c| c.trial(side.setup.load(s.profile)),
        ),
        step: s.step.map(str::to_owned),
        label: if s.declared { as_declared(s.label) } else { s.label.to_owned() },
        profile: s.profile.to_owned(),
        command: s.config.map(command::line).unwrap_or_default(),
        state: s.state,
        reason: None,
    });
    changed.collect()
}

/// Why a revision does not run what it has.
fn kept_out(side: Side<'_>) -> std::collections::HashMap<Id, (State, &str)> {
    let states = States::new(side.setup, side.walk);
    let profiles = side.setup.baseline_profiles();
    let mut out = std::collections::HashMap::new();
    for (at, view) in side.walk.steps.iter().enumerate() {
        for (i, row) in view.rows.iter().enumerate() {
            let (state, Some(config)) = (states.of(at, i), offered(row)) else { continue };
            let reason = match state {
                State::Pruned => row.judged.reason.as_deref(),
                State::Skipped => view.skipped.as_deref(),
                _ => continue,
            };
            for profile in &profiles {
                out.insert(config.trial(side.setup.load(profile)), (state, reason.unwrap_or_default()));
            }
        }
    }
    out
}
