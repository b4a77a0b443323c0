//! A study whose candidates get into trouble, each in a way of its own: carrying it out, killing the process that it says, and
//! looking for what is left.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{EXEC, Lab, Output, Report, Running, descends_from, events, marked, runs};

/// A failed start of a real engine can take half a minute on two cores, and a study has ten launches.
const PATIENCE: Duration = Duration::from_mins(30);

/// Outcomes of what ran to its end. How fast it was is not tested here.
const MEASURED: [&str; 2] = ["ok", "flagged"];

/// The step whose candidates are in trouble, in every study of this folder.
const STEP: &str = "trouble";
/// The candidate that loses a process under load.
const KILLED: &str = "a killed worker";

/// `study.plab` in a lab, carried out with some arguments more.
pub struct Session {
    pub lab: Lab,
    pub running: Running,
    pid: u32,
}

/// What a session left behind.
pub struct Ended {
    pub lab: Lab,
    pub report: Report,
    pub stderr: String,
}

impl Session {
    pub fn start(lab: Lab, more: &[&str]) -> Self {
        let running = lab.start(&[&EXEC, &["--events", "events.jsonl"][..], more].concat());
        Self { lab, pid: running.child.id(), running }
    }

    /// Kills the process of the candidate's tree whose command line has these words, once its load has brought results and
    /// more are to come.
    pub fn kill_under_load(&mut self, words: &str) {
        let began = Instant::now();
        let victim = loop {
            if let Some(victim) = self.under_load(KILLED).and_then(|launch| self.process(&launch, words)) {
                break victim;
            }
            let ended = self.running.child.try_wait().expect("a status");
            assert!(ended.is_none(), "perflab ended before the load: {}", self.running.stderr());
            assert!(began.elapsed() < PATIENCE, "no load of {KILLED}: {}", self.running.stderr());
            std::thread::sleep(Duration::from_millis(50));
        };
        kill(Pid::from_raw(victim), Signal::SIGKILL).expect("it lives");
    }

    /// The launch of this label, if its load runs and some of its requests are done.
    fn under_load(&self, label: &str) -> Option<String> {
        let events = events(&self.lab);
        let begun = events.iter().rfind(|e| e["event"] == "launch_begins" && e["label"] == label)?;
        let loads = events.iter().filter(|e| e["launch"] == begun["launch"]);
        let loads: Vec<&Value> = loads.skip_while(|e| e["phase"] != "load").collect();
        let last = loads.iter().rfind(|e| e["event"] == "load")?;
        assert!(!loads.iter().any(|e| e["event"] == "load_ends"), "too late: {loads:?}");
        (last["done"].as_u64() > Some(0)).then(|| begun["launch"].as_str().unwrap_or_default().to_owned())
    }

    /// The engine's process with these words. One that gave itself a title may have lost its environment, and the mark in it, so it
    /// is looked for below the engine's first.
    fn process(&self, launch: &str, words: &str) -> Option<i32> {
        let events = events(&self.lab);
        let spawned = events.iter().rfind(|e| e["event"] == "spawned" && e["launch"] == launch)?;
        let leader = spawned["pid"].as_i64()? as i32;
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let mut pids = processes.filter_map(|e| e.file_name().to_str()?.parse().ok());
        pids.find(|pid| runs(*pid, words) && descends_from(*pid, leader))
    }

    /// The study comes to this exit code, and nothing of it is left: no process, no temporary directory.
    #[track_caller]
    pub fn end(self, code: i32) -> Ended {
        let Self { lab, running, pid } = self;
        let Output { stdout, stderr, code: ended } = running.wait_at_most(PATIENCE);
        assert_eq!(ended, code, "{stdout}\n{stderr}");
        assert_eq!(marked(&lab), [0i32; 0], "processes are left");
        let temporary = fs::read_dir(std::env::temp_dir()).expect("a directory").flatten();
        let scratch = format!("plab-{pid}-");
        let left: Vec<_> =
            temporary.map(|e| e.file_name()).filter(|n| n.to_string_lossy().starts_with(&scratch)).collect();
        assert!(left.is_empty(), "temporary directories are left: {left:?}");
        every_launch_ends_gone(&lab);
        let report = Report(serde_json::from_str(&stdout).expect("a report"));
        Ended { lab, report, stderr }
    }
}

/// In the event stream, the last stage of each launch is `gone`.
#[track_caller]
fn every_launch_ends_gone(lab: &Lab) {
    let mut last = std::collections::BTreeMap::new();
    for event in events(lab).into_iter().filter(|e| e["event"] == "stage") {
        last.insert(event["launch"].to_string(), event["to"].clone());
    }
    assert!(!last.is_empty() && last.values().all(|stage| stage == "gone"), "{last:?}");
}

impl Ended {
    /// The candidate failed, and its reason has these words.
    #[track_caller]
    pub fn failed(&self, label: &str, words: &[&str]) {
        let reason = self.report.reason(STEP, label);
        assert_eq!(self.report.outcome(STEP, label), "failed", "{label}: {reason}");
        for word in words {
            assert!(reason.contains(word), "{label}: `{word}` is not in: {reason}");
        }
        assert!(
            !reason.contains('\n') && !reason.contains("pid="),
            "{label}: one line, without a logger's prefix: {reason}"
        );
    }

    /// The candidate did not start: its engine ended so (`exit code 2`), for this reason.
    #[track_caller]
    pub fn left_at_once(&self, label: &str, end: &str, words: &[&str]) {
        self.failed(label, &[&["did not start: "], words].concat());
        let launch = self.launch(label);
        let events = events(&self.lab);
        let fails = events.iter().rfind(|e| e["event"] == "launch_fails" && e["launch"] == launch);
        let reason = fails.expect("it is told")["reason"].to_string();
        assert!(reason.contains(&format!(" ready, {end}: ")), "{label}: {reason}");
    }

    /// The last launch of this label.
    #[track_caller]
    fn launch(&self, label: &str) -> Value {
        let events = events(&self.lab);
        let begun = events.iter().rfind(|e| e["event"] == "launch_begins" && e["label"] == label);
        begun.unwrap_or_else(|| panic!("no launch of {label}"))["launch"].clone()
    }

    /// What came of each launch, and how long it took, as rows of a table for people.
    pub fn table(&self, engine: &str) -> String {
        let rows = self.report.step(STEP)["rows"].as_array().expect("rows");
        let row = |row: &Value| {
            let text = |key: &str| row[key].as_str().unwrap_or_default().replace('|', "\\|");
            let launch = self.launch(row["label"].as_str().expect("a label"));
            let launches = self.report.0["launches"].as_array().expect("launches");
            let times = launches.iter().find(|l| l["id"] == launch).cloned().unwrap_or_default();
            let seconds = |key: &str| times[key].as_f64().unwrap_or_default();
            let (label, outcome, reason) = (text("label"), text("outcome"), text("reason"));
            let measured = MEASURED.contains(&outcome.as_str());
            let said = if measured { "measured".to_owned() } else { format!("{outcome}: {reason}") };
            format!(
                "| {engine} | {label} | {said} | {:.1} s | {:.1} s |\n",
                seconds("start_s"),
                seconds("stop_s")
            )
        };
        rows.iter().map(row).collect()
    }

    /// The candidate ran to its end, with every token that was asked for.
    #[track_caller]
    pub fn measured(&self, label: &str, asked: &Asked) {
        let row = self.report.row(STEP, label);
        assert!(MEASURED.contains(&self.report.outcome(STEP, label)), "{label}: {row}");
        asked.expect(self.report.trial(row["trial"].as_str().expect("an id")));
    }

    /// Nothing that the study wrote has this text.
    #[track_caller]
    pub fn nowhere_is(&self, secret: &str) {
        let mut left = vec![self.lab.path("state")];
        while let Some(path) = left.pop() {
            if path.is_dir() {
                left.extend(fs::read_dir(&path).expect("a directory").flatten().map(|entry| entry.path()));
                continue;
            }
            let text = fs::read(&path).expect("a file");
            assert!(!String::from_utf8_lossy(&text).contains(secret), "it is in {}", path.display());
        }
        assert!(!self.stderr.contains(secret), "{}", self.stderr);
    }

    /// The baseline ran to its end too, and what is recommended was measured.
    #[track_caller]
    pub fn recommends_what_works(&self, asked: &Asked) {
        assert_eq!(self.report.0["complete"], true);
        asked.expect(self.report.trial(self.report.0["baseline"].as_str().expect("an id")));
        let recommended = &self.report.0["recommended"]["trial"];
        let trial = self.report.trial(recommended.as_str().expect("a recommendation"));
        assert!(MEASURED.contains(&trial["outcome"].as_str().expect("a word")), "{trial}");
    }
}

/// What each load asks for: requests, and tokens of each, those of the chat template included.
pub struct Asked {
    pub requests: u64,
    pub input: u64,
    pub output: u64,
}

impl Asked {
    #[track_caller]
    fn expect(&self, trial: &Value) {
        let metrics = &trial["metrics"];
        let expected = [
            ("completed", self.requests),
            ("input_tokens", self.requests * self.input),
            ("output_tokens", self.requests * self.output),
        ];
        for (metric, value) in expected {
            assert_eq!(metrics[metric], value, "{metric} of {trial}");
        }
    }
}
