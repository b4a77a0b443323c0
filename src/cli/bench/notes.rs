//! What a reader of a bench's numbers must know: what the load found, what went wrong with it, and whether the server had seen its
//! prompts.

use serde_json::{Value, json};

use super::args::BenchArgs;
use super::stated;
use crate::data::Source;
use crate::judge::{Level, Metrics, checks, prefix};
use crate::load::{Api, Finding, LoadOutcome, LoadSpec, Stalled};

/// Something to be known.
pub(super) struct Note {
    /// The numbers are not what they seem to be: it is said however quiet it is to be.
    pub warning: bool,
    pub text: String,
    kind: Value,
}

impl Note {
    fn new(warning: bool, text: String, kind: Value) -> Self {
        Self { warning, text, kind }
    }

    /// What it is of (`finding`), its numbers, its `level` and its `text`.
    pub(super) fn json(&self) -> Value {
        let mut value = self.kind.clone();
        value["level"] = if self.warning { "warning" } else { "note" }.into();
        value["text"] = self.text.as_str().into();
        value
    }
}

/// All of it, what only explains the numbers first.
pub(super) fn of(args: &BenchArgs, spec: &LoadSpec, outcome: &LoadOutcome) -> Vec<Note> {
    let told = outcome.findings.iter().map(found).chain(seen_before(spec, outcome));
    let told =
        told.chain(unchecked(spec)).chain(no_columns(args, spec, outcome)).chain(missed(spec, outcome));
    let mut all: Vec<Note> = told.chain(failed(outcome)).chain(slow_client(args, outcome)).collect();
    all.sort_by_key(|note| note.warning);
    all
}

/// What kept the client from reading in time, by the limits beyond which a study refuses a measurement.
pub(super) fn held_up(outcome: &LoadOutcome) -> Option<String> {
    let client = outcome.summary.client;
    let held = checks::held_up(client.loop_lag_p99_ms, client.stall_ms)?;
    Some(format!("this machine held the client up {held}"))
}

fn found(finding: &Finding) -> Note {
    let warning = matches!(
        finding,
        Finding::Interrupted { .. } | Finding::GaveUp { .. } | Finding::TurnsDropped { .. }
    );
    let kind = serde_json::to_value(finding).unwrap_or_else(|_| json!({}));
    Note::new(warning, finding.to_string(), kind)
}

fn failed(outcome: &LoadOutcome) -> Option<Note> {
    let first = outcome.records.iter().find_map(|r| r.outcome.failure())?;
    let failed = outcome.summary.failed;
    let text = format!("{failed} requests failed, the first so: {first}");
    Some(Note::new(true, text, json!({"finding": "requests_failed", "requests": failed, "first": first})))
}

/// A client that stood still, for so long that nothing of the load is to be believed, or so often that what is shown may be spoilt.
fn slow_client(args: &BenchArgs, outcome: &LoadOutcome) -> Option<Note> {
    if let Some(held_up) = held_up(outcome) {
        let text = format!("{held_up}: its times are not the server's, measure again");
        return Some(Note::new(true, text, json!({"finding": "client_held_up"})));
    }
    let stalled = outcome.stalled.filter(|stalled| shows(stalled, args.highest_percentile()))?;
    let Stalled { times, longest_ms, first_tokens, chunks } = stalled;
    let text = format!(
        "the client stood still {times} times, {longest_ms:.0} ms at the longest: {:.1} % of the first tokens and {:.1} % of the chunks \
         were read together with later ones and have their time, so that TTFT may be so much too long and gaps (ITL) are uneven: \
         measure again",
        first_tokens * 100.0,
        chunks * 100.0
    );
    let mut kind = serde_json::to_value(stalled).unwrap_or_else(|_| json!({}));
    kind["finding"] = "client_stalled".into();
    Some(Note::new(true, text, kind))
}

/// A rate that was not kept, by the limits of a study's check; what waited for a place is late in no other number.
fn missed(spec: &LoadSpec, outcome: &LoadOutcome) -> Option<Note> {
    let offered = stated::schedule_rate(spec, &outcome.records)?;
    let sent = outcome.summary.send_rate?;
    let capped = spec.in_flight.is_some();
    let (level, missed) = checks::missed_rate((sent, offered), "were sent", !capped)?;
    let waited = outcome.summary.queue_ms.as_ref().filter(|_| capped).map(|queue| queue.mean);
    let text = match waited {
        Some(waited) => format!(
            "{missed}: with so many in flight requests waited {waited:.0} ms for a place, on average, before they were sent; TTFT, \
             E2EL and goodput begin when they were sent, what is called \"from schedule\" when they should have been"
        ),
        None => missed,
    };
    let kind = json!({"finding": "rate_missed", "offered": offered, "sent": sent, "queue_ms": waited});
    Some(Note::new(level == Level::Refuse, text, kind))
}

/// A server that may be another one.
fn unchecked(spec: &LoadSpec) -> Option<Note> {
    let text = "the server's certificate was not checked (--insecure): who answered is not known";
    spec.insecure.then(|| Note::new(false, text.to_owned(), json!({"finding": "certificate_unchecked"})))
}

/// Columns that were asked for, of a load that has none.
fn no_columns(args: &BenchArgs, spec: &LoadSpec, outcome: &LoadOutcome) -> Option<Note> {
    if !args.compat || !outcome.columns.is_empty() {
        return None;
    }
    let what = if spec.api == Api::Generate { "of /generate" } else { "of whole answers (--no-stream)" };
    let text = format!("--compat: {what} there are no numbers by other tools' definitions");
    Some(Note::new(false, text, json!({"finding": "no_columns"})))
}

/// Whether so many samples can move a percentile that is shown: half of those above it.
fn shows(stalled: &Stalled, percentile: f64) -> bool {
    stalled.first_tokens.max(stalled.chunks) > (1.0 - percentile / 100.0) / 2.0
}

/// Random prompts that were in the server's prefix cache. Which loads a server had before this one, nobody else can tell.
fn seen_before(spec: &LoadSpec, outcome: &LoadOutcome) -> Option<Note> {
    // what other data sets ask may begin alike
    let apart = match spec.data.as_ref().map(|data| &data.source) {
        None => spec.prompts.shared.is_none(),
        Some(Source::Random(random)) => random.lengths.prefix == 0,
        Some(_) => false,
    };
    if !apart {
        return None;
    }
    let summary = &outcome.summary;
    let by_answers = summary.cached_tokens.map(|tokens| tokens as f64);
    let hits = by_answers.or_else(|| outcome.server.as_ref()?.prefix_hit_tokens)?;
    let mut metrics = Metrics::default();
    metrics.set("prefix_hit_tokens", hits);
    metrics.set("input_tokens", summary.input_tokens as f64);
    metrics.set("completed", summary.completed as f64);
    let own = spec.tokenizer().and_then(|_| own_length(outcome));
    let share = prefix::unplanned_share(&metrics, own).filter(|share| *share > prefix::TOLERATED)?;
    let text = format!(
        "{:.1} % of the prompt tokens were in the server's prefix cache: it had seen prompts that begin as these. Another --seed \
         asks others",
        share * 100.0
    );
    Some(Note::new(false, text, json!({"finding": "seen_before", "share": share})))
}

/// The mean length of the prompts that were answered, by our own count.
fn own_length(outcome: &LoadOutcome) -> Option<f64> {
    let lengths = outcome.records.iter().filter(|r| r.is_completed()).map(|r| f64::from(r.prompt_tokens_own));
    let (count, sum) = lengths.fold((0_u32, 0.0), |(count, sum), length| (count + 1, sum + length));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_told_where_it_can_move_what_is_shown() {
        let stalled = |first_tokens, chunks| Stalled { times: 1, longest_ms: 90.0, first_tokens, chunks };
        assert!(shows(&stalled(0.0, 0.02), 99.0) && shows(&stalled(0.02, 0.0), 99.0));
        assert!(!shows(&stalled(0.004, 0.004), 99.0) && shows(&stalled(0.004, 0.004), 99.9));
        assert!(!shows(&stalled(0.0, 0.0), 99.9));
    }
}
