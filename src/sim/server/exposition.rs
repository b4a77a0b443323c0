//! `/metrics` in Prometheus' text form, under vLLM's names, so that one scraper reads both engines.

use std::fmt::Write as _;

use super::driver::Status;

/// Renders the metrics of an engine.
pub fn render(status: &Status, model: &str) -> String {
    let snapshot = &status.snapshot;
    let counters = &snapshot.counters;
    let mut page =
        Page { text: String::new(), labels: format!("engine=\"0\",model_name=\"{}\"", escape(model)) };
    page.gauge(
        "vllm:num_requests_running",
        "Number of requests in model execution batches.",
        snapshot.running as f64,
    );
    page.gauge(
        "vllm:num_requests_waiting",
        "Number of requests waiting to be processed.",
        snapshot.waiting as f64,
    );
    page.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", snapshot.kv_usage);
    page.counter(
        "vllm:num_preemptions_total",
        "Cumulative number of preemption from the engine.",
        counters.preemptions,
    );
    page.counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", counters.prompt_tokens);
    page.counter(
        "vllm:generation_tokens_total",
        "Number of generation tokens processed.",
        counters.generation_tokens,
    );
    page.counter(
        "vllm:prefix_cache_queries_total",
        "Prefix cache queries, in terms of number of queried tokens.",
        counters.prefix_queries,
    );
    page.counter(
        "vllm:prefix_cache_hits_total",
        "Prefix cache hits, in terms of number of cached tokens.",
        counters.prefix_hits,
    );
    page.success([
        ("stop", counters.ended_by_stop),
        ("length", counters.ended_by_length),
        ("abort", counters.aborted),
    ]);
    page.gauge(
        "perflab_sim:lag_seconds",
        "How late the last step's tokens were sent.",
        status.lag.as_secs_f64(),
    );
    page.gauge(
        "perflab_sim:worst_lag_seconds",
        "The latest that a step's tokens were sent.",
        status.worst_lag.as_secs_f64(),
    );
    page.text
}

struct Page {
    text: String,
    labels: String,
}

impl Page {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        append(&mut self.text, format_args!("{name}{{{}}} {value:?}\n", self.labels));
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "counter");
        append(&mut self.text, format_args!("{name}{{{}}} {value}.0\n", self.labels));
    }

    fn success(&mut self, reasons: [(&str, u64); 3]) {
        let name = "vllm:request_success_total";
        self.head(name, "Count of successfully processed requests.", "counter");
        for (reason, value) in reasons {
            let labels = &self.labels;
            append(
                &mut self.text,
                format_args!("{name}{{{labels},finished_reason=\"{reason}\"}} {value}.0\n"),
            );
        }
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        append(&mut self.text, format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }
}

fn append(out: &mut String, text: std::fmt::Arguments<'_>) {
    // writing to a String cannot fail
    let _ = out.write_fmt(text);
}

fn escape(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
