//! The question before a study that is predicted to cost much: asked on a terminal, refused without one, and answered in advance.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

use crate::faults::journal;
use crate::gpus::Machine;
use crate::support::{Lab, Terminal};

/// Days of an engine that does not even start here: what matters is what is predicted.
const DEAR: &str = r#"
use std/engines { vllm }
engine dear "Dear" = vllm { version "0.17.1" }
profile long "Long" {
    data        random
    input       200
    output      100
    concurrency 8
    requests    9000000
    warmup      0
}
axis seqs = --max-num-seqs=[64, 128, 256, 512]
study s "S" {
    model    "Qwen/Qwen3-32B"
    gpus     2 of "H100"
    baseline dear
    maximize total_tps on long
    repeat   1
    step one { vary seqs }
}
"#;

fn lab() -> Machine {
    let machine = Machine(Lab::with(DEAR));
    machine.play(json!({}));
    let lab = &machine.0;
    fs::create_dir_all(lab.path("weights")).expect("a directory");
    lab.write("weights/config.json", "{}");
    fs::create_dir_all(lab.path("venv/bin")).expect("a directory");
    let program = lab.write("venv/bin/vllm", "#!/bin/sh\necho 'RuntimeError: no such luck'; exit 1\n");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
    lab.write(
        "site.plab",
        "site lab {\n engine vllm \"0.17.1\" via venv \"venv\"\n model \"Qwen/Qwen3-32B\" at \"weights\"\n price 3usd/h\n}\n",
    );
    machine
}

fn command(machine: &Machine, more: &[&str]) -> Command {
    let words = ["exec", "study.plab", "--dir", "state", "--no-download"];
    let mut command = machine.0.command(&[&words[..], more].concat());
    command.env("PERFLAB_GPUS", machine.0.path("gpus.json")).env_remove("CUDA_VISIBLE_DEVICES");
    command.env("COLUMNS", "80");
    command
}

fn launched(machine: &Machine) -> bool {
    journal(&machine.0).contains("\"launch\":{")
}

/// What stands on the terminal after an answer, and the exit code.
fn answered(machine: &Machine, answer: &str) -> (String, i32) {
    let mut terminal = Terminal::start(command(machine, &[]));
    terminal.wait_for("the question", |text| text.contains("[y/N]"));
    terminal.types(answer);
    let code = terminal.wait();
    (terminal.text().to_owned(), code)
}

#[test]
fn a_dear_study_is_asked_about_on_a_terminal() {
    let machine = lab();
    for answer in ["n\n", "\n", "yep\n", "\u{4}"] {
        let (text, code) = answered(&machine, answer);
        assert_eq!(code, 1, "{answer:?}:\n{text}");
        assert!(
            text.contains("GPU hours") && text.contains("USD") && !launched(&machine),
            "{answer:?}:\n{text}"
        );
    }
    // a closed terminal is no yes
    let mut terminal = Terminal::start(command(&machine, &[]));
    terminal.wait_for("the question", |text| text.contains("[y/N]"));
    terminal.close();
    assert_eq!(terminal.wait(), 1000 + nix::sys::signal::Signal::SIGHUP as i32);
    assert!(!launched(&machine));
    // it goes ahead, and fails in its own way
    let (text, code) = answered(&machine, "Yes\n");
    assert!(code == 3 && launched(&machine), "{code}:\n{text}");
}

/// An engine that the simulator is no model of, and of which no launch was made: what it may take is reckoned and asked about.
#[test]
fn a_study_of_an_engine_that_is_not_known_is_asked_about_too() {
    let machine = lab();
    let text = DEAR.replace("use std/engines { vllm }", "use std/engines { llama_cpp }");
    let text = text.replace(
        "engine dear \"Dear\" = vllm { version \"0.17.1\" }",
        "engine dear \"Dear\" = llama_cpp { serve \"sh venv/bin/vllm {model} {host} {port}\" }",
    );
    let text = text.replace("--max-num-seqs=[64, 128, 256, 512]", "--parallel=[4, 8, 16, 32]");
    machine.0.write("study.plab", text.replace("Qwen/Qwen3-32B", "./weights/config.json"));
    machine.0.write("site.plab", "site lab { price 3usd/h }\n");
    let run = |more: &[&str]| machine.0.start_command(command(&machine, more)).wait();
    run(&[]).expect_error(1, &["is not known", "GPU hours", "USD", "no budget", "--yes", "--budget"]);
    assert!(!launched(&machine));
    // little is not asked about, and neither is what has a budget
    run(&["--yes"]).expect_code(3);
    machine.0.write("study.plab", machine.0.read("study.plab").replace("9000000", "20"));
    std::fs::remove_dir_all(machine.0.path("state")).expect("removed");
    let out = run(&[]).expect_code(3);
    assert!(!out.stderr.contains("is not known"), "{}", out.stderr);
}

#[test]
fn without_a_terminal_a_dear_study_needs_a_word() {
    let machine = lab();
    let run = |more: &[&str]| machine.0.start_command(command(&machine, more)).wait();
    run(&[]).expect_error(1, &["GPU hours", "has no budget", "--yes", "--budget"]);
    assert!(!launched(&machine));
    // a budget that nothing fits into begins nothing, and asks nobody
    let out = run(&["--budget", "0.01gpu_hours"]).expect_code(75);
    assert!(!out.stderr.contains("Go ahead") && !launched(&machine), "{}", out.stderr);
    run(&["--yes"]).expect_code(3);
    assert!(launched(&machine));
}

#[test]
fn the_load_generator_is_tried_once_before_a_long_study() {
    let machine = lab();
    let run = |more: &[&str]| machine.0.start_command(command(&machine, more)).wait();
    let sessions = || -> Vec<serde_json::Value> {
        let text = journal(&machine.0);
        let events = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        events.map(|event| event["kind"]["session"].clone()).filter(|session| !session.is_null()).collect()
    };
    run(&["--yes"]).expect_code(3);
    let [first] = &sessions()[..] else { panic!("{:?}", sessions()) };
    let trial = first["client"].clone();
    assert_eq!((&trial["streams"], &trial["tokens_per_s"]), (&8.into(), &40.0.into()), "{first}");
    let text = trial["text"].as_str().expect("a sentence");
    assert!(text.contains("before the study") && text.contains("in 12 streams"), "{text}");
    let report = machine.0.run(&["report", "state", "--format", "json"]).json();
    let notes = if trial["enough"] == true { "notes" } else { "warnings" };
    assert!(report[notes].as_array().expect("notes").contains(&trial["text"]), "{report}");
    // what was enough is not tried again
    run(&["--yes", "--again", "failed"]).expect_code(3);
    let again = sessions();
    assert_eq!((again.len(), again[1]["client"].is_null()), (2, trial["enough"] == true), "{again:?}");
    // a short one is not held up
    machine.0.write("study.plab", DEAR.replace("9000000", "20"));
    fs::remove_dir_all(machine.0.path("state")).expect("removed");
    run(&[]).expect_code(3);
    assert!(sessions()[0]["client"].is_null());
}
