//! The evidence in a report document: trials with their runs, launches, and what it all cost.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::metrics::Metrics;

/// A configuration under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub id: Arc<str>,
    pub label: Arc<str>,
    pub config: ConfigText,
    /// The profile's name.
    pub profile: Arc<str>,
    /// Which of a curve's loads ("concurrency 16"); `null` for a profile of one load.
    pub load: Option<Arc<str>>,
    /// What people copy: shell words, quoted, without host and port.
    pub command: String,
    pub outcome: Outcome,
    /// Why it is not `ok`.
    pub reason: Option<Arc<str>>,
    pub findings: Vec<Finding>,
    /// Every run that counts, in order.
    pub runs: Vec<Run>,
    /// The runs' geometric means; empty when nothing was measured.
    pub metrics: Metrics,
    /// The objective's expression on this trial, in `objective.unit`; `null` without an objective or a measurement.
    pub objective: Option<f64>,
}

/// A configuration in its normal form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The engine's name in the study.
    pub engine: String,
    pub version: Option<String>,
    pub model: String,
    pub flags: Vec<Flag>,
    pub env: IndexMap<String, String>,
    /// How many GPUs it takes.
    pub gpus: u32,
}

/// A flag under the first spelling in its schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flag {
    pub name: String,
    /// A number, a string, an object; `true` or `false` for a switch.
    pub value: serde_json::Value,
}

/// What became of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    /// Valid, with a finding to look at.
    Flagged,
    /// Measured, but a validity check or a `require` says no.
    Refused,
    /// The engine or the load failed.
    Failed,
    /// A rule or the schema took it out.
    Pruned,
    /// Never measured: guard, budget, not in the recording.
    Missing,
}

/// What one validity check says of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The check's name: `THROUGHPUT_ID`.
    pub check: Cow<'static, str>,
    pub level: Level,
    pub text: Arc<str>,
}

/// How heavy a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Note,
    Flag,
    Refuse,
}

/// One run of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Counts from 1.
    pub n: u32,
    /// The launch that it came from; `null` for a recorded run.
    pub launch: Option<Arc<str>>,
    pub metrics: Metrics,
    /// The last lines of the engine's log, if the run failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log_tail: Vec<String>,
}

/// A configuration as JSON, shared with the journal where a launch has it. It is looked into when the document is written: a long study has
/// ten thousand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConfigText(Arc<str>);

impl ConfigText {
    /// From its text, as JSON.
    pub fn written(text: Arc<str>) -> Self {
        Self(text)
    }
}

impl From<&Config> for ConfigText {
    fn from(config: &Config) -> Self {
        Self(serde_json::to_string(config).unwrap_or_default().into())
    }
}

impl Serialize for ConfigText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<Config>(&self.0).unwrap_or_default().serialize(to)
    }
}

impl<'de> Deserialize<'de> for ConfigText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Config::deserialize(from).map(|config| Self::from(&config))
    }
}

/// One start of an engine and where its time went, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    pub id: Arc<str>,
    pub config: ConfigText,
    /// From the start of the process until it is ready.
    pub start_s: f64,
    pub warmup_s: f64,
    pub load_s: f64,
    /// Until the process is gone and the GPU free.
    pub stop_s: f64,
    /// perflab's own part: everything that is none of the above.
    pub own_s: f64,
    /// The wait for clean GPUs before and after it.
    #[serde(default)]
    pub drain_s: f64,
    /// It is one of the A/A check of neighbours, which has no trials.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
}

/// What the study cost so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub launches: u32,
    /// Those among them that are of the A/A check of neighbours.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checks: u32,
    /// Configurations under a profile that have a result.
    pub trials: u32,
    /// Their loads: each trial has one of every launch.
    #[serde(default)]
    pub runs: u32,
    pub wall_s: f64,
    /// Seconds times GPUs held.
    pub gpu_s: f64,
    /// Joules drawn by the GPUs; `null` where it is unknown.
    pub energy_j: Option<f64>,
    /// US dollars for the GPU time, at the site's price; `null` where no site gives one.
    #[serde(default)]
    pub usd: Option<f64>,
    /// perflab's own time.
    pub own_s: f64,
    /// The waits for clean GPUs.
    #[serde(default)]
    pub drain_s: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Outcome {
    /// Whether a result of this kind can win.
    pub fn is_valid(self) -> bool {
        matches!(self, Self::Ok | Self::Flagged)
    }

    /// The word in tables and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Flagged => "flagged",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Pruned => "pruned",
            Self::Missing => "missing",
        }
    }
}
