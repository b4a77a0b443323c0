//! Recordings: runs that others made and published. A replay answers trials from them and never guesses one that is not there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value as Json;
use thiserror::Error;

use crate::judge::{Distribution, Metrics, Results, Run, RunOutcome};
use crate::lang::Program;
use crate::lang::sema::beside_the_client;
use crate::lang::sema::program::{Change, Engine, EnvSetting, Profile, WrittenValue};
use crate::lang::sema::schema::{Found, Schema};
use crate::lang::source::Span;
use crate::plan::{Config, profile};

/// Why a recording cannot be read.
#[derive(Debug, Error)]
pub enum RecordingError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: this is not a recording ({why})")]
    Format { path: PathBuf, why: String },
}

/// A recording as it lies in its file. What it does not say is `None`.
#[derive(Debug, Clone, Deserialize)]
pub struct Recording {
    pub recording: String,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub hardware: Option<String>,
    #[serde(default)]
    pub measured_with: Option<String>,
    #[serde(default)]
    pub engine_versions: IndexMap<String, String>,
    #[serde(default)]
    pub profiles: IndexMap<String, IndexMap<String, Json>>,
    pub runs: Vec<RecordedRun>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct RecordedRun {
    pub engine: String,
    /// its release, where the recording has several
    #[serde(default)]
    pub version: Option<String>,
    pub model: String,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub env: IndexMap<String, String>,
    pub profile: String,
    pub outcome: String,
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub metrics: Option<IndexMap<String, Json>>,
}

/// What a study can use of a recording.
#[derive(Debug, Default)]
pub struct Answers {
    pub results: Results,
    /// where recording and study differ, as sentences
    pub differences: Vec<String>,
}

impl Recording {
    pub fn read(path: &Path) -> Result<Self, RecordingError> {
        let text = fs::read_to_string(path)
            .map_err(|source| RecordingError::Io { path: path.to_owned(), source })?;
        serde_json::from_str(&text)
            .map_err(|e| RecordingError::Format { path: path.to_owned(), why: e.to_string() })
    }

    /// Puts the runs under the study's configurations and profiles.
    pub fn answers(&self, program: &Program) -> Answers {
        let mut out = Answers::default();
        let mut notes = BTreeSet::new();
        for (name, recorded) in &self.profiles {
            if let Some(p) = program.profiles.get(name) {
                notes.extend(load_differences(name, recorded, p));
            }
        }
        for run in &self.runs {
            let Some(p) = program.profiles.get(&run.profile) else {
                notes.insert(format!(
                    "the recording's profile `{}` is not in the file; its runs are not used",
                    run.profile
                ));
                continue;
            };
            for engine in self.engines(run, program, &mut notes) {
                if let Some(config) = config_of(run, &engine, &mut notes) {
                    let (config, profile_id) = (Arc::from(config.id()), Arc::from(profile::id(p)));
                    let n = out.results.of(&config, &profile_id).len() as u32 + 1;
                    let planned = self.planned(&run.profile).or(p.requests.map(|n| n as f64));
                    out.results.add(&config, &profile_id, run.as_run(n, planned));
                }
            }
        }
        out.differences = notes.into_iter().collect();
        out
    }

    /// How many requests were to be sent, by the recording's own count.
    fn planned(&self, profile: &str) -> Option<f64> {
        let p = self.profiles.get(profile)?;
        ["total_requests", "num_prompts"].iter().find_map(|k| p.get(*k)?.as_f64())
    }

    /// The study's engines that a recorded run can be of: that of its release, else one for each version.
    fn engines(
        &self,
        run: &RecordedRun,
        program: &Program,
        notes: &mut BTreeSet<String>,
    ) -> Vec<Arc<Engine>> {
        let root = run.engine.as_str();
        let mut found: Vec<Arc<Engine>> = Vec::new();
        let stated = |e: &Engine| e.ancestry.len() > 1 || e.version.is_some();
        let same_root = || program.engines.values().filter(|e| e.root() == root);
        // a root is imported to derive from; it stands for itself only where nothing does
        let alone = !same_root().any(|e| stated(e));
        for engine in same_root().filter(|e| alone || stated(e)) {
            if !found.iter().any(|f| f.version == engine.version) {
                found.push(engine.clone());
            }
        }
        let Some(recorded) = run.version.as_ref().or(self.engine_versions.get(root)) else { return found };
        if found.iter().any(|e| e.version.as_ref() == Some(recorded)) {
            found.retain(|e| e.version.as_ref() == Some(recorded));
            return found;
        }
        for engine in &found {
            let stated = engine.version.as_deref().unwrap_or("no version");
            notes.insert(format!("{} is {stated} in the file and {recorded} in the recording", engine.title));
        }
        found
    }
}

impl RecordedRun {
    fn as_run(&self, n: u32, planned: Option<f64>) -> Run {
        let message = || self.message.clone().unwrap_or_default();
        let outcome = if self.outcome == "completed" {
            RunOutcome::Done
        } else {
            RunOutcome::FailedStart { class: self.outcome.clone(), line: message() }
        };
        let metrics = self.metrics.as_ref().map(|m| metrics(m, planned)).unwrap_or_default();
        Run {
            n,
            launch: "".into(),
            outcome,
            metrics,
            notes: Vec::new(),
            devices: None,
            confirming: false,
            simulated: false,
            log_tail: Vec::new(),
        }
    }
}

/// The configuration that a recorded run had; flags may be abbreviated as argparse allows.
fn config_of(run: &RecordedRun, engine: &Arc<Engine>, notes: &mut BTreeSet<String>) -> Option<Config> {
    let mut config = Config::bare(engine, &run.model);
    let span = Span::default();
    for (name, value) in &run.env {
        config
            .set(&Change::Env(EnvSetting { name: name.clone(), value: value.clone(), template: false }))
            .ok()?;
    }
    for (name, value) in words(&run.flags) {
        let full = full_name(&engine.schema, engine.version.as_deref(), &name);
        let value =
            value.map(|text| WrittenValue { json: text.starts_with('{'), text, template: false, span });
        let change = Change::Flag { name: full.clone(), value: value.clone(), span };
        if let Err(problem) = config.set(&change) {
            notes.insert(format!("in the recording: {}", problem.reason(&name, engine)));
            config.set(&Change::Raw { name: full, value, span }).ok()?;
        }
    }
    Some(config)
}

/// `--flag=value`, `--flag value` (as one word or two) and `--flag`, as names and values.
fn words(flags: &[String]) -> Vec<(String, Option<String>)> {
    let mut out: Vec<(String, Option<String>)> = Vec::new();
    for word in flags {
        let is_flag = word.starts_with('-') && !word[1..].starts_with(|c: char| c.is_ascii_digit());
        // a value may hold either: the first of them ends the name
        match (is_flag, word.split_once(['=', ' ']), out.last_mut()) {
            (true, Some((name, value)), _) => {
                out.push((name.to_owned(), Some(value.trim_start().to_owned())));
            }
            (false, _, Some((_, value @ None))) => *value = Some(word.clone()),
            (false, _, Some((_, Some(value)))) => {
                value.push(' ');
                value.push_str(word);
            }
            _ => out.push((word.clone(), None)),
        }
    }
    out
}

/// The flag that an abbreviation stands for, if it stands for one only.
fn full_name(schema: &Schema, version: Option<&str>, name: &str) -> String {
    if !matches!(schema.find(name, version), Found::Unknown) {
        return name.to_owned();
    }
    match schema.longer(name, version).as_slice() {
        [one] => (*one).to_owned(),
        _ => name.to_owned(),
    }
}

/// A recording's metrics under our names. Only what was printed: nothing is computed that a reader could not check.
fn metrics(recorded: &IndexMap<String, Json>, planned: Option<f64>) -> Metrics {
    const NUMBERS: [(&str, &str); 9] = [
        ("successful_requests", "completed"),
        ("max_request_concurrency", "max_concurrency"),
        ("duration_s", "duration_s"),
        ("total_input_tokens", "input_tokens"),
        ("total_generated_tokens", "output_tokens"),
        ("request_throughput", "request_rate"),
        ("output_tps", "output_tps"),
        ("peak_output_tps", "peak_output_tps"),
        ("total_tps", "total_tps"),
    ];
    let mut out = Metrics::default();
    let number = |name: &str| recorded.get(name).and_then(Json::as_f64);
    for (theirs, ours) in NUMBERS {
        if let Some(v) = number(theirs) {
            out.set(ours, v);
        }
    }
    // what the language has names for, under these names and in base units
    for name in ["input_tps", "startup_s"].into_iter().chain(beside_the_client()) {
        if let Some(v) = number(name) {
            out.set(name, v);
        }
    }
    if let Some(v) = number("peak_concurrent_requests") {
        out.set("peak_concurrency", v);
    }
    if let (Some(done), Some(planned)) = (number("successful_requests"), planned.filter(|p| *p > 0.0)) {
        out.set("planned", planned);
        out.set("failed", (planned - done).max(0.0));
        out.set("success_rate", done / planned);
    }
    for (prefix, unit, ours, scale) in [
        ("latency", "s", "latency_ms", 1e3),
        ("ttft", "ms", "ttft_ms", 1.0),
        ("tpot", "ms", "tpot_ms", 1.0),
        ("itl", "ms", "itl_ms", 1.0),
    ] {
        let stat = |s: &str| number(&format!("{prefix}_{s}_{unit}")).map(|v| v * scale);
        let d = Distribution {
            mean: stat("mean"),
            stddev: stat("stddev").or_else(|| stat("std")),
            p50: stat("p50").or_else(|| stat("median")),
            p90: stat("p90"),
            p95: stat("p95"),
            p99: stat("p99"),
            p999: stat("p999"),
            min: stat("min"),
            max: stat("max"),
        };
        if d != Distribution::default() {
            out.set_distribution(ours, d);
        }
    }
    out
}

/// Where a recorded load and the file's differ.
fn load_differences(name: &str, recorded: &IndexMap<String, Json>, p: &Profile) -> Vec<String> {
    let number = |keys: &[&str]| keys.iter().find_map(|k| recorded.get(*k)?.as_f64());
    let mut out = Vec::new();
    let mut compare = |what: &str, theirs: Option<f64>, ours: Option<f64>| {
        if let (Some(a), Some(b)) = (theirs, ours)
            && (a - b).abs() > 1e-9
        {
            out.push(format!("profile `{name}`: {what} {b} in the file, {a} in the recording"));
        }
    };
    let fixed = |t: Option<(u32, u32)>| t.filter(|(a, b)| a == b).map(|t| f64::from(t.0));
    compare("requests", number(&["total_requests", "num_prompts"]), p.requests.map(|n| n as f64));
    compare(
        "input tokens",
        number(&["dataset_input_tokens", "input_tokens"]),
        fixed(p.input.filter(|_| p.prefix.is_none())),
    );
    compare("output tokens", number(&["dataset_output_tokens", "output_tokens"]), fixed(p.output));
    compare("seed", number(&["dataset_seed", "seed"]), Some(p.seed as f64));
    let rate = match &p.load {
        Some(crate::lang::sema::program::Load::Rate { per_s, .. }) => Some(*per_s),
        _ => None,
    };
    compare("rate", number(&["request_rate"]), rate);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_joined_and_spaced() {
        let flags: Vec<String> =
            ["--a=1", "--b", "2", "--c", "-tp=4", "--d", "-1", "--e 3", r#"--f {"x": "y=1"}"#, "--g=a b"]
                .map(String::from)
                .to_vec();
        let read = words(&flags);
        let expected = [
            ("--a", Some("1")),
            ("--b", Some("2")),
            ("--c", None),
            ("-tp", Some("4")),
            ("--d", Some("-1")),
            ("--e", Some("3")),
            ("--f", Some(r#"{"x": "y=1"}"#)),
            ("--g", Some("a b")),
        ];
        let expected: Vec<_> =
            expected.iter().map(|(n, v)| ((*n).to_owned(), v.map(str::to_owned))).collect();
        assert_eq!(read, expected);
    }
}
