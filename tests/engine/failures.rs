//! Logs of real failed starts, and what they are called.

use std::path::Path;

use perflab::engine::FailurePattern;
use perflab::engine::failure::classify;

/// In the order in which they are tried.
const PATTERNS: [(&str, &str); 10] = [
    ("unknown flag", r"error: unrecognized arguments: (.+)|error: invalid argument: (\S+)|No such option"),
    (
        "bad value",
        r#"error: argument (-\S+): (invalid .+ value|invalid choice|Value .* cannot be converted)|error while handling argument "(.+)": "#,
    ),
    ("port in use", r"\[Errno 98\].*ddress already in use|couldn't bind HTTP server socket"),
    (
        "memory, host",
        r"DefaultCPUAllocator: can't allocate memory: you tried to allocate (\d+)|on kv cache allocation is less than requested|failed to allocate (buffer|CPU buffer)",
    ),
    ("memory, GPU", r"CUDA out of memory|No available memory for the cache blocks"),
    (
        "model missing",
        r"(HFValidation|OS)Error: Repo id must be|Can't load the configuration of|failed to open GGUF file",
    ),
    ("model broken", r"llama_model_load: error loading model: (.+)"),
    ("bad configuration", r"ValidationError: \d+ validation errors? for (\w+)\n.*Value error, (.+)"),
    (
        "engine died",
        r"EngineDeadError|Engine core proc \S+ died unexpectedly|Worker proc \S+ died unexpectedly",
    ),
    ("generic", "Engine core initialization failed"),
];

/// File, class, and a part of the line that says it.
const LOGS: [(&str, &str, &str); 18] = [
    ("llama-server-unknown-flag", "unknown flag", "error: invalid argument: --"),
    ("vllm-0.11.0-unknown-flag", "unknown flag", "vllm: error: unrecognized arguments: --"),
    ("vllm-0.17.1-unknown-flag", "unknown flag", "vllm: error: unrecognized arguments: --"),
    ("transformers-unknown-flag", "unknown flag", "No such option"),
    ("llama-server-bad-value", "bad value", "error while handling argument \""),
    ("vllm-0.32.0-bad-choice", "bad value", "invalid choice"),
    ("sglang-0.5.9-bad-value", "bad value", "error: argument --"),
    ("llama-server-port-in-use", "port in use", "couldn't bind HTTP server socket"),
    ("vllm-0.32.0-port-in-use", "port in use", "[Errno 98]"),
    ("sglang-0.5.9-port-in-use", "port in use", "[Errno 98]"),
    ("llama-server-out-of-memory", "memory, host", "failed to allocate"),
    ("vllm-0.17.1-kv-cache-too-big", "memory, host", "DefaultCPUAllocator"),
    ("llama-server-no-model", "model missing", "failed to open GGUF file"),
    ("vllm-0.32.0-no-model", "model missing", "Error: Repo id must be"),
    ("llama-server-corrupt-model", "model broken", "llama_model_load: error loading model: "),
    ("vllm-0.17.1-heads-not-divisible", "bad configuration", "must be divisible by tensor parallel size (3)"),
    ("vllm-0.32.0-context-too-long", "bad configuration", "Value error, User-specified max_model_len"),
    ("vllm-0.17.1-engine-killed", "engine died", "died unexpectedly"),
];

#[test]
fn logs_of_failed_starts_are_recognised() {
    let patterns: Vec<_> = PATTERNS.iter().map(|(n, p)| FailurePattern::new(*n, p).unwrap()).collect();
    for (name, class, part) in LOGS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/failures/{name}.log"));
        let log = std::fs::read(path).unwrap();
        let found = classify(&String::from_utf8_lossy(&log), &patterns).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(found.class, class, "{name}");
        assert!(found.line.contains(part), "{name}: {}", found.line);
    }
}
