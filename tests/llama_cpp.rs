//! The example `examples/llama_cpp.plab` against a real server: llama.cpp with a tiny random model. What holds with the
//! simulated engine has to hold with one that nobody here wrote: exact token counts, a whole account of the time, real
//! failures under their names, and nothing left behind.
//!
//! It needs what `examples/llama_cpp/setup.sh` makes. Where that is missing it says so and passes, unless
//! `PERFLAB_NO_SKIP=1` makes skipping a failure.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::packed_records;

/// What the example asks for, and what the chat template of its model adds to every prompt.
const REQUESTS: u64 = 40;
const INPUT: u64 = 128;
const TEMPLATE: u64 = 3;
const OUTPUT: u64 = 64;

/// How long anything may take before a test gives up. A machine may be busy.
const PATIENCE: Duration = Duration::from_mins(5);

/// Two studies at once would compete for the cores.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn a_real_server_is_studied_to_the_end() {
    let Some(_turn) = turn() else { return };
    let lab = Lab::new(|_| example());
    let report = lab.exec();

    assert_eq!(report["simulated"], false);
    assert_eq!(report["complete"], true);
    for trial in trials(&report) {
        let expected: &[&str] = match text(&trial["label"]) {
            "64" => &["pruned"],
            "attention off + 8-bit KV cache" => &["failed"],
            _ => MEASURED,
        };
        assert!(expected.contains(&text(&trial["outcome"])), "{trial}");
    }
    let no_room = &labelled(&report, "64")["reason"];
    assert!(text(no_room).contains("do not fit into a slot"), "{no_room}");
    let failed = &labelled(&report, "attention off + 8-bit KV cache")["reason"];
    assert!(text(failed).contains("a quantized V needs flash attention"), "{failed}");
    all_lengths_are_exact(&lab, &report);
    every_second_belongs_to_a_launch(&lab, &report);
    let command = text(&report["recommended"]["command"]);
    let expected = "llama_cpp/.venv/bin/python llama_cpp/serve.py --model llama_cpp/tiny.gguf --threads 1";
    assert!(command.starts_with(expected), "{command}");
    lab.nothing_is_left();

    let (journal, printed) = (lab.read("state/journal.jsonl"), lab.read("printed"));
    lab.exec();
    assert!(lab.read("state/journal.jsonl") == journal, "a second run measures nothing");
    assert!(lab.read("printed") == printed, "a second run prints the same report");
}

#[test]
fn a_server_that_is_killed_under_load_is_one_failed_trial() {
    let Some(_turn) = turn() else { return };
    let lab = Lab::new(longer_example);
    let mut perflab = lab.start();
    let victim = loop {
        if let Some(pid) = lab.server_under_load("L002") {
            break pid;
        }
        perflab.still_runs();
        std::thread::sleep(Duration::from_millis(5));
    };
    kill(Pid::from_raw(victim), Signal::SIGKILL).unwrap();
    let report = lab.finish(perflab);

    assert_eq!(report["complete"], true);
    assert_eq!(report["launches"].as_array().unwrap().len(), 3, "the study goes on");
    let killed = labelled(&report, "2");
    assert_eq!(killed["outcome"], "failed", "{killed}");
    assert!(text(&killed["reason"]).contains("crash under load (SIGKILL)"), "{killed}");
    let next = labelled(&report, "8");
    assert!(MEASURED.contains(&text(&next["outcome"])), "{next}");
    assert_eq!(next["metrics"]["completed"], next["metrics"]["planned"]);
    let command = text(&report["recommended"]["command"]);
    assert!(!command.contains("--parallel 2"), "what failed is not recommended: {command}");
    lab.nothing_is_left();
}

/// Outcomes of what ran to its end. How fast it was is not tested here.
const MEASURED: &[&str] = &["ok", "flagged"];

/// The turn of a test, or none if what it needs is missing.
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    let made = [".venv/bin/python", "tiny.gguf", "tokenizer.json"];
    if made.iter().all(|name| example().with_extension("").join(name).exists()) {
        return Some(ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner));
    }
    let skipped = "SKIPPED llama_cpp: run examples/llama_cpp/setup.sh\n";
    assert!(std::env::var_os("PERFLAB_NO_SKIP").is_none_or(|v| v != "1"), "{skipped}");
    // not eprintln!: what it writes is shown only if the test fails
    std::io::stderr().write_all(skipped.as_bytes()).unwrap();
    None
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/llama_cpp.plab")
}

/// The example with its first step alone, and with loads of several seconds, so that there is time to kill a server under
/// load.
fn longer_example(dir: &Path) -> PathBuf {
    let mut text = fs::read_to_string(example()).unwrap();
    let mut replace = |old: &str, new: &str| {
        assert!(text.contains(old), "the example has no `{old}` any more");
        text = text.replace(old, new);
    };
    // engines run in the study file's directory, and this one lies elsewhere
    let folder = example().with_extension("");
    replace("llama_cpp/", &format!("{}/", folder.display()));
    replace("requests    40", "requests    240");
    replace("step cache ", "# ");
    let file = dir.join("longer.plab");
    fs::write(&file, text).unwrap();
    file
}

/// Every request of every load that ran to its end.
fn all_lengths_are_exact(lab: &Lab, report: &Value) {
    let ran: Vec<&Value> = trials(report).filter(|t| MEASURED.contains(&text(&t["outcome"]))).collect();
    for trial in &ran {
        let metrics = &trial["metrics"];
        assert_eq!(metrics["planned"], REQUESTS, "{trial}");
        assert_eq!(metrics["completed"], REQUESTS, "{trial}");
        assert_eq!(metrics["input_tokens"], REQUESTS * (INPUT + TEMPLATE), "{trial}");
        assert_eq!(metrics["output_tokens"], REQUESTS * OUTPUT, "{trial}");
    }
    let loads: Vec<PathBuf> =
        lab.launches().map(|l| l.join("chat.requests.jsonl.gz")).filter(|f| f.exists()).collect();
    assert_eq!(loads.len(), ran.len());
    for load in &loads {
        let records = packed_records(load);
        assert_eq!(records.len() as u64, REQUESTS);
        for record in records {
            assert_eq!(record["prompt_tokens_own"], INPUT, "{record}");
            assert_eq!(record["prompt_tokens"], INPUT + TEMPLATE, "{record}");
            assert_eq!(record["output_tokens"], OUTPUT, "{record}");
            assert_eq!(record["counted_by"], "usage", "{record}");
            assert_eq!(record["finish_reason"], "length", "{record}");
            assert_eq!(record["cached_tokens"], 0, "the prompt cache is off: {record}");
        }
    }
}

/// The launches account for the whole time, and the whole time is what a clock shows.
fn every_second_belongs_to_a_launch(lab: &Lab, report: &Value) {
    let launches = report["launches"].as_array().unwrap();
    assert!(launches.len() >= 4, "{launches:?}");
    let parts = ["start_s", "warmup_s", "load_s", "stop_s", "own_s"];
    let sum: f64 = launches.iter().flat_map(|l| parts.map(|part| l[part].as_f64().unwrap())).sum();
    let wall = report["cost"]["wall_s"].as_f64().unwrap();
    // to write the last launch down is what remains; a busy disk may take longer for it than a hundredth of so short a study
    let closing = wall - lab.last_launch_gone_after();
    assert!((0.0..5.0).contains(&closing), "wall {wall} s, {closing} s of it after the last launch");
    assert!(
        (sum + closing - wall).abs() <= 0.01 * wall,
        "launches {sum} s, closing {closing} s, wall {wall} s"
    );
    let clock = lab.born.elapsed().as_secs_f64();
    assert!((0.0..5.0).contains(&(clock - wall)), "wall {wall} s, by the clock {clock} s");
}

fn trials(report: &Value) -> impl Iterator<Item = &Value> {
    report["trials"].as_array().unwrap().iter()
}

fn labelled<'a>(report: &'a Value, label: &str) -> &'a Value {
    trials(report).find(|t| t["label"] == label).unwrap_or_else(|| panic!("no trial `{label}`"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

/// A study file and the directory in which one test carries it out.
struct Lab {
    dir: tempfile::TempDir,
    file: PathBuf,
    born: Instant,
}

impl Lab {
    fn new(file: impl FnOnce(&Path) -> PathBuf) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { file: file(dir.path()), dir, born: Instant::now() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn exec(&self) -> Value {
        self.finish(self.start())
    }

    /// The real program. Its checks only warn: a busy machine would have them refuse what the client could not measure.
    fn start(&self) -> Perflab {
        let create = |name| fs::File::create(self.path(name)).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_perflab"))
            .args(["exec", "--checks", "warn", "--format", "json", "--dir"])
            .arg(self.path("state"))
            .arg("--events")
            .arg(self.path("events"))
            .arg(&self.file)
            .stdin(Stdio::null())
            .stdout(create("printed"))
            .stderr(create("complaints"))
            .spawn()
            .unwrap();
        Perflab { child, began: Instant::now() }
    }

    fn finish(&self, mut perflab: Perflab) -> Value {
        let status = loop {
            match perflab.child.try_wait().unwrap() {
                Some(status) => break status,
                None => perflab.patience(),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(status.success(), "{status}: {}", self.read("complaints"));
        serde_json::from_str(&self.read("printed")).unwrap()
    }

    /// The server of a launch, once some requests of its load are done and others are not.
    fn server_under_load(&self, launch: &str) -> Option<i32> {
        let text = self.read("events");
        let events: Vec<Value> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
        let of_launch = events.iter().filter(|e| e["launch"] == launch);
        let load: Vec<&Value> = of_launch.skip_while(|e| e["phase"] != "load").collect();
        assert!(!load.iter().any(|e| e["event"] == "load_ends"), "too late: {load:?}");
        load.iter().find(|e| e["event"] == "load" && e["done"].as_u64() > Some(0))?;
        let servers = self.processes().into_iter().filter(|(_, mark, words)| {
            mark.ends_with(launch) && words.contains("serve.py") && words.contains("--port")
        });
        let pids: Vec<i32> = servers.map(|(pid, ..)| pid).collect();
        assert_eq!(pids.len(), 1, "{:?}", self.processes());
        pids.first().copied()
    }

    /// The journal's entries; the last line may not be whole yet.
    fn journal(&self) -> Vec<Value> {
        self.read("state/journal.jsonl").lines().filter_map(|l| serde_json::from_str(l).ok()).collect()
    }

    /// Seconds from the study's start to the end of its last launch.
    fn last_launch_gone_after(&self) -> f64 {
        let journal = self.journal();
        let last = journal.iter().rfind(|e| e["kind"]["gone"].is_object());
        last.expect("a launch that ended")["session_s"].as_f64().unwrap()
    }

    /// All processes that carry the mark of one of this study's launches: number, mark and command line.
    fn processes(&self) -> Vec<(i32, String, String)> {
        let journal = self.journal();
        let nonces = journal.iter().filter_map(|e| e["kind"]["launch"]["nonce"].as_str());
        let marks: Vec<String> = nonces.map(str::to_owned).collect();
        assert!(!marks.is_empty(), "the journal names no launch");
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else { continue };
            let words = |name| fs::read(entry.path().join(name)).unwrap_or_default();
            let environment = String::from_utf8_lossy(&words("environ")).into_owned();
            let mark = environment.split('\0').find_map(|v| v.strip_prefix("PERFLAB_LAUNCH="));
            if let Some(mark) = mark.filter(|m| marks.iter().any(|known| known == m)) {
                let command = String::from_utf8_lossy(&words("cmdline")).replace('\0', " ");
                found.push((pid, mark.to_owned(), command));
            }
        }
        found
    }

    /// Where the launches' files lie.
    fn launches(&self) -> impl Iterator<Item = PathBuf> {
        let below = |dir: PathBuf| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        below(self.path("state/trials")).flat_map(below)
    }

    /// The text of the files of this name, one in each launch's directory.
    fn launch_files(&self, name: &str) -> Vec<String> {
        self.launches().filter_map(|launch| fs::read_to_string(launch.join(name)).ok()).collect()
    }

    fn nothing_is_left(&self) {
        assert_eq!(self.processes(), [], "processes are left");
        let logs = self.launch_files("server.log").concat();
        let listened = logs.split("listening on http://127.0.0.1:").skip(1);
        let ports: Vec<u16> = listened.map(number_at_start).collect();
        assert!(ports.len() >= 3, "{logs}");
        for port in ports {
            assert!(!answers_with_the_model(port), "something still serves the model on port {port}");
        }
    }
}

fn number_at_start(text: &str) -> u16 {
    text.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// Whether llama.cpp with this model listens there. The port alone may be another program's by now.
fn answers_with_the_model(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let asked = stream.write_all(b"GET /props HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    // an answer that breaks off may still name the model
    let _ = stream.read_to_end(&mut answer);
    asked.is_ok() && String::from_utf8_lossy(&answer).contains("tiny.gguf")
}

/// A running perflab. A test that fails does not leave it running: it is killed, and its guards kill what it started.
struct Perflab {
    child: Child,
    began: Instant,
}

impl Perflab {
    fn still_runs(&mut self) {
        let ended: Option<ExitStatus> = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "perflab ended too early: {ended:?}");
        self.patience();
    }

    fn patience(&self) {
        assert!(self.began.elapsed() < PATIENCE, "perflab takes too long");
    }
}

impl Drop for Perflab {
    fn drop(&mut self) {
        // after a good end both do nothing
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
