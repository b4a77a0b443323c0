//! perflab killed, its disk full, its journal cut: whatever happens, nothing is lost but the running trial, and nothing is left running.
//!
//! `bash tests/kill/run.sh 200` kills at as many random instants; twenty are part of every run of the tests.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::containers::children;
use crate::support::{EXEC, Lab, events, live_study, marked, skip, unsealed, wait_for};

const STEPS: &str = "step one { vary seqs[1, 2] }";
/// Launches that the study takes when nothing happens to it.
const LAUNCHES: usize = 3;

pub fn journal(lab: &Lab) -> String {
    fs::read_to_string(lab.path("state/journal.jsonl")).unwrap_or_default()
}

pub fn count(journal: &str, kind: &str) -> usize {
    let events = journal.lines().map(|l| serde_json::from_str::<Value>(l).expect("whole lines"));
    events.filter(|e| !e["kind"][kind].is_null()).count()
}

/// What must hold after a kill: the same command ends the study, what was measured stays, one launch at most was made again, and
/// nothing of either run is left.
#[track_caller]
fn survives(lab: &Lab, when: &str) {
    let left = journal(lab);
    let whole = &left[..left.rfind('\n').map_or(0, |i| i + 1)];
    let runs = count(whole, "run");
    let out = lab.run(&EXEC);
    assert_eq!(out.code, 0, "killed {when}; {}", out.stderr);
    let now = journal(lab);
    assert!(now.starts_with(whole), "killed {when}: a line that was there is gone");
    assert_eq!(
        count(&now, "run"),
        LAUNCHES,
        "killed {when}: {runs} results were kept, and none is made twice"
    );
    assert!(count(&now, "launch") <= LAUNCHES + 1, "killed {when}: more than the running launch was lost");
    assert_eq!(marked(lab), [0_i32; 0], "killed {when}: processes are left");
    assert_eq!(out.report().0["complete"], true);
}

/// Numbers that are the same each time, so that a failure can be looked at again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn a_guard_that_is_killed_is_no_finding_about_its_engine() {
    let lab = Lab::with(&live_study(STEPS).replace("requests    8", "requests    300"));
    let running = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    wait_for("a load", || events(&lab).iter().any(|e| e["event"] == "load"));
    for guard in children(running.child.id()) {
        kill(Pid::from_raw(guard as i32), Signal::SIGKILL).expect("it lives");
    }
    let out = running.wait().expect_code(0);
    assert!(out.stderr.contains("guard killed"), "{}", out.stderr);
    let journal = journal(&lab);
    assert_eq!((count(&journal, "setback"), count(&journal, "launch")), (1, LAUNCHES + 1));
    for trial in out.report().0["trials"].as_array().expect("trials") {
        assert!(["ok", "flagged"].contains(&trial["outcome"].as_str().expect("an outcome")), "{trial}");
    }
}

#[test]
fn killed_at_random_instants_it_loses_the_running_trial_at_most() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok()).unwrap_or(default)
    };
    let (kills, seed) = (number("PERFLAB_KILLS", 20), number("PERFLAB_KILL_SEED", 1));
    // how long the study takes here, undisturbed
    let lab = Lab::with(&live_study(STEPS));
    let began = Instant::now();
    lab.run(&EXEC).expect_code(0);
    let took = began.elapsed().as_millis() as u64;
    let mut dice = Dice(seed);
    let mut lost = 0;
    for i in 0..kills {
        let lab = Lab::with(&live_study(STEPS));
        let at = dice.below(took);
        let mut exec = lab.start(&EXEC);
        std::thread::sleep(Duration::from_millis(at));
        let _ = exec.child.kill();
        let _ = exec.child.wait();
        let left = journal(&lab);
        lost += count(&left[..left.rfind('\n').map_or(0, |i| i + 1)], "launch")
            - count(&left[..left.rfind('\n').map_or(0, |i| i + 1)], "gone");
        survives(&lab, &format!("after {at} ms (kill {i}, seed {seed})"));
    }
    println!("{kills} kills within {took} ms each: {lost} running trials lost, nothing else");
}

#[test]
fn killed_at_every_journal_event_it_goes_on_from_there() {
    for lines in 1.. {
        let lab = Lab::with(&live_study(STEPS));
        let mut exec = lab.start(&EXEC);
        let mut over = false;
        let began = Instant::now();
        while journal(&lab).lines().count() < lines && !over {
            over = exec.child.try_wait().expect("a status").is_some();
            assert!(began.elapsed() < Duration::from_mins(2), "no event {lines}");
            std::thread::sleep(Duration::from_millis(1));
        }
        if over {
            // every event has had its kill
            assert!(lines > 3 * LAUNCHES, "{lines}");
            return;
        }
        let _ = exec.child.kill();
        let _ = exec.child.wait();
        survives(&lab, &format!("at event {lines}"));
    }
}

#[test]
fn a_journal_cut_anywhere_goes_on_or_is_refused_in_words() {
    let lab = Lab::with(&live_study(STEPS));
    lab.run(&EXEC).expect_code(0);
    let text = journal(&lab);
    let ends: Vec<usize> = text.match_indices('\n').map(|(i, _)| i).collect();
    // around each line's end, and at some hundred places in between; a test of the journal itself cuts a small one at every byte
    let around = ends.iter().flat_map(|e| [e.saturating_sub(1), *e, e + 1]);
    let places: Vec<usize> = around.chain((0..text.len()).step_by(text.len() / 100)).collect();
    for cut in places {
        lab.write("state/journal.jsonl", &text[..cut.min(text.len())]);
        let out = lab.run(&["plan", "study.plab", "--dir", "state", "--format", "json"]).expect_code(0);
        let launches = text[..cut.min(text.len())].rfind('\n').map_or(0, |i| count(&text[..=i], "run"));
        let measured = out.json()["trials"]["measured"].as_u64().expect("a count") as usize;
        assert!(measured <= launches, "cut at {cut}: {measured} of {launches}");
    }
    // and carried on from three of them
    for part in 1..4 {
        lab.write("state/journal.jsonl", &text[..text.len() * part / 4]);
        lab.run(&EXEC).expect_code(0);
        assert_eq!(count(&journal(&lab), "run"), LAUNCHES);
    }
}

#[test]
fn a_clock_that_was_stepped_back_changes_nothing() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    lab.run(&EXEC).expect_code(0);
    // what was written before was written in the future
    let year = |text: &str| text.replace("\"at\":\"20", "\"at\":\"29");
    lab.write("state/journal.jsonl", unsealed(&year(&journal(&lab))));
    lab.write("study.plab", live_study("step one { vary seqs[1, 2] }"));
    let report = lab.run(&EXEC).expect_code(0).report();
    let cost = &report.0["cost"];
    assert_eq!((&cost["launches"], count(&journal(&lab), "run")), (&3.into(), 3));
    assert!(cost["wall_s"].as_f64().is_some_and(|s| s > 0.0 && s < 600.0), "{cost}");
}

#[test]
fn a_file_that_is_edited_while_it_runs_is_read_the_next_time() {
    let lab = Lab::with(&live_study(STEPS));
    let exec = lab.start(&EXEC);
    wait_for("the first launch", || journal(&lab).contains("\"launch\""));
    lab.write("study.plab", live_study("step one { vary seqs[1, 2, 3] }"));
    let first = exec.wait().expect_code(0).report();
    let candidates = |r: &crate::support::Report| r.step("one")["candidates"].as_array().map(Vec::len);
    assert_eq!(candidates(&first), Some(2), "a run is of the file as it was read");
    let second = lab.run(&EXEC).expect_code(0).report();
    assert_eq!((candidates(&second), count(&journal(&lab), "run")), (Some(3), 4));
}

/// A small disk, if this user may mount one.
struct Disk<'a>(&'a Lab);

impl<'a> Disk<'a> {
    fn mount(lab: &'a Lab, pages: usize) -> Option<Self> {
        fs::create_dir_all(lab.path("disk")).expect("a folder");
        let size = format!("size={}", pages * 4096);
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(lab.path("disk")).output();
        mounted.is_ok_and(|o| o.status.success()).then_some(Self(lab))
    }

    fn again(&self, options: &str) -> bool {
        let options = format!("remount,{options}");
        let done = Command::new("mount").args(["-o", &options]).arg(self.0.path("disk")).status();
        done.is_ok_and(|s| s.success())
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path("disk")).output();
    }
}

fn exec_on_disk(lab: &Lab) -> crate::support::Output {
    lab.run(&["exec", "study.plab", "--checks", "warn", "--format", "json", "--dir", "disk/state"])
}

#[test]
fn a_disk_that_is_full_at_any_write_loses_nothing() {
    let name = "a_disk_that_is_full_at_any_write_loses_nothing";
    // one page more each time, until there is room for all
    for pages in (3..).step_by(2) {
        let lab = Lab::with(&live_study(STEPS));
        let Some(disk) = Disk::mount(&lab, pages) else {
            return skip(name, "a tmpfs cannot be mounted here");
        };
        let out = exec_on_disk(&lab);
        assert!(!out.stderr.contains("panicked"), "{pages} pages:\n{}", out.stderr);
        let path = lab.path("disk/state/journal.jsonl");
        let before = fs::read_to_string(&path).unwrap_or_default();
        assert!(before.is_empty() || before.ends_with('\n'), "{pages} pages: a line is torn");
        if out.code == 0 && !out.stderr.contains("warning") {
            assert!(pages > 5, "{pages}");
            return;
        }
        assert!(out.code == 0 || out.stderr.contains("No space left"), "{pages} pages:\n{}", out.stderr);
        assert!(disk.again("size=4m"));
        let out = exec_on_disk(&lab);
        assert_eq!(out.code, 0, "{pages} pages, then room:\n{}", out.stderr);
        let after = fs::read_to_string(&path).expect("a journal");
        assert!(after.starts_with(&before), "{pages} pages: what was there stays");
        assert_eq!(count(&after, "run"), LAUNCHES);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_at_once() {
    let lab = Lab::with(&live_study(STEPS));
    let name = "a_directory_that_cannot_be_written_is_refused_at_once";
    let Some(disk) = Disk::mount(&lab, 64) else { return skip(name, "a tmpfs cannot be mounted here") };
    exec_on_disk(&lab).expect_code(0);
    assert!(disk.again("ro"));
    let out = exec_on_disk(&lab).expect_error(1, &["disk/state", "Read-only file system", "help:"]);
    assert!(!out.stderr.contains("L0"), "nothing was launched: {}", out.stderr);
    // looking is still possible
    lab.run(&["plan", "study.plab", "--dir", "disk/state"]).expect_code(0);
    assert!(Path::new(&lab.path("disk/state/report.json")).exists());
}

#[test]
fn a_failure_that_an_engine_calls_what_it_is_is_said_once() {
    let study = crate::conditions::STUDY.replace("WORDS", "sh engine.sh").replace("LINES", "").replacen(
        "args  joined",
        "args  joined\n    failure \"did not start\" when log matches \"no luck\"",
        1,
    );
    let lab = Lab::with(&study);
    lab.write("engine.sh", "echo 'no luck today' >&2\nexit 1\n");
    let out = lab.run(&EXEC).expect_code(3);
    assert!(out.stdout.contains("did not start: no luck today"), "{}", out.stdout);
    assert!(!out.stdout.contains("did not start: did not start"), "{}", out.stdout);
}
