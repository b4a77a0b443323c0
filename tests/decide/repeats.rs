//! Several runs of each: what counts, how far they lie apart, and what an interval says.

use serde_json::json;

use crate::support::{Lab, Recording, Report, assert_close, toy_study};

#[track_caller]
fn decide(lines: &str, recording: &Recording) -> Report {
    Lab::with(&toy_study(lines)).replay(recording, &[]).expect_code(0).report()
}

fn runs(baseline: &[f64], candidate: &[f64]) -> Recording {
    let all = baseline.iter().fold(Recording::default(), |r, tps| r.toy("", *tps));
    candidate.iter().fold(all, |r, tps| r.toy("--a=1", *tps))
}

#[test]
fn the_gain_is_that_of_geometric_means_and_has_an_interval() {
    let r = runs(&[100.0, 104.0, 102.0], &[110.0, 113.0, 116.0]);
    let report = decide("repeat 3\n step one { vary a[1] }", &r);
    let mean = |v: [f64; 3]| (v.map(f64::ln).iter().sum::<f64>() / 3.0).exp();
    let gain = mean([110.0, 113.0, 116.0]) / mean([100.0, 104.0, 102.0]) - 1.0;
    assert_close(report.gain("one"), gain, 1e-12);
    assert_close(
        report.row("one", "1")["objective"].as_f64().expect("a value"),
        mean([110.0, 113.0, 116.0]),
        1e-9,
    );
    // Welch on logarithms: ν 3.68, t 2.874, by numeric integration of Student's density
    let step = &report.step("one")["gain"];
    assert_close(step["low"].as_f64().expect("an end"), 0.048_682_3, 1e-6);
    assert_close(step["high"].as_f64().expect("an end"), 0.170_091_5, 1e-6);
    assert_eq!(step["by"], "repeats");
    assert_eq!(report.row("one", "1")["spread"]["runs"], 3);
    assert_eq!(report.row("one", "1")["spread"]["min"].as_f64(), Some(110.0));
    assert_close(report.row("one", "1")["spread"]["stddev"].as_f64().expect("a deviation"), 3.0, 1e-9);
    assert_eq!(report.0["recommended"]["gain"]["by"], "repeats");
    assert!(report.0["noise"].as_f64().is_some_and(|n| (0.015..0.03).contains(&n)), "{}", report.0["noise"]);
}

#[test]
fn two_runs_of_each_are_wide() {
    let report = decide("repeat 2\n step one { vary a[1] }", &runs(&[100.0, 101.0], &[105.0, 107.0]));
    let gain = &report.step("one")["gain"];
    let (low, high) = (gain["low"].as_f64().expect("an end"), gain["high"].as_f64().expect("an end"));
    assert!(low < 0.0 && high > 0.12, "{low} {high}");
    assert!(report.adopted("one"), "adoption asks for the gain alone");
}

#[test]
fn single_runs_say_so_and_have_no_interval() {
    let r = runs(&[100.0, 150.0], &[110.0, 1.0]);
    let lab = Lab::with(&toy_study("repeat 1\n step one { vary a[1] }"));
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert_close(report.gain("one"), 0.1, 1e-12);
    let gain = &report.step("one")["gain"];
    assert_eq!(
        (&gain["by"], &gain["low"], &gain["high"]),
        (&json!("single_run"), &json!(null), &json!(null))
    );
    assert!(report.row("one", "1")["spread"].is_null() && report.0["noise"].is_null());
    let text = lab.run(&["exec", "study.plab", "--replay", "recording.json"]).expect_code(0).stdout;
    assert!(text.contains("single run") && text.contains("1 run") && !text.contains("95 %"), "{text}");
}

#[test]
fn a_recording_with_fewer_runs_than_asked_for_is_decided_on_what_it_has() {
    let report = decide("repeat 3\n step one { vary a[1] }", &runs(&[100.0], &[110.0]));
    assert!(report.adopted("one"));
    assert_eq!(report.step("one")["gain"]["by"], "single_run");
    assert_eq!(
        report.trial(report.0["baseline"].as_str().expect("an id"))["runs"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn runs_that_are_all_equal_say_nothing_of_the_noise() {
    let report = decide("repeat 2\n step one { vary a[1] }", &runs(&[100.0, 100.0], &[110.0, 110.0]));
    let gain = &report.step("one")["gain"];
    assert!(gain["low"].is_null() && gain["high"].is_null(), "{gain}");
}

#[test]
fn one_failed_run_of_several_is_a_failed_candidate() {
    let r = runs(&[100.0, 100.0], &[200.0]).failed("--a=1", "out_of_memory", "CUDA out of memory");
    let report = decide("repeat 2\n step one { vary a[1] }", &r);
    assert_eq!(report.outcome("one", "1"), "failed");
    let reason = report.reason("one", "1");
    assert!(reason.contains("launch 2 of 2") && reason.contains("CUDA out of memory"), "{reason}");
}

#[test]
fn rules_are_settled_by_the_first_run_and_requirements_by_all() {
    let ttft = |ms: f64| json!({"ttft_p50_ms": ms});
    let r = runs(&[], &[])
        .toy_with("", 100.0, ttft(100.0))
        .toy_with("", 100.0, ttft(100.0))
        .toy_with("--a=1", 200.0, ttft(900.0))
        .toy_with("--a=1", 200.0, ttft(2000.0))
        .toy_with("--a=2", 150.0, ttft(2000.0))
        .toy_with("--a=2", 150.0, ttft(100.0))
        .toy_with("--a=3", 140.0, ttft(400.0))
        .toy_with("--a=3", 140.0, ttft(900.0));
    let rule = "prune slow \"slow\" when p50(ttft) > 1s";
    let report = decide(&format!("repeat 2\n {rule}\n step one {{ vary a[1, 2, 3] }}"), &r);
    assert_eq!([1, 2, 3].map(|i| report.outcome("one", &i.to_string()).to_owned()), ["ok", "pruned", "ok"]);
    // the geometric means are 1342, 447 and 600 ms
    let report = decide("repeat 2\n require p50(ttft) <= 610ms\n step one { vary a[1, 2, 3] }", &r);
    assert_eq!([1, 2, 3].map(|i| report.outcome("one", &i.to_string()).to_owned()), ["refused", "ok", "ok"]);
}

#[test]
fn a_metric_is_the_mean_of_the_runs() {
    let r = runs(&[], &[])
        .toy_with("", 100.0, json!({"ttft_p99_ms": 100.0}))
        .toy_with("", 400.0, json!({"ttft_p99_ms": 400.0}))
        .toy("--a=1", 1.0);
    let report = decide("repeat 2\n step one { vary a[1] }", &r);
    let metrics = &report.trial(report.0["baseline"].as_str().expect("an id"))["metrics"];
    assert_close(metrics["total_tps"].as_f64().expect("a mean"), 200.0, 1e-9);
    assert_close(metrics["ttft_ms"]["p99"].as_f64().expect("a mean"), 200.0, 1e-9);
}

#[test]
fn confirmed_profiles_have_intervals_of_their_own() {
    let r = runs(&[100.0, 101.0], &[150.0, 151.0])
        .run("toy", "", "more", 200.0)
        .run("toy", "", "more", 201.0)
        .run("toy", "--a=1", "more", 150.0)
        .run("toy", "--a=1", "more", 152.0);
    let report = decide("repeat 2\n confirm on more\n step one { vary a[1] }", &r);
    let row = &report.0["confirm"][1];
    assert_eq!((&row["verdict"], &row["gain"]["by"]), (&json!("worse"), &json!("repeats")));
    assert!(row["gain"]["low"].as_f64() < row["gain"]["value"].as_f64());
    assert_close(row["baseline_objective"].as_f64().expect("a value"), (200.0_f64 * 201.0).sqrt(), 1e-9);
}
