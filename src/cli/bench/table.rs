//! The table that users of `vllm bench serve` know, by perflab's definitions.

use std::fmt::{Display, Write as _};

use super::args::{BenchArgs, Metric, Percentile};
use super::{compat, goodput, stated};
use crate::load::{self, Dist, Level, LoadOutcome, LoadSpec, ServerFacts, Summary, TurnFacts};

const WIDTH: usize = 50;

pub(super) fn render(args: &BenchArgs, spec: &LoadSpec, outcome: &LoadOutcome) -> String {
    let s = &outcome.summary;
    let mut table = Table(format!("{:=^WIDTH$}\n", " Serving Benchmark Result "));
    table.line("Successful requests:", s.completed);
    table.line("Failed requests:", s.failed);
    if s.short > 0 {
        table.line("Shorter than asked for:", s.short);
    }
    let offered = stated::offered(spec);
    if let Some(cap) = offered.cap {
        table.line("Maximum request concurrency:", cap);
    }
    if offered.rate.is_finite() {
        table.number("Request rate configured (RPS):", offered.rate);
    }
    table.number("Benchmark duration (s):", s.duration_s);
    table.line("Total input tokens:", s.input_tokens);
    if let Some(tokens) = outcome.template_tokens {
        table.line("Chat template (tokens a prompt):", tokens);
    }
    if let Some(prompts) = outcome.prompts.filter(|prompts| prompts.from_cache > 0) {
        table.line("Prompts from the cache:", prompts.from_cache);
    }
    table.line("Total generated tokens:", s.output_tokens);
    table.number("Request throughput (req/s):", s.request_rate);
    if let Some(rate) = goodput::own(&args.goodput, outcome, goodput::From::Sent) {
        table.number("Request goodput (req/s):", rate);
    }
    table.number("Output token throughput (tok/s):", s.output_tps);
    table.number("Total token throughput (tok/s):", s.total_tps);
    table.line("Peak concurrent requests:", s.peak_in_flight);
    let mut metrics = args.percentile_metrics.clone();
    if !spec.stream {
        table.line("Answers:", "whole: no TTFT, TPOT, ITL");
        metrics = vec![Metric::E2el];
    }
    for metric in metrics {
        table.distribution(metric, s, &args.metric_percentiles);
    }
    table.queued(args, outcome);
    table.turns(&load::turns(&outcome.records));
    if let Some(server) = &outcome.server {
        table.server(server);
    }
    table.client(s);
    if args.compat {
        table.0.push_str(&compat::block(&outcome.columns, &args.metric_percentiles));
    }
    table.0
}

impl Metric {
    /// The heading and the short name.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Ttft => ("Time to First Token", "TTFT"),
            Self::Tpot => ("Time per Output Token (excl. 1st token)", "TPOT"),
            Self::Itl => ("Inter-token Latency", "ITL"),
            Self::E2el => ("End-to-end Latency", "E2EL"),
        }
    }

    fn of(self, summary: &Summary) -> Option<&Dist> {
        match self {
            Self::Ttft => summary.ttft_ms.as_ref(),
            Self::Tpot => summary.tpot_ms.as_ref(),
            Self::Itl => summary.itl_ms.as_ref(),
            Self::E2el => summary.latency_ms.as_ref(),
        }
    }
}

impl Percentile {
    /// As vLLM writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::P50 => "50",
            Self::P90 => "90",
            Self::P95 => "95",
            Self::P99 => "99",
            Self::P999 => "99.9",
        }
    }

    /// Its value.
    pub(super) fn of(self, dist: &Dist) -> f64 {
        match self {
            Self::P50 => dist.p50,
            Self::P90 => dist.p90,
            Self::P95 => dist.p95,
            Self::P99 => dist.p99,
            Self::P999 => dist.p999,
        }
    }
}

struct Table(String);

impl Table {
    fn line(&mut self, name: &str, value: impl Display) {
        // writing to a string cannot fail
        let _ = writeln!(self.0, "{name:<40} {value}");
    }

    fn number(&mut self, name: &str, value: f64) {
        self.line(name, format_args!("{value:.2}"));
    }

    fn heading(&mut self, title: &str) {
        let _ = writeln!(self.0, "{title:-^WIDTH$}");
    }

    fn distribution(&mut self, metric: Metric, summary: &Summary, percentiles: &[Percentile]) {
        let (title, short) = metric.names();
        let Some(dist) = metric.of(summary) else { return };
        self.heading(title);
        self.number(&format!("Mean {short} (ms):"), dist.mean);
        self.number(&format!("Median {short} (ms):"), dist.p50);
        for percentile in percentiles {
            self.number(&format!("P{} {short} (ms):", percentile.name()), percentile.of(dist));
        }
    }

    /// How long requests waited for a place among those in flight, and what users of such a server wait for.
    fn queued(&mut self, args: &BenchArgs, outcome: &LoadOutcome) {
        /// What is less is the client's own time.
        const MS: f64 = 1.0;
        let s = &outcome.summary;
        let Some(queue) = s.queue_ms.as_ref().filter(|queue| queue.max >= MS) else { return };
        self.heading("Waiting for a place, from schedule");
        let whole = s.ttft_from_schedule_ms.is_none().then_some(&s.latency_from_schedule_ms);
        let rows = [
            ("queued", Some(queue)),
            ("TTFT from schedule", s.ttft_from_schedule_ms.as_ref()),
            ("E2EL from schedule", whole.and_then(Option::as_ref)),
        ];
        for (name, dist) in rows {
            let Some(dist) = dist else { continue };
            self.number(&format!("Mean {name} (ms):"), dist.mean);
            for percentile in &args.metric_percentiles {
                self.number(&format!("P{} {name} (ms):", percentile.name()), percentile.of(dist));
            }
        }
        if let Some(rate) = goodput::own(&args.goodput, outcome, goodput::From::Schedule) {
            self.number("Goodput from schedule (req/s):", rate);
        }
    }

    /// The times to the first token of the first turns of conversations, and of all further ones.
    fn turns(&mut self, turns: &[TurnFacts]) {
        const SHOWN: usize = 8;
        if turns.is_empty() {
            return;
        }
        self.heading("Time to First Token by turn");
        for turn in turns.iter().take(SHOWN) {
            let Some(ttft) = &turn.ttft_ms else { continue };
            let name = format!("Turn {} ({}), mean, median (ms):", turn.turn, turn.completed);
            self.line(&name, format_args!("{:.2}, {:.2}", ttft.mean, ttft.p50));
        }
        if turns.len() > SHOWN {
            self.line("Further turns, in --json:", turns.len() - SHOWN);
        }
    }

    /// What the server said of itself, as far as it did.
    fn server(&mut self, server: &ServerFacts) {
        let above = self.0.len();
        self.heading("Server");
        let heading = self.0.len();
        self.level("Running requests", server.running, 1.0);
        self.level("Waiting requests", server.waiting, 1.0);
        self.level("KV cache in use (%)", server.kv_usage, 100.0);
        if let Some(preemptions) = server.preemptions {
            self.line("Preemptions:", preemptions);
        }
        let shares = [
            ("Prompt tokens from the prefix cache (%):", server.prefix_hit_share()),
            ("Accepted draft tokens (%):", server.accepted_share()),
        ];
        for (name, share) in shares {
            if let Some(share) = share {
                self.number(name, share * 100.0);
            }
        }
        if self.0.len() == heading {
            self.0.truncate(above);
        }
    }

    fn level(&mut self, name: &str, level: Option<Level>, times: f64) {
        if let Some(level) = level {
            let (mean, max) = (level.mean * times, level.max * times);
            self.line(&format!("{name}, mean, max:"), format_args!("{mean:.1}, {max:.1}"));
        }
    }

    /// How the client itself fared: its part in the numbers above.
    fn client(&mut self, summary: &Summary) {
        self.heading("Client");
        if let Some(cpu) = summary.client.cpu_s {
            self.number("CPU time (s):", cpu);
        }
        if let Some(lag) = &summary.schedule_lag_ms {
            self.number("P99 schedule lag (ms):", lag.p99);
        }
        if let Some(lag) = summary.client.loop_lag_p99_ms {
            self.number("P99 event-loop lag (ms):", lag);
        }
        self.0.push_str(&"=".repeat(WIDTH));
        self.0.push('\n');
    }
}
