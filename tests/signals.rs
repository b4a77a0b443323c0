//! Signals: once ends cleanly, twice at once, and whatever is killed leaves a sound journal and no process.

use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{EXEC, Lab, Running, events, live_study, marked, wait_for};

/// A study whose first load goes on until it is told to end.
pub fn endless() -> Lab {
    Lab::with(&live_study("step one { vary seqs[1, 2] }").replace("requests    8", "requests    20000"))
}

fn start(lab: &Lab) -> Running {
    lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat())
}

/// Starts and waits until requests are sent.
fn start_loading(lab: &Lab) -> Running {
    let run = start(lab);
    wait_for("the load", || events(lab).iter().any(|e| e["event"] == "load"));
    assert!(!marked(lab).is_empty());
    run
}

fn send(run: &Running, signal: Signal) {
    kill(Pid::from_raw(run.child.id() as i32), signal).expect("it lives");
}

/// The journal can be read and nothing of the study runs.
#[track_caller]
pub fn assert_sound(lab: &Lab) {
    assert_eq!(marked(lab), [0i32; 0], "processes are left");
    assert!(lock_is_free(lab));
    lab.run(&["plan", "study.plab", "--dir", "state"]).expect_code(0);
}

/// Guards hold the lock as long as anything of their launch lives.
pub fn lock_is_free(lab: &Lab) -> bool {
    let Ok(file) = std::fs::File::open(lab.path("state/lock")) else { return true };
    Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok()
}

#[track_caller]
fn assert_ends_cleanly(signal: Signal) {
    let lab = endless();
    let run = start_loading(&lab);
    send(&run, signal);
    let out = run.wait().expect_code(75);
    assert!(out.stderr.contains("same command continues"), "{}", out.stderr);
    assert_sound(&lab);
    // what has no result yet is run again, and only that
    lab.write("study.plab", live_study("step one { vary seqs[1] }"));
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(report.0["cost"]["trials"], 2);
    assert_eq!(report.0["cost"]["launches"], 3);
}

#[test]
fn sigint_ends_cleanly() {
    assert_ends_cleanly(Signal::SIGINT);
}

#[test]
fn sigterm_ends_cleanly() {
    assert_ends_cleanly(Signal::SIGTERM);
}

#[test]
fn sighup_ends_cleanly() {
    assert_ends_cleanly(Signal::SIGHUP);
}

/// The engine takes no notice of a polite end, so that there is time for a second signal.
pub fn stubborn() -> Lab {
    let binary = crate::support::binary();
    let script = format!(
        "trap '' TERM INT\n'{binary}' sim --model \"$1\" --host \"$2\" --port \"$3\" &\nwhile :; do sleep 1; done\n"
    );
    let lab = Lab::with(
        &live_study("step one { vary seqs[1] }").replace("requests    8", "requests    20000").replace(
            "engine small \"Small\" = sim { --max-model-len=4Ki }",
            "engine small \"Small\" = sim {\n serve \"sh engine.sh {model} {host} {port}\"\n stop sigterm within 10min\n}",
        ),
    );
    lab.write("engine.sh", script);
    lab
}

#[track_caller]
fn assert_second_kills(signal: Signal, code: i32) {
    let lab = stubborn();
    let run = start_loading(&lab);
    send(&run, signal);
    wait_for("the first signal to be heard", || run.stderr().contains("once more kills"));
    assert!(!marked(&lab).is_empty());
    // one that comes at once is no second word
    std::thread::sleep(Duration::from_millis(100));
    send(&run, signal);
    // within far less than the ten minutes that the engine may take
    run.wait().expect_code(code);
    assert_sound(&lab);
}

#[test]
fn a_second_sigint_kills_at_once() {
    assert_second_kills(Signal::SIGINT, 130);
}

#[test]
fn a_second_sigterm_kills_at_once() {
    assert_second_kills(Signal::SIGTERM, 143);
}

#[test]
fn one_word_said_twice_at_once_is_one() {
    // as GNU timeout does, which signals the process and its group
    let lab = endless();
    let run = start_loading(&lab);
    send(&run, Signal::SIGTERM);
    send(&run, Signal::SIGTERM);
    run.wait().expect_code(75);
    assert_sound(&lab);
}

#[test]
fn a_signal_while_an_engine_starts_ends_cleanly() {
    let lab = stubborn();
    lab.write("engine.sh", "echo loading; sleep 1000\n");
    let run = start(&lab);
    wait_for("the engine's processes", || !marked(&lab).is_empty());
    send(&run, Signal::SIGTERM);
    run.wait().expect_code(75);
    assert_sound(&lab);
}

#[test]
fn an_interrupted_study_has_a_report_that_says_so() {
    let lab = endless();
    let run = start_loading(&lab);
    send(&run, Signal::SIGINT);
    let printed = run.wait().expect_code(75).report().0;
    let report: serde_json::Value = serde_json::from_str(&lab.read("state/report.json")).expect("a report");
    assert_eq!(report["complete"], false);
    assert_eq!(printed, report);
    assert!(report["recommended"].is_null() && report["no_recommendation"].is_string());
    assert!(!lab.path("state/recommended.sh").exists());
}

/// Delays that look random and are the same each time.
fn delays(count: usize, below: Duration) -> impl Iterator<Item = Duration> {
    let mut state = 20_260_101u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        below.mul_f64((state >> 33) as f64 / (1u64 << 31) as f64)
    })
    .take(count)
}

#[test]
fn killed_at_any_moment_it_goes_on_and_leaves_nothing() {
    const CANDIDATES: usize = 12;
    // two launches, whole: what a moment is depends on the machine
    let begun = Instant::now();
    Lab::with(&live_study("step one { vary seqs[1] }")).run(&EXEC).expect_code(0);
    let two_launches = begun.elapsed();
    let lab = Lab::with(&live_study("adopt gain >= 1000%\n step one { vary seqs }"));
    for (round, delay) in delays(20, two_launches).enumerate() {
        let mut run = lab.start(&EXEC);
        std::thread::sleep(delay);
        let _ = run.child.kill();
        run.child.wait().expect("it is dead");
        let gone = || marked(&lab).is_empty() && lock_is_free(&lab);
        wait_for(&format!("round {round}: all processes to be gone"), gone);
    }
    let out = lab.run(&EXEC).expect_code(0);
    assert!(!out.stderr.contains("were still there"), "guards cleaned up: {}", out.stderr);
    assert_sound(&lab);
    let report = out.report();
    let trials = report.0["trials"].as_array().expect("trials");
    let ids: std::collections::BTreeSet<&str> =
        trials.iter().map(|t| t["id"].as_str().expect("an id")).collect();
    assert_eq!((trials.len(), ids.len()), (CANDIDATES + 1, CANDIDATES + 1));
    for trial in trials {
        assert_eq!(trial["runs"].as_array().map(Vec::len), Some(1), "{trial}");
        assert!(["ok", "flagged"].contains(&trial["outcome"].as_str().expect("an outcome")), "{trial}");
    }
    // every launch is accounted for, those that were cut off too
    let journal = lab.read("state/journal.jsonl");
    let count =
        |kind: &str| journal.lines().filter(|l| l.contains(&format!("\"kind\":{{\"{kind}\":"))).count();
    let (begun, seen, lost) = (count("launch"), count("gone"), count("lost"));
    assert!(lost >= 3, "only {lost} launches were cut off");
    assert_eq!((begun, count("run")), (seen + lost, CANDIDATES + 1));
    assert_eq!(report.0["launches"].as_array().map(Vec::len), Some(begun));
    let again = lab.run(&EXEC).expect_code(0);
    assert_eq!(again.stdout, out.stdout);
}
