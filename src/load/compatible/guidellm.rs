//! guidellm 0.5, after `schemas/request_stats.py` (what a request's numbers are), `backends/response_handlers.py` (what is a token) and
//! `schemas/statistics.py` (what is made of them).
//!
//! Each line is read for itself: data on several lines, or none, is no JSON, and the request has failed.
//! A token is a line whose `content` or `text` is not empty: a role is none, and neither are thoughts or calls. TPOT = (last token −
//! sent) / tokens, the time to the first one in it, weighted by tokens; ITL is each request's mean (last − first) / (tokens − 1), weighted
//! by tokens − 1; what could not be measured is a sample of 0; a percentile is the smallest sample with that share at or below it.
//!
//! Its rates of tokens are left out. Events within 0.1 ms are merged and each is divided by half of the time between its neighbours, from
//! the first event to the last: the mean leaves out the time to the first token, and the highest is that of 0.1 ms.

use super::column::{Column, ms, rate, was_read, whole_s};
use crate::load::dist::Dist;
use crate::load::record::RequestRecord;

pub(super) const NAME: &str = "guidellm-0.5";

pub(super) fn column(records: &[RequestRecord]) -> Column {
    let answered: Vec<&RequestRecord> = records.iter().filter(|r| was_read(r) && !r.form.lines).collect();
    let (completed, duration_s) = (answered.len() as u64, whole_s(records));
    let over = |of: fn(&RequestRecord) -> (f64, u32)| weighted(answered.iter().map(|r| of(r)).collect());
    Column {
        completed,
        failed: records.len() as u64 - completed,
        duration_s,
        input_tokens: answered.iter().filter_map(|r| r.prompt_tokens.map(u64::from)).sum(),
        output_tokens: answered.iter().map(|r| u64::from(r.output_tokens)).sum(),
        request_rate: rate(completed, duration_s),
        output_tps: None,
        total_tps: None,
        ttft_ms: over(|r| (r.content_ns.map_or(0.0, |(first, _)| ms(r.sent_ns, first)), 1)),
        tpot_ms: over(|r| {
            let last = r.content_ns.map_or(r.end_ns, |(_, last)| last);
            (ms(r.sent_ns, last) / f64::from(r.output_tokens.max(1)), r.output_tokens)
        }),
        itl_ms: over(|r| {
            let after_first = r.output_tokens.saturating_sub(1);
            let took = r.content_ns.map_or(0.0, |(first, last)| ms(first, last));
            (took / f64::from(after_first.max(1)), after_first)
        }),
        latency_ms: over(|r| (ms(r.sent_ns, r.end_ns), 1)),
    }
}

/// The distribution of samples with weights, by the inverse of the distribution function. Samples without weight are none.
fn weighted(mut samples: Vec<(f64, u32)>) -> Option<Dist> {
    samples.retain(|(_, weight)| *weight > 0);
    samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (min, max) = (samples.first()?.0, samples.last()?.0);
    let n: u64 = samples.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let shares: Vec<(f64, f64)> = samples
        .chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq())
        .map(|equal| (equal[0].0, equal.iter().map(|(_, w)| f64::from(*w)).sum::<f64>() / n as f64))
        .collect();
    let mean = shares.iter().map(|(x, share)| x * share).sum::<f64>();
    let variance = shares.iter().map(|(x, share)| (x - mean).powi(2) * share).sum::<f64>();
    // shares are added up as they are there, rounding included: it decides which sample a percentile is
    let at = |q: f64| {
        let mut below = 0.0;
        let reached = |(_, share): &&(f64, f64)| {
            below += share;
            below >= q
        };
        shares.iter().find(reached).map_or(max, |(x, _)| *x)
    };
    Some(Dist {
        n,
        mean,
        stddev: variance.sqrt(),
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        min,
        max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples_by_weight() {
        let dist = weighted(vec![(3.0, 1), (1.0, 5), (9.0, 0), (2.0, 4)]).expect("samples");
        assert_eq!((dist.n, dist.min, dist.max), (10, 1.0, 3.0));
        assert_eq!((dist.p50, dist.p90, dist.p95), (1.0, 2.0, 3.0));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(dist.mean, 1.6) && near(dist.stddev, 0.44_f64.sqrt()), "{dist:?}");
        assert_eq!(weighted(vec![(9.0, 0)]), None);
        // nine tenths, added up, are less than 0.9 in numpy too
        let ten = weighted((1..=10).map(|x| (f64::from(x), 1)).collect()).expect("samples");
        assert_eq!((ten.p50, ten.p90), (5.0, 10.0));
    }
}
