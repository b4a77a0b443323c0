//! `require … on`: what is asked of the baseline and of each offer on a profile that no step measures.

use serde_json::json;

use crate::support::{Lab, Recording, Report, toy_study};

const LINES: &str = "require p99(ttft) <= 500ms on more\n step one { vary a[1, 2, 3] }";

fn ttft(r: Recording, flags: &str, ms: f64) -> Recording {
    r.add("toy", flags, "more", 100.0, json!({"ttft_p99_ms": ms}))
}

/// The baseline and three candidates, the last the best.
fn candidates() -> Recording {
    let all = Recording::default().toy("", 100.0).toy("--a=1", 120.0).toy("--a=2", 130.0).toy("--a=3", 140.0);
    ttft(all, "", 100.0)
}

#[track_caller]
fn decide(lines: &str, recording: &Recording) -> Report {
    Lab::with(&toy_study(lines)).replay(recording, &[]).expect_code(0).report()
}

#[test]
fn a_refused_offer_makes_way_for_the_next_best() {
    let r = ttft(ttft(candidates(), "--a=3", 900.0), "--a=2", 400.0);
    let report = decide(LINES, &r);
    assert_eq!(report.outcome("one", "3"), "refused");
    assert!(
        report.reason("one", "3").contains("requires p99(ttft) <= 500ms on more"),
        "{}",
        report.reason("one", "3")
    );
    assert_eq!(report.after("one"), "toy --a=2");
    // what was asked stands in the document
    let asked: Vec<(&str, &str)> = report.0["trials"]
        .as_array()
        .expect("trials")
        .iter()
        .filter(|t| t["profile"] == "more")
        .map(|t| (t["label"].as_str().expect("a label"), t["outcome"].as_str().expect("an outcome")))
        .collect();
    assert_eq!(asked, [("Toy", "flagged"), ("2", "flagged"), ("3", "refused")]);
    assert_eq!(report.0["require"][0], "p99(ttft) <= 500ms on more");
    // who was not offered was not asked
    assert_eq!(report.outcome("one", "1"), "ok");
}

#[test]
fn an_offer_that_the_recording_does_not_hold_is_refused_and_said() {
    let r = ttft(candidates(), "--a=2", 400.0);
    let report = decide(LINES, &r);
    assert_eq!(report.outcome("one", "3"), "refused");
    let reason = report.reason("one", "3");
    assert!(reason.contains("on more") && reason.contains("not in the recording"), "{reason}");
    assert_eq!(report.after("one"), "toy --a=2");
}

#[test]
fn when_every_offer_breaks_it_the_incumbent_stays() {
    let r = [1, 2, 3].iter().fold(candidates(), |r, a| ttft(r, &format!("--a={a}"), 900.0));
    let report = decide(LINES, &r);
    assert!(!report.adopted("one"));
    assert_eq!(report.recommended(), Some("toy serve org/m"));
}

#[test]
fn a_baseline_that_breaks_it_ends_the_study() {
    for r in [
        ttft(Recording::default().toy("", 100.0).toy("--a=1", 120.0), "", 900.0),
        Recording::default().toy("", 100.0),
    ] {
        let report = Lab::with(&toy_study(LINES)).replay(&r, &[]).expect_code(3).report();
        let why = report.0["no_recommendation"].as_str().expect("a reason");
        assert!(why.contains("baseline") && why.contains("more"), "{why}");
    }
}

#[test]
fn a_pick_by_hand_is_asked_too() {
    let lines =
        "require p99(ttft) <= 500ms on more\n step one { vary a[1, 2]\n pick a[1] because \"we like it\" }";
    let report = decide(lines, &ttft(candidates(), "--a=1", 900.0));
    assert!(!report.adopted("one"));
    let reason = report.step("one")["reason"].as_str().expect("a reason");
    assert_eq!(reason, "1, picked because we like it, was refused");
    assert!(decide(lines, &ttft(candidates(), "--a=1", 90.0)).adopted("one"));
}

#[test]
fn it_compares_with_the_baseline_on_that_profile() {
    let lines = "require p99(ttft) <= 2 * baseline.p99(ttft) on more\n step one { vary a[3] }";
    assert!(decide(lines, &ttft(candidates(), "--a=3", 200.0)).adopted("one"));
    assert!(!decide(lines, &ttft(candidates(), "--a=3", 201.0)).adopted("one"));
}

#[test]
fn a_limit_on_another_profile_leaves_the_default_on_the_objectives() {
    let lost = json!({"successful_requests": 95});
    let lines = "require success_rate >= 90% on more\n step one { vary a[1] }";
    let r = Recording::default().toy("", 100.0).toy_with("--a=1", 200.0, lost.clone());
    let r = r.run("toy", "", "more", 100.0).add("toy", "--a=1", "more", 100.0, lost);
    let lab = Lab::with(&toy_study(lines));
    let report = lab.replay(&r, &["--checks", "warn"]).expect_code(0).report();
    assert_eq!(report.outcome("one", "1"), "refused");
    assert!(report.reason("one", "1").contains("99.9%"), "{}", report.reason("one", "1"));
}

#[test]
fn a_profile_of_the_objective_may_be_named() {
    let lines =
        "maximize total_tps on load, more\n require p99(ttft) <= 500ms on more\n step one { vary a[1] }";
    let r = Recording::default().toy("", 100.0).toy("--a=1", 200.0);
    let r = ttft(ttft(r, "", 100.0), "--a=1", 900.0);
    assert_eq!(decide(lines, &r).outcome("one", "1"), "refused");
}

#[test]
fn the_plan_says_what_is_measured_when() {
    let lab = Lab::with(&toy_study(LINES));
    let plan = lab.run(&["plan", "study.plab"]).expect_code(0).stdout;
    assert!(plan.contains("on more: measured for the baseline and each offer"), "{plan}");
    // the baseline, three candidates, and each of them may be offered
    assert!(plan.contains("at most 7 to come"), "{plan}");
}
