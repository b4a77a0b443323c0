//! Requests that keep to the limits of `--goodput`.

use crate::load::{Api, LoadOutcome, RequestRecord, Vllm};

/// A limit that a request has to keep to be good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    of: Limited,
    ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limited {
    Ttft,
    Tpot,
    E2el,
}

impl Limit {
    /// Whether only a stream tells what it limits.
    pub(super) fn needs_stream(self) -> bool {
        self.of != Limited::E2el
    }
}

/// `ttft:200`, in milliseconds.
pub(super) fn limit(text: &str) -> Result<Limit, String> {
    let form = || "write ttft:MS, tpot:MS or e2el:MS, in milliseconds".to_owned();
    let (name, ms) = text.split_once(':').ok_or_else(form)?;
    let of = match name {
        "ttft" => Limited::Ttft,
        "tpot" => Limited::Tpot,
        "e2el" => Limited::E2el,
        _ => return Err(form()),
    };
    let ms = ms.parse().ok().filter(|ms: &f64| *ms > 0.0 && ms.is_finite()).ok_or_else(form)?;
    Ok(Limit { of, ms })
}

/// When a request's times begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// When it was sent.
    Sent,
    /// When it should have been.
    Schedule,
}

/// Good requests per second by perflab's definitions: a request whose tokens all came in one chunk has no time per token, and keeps no
/// limit of it. None without limits.
pub(super) fn own(limits: &[Limit], outcome: &LoadOutcome, from: From) -> Option<f64> {
    let keeps = |record: &RequestRecord, limit: &Limit| {
        let began = if from == From::Sent { record.sent_ns } else { record.scheduled_ns };
        let ms = |to: Option<u64>| Some(to?.saturating_sub(began) as f64 / 1e6);
        let took = match limit.of {
            Limited::Ttft => ms(record.first_token_ns),
            Limited::Tpot => record.tpot_ns().map(|ns| ns / 1e6),
            Limited::E2el => ms(record.last_token_ns),
        };
        took.is_some_and(|took| took <= limit.ms)
    };
    let completed = outcome.records.iter().filter(|record| record.is_completed());
    rate(limits, completed, keeps, outcome.summary.duration_s)
}

/// Good requests per second as vLLM counts them, by its own times and over its own duration; one token has a time per token of 0.
pub(super) fn vllm(limits: &[Limit], (outcome, api): (&LoadOutcome, Api), duration_s: f64) -> Option<f64> {
    let keeps = |record: &RequestRecord, limit: &Limit| {
        let times = Vllm::V0_11.times(record, api);
        let took = match limit.of {
            Limited::Ttft => times.ttft_ms,
            Limited::Tpot => times.tpot_ms.unwrap_or(0.0),
            Limited::E2el => times.latency_ms,
        };
        took <= limit.ms
    };
    let answered = outcome.records.iter().filter(|record| Vllm::V0_11.is_answered(record, api));
    rate(limits, answered, keeps, duration_s)
}

fn rate<'r>(
    limits: &[Limit],
    records: impl Iterator<Item = &'r RequestRecord>,
    keeps: impl Fn(&RequestRecord, &Limit) -> bool,
    duration_s: f64,
) -> Option<f64> {
    if limits.is_empty() {
        return None;
    }
    let good = records.filter(|record| limits.iter().all(|limit| keeps(record, limit))).count();
    Some(good as f64 / duration_s).filter(|rate| rate.is_finite()).or(Some(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named_as_in_vllm() {
        assert_eq!(limit("ttft:200"), Ok(Limit { of: Limited::Ttft, ms: 200.0 }));
        assert_eq!(limit("e2el:1.5"), Ok(Limit { of: Limited::E2el, ms: 1.5 }));
        for wrong in ["itl:3", "ttft", "ttft:", "ttft:-1", "tpot:inf", "tpot:0"] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }
}
