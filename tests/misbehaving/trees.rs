//! Process trees that do not want to go.

use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::lab::{bad_candidate, exec, expect_success, finish, lives, noted, run, stages};
use crate::support::{Lab, Running, events, marked, parent, wait_for};

#[test]
fn a_daemon_in_a_session_of_its_own_and_without_a_mark() {
    let daemon =
        "/usr/bin/env -i /bin/sh -c 'trap \"\" TERM HUP; echo $$ > daemon.pid; while :; do sleep 1; done'";
    let (lab, report) = run(&format!("(setsid {daemon} &)\nwhile [ ! -s daemon.pid ]; do sleep 0.01; done"));
    expect_success(&lab, &report);
    let daemon = noted(&lab, "daemon.pid").expect("it was there");
    assert!(!lives(daemon));
    assert!(stages(&lab).iter().any(|e| e["to"] == "killing"), "it did not leave when asked");
}

#[test]
fn an_engine_that_forks_while_it_is_killed() {
    // each ends as soon as the next one runs; at most 3000 of them, some seconds
    let hop = "trap '' TERM\n[ \"$1\" -gt 0 ] || exit 0\necho $1 >> hops\nsh hop.sh $(($1 - 1)) &\n";
    let lab = bad_candidate("(trap 'sh hop.sh 3000 & exit' TERM; while :; do sleep 0.05; done) &\nserve");
    lab.write("hop.sh", hop);
    let out = lab.run(&exec());
    let report = finish(&lab, out);
    expect_success(&lab, &report);
    let left: u32 = lab.read("hops").lines().last().expect("a hop").parse().expect("a count");
    assert!(left > 0, "it was caught before it ended by itself");
}

/// Under a load of L002; the guard's process.
fn loading(lab: &Lab) -> (Running, i32, Pid) {
    let running = lab.start(&exec());
    let loads =
        |e: &serde_json::Value| e["event"] == "stage" && e["launch"] == "L002" && e["to"] == "loading";
    wait_for("the load", || events(lab).iter().any(loads));
    let spawned = events(lab).into_iter().rfind(|e| e["event"] == "spawned").expect("it is told");
    let leader = spawned["pid"].as_i64().expect("a number") as i32;
    (running, leader, Pid::from_raw(parent(leader).expect("it lives")))
}

/// A guard that a debugger holds stands for a driver that holds killed processes.
#[test]
fn what_cannot_be_cleaned_stops_the_study_with_its_name() {
    let lab = bad_candidate("misbehave slowly");
    let (running, leader, guard) = loading(&lab);
    ptrace::attach(guard).expect("it lives");
    waitpid(guard, None).expect("it is held");
    let out = running.wait();
    ptrace::detach(guard, None).expect("it lives");
    let out = out.expect_code(75);
    assert!(out.stderr.contains("a server could not be removed: process"), "{}", out.stderr);
    assert!(out.stderr.contains("what helps: `kill -CONT "), "{}", out.stderr);
    let journal = lab.read("state/journal.jsonl");
    assert!(journal.contains("\"stuck\":[\"process "), "{journal}");
    assert!(out.stderr.contains(&format!("process {leader} (")), "{}", out.stderr);
    assert!(out.stderr.contains(" of user ") && out.stderr.contains("MiB of memory"), "{}", out.stderr);
    assert!(stages(&lab).iter().any(|e| e["to"] == "stuck"));
    wait_for("the guard's work", || marked(&lab).is_empty());
    // and the same command continues
    let report = lab.run(&exec()).expect_code(0).report();
    expect_success(&lab, &report);
}

#[test]
fn a_guard_that_somebody_stopped_goes_on_when_it_is_needed() {
    let lab = bad_candidate("misbehave slowly");
    let (running, leader, guard) = loading(&lab);
    kill(guard, Signal::SIGSTOP).expect("it lives");
    kill(Pid::from_raw(running.child.id() as i32), Signal::SIGTERM).expect("it lives");
    let out = running.wait().expect_code(75);
    assert!(out.stderr.contains("interrupted"), "{}", out.stderr);
    assert!(!lives(leader) && !lives(guard.as_raw()) && marked(&lab).is_empty());
}
