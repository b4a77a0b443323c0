//! One trial's metrics as the block that benchmark tools print, line for line in their wording, so that a page can
//! be held against older ones and be read by the same scripts.

use super::evidence::Trial;
use super::format::fixed;
use super::metrics::Metrics;

const WIDTH: usize = 50;
const LABEL: usize = 41;

/// Name of a line, metric, decimals.
const COUNTS: [(&str, &str, usize); 13] = [
    ("Successful requests:", "completed", 0),
    ("Failed requests:", "failed", 0),
    ("Maximum request concurrency:", "max_concurrency", 0),
    ("Benchmark duration (s):", "duration_s", 2),
    ("Total input tokens:", "input_tokens", 0),
    ("Total generated tokens:", "output_tokens", 0),
    ("Request throughput (req/s):", "request_rate", 2),
    ("Request goodput (req/s):", "goodput", 2),
    ("Input token throughput (tok/s):", "input_tps", 2),
    ("Output token throughput (tok/s):", "output_tps", 2),
    ("Peak output token throughput (tok/s):", "peak_output_tps", 2),
    ("Peak concurrent requests:", "peak_concurrency", 2),
    ("Total token throughput (tok/s):", "total_tps", 2),
];

/// Heading of a section, what its lines call the quantity, metric.
const SECTIONS: [(&str, &str, &str); 4] = [
    ("Time to First Token", "TTFT (ms)", "ttft_ms"),
    ("Time per Output Token (excl. 1st token)", "TPOT (ms)", "tpot_ms"),
    ("Inter-token Latency", "ITL (ms)", "itl_ms"),
    ("End-to-end Latency", "E2EL (ms)", "latency_ms"),
];

/// The block, without a final newline; none for a trial that was not measured. Lines of what was not measured are
/// left out.
pub fn result_block(trial: &Trial, tag: Option<&str>) -> Option<String> {
    if trial.metrics.is_empty() {
        return None;
    }
    let title = tag.map_or_else(String::new, |tag| format!(" ({tag})"));
    let mut lines = vec![ruled(&format!(" Serving Benchmark Result{title} "), '=')];
    for (label, metric, decimals) in COUNTS {
        lines.extend(trial.metrics.get(metric).map(|value| entry(label, value, decimals)));
    }
    for (heading, quantity, metric) in SECTIONS {
        section(&mut lines, &trial.metrics, heading, quantity, metric);
    }
    lines.push("=".repeat(WIDTH));
    Some(lines.join("\n"))
}

fn section(lines: &mut Vec<String>, metrics: &Metrics, heading: &str, quantity: &str, metric: &str) {
    let Some(d) = metrics.get_distribution(metric) else { return };
    let values = [("Mean", d.mean), ("Median", d.p50), ("P90", d.p90), ("P95", d.p95), ("P99", d.p99)];
    let entries =
        values.iter().filter_map(|(name, value)| Some(entry(&format!("{name} {quantity}:"), (*value)?, 2)));
    let entries: Vec<String> = entries.collect();
    if !entries.is_empty() {
        lines.push(ruled(heading, '-'));
        lines.extend(entries);
    }
}

fn entry(label: &str, value: f64, decimals: usize) -> String {
    format!("{label:<LABEL$}{}", fixed(value, decimals))
}

/// The text in the middle of a rule.
fn ruled(text: &str, rule: char) -> String {
    let room = WIDTH.saturating_sub(text.chars().count());
    let side = |n: usize| rule.to_string().repeat(n);
    format!("{}{text}{}", side(room / 2), side(room - room / 2))
}
