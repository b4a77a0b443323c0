//! What containers and exporters make of the driver's answers: GPUs without a device file, process ids of another table, and processes
//! that only ask questions. A script plays the driver; the process table is a real one of its own.

use std::process::Command;

use serde_json::{Value, json};

use crate::gpus::{Machine, card, engine};
use crate::support::{EXEC, Output, marked, skip};

const STEP: &str = "gpus 1 of \"H100\"\n step one { vary seqs[2] }";

/// `perflab doctor` on a machine whose GPUs a script plays.
fn doctor(machine: &Machine, visible: Option<&str>) -> Value {
    let mut command = machine.0.command(&["doctor", "--format", "json"]);
    command.env("HOME", machine.0.path("."));
    machine.start_command(command, visible).wait().json()
}

fn lines(document: &Value, words: &str) -> Vec<String> {
    let lines = document["lines"].as_array().expect("lines").iter();
    let text =
        lines.map(|l| format!("{}: {}", l["level"].as_str().unwrap_or(""), l["text"].as_str().unwrap_or("")));
    text.filter(|t| t.contains(words)).collect()
}

fn foreign_seen(machine: &Machine) -> Vec<String> {
    let runs = machine.events("run");
    let of =
        |run: &Value| run["run"]["devices"]["gpus"][0]["foreign"].as_array().cloned().unwrap_or_default();
    runs.iter().flat_map(of).map(|f| f.as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_gpu_without_a_device_file_is_used_by_nobody() {
    let mut masked = card();
    masked["masked"] = json!(true);
    let machine = Machine::new(STEP, json!({"gpus": [masked, card()]}));
    machine.exec(None).expect_code(0);
    for run in machine.events("run") {
        assert_eq!(run["run"]["devices"]["gpus"][0]["uuid"], "GPU-script-1");
    }
    assert_eq!(
        lines(&doctor(&machine, None), "cannot be opened"),
        ["fail: GPU 0 cannot be opened here: its device file is missing or not for you"]
    );
    // whoever is told to leave it alone has nothing to mend
    assert_eq!(lines(&doctor(&machine, Some("1")), "cannot be opened"), [""; 0]);
    // the driver counts two, and that is not enough
    let two = Machine::new(&STEP.replace("gpus 1", "gpus 2"), json!({"gpus": [machine_card(true), card()]}));
    two.exec(None).expect_error(1, &["asks for 2 × H100", "counts GPU 0 too, without a device file here"]);
    let other = Machine::new(STEP, json!({"gpus": [machine_card(true), card()]}));
    other.exec(Some("0")).expect_error(1, &["CUDA_VISIBLE_DEVICES is `0`", "without a device file"]);
    assert!(two.events("launch").is_empty() && other.events("launch").is_empty());
}

fn machine_card(masked: bool) -> Value {
    let mut card = card();
    card["masked"] = json!(masked);
    card
}

#[test]
fn an_exporter_that_holds_no_memory_is_no_user_and_one_that_does_is() {
    let exporter = |mib: u32, when: Value| json!({"foreign": [{"gpu": 0, "memory_mib": mib, "pid": 5_000_003, "name": "dcgm-exporter", "user": "root", "when": when}]});
    let machine = Machine::new(STEP, exporter(0, json!({})));
    let report = machine.exec(None).expect_code(0).report();
    assert_eq!(foreign_seen(&machine), [""; 0]);
    assert!(!report.0["trials"].to_string().contains("GPU_FOREIGN"));
    assert_eq!(lines(&doctor(&machine, None), "is used by"), [""; 0]);
    // a little memory is within what a GPU may hold before a launch, and still somebody's under load
    let machine = Machine::new(STEP, exporter(100, json!({})));
    let report = machine.exec_strictly().expect_code(75).report();
    assert!(report.0["no_recommendation"].to_string().contains("GPU_FOREIGN"));
    assert!(report.0["trials"].to_string().contains("5000003 (dcgm-exporter, user root) 100 MiB"));
    assert_eq!(lines(&doctor(&machine, None), "is used by").len(), 1);
    // more of it is waited for
    let machine = Machine::new(STEP, exporter(400, json!({})));
    machine.exec(None).expect_error(75, &["5000003 (dcgm-exporter, user root) 400 MiB", "ends nothing"]);
}

/// The words run in a process table of their own, as in a container; `None` where this user may not have one.
fn in_a_table_of_its_own(machine: &Machine, words: &[&str]) -> Option<Output> {
    const UNSHARE: [&str; 4] = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    let may = Command::new("unshare").args(UNSHARE).arg("true").output();
    if !may.is_ok_and(|o| o.status.success()) {
        return None;
    }
    let inner = machine.0.command(words);
    let mut command = Command::new("unshare");
    command.args(UNSHARE).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(inner.get_current_dir().expect("a lab")).env("COLUMNS", "100").env("NO_COLOR", "1");
    Some(machine.start_command(command, None).wait())
}

/// An engine whose processes the driver counts by the machine's table, and somebody else who is there under load.
fn hidden_engine(foreign: &Value) -> Value {
    let mut engine = engine();
    engine["pid"] = json!(6_000_001);
    json!({"engines": [engine], "foreign": foreign})
}

#[test]
fn where_a_container_hides_process_ids_our_own_engine_is_nobody_else() {
    let name = "where_a_container_hides_process_ids_our_own_engine_is_nobody_else";
    let machine = Machine::new(STEP, hidden_engine(&json!([])));
    let Some(out) = in_a_table_of_its_own(&machine, &EXEC) else {
        return skip(name, "no process table of one's own can be had here");
    };
    out.expect_code(0);
    assert_eq!((machine.events("run").len(), foreign_seen(&machine).len()), (2, 0));
    assert_eq!(marked(&machine.0), [0_i32; 0]);
    // outside of it the same number is a process that can be seen to be none of ours
    let outside = Machine::new(STEP, hidden_engine(&json!([])));
    outside.exec(None).expect_code(0);
    assert!(
        foreign_seen(&outside).iter().all(|f| f.starts_with("6000001")) && !foreign_seen(&outside).is_empty()
    );
    // and who was there before the launch is somebody else on either side
    let there = json!([{"gpu": 0, "memory_mib": 100, "pid": 6_000_002}]);
    let machine = Machine::new(STEP, hidden_engine(&there));
    in_a_table_of_its_own(&machine, &EXEC).expect("as above").expect_code(0);
    let seen = foreign_seen(&machine);
    assert!(!seen.is_empty() && seen.iter().all(|f| f == "6000002 (hidden from here) 100 MiB"), "{seen:?}");
    // one who stays on a GPU is told as far as that goes
    let held = json!([{"gpu": 0, "memory_mib": 3072, "pid": 6_000_003}]);
    let machine = Machine::new(STEP, hidden_engine(&held));
    let out = in_a_table_of_its_own(&machine, &EXEC).expect("as above");
    out.expect_error(75, &["6000003 (hidden from here) 3.0 GiB", "ends nothing"]);
    let doctor = in_a_table_of_its_own(&machine, &["doctor", "--format", "json"]).expect("as above").json();
    assert_eq!(lines(&doctor, "process ids are hidden").len(), 1);
}
