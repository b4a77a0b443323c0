//! The `perflab.plan/1` document.

use indexmap::IndexMap;
use serde::Serialize;

use super::against::Against;
use super::budgets::Limit;
use super::candidate::{Candidate, Candidates};

#[derive(Debug, Serialize)]
pub struct Plan<'a> {
    pub schema: &'static str,
    pub study: &'a str,
    pub title: &'a str,
    /// whether the baseline is the simulated engine
    pub simulated: bool,
    /// params that the command line set, as given there
    pub set: &'a IndexMap<String, String>,
    /// the site that says how engines are launched
    pub site: Option<&'a str>,
    /// how the engines are launched that the study may launch
    pub engines: Vec<Launched>,
    pub model: &'a str,
    pub gpus: Option<Gpus<'a>>,
    /// launches of the baseline's size at a time; `None` where one runs after another
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_by_side: Option<SideBySide>,
    pub objective: Option<Objective<'a>>,
    /// the gain from which a step adopts, a fraction
    pub adopt: f64,
    /// launches of every candidate; `None` where the study's results decide
    pub repeat: Option<u32>,
    pub require: Vec<Require>,
    /// the loads that steps measure
    pub profiles: Vec<Profile<'a>>,
    /// every load of the study by its name, in a line
    #[serde(skip)]
    pub loads: Vec<(String, String)>,
    pub launches: Launches,
    pub trials: Counts,
    pub gpu_time_s: Prediction,
    /// from the first launch to the end, seconds; `None` where nothing is known to predict from
    pub ends_in_s: Option<f64>,
    /// of the study, its tracks and its steps
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Limit>,
    pub baseline: Candidate<'a>,
    /// what its engine is called
    #[serde(skip)]
    pub baseline_title: &'a str,
    /// long steps are shown whole
    #[serde(skip)]
    pub whole: bool,
    pub steps: Vec<Step<'a>>,
    /// profiles that baseline and winner are launched on afterwards
    pub confirm: &'a [String],
    /// profiles whose curves are asked for, which this version does not measure
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub curve: &'a [String],
    pub rules: Vec<Rule<'a>>,
    /// what `publish` makes of the baseline's command
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<Publish>,
    pub notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
}

/// What a command has that was not measured with it, and what it was measured with and has not.
#[derive(Debug, Serialize)]
pub struct Publish {
    pub added: Vec<String>,
    pub hidden: Vec<String>,
}

/// How an engine is launched on this machine.
#[derive(Debug, Clone, Serialize)]
pub struct Launched {
    pub name: String,
    pub version: Option<String>,
    /// `path`, `venv`, `docker`, `podman` or `url`
    pub via: &'static str,
    /// the virtual environment's directory, the image or the address
    pub from: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Gpus<'a> {
    pub count: u32,
    pub of: Option<&'a str>,
}

/// Launches on GPUs of their own.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SideBySide {
    /// so many GPUs have room for
    pub launches: usize,
    /// whether neighbours leave each other alone; `None`: an A/A check will tell
    pub harmless: Option<bool>,
    /// launches that the check takes, at least
    pub check: usize,
    /// `false`: the check would take longer than it saves, and launches run one after another unless `--parallel` says how many
    pub pays: bool,
}

#[derive(Debug, Serialize)]
pub struct Objective<'a> {
    pub expr: &'a str,
    /// with derived metrics and params put in; `None` where it is written without any
    pub means: Option<String>,
    pub direction: &'static str,
    pub profiles: &'a [String],
}

#[derive(Debug, Serialize)]
pub struct Require {
    pub expr: String,
    /// with derived metrics and params put in; `None` where it is written without any
    pub means: Option<String>,
    /// the profile that it is about; `None`: each of the objective's
    pub on: Option<String>,
    /// holds unless a study says otherwise
    pub implied: bool,
}

/// A load. Its identity is that of its settings: a profile of another name may have the same.
#[derive(Debug, Serialize)]
pub struct Profile<'a> {
    pub name: &'a str,
    pub id: &'a str,
    pub load: String,
}

#[derive(Debug, Serialize)]
pub struct Launches {
    /// still to come, at most
    pub max: usize,
}

#[derive(Debug, Default, Serialize)]
pub struct Counts {
    pub max: usize,
    pub to_measure: usize,
    pub measured: usize,
    pub pruned: usize,
}

#[derive(Debug, Serialize)]
pub struct Prediction {
    /// `None` where nothing is known to predict from
    pub predicted: Option<f64>,
    pub by: &'static str,
    /// what it assumes for want of knowing it, or why there is none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Step<'a> {
    pub name: &'a str,
    pub title: &'a str,
    /// the name of the track that it belongs to
    pub track: Option<&'a str>,
    /// its title under its track's
    #[serde(skip)]
    pub heading: String,
    pub base: &'a str,
    /// what the engine is called that it is over, where that is one
    #[serde(skip)]
    pub base_title: Option<&'a str>,
    /// the tracks whose winners meet here
    #[serde(skip)]
    pub contest: &'a [String],
    pub guard: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pick: Option<&'a str>,
    /// the candidate that was picked
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picked: Option<String>,
    /// the notes of the track that it begins
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub track_notes: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub notes: &'a [String],
    /// what its track begins with, where that is measured here first
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Candidate<'a>>,
    pub candidates: Candidates<'a>,
}

#[derive(Debug, Serialize)]
pub struct Rule<'a> {
    pub name: &'a str,
    pub reason: &'a str,
    pub when: &'a str,
    /// completed requests after which it is settled during the load
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// when it is settled
    pub settled: &'static str,
    /// candidates that it prunes now
    pub prunes: usize,
    /// candidates that it may prune later
    pub may_prune: usize,
}

impl Rule<'_> {
    /// Its condition as it is written.
    pub fn condition(&self) -> String {
        let after = self.after.map(|n| format!(" after {n} requests")).unwrap_or_default();
        format!("{}{after}", self.when)
    }
}
