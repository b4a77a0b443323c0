//! The load of another tool's benchmark as a profile: the flags of `vllm bench serve`, by name.

use indexmap::IndexMap;
use serde_json::Value;

use super::draft::{Block, Line};
use super::{value, yaml};

/// Settings of a load by their names, underscores for dashes.
pub type Settings = IndexMap<String, Value>;

/// Settings that say where and what is served, or what becomes of the results: a launch knows them, or nobody needs them.
const SILENT: [&str; 23] = [
    "model",
    "backend",
    "endpoint",
    "endpoint_type",
    "host",
    "port",
    "base_url",
    "save_result",
    "result_dir",
    "result_filename",
    "save_detailed",
    "percentile_metrics",
    "metric_percentiles",
    "disable_tqdm",
    "ready_check_timeout_sec",
    "append_result",
    "label",
    "trust_remote_code",
    "served_model_name",
    "metadata",
    "no_stream",
    "served",
    // the study's objective
    "goodput",
];

/// Settings of which a profile has one each.
const ONE_NUMBER: [&str; 8] = [
    "max_concurrency",
    "request_rate",
    "num_prompts",
    "burstiness",
    "input_len",
    "output_len",
    "random_input_len",
    "random_output_len",
];

/// The flags of a command as settings.
pub fn of_words(words: &[String]) -> Settings {
    let mut out = Settings::new();
    let mut at = 0;
    while at < words.len() {
        let Some(flag) = words[at].strip_prefix("--") else {
            at += 1;
            continue;
        };
        if key(flag) == GOODPUT {
            let given = words[at + 1..].iter().take_while(|w| !w.starts_with("--"));
            let limits: Vec<&str> = given.map(String::as_str).collect();
            out.insert(key(flag), Value::from(limits.join(" ")));
            at += limits.len();
        } else if let Some((name, text)) = flag.split_once('=') {
            out.insert(key(name), typed(text));
        } else if let Some(next) = words.get(at + 1).filter(|n| !n.starts_with("--")) {
            out.insert(key(flag), typed(next));
            at += 1;
        } else {
            out.insert(key(flag), Value::Bool(true));
        }
        at += 1;
    }
    out
}

/// Limits of single requests, which are no setting of a load here but a part of the objective.
pub const GOODPUT: &str = "goodput";

/// `ttft:500 tpot:50` as `goodput(ttft <= 500ms and tpot <= 50ms)`.
pub fn goodput(limits: &Value) -> Option<String> {
    let text = match limits {
        Value::Array(all) => all.iter().map(yaml::word).collect::<Option<Vec<_>>>()?.join(" "),
        other => yaml::word(other)?,
    };
    let limit = |pair: &str| {
        let (name, most) = pair.split_once(':')?;
        let metric = match name {
            "e2el" => "latency",
            known @ ("ttft" | "tpot") => known,
            _ => return None,
        };
        let most = most.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)?;
        Some(format!("{metric} <= {most}ms"))
    };
    let limits: Vec<String> = text.split_whitespace().map(limit).collect::<Option<_>>()?;
    (!limits.is_empty()).then(|| format!("goodput({})", limits.join(" and ")))
}

/// Settings that have the same name and meaning here.
const PLAIN: [&str; 9] = [
    "seed",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "ignore_eos",
];

/// A JSON object, or a text that holds one.
fn object(value: Value) -> Option<Value> {
    match value {
        Value::String(text) => serde_json::from_str(&text).ok(),
        other => Some(other),
    }
    .filter(Value::is_object)
}

/// A setting's name with underscores.
pub fn key(name: &str) -> String {
    name.replace('-', "_")
}

fn typed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// The profile that settings of `vllm bench serve` stand for; what it has no setting for is told.
pub fn profile(name: &str, title: &str, settings: &Settings, left_out: &mut Vec<String>) -> Block {
    let mut rest = settings.clone();
    firsts(&mut rest, left_out);
    let mut lines = data(&mut rest, left_out);
    lines.extend(load(&mut rest));
    for setting in PLAIN {
        if let Some(v) = rest.shift_remove(setting).as_ref().and_then(yaml::word) {
            lines.push(Line::new(setting, v));
        }
    }
    if let Some(n) = count(&mut rest, &["num_warmups"]) {
        lines.push(Line::new("warmup", (n as u64).to_string()));
    }
    if let Some(name) = rest.shift_remove("tokenizer").as_ref().and_then(yaml::word) {
        left_out
            .push(format!("tokenizer {name}: a profile takes the path of a tokenizer.json or of its folder"));
    }
    if let Some(fields) = rest.shift_remove("extra_body").and_then(object) {
        lines.push(Line::new("body", fields.to_string()));
    }
    for (setting, v) in rest.iter().filter(|(k, _)| !SILENT.contains(&k.as_str())) {
        left_out
            .push(format!("{setting}={}: a profile has no such setting", yaml::word(v).unwrap_or_default()));
    }
    Block { name: name.to_owned(), title: title.to_owned(), settings: lines, ..Block::default() }
}

/// Of a list of loads the first is kept: each other is a profile of its own, which a person chooses.
fn firsts(settings: &mut Settings, left_out: &mut Vec<String>) {
    for (name, value) in settings.iter_mut().filter(|(k, _)| ONE_NUMBER.contains(&k.as_str())) {
        let Value::Array(all) = value else { continue };
        let words: Vec<String> = all.iter().filter_map(yaml::word).collect();
        let Some((first, others)) = words.split_first().filter(|(_, o)| !o.is_empty()) else { continue };
        left_out.push(format!("{name} {}: a profile has one, and {first} is kept", others.join(", ")));
        *value = all.first().cloned().unwrap_or_default();
    }
}

fn count(settings: &mut Settings, names: &[&str]) -> Option<f64> {
    let mut found = None;
    for name in names {
        found = found.or(settings.shift_remove(*name).and_then(|v| v.as_f64()));
    }
    found.filter(|n| n.is_finite() && *n >= 0.0)
}

fn data(rest: &mut Settings, left_out: &mut Vec<String>) -> Vec<Line> {
    let set = rest.shift_remove("dataset_name").as_ref().and_then(yaml::word);
    let path = rest.shift_remove("dataset_path").as_ref().and_then(yaml::word);
    match set.as_deref().unwrap_or("random") {
        "sharegpt" => {
            if let Some(path) = path {
                left_out.push(format!("dataset-path {path}: where data lies stands in a site file"));
            }
            vec![Line::new("data", "sharegpt")]
        }
        "prefix_repetition" => {
            let mut lines = vec![Line::new("data", "prefix_repetition")];
            let lengths = [
                ("prefix_len", "prefix", 256.0),
                ("num_prefixes", "prefixes", 10.0),
                ("suffix_len", "input", 256.0),
                ("output_len", "output", 128.0),
            ];
            for (theirs, ours, usual) in lengths {
                let n = count(rest, &[&format!("prefix_repetition_{theirs}")]).unwrap_or(usual).max(1.0);
                lines.push(Line::new(ours, (n as u64).to_string()));
            }
            lines
        }
        "custom" if path.is_some() => {
            vec![Line::new("data", format!("jsonl {}", value::text(path.as_deref().unwrap_or_default())))]
        }
        other => {
            if other != "random" {
                left_out
                    .push(format!("dataset {other}: perflab has no such data, random stands in its place"));
            }
            random(rest)
        }
    }
}

fn random(rest: &mut Settings) -> Vec<Line> {
    let input = count(rest, &["random_input_len", "input_len"]).unwrap_or(1024.0);
    let output = count(rest, &["random_output_len", "output_len"]).unwrap_or(128.0);
    let ratio = count(rest, &["random_range_ratio"]).filter(|r| *r > 0.0 && *r < 1.0);
    let lengths = |n: f64| match ratio {
        Some(r) => {
            format!(
                "{} .. {}",
                ((n * (1.0 - r)).floor().max(1.0)) as u64,
                ((n * (1.0 + r)).ceil().max(2.0)) as u64
            )
        }
        None => (n.max(1.0) as u64).to_string(),
    };
    let mut lines = vec![Line::new("data", "random")];
    let prefix = count(rest, &["random_prefix_len"]).filter(|n| *n >= 1.0);
    lines.extend(prefix.map(|n| Line::new("prefix", (n as u64).to_string())));
    lines.extend([Line::new("input", lengths(input)), Line::new("output", lengths(output))]);
    lines
}

/// All at once behind a cap is a closed loop; a rate with a cap is an open one that waits.
fn load(rest: &mut Settings) -> Vec<Line> {
    let rate = rest.shift_remove("request_rate");
    let rate = rate.and_then(|v| v.as_f64()).filter(|r| r.is_finite() && *r > 0.0);
    let cap = count(rest, &["max_concurrency"]).map(|c| c.max(1.0) as u64);
    let burstiness = count(rest, &["burstiness"]).filter(|b| *b > 0.0 && (*b - 1.0).abs() > f64::EPSILON);
    let mut lines = match (rate, cap) {
        (None, None) => vec![Line::new("rate", "max")],
        (None, Some(cap)) => vec![Line::new("concurrency", cap.to_string())],
        (Some(rate), cap) => {
            let mut lines = vec![Line::new("rate", format!("{rate}/s"))];
            lines.extend(burstiness.map(|b| Line::new("arrivals", format!("gamma {b}"))));
            lines.extend(cap.map(|c| Line::new("in_flight", c.to_string())));
            lines
        }
    };
    let requests = count(rest, &["num_prompts"]).unwrap_or(1000.0).max(1.0) as u64;
    lines.push(Line::new("requests", requests.to_string()));
    lines
}
