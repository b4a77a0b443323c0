//! What a reader of a bench's numbers must know: what the load found, and whether the server had seen its prompts.

use serde_json::{Value, json};

use super::args::BenchArgs;
use super::data_args::DataSet;
use crate::judge::{Metrics, prefix};
use crate::load::{Finding, LoadOutcome};

/// All notes: each has a `text`, what it is of (`finding`), and its numbers.
pub(super) fn of(args: &BenchArgs, outcome: &LoadOutcome) -> Vec<Value> {
    let told = outcome.findings.iter().map(as_json);
    told.chain(seen_before(args, outcome)).collect()
}

fn as_json(finding: &Finding) -> Value {
    let mut value = serde_json::to_value(finding).unwrap_or_else(|_| json!({}));
    value["text"] = finding.to_string().into();
    value
}

/// Random prompts that were in the server's prefix cache. Which loads a server had before this one, nobody else can tell.
fn seen_before(args: &BenchArgs, outcome: &LoadOutcome) -> Option<Value> {
    // what other data sets ask may begin alike
    if args.data.dataset_name != DataSet::Random || args.data.random_prefix_len > 0 {
        return None;
    }
    let summary = &outcome.summary;
    let by_answers = summary.cached_tokens.map(|tokens| tokens as f64);
    let hits = by_answers.or_else(|| outcome.server.as_ref()?.prefix_hit_tokens)?;
    let mut metrics = Metrics::default();
    metrics.set("prefix_hit_tokens", hits);
    metrics.set("input_tokens", summary.input_tokens as f64);
    metrics.set("completed", summary.completed as f64);
    let own = args.data.tokenizer.as_ref().and_then(|_| own_length(outcome));
    let share = prefix::unplanned_share(&metrics, own).filter(|share| *share > prefix::TOLERATED)?;
    let text = format!(
        "{:.1} % of the prompt tokens were in the server's prefix cache: it had seen prompts that begin as these. Another --seed \
         asks others",
        share * 100.0
    );
    Some(json!({"finding": "seen_before", "share": share, "text": text}))
}

/// The mean length of the prompts that were answered, by our own count.
fn own_length(outcome: &LoadOutcome) -> Option<f64> {
    let lengths = outcome.records.iter().filter(|r| r.is_completed()).map(|r| f64::from(r.prompt_tokens_own));
    let (count, sum) = lengths.fold((0_u32, 0.0), |(count, sum), length| (count + 1, sum + length));
    (count > 0).then(|| sum / f64::from(count))
}
