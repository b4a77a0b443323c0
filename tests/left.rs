//! What perflab and a guard leave when both are killed at one time, and what the next execution does about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::faults::{count, journal};
use crate::signals::endless;
use crate::support::{EXEC, Lab, Running, binary, events, live_study, marked, parent, runs, skip, wait_for};

/// An engine that starts a daemon without a session, a parent, a group or an environment of the launch's.
fn with_a_daemon() -> Lab {
    let lab = Lab::with(&endless_text().replace(
        "engine small \"Small\" = sim { --max-model-len=4Ki }",
        "engine small \"Small\" = sim {\n serve \"sh engine.sh {model} {host} {port}\"\n}",
    ));
    let daemon = "/usr/bin/env -i /bin/sh -c 'cd /; trap \"\" TERM HUP; echo $$ > \"$0\"; while :; do /bin/sleep 1; done'";
    let file = lab.path("daemon.pid").canonicalize().unwrap_or_else(|_| lab.path("daemon.pid"));
    let script = format!(
        "[ -e stop ] || (setsid {daemon} '{}' &)\nexec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        file.display(),
        binary()
    );
    lab.write("engine.sh", script);
    lab
}

fn endless_text() -> String {
    live_study("step one { vary seqs[1] }").replace("requests    8", "requests    20000")
}

fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

fn guards_of(perflab: i32) -> Vec<i32> {
    processes().into_iter().filter(|pid| parent(*pid) == Some(perflab) && runs(*pid, "plab-guard")).collect()
}

/// The directories for temporary files that a perflab made.
fn scratch_of(perflab: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir("/tmp").expect("/tmp").flatten();
    let prefix = format!("plab-{perflab}-");
    entries.filter(|e| e.file_name().to_string_lossy().starts_with(&prefix)).map(|e| e.path()).collect()
}

/// Starts an endless load; the process, and the daemon of its engine.
fn loading(lab: &Lab) -> (Running, i32) {
    let run = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    let daemon = || fs::read_to_string(lab.path("daemon.pid")).ok()?.trim().parse::<i32>().ok();
    wait_for("the load and the daemon", || {
        daemon().is_some() && events(lab).iter().any(|e| e["event"] == "load")
    });
    (run, daemon().expect("a pid"))
}

/// Kills perflab and its guard, which is stopped before so that none can act on the death of the other.
fn kill_both(run: &mut Running, daemon: i32) {
    let guards = guards_of(run.child.id() as i32);
    assert_eq!(guards.len(), 1);
    kill(Pid::from_raw(guards[0]), Signal::SIGSTOP).expect("it lives");
    run.child.kill().expect("it lives");
    run.child.wait().expect("it is dead");
    kill(Pid::from_raw(guards[0]), Signal::SIGKILL).expect("it lives");
    wait_for("the guard to be gone", || guards.iter().all(|pid| !runs(*pid, "plab-guard")));
    assert!(lives(daemon), "nobody was left to end it");
}

fn lives(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None).is_ok()
}

#[test]
fn a_daemon_that_lost_its_mark_is_found_after_both_were_killed() {
    let lab = with_a_daemon();
    let (mut run, daemon) = loading(&lab);
    let scratch = scratch_of(run.child.id());
    assert_eq!(scratch.len(), 1);
    kill_both(&mut run, daemon);
    wait_for("what has a mark to be gone with its guard", || marked(&lab).is_empty());
    assert!(lives(daemon), "nobody was left to end it");
    assert!(!fs::read(format!("/proc/{daemon}/environ")).unwrap_or_default().starts_with(b"PERFLAB"));

    // another study neither touches it nor takes the directory from under it
    let other = Lab::with(&live_study("step one { vary seqs[1] }"));
    let out = other.run(&EXEC).expect_code(0);
    assert!(lives(daemon) && !out.stderr.contains("still there"), "{}", out.stderr);

    lab.write("stop", "");
    lab.write("study.plab", lab.read("study.plab").replace("requests    20000", "requests    8"));
    let out = lab.run(&EXEC).expect_code(0);
    let named = format!("processes of an earlier run were still there and were killed: {daemon} (sh)");
    assert!(out.stderr.contains(&named), "{}", out.stderr);
    // whoever adopted it collects it when it likes
    assert!(!runs(daemon, "sh"));
    assert!(scratch.iter().all(|dir| !dir.exists()), "{scratch:?}");
}

#[test]
fn what_was_left_is_found_without_its_journal_too() {
    let lab = with_a_daemon();
    let (mut run, daemon) = loading(&lab);
    kill_both(&mut run, daemon);
    fs::remove_dir_all(lab.path("state")).expect("removed");
    lab.write("stop", "");
    lab.write("study.plab", lab.read("study.plab").replace("requests    20000", "requests    8"));
    let out = lab.run(&EXEC).expect_code(0);
    let named = format!("processes of an earlier run were still there and were killed: {daemon} (sh)");
    assert!(out.stderr.contains(&named), "{}", out.stderr);
    assert!(!runs(daemon, "sh"));
}

#[test]
fn what_was_left_is_found_when_the_state_directory_is_called_otherwise() {
    let lab = with_a_daemon();
    let (mut run, daemon) = loading(&lab);
    // a copy of it is another study's, and what runs here is none of its business
    let copied = Command::new("cp").args(["-r", "state", "copy"]).current_dir(lab.path("")).status();
    assert!(copied.is_ok_and(|s| s.success()));
    lab.write("stop", "");
    lab.write("short.plab", lab.read("study.plab").replace("requests    20000", "requests    8"));
    let exec = |dir: &'static str| {
        EXEC.map(|word| match word {
            "study.plab" => "short.plab",
            "state" => dir,
            word => word,
        })
    };
    let out = lab.run(&exec("copy")).expect_code(0);
    assert!(lives(daemon) && !out.stderr.contains("still there"), "{}", out.stderr);

    kill_both(&mut run, daemon);
    fs::rename(lab.path("state"), lab.path("moved")).expect("moved");
    let out = lab.run(&exec("moved")).expect_code(0);
    assert!(
        out.stderr.contains("processes of an earlier run were still there and were killed: "),
        "{}",
        out.stderr
    );
    assert!(!runs(daemon, "sh"));
}

/// What an engine mounts into its directory for temporary files is somebody's: it is not emptied with the directory.
#[test]
fn what_is_mounted_in_a_directory_is_not_removed_with_it() {
    let study = live_study("step one { vary seqs[1] }");
    let lab = Lab::with(
        &study.replace("sim { --max", "sim {\n serve \"sh engine.sh {model} {host} {port}\"\n --max"),
    );
    fs::create_dir(lab.path("precious")).expect("a folder");
    lab.write("precious/file", "of somebody");
    let script = format!(
        "if [ ! -e mounted ]; then mkdir \"$TMPDIR/in\" && mount --bind precious \"$TMPDIR/in\" && echo \"$TMPDIR\" > mounted; fi\n\
         exec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    lab.write("engine.sh", script);
    let out = lab.run(&EXEC).expect_code(0);
    if !lab.path("mounted").exists() {
        return skip("mounts in a launch's directory", "this user may mount nothing");
    }
    let directory = lab.read("mounted").trim().to_owned();
    let next = Lab::with(&study).run(&EXEC).expect_code(0);
    let unmounted = Command::new("umount").arg(format!("{directory}/in")).status();
    assert_eq!(lab.read("precious/file"), "of somebody");
    let named =
        format!("{directory} was left by an engine and stays: something is mounted at {directory}/in");
    for out in [&out, &next] {
        assert!(out.stderr.contains(&named), "{}", out.stderr);
    }
    // with nothing mounted it goes as all others do
    assert!(unmounted.is_ok_and(|s| s.success()));
    let last = Lab::with(&study).run(&EXEC).expect_code(0);
    assert!(!last.stderr.contains(&directory) && !Path::new(&directory).exists());
}

#[test]
fn directories_of_the_killed_are_removed_and_those_of_the_living_are_not() {
    let living = endless();
    let mut run = living.start(&EXEC);
    wait_for("a directory", || !scratch_of(run.child.id()).is_empty());
    let held = scratch_of(run.child.id());

    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let mut killed = Vec::new();
    for _ in 0..8 {
        let mut run = lab.start(&EXEC);
        let (pid, began) = (run.child.id(), Instant::now());
        // as it appears: the guard has heard nothing yet
        while scratch_of(pid).is_empty() && began.elapsed() < Duration::from_mins(1) {}
        run.child.kill().expect("it lives");
        run.child.wait().expect("it is dead");
        killed.push(pid);
    }
    lab.run(&EXEC).expect_code(0);
    let left: Vec<PathBuf> = killed.into_iter().flat_map(scratch_of).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(held.iter().all(|dir| dir.is_dir()), "{held:?}");
    run.child.kill().expect("it lives");
    run.child.wait().expect("it is dead");
}

#[test]
fn a_daemon_that_cannot_be_asked_keeps_its_own_directory_and_no_other() {
    let lab = with_a_daemon();
    let (mut run, daemon) = loading(&lab);
    let own = scratch_of(run.child.id());
    kill_both(&mut run, daemon);

    let killed = endless();
    let mut run = killed.start(&EXEC);
    wait_for("an engine", || !marked(&killed).is_empty());
    let other = scratch_of(run.child.id());
    let guards = guards_of(run.child.id() as i32);
    // a guard that is killed with its perflab removes nothing
    for pid in &guards {
        kill(Pid::from_raw(*pid), Signal::SIGSTOP).expect("it lives");
    }
    run.child.kill().expect("it lives");
    run.child.wait().expect("it is dead");
    for pid in &guards {
        kill(Pid::from_raw(*pid), Signal::SIGKILL).expect("it lives");
    }
    let text = killed.read("study.plab").replace("requests    20000", "requests    8");
    killed.write("study.plab", text);
    killed.run(&EXEC).expect_code(0);
    assert!(lives(daemon), "it is another study's");
    assert!(other.len() == 1 && !other[0].exists(), "{other:?}");
    assert!(own.len() == 1 && own[0].is_dir(), "{own:?}");
    kill(Pid::from_raw(daemon), Signal::SIGKILL).expect("it lives");
}

#[test]
fn a_state_directory_that_is_removed_is_noticed_and_nothing_measured_is_lost() {
    let study = live_study("step one { vary seqs[1, 2, 3] }");
    let lab = Lab::with(
        &study.replace("sim { --max", "sim {\n serve \"sh engine.sh {model} {host} {port}\"\n --max"),
    );
    // the second launch takes it away: whatever the machine's pace, launches are still to come
    let script = format!(
        "if [ -e ran ] && [ ! -e before.jsonl ]; then cp state/journal.jsonl before.jsonl; until rm -r state; do :; done; fi\n\
         touch ran\nexec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    lab.write("engine.sh", script);
    let out = lab.run(&EXEC).expect_code(75);
    assert!(out.stderr.contains("journal.jsonl was removed while the study ran"), "{}", out.stderr);
    let before = lab.read("before.jsonl");
    assert_eq!(count(&before, "run"), 1, "{before}");
    let kept = journal(&lab);
    assert!(kept.starts_with(&before), "{kept}");
    lab.run(&EXEC).expect_code(0);
    let after = journal(&lab);
    assert!(after.starts_with(&kept));
    assert_eq!(count(&after, "run"), 4);
}

#[test]
fn engines_of_a_run_that_lost_its_directory_are_nobodys_leftovers() {
    let lab = endless();
    let run = lab.start(&EXEC);
    let first = Pid::from_raw(run.child.id() as i32);
    wait_for("an engine", || !marked(&lab).is_empty());
    let engines = marked(&lab);
    // it is not to notice before the other has begun
    kill(first, Signal::SIGSTOP).expect("it lives");
    fs::remove_dir_all(lab.path("state")).expect("removed");
    let second = lab.run(&EXEC).expect_code(1);
    let left_alone = engines.iter().all(|pid| lives(*pid));
    kill(first, Signal::SIGCONT).expect("it lives");
    run.wait().expect_code(75);
    assert!(second.stderr.contains(&format!("perflab {first} carries this study out")), "{}", second.stderr);
    assert!(left_alone, "{engines:?}");
}

#[test]
fn warnings_are_said_however_quiet_it_is_to_be() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let more = ["--quiet", "--notify", "exit 3", "--events", "/dev/full"];
    let out = lab.run(&[&EXEC[..], &more].concat()).expect_code(0);
    for words in ["the events file cannot be written", "the command of `--notify` failed"] {
        assert_eq!(out.stderr.matches(words).count(), 1, "{}", out.stderr);
    }
    // a busy machine has warnings of its own
    assert!(out.stderr.lines().all(|line| line.starts_with("warning: ")), "{}", out.stderr);
}
