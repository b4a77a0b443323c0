//! The report document, `perflab.report/1`: everything that a study found, in one tree of plain structs.
//!
//! Scripts read it, so a key never changes its meaning within a version: no flattening, no untagged values, numbers
//! unrounded and in base units with the unit in the key, gains as fractions (0.0209), absent values as `null`.
//! Trials are named by their id everywhere; labels are for people and may repeat.

use std::io;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::evidence::{Cost, Launch, Outcome, Trial};

/// The name and version that stand first in every report document.
pub const SCHEMA: &str = "perflab.report/1";

/// A study's result as it stands: finished or not, measured, simulated or replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of perflab that wrote the document.
    pub perflab: String,
    /// The study's name.
    pub study: String,
    /// The title exactly as written, else the name.
    pub title: String,
    /// The study file, as the user named it.
    pub file: String,
    /// Params that the command line set, as given there.
    #[serde(default)]
    pub set: IndexMap<String, String>,
    /// True when any number here comes from a simulated engine.
    pub simulated: bool,
    /// What was replayed; `null` when the numbers are our own.
    pub replay: Option<Replay>,
    /// False when something that the study asks for is still to be measured.
    pub complete: bool,
    /// How it goes on; `null` where it is complete, and in documents from before this was written.
    #[serde(default)]
    pub goes_on: Option<String>,
    /// What became of results that fail a validity check.
    pub checks: Checks,
    /// The study's model, as written.
    pub model: String,
    /// The GPUs that the study asks for; `null` when it asks for none.
    pub gpus: Option<Gpus>,
    /// The engines that stand in the study, in written order.
    pub engines: Vec<Engine>,
    /// The loads that the study uses, the objective's first.
    pub profiles: Vec<Profile>,
    /// What counts as better; `null` when the study only prints tables.
    pub objective: Option<Objective>,
    /// What must hold, as written: "p99(ttft) <= 500ms on chat"; what holds unless a study says otherwise stands there too.
    #[serde(default)]
    pub require: Vec<String>,
    /// The gain from which on a step adopts, as a fraction.
    pub adopt: f64,
    /// Launches of every candidate; `null` under `repeat auto`.
    pub repeat: Option<u32>,
    /// Standard deviation of the objective from run to run, as a fraction; `null` where it is not known.
    pub noise: Option<f64>,
    /// The baseline's trial on the objective's first profile (without an objective: on the study's first).
    pub baseline: String,
    /// Engines that are tuned apart, in written order.
    #[serde(default)]
    pub tracks: Vec<Track>,
    /// Every step in written order, tracks flattened, skipped ones too. After a row of tracks stands the step in which
    /// their winners meet the incumbent from before them.
    pub steps: Vec<Step>,
    /// Every trial, pruned, failed and missing ones too.
    pub trials: Vec<Trial>,
    /// Baseline against recommendation on each profile of `confirm on`.
    pub confirm: Vec<Confirm>,
    /// The one serve command; `null` when nothing is recommended.
    pub recommended: Option<Recommended>,
    /// Why nothing is recommended, as a fragment ("the baseline is refused: …"); `null` when something is.
    pub no_recommendation: Option<String>,
    /// The study's own `note` lines.
    pub notes: Vec<String>,
    /// What a reader must know to trust the numbers: versions that differ, checks overruled, settings that were dropped.
    pub warnings: Vec<String>,
    /// What the validity checks could not look at, and why.
    pub not_checked: Vec<String>,
    /// Every start of an engine, in order.
    pub launches: Vec<Launch>,
    /// What the study cost so far, over all invocations.
    pub cost: Cost,
}

/// The recording behind a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// Its name.
    pub recording: String,
    pub title: String,
    /// The hardware it names.
    pub hardware: String,
    /// The tool that it was measured with; `null` when it does not say.
    pub measured_with: Option<String>,
    /// Where it differs from the study: loads, versions, hardware.
    pub differences: Vec<String>,
}

/// What a failed validity check does to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checks {
    /// It cannot win.
    Refuse,
    /// It is shown and counts.
    Warn,
}

/// `gpus 1 of "H100"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpus {
    pub count: u32,
    /// The text that the device name holds; `null` when any will do.
    pub of: Option<String>,
}

/// An engine as the study declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engine {
    pub name: String,
    /// For people: "vLLM".
    pub title: String,
    /// The standard library's engine that it derives from in the end: `vllm`.
    pub root: String,
    pub version: Option<String>,
}

/// A load as the study declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub name: String,
    pub title: String,
    /// One line: "1000 requests at once, ShareGPT".
    pub load: String,
}

/// `maximize total_tps on sharegpt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// As written.
    pub expr: String,
    /// With derived metrics and params put in, in base units; `null` where it is written without any.
    #[serde(default)]
    pub means: Option<String>,
    pub direction: Direction,
    pub profiles: Vec<String>,
    /// The unit of every `objective` number in trials and rows, for people: "tok/s"; `null` for a bare number.
    pub unit: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Maximize,
    Minimize,
}

/// An engine that is tuned apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// The engine's name in the study.
    pub name: String,
    /// Exactly as written, else the name.
    pub title: String,
    pub notes: Vec<String>,
}

/// One step: its candidates and what was decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub name: String,
    /// Exactly as written, else the name.
    pub title: String,
    /// The name of the track that it belongs to; `null` outside tracks.
    pub track: Option<String>,
    /// What the candidates change: `best`, a step or an engine, as written.
    pub base: String,
    /// The condition after `when`, as written.
    pub guard: Option<String>,
    /// Why the step was not run; `null` when it was.
    pub skipped: Option<String>,
    /// The candidate that the step settled on, adopted or not; `null` when nothing was valid or the step was skipped.
    pub chosen: Option<String>,
    /// True when the step changed the incumbent.
    pub adopted: bool,
    pub by: By,
    /// Why, as a fragment: the `because` of a pick, a tie, a constraint. `null` when the gain says it all.
    pub reason: Option<String>,
    /// The best valid candidate's against the incumbent, adopted or not; `null` when nothing was valid.
    pub gain: Option<Gain>,
    /// The candidates' trials on the objective's first profile, in written order.
    pub candidates: Vec<Arc<str>>,
    /// The trial of the best valid candidate; `null` when nothing was valid.
    pub best: Option<String>,
    /// The trial of the incumbent that the gains are against.
    pub incumbent_before: String,
    /// The trial of the incumbent as the step left it.
    pub incumbent_after: String,
    /// The step's table in reading order: incumbent, base where it is another, candidates.
    pub rows: Vec<Row>,
    /// What else is to be said of the step: an A/A pair, a factor that cannot bind, an empty axis.
    pub notes: Vec<String>,
}

/// Who chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Rule,
    Hand,
}

/// One line of a step's table. A trial has a row in every step in which it stands, judged as that step judged it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub role: Role,
    /// Its trial on the objective's first profile.
    pub trial: Arc<str>,
    /// Its name in this step: "32Ki".
    pub label: Arc<str>,
    /// What it changes over the base, as flags and variables; empty for the base itself.
    pub changes: Box<[Arc<str>]>,
    /// The label and place of the earlier row that is the same trial; `null` for a trial of its own.
    pub same_as: Option<String>,
    pub outcome: Outcome,
    /// Why it is not `ok`.
    pub reason: Option<Arc<str>>,
    /// The objective over all of its profiles (geometric mean), in `objective.unit`; `null` when it was not measured.
    pub objective: Option<f64>,
    /// How far its launches lie apart on the objective; `null` for a single run.
    #[serde(default)]
    pub spread: Option<Box<Spread>>,
    /// Gain over the incumbent, as a fraction; `null` for the incumbent, where nothing was measured and where there is no ratio (from 0).
    pub gain: Option<f64>,
    /// The gain's interval; `null` without repeats.
    #[serde(default)]
    pub gain_low: Option<f64>,
    #[serde(default)]
    pub gain_high: Option<f64>,
}

/// Several launches of one configuration on the objective, in `objective.unit`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub runs: u32,
    pub min: f64,
    pub max: f64,
    /// Of the sample: divided by n − 1.
    pub stddev: f64,
}

/// Why a row stands in a step's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What the gains are against.
    Incumbent,
    /// What the candidates change, where that is not the incumbent.
    Base,
    Candidate,
}

/// How much better, and how well that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// A fraction: 0.0209 is +2.09 %; `null` where what is compared with is 0, as then there is no ratio.
    pub value: Option<f64>,
    /// Lower end of its interval; `null` where there is none.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub by: Proof,
}

/// What a gain rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Fresh launches of both, made for the proof alone.
    Proven,
    /// Several runs, the ones that chose it included.
    Repeats,
    /// One run against one run.
    SingleRun,
    /// Nothing: there is no difference to speak of.
    None,
}

/// Baseline against recommendation on one profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirm {
    pub profile: String,
    /// Trial ids.
    pub baseline: String,
    pub recommended: String,
    /// The objective of the two, from the confirming launches; `null` where it was not measured.
    #[serde(default)]
    pub baseline_objective: Option<f64>,
    #[serde(default)]
    pub recommended_objective: Option<f64>,
    /// What the baseline failed on in these launches, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_failed: Option<String>,
    /// `null` when one of them has no valid result.
    pub gain: Option<Gain>,
    pub verdict: Verdict,
    /// A recording has no other runs than those that the steps used, and they stand here again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_the_steps: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Better,
    Same,
    Worse,
    /// The recommended one failed in one of these launches.
    Failed,
    Unproven,
}

/// The serve command that the study ends in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recommended {
    /// Its trial on the objective's first profile.
    pub trial: String,
    /// What people copy: shell words, quoted, without host and port.
    pub command: String,
    /// The same as unquoted words, without environment, `publish` applied.
    pub argv: Vec<String>,
    pub env: IndexMap<String, String>,
    pub published: Published,
    /// Against the baseline, on the objective.
    pub gain: Gain,
    /// True when the budget ended, the study was stopped or the machine failed before every candidate was measured.
    pub partial: bool,
}

/// Where the recommended command is not the one that was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Flags that were not measured.
    pub added: Vec<String>,
    /// Flags that were measured and are left out.
    pub hidden: Vec<String>,
}

/// Why a text is not a report document that this version reads.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Another document, or another version of this one.
    #[error("the document is `{found}`, this version reads `{SCHEMA}`")]
    Schema { found: String },
    /// Not JSON, or not of this shape.
    #[error("not a report document: {0}")]
    Shape(#[from] serde_json::Error),
}

/// The first field alone, to tell a foreign document from a broken one.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

impl Report {
    /// The document as indented JSON with a final newline: what `report.json` and `--format json` hold.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }

    /// The same as it is made.
    pub fn write_json(&self, mut out: impl io::Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut out, self)?;
        out.write_all(b"\n")
    }

    /// Reads a document back; refuses other documents and other versions by name.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let head: Head = serde_json::from_str(text)?;
        if head.schema != SCHEMA {
            return Err(ReadError::Schema { found: head.schema });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The word that every heading and table carries unless the numbers are our own measurements.
    pub fn tag(&self) -> Option<&'static str> {
        match (self.simulated, self.replay.is_some()) {
            (true, true) => Some("simulated, recorded"),
            (true, false) => Some("simulated"),
            (false, true) => Some("recorded"),
            (false, false) => None,
        }
    }
}

impl Verdict {
    /// The word in tables and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Same => "same",
            Self::Worse => "worse",
            Self::Failed => "failed",
            Self::Unproven => "unproven",
        }
    }
}
