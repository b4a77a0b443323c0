//! What `vllm bench serve` and its like call the settings of a load.

/// The setting that a word of other tools stands for, and a line with it.
pub fn load_setting(word: &str) -> Option<(&'static str, &'static str)> {
    let plain = word.trim_start_matches('-').replace('-', "_");
    Some(match plain.as_str() {
        "request_rate" | "qps" | "rps" => ("rate", "rate 8/s"),
        "max_concurrency" | "num_concurrent" | "clients" | "users" => ("concurrency", "concurrency 64"),
        "num_prompts" | "num_requests" | "request_count" | "n_requests" => ("requests", "requests 1000"),
        "input_len"
        | "random_input_len"
        | "sharegpt_input_len"
        | "prompt_len"
        | "isl"
        | "prefix_repetition_suffix_len"
        | "gsp_question_len" => ("input", "input 1024"),
        "output_len"
        | "random_output_len"
        | "sharegpt_output_len"
        | "max_tokens"
        | "osl"
        | "prefix_repetition_output_len"
        | "gsp_output_len" => ("output", "output 128"),
        "prefix_len" | "random_prefix_len" | "prefix_repetition_prefix_len" | "gsp_system_prompt_len" => {
            ("prefix", "prefix 512")
        }
        "num_prefixes" | "prefix_repetition_num_prefixes" | "gsp_num_groups" => ("prefixes", "prefixes 10"),
        "mooncake_slowdown_factor" | "trace_slowdown" => ("slowdown", "slowdown 2"),
        "think_time" => ("think", "think 2s"),
        "burstiness" => ("arrivals", "arrivals gamma 0.5"),
        "dataset" | "dataset_name" | "dataset_path" => ("data", "data random"),
        "num_warmups" | "warmup_requests" => ("warmup", "warmup 10"),
        "max_duration" | "benchmark_duration" => ("duration", "duration 2min"),
        _ => return None,
    })
}
