//! What the machine spoils is no result: it is tried again, it leaves a study incomplete, and the next invocation measures it anew. The GPUs are
//! played by a script.

use serde_json::{Value, json};

use crate::gpus::{Machine, engine};
use crate::support::{EXEC, binary, marked, wait_for};

const STEP: &str = "gpus 1 of \"H100\"\n step one { vary seqs[2] }";

/// Holds while an engine lives, so that the wait for clean GPUs does not see it.
fn under_load() -> Value {
    json!({"of_engine": true})
}

fn somebody(mib: u32) -> Value {
    json!([{"gpu": 0, "memory_mib": mib, "pid": 5_000_002, "name": "train", "when": under_load()}])
}

/// The setbacks of a class; a busy machine may have others.
fn setbacks(machine: &Machine, class: &str) -> Vec<Value> {
    machine.events("setback").into_iter().filter(|e| e["class"] == class).collect()
}

fn plan(machine: &Machine) -> Value {
    let words = ["plan", "study.plab", "--dir", "state", "--format", "json"];
    machine.start(&words, None).wait().expect_code(0).json()
}

#[test]
fn heat_that_goes_on_is_no_result_of_the_next_invocation() {
    let hot = json!({"throttle": [{"gpu": 0, "reason": "hw_thermal", "when": under_load()}]});
    let machine = Machine::new(STEP, hot);
    let out = machine.exec_strictly().expect_code(75);
    assert!(out.stderr.contains("tries again"), "{}", out.stderr);
    let report = out.report();
    assert_eq!(report.0["complete"], false);
    let said = report.0["warnings"].to_string();
    assert!(said.contains("no result of launch L003: CLOCK: GPU 0 was too hot"), "{said}");
    assert_eq!(setbacks(&machine, "CLOCK").len(), 2, "tried three times in all");
    assert_eq!((machine.events("run").len(), &machine.events("end")[0]["complete"]), (1, &json!(false)));
    let launches = |m: &Machine| plan(m)["launches"]["max"].as_u64().expect("a number");
    assert_eq!(launches(&machine), 2, "the baseline is to be measured too");
    let reason = plan(&machine)["baseline"]["reason"].to_string();
    assert!(reason.contains("the machine spoiled it, CLOCK: GPU 0 was too hot"), "{reason}");
    // the GPU is well again
    machine.play(json!({}));
    let report = machine.exec_strictly().report();
    assert!(machine.events("run").len() > 1);
    assert!(!report.0["trials"].to_string().contains("CLOCK"), "{report:?}");
}

#[test]
fn somebody_who_leaves_the_gpu_costs_a_launch_and_nothing_else() {
    let machine = Machine::new(STEP, json!({"foreign": somebody(900)}));
    let run = machine.start(&["exec", "study.plab", "--format", "json", "--dir", "state"], None);
    wait_for("a setback", || !machine.events("setback").is_empty());
    machine.play(json!({}));
    let report = run.wait().report();
    let line = setbacks(&machine, "GPU_FOREIGN")[0]["line"].to_string();
    assert!(line.contains("another process ran on GPU 0: 5000002 (train) 900 MiB"), "{line}");
    assert!(!report.0["trials"].to_string().contains("GPU_FOREIGN"), "{report:?}");
}

#[test]
fn where_checks_only_warn_whatever_was_measured_stands() {
    let machine = Machine::new(STEP, json!({"foreign": somebody(900)}));
    machine.exec(None).expect_code(0);
    assert!(machine.events("setback").is_empty());
    machine.exec(None).expect_code(0);
    assert_eq!(machine.events("run").len(), 2);
    // a stricter reader wants them again
    assert_eq!(plan(&machine)["launches"]["max"], 2);
}

#[test]
fn memory_that_somebody_else_took_is_not_the_candidate_s_want() {
    let mut script = json!({"foreign": somebody(60_000), "engines": [engine(), engine()]});
    script["engines"][1]["command"] = " engine.sh ".into();
    let machine = Machine::new(STEP, script);
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB";
    let lines = [
        format!(
            "case \"$*\" in *--max-num-seqs=2*) if [ ! -e calm ]; then sleep 2.5; echo '{oom}' >&2; exit 1; fi;; esac"
        ),
        format!(
            "model=$1 host=$2 port=$3; shift 3; exec '{}' sim --model \"$model\" --host \"$host\" --port \"$port\" \"$@\"",
            binary()
        ),
    ];
    machine.0.write("engine.sh", lines.join("\n"));
    let serve = "= sim { serve \"sh engine.sh {model} {host} {port}\"\n --max-model-len=4Ki }";
    machine
        .0
        .write("study.plab", machine.0.read("study.plab").replace("= sim { --max-model-len=4Ki }", serve));
    let out = machine.exec(None).expect_code(75);
    let report = out.report();
    assert_eq!(report.outcome("one", "2"), "failed");
    let reason = report.reason("one", "2");
    assert!(reason.contains("GPU memory taken by others: process 5000002 (train)"), "{reason}");
    assert_eq!(setbacks(&machine, "GPU memory taken by others").len(), 2);
    // the baseline is recommended, and it is said that something is missing
    assert_eq!((&report.0["complete"], &report.0["recommended"]["partial"]), (&json!(false), &json!(true)));
    let said = report.0["warnings"].to_string();
    assert!(said.contains("GPU memory taken by others; the same command measures it again"), "{said}");
    let again = machine.start(&["report", "study.plab", "--format", "json", "--dir", "state"], None).wait();
    assert_eq!(again.report().0["complete"], false, "whoever reads it later sees it too");
    machine.0.write("calm", "");
    machine.play(json!({}));
    let report = machine.start(&EXEC, None).wait().expect_code(0).report();
    assert_eq!((&report.0["complete"], &report.0["recommended"]["partial"]), (&json!(true), &json!(false)));
    assert_ne!(report.outcome("one", "2"), "failed");
    assert!(marked(&machine.0).is_empty());
}

/// It is gone before the load, but the engine has settled for the memory that was left.
#[test]
fn somebody_who_is_there_while_an_engine_starts_spoils_its_results() {
    let visit = json!({"of_engine": true, "from_s": 0.0, "to_s": 1.5});
    let visitor = json!([{"gpu": 0, "memory_mib": 900, "pid": 5_000_003, "name": "train", "when": visit}]);
    let mut script = json!({"foreign": visitor, "engines": [engine()]});
    // what it becomes afterwards is none that the script knows
    script["engines"][0]["command"] = " engine.sh ".into();
    let machine = Machine::new(STEP, script);
    machine.0.write("engine.sh", format!("sleep 2\nexec '{}' sim --model \"$@\"\n", binary()));
    let serve = "= sim { serve \"sh engine.sh {model} --host {host} --port {port}\"\n --max-model-len=4Ki }";
    let study = machine.0.read("study.plab").replace("= sim { --max-model-len=4Ki }", serve);
    machine.0.write("study.plab", study);
    let run = machine.start(&["exec", "study.plab", "--format", "json", "--dir", "state"], None);
    wait_for("a setback", || !setbacks(&machine, "GPU_FOREIGN").is_empty());
    machine.play(json!({}));
    let report = run.wait().report();
    let line = setbacks(&machine, "GPU_FOREIGN")[0]["line"].to_string();
    let said = "another process ran on GPU 0: 5000003 (train) 900 MiB while the engine started";
    assert!(line.contains(said), "{line}");
    assert!(!report.0["trials"].to_string().contains("GPU_FOREIGN"), "{report:?}");
}
