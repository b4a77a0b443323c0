//! The results there are: for a configuration under a profile always a list of runs, never one number.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::devices::Devices;
use super::metrics::Metrics;

/// How one run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum RunOutcome {
    Done,
    /// a rule of the study ended the load
    Stopped {
        rule: String,
        /// what the rule was then ([`super::rules::definition`]); empty in journals from before it was written down
        #[serde(default, skip_serializing_if = "String::is_empty")]
        when: String,
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
    pub launch: Arc<str>,
    pub outcome: RunOutcome,
    pub metrics: Metrics,
    /// what the load generator noticed, as sentences
    pub notes: Vec<String>,
    /// what its GPUs did; `None` where it asked for none, and for a recording's
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<Box<Devices>>,
    /// ran in a launch of `confirm on`, which steps do not count
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirming: bool,
    /// its server said that it is perflab's own simulator, whatever the engine is declared as
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// the last lines of the log of a run that failed
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log_tail: Vec<String>,
}

/// Runs by configuration and profile, those of confirming launches apart. They are shared with the journal that tells of them.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// profiles are few, and ten thousand configurations have them
    runs: HashMap<Arc<str>, Vec<(Arc<str>, Lists)>>,
}

#[derive(Debug, Clone, Default)]
struct Lists {
    steps: Vec<Arc<Run>>,
    confirming: Vec<Arc<Run>>,
}

impl Results {
    pub fn add(&mut self, config: &Arc<str>, profile: &Arc<str>, run: impl Into<Arc<Run>>) {
        let run = run.into();
        let of_config = self.runs.entry(config.clone()).or_default();
        let at = of_config.iter().position(|(name, _)| name == profile).unwrap_or_else(|| {
            push_one(of_config, (profile.clone(), Lists::default()));
            of_config.len() - 1
        });
        let (_, lists) = &mut of_config[at];
        push_one(if run.confirming { &mut lists.confirming } else { &mut lists.steps }, run);
    }

    /// The runs that steps may count, in the order in which they ran.
    pub fn of(&self, config: &str, profile: &str) -> &[Arc<Run>] {
        self.lists(config, profile).map_or(&[], |l| &l.steps)
    }

    /// The runs of confirming launches, in the order in which they ran.
    pub fn confirming(&self, config: &str, profile: &str) -> &[Arc<Run>] {
        self.lists(config, profile).map_or(&[], |l| &l.confirming)
    }

    /// How often a configuration ran under a profile, for whatever purpose.
    pub fn count(&self, config: &str, profile: &str) -> usize {
        self.of(config, profile).len() + self.confirming(config, profile).len()
    }

    fn lists(&self, config: &str, profile: &str) -> Option<&Lists> {
        let (_, lists) = self.runs.get(config)?.iter().find(|(name, _)| **name == *profile)?;
        Some(lists)
    }
}

/// Adds to a list that mostly has one element: room for more would be most of what a long study takes.
fn push_one<T>(list: &mut Vec<T>, one: T) {
    list.reserve_exact(1);
    list.push(one);
}
