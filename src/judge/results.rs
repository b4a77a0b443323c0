//! The results there are: for a configuration under a profile always a list of runs, never one number.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::metrics::Metrics;

/// How one run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum RunOutcome {
    Done,
    /// a rule of the study ended the load
    Stopped {
        rule: String,
    },
    /// the engine did not start; the failure's name, and the log line that says so
    FailedStart {
        class: String,
        line: String,
    },
    /// the engine died or stalled under load
    FailedLoad {
        class: String,
        line: String,
    },
}

/// One run: the n-th load of a configuration under a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// counts from 1
    pub n: u32,
    /// the launch that it ran in; empty for a recording's
    pub launch: String,
    pub outcome: RunOutcome,
    pub metrics: Metrics,
    /// what the load generator noticed, as sentences
    pub notes: Vec<String>,
}

/// Runs by configuration and profile.
#[derive(Debug, Clone, Default)]
pub struct Results {
    runs: HashMap<String, HashMap<String, Vec<Run>>>,
}

impl Results {
    pub fn add(&mut self, config: &str, profile: &str, run: Run) {
        let of_config = self.runs.entry(config.to_owned()).or_default();
        of_config.entry(profile.to_owned()).or_default().push(run);
    }

    /// All runs, in the order in which they ran.
    pub fn of(&self, config: &str, profile: &str) -> &[Run] {
        self.runs.get(config).and_then(|c| c.get(profile)).map_or(&[], Vec::as_slice)
    }
}
