//! Studies and recordings of engines that exist nowhere: what a decision rests on, without a measurement.

use serde_json::{Value, json};

/// Two engines and a load that exist nowhere: for studies that are only replayed.
pub const TOYS: &str = r#"
engine toy "Toy" {
    version "1.0"
    serve   "toy serve {model} --host {host} --port {port}"
    ready   get "/health" within 10s
    api     openai
    args    joined
    stop    sigterm within 5s
    flag --a     int 0..
    flag --b     int 0..  default 7
    flag --cards int 1..  uses gpus
    flag --fast -f switch negated --no-fast
    flag --conf  json
}
engine other "Other" {
    version "2.0"
    serve   "other serve {model} --host {host} --port {port}"
    ready   get "/health" within 10s
    api     openai
    args    joined
    stop    sigterm within 5s
    flag --b     int 0..
}
profile load "Load" {
    data        random
    input       100
    output      100
    concurrency 4
    requests    100
}
profile more "More" = load { concurrency 8 }
axis a     = --a=[1, 2, 3]
axis b     = --b=[1, 2, 3]
axis fast  = --fast
axis cards = --cards=[1, 2, 4]
"#;

/// A made-up study of the toys: single runs and the most tokens, unless its lines say otherwise.
pub fn toy_study(lines: &str) -> String {
    let objective = if lines.contains("objective:") || lines.contains("imize ") {
        ""
    } else {
        "maximize total_tps on load"
    };
    let repeat = if lines.contains("repeat") { "" } else { "repeat 1" };
    let lines = lines.replace("objective: none", "");
    format!("{TOYS}study s \"S\" {{\n model \"org/m\"\n baseline toy\n {objective}\n {repeat}\n{lines}\n}}\n")
}

/// A made-up recording, in which tokens, seconds and throughput agree.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    runs: Vec<Value>,
}

impl Recording {
    /// A run of the toy engine.
    pub fn toy(self, flags: &str, tps: f64) -> Self {
        self.run("toy", flags, "load", tps)
    }

    pub fn run(self, engine: &str, flags: &str, profile: &str, tps: f64) -> Self {
        self.add(engine, flags, profile, tps, json!({}))
    }

    /// A run of the toy engine with metrics that replace the made-up ones.
    pub fn toy_with(self, flags: &str, tps: f64, metrics: Value) -> Self {
        self.add("toy", flags, "load", tps, metrics)
    }

    pub fn add(mut self, engine: &str, flags: &str, profile: &str, tps: f64, metrics: Value) -> Self {
        let flags: Vec<&str> = flags.split_whitespace().collect();
        let mut all = json!({
            "successful_requests": 100, "duration_s": 20_000.0 / tps, "total_input_tokens": 10_000,
            "total_generated_tokens": 10_000, "total_tps": tps, "output_tps": tps / 2.0,
        });
        let Value::Object(metrics) = metrics else { panic!("metrics are an object") };
        all.as_object_mut().expect("an object").extend(metrics);
        self.runs.push(json!({
            "engine": engine, "model": "org/m", "flags": flags, "env": {}, "profile": profile,
            "outcome": "completed", "metrics": all,
        }));
        self
    }

    /// A run of the toy engine that did not complete.
    pub fn failed(self, flags: &str, outcome: &str, message: &str) -> Self {
        self.failed_as("toy", flags, outcome, message)
    }

    pub fn failed_as(mut self, engine: &str, flags: &str, outcome: &str, message: &str) -> Self {
        let flags: Vec<&str> = flags.split_whitespace().collect();
        self.runs.push(json!({
            "engine": engine, "model": "org/m", "flags": flags, "profile": "load", "outcome": outcome,
            "message": message,
        }));
        self
    }

    pub fn text(&self) -> String {
        json!({"recording": "made-up", "hardware": "paper", "runs": self.runs}).to_string()
    }
}
