//! Other numbers in a published recording: the decision follows them, and from nothing else.

use serde_json::{Value, json};

use crate::support::{Lab, Output, Report, project};

const STUDY: &str = "qwen3.5-9b-h100";

fn recording(name: &str) -> Value {
    let path = project().join(format!("examples/recordings/{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("a recording")).expect("JSON")
}

fn replay_of(name: &str, recording: &Value) -> Output {
    let lab = Lab::new();
    let study = project().join(format!("examples/{name}.plab")).to_string_lossy().into_owned();
    lab.write("r.json", recording.to_string());
    lab.run(&["exec", &study, "--replay", "r.json", "--checks", "warn", "--format", "json", "--dir", "state"])
}

fn replay(recording: &Value) -> Report {
    replay_of(STUDY, recording).expect_code(0).report()
}

fn set_tps(recording: &mut Value, block: usize, tps: f64) {
    recording["runs"][block]["metrics"]["total_tps"] = json!(tps);
}

fn words(report: &Report) -> Vec<String> {
    let words = report.0["recommended"]["argv"].as_array().expect("words");
    words.iter().map(|w| w.as_str().expect("a word").to_owned()).collect()
}

#[test]
fn another_candidate_wins_with_other_numbers() {
    let mut r = recording(STUDY);
    set_tps(&mut r, 2, 13_000.0);
    let report = replay(&r);
    assert!(report.adopted("prefix"));
    assert!(words(&report).contains(&"--enable-prefix-caching".to_owned()), "{:?}", words(&report));
    // steps from `best` go on over the new incumbent, which the recording has no runs of
    assert_eq!(report.outcome("mode", "mode"), "missing");
    // those from `engines` compare with it and lose
    assert!(!report.adopted("seqmode") && report.gain("seqmode") < 0.0);
}

#[test]
fn a_tie_goes_to_the_fewest_changes() {
    let mut r = recording(STUDY);
    // 32Ki and 24Ki of step `batch` change as much: the better wins, by however little within the threshold
    set_tps(&mut r, 8, 11_700.0);
    set_tps(&mut r, 9, 11_701.0);
    let report = replay(&r);
    assert!(report.after("batch").contains("--max-num-batched-tokens=32768"), "{}", report.after("batch"));

    // in step `all` nothing ties, unless the three are alike: then the first of equals
    let mut r = recording(STUDY);
    for block in [12, 13, 14, 15] {
        set_tps(&mut r, block, 13_000.0);
    }
    let report = replay(&r);
    let after = report.after("all");
    assert!(
        after.contains("--max-num-batched-tokens=32768") && after.contains("--max-num-seqs=512"),
        "{after}"
    );
}

#[test]
fn a_baseline_that_fails_ends_the_study() {
    let mut r = recording(STUDY);
    r["runs"][0]["outcome"] = json!("failed");
    r["runs"][0]["message"] = json!("CUDA out of memory");
    r["runs"][0].as_object_mut().expect("a run").remove("metrics");
    let report = replay_of(STUDY, &r).expect_code(3).report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["outcome"], "failed");
    assert!(baseline["reason"].as_str().expect("a reason").contains("CUDA out of memory"));
    assert!(report.0["recommended"].is_null());
}

#[test]
fn a_baseline_that_is_not_in_the_recording_ends_the_study() {
    let mut r = recording(STUDY);
    r["runs"].as_array_mut().expect("runs").retain(|r| r["flags"].as_array().is_none_or(|f| f.len() > 2));
    let report = replay_of(STUDY, &r).expect_code(3).report();
    assert_eq!(report.trial(report.0["baseline"].as_str().expect("an id"))["outcome"], "missing");
}

#[test]
fn a_missing_trial_is_missing_and_makes_nothing_incomplete() {
    let mut r = recording(STUDY);
    r["runs"].as_array_mut().expect("runs").remove(9);
    let report = replay(&r);
    assert_eq!(report.outcome("batch", "mode + 32Ki"), "missing");
    assert!(report.reason("batch", "mode + 32Ki").contains("not in the recording"));
    assert_eq!(report.0["complete"], true);
    // the other candidate of the step is -0.12 %: nothing is adopted there, and the end is the same
    assert!(!report.adopted("batch") && report.adopted("seqmode"));
    assert!(words(&report).contains(&"--max-num-seqs=512".to_owned()));
}

#[test]
fn a_failed_candidate_cannot_win_and_keeps_its_reason() {
    let mut r = recording(STUDY);
    r["runs"][11]["outcome"] = json!("failed");
    r["runs"][11]["message"] = json!("EngineCore died");
    r["runs"].as_array_mut().expect("runs").remove(17);
    let report = replay(&r);
    assert_eq!(report.outcome("seqmode", "mode + 512"), "failed");
    assert!(report.reason("seqmode", "mode + 512").contains("EngineCore died"));
    assert!(words(&report).contains(&"--max-num-batched-tokens=32768".to_owned()), "{:?}", words(&report));
}

#[test]
fn flags_in_another_order_or_spelling_are_the_same_run() {
    let before = replay(&recording(STUDY));
    let mut r = recording(STUDY);
    for run in r["runs"].as_array_mut().expect("runs") {
        let flags = run["flags"].as_array_mut().expect("flags");
        flags.reverse();
        for flag in flags {
            let text = flag.as_str().expect("a flag");
            let (name, value) = text.split_once('=').map_or((text, None), |(n, v)| (n, Some(v)));
            let name = format!("--{}", name.trim_start_matches("--").replace('-', "_"));
            let value =
                value.map(|v| format!("={}", v.replace("\"method\":\"mtp\",", "\"method\" : \"mtp\", ")));
            *flag = json!(name + &value.unwrap_or_default());
        }
    }
    let after = replay(&r);
    assert_eq!(after.0["steps"], before.0["steps"]);
    assert_eq!(words(&after), words(&before));
}

#[test]
fn flags_of_a_recording_may_be_abbreviated_and_spaced() {
    let before = replay(&recording(STUDY));
    let mut r = recording(STUDY);
    for run in r["runs"].as_array_mut().expect("runs") {
        let mut words = Vec::new();
        for flag in run["flags"].as_array().expect("flags") {
            let text = flag.as_str().expect("a flag").replace("--performance-mode", "--performance-m");
            let text = text.replace("--max-num-batched-tokens", "--max-num-b");
            match text.split_once('=') {
                Some((name, value)) => words.extend([json!(name), json!(value)]),
                None => words.push(json!(text)),
            }
        }
        run["flags"] = Value::Array(words);
    }
    let after = replay(&r);
    assert_eq!(after.0["steps"], before.0["steps"]);
}

/// `--tp` of a recording is SGLang's `--tp-size`; in a study file the full name is asked for.
#[test]
fn tp_is_tensor_parallelism_in_a_recording_only() {
    const STUDY: &str = r#"
use std/engines { sglang }
use std/profiles { sharegpt }
engine plain "SGLang" = sglang { version "0.5.9" }
axis tp = --tp-size=[2]
study s { model "org/m"
 gpus 2
 baseline plain
 maximize total_tps on sharegpt
 repeat 1
 step tp { vary tp } }
"#;
    let lab = Lab::with(STUDY);
    let run = |flags: &[&str], tps: f64| {
        json!({"engine": "sglang", "model": "org/m", "flags": flags, "profile": "sharegpt", "outcome": "completed",
            "metrics": {"successful_requests": 1000, "total_tps": tps}})
    };
    for spelled in [&["--tp", "2"][..], &["--tp=2"], &["--tp_size", "2"], &["--tensor-parallel-size=2"]] {
        let r = json!({"recording": "x", "runs": [run(&[], 100.0), run(spelled, 150.0)]});
        lab.write("r.json", r.to_string());
        let args = ["exec", "study.plab", "--replay", "r.json", "--checks", "warn", "--format", "json"];
        let report = lab.run(&args).expect_code(0).report();
        assert_eq!(report.outcome("tp", "2"), "ok", "{spelled:?}");
        assert!(report.adopted("tp"), "{spelled:?}");
    }
    lab.write("bad.plab", STUDY.replace("--tp-size=[2]", "--tp-siz=[2]"));
    lab.run(&["check", "bad.plab"]).expect_error(1, &["--tp-siz", "--tp-size"]);
}

#[test]
fn environment_is_part_of_the_configuration() {
    let lab = Lab::with(
        r#"
use std/engines { vllm }
use std/profiles { sharegpt }
engine plain "vLLM" = vllm { version "0.17.1" }
axis gemm = env VLLM_USE_DEEP_GEMM=[0, 1]
study s { model "org/m"
 baseline plain
 maximize total_tps on sharegpt
 repeat 1
 step gemm { vary gemm } }
"#,
    );
    let run = |env: Value, tps: f64| {
        json!({"engine": "vllm", "model": "org/m", "flags": [], "env": env, "profile": "sharegpt",
            "outcome": "completed", "metrics": {"successful_requests": 1000, "total_tps": tps}})
    };
    let runs = [run(json!({}), 100.0), run(json!({"VLLM_USE_DEEP_GEMM": "1"}), 150.0)];
    lab.write("r.json", json!({"recording": "x", "runs": runs}).to_string());
    let args = ["exec", "study.plab", "--replay", "r.json", "--checks", "warn", "--format", "json"];
    let report = lab.run(&args).expect_code(0).report();
    assert_eq!(report.outcome("gemm", "0"), "missing");
    assert_eq!(report.outcome("gemm", "1"), "ok");
    assert_eq!(report.0["recommended"]["env"], json!({"VLLM_USE_DEEP_GEMM": "1"}));
    assert_eq!(words(&report), ["vllm", "serve", "org/m"]);
}

#[test]
fn a_recording_that_cannot_be_read_is_an_error_with_its_path() {
    let lab = Lab::new();
    let study = project().join("examples/qwen3-14b-h100.plab").to_string_lossy().into_owned();
    let whole = recording("qwen3-14b-h100").to_string();
    let broken = [
        ("cut.json", whole[..whole.len() / 2].to_owned()),
        ("empty.json", String::new()),
        ("list.json", "[]".to_owned()),
        ("other.json", "{\"schema\": \"perflab.report/1\"}".to_owned()),
        ("types.json", whole.replacen("\"flags\":[]", "\"flags\":7", 1)),
    ];
    for (name, text) in broken {
        lab.write(name, text);
        lab.run(&["exec", &study, "--replay", name, "--format", "json", "--dir", "d"])
            .expect_error(1, &[name]);
    }
    lab.run(&["exec", &study, "--replay", "none.json", "--dir", "d"]).expect_error(1, &["none.json"]);
    lab.run(&["exec", &study, "--replay", ".", "--dir", "d"]).expect_error(1, &["."]);
}
