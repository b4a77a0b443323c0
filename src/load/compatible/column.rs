//! One tool's numbers of a load, and those of all tools.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::guidellm;
use super::vllm::Vllm;
use crate::load::dist::Dist;
use crate::load::record::{FailureKind, Outcome, RequestRecord};
use crate::load::spec::{Api, LoadSpec};

/// Columns by tool and version.
pub type Columns = BTreeMap<String, Column>;

/// What a tool would have printed. A rate that it prints and that is not of the load is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Requests that it takes for answered,
    pub completed: u64,
    /// and those that it does not.
    pub failed: u64,
    /// How long the load took by its clock, in seconds.
    pub duration_s: f64,
    /// Prompt tokens of answered requests, as it counts them.
    pub input_tokens: u64,
    /// Tokens that they brought.
    pub output_tokens: u64,
    /// Answered requests per second.
    pub request_rate: f64,
    /// Output tokens per second,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tps: Option<f64>,
    /// and with the prompts' tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tps: Option<f64>,
    /// Time to the first token.
    pub ttft_ms: Option<Dist>,
    /// Time per output token.
    pub tpot_ms: Option<Dist>,
    /// Time between tokens.
    pub itl_ms: Option<Dist>,
    /// Time to the end of the answer.
    pub latency_ms: Option<Dist>,
}

/// Every column of a load. None where answers come as a whole, or by an endpoint that these tools do not ask.
pub fn columns(records: &[RequestRecord], spec: &LoadSpec) -> Columns {
    if !spec.stream || spec.api == Api::Generate {
        return Columns::new();
    }
    let mut all = Columns::new();
    for version in Vllm::ALL {
        all.insert(version.name().to_owned(), version.column(records, spec));
    }
    all.insert(guidellm::NAME.to_owned(), guidellm::column(records));
    all
}

/// Whether a client that looks at nothing but status, transport and JSON saw the answer through to its end: an answer that holds an
/// error, or ends without a reason, is one to it, and one whose body was cut off behind its last word is none.
pub(super) fn was_read(record: &RequestRecord) -> bool {
    use FailureKind::{NoFinishReason, NoTokens, StreamError};
    let passes = |kind| matches!(kind, NoFinishReason | NoTokens | StreamError);
    record.http_status == Some(200)
        && !record.form.cut
        && match &record.outcome {
            Outcome::Ok | Outcome::Short => true,
            Outcome::Failed(failure) => passes(failure.kind),
        }
}

/// From the first request sent to the last end, whatever became of it.
pub(super) fn whole_s(records: &[RequestRecord]) -> f64 {
    let from = records.iter().map(|r| r.sent_ns).min().unwrap_or(0);
    ms(from, records.iter().map(|r| r.end_ns).max().unwrap_or(0)) / 1e3
}

pub(super) fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

pub(super) fn ms(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e6
}
