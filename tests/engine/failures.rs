//! Logs of real engines that failed, each under its class and with the one line that matters, by the patterns of the
//! standard library and the general ones.

use std::path::Path;

use perflab::engine::FailurePattern;
use perflab::engine::failure::{Nature, classify};
use perflab::lang::analyze;
use perflab::lang::source::NoFiles;

/// File, class, and the line.
const LOGS: [(&str, &str, &str); 32] = [
    ("llama-server-badflag", "unknown flag", "error: invalid argument: --no-such-flag"),
    ("llama-server-badvalue", "bad value", "error while handling argument \"-np\": stoi"),
    ("llama-server-corrupt", "model broken", "gguf_init_from_reader: failed to read key-value pairs"),
    (
        "llama-server-nomodel",
        "model missing",
        "gguf_init_from_file: failed to open GGUF file '/nonexistent.gguf'",
    ),
    (
        "llama-server-out-of-memory",
        "out of host memory",
        "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 8192000000",
    ),
    ("llama-server-portinuse", "port in use", "couldn't bind HTTP server socket, hostname: 127.0.0.1"),
    (
        "sglang-0.5.9-badflag",
        "unknown flag",
        "launch_server.py: error: unrecognized arguments: --no-such-flag 1",
    ),
    ("sglang-0.5.9-badvalue", "bad value", "argument --max-running-requests: invalid int value: 'abc'"),
    (
        "sglang-0.5.9-engine-killed",
        "worker lost",
        "Health check failed. Server couldn't get a response from detok",
    ),
    ("sglang-0.5.9-nomodel", "model missing", "OSError: Can't load the configuration of '/nonexistent/m'"),
    ("sglang-0.5.9-portinuse", "port in use", "[Errno 98] error while attempting to bind on address"),
    ("transformers-serve-badflag", "unknown flag", "Error: No such option '--no-such-flag'."),
    (
        "transformers-serve-kvcache-too-big",
        "out of host memory",
        "MemoryError: Memory footprint 180480004120576 is more than available memory",
    ),
    ("transformers-serve-nomodel", "model missing", "Error: Repo id must be in the form"),
    ("transformers-serve-portinuse", "port in use", "[Errno 98] error while attempting to bind on address"),
    ("vllm-0.11.0-badflag", "unknown flag", "vllm: error: unrecognized arguments: --no-such-flag 3"),
    ("vllm-0.11.0-badvalue", "bad value", "argument --max-num-seqs: invalid int value: 'abc'"),
    ("vllm-0.17.1-badflag", "unknown flag", "vllm: error: unrecognized arguments: --no-such-flag 3"),
    ("vllm-0.17.1-badjson", "bad value", "argument --speculative-config: Value {bad cannot be converted"),
    ("vllm-0.17.1-badvalue", "bad value", "argument --max-num-seqs: invalid int value: 'abc'"),
    ("vllm-0.17.1-engine-killed", "worker lost", "Engine core proc EngineCore_DP0 died unexpectedly"),
    (
        "vllm-0.17.1-kvcache-too-big",
        "out of host memory",
        "DefaultCPUAllocator: can't allocate memory: you tried to",
    ),
    ("vllm-0.17.1-nomodel", "model missing", "HFValidationError: Repo id must be in the form"),
    (
        "vllm-0.17.1-tp3",
        "bad configuration",
        "Value error, Total number of attention heads (4) must be divisible by tensor parallel size (3).",
    ),
    ("vllm-0.32.0-badchoice", "bad value", "argument --performance-mode: invalid choice: 'turbo'"),
    ("vllm-0.32.0-badflag", "unknown flag", "vllm: error: unrecognized arguments: --no-such-flag 3"),
    ("vllm-0.32.0-badvalue", "bad value", "argument --max-num-seqs: invalid int value: 'abc'"),
    (
        "vllm-0.32.0-ctxtoolong",
        "bad configuration",
        "Value error, User-specified max_model_len (999999) is greater",
    ),
    ("vllm-0.32.0-engine-killed", "worker lost", "EngineDeadError: EngineCore encountered an issue."),
    (
        "vllm-0.32.0-kvcache-too-big",
        "out of host memory",
        "on kv cache allocation is less than requested memory",
    ),
    ("vllm-0.32.0-nomodel", "model missing", "HFValidationError: Repo id must be in the form"),
    (
        "vllm-0.32.0-out-of-memory",
        "out of host memory",
        "DefaultCPUAllocator: can't allocate memory: you tried to",
    ),
];

/// More of the same kind, whose lines follow from others above.
const MORE: [(&str, &str, &str); 4] = [
    ("vllm-0.32.0-portinuse", "port in use", "OSError: [Errno 98] Address already in use"),
    ("xllamacpp-badflag", "unknown flag", "xllama-serve: error: unrecognized arguments: --no-such"),
    ("xllamacpp-nomodel", "model missing", "failed to open GGUF file '/nonexistent.gguf'"),
    ("xllamacpp-portinuse", "port in use", "couldn't bind HTTP server socket"),
];

/// Nothing failed in these, or nothing was printed before the time was over: no pattern may see a failure.
const QUIET: [&str; 4] = [
    "llama-server-never-ready",
    "sglang-0.5.9-sigterm-while-streaming",
    "vllm-0.17.1-sigterm-while-streaming",
    "vllm-0.32.0-sigterm-while-streaming",
];

#[test]
fn every_recorded_failure_has_its_class_and_its_line() {
    for (name, class, line) in LOGS.iter().chain(&MORE) {
        let found =
            classify(&log(name), &patterns_of(name)).unwrap_or_else(|| panic!("{name}: nothing found"));
        assert_eq!(found.class, *class, "{name}: {}", found.line);
        assert!(found.line.contains(line), "{name}: {}", found.line);
        assert!(!found.line.contains("pid="), "{name}: {}", found.line);
        assert!(!found.line.contains("raise "), "{name}: {}", found.line);
        let retried = found.nature == Nature::Infrastructure;
        assert_eq!(retried, *class == "port in use", "{name}");
    }
}

#[test]
fn a_log_without_a_failure_is_none() {
    for name in QUIET {
        assert_eq!(classify(&log(name), &patterns_of(name)), None, "{name}");
    }
}

#[test]
fn every_recorded_log_is_asked() {
    let files = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut there: Vec<String> = files.map(|f| f.trim_end_matches(".log").to_owned()).collect();
    let mut asked: Vec<String> =
        LOGS.iter().chain(&MORE).map(|l| l.0).chain(QUIET).map(str::to_owned).collect();
    there.sort();
    asked.sort();
    assert_eq!(there, asked);
}

/// What engines say of GPUs, which none of the recordings has: from their sources and from reports of their users.
#[test]
fn gpu_memory_is_told_apart() {
    let cases = [
        (
            "vllm",
            "ERROR [gpu_model_runner.py:4818] Failed to load model - not enough GPU memory. (original error: CUDA out of memory.",
            "out of GPU memory (weights)",
        ),
        ("vllm", "ValueError: No available memory for the cache blocks.", "out of GPU memory (KV cache)"),
        (
            "vllm",
            "ValueError: To serve at least one request with the model's max seq len (40960), (5.6 GiB",
            "out of GPU memory (KV cache)",
        ),
        (
            "vllm",
            "ValueError: Free memory on device (1.2/80 GiB) on startup is less than desired GPU memory utilization",
            "out of GPU memory",
        ),
        (
            "vllm",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.5 GiB",
            "out of GPU memory",
        ),
        (
            "sglang",
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            "out of GPU memory (KV cache)",
        ),
        (
            "sglang",
            "Exception: Capture cuda graph failed: CUDA out of memory. Tried",
            "out of GPU memory (graph capture)",
        ),
        (
            "sglang",
            "Capture cuda graph failed: CUDA error: no kernel image is available for execution on the device",
            "unsupported hardware",
        ),
        ("sglang", "Exception: Capture cuda graph failed: an illegal instruction", "GPU error"),
        ("vllm", "RuntimeError: CUDA error: an illegal memory access was encountered", "GPU error"),
        ("vllm", "torch.distributed.DistBackendError: NCCL error in: x.cpp:1", "GPU error"),
        ("vllm", "RuntimeError: CUDA error: uncorrectable ECC error encountered", "GPU lost"),
        ("vllm", "ValueError: Model architectures ['Foo'] are not supported for now.", "unsupported model"),
        (
            "other",
            "ValueError: To serve one request 16.00 GiB KV cache is needed, which is larger than the available KV cache memory",
            "out of GPU memory (KV cache)",
        ),
        (
            "vllm",
            "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (12352).",
            "out of GPU memory (KV cache)",
        ),
        (
            "other",
            "ValueError: Total number of attention heads (40) must be divisible by tensor parallel size (3).",
            "bad configuration",
        ),
        (
            "other",
            "python: /lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by x.so)",
            "missing file",
        ),
        (
            "llama-server",
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9 MiB on device 0: cudaMalloc failed: out of memory\nllama_kv_cache: failed to allocate buffer for kv cache",
            "out of GPU memory (KV cache)",
        ),
        (
            "llama-server",
            "cudaMalloc failed: out of memory\nllama_model_load: error loading model: unable to allocate CUDA0 buffer",
            "out of GPU memory (weights)",
        ),
    ];
    for (engine, line, class) in cases {
        let log = format!("{line}\nRuntimeError: Engine core initialization failed. See root cause above.\n");
        let found = classify(&log, &patterns_of(engine)).unwrap();
        assert_eq!(found.class, class, "{line}");
        assert!(!found.line.contains("root cause"), "{}", found.line);
    }
}

/// What is no reason, wherever it stands in a log: advice, warnings, what was got over.
const IN_PASSING: [&str; 14] = [
    "WARNING 11-21 05:45:57 [config.py:1] CUDA out of memory is common when --max-num-seqs is high",
    "WARNING: CUDA out of memory is common when the batch is large",
    "(EngineCore pid=77) WARNING 11-21 05:45:57 [x.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried a smaller batch.",
    "INFO 11-21 05:45:57 [envs.py:3] set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid CUDA out of memory",
    "Set --mem-fraction-static lower to prevent CUDA out of memory errors",
    "[2026-11-21 05:30:06] Ignore import error when loading x: ModuleNotFoundError: No module named 'vllm'",
    "2026-11-21 05:45:57,123 - engine.memory - WARNING - CUDA out of memory handler installed",
    "WARNING:root:could not reach the usage server: Name or service not known",
    "{x.py}:12: UserWarning: No CUDA GPUs are available, rolling back to CPU",
    "0.00.271.898 W common: no kernel image is available for execution on the device, using the next one",
    "[W1121 05:46:11.216 cache.cpp:103] could not write the cache: No space left on device",
    "note: if you see 'CUDA error: out of memory', reduce the batch",
    "level=warning msg=\"[Errno 98] address already in use on the metrics port\"",
    "INFO:     docs: GPU is lost is what Xid 79 means",
];

/// What ends a start, and the class and the line that it has to have.
const ENDS: [(&str, Option<&str>, &str); 9] = [
    (
        "(APIServer pid=1) Traceback (most recent call last):\n(APIServer pid=1)   File \"/x/hub.py\", line 2, in get\n(APIServer pid=1)     raise GatedRepoError(message)\n(APIServer pid=1) huggingface_hub.errors.GatedRepoError: 403 Client Error.\n\nCannot access gated repo for url https://hf.co/m.",
        Some("no access"),
        "Cannot access gated repo for url",
    ),
    (
        "Traceback (most recent call last):\n  File \"/x/config.py\", line 2, in check\n    raise ValueError(text)\nValueError: User-specified max_model_len (999999) is greater than the derived max_model_len (40960).",
        None,
        "ValueError: User-specified max_model_len (999999)",
    ),
    (
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n  Value error, User-specified max_model_len (9) is greater [type=value_error]",
        Some("bad configuration"),
        "Value error, User-specified max_model_len (9) is greater",
    ),
    ("vllm: error: unrecognized arguments: --no-such-flag 3", Some("unknown flag"), "--no-such-flag"),
    (
        "(EngineCore pid=77) ERROR 11-21 05:46:11 [core.py:1] EngineCore failed to start.\n(EngineCore pid=77) ERROR 11-21 05:46:11 [core.py:1] Traceback (most recent call last):\n(EngineCore pid=77) ERROR 11-21 05:46:11 [core.py:1]     self.run()\n(EngineCore pid=77) ERROR 11-21 05:46:11 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.5 GiB. If reserved memory is large try setting X to avoid fragmentation.\n(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.",
        Some("out of GPU memory"),
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.5 GiB",
    ),
    (
        "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 1): address already in use\nINFO:     Waiting for application shutdown.",
        Some("port in use"),
        "[Errno 98]",
    ),
    (
        "ValueError: Model architectures ['Foo'] are not supported for now.",
        Some("unsupported model"),
        "['Foo']",
    ),
    (
        "RuntimeError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported.",
        Some("GPU error"),
        "illegal memory access",
    ),
    ("OSError: [Errno 28] No space left on device: '/cache/x'", Some("disk full"), "No space left on device"),
];

#[test]
fn what_is_said_in_passing_is_no_reason() {
    for patterns in [patterns_of("vllm"), Vec::new()] {
        for passing in IN_PASSING {
            assert_eq!(classify(&format!("{passing}\nserver is leaving\n"), &patterns), None, "{passing}");
            for (end, class, line) in ENDS {
                let before = format!("{passing}\nstarting\n{end}\n");
                let after = format!("starting\n{end}\n{passing}\n");
                for log in [before, after] {
                    let found = classify(&log, &patterns);
                    assert_eq!(found.as_ref().map(|f| f.class.as_str()), class, "{log}");
                    assert!(found.is_none_or(|f| f.line.contains(line)), "{log}");
                }
            }
        }
    }
}

#[test]
fn a_mention_before_a_recorded_failure_changes_nothing() {
    let passing = IN_PASSING.join("\n");
    for (name, class, line) in LOGS.iter().chain(&MORE) {
        let found = classify(&format!("{passing}\n{}", log(name)), &patterns_of(name));
        let found = found.unwrap_or_else(|| panic!("{name}: nothing found"));
        assert_eq!(found.class, *class, "{name}: {}", found.line);
        assert!(found.line.contains(line), "{name}: {}", found.line);
    }
    for name in QUIET {
        assert_eq!(classify(&format!("{passing}\n{}\nbye", log(name)), &patterns_of(name)), None, "{name}");
    }
}

/// An error that its own process got over: it loaded the model afterwards, or met another one later.
#[test]
fn what_was_got_over_is_no_reason() {
    let early = "(EngineCore pid=7) ERROR 11-21 05:45:57 [x.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 11-21 05:45:57 [x.py:1] ModuleNotFoundError: No module named 'flashinfer'\n";
    let worked = "(EngineCore pid=7) INFO 11-21 05:46:11 [x.py:2] Using FlashAttention backend.\n";
    let loaded = "(EngineCore pid=7) INFO 11-21 05:46:11 [x.py:3] Starting to load model /models/M...\n";
    let end = "(EngineCore pid=7) ValueError: heads are odd\n(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n";
    let class = |log: String| classify(&log, &patterns_of("vllm")).map(|f| (f.class, f.line));
    let odd = Some(("did not start".to_owned(), "ValueError: heads are odd".to_owned()));
    assert_eq!(class(format!("{early}{worked}{end}")), odd);
    assert_eq!(class(format!("{early}{worked}{loaded}")), None);
    assert_eq!(class(format!("{early}{worked}")).unwrap().0, "missing file");
    let other = worked.replace("EngineCore pid=7", "Worker_TP1 pid=8");
    assert_eq!(class(format!("{early}{other}{end}")).unwrap().0, "missing file");
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/failures")
}

fn log(name: &str) -> String {
    let bytes = std::fs::read(folder().join(format!("{name}.log"))).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The patterns of the engine that a log is of; none for one that the library does not have.
pub fn patterns_of(name: &str) -> Vec<FailurePattern> {
    let engine = ["vllm", "sglang", "trtllm", "llama"].into_iter().find(|e| name.contains(e));
    let engine = match engine {
        Some("llama") => "llama_cpp",
        Some(engine) => engine,
        None => return Vec::new(),
    };
    let text = format!("use std/engines {{ {engine} }}\n");
    let program = analyze(&NoFiles, "test.plab", &text).program;
    let failures = &program.engines[engine].failures;
    assert!(failures.len() > 5);
    failures.iter().map(|f| FailurePattern::new(f.name.clone(), &f.pattern).unwrap()).collect()
}
