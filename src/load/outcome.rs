//! What a load leaves behind.

use serde::{Deserialize, Serialize};

use super::compatible::Columns;
use super::findings::Finding;
use super::record::RequestRecord;
use super::server::ServerFacts;
use super::stalls::Stalled;
use super::summary::Summary;

/// How a load came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It sent everything that it was to send.
    Whole,
    /// The observer stopped it at a checkpoint; records and summary are of the requests that had ended by
    /// then.
    StoppedEarly,
    /// It was cancelled; records and summary are of the requests that had ended by then.
    Cancelled,
    /// The server died; open requests failed, what was not sent counts as planned.
    ServerDied,
    /// For a while no request succeeded and no text came, so that no more were sent.
    NothingSucceeded,
}

/// What the warm-up did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WarmupFacts {
    /// Its length in seconds, until its last answer.
    pub seconds: f64,
    /// Requests that ended in it.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Whether it saw the server settle; none if it did not look.
    pub settled: Option<bool>,
}

impl WarmupFacts {
    /// Completed requests per second, by which the load's number of requests is estimated.
    pub(super) fn request_rate(&self) -> f64 {
        let completed = self.requests.saturating_sub(self.failed) as f64;
        if self.seconds > 0.0 { completed / self.seconds } else { 0.0 }
    }
}

/// Where a load's prompts came from.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptFacts {
    /// Prompts that an earlier load had made, taken from the disk,
    pub from_cache: u64,
    /// and those that were made for this one.
    pub made: u64,
    /// A tokenizer was read.
    pub tokenizer_read: bool,
}

/// How much of a load was sent, also where it ended before its time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    /// Requests that were to be sent; none of a load that ends by time, or was cancelled before it began.
    pub planned: Option<u64>,
    /// Requests whose turn had come.
    pub begun: u64,
}

impl Sending {
    /// Requests that were never sent; none where nobody knows how many there would have been.
    pub fn unsent(&self) -> Option<u64> {
        self.planned.map(|planned| planned.saturating_sub(self.begun))
    }

    /// Of so many that ended, those that were dropped in flight.
    pub fn dropped(&self, ended: u64) -> u64 {
        self.begun.saturating_sub(ended)
    }
}

/// A load's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// One record per request that ended, in the order of their ends. Requests of the warm-up have none.
    pub records: Vec<RequestRecord>,
    /// The numbers.
    pub summary: Summary,
    /// What other tools would have printed.
    #[serde(default)]
    pub columns: Columns,
    /// How it ended.
    pub ended: Ended,
    /// How much of it was sent.
    #[serde(default)]
    pub sending: Sending,
    /// What preceded it.
    pub warmup: WarmupFacts,
    /// From the load's start to its last answer, in seconds.
    pub load_s: f64,
    /// What a client that stood still for a while spoilt; none where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled: Option<Stalled>,
    /// What the server said of itself meanwhile, if it was asked and has a page of metrics.
    pub server: Option<ServerFacts>,
    /// Tokens that the model's chat template adds to a prompt, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_tokens: Option<u32>,
    /// Where its prompts came from; none of a load that was cancelled before its first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PromptFacts>,
    /// What a reader of the numbers must know.
    pub findings: Vec<Finding>,
}

impl LoadOutcome {
    /// Whether an observer ended it at a checkpoint.
    pub fn stopped_early(&self) -> bool {
        self.ended == Ended::StoppedEarly
    }

    /// Whether it was cancelled from outside.
    pub fn cancelled(&self) -> bool {
        self.ended == Ended::Cancelled
    }
}
