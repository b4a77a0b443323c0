//! `vllm bench serve`, after `vllm/benchmarks/lib/endpoint_request_func.py` (what a request's times are) and `calculate_metrics` in
//! `vllm/benchmarks/serve.py` (what is made of them).
//!
//! Up to 0.17 (0.11.0 and 0.17.1 have the same formulas): each message with `choices` is a token, one with a role alone or the end alone
//! too; a chat's answer ends with its last message, which is the usage, one of `/v1/completions` with the last that has `choices`; a
//! prompt has the tokens that the client made. From 0.33 on a chat's message counts only if it has text or an empty text without a role,
//! the answer ends with the last that counts, one of which there has to be, and a prompt has the tokens of `usage.prompt_tokens`.
//! What lies between two empty lines has to be `data: ` and JSON, or begin with a colon: a request with any other message has failed.
//! In both, TPOT = (latency − TTFT) / (tokens − 1); ITL is every gap between messages that count; percentiles are numpy's linear ones.

use std::iter::Peekable;

use super::column::{Column, ms, rate, was_read, whole_s};
use crate::load::chunks::Unpacked;
use crate::load::dist::Dist;
use crate::load::record::{Chunk, RequestRecord, Textless};
use crate::load::spec::{Api, LoadSpec};

/// Versions of the tool, each of which stands for those up to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vllm {
    /// 0.11 to 0.17.
    V0_11,
    /// From 0.33 on.
    V0_33,
}

/// A request's times as the tool has them, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    pub ttft_ms: f64,
    /// None of one token.
    pub tpot_ms: Option<f64>,
    pub latency_ms: f64,
}

impl Vllm {
    pub(super) const ALL: [Self; 2] = [Self::V0_11, Self::V0_33];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V0_11 => "vllm-0.11",
            Self::V0_33 => "vllm-0.33",
        }
    }

    pub fn column(self, records: &[RequestRecord], spec: &LoadSpec) -> Column {
        let answered: Vec<&RequestRecord> =
            records.iter().filter(|r| self.is_answered(r, spec.api)).collect();
        let times: Vec<Times> = answered.iter().map(|r| self.times(r, spec.api)).collect();
        let input_tokens = answered.iter().map(|r| u64::from(self.input_tokens(r, spec))).sum();
        let output_tokens = answered.iter().map(|r| u64::from(r.output_tokens)).sum();
        let (completed, duration_s) = (answered.len() as u64, whole_s(records));
        let over = |of: fn(&Times) -> Option<f64>| Dist::of(times.iter().filter_map(of).collect());
        Column {
            completed,
            failed: records.len() as u64 - completed,
            duration_s,
            input_tokens,
            output_tokens,
            request_rate: rate(completed, duration_s),
            output_tps: Some(rate(output_tokens, duration_s)),
            total_tps: Some(rate(input_tokens + output_tokens, duration_s)),
            ttft_ms: over(|t| Some(t.ttft_ms)),
            tpot_ms: over(|t| t.tpot_ms),
            itl_ms: Dist::over(|| answered.iter().flat_map(|r| self.gaps_ms(r, spec.api))),
            latency_ms: over(|t| Some(t.latency_ms)),
        }
    }

    /// Whether the tool counts a request as one that succeeded.
    pub fn is_answered(self, record: &RequestRecord, api: Api) -> bool {
        // a chat's answer of status 200 is one for the older tool, whatever is in it
        let needs_token = self != Self::V0_11 || api != Api::Chat;
        let form = record.form;
        was_read(record)
            && !form.fields
            && !form.lines
            && (!needs_token || self.tokens_ns(record, api).next().is_some())
    }

    /// Tokens of a prompt: the client's own, if it had a tokenizer as the tool always has, or the server's.
    pub fn input_tokens(self, record: &RequestRecord, spec: &LoadSpec) -> u32 {
        match self {
            Self::V0_11 if spec.tokenizer().is_some() => record.prompt_tokens_own,
            Self::V0_11 | Self::V0_33 => record.input_tokens(),
        }
    }

    pub fn times(self, record: &RequestRecord, api: Api) -> Times {
        let first = self.tokens_ns(record, api).next().unwrap_or(record.sent_ns);
        let last_message = record.last_event_ns.or(record.last_token_ns);
        let end = match (self, api) {
            (Self::V0_11, Api::Chat) => last_message,
            _ => self.tokens_ns(record, api).last(),
        };
        let (ttft_ms, latency_ms) =
            (ms(record.sent_ns, first), ms(record.sent_ns, end.unwrap_or(record.sent_ns)));
        let after_first = record.output_tokens.checked_sub(1).filter(|n| *n > 0);
        let tpot_ms = after_first.map(|n| (latency_ms - ttft_ms) / f64::from(n));
        Times { ttft_ms, tpot_ms, latency_ms }
    }

    /// The gaps between the messages that count.
    pub fn gaps_ms(self, record: &RequestRecord, api: Api) -> impl Iterator<Item = f64> {
        let later = self.tokens_ns(record, api).skip(1);
        self.tokens_ns(record, api).zip(later).map(|(before, at)| ms(before, at))
    }

    /// When the messages came that count as tokens, as the tool's loop saw them one after the other.
    pub fn tokens_ns(self, record: &RequestRecord, api: Api) -> impl Iterator<Item = u64> {
        let all = self == Self::V0_11 || api != Api::Chat;
        let silent: &[Textless] = &record.silent;
        let counted = move |silent: &&Textless| all || silent.is_blank();
        Merged { chunks: record.chunks.iter().peekable(), silent: silent.iter().filter(counted).peekable() }
    }

    /// The most messages that came and the most requests that were under way in one second since the first was sent.
    pub fn busiest_second(self, records: &[RequestRecord], api: Api) -> (u64, u64) {
        let answered = || records.iter().filter(|r| self.is_answered(r, api));
        let began = answered().map(|r| r.sent_ns).min().unwrap_or(0);
        let second = |at: u64| usize::try_from(at.saturating_sub(began) / 1_000_000_000).unwrap_or(0);
        let ended = |r: &RequestRecord| r.sent_ns + (self.times(r, api).latency_ms * 1e6) as u64;
        let seconds = answered().map(|r| second(ended(r)) + 1).max().unwrap_or(0);
        let (mut tokens, mut requests) = (vec![0_u64; seconds], vec![0_u64; seconds]);
        for record in answered() {
            for at in self.tokens_ns(record, api) {
                if let Some(count) = tokens.get_mut(second(at)) {
                    *count += 1;
                }
            }
            let under_way = second(record.sent_ns)..=second(ended(record));
            requests
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| under_way.contains(at))
                .for_each(|(_, n)| *n += 1);
        }
        (tokens.into_iter().max().unwrap_or(0), requests.into_iter().max().unwrap_or(0))
    }
}

/// Chunks and events without text in the order in which they came; both lists are in order.
struct Merged<'r, S: Iterator<Item = &'r Textless>> {
    chunks: Peekable<Unpacked<'r>>,
    silent: Peekable<S>,
}

impl<'r, S: Iterator<Item = &'r Textless>> Iterator for Merged<'r, S> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let chunk = self.chunks.peek().map(|chunk| chunk.at_ns());
        match (chunk, self.silent.peek().map(|silent| silent.at_ns())) {
            (Some(chunk), Some(silent)) if silent < chunk => self.silent.next().map(|s| s.at_ns()),
            (None, _) => self.silent.next().map(|s| s.at_ns()),
            (Some(_), _) => self.chunks.next().map(Chunk::at_ns),
        }
    }
}
