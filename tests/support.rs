//! Tools of the integration tests: the real binary in a directory of its own, made-up studies and recordings, and reports read back.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything may take before a test gives up. A machine may be slow and busy.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// A directory for one test, removed with it.
pub struct Lab {
    dir: tempfile::TempDir,
}

/// What an invocation left.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Fails with both streams unless the exit code is this one.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// An error must say so on stderr, and leave stdout to results.
    #[track_caller]
    pub fn expect_error(self, code: i32, words: &[&str]) -> Self {
        let out = self.expect_code(code);
        assert_eq!(out.stdout, "", "nothing belongs on stdout");
        for word in words {
            assert!(out.stderr.contains(word), "`{word}` is missing in:\n{}", out.stderr);
        }
        out
    }

    /// Stdout as one JSON document and nothing else.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("no JSON ({e}):\n{}\nstderr:\n{}", self.stdout, self.stderr))
    }

    #[track_caller]
    pub fn report(&self) -> Report {
        Report(self.json())
    }
}

/// The binary under test.
pub fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_perflab")
}

/// The project's own directory.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Lab {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// A lab with a study file, `study.plab`.
    pub fn with(study: &str) -> Self {
        let lab = Self::new();
        lab.write("study.plab", study);
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file in the lab");
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The binary in this directory, without colours and with a width that does not depend on who runs the tests.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("COLUMNS", "100").env("NO_COLOR", "1");
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        self.start(args).wait()
    }

    /// Starts the binary; its streams go to files, so that nothing that it leaves behind can hold a pipe open.
    pub fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Running {
        self.start_command(self.command(args))
    }

    pub fn start_command(&self, mut command: Command) -> Running {
        let streams = tempfile::tempdir_in(self.dir.path()).expect("a temporary directory");
        let file = |name: &str| File::create(streams.path().join(name)).expect("a file for a stream");
        command.stdout(file("stdout")).stderr(file("stderr"));
        let child = command.spawn().expect("perflab starts");
        Running { child, streams }
    }

    /// A replay of `study.plab` over made-up runs, as people read it.
    pub fn replay_text(&self, recording: &Recording, more: &[&str]) -> Output {
        self.write("recording.json", recording.text());
        let fixed = ["exec", "study.plab", "--replay", "recording.json", "--dir", "replayed"];
        self.run(&[&fixed, more].concat())
    }

    /// A replay of `study.plab` over made-up runs, as a report.
    pub fn replay(&self, recording: &Recording, more: &[&str]) -> Output {
        self.write("recording.json", recording.text());
        let fixed =
            ["exec", "study.plab", "--replay", "recording.json", "--format", "json", "--dir", "replayed"];
        self.run(&[&fixed, more].concat())
    }
}

/// An invocation that goes on.
pub struct Running {
    pub child: Child,
    streams: tempfile::TempDir,
}

impl Running {
    pub fn wait(self) -> Output {
        self.wait_at_most(PATIENCE)
    }

    pub fn wait_at_most(mut self, patience: Duration) -> Output {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child's status") {
                break status;
            }
            if began.elapsed() > patience {
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("no end after {patience:?}; stderr:\n{}", self.stderr());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let signal = std::os::unix::process::ExitStatusExt::signal(&status).map_or(0, |s| 1000 + s);
        Output { code: status.code().unwrap_or(signal), stdout: self.text("stdout"), stderr: self.stderr() }
    }

    pub fn stderr(&self) -> String {
        self.text("stderr")
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.streams.path().join(name)).unwrap_or_default()).into_owned()
    }
}

/// Waits for something to become true.
#[track_caller]
pub fn wait_for(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A test that needs what this machine lacks passes and says so, unless nothing may be skipped.
#[track_caller]
pub fn skip(name: &str, why: &str) {
    assert!(std::env::var_os("PERFLAB_NO_SKIP").is_none_or(|v| v != "1"), "{name} may not be skipped: {why}");
    // written past the test harness, which keeps what `eprintln!` says to itself
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED {name}: {why}\n").as_bytes());
}

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

/// A report document.
#[derive(Debug, Clone, PartialEq)]
pub struct Report(pub Value);

impl Report {
    #[track_caller]
    pub fn trial(&self, id: &str) -> &Value {
        let found = self.0["trials"].as_array().expect("trials").iter().find(|t| t["id"] == id);
        found.unwrap_or_else(|| panic!("no trial {id}"))
    }

    #[track_caller]
    pub fn step(&self, name: &str) -> &Value {
        let found = self.0["steps"].as_array().expect("steps").iter().find(|s| s["name"] == name);
        found.unwrap_or_else(|| panic!("no step {name} in {}", self.0["steps"]))
    }

    /// The row of a candidate.
    #[track_caller]
    pub fn row(&self, step: &str, label: &str) -> &Value {
        let rows = self.step(step)["rows"].as_array().expect("rows");
        let found = rows.iter().find(|r| r["role"] == "candidate" && r["label"] == label);
        found.unwrap_or_else(|| panic!("no row {label} in {rows:?}"))
    }

    #[track_caller]
    pub fn outcome(&self, step: &str, label: &str) -> &str {
        self.row(step, label)["outcome"].as_str().expect("an outcome")
    }

    #[track_caller]
    pub fn reason(&self, step: &str, label: &str) -> &str {
        self.row(step, label)["reason"].as_str().unwrap_or_default()
    }

    /// A trial's engine and flags in normal form: `toy --a=1 --fast=true`.
    #[track_caller]
    pub fn config(&self, id: &Value) -> String {
        let config = &self.trial(id.as_str().expect("an id"))["config"];
        let flags = config["flags"].as_array().expect("flags").iter();
        let flags = flags.map(|f| format!(" {}={}", f["name"].as_str().expect("a name"), f["value"]));
        config["engine"].as_str().expect("an engine").to_owned() + &flags.collect::<String>()
    }

    /// The configuration that the study goes on with after a step.
    #[track_caller]
    pub fn after(&self, step: &str) -> String {
        self.config(&self.step(step)["incumbent_after"])
    }

    #[track_caller]
    pub fn adopted(&self, step: &str) -> bool {
        self.step(step)["adopted"].as_bool().expect("adopted")
    }

    /// The step's gain as a fraction.
    #[track_caller]
    pub fn gain(&self, step: &str) -> f64 {
        self.step(step)["gain"]["value"].as_f64().unwrap_or_else(|| panic!("no gain in {}", self.step(step)))
    }

    /// The recommended command.
    pub fn recommended(&self) -> Option<&str> {
        self.0["recommended"]["command"].as_str()
    }
}

/// The `.plab` files of a folder, in order.
pub fn studies(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|e| e.expect("an entry").path());
    let mut found: Vec<_> = paths.filter(|p| p.extension().is_some_and(|e| e == "plab")).collect();
    found.sort();
    found
}

/// Whether two numbers are as good as equal.
#[track_caller]
pub fn assert_close(left: f64, right: f64, within: f64) {
    assert!((left - right).abs() <= within, "{left} is not {right} (within {within})");
}

/// The simulated engine under a load of eight short requests: a launch takes about a second.
pub const LIVE: &str = r#"
use std/engines { sim }
engine small "Small" = sim { --max-model-len=4Ki }
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
axis seqs    = --max-num-seqs=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
axis batched = --max-num-batched-tokens=[512]
"#;

/// A study that runs for real, on the simulated engine.
pub fn live_study(lines: &str) -> String {
    let objective = if lines.contains("imize ") { "" } else { "maximize total_tps on quick" };
    format!(
        "{LIVE}study s \"S\" {{\n model \"Qwen/Qwen3-0.6B\"\n baseline small\n {objective}\n repeat 1\n{lines}\n}}\n"
    )
}

/// What a busy machine does to a client must not decide these tests: findings are shown and count as valid.
pub const EXEC: [&str; 8] = ["exec", "study.plab", "--checks", "warn", "--format", "json", "--dir", "state"];

/// The processes that launches of a lab's state directory left, by the mark that all of them inherit.
pub fn marked(lab: &Lab) -> Vec<i32> {
    let Ok(dir) = lab.path("state").canonicalize() else { return Vec::new() };
    let hash = perflab::plan::config::short_hash(&dir.to_string_lossy());
    let mark = format!("PERFLAB_LAUNCH=plab-{hash}-");
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = processes.filter_map(|e| e.file_name().to_str()?.parse().ok());
    let carries = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|v| v.starts_with(mark.as_bytes()))
    };
    pids.filter(carries).collect()
}

/// Whether some words stand in the command line of a process.
pub fn runs(pid: i32, words: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").contains(words)
}

/// The event stream of an invocation so far, as JSON lines.
pub fn events(lab: &Lab) -> Vec<Value> {
    let text = fs::read_to_string(lab.path("events.jsonl")).unwrap_or_default();
    text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect()
}
