//! The format of a recording, as people write it by hand: flags in one word, metrics that perflab does not measure, several releases.

use serde_json::{Value, json};

use crate::support::{Lab, Recording, Report, TOYS, toy_study};

fn replay(study: &str, recording: &Value) -> Report {
    let lab = Lab::with(study);
    lab.write("recording.json", recording.to_string());
    let args = ["exec", "study.plab", "--replay", "recording.json", "--format", "json", "--dir", "replayed"];
    lab.run(&args).expect_code(0).report()
}

fn run(flags: &[&str], tps: f64, more: &Value) -> Value {
    let mut run: Value = serde_json::from_str(&Recording::default().toy("", tps).text()).expect("JSON");
    let mut run = run["runs"][0].take();
    run["flags"] = json!(flags);
    for (key, value) in more.as_object().expect("an object") {
        if let (Some(all), Some(metrics)) = (run[key].as_object_mut(), value.as_object()) {
            all.extend(metrics.clone());
        } else {
            run[key] = value.clone();
        }
    }
    run
}

#[test]
fn a_flag_and_its_value_may_stand_in_one_word() {
    let runs = [
        run(&[], 100.0, &json!({})),
        run(&["--a 1", "--conf {\"x\": \"y=1\"}"], 120.0, &json!({})),
        run(&["--a=1", "--conf={\"x\":\"y=1\"}", "--no-fast"], 110.0, &json!({})),
    ];
    let lines = "step one { vary conf + off }";
    let study = toy_study(lines)
        + "axis conf = --a=1 --conf={\"x\": \"y=1\"}\naxis off = --a=1 --conf={\"x\": \"y=1\"} --no-fast\n";

    let report = replay(&study, &json!({"recording": "by hand", "runs": runs}));
    assert_eq!(report.outcome("one", "conf"), "ok");
    assert_eq!(report.outcome("one", "off"), "ok");
    assert_eq!(report.0["replay"]["differences"], json!([]));
}

#[test]
fn a_gate_on_answers_reads_what_the_recording_holds() {
    let quiz = |match_: f64| json!({"profile": "quiz", "metrics": {"exact_match": match_}});
    let runs = [
        run(&[], 100.0, &json!({"metrics": {"accept_length": 1.5}})),
        run(&[], 50.0, &quiz(0.80)),
        run(&["--a=1"], 130.0, &json!({"metrics": {"accept_length": 2.5}})),
        run(&["--a=1"], 50.0, &quiz(0.70)),
        run(&["--a=2"], 120.0, &json!({"metrics": {"accept_length": 2.5}})),
        run(&["--a=2"], 50.0, &quiz(0.795)),
        run(&["--a=3"], 140.0, &json!({"metrics": {"accept_length": 1.0}})),
    ];
    let lines = "require exact_match >= 0.99 * baseline.exact_match on quiz
 prune short \"drafts are refused\" when accept_length < 1.2
 step one { vary a }";
    let study = toy_study(lines)
        + "profile quiz { data jsonl \"quiz.jsonl\"\n output 100\n concurrency 8\n requests 100 }\n";
    let report = replay(&study, &json!({"recording": "by hand", "runs": runs}));
    assert_eq!(report.after("one"), "toy --a=2");
    let why = report.reason("one", "1");
    assert!(why.contains("exact_match >= 0.99") && why.ends_with("; exact_match is 0.7"), "{why}");
    assert_eq!(report.outcome("one", "3"), "pruned");
}

#[test]
fn a_run_may_name_its_release() {
    let study = format!(
        "{TOYS}engine old = toy {{ }}\nengine new = toy {{ version \"2.0\" }}
study s {{\n model \"org/m\"\n baseline old\n maximize total_tps on load\n repeat 1
 step release {{ vary engine[old, new] }}\n}}\n"
    );
    let runs = [run(&[], 100.0, &json!({"version": "1.0"})), run(&[], 150.0, &json!({"version": "2.0"}))];
    let versions = json!({"toy": "1.0"});
    let report = replay(&study, &json!({"recording": "by hand", "engine_versions": versions, "runs": runs}));
    assert!((report.gain("release") - 0.5).abs() < 1e-12);
    assert_eq!(report.0["replay"]["differences"], json!([]));
}
