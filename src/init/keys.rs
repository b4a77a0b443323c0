//! The keys of an `auto_benchmark` file that are read, or that no study needs: every other one is told, never dropped in silence.

use serde_json::{Map, Value};

/// Blocks of the file, and their keys.
const KNOWN: [(&str, &[&str]); 5] = [
    (
        "server",
        &[
            "launch",
            "host",
            "port",
            "env",
            "command_prefix",
            "base_flags",
            "extra_args",
            "search_space",
            "parallel",
        ],
    ),
    (
        "dataset",
        &[
            "kind",
            "path",
            "num_prompts",
            "scenario_names",
            "input_len",
            "output_len",
            "random_input_len",
            "random_output_len",
            "gsp_num_groups",
            "gsp_prompts_per_group",
            "gsp_system_prompt_len",
            "gsp_question_len",
            "gsp_output_len",
        ],
    ),
    (
        "benchmark",
        &[
            "backend",
            "tokenizer",
            "max_concurrency",
            "qps",
            "request_rate",
            "sla",
            "output_dir",
            "extra_request_body",
            "seed",
            "num_prompts",
        ],
    ),
    ("search", &["tier", "max_candidates", "resume"]),
    ("speculative", &["enabled", "algorithm", "draft_model_path", "search_space"]),
];
/// Blocks within blocks.
const INNER: [(&str, &str, &[&str]); 3] = [
    ("benchmark", "qps", &["lower", "upper", "tolerance", "values"]),
    ("benchmark", "sla", &["max_ttft_ms", "max_tpot_ms"]),
    ("server", "parallel", &["tp", "pp", "tp_size", "pp_size", "gpu_count"]),
];

/// What of the file is read by nobody, one line a key.
pub fn unknown(root: &Map<String, Value>) -> Vec<String> {
    let mut out = Vec::new();
    for (name, value) in root {
        match KNOWN.iter().find(|(block, _)| block == name) {
            Some((_, known)) => beyond(name, value, known, &mut out),
            None => out.push(told(name)),
        }
    }
    for (block, name, known) in INNER {
        let value = root.get(block).and_then(|b| b.get(name)).cloned().unwrap_or_default();
        beyond(&format!("{block}.{name}"), &value, known, &mut out);
    }
    out
}

fn beyond(block: &str, value: &Value, known: &[&str], out: &mut Vec<String>) {
    let keys = value.as_object().into_iter().flat_map(Map::keys);
    out.extend(keys.filter(|k| !known.contains(&k.as_str())).map(|k| told(&format!("{block}.{k}"))));
}

fn told(key: &str) -> String {
    format!("{}: nothing here reads it", super::value::plain(key))
}
