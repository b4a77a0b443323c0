//! A study of two launches: a baseline that behaves, and a candidate that does what a test says.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::engine::{HOW, PORT, WORKER, command_line};
use crate::support::{EXEC, Lab, Output, Report, binary, events, marked};

const STUDY: &str = r#"
engine scripted "Scripted" {
    version "1"
    serve   "sh engine.sh {model} {host} {port}"
    ready   get "/health" within 5s
    api     openai
    args    joined
    stop    sigterm within 500ms
    failure "worker lost" when log matches "couldn't get a response from detokenizer"
    flag --mode text
}
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
    timeout     3s
}
axis mode = --mode=[bad]
study s "S" {
 model "Qwen/Qwen3-0.6B"
 baseline scripted
 maximize total_tps on quick
 repeat 1
 step mode { vary mode }
}
"#;

/// A lab whose candidate runs `script`: `$model`, `$host` and `$port` are set, `serve` goes on as a good engine, and
/// `misbehave HOW` as one that is not.
pub fn bad_candidate(script: &str) -> Lab {
    let lab = Lab::new();
    let sim = format!("exec '{}' sim --model \"$model\" --host \"$host\" --port \"$port\"", binary());
    let play = format!("export {HOW}=\"$1\" {PORT}=\"$port\" {WORKER}=worker.pid; exec {}", command_line());
    let text = format!(
        "model=$1 host=$2 port=$3 mode=$4\nserve() {{ {sim}; }}\nmisbehave() {{ {play}; }}\n\
         if [ \"$mode\" = --mode=bad ]; then\n{script}\nfi\nserve\n"
    );
    lab.write("engine.sh", text);
    lab.write("study.plab", STUDY);
    lab
}

/// The arguments that carry the study out, with its events in a file.
pub fn exec() -> Vec<&'static str> {
    [&EXEC[..], &["--events", "events.jsonl"]].concat()
}

/// The study comes to its end with the baseline recommended, or the candidate, and nothing is left.
#[track_caller]
pub fn finish(lab: &Lab, out: Output) -> Report {
    let report = out.expect_code(0).report();
    assert_eq!(report.0["complete"], true);
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert!(["ok", "flagged"].contains(&baseline["outcome"].as_str().expect("an outcome")), "{baseline}");
    assert!(report.recommended().is_some());
    assert_eq!(marked(lab), [0i32; 0], "nothing is left");
    every_launch_ends_gone(lab);
    report
}

/// Runs the study of a candidate that does what `script` does.
#[track_caller]
pub fn run(script: &str) -> (Lab, Report) {
    let lab = bad_candidate(script);
    let out = lab.run(&exec());
    let report = finish(&lab, out);
    (lab, report)
}

/// The candidate failed, and its reason has these words.
#[track_caller]
pub fn expect_failure(script: &str, words: &[&str]) -> Lab {
    let (lab, report) = run(script);
    assert_eq!(report.outcome("mode", "bad"), "failed", "{}", report.reason("mode", "bad"));
    for word in words {
        let reason = report.reason("mode", "bad");
        assert!(reason.contains(word), "`{word}` is not in: {reason}");
    }
    lab
}

#[track_caller]
pub fn expect_success(lab: &Lab, report: &Report) {
    let (outcome, reason) = (report.outcome("mode", "bad"), report.reason("mode", "bad"));
    assert!(["ok", "flagged"].contains(&outcome), "{outcome}: {reason}\n{}", stage_text(lab));
}

/// In the event stream, each launch's last stage is `gone`, and each stage begins where the one before ended.
#[track_caller]
fn every_launch_ends_gone(lab: &Lab) {
    let mut last: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    for event in stages(lab) {
        let of = |key: &str| event[key].as_str().expect("a word").to_owned();
        let before = last.insert(of("launch"), of("to"));
        // an attempt on another port begins anew
        let anew = of("from") == "planned";
        assert!(anew || before.is_none_or(|b| b == of("from")), "{}", stage_text(lab));
    }
    assert!(last.len() >= 2 && last.values().all(|stage| stage == "gone"), "{}", stage_text(lab));
}

pub fn stages(lab: &Lab) -> Vec<Value> {
    events(lab).into_iter().filter(|e| e["event"] == "stage").collect()
}

fn stage_text(lab: &Lab) -> String {
    stages(lab).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// How often the journal says that the machine set a launch back.
pub fn setbacks(lab: &Lab) -> usize {
    lab.read("state/journal.jsonl").matches("\"setback\":{").count()
}

/// A process number that an engine noted, once it is there.
pub fn noted(lab: &Lab, name: &str) -> Option<i32> {
    fs::read_to_string(lab.path(name)).ok()?.trim().parse().ok()
}

/// The log of the candidate's launch.
pub fn log_of(lab: &Lab, report: &Report) -> PathBuf {
    let trial = report.row("mode", "bad")["trial"].as_str().expect("an id").to_owned();
    let launches = fs::read_dir(lab.path("state/trials").join(trial)).expect("launches").flatten();
    launches.map(|l| l.path().join("server.log")).next().expect("a log")
}

pub fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
