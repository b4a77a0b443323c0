//! The numbers of a load, computed from its records alone, so that they can be computed again from a journal
//! or from the first part of a load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::client::ClientFacts;
use super::dist::Dist;
use super::inflight::InFlight;
use super::record::{FailureKind, Outcome, RequestRecord};

/// What a load measured. Rates are per second, distributions are over completed requests unless they say
/// otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Requests that were to be sent.
    pub planned: u64,
    /// Requests that ended properly, short ones included.
    pub completed: u64,
    /// Completed requests with fewer tokens than were asked for with `ignore_eos`.
    pub short: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Failed requests by kind.
    pub errors: BTreeMap<FailureKind, u64>,
    /// Completed over planned; none if nothing was planned.
    pub success_rate: Option<f64>,
    /// From the first request sent to the last token of a completed one or the end of a failed one, whichever is later, in seconds.
    pub duration_s: f64,
    /// Prompt tokens of completed requests, by the server's count where it gave one.
    pub input_tokens: u64,
    /// Tokens received by completed requests.
    pub output_tokens: u64,
    /// Prompt tokens that came from the server's prefix cache; none if no answer said so.
    pub cached_tokens: Option<u64>,
    /// Completed requests per second.
    pub request_rate: f64,
    /// Requests sent per second, from the first to the last; none with fewer than two.
    pub send_rate: Option<f64>,
    /// Prompt tokens per second.
    pub input_tps: f64,
    /// Output tokens per second.
    pub output_tps: f64,
    /// Prompt and output tokens per second.
    pub total_tps: f64,
    /// From sending to the first token.
    pub ttft_ms: Option<Dist>,
    /// From the scheduled time to the first token: what a user waits for.
    pub ttft_from_schedule_ms: Option<Dist>,
    /// Time per output token after the first chunk, one sample per request.
    pub tpot_ms: Option<Dist>,
    /// Gaps between tokens: a gap before a chunk of k tokens counts as k gaps of a k-th.
    pub itl_ms: Option<Dist>,
    /// Gaps between chunks as they came.
    pub icl_ms: Option<Dist>,
    /// From sending to the last token.
    pub latency_ms: Option<Dist>,
    /// From the scheduled time to the last token, waiting behind the client's own cap included.
    pub latency_from_schedule_ms: Option<Dist>,
    /// How long the cap on requests in flight held requests back; over all requests.
    pub queue_ms: Option<Dist>,
    /// How late the client itself was, its cap apart; over all requests.
    pub schedule_lag_ms: Option<Dist>,
    /// The most requests in flight at one time.
    pub peak_in_flight: u64,
    /// The same rates while at least 95 % of the peak was in flight.
    pub steady: Option<Steady>,
    /// How the client's own machine kept up.
    pub client: ClientFacts,
}

/// Rates in the steady window: what happened in it, not requests that lie wholly inside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// Its beginning, in seconds since the load's start.
    pub from_s: f64,
    /// Its length in seconds.
    pub duration_s: f64,
    /// Requests whose last token came in it, per second.
    pub request_rate: f64,
    /// Tokens that came in it, per second.
    pub output_tps: f64,
    /// The same and the prompt tokens of requests whose first token (or whole answer) came in it, per second.
    pub total_tps: f64,
}

/// n requests have n − 1 gaps between them.
fn send_rate(records: &[RequestRecord]) -> Option<f64> {
    let first = records.iter().map(|r| r.sent_ns).min()?;
    let last = records.iter().map(|r| r.sent_ns).max()?;
    (last > first).then(|| (records.len() - 1) as f64 / ((last - first) as f64 / 1e9))
}

/// Summarises records, of a whole load or of its first part.
pub fn summarize(records: &[RequestRecord], planned: u64, client: ClientFacts) -> Summary {
    let completed: Vec<&RequestRecord> = records.iter().filter(|r| r.is_completed()).collect();
    let in_flight = InFlight::of(records);
    let duration_s = duration_s(records, &completed);
    let input_tokens = completed.iter().map(|r| u64::from(r.input_tokens())).sum();
    let output_tokens = completed.iter().map(|r| u64::from(r.output_tokens)).sum();
    let over = |of: &dyn Fn(&RequestRecord) -> Option<f64>| {
        Dist::of(completed.iter().filter_map(|r| of(r)).collect())
    };
    let over_all = |of: &dyn Fn(&RequestRecord) -> f64| Dist::of(records.iter().map(of).collect());
    Summary {
        planned,
        completed: completed.len() as u64,
        short: records.iter().filter(|r| r.outcome == Outcome::Short).count() as u64,
        failed: (records.len() - completed.len()) as u64,
        errors: errors(records),
        success_rate: (planned > 0).then(|| completed.len() as f64 / planned as f64),
        duration_s,
        input_tokens,
        output_tokens,
        cached_tokens: completed.iter().filter_map(|r| r.cached_tokens.map(u64::from)).reduce(|a, b| a + b),
        request_rate: rate(completed.len() as u64, duration_s),
        send_rate: send_rate(records),
        input_tps: rate(input_tokens, duration_s),
        output_tps: rate(output_tokens, duration_s),
        total_tps: rate(input_tokens + output_tokens, duration_s),
        ttft_ms: over(&|r| Some(ms(r.sent_ns, r.first_token_ns?))),
        ttft_from_schedule_ms: over(&|r| Some(ms(r.scheduled_ns, r.first_token_ns?))),
        tpot_ms: over(&|r| Some(r.tpot_ns()? / 1e6)),
        itl_ms: Dist::over(|| completed.iter().flat_map(|r| token_gaps_ms(r))),
        icl_ms: Dist::over(|| completed.iter().flat_map(|r| chunk_gaps_ms(r))),
        latency_ms: over(&|r| Some(ms(r.sent_ns, r.last_token_ns?))),
        latency_from_schedule_ms: over(&|r| Some(ms(r.scheduled_ns, r.last_token_ns?))),
        queue_ms: over_all(&|r| ms(r.scheduled_ns, r.released_ns)),
        schedule_lag_ms: over_all(&|r| ms(r.released_ns, r.sent_ns)),
        peak_in_flight: in_flight.peak,
        steady: in_flight.steady_ns.map(|window| steady(&completed, window)),
        client,
    }
}

fn ms(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e6
}

fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

fn duration_s(records: &[RequestRecord], completed: &[&RequestRecord]) -> f64 {
    let from = records.iter().map(|r| r.sent_ns).min().unwrap_or(0);
    let to = completed.iter().filter_map(|r| r.last_token_ns).max();
    // what was waited for in vain took time as well: without it the few that come before a server hangs look fast
    let in_vain = records.iter().filter(|r| matches!(r.outcome, Outcome::Failed(_))).map(|r| r.end_ns).max();
    to.map_or(0.0, |to| ms(from, to.max(in_vain.unwrap_or(0))) / 1e3)
}

fn errors(records: &[RequestRecord]) -> BTreeMap<FailureKind, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        if let Outcome::Failed(failure) = &record.outcome {
            *counts.entry(failure.kind).or_insert(0) += 1;
        }
    }
    counts
}

fn chunk_gaps_ms(record: &RequestRecord) -> impl Iterator<Item = f64> {
    record.chunks.pairs().map(|(before, chunk)| ms(before.at_ns(), chunk.at_ns()))
}

/// A gap of k tokens as k gaps; a chunk that brought no whole token lengthens the gap of the next.
fn token_gaps_ms(record: &RequestRecord) -> impl Iterator<Item = f64> {
    let mut last = record.chunks.first();
    record.chunks.iter().skip(1).flat_map(move |chunk| {
        let before = last.unwrap_or(chunk);
        let tokens = chunk.tokens().saturating_sub(before.tokens());
        if tokens > 0 {
            last = Some(chunk);
        }
        let each = ms(before.at_ns(), chunk.at_ns()) / f64::from(tokens.max(1));
        std::iter::repeat_n(each, tokens as usize)
    })
}

fn steady(completed: &[&RequestRecord], (from, to): (u64, u64)) -> Steady {
    let inside = |at: &u64| (from..=to).contains(at);
    let (mut requests, mut input, mut output) = (0_u64, 0_u64, 0_u64);
    for record in completed {
        requests += u64::from(record.last_token_ns.is_some_and(|at| inside(&at)));
        if record.first_token_ns.or(record.last_token_ns).is_some_and(|at| inside(&at)) {
            input += u64::from(record.input_tokens());
        }
        let mut before = 0;
        for chunk in &record.chunks {
            if inside(&chunk.at_ns()) {
                output += u64::from(chunk.tokens().saturating_sub(before));
            }
            before = chunk.tokens();
        }
    }
    let duration_s = ms(from, to) / 1e3;
    Steady {
        from_s: from as f64 / 1e9,
        duration_s,
        request_rate: rate(requests, duration_s),
        output_tps: rate(output, duration_s),
        total_tps: rate(input + output, duration_s),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Chunk, Failure, Form, RECORD_VERSION, TokenSource};
    use super::*;

    const MS: u64 = 1_000_000;

    /// Sent at 0 with the schedule 5 ms before; chunks at 100 ms (1 token), 130 ms (4) and 150 ms (5).
    fn record(index: u64, shift_ms: u64) -> RequestRecord {
        let at = |t: u64| (t + shift_ms) * MS;
        RequestRecord {
            version: RECORD_VERSION,
            index,
            scheduled_ns: at(5),
            released_ns: at(8),
            sent_ns: at(10),
            headers_ns: Some(at(90)),
            first_token_ns: Some(at(110)),
            last_token_ns: Some(at(160)),
            end_ns: at(161),
            chunks: [Chunk(at(110), 1), Chunk(at(140), 4), Chunk(at(160), 5)].into_iter().collect(),
            silent: Box::default(),
            last_event_ns: None,
            content_ns: None,
            prompt_tokens: Some(20),
            prompt_tokens_own: 10,
            output_tokens_asked: 5,
            output_tokens: 5,
            unseen_tokens: 0,
            counted_by: TokenSource::Usage,
            cached_tokens: None,
            finish_reason: Some("length".into()),
            resent: false,
            http_status: Some(200),
            outcome: Outcome::Ok,
            unknown_text: Vec::new(),
            answered_as: None,
            turn: None,
            form: Form::default(),
        }
    }

    fn failed(index: u64, shift_ms: u64) -> RequestRecord {
        let failure = Failure { kind: FailureKind::StreamBroken, message: "cut".into() };
        RequestRecord { outcome: Outcome::Failed(failure), ..record(index, shift_ms) }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn formulas_on_records_made_by_hand() {
        let short = RequestRecord {
            outcome: Outcome::Short,
            prompt_tokens: None,
            cached_tokens: Some(3),
            ..record(1, 1000)
        };
        let summary = summarize(&[record(0, 0), short, failed(2, 2000)], 4, ClientFacts::default());
        assert_eq!((summary.planned, summary.completed, summary.short, summary.failed), (4, 2, 1, 1));
        assert_eq!(summary.success_rate, Some(0.5));
        assert_eq!(summary.errors, BTreeMap::from([(FailureKind::StreamBroken, 1)]));
        assert_eq!((summary.input_tokens, summary.output_tokens, summary.cached_tokens), (30, 10, Some(3)));
        // first sent at 10 ms, last token of a completed request at 1160 ms, end of the failed one 1 s later
        let took = 2.15 + (record(0, 0).end_ns - 160 * MS) as f64 / 1e9;
        assert!(close(summary.duration_s, took), "{}", summary.duration_s);
        assert!(close(summary.total_tps, 40.0 / took) && close(summary.output_tps, 10.0 / took));
        assert!(close(summary.input_tps, 30.0 / took) && close(summary.request_rate, 2.0 / took));
        let early = summarize(&[record(0, 0), record(1, 1000), failed(2, 0)], 3, ClientFacts::default());
        assert!(close(early.duration_s, 1.15), "what fails before the last token takes nothing more");
        let mean = |dist: Option<Dist>| dist.map(|d| (d.n, d.mean));
        assert_eq!(mean(summary.ttft_ms), Some((2, 100.0)));
        assert_eq!(mean(summary.ttft_from_schedule_ms), Some((2, 105.0)));
        assert_eq!(mean(summary.tpot_ms), Some((2, 12.5)));
        assert_eq!(mean(summary.latency_ms), Some((2, 150.0)));
        assert_eq!(mean(summary.latency_from_schedule_ms), Some((2, 155.0)));
        assert_eq!(mean(summary.queue_ms), Some((3, 3.0)));
        assert_eq!(mean(summary.schedule_lag_ms), Some((3, 2.0)));
        assert_eq!(mean(summary.icl_ms), Some((4, 25.0)));
        let itl = summary.itl_ms.expect("gaps");
        // per request 30 ms / 3 tokens three times and 20 ms once
        assert_eq!((itl.n, itl.mean, itl.min, itl.max), (8, 12.5, 10.0, 20.0));
    }

    #[test]
    fn a_gap_without_a_whole_token_goes_to_the_next_token() {
        let mut one = record(0, 0);
        one.chunks = [Chunk(0, 1), Chunk(10 * MS, 1), Chunk(30 * MS, 2)].into_iter().collect();
        assert_eq!(token_gaps_ms(&one).collect::<Vec<_>>(), [30.0]);
        assert_eq!(chunk_gaps_ms(&one).collect::<Vec<_>>(), [10.0, 20.0]);
    }

    #[test]
    fn nothing_completed_gives_zeros_and_no_distributions() {
        let summary = summarize(&[failed(0, 0)], 1, ClientFacts::default());
        assert_eq!((summary.completed, summary.failed, summary.success_rate), (0, 1, Some(0.0)));
        assert_eq!((summary.duration_s, summary.total_tps), (0.0, 0.0));
        assert!(summary.ttft_ms.is_none() && summary.tpot_ms.is_none() && summary.itl_ms.is_none());
        assert!(summary.schedule_lag_ms.is_some());
        let empty = summarize(&[], 0, ClientFacts::default());
        assert_eq!((empty.success_rate, empty.peak_in_flight, empty.steady), (None, 0, None));
    }

    #[test]
    fn the_steady_window_counts_what_happened_in_it() {
        // in flight: 1 from 10, 2 from 60 to 161, 1 to 211; both requests together are the peak
        let summary = summarize(&[record(0, 0), record(1, 50)], 2, ClientFacts::default());
        assert_eq!(summary.peak_in_flight, 2);
        let steady = summary.steady.expect("a window");
        assert!(close(steady.from_s, 0.06) && close(steady.duration_s, 0.101));
        // tokens inside: 5 of the first (110, 140, 160), 1 of the second (160); one end; both first tokens
        assert!(close(steady.output_tps, 6.0 / 0.101) && close(steady.request_rate, 1.0 / 0.101));
        assert!(close(steady.total_tps, 46.0 / 0.101));
        // one after the other is one in flight, also when the next is sent in the moment of the end
        let summary = summarize(&[record(0, 0), record(1, 151)], 2, ClientFacts::default());
        assert_eq!(summary.peak_in_flight, 1);
    }

    #[test]
    fn records_and_summaries_survive_json() {
        let records = vec![record(0, 0), failed(1, 7)];
        let json = serde_json::to_string(&records).expect("serialises");
        assert!(
            json.contains(r#""outcome":{"is":"failed","kind":"stream_broken","message":"cut"}"#),
            "{json}"
        );
        assert!(json.contains("\"chunks\":[[110000000,1],"), "{json}");
        assert_eq!(serde_json::from_str::<Vec<RequestRecord>>(&json).expect("reads back"), records);
        let summary = summarize(&records, 2, ClientFacts::default());
        let json = serde_json::to_string(&summary).expect("serialises");
        assert!(json.contains(r#""errors":{"stream_broken":1}"#), "{json}");
        assert_eq!(serde_json::from_str::<Summary>(&json).expect("reads back"), summary);
    }

    #[test]
    fn all_tokens_in_one_chunk_have_no_tpot() {
        let mut one = record(0, 0);
        one.chunks = [Chunk(110 * MS, 5)].into_iter().collect();
        assert_eq!(one.tpot_ns(), None);
    }
}
