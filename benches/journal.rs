//! A journal of ten thousand trials: how fast it opens, and in how much memory its study resumes. `cargo bench --bench journal`
//!
//! Prints what it sees and fails nothing: the machine may be busy. Trials have 300 requests each, as a load has that does not say, and
//! lines as long as those of a study of vLLM, whose servers tell dozens of arguments.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use indexmap::IndexMap;
use perflab::journal::event::VERSION;
use perflab::journal::{Conditions, Event, History, Kind, LaunchTimes, Requests, Says, Writer, seal};
use perflab::judge::{
    Checks, Distribution, Grid, Latency, Metrics, Next, Run, RunOutcome, Setup, Strategy as _,
};
use perflab::lang::source::Files;
use perflab::lang::{Program, analyze};
use perflab::plan::Config;

const TRIALS: usize = 10_000;
const REQUESTS: u64 = 300;

struct Nothing;

impl Files for Nothing {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(path.to_owned())
    }
}

/// A study of 100 × 100 candidates and a baseline.
fn study() -> String {
    let list = |step: usize| (1..=100).map(|i| (i * step).to_string()).collect::<Vec<_>>().join(", ");
    let mut text = "use std/engines { sim }\nengine plain = sim { --max-model-len=8Ki }\n".to_owned();
    text += "profile chat { data random\n input 256\n output 64\n concurrency 8\n requests 300 }\n";
    let _ = writeln!(text, "axis seqs = --max-num-seqs=[{}]", list(1));
    let _ = writeln!(text, "axis batched = --max-num-batched-tokens=[{}]", list(512));
    text += "study s { model \"m\"\n baseline plain\n maximize total_tps on chat\n repeat 1\n step all { vary seqs * batched } }\n";
    text
}

fn metrics(i: usize) -> Metrics {
    let mut metrics = Metrics::default();
    let numbers = [
        "planned",
        "completed",
        "short",
        "failed",
        "input_tokens",
        "output_tokens",
        "peak_concurrency",
        "duration_s",
        "request_rate",
        "input_tps",
        "output_tps",
        "total_tps",
        "startup_s",
        "success_rate",
        "steady_total_tps",
        "send_rate",
        "client_lag_p99_ms",
        "client_cpu_s",
    ];
    for name in numbers {
        metrics.set(name, if name == "success_rate" { 1.0 } else { 1_000.123_456 + i as f64 });
    }
    let some = Some(123.456_789 + i as f64);
    let d = Distribution {
        mean: some,
        stddev: some,
        p50: some,
        p90: some,
        p95: some,
        p99: some,
        p999: some,
        min: some,
        max: some,
    };
    let names =
        ["ttft_ms", "ttft_from_schedule_ms", "tpot_ms", "itl_ms", "icl_ms", "latency_ms", "schedule_lag_ms"];
    for name in names {
        metrics.set_distribution(name, d);
    }
    let times = (0..REQUESTS).map(|r| Latency {
        ttft_us: Some(100_000 + r * 37),
        tpot_us: Some(9_000 + r),
        latency_us: Some(700_000 + r * 91),
    });
    metrics.requests = times.collect();
    metrics
}

/// What vLLM 0.17.1 tells of itself, in size.
fn says(i: usize) -> Says {
    let short = (0..25).map(|n| (format!("an_argument_of_the_server_{n}"), serde_json::json!(n + i)));
    let long = ["structured_outputs_config", "observability_config"].map(|name| {
        let value = "show_hidden_metrics_for_version=None, otlp_traces_endpoint=None, ".repeat(4);
        (name.to_owned(), serde_json::json!(value))
    });
    Says {
        version: Some("0.17.1".to_owned()),
        arguments: short.chain(long).collect(),
        from: Some("log".to_owned()),
        simulated: false,
    }
}

/// Writes the journal as `exec` would have, but for the syncing of each line.
fn write(path: &Path, configs: &[Config], load: &str, serve: &str) {
    let mut text = Vec::new();
    let mut seq = 0;
    let mut push = |kind: Kind| {
        seq += 1;
        let event = Event {
            v: VERSION,
            seq,
            at: "2026-01-01T00:00:00Z".to_owned(),
            session: 1,
            session_s: seq as f64,
            kind,
        };
        let mut line = serde_json::to_vec(&event).expect("memory");
        seal(&mut line);
        text.extend(line);
        text.push(b'\n');
    };
    for (i, config) in configs.iter().take(TRIALS).enumerate() {
        let launch = format!("L{:03}", i + 1);
        push(Kind::Launch {
            launch: launch.clone(),
            config_id: config.id().to_owned(),
            config: config.normal(),
            profiles: vec!["chat".to_owned()],
            label: format!("candidate {i}"),
            nonce: format!("plab-0123456789ab-{launch}"),
            command: vec!["perflab".to_owned(), "sim".to_owned(), "--model".to_owned(), "m".to_owned()],
            env: IndexMap::new(),
            container: None,
            model_files: None,
            slot: None,
            installed: None,
            found: BTreeMap::new(),
            check: false,
        });
        push(Kind::Ready { launch: launch.clone(), after_s: 34.13, says: says(i) });
        let run = Run {
            n: 1,
            launch: launch.as_str().into(),
            outcome: RunOutcome::Done,
            metrics: metrics(i),
            notes: Vec::new(),
            devices: None,
            log_tail: Vec::new(),
            confirming: false,
            simulated: false,
        };
        push(Kind::Run {
            launch: launch.clone(),
            config_id: config.id().to_owned(),
            profile: "chat".to_owned(),
            profile_id: load.to_owned(),
            serve_id: serve.to_owned(),
            host_id: "0123456789ab".to_owned(),
            run,
            made: Some(Box::new(Conditions {
                engine: "sim".to_owned(),
                build: Some("vllm 0.17.1+cpu (90b0f99b)".to_owned()),
                libraries: Some("162512df9f3c".to_owned()),
                model: "m".to_owned(),
                model_files: Some("aac8cda38e50bd0a9ba1900125efaa142871fc06".to_owned()),
                cpu: Some("AMD EPYC".to_owned()),
                inherited: ["CUDA_HOME", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "c++", "cc", "nvcc"]
                    .map(|name| (name.to_owned(), Some("/usr/bin/x86_64-linux-gnu-gcc-12".to_owned())))
                    .into(),
                load_generator: 1,
                ..Conditions::default()
            })),
            seed: Some(i as u64),
            opened: None,
            infrastructure: false,
        });
        push(Kind::Gone {
            launch,
            times: LaunchTimes { start_s: 1.0, load_s: 9.0, ..LaunchTimes::default() },
            gpus: 0,
            changed: Vec::new(),
            appeared: Vec::new(),
            came: Vec::new(),
            made: Vec::new(),
            left: BTreeMap::new(),
            stuck: Vec::new(),
        });
    }
    fs::write(path, text).expect("written");
}

/// Bytes that this process holds, from the kernel.
fn resident(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find(|l| l.starts_with(key)).expect("a line");
    line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number") << 10
}

fn resume(program: &Program, path: &Path) {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let began = Instant::now();
    let writer = Writer::open(path, Requests::LeftOut, Instant::now()).expect("opens");
    let opened = began.elapsed();
    let results = writer.history().results(Checks::Refuse, |_| true);
    let setup = Setup::new(program, &program.studies[0], &results, Checks::Warn, false);
    let (_, next) = Grid.next(&setup);
    let missing = if let Next::Run(wanted) = next { wanted.len() } else { 0 };
    println!(
        "opened in {:.3} s; next launch known after {:.3} s",
        opened.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    println!(
        "{missing} launches are missing; {:.1} MiB resident, {:.1} MiB at most",
        mib(resident("VmRSS")),
        mib(resident("VmHWM"))
    );
}

fn main() {
    let analysis = analyze(&Nothing, "s.plab", &study());
    assert!(!analysis.has_errors(), "{:?}", analysis.diagnostics);
    let program = &analysis.program;
    let arguments: Vec<String> = std::env::args().collect();
    // resumed by a process of its own, whose memory is nothing else's
    if let Some(path) = arguments.iter().position(|a| a == "resume").and_then(|i| arguments.get(i + 1)) {
        return resume(program, Path::new(path));
    }
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("journal.jsonl");
    let results = perflab::judge::Results::default();
    let setup = Setup::new(program, &program.studies[0], &results, Checks::Warn, false);
    let (walk, _) = Grid.next(&setup);
    let mut configs: Vec<Config> = walk.baseline.iter().map(|b| b.0.clone()).collect();
    configs.extend(walk.steps.iter().flat_map(|s| &s.rows).skip(1).filter_map(|r| r.config.clone()));
    let serve = perflab::run::serve_ids_anywhere(program, &History::default());
    write(&path, &configs, setup.load("chat"), &serve[0]);
    println!(
        "{TRIALS} trials, {:.1} MiB",
        fs::metadata(&path).expect("a file").len() as f64 / f64::from(1 << 20)
    );
    let this = std::env::current_exe().expect("this program");
    for _ in 0..3 {
        let status = std::process::Command::new(&this).arg("resume").arg(&path).status().expect("starts");
        assert!(status.success());
    }
}
