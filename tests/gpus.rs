//! GPUs, played by a script: clean before and after each launch, sampled under load, and whoever else is on them named and left alone.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{EXEC, Lab, Output, Running, events, live_study, marked, wait_for};

const STEP: &str = "gpus 1 of \"H100\"\n step one { vary seqs[2] }";

/// A lab whose GPUs are played by `script`, with a pace for tests.
pub struct Machine(pub Lab);

impl Machine {
    pub fn new(lines: &str, script: Value) -> Self {
        let machine = Self(Lab::with(&live_study(lines)));
        machine.play(script);
        machine
    }

    /// Changes the script, also while a study runs.
    pub fn play(&self, mut script: Value) {
        if script.get("gpus").is_none() {
            script["gpus"] = json!([card(), card()]);
        }
        if script.get("engines").is_none() {
            script["engines"] = json!([engine()]);
        }
        // other tests launch the same engine at the same time
        let state = self.0.path(".").canonicalize().expect("a directory").join("state");
        let mark = perflab::plan::config::short_hash(&state.to_string_lossy());
        for engine in script["engines"].as_array_mut().expect("engines") {
            engine["mark"] = format!("plab-{mark}-").into();
        }
        script["pace"] = json!({"every_ms": 20, "patience_ms": 1500});
        self.0.write("new.json", script.to_string());
        fs::rename(self.0.path("new.json"), self.0.path("gpus.json")).expect("renamed");
    }

    pub fn start(&self, args: &[&str], visible: Option<&str>) -> Running {
        self.start_command(self.0.command(args), visible)
    }

    /// The same of any command in the lab.
    pub fn start_command(&self, mut command: Command, visible: Option<&str>) -> Running {
        command.env("PERFLAB_GPUS", self.0.path("gpus.json")).env_remove("CUDA_VISIBLE_DEVICES");
        if let Some(visible) = visible {
            command.env("CUDA_VISIBLE_DEVICES", visible);
        }
        self.0.start_command(command)
    }

    pub fn exec(&self, visible: Option<&str>) -> Output {
        self.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat(), visible).wait()
    }

    /// The same, with checks that refuse.
    pub fn exec_strictly(&self) -> Output {
        self.start(&["exec", "study.plab", "--format", "json", "--dir", "state"], None).wait()
    }

    fn journal(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.0.path("state/journal.jsonl")).unwrap_or_default();
        text.lines().map(|l| serde_json::from_str::<Value>(l).expect("a line")["kind"].clone()).collect()
    }

    /// The journal's events of a kind.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.journal().into_iter().filter_map(|e| e.get(kind).cloned()).collect()
    }
}

pub fn card() -> Value {
    json!({"name": "NVIDIA H100 80GB HBM3", "idle_mib": 4})
}

pub fn engine() -> Value {
    json!({"command": " sim ", "memory_mib": 70000, "drain_mib_per_s": 1e6})
}

#[test]
fn a_launch_holds_its_gpus_and_the_record_says_what_they_did() {
    let machine = Machine::new(STEP, json!({}));
    let report = machine.exec(None).expect_code(0).report();
    let runs = machine.events("run");
    assert_eq!(runs.len(), 2);
    for run in &runs {
        let gpus = run["run"]["devices"]["gpus"].as_array().expect("devices");
        assert_eq!((gpus.len(), gpus[0]["uuid"].as_str()), (1, Some("GPU-script-0")));
        // the memory follows CUDA_VISIBLE_DEVICES in the engine's own environment
        assert_eq!(gpus[0]["memory_max"], (70_004u64) << 20);
        assert!(gpus[0]["power_w"].as_f64().is_some_and(|w| w > 400.0), "{run}");
        assert!(run["run"]["metrics"]["numbers"]["gpu_power"].as_f64().is_some_and(|w| w > 400.0));
    }
    // nothing of this is taken for a real machine's
    assert_eq!(report.0["simulated"], true);
    assert!(report.0["warnings"].to_string().contains("played by a script"));
    let session = &machine.events("session")[0];
    assert_eq!((&session["host"]["scripted"], &session["simulated"]), (&json!(true), &json!(true)));
    assert!(report.0["cost"]["energy_j"].as_f64().is_some_and(|j| j > 0.0));
    let not_checked = report.0["not_checked"].to_string();
    for check in ["GPU_FOREIGN", "CLOCK"] {
        assert!(!not_checked.contains(check), "{not_checked}");
    }
    // too short a load for that one
    assert!(not_checked.contains("THERMAL"), "{not_checked}");
    let launch = runs[0]["launch"].as_str().expect("a launch");
    let trials = fs::read_dir(machine.0.path("state/trials")).expect("trials").flatten();
    let mut samples = trials.map(|t| t.path().join(launch).join("quick.simulated.scripted.gpus.jsonl"));
    let samples = samples.find_map(|p| fs::read_to_string(p).ok()).expect("samples");
    let first: Value = serde_json::from_str(samples.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["gpu"], &first["scripted"]), (&json!(0), &json!(true)));
}

#[test]
fn objectives_requirements_and_rules_read_what_gpus_do() {
    let lines = format!(
        "maximize tokens_per_joule on quick\n require gpu_memory <= 80GiB and energy > 0J\n \
         prune hot \"draws too much\" when gpu_power > 10kW\n {STEP}"
    );
    let machine = Machine::new(&lines, json!({}));
    let report = machine.exec(None).expect_code(0).report();
    let runs = machine.events("run");
    for trial in report.0["trials"].as_array().expect("trials") {
        assert!(["ok", "flagged"].contains(&trial["outcome"].as_str().expect("an outcome")), "{trial}");
    }
    let numbers = &runs[0]["run"]["metrics"]["numbers"];
    let number = |name: &str| numbers[name].as_f64().expect(name);
    let tokens = number("input_tokens") + number("output_tokens");
    assert!((number("tokens_per_joule") - tokens / number("energy")).abs() < 1e-9);
    // and what they do not meet is refused
    let greedy = Machine::new(&lines.replace("80GiB", "1GiB"), json!({}));
    let refused = greedy.exec(None).expect_code(3).report();
    assert!(refused.0["trials"].to_string().contains("gpu_memory <= 1GiB"), "{refused:?}");
}

#[test]
fn metrics_of_gpus_are_refused_by_name_in_a_study_without_gpus() {
    let lab = Lab::with(&live_study("minimize energy on quick\n step one { vary seqs[2] }"));
    let refused = lab.run(&EXEC).expect_code(1);
    assert!(refused.stderr.contains("`energy` in a study without `gpus`"), "{}", refused.stderr);
}

#[test]
fn a_visible_set_is_the_set_that_is_used() {
    let machine = Machine::new(STEP, json!({}));
    machine.exec(Some("1")).expect_code(0);
    for run in machine.events("run") {
        assert_eq!(run["run"]["devices"]["gpus"][0]["uuid"], "GPU-script-1");
    }
}

#[test]
fn more_gpus_than_there_are_end_a_study_before_anything_starts() {
    let two = STEP.replace("gpus 1", "gpus 2");
    let machine = Machine::new(&two, json!({}));
    machine.exec(Some("1")).expect_error(1, &["asks for 2 × H100", "CUDA_VISIBLE_DEVICES is `1`"]);
    for (visible, words) in [
        ("", "there are 0 (GPU-script-0), 1 (GPU-script-1)"),
        ("-1", "CUDA_VISIBLE_DEVICES is `-1`"),
        ("7", "names 7, which is no GPU of this machine: 0 (GPU-script-0), 1 (GPU-script-1)"),
        ("0,7", "names 7, which is no GPU of this machine"),
        ("all", "names all, which is no GPU of this machine"),
        ("GPU-script", "names GPU-script, which may be more than one GPU of this machine"),
        ("GPU-x", "names GPU-x, which is no GPU of this machine"),
        ("MIG-1", "a part of a GPU (MIG)"),
    ] {
        let fix = ["help: set CUDA_VISIBLE_DEVICES to numbers or UUIDs", "`unset CUDA_VISIBLE_DEVICES`"];
        machine.exec(Some(visible)).expect_error(1, &[words, fix[0], fix[1]]);
    }
    machine.0.write("gpus.json", "{");
    machine.exec(None).expect_error(1, &["the GPU script", "`unset PERFLAB_GPUS`"]);
    machine.play(json!({"gpus": [card(), {"name": "NVIDIA A100"}]}));
    machine.exec(None).expect_error(1, &["asks for 2 × H100", "NVIDIA A100"]);
    assert!(machine.journal().is_empty());
}

#[test]
fn memory_that_drains_slowly_is_waited_for() {
    let engine = json!([{"command": " sim ", "memory_mib": 70000, "drain_mib_per_s": 80000}]);
    let machine = Machine::new(STEP, json!({"engines": engine}));
    let report = machine.exec(None).expect_code(0).report();
    for gone in machine.events("gone") {
        let drain = gone["times"]["drain_s"].as_f64().expect("seconds");
        assert!(drain > 0.5, "{gone}");
    }
    // what the GPUs took is not perflab's own
    assert!(report.0["cost"]["drain_s"].as_f64().is_some_and(|s| s > 1.0), "{}", report.0["cost"]);
}

#[test]
fn memory_that_stays_ends_the_study_with_the_amount() {
    let engine = json!([{"command": " sim ", "memory_mib": 70000, "leak_mib": 5120}]);
    let machine = Machine::new(STEP, json!({"engines": engine}));
    let out = machine.exec(None).expect_error(75, &["GPU 0", "5.0 GiB more", "no process that can be seen"]);
    assert!(out.stderr.contains("ends nothing that it did not start"), "{}", out.stderr);
    assert_eq!((machine.events("run").len(), machine.events("gone").len()), (1, 1));
    assert!(marked(&machine.0).is_empty());
}

#[test]
fn whoever_holds_a_gpu_is_named_and_the_same_command_continues_without_him() {
    let held = json!([{"gpu": 0, "memory_mib": 3072, "pid": 5_000_001, "name": "python3", "user": "alice"}]);
    let machine = Machine::new(STEP, json!({"foreign": held}));
    machine.exec(None).expect_error(75, &["5000001 (python3, user alice) 3.0 GiB", "GPU 0"]);
    assert!(machine.events("launch").is_empty());
    let waits = events(&machine.0).iter().filter(|e| e["event"] == "gpu_wait").count();
    assert_eq!(waits, 1);
    // he is on the other one now, which nobody asks for
    let elsewhere = json!([{"gpu": 1, "memory_mib": 3072}]);
    machine.play(json!({"foreign": elsewhere}));
    machine.exec(None).expect_code(0);
}

#[test]
fn what_an_earlier_run_left_is_no_level() {
    let machine = Machine::new(STEP, json!({}));
    let engine = json!([{"command": " sim ", "memory_mib": 70000, "leak_mib": 5120}]);
    machine.play(json!({"engines": engine}));
    machine.exec(None).expect_code(75);
    // another invocation, which finds the memory taken when it begins
    machine.play(json!({"gpus": [{"name": "NVIDIA H100 80GB HBM3", "idle_mib": 5124}]}));
    machine.exec(None).expect_error(75, &["5.0 GiB more than before the study"]);
    machine.play(json!({}));
    machine.exec(None).expect_code(0);
}

/// As a restart of the machine leaves it: limits are back at their defaults.
#[test]
fn results_under_another_power_limit_do_not_count() {
    let limited = |watts: u32| json!({"gpus": [{"name": "NVIDIA H100 80GB HBM3", "power_limit_w": watts}]});
    let machine = Machine::new(STEP, limited(400));
    machine.exec(None).expect_code(0);
    let measured = machine.events("run").len();
    machine.exec(None).expect_code(0);
    assert_eq!(machine.events("run").len(), measured);
    machine.play(limited(700));
    let plan = machine.start(&["plan", "study.plab", "--dir", "state", "--format", "json"], None).wait();
    let why = "measured with power limit 400 W, ECC on, now power limit 700 W, ECC on";
    assert_eq!(plan.expect_code(0).json()["steps"][0]["candidates"][0]["reason"], why);
    let out = machine.exec(None).expect_code(0);
    assert!(out.stderr.contains(why), "{}", out.stderr);
    assert_eq!(machine.events("run").len(), 2 * measured);
}

#[test]
fn somebody_on_the_gpu_under_load_refuses_the_result() {
    let when = json!({"of_engine": true});
    let held = json!([{"gpu": 0, "memory_mib": 900, "pid": 5_000_002, "name": "train", "when": when}]);
    let machine = Machine::new(STEP, json!({"foreign": held}));
    let report = machine.exec_strictly().expect_code(75).report();
    // a busy machine may have held the client up besides
    let (why, found) = (report.0["no_recommendation"].to_string(), report.0["trials"].to_string());
    assert!(why.contains("GPU_FOREIGN") && found.contains("5000002 (train) 900 MiB"), "{why}");
}

#[test]
fn heat_refuses_and_a_power_limit_flags() {
    let when = json!({"of_engine": true});
    let slow = |reason: &str| json!({"throttle": [{"gpu": 0, "reason": reason, "when": when}]});
    let machine = Machine::new(STEP, slow("hw_thermal"));
    let report = machine.exec_strictly().expect_code(75).report();
    let why = report.0["no_recommendation"].to_string();
    assert!(why.contains("CLOCK") && why.contains("too hot"), "{why}");
    let machine = Machine::new(STEP, slow("power_cap"));
    let report = machine.exec(None).expect_code(0).report();
    assert_eq!(report.outcome("one", "2"), "flagged");
    assert!(report.0["trials"].to_string().contains("at its power limit of 700 W"));
}

#[test]
fn a_gpu_that_falls_off_the_bus_ends_the_study_and_its_load_counts_for_nothing() {
    let lines = STEP.replace("gpus", "require failed <= 5\n gpus");
    let machine =
        Machine::new(&lines, json!({"lost": [{"gpu": 0, "when": {"of_engine": true, "from_s": 1.5}}]}));
    let text = machine.0.read("study.plab").replace("requests    8", "requests    20000");
    machine.0.write("study.plab", text);
    machine.exec(None).expect_error(75, &["GPU-script-0 is lost", "nothing that ran on it counts"]);
    assert!(machine.events("run").is_empty());
    assert!(marked(&machine.0).is_empty());
}

#[test]
fn a_signal_ends_the_wait() {
    let held = json!([{"gpu": 0, "memory_mib": 3072}]);
    let machine = Machine::new(STEP, json!({"foreign": held}));
    let text = machine.0.read("gpus.json").replace("1500", "100000");
    machine.0.write("gpus.json", text);
    let run = machine.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat(), None);
    wait_for("the wait", || events(&machine.0).iter().any(|e| e["event"] == "gpu_wait"));
    let began = Instant::now();
    kill(Pid::from_raw(run.child.id() as i32), Signal::SIGTERM).expect("it lives");
    run.wait().expect_code(75);
    assert!(began.elapsed() < Duration::from_mins(1));
}

#[test]
fn a_simulated_engine_needs_no_driver_and_another_says_so() {
    let lab = Lab::with(&live_study(STEP));
    let mut command = lab.command(&EXEC);
    command.env_remove("PERFLAB_GPUS");
    lab.start_command(command).wait().expect_code(0);
    if std::path::Path::new("/proc/driver/nvidia").exists() {
        return;
    }
    let text = live_study(STEP).replace(
        "engine small",
        "engine real { version \"1\"\n serve \"real {model} {host} {port}\"\n ready get \"/h\" within 5s\n stop sigterm within 5s }\nengine small",
    );
    let lab = Lab::with(
        &text.replace("baseline small", "baseline real").replace("vary seqs[2]", "vary engine[small]"),
    );
    lab.run(&EXEC).expect_error(1, &["no NVIDIA driver on this machine"]);
}

#[test]
fn a_script_that_cannot_be_read_is_an_error() {
    let machine = Machine::new(STEP, json!({}));
    machine.0.write("gpus.json", "{\"gpus\": [], \"nonsense\": 1}");
    machine.exec(None).expect_error(1, &["gpus.json", "nonsense"]);
}
