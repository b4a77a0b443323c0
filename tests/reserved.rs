//! GPUs that another perflab has reserved are waited for, whoever looks first, and who has them is named.

use std::fs::{self, File};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::gpus::Machine;
use crate::support::{EXEC, events, live_study, wait_for};

const STEP: &str = "gpus 1 of \"H100\"\n step one { vary seqs[2] }";

/// What another perflab does.
fn reserve(machine: &Machine) -> Flock<File> {
    fs::create_dir(machine.0.path("gpus.locks")).expect("a directory");
    let path = machine.0.write("gpus.locks/GPU-script-0", "4711\n");
    Flock::lock(File::open(path).expect("a file"), FlockArg::LockExclusiveNonblock).expect("free")
}

#[test]
fn a_reserved_gpu_is_waited_for() {
    let machine = Machine::new(STEP, json!({}));
    let text = machine.0.read("gpus.json").replace("1500", "100000");
    machine.0.write("gpus.json", text);
    let reserved = reserve(&machine);
    let run = machine.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat(), None);
    wait_for("the wait", || events(&machine.0).iter().any(|e| e["event"] == "gpu_wait"));
    let all = events(&machine.0);
    let wait = all.iter().find(|e| e["event"] == "gpu_wait").expect("a wait");
    let said = "GPU 0 (NVIDIA H100 80GB HBM3) is reserved by another perflab, process 4711";
    assert_eq!(wait["held"], json!([said]));
    assert!(all.iter().all(|e| e["event"] != "launch_begins"), "it waits before it launches");
    drop(reserved);
    run.wait().expect_code(0);
}

#[test]
fn a_gpu_that_stays_reserved_ends_the_study() {
    let machine = Machine::new(STEP, json!({}));
    let reserved = reserve(&machine);
    machine.exec(None).expect_error(75, &["is reserved by another perflab, process 4711", "wait for it"]);
    assert!(machine.events("launch").is_empty());
    drop(reserved);
    machine.exec(None).expect_code(0);
}

#[test]
fn two_perflabs_launch_in_turn_and_a_killed_one_reserves_nothing() {
    let machine = Machine::new(STEP, json!({}));
    machine.0.write("study.plab", live_study(STEP).replace("requests    8", "requests    20000"));
    let mut first = machine.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat(), None);
    wait_for("the load", || events(&machine.0).iter().any(|e| e["event"] == "load"));
    machine.0.write("other.plab", live_study(STEP));
    let other = ["exec", "other.plab", "--checks", "warn", "--format", "json", "--dir", "other"];
    let pid = first.child.id();
    let named = format!("is reserved by another perflab, process {pid}");
    machine.start(&other, None).wait().expect_error(75, &[&named]);
    kill(Pid::from_raw(pid as i32), Signal::SIGKILL).expect("it lives");
    first.child.wait().expect("it is dead");
    wait_for("its engine to be gone", || crate::support::marked(&machine.0).is_empty());
    machine.start(&other, None).wait().expect_code(0);
}
