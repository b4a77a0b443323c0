//! A wall clock that is stepped while a study runs, and a disk that is full at every single write: the real binary behind a shim
//! (`tests/preload/shim.rs`), the machine untouched.
//!
//! `bash tests/kill/disk.sh` fills the disk at every write there is; some of them are part of every run of the tests.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::faults::{count, journal};
use crate::support::{EXEC, Lab, Output, live_study, marked, project, wait_for};

/// Writes to the disk that are tried in every run of the tests.
const WRITES: usize = 9;
const STEPS: &str = "step one { vary seqs[1] }";
const LAUNCHES: usize = 2;

/// The shim, compiled once by the compiler that made these tests.
fn shim() -> &'static Path {
    static SHIM: OnceLock<std::path::PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shim-{}.so", std::process::id()));
        let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(compiler);
        command.args(["--edition", "2024", "--crate-type", "cdylib", "-O", "-o"]).arg(&library);
        let out = command.arg(project().join("tests/preload/shim.rs")).output().expect("a compiler");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        library
    })
}

/// The study behind the shim.
fn exec(lab: &Lab, variables: &[(&str, &str)]) -> Command {
    let mut command = lab.command(&EXEC);
    command.env("LD_PRELOAD", shim()).envs(variables.iter().copied());
    command
}

/// The journal's events in order.
fn told(lab: &Lab) -> Vec<Value> {
    journal(lab).lines().map(|l| serde_json::from_str(l).expect("a whole line")).collect()
}

#[test]
fn a_clock_that_is_stepped_back_while_a_study_runs_changes_no_duration() {
    let lab = Lab::with(&live_study("step one { vary seqs[1, 2] }"));
    let clock = lab.write("clock", "0");
    let clock = clock.to_str().expect("text");
    let run = lab.start_command(exec(&lab, &[("SHIM_CLOCK", clock)]));
    wait_for("the first result", || journal(&lab).contains("\"run\":"));
    // by a day, and then by a year, under load or between two launches, as it comes
    lab.write("clock", "-86400");
    wait_for("the second launch", || journal(&lab).matches("\"launch\":{").count() >= 2);
    lab.write("clock", "-31536000");
    let report = run.wait().expect_code(0).report();
    let events = told(&lab);
    let times: Vec<&str> = events.iter().map(|e| e["at"].as_str().expect("a time")).collect();
    assert!(times.last() < times.first(), "the clock was stepped: {times:?}");
    for (i, pair) in events.windows(2).enumerate() {
        assert_eq!(pair[1]["seq"], i + 2);
        assert!(pair[0]["session_s"].as_f64() <= pair[1]["session_s"].as_f64(), "{pair:?}");
    }
    for gone in events.iter().filter_map(|e| e["kind"]["gone"]["times"].as_object()) {
        assert!(gone.values().all(|s| s.as_f64().is_none_or(|s| (0.0..600.0).contains(&s))), "{gone:?}");
    }
    let of = |report: &crate::support::Report, key: &str| report.0["cost"][key].as_f64().expect("a number");
    assert!((0.1..600.0).contains(&of(&report, "wall_s")), "{}", report.0["cost"]);
    for run in events.iter().filter_map(|e| e["kind"]["run"]["run"]["metrics"]["numbers"].as_object()) {
        assert!(run["duration_s"].as_f64().is_some_and(|s| s > 0.0 && s < 600.0), "{run:?}");
    }
    // and from what is in the past of its past it goes on
    lab.write("clock", "-63072000");
    lab.write("study.plab", live_study("step one { vary seqs[1, 2, 3] }"));
    let report = lab.start_command(exec(&lab, &[("SHIM_CLOCK", clock)])).wait().expect_code(0).report();
    assert_eq!((of(&report, "launches") as usize, count(&journal(&lab), "run")), (4, 4));
    assert!((0.1..600.0).contains(&of(&report, "wall_s")), "{}", report.0["cost"]);
    assert_eq!(marked(&lab), [0_i32; 0]);
}

/// A study whose disk is full from its `at`-th write on.
fn filled(lab: &Lab, at: usize) -> Output {
    let (disk, writes) = (lab.path("state"), lab.write("writes", ""));
    std::fs::create_dir_all(&disk).expect("a directory");
    let disk = disk.canonicalize().expect("a path");
    let text = |p: &Path| p.to_str().expect("text").to_owned();
    let (disk, writes, at) = (text(&disk), text(&writes), at.to_string());
    lab.start_command(exec(lab, &[("SHIM_DISK", &disk), ("SHIM_COUNT", &writes), ("SHIM_FULL_AT", &at)]))
        .wait()
}

/// What must hold when the disk is full from one write on: words, whole lines, nothing left, and with room the same command goes on.
#[track_caller]
fn survives_a_full_disk(at: usize) {
    let lab = Lab::with(&live_study(STEPS));
    let out = filled(&lab, at);
    assert!(!out.stderr.contains("panicked"), "write {at}:\n{}", out.stderr);
    let said = out.stderr.contains("No space left");
    // a state directory that is full from the start is wrong input; one that fills up is a machine that failed
    let expected = if !said {
        0
    } else if journal(&lab).contains("\"launch\":{") {
        75
    } else {
        1
    };
    assert_eq!(out.code, expected, "write {at}:\n{}", out.stderr);
    // a guard that lost its perflab has the rest to do
    wait_for("the end of what was started", || marked(&lab).is_empty());
    let before = journal(&lab);
    assert!(before.is_empty() || before.ends_with('\n'), "write {at}: a line is torn");
    let out = lab.run(&EXEC);
    assert_eq!(out.code, 0, "write {at}, then room:\n{}", out.stderr);
    let after = journal(&lab);
    assert!(after.starts_with(&before), "write {at}: what was there stays");
    assert_eq!(count(&after, "run"), LAUNCHES, "write {at}");
    assert!(count(&after, "launch") <= LAUNCHES + 1, "write {at}: more than the running launch was lost");
    assert_eq!(out.report().0["complete"], true);
}

#[test]
fn a_disk_that_is_full_at_any_single_write_loses_the_running_trial_at_most() {
    // how many writes there are, undisturbed
    let lab = Lab::with(&live_study(STEPS));
    filled(&lab, usize::MAX >> 1).expect_code(0);
    let writes = lab.read("writes").len();
    assert!(writes > 2 * count(&journal(&lab), "run"), "{writes}");
    let step = if std::env::var_os("PERFLAB_EVERY_WRITE").is_some() { 1 } else { writes.div_ceil(WRITES) };
    let tried: Vec<usize> = (1..=writes).step_by(step).collect();
    for at in &tried {
        survives_a_full_disk(*at);
    }
    println!("{} of {writes} writes found a full disk: running trials lost, nothing else", tried.len());
}
