//! Metrics that ask every request, and derived ones over several configurations.

use serde_json::json;

use crate::support::{Lab, Recording, Report, toy_study};

#[track_caller]
fn decide(lines: &str, recording: &Recording) -> Report {
    Lab::with(&toy_study(lines)).replay(recording, &[]).expect_code(0).report()
}

fn two() -> Recording {
    Recording::default().toy("", 100.0).toy("--a=1", 200.0)
}

#[test]
fn a_recording_holds_no_requests_and_goodput_is_said_to_be_missing() {
    let lines = "maximize goodput(ttft <= 500ms) on load\n step one { vary a[1] }";
    let report = Lab::with(&toy_study(lines)).replay(&two(), &[]).expect_code(3).report();
    let why = report.0["no_recommendation"].as_str().expect("a reason");
    assert!(why.contains("goodput") && why.contains("every request"), "{why}");
    assert_eq!(report.0["objective"]["unit"], "/s");
}

#[test]
fn a_rule_on_it_is_not_met_and_a_requirement_neither() {
    let rule = "prune bad \"bad\" when goodput(ttft <= 500ms) < 1000/s\n step one { vary a[1] }";
    assert_eq!(decide(rule, &two()).after("one"), "toy --a=1");
    let lines = "require goodput(ttft <= 500ms) >= 0/s\n step one { vary a[1] }";
    let report = Lab::with(&toy_study(lines)).replay(&two(), &[]).expect_code(3).report();
    assert!(
        report.0["no_recommendation"].as_str().is_some_and(|w| w.contains("every request")),
        "{}",
        report.0
    );
}

#[test]
fn what_was_not_measured_is_named() {
    let lines = "require p99(ttft) <= 500ms\n step one { vary a[1] }";
    let r = Recording::default().toy_with("", 100.0, json!({"ttft_p99_ms": 1.0})).toy("--a=1", 200.0);
    let reason = decide(lines, &r).reason("one", "1").to_owned();
    assert!(reason.contains("`p99(ttft)` was not measured"), "{reason}");
}

#[test]
fn a_derived_metric_of_another_configuration_is_wholly_that_ones() {
    // per GPU: 100 on one, 150 on two are 75
    let r = Recording::default().toy("", 100.0).toy("--cards=2", 150.0).toy("--cards=4", 380.0);
    let lines = |when: &str| format!("prune less \"less\" when {when}\n step one {{ vary cards[2, 4] }}");
    let decide = |when: &str| {
        let study =
            toy_study(&lines(when)) + "metric per_gpu = total_tps / gpus\nmetric twice = 2 * per_gpu\n";
        let report = Lab::with(&study).replay(&r, &[]).expect_code(0).report();
        ["2", "4"].map(|c| report.outcome("one", c).to_owned())
    };
    assert_eq!(decide("per_gpu < 0.8 * best.per_gpu"), ["pruned", "ok"]);
    assert_eq!(decide("twice < 0.97 * baseline.twice"), ["pruned", "pruned"]);
    assert_eq!(decide("twice < 0.94 * baseline.twice"), ["pruned", "ok"]);
    assert_eq!(decide("gpus > 2 * baseline.gpus"), ["ok", "pruned"]);
    assert_eq!(decide("gpus >= 2 * best.gpus and total_tps < 300tok/s"), ["pruned", "ok"]);
}

#[test]
fn ratios_of_metrics_are_plain_numbers() {
    let tail = |p99: f64| json!({"ttft_p99_ms": p99, "ttft_mean_ms": 100.0});
    let r = Recording::default()
        .toy_with("", 100.0, tail(300.0))
        .toy_with("--a=1", 200.0, tail(300.0))
        .toy_with("--a=2", 300.0, tail(310.0));
    let study = toy_study("require tail <= 3\n step one { vary a[1, 2] }");
    let study = study + "metric tail = p99(ttft) / mean(ttft)\n";
    let report = Lab::with(&study).replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.after("one"), "toy --a=1");
}

#[test]
fn a_comparison_with_what_is_not_there_is_not_met_and_not_turns_that_round() {
    // `--a` has no default: it is not there in the baseline, nor where only `--b` is set
    let r = Recording::default().toy("", 100.0).toy("--b=1", 120.0).toy("--a=1", 110.0);
    let outcome = |when: &str| {
        let lines = format!("prune p \"p\" when {when}\n step one {{ vary b[1] + a[1] }}");
        let rows = decide(&lines, &r);
        let row = |i: usize| rows.step("one")["rows"][i]["outcome"].as_str().expect("an outcome").to_owned();
        (row(1), row(2))
    };
    let (pruned, ok) = (|| "pruned".to_owned(), || "ok".to_owned());
    assert_eq!(outcome("--a < 5"), (ok(), pruned()));
    assert_eq!(outcome("--a != 7"), (ok(), pruned()));
    assert_eq!(outcome("not (--a < 5)"), (pruned(), ok()));
    // a default is there
    assert_eq!(outcome("--b == 7"), (ok(), pruned()));
    // of metrics too: no recorded run holds this one
    assert_eq!(outcome("p50(itl) > 0s"), (ok(), ok()));
    assert_eq!(outcome("not (p50(itl) > 0s)"), (pruned(), pruned()));
}
