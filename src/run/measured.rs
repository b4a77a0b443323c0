//! From a load's summary to the metrics that the judge reads: the same names as in reports and recordings.

use crate::judge::{Distribution, Latencies, Latency, Metrics};
use crate::load::{Columns, Dist, RequestRecord, ServerFacts, Summary, unseen};

/// The metrics of one load, or of its first part; `startup_s` is how long the engine took to be ready, if it was started for it.
pub fn metrics(s: &Summary, records: &[RequestRecord], startup_s: Option<f64>) -> Metrics {
    let mut m = Metrics::default();
    m.requests = latencies(records);
    let counts = [
        ("planned", s.planned),
        ("completed", s.completed),
        ("short", s.short),
        ("failed", s.failed),
        ("input_tokens", s.input_tokens),
        ("output_tokens", s.output_tokens),
        ("peak_concurrency", s.peak_in_flight),
    ];
    for (name, count) in counts {
        m.set(name, count as f64);
    }
    let rates = [
        ("duration_s", s.duration_s),
        ("request_rate", s.request_rate),
        ("input_tps", s.input_tps),
        ("output_tps", s.output_tps),
        ("total_tps", s.total_tps),
    ];
    for (name, value) in rates {
        m.set(name, value);
    }
    if let Some(words) = far_too_few(records) {
        m.set("input_words", words);
    }
    if let Some((unseen, _)) = unseen(records) {
        m.set("unseen_tokens", unseen as f64);
    }
    if let Some(seconds) = startup_s {
        m.set("startup_s", seconds);
    }
    if let Some(rate) = s.success_rate {
        m.set("success_rate", rate);
    }
    if let Some(steady) = &s.steady {
        m.set("steady_total_tps", steady.total_tps);
    }
    if let Some(rate) = s.send_rate {
        m.set("send_rate", rate);
    }
    let client = [
        ("client_lag_p99_ms", s.client.loop_lag_p99_ms),
        ("client_stall_ms", s.client.stall_ms),
        ("client_cpu_s", s.client.cpu_s),
    ];
    for (name, value) in client {
        if let Some(value) = value {
            m.set(name, value);
        }
    }
    let distributions = [
        ("ttft_ms", &s.ttft_ms),
        ("ttft_from_schedule_ms", &s.ttft_from_schedule_ms),
        ("tpot_ms", &s.tpot_ms),
        ("itl_ms", &s.itl_ms),
        ("icl_ms", &s.icl_ms),
        ("latency_ms", &s.latency_ms),
        ("schedule_lag_ms", &s.schedule_lag_ms),
    ];
    for (name, d) in distributions {
        if let Some(d) = d {
            m.set_distribution(name, distribution(d));
        }
    }
    m
}

/// What the prompts have by our own count, in words or tokens, where the server counts more than any text of such a length has.
fn far_too_few(records: &[RequestRecord]) -> Option<f64> {
    // tokens of a word that no vocabulary knows, and of what a template puts before every prompt
    const OF_A_WORD: f64 = 16.0;
    const OF_A_TEMPLATE: f64 = 512.0;
    // of later turns our own count lacks what a template adds to each
    let first = records.iter().filter(|r| r.is_completed() && r.turn.is_none_or(|place| place.turn == 1));
    let counts = first.filter_map(|r| Some((f64::from(r.prompt_tokens?), f64::from(r.prompt_tokens_own))));
    let (server, own, n) = counts.fold((0.0, 0.0, 0.0), |(a, b, n), (x, y)| (a + x, b + y, n + 1.0));
    (server > own * OF_A_WORD + n * OF_A_TEMPLATE).then_some(own)
}

/// The means that other tools would have printed, under their names: a result keeps a few numbers of each, and the request records the
/// rest.
pub fn other_tools(m: &mut Metrics, columns: &Columns) {
    for (tool, column) in columns {
        let tool = tool.replace(['-', '.'], "_");
        let mean = |of: Option<Dist>| of.map(|d| d.mean);
        let values = [
            ("total_tps", column.total_tps),
            ("request_rate", column.total_tps.is_none().then_some(column.request_rate)),
            ("ttft_mean_ms", mean(column.ttft_ms)),
            ("tpot_mean_ms", mean(column.tpot_ms)),
            ("itl_mean_ms", mean(column.itl_ms)),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                m.set(&format!("as_{tool}_{name}"), value);
            }
        }
    }
}

/// What the server said of itself.
pub fn server(m: &mut Metrics, s: &ServerFacts) {
    let values = [
        ("server_running_mean", s.running.map(|level| level.mean)),
        ("server_running_max", s.running.map(|level| level.max)),
        ("server_waiting_mean", s.waiting.map(|level| level.mean)),
        ("server_waiting_max", s.waiting.map(|level| level.max)),
        ("server_kv_usage_max", s.kv_usage.map(|level| level.max)),
        ("server_preemptions", s.preemptions),
        ("server_prefix_hit_share", s.prefix_hit_share()),
        ("server_accepted_share", s.accepted_share()),
    ];
    for (name, value) in values {
        if let Some(value) = value {
            m.set(name, value);
        }
    }
}

/// The own times of every completed request: the samples of the distributions above, to the microsecond.
fn latencies(records: &[RequestRecord]) -> Latencies {
    let us = |from: u64, to: u64| (to.saturating_sub(from) as f64 / 1e3).round() as u64;
    let completed = records.iter().filter(|r| r.is_completed());
    let times = completed.map(|r| Latency {
        ttft_us: r.first_token_ns.map(|at| us(r.sent_ns, at)),
        tpot_us: r.tpot_ns().map(|ns| (ns / 1e3).round() as u64),
        latency_us: r.last_token_ns.map(|at| us(r.sent_ns, at)),
    });
    times.collect()
}

fn distribution(d: &Dist) -> Distribution {
    Distribution {
        mean: Some(d.mean),
        stddev: Some(d.stddev),
        p50: Some(d.p50),
        p90: Some(d.p90),
        p95: Some(d.p95),
        p99: Some(d.p99),
        p999: Some(d.p999),
        min: Some(d.min),
        max: Some(d.max),
    }
}
