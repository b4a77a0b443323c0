//! Bases, guards, offers, ties, adoption and picks.

use serde_json::json;

use crate::support::{Lab, Recording, Report, assert_close, toy_study};

fn runs() -> Recording {
    Recording::default()
}

#[track_caller]
fn decide(lines: &str, recording: &Recording) -> Report {
    Lab::with(&toy_study(lines)).replay(recording, &[]).expect_code(0).report()
}

#[test]
fn from_best_goes_on_from_what_was_adopted() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=1 --b=2", 130.0).toy("--b=2", 500.0);
    let report = decide("step one { vary a[1] }\n step two { vary b[2] }", &r);
    assert!(report.adopted("one") && report.adopted("two"));
    assert_close(report.gain("two"), 130.0 / 110.0 - 1.0, 1e-12);
    assert_eq!(report.after("two"), "toy --a=1 --b=2");
    assert_eq!(report.recommended(), Some("toy serve org/m --a=1 --b=2"));
    let gain = &report.0["recommended"]["gain"];
    assert_close(gain["value"].as_f64().expect("a gain"), 0.3, 1e-12);
    assert_eq!(gain["by"], "single_run");
}

#[test]
fn from_a_step_is_the_incumbent_as_that_step_left_it() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=1 --b=1", 120.0).toy("--a=1 --fast", 115.0);
    let report =
        decide("step one { vary a[1] }\n step two { vary b[1] }\n step three from one { vary fast }", &r);
    // --fast stands over --a=1, without the --b=1 that was adopted since, and its gain is against the incumbent
    assert_eq!(report.row("three", "fast")["changes"], json!(["--fast"]));
    assert_close(report.gain("three"), 115.0 / 120.0 - 1.0, 1e-12);
    assert_eq!(report.after("three"), "toy --a=1 --b=1");
    let base = report.step("three")["rows"][1].clone();
    assert_eq!((base["role"].as_str(), base["objective"].as_f64()), (Some("base"), Some(110.0)));
}

#[test]
fn from_a_step_that_changed_nothing_is_the_incumbent_before_it() {
    let r = runs().toy("", 100.0).toy("--a=1", 90.0).toy("--b=1", 120.0).toy("--fast", 105.0);
    let report =
        decide("step one { vary a[1] }\n step two { vary b[1] }\n step three from one { vary fast }", &r);
    assert_eq!(report.config(&report.step("three")["candidates"][0]), "toy --fast=true");
}

#[test]
fn from_an_engine_is_that_engine_as_declared() {
    let r = runs()
        .toy("", 100.0)
        .toy("--a=1", 110.0)
        .run("other", "", "load", 60.0)
        .run("other", "--b=1", "load", 140.0);
    let report = decide("step one { vary a[1] }\n step two from other { vary b[1] }", &r);
    assert_eq!(report.step("two")["base"], "other");
    assert_eq!(report.after("two"), "other --b=1");
    assert_close(report.gain("two"), 140.0 / 110.0 - 1.0, 1e-12);
}

#[test]
fn steps_are_looked_up_before_engines() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=1 --b=1", 130.0);
    let report = decide("step other { vary a[1] }\n step two from other { vary b[1] }", &r);
    assert_eq!(report.after("two"), "toy --a=1 --b=1");
}

#[test]
fn an_engines_point_replaces_flags_and_applies_first_wherever_it_is_written() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).run("other", "--b=1", "load", 150.0);
    let report = decide("step one { vary a[1] }\n step two { vary b[1] * engine[other] }", &r);
    assert_eq!(report.after("two"), "other --b=1");
}

#[test]
fn a_guard_that_holds_lets_the_step_run() {
    let r = runs().toy_with("", 100.0, json!({"tpot_p50_ms": 20.0})).toy("--a=1", 110.0);
    let report = decide("step one when p50(tpot) > 15ms { vary a[1] }", &r);
    assert!(report.adopted("one") && report.step("one")["skipped"].is_null());
    assert_eq!(report.step("one")["guard"], "p50(tpot) > 15ms");
}

#[test]
fn a_guard_that_does_not_hold_or_has_nothing_to_read_skips_the_step() {
    for metrics in [json!({"tpot_p50_ms": 15.0}), json!({})] {
        let r = runs().toy_with("", 100.0, metrics).toy("--a=1", 110.0).toy("--b=1", 120.0);
        let report = decide("step one when p50(tpot) > 15ms { vary a[1] }\n step two { vary b[1] }", &r);
        assert!(report.step("one")["skipped"].is_string() && !report.adopted("one"));
        assert_eq!(report.outcome("one", "1"), "missing");
        assert!(report.step("one")["gain"].is_null());
        assert_eq!(report.after("two"), "toy --b=1");
    }
}

#[test]
fn a_guard_must_hold_on_every_profile_of_the_objective() {
    let slow = json!({"tpot_p50_ms": 20.0});
    let r = runs()
        .toy_with("", 100.0, slow)
        .run("toy", "", "more", 100.0)
        .toy("--a=1", 110.0)
        .run("toy", "--a=1", "more", 110.0);
    let report =
        decide("maximize total_tps on load, more\n step one when p50(tpot) > 15ms { vary a[1] }", &r);
    assert!(report.step("one")["skipped"].is_string());
}

#[test]
fn a_guard_reads_the_incumbent_not_the_baseline() {
    let r = runs()
        .toy_with("", 100.0, json!({"tpot_p50_ms": 10.0}))
        .toy_with("--a=1", 110.0, json!({"tpot_p50_ms": 30.0}))
        .toy("--a=1 --b=1", 120.0);
    let report = decide("step one { vary a[1] }\n step two when p50(tpot) > 15ms { vary b[1] }", &r);
    assert!(report.adopted("two"));
}

#[test]
fn candidates_stand_in_written_order_the_left_factor_slowest() {
    let report = decide("step one { vary b[2, 1] * (a[3] + fast) }", &runs().toy("", 100.0));
    let rows = report.step("one")["rows"].as_array().expect("rows").iter().skip(1);
    let labels: Vec<&str> = rows.map(|r| r["label"].as_str().expect("a label")).collect();
    assert_eq!(labels, ["b 2 + a 3", "b 2 + fast", "b 1 + a 3", "b 1 + fast"]);
}

#[test]
fn an_equal_configuration_is_the_same_trial_with_a_row_of_its_own() {
    let r = runs().toy("", 100.0).toy("--a=1", 90.0).toy("--a=2", 95.0);
    let report = decide("step one { vary a[1] }\n step two { vary a[1, 2] }", &r);
    let (first, again) = (report.row("one", "1"), report.row("two", "1"));
    assert_eq!(first["trial"], again["trial"]);
    assert!(first["same_as"].is_null() && again["same_as"].is_string());
    let trials = report.0["trials"].as_array().expect("trials");
    assert_eq!(trials.iter().filter(|t| t["id"] == first["trial"]).count(), 1);
    assert_eq!(trials.len(), 3);
}

#[test]
fn normal_forms_decide_what_is_equal() {
    // units, the order of JSON keys and negated switches make no other configuration
    let study = |axis: &str| toy_study("step one { vary x }") + "axis x = " + axis + "\n";
    let r = runs()
        .toy("", 100.0)
        .toy(r#"--conf={"k":1,"deep":{"z":2,"y":"t"}}"#, 110.0)
        .toy("--a=2048", 120.0)
        .toy("--no-fast", 130.0);
    let same = [
        (r#"--conf={"deep": {"y": "t", "z": 2}, "k": 1}"#, 110.0),
        ("--a=2Ki", 120.0),
        ("--no-fast", 130.0),
        ("--fast=false", 130.0),
    ];
    for (axis, tps) in same {
        let lab = Lab::with(&study(axis));
        let check = lab.run(&["check", "study.plab"]);
        if axis == "--fast=false" && check.code != 0 {
            continue; // the language may ask for the negated spelling
        }
        let report = lab.replay(&r, &[]).expect_code(0).report();
        assert_eq!(report.step("one")["rows"][1]["objective"].as_f64(), Some(tps), "{axis}");
    }
}

#[test]
fn the_incumbent_as_a_candidate_gains_nothing_and_nothing_is_adopted() {
    let r = runs().toy("", 100.0).run("other", "", "load", 80.0);
    let report = decide("step one { vary engine[toy, other] }", &r);
    assert_close(report.gain("one"), 0.0, 0.0);
    assert!(!report.adopted("one"));
    assert_eq!(report.row("one", "Toy")["gain"], json!(0.0));
    assert_eq!(report.step("one")["chosen"], report.row("one", "Toy")["trial"]);
}

#[test]
fn the_threshold_itself_is_enough_and_a_loss_is_printed() {
    let lines = "adopt gain >= 10%\n step one { vary a[1, 2] }";
    let exact = decide(lines, &runs().toy("", 100.0).toy("--a=1", 110.5).toy("--a=2", 50.0));
    assert!(exact.adopted("one"));
    let below = decide(lines, &runs().toy("", 100.0).toy("--a=1", 109.5).toy("--a=2", 50.0));
    assert!(!below.adopted("one"));
    assert_close(below.gain("one"), 0.095, 1e-12);
    assert_eq!(below.step("one")["chosen"], below.row("one", "1")["trial"]);
    let loss = decide(lines, &runs().toy("", 100.0).toy("--a=1", 90.0).toy("--a=2", 50.0));
    assert_close(loss.gain("one"), -0.1, 1e-12);
    assert_eq!(loss.recommended(), Some("toy serve org/m"));
    assert_eq!(loss.0["recommended"]["gain"]["by"], "none");
}

#[test]
fn one_percent_is_the_threshold_unless_a_study_says_otherwise() {
    let with = |tps| decide("step one { vary a[1] }", &runs().toy("", 100.0).toy("--a=1", tps));
    assert!(with(101.1).adopted("one") && !with(100.9).adopted("one"));
}

#[test]
fn within_the_threshold_the_fewest_changes_win() {
    let r = runs().toy("", 100.0).toy("--a=1 --b=1", 120.5).toy("--a=1", 120.0).toy("--b=1", 118.0);
    let report = decide("step one { vary a[1] * b[1] + a[1] + b[1] }", &r);
    // 120.5 is within 1 % of 120 and needs one flag more; 118 is beyond
    assert_eq!(report.after("one"), "toy --a=1");
    assert_eq!(report.step("one")["best"], report.row("one", "a 1 + b 1")["trial"]);
    assert_close(report.gain("one"), 0.205, 1e-12);
}

#[test]
fn with_as_many_changes_the_better_wins_then_the_earlier() {
    let better =
        decide("step one { vary a[1, 2] }", &runs().toy("", 100.0).toy("--a=1", 120.0).toy("--a=2", 120.5));
    assert_eq!(better.after("one"), "toy --a=2");
    let equal =
        decide("step one { vary a[2, 1] }", &runs().toy("", 100.0).toy("--a=1", 120.0).toy("--a=2", 120.0));
    assert_eq!(equal.after("one"), "toy --a=2");
}

#[test]
fn what_does_not_gain_enough_ties_with_nothing() {
    // within 1 % of the best, but below the threshold: its fewer changes do not count
    let r = runs().toy("", 100.0).toy("--a=1 --b=1", 101.2).toy("--a=1", 100.8);
    let report = decide("step one { vary a[1] * b[1] + a[1] }", &r);
    assert_eq!(report.after("one"), "toy --a=1 --b=1");
}

#[test]
fn another_engine_is_a_change_more() {
    let r = runs().toy("", 100.0).toy("--b=1", 120.0).run("other", "--b=1", "load", 120.5);
    let report = decide("step one { vary engine[other, toy] * b[1] }", &r);
    assert_eq!(report.after("one"), "toy --b=1");
}

#[test]
fn changes_count_from_the_engine_as_declared_not_from_the_base() {
    // over --a=1 --b=1 the first sets one flag and the second two; from the engine they are three and two
    let r = runs()
        .toy("", 100.0)
        .toy("--a=1 --b=1", 110.0)
        .toy("--a=1 --b=1 --fast", 121.0)
        .toy("--a=2 --b=2", 120.5);
    let study = toy_study(
        "step one { vary a[1] * b[1] }
 step two { vary fast + a[2] * b[2] }",
    );
    let report = Lab::with(&study).replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.after("two"), "toy --a=2 --b=2");
}

#[test]
fn a_pick_by_hand_is_taken_and_printed_as_what_it_is() {
    let r = runs().toy("", 100.0).toy("--a=1", 150.0).toy("--a=2", 90.0).toy("--a=2 --b=1", 95.0);
    let report =
        decide("step one { vary a[1, 2]\n pick a[2] because \"quieter\" }\n step two { vary b[1] }", &r);
    let step = report.step("one");
    assert_eq!((&step["by"], &step["reason"]), (&json!("hand"), &json!("quieter")));
    assert!(report.adopted("one"));
    assert_eq!(step["chosen"], report.row("one", "2")["trial"]);
    // the gain printed is the best's, whoever was picked
    assert_close(report.gain("one"), 0.5, 1e-12);
    assert_eq!(report.after("two"), "toy --a=2 --b=1");
}

#[test]
fn a_pick_that_is_not_valid_leaves_the_incumbent() {
    let r = runs().toy("", 100.0).toy("--a=1", 150.0).failed("--a=2", "failed", "boom");
    let report = decide("step one { vary a[1, 2]\n pick a[2] because \"quieter\" }", &r);
    assert!(!report.adopted("one"));
    assert_eq!(report.after("one"), "toy");
    let reason = report.step("one")["reason"].as_str().expect("a reason");
    assert_eq!(reason, "2, picked because quieter, failed");
    let lab = Lab::with(&toy_study("step one { vary a[1, 2]\n pick a[2] because \"quieter\" }"));
    let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
    assert!(text.contains("→ nothing adopted: Toy stays: 2, picked because quieter, failed"), "{text}");
}

#[test]
fn the_base_can_be_picked() {
    let r = runs()
        .toy("", 100.0)
        .toy("--a=1", 150.0)
        .toy("--a=1 --b=1", 200.0)
        .run("other", "", "load", 70.0)
        .run("other", "--b=1", "load", 90.0);
    let lines = "step one { vary a[1] }\n step two { vary b[1]\n pick base because \"plain\" }";
    let report = decide(lines, &r);
    assert!(!report.adopted("two"));
    assert_eq!(report.after("two"), "toy --a=1");
    let text = Lab::with(&toy_study(lines)).replay_text(&r, &[]).expect_code(0).stdout;
    assert!(text.contains("→ picked by hand: 1 stays, because plain"), "{text}");
    // over another base it is that base
    let report = decide(
        "step one { vary a[1] }\n step two from other { vary b[1]\n pick base because \"plain\" }",
        &r,
    );
    assert_eq!((report.adopted("two"), report.after("two")), (true, "other".to_owned()));
}

#[test]
fn a_base_that_is_not_valid_cannot_be_picked() {
    let r = runs().toy("", 100.0).toy("--a=1", 150.0).run("other", "--b=1", "load", 90.0);
    let report = decide(
        "step one { vary a[1] }\n step two from other { vary b[1]\n pick base because \"plain\" }",
        &r,
    );
    assert_eq!((report.adopted("two"), report.after("two")), (false, "toy --a=1".to_owned()));
}

#[test]
fn nothing_valid_leaves_the_incumbent() {
    let r = runs().toy("", 100.0).failed("--a=1", "failed", "boom").failed("--a=2", "oom", "no memory");
    let report = decide("step one { vary a[1, 2] }", &r);
    let step = report.step("one");
    assert!(step["gain"].is_null() && step["best"].is_null() && step["chosen"].is_null());
    assert_eq!((report.outcome("one", "1"), report.outcome("one", "2")), ("failed", "failed"));
    assert!(report.reason("one", "2").contains("oom") && report.reason("one", "2").contains("no memory"));
    assert_eq!(report.recommended(), Some("toy serve org/m"));
}

#[test]
fn less_is_better_when_minimising() {
    let ttft = |ms: f64| json!({"ttft_mean_ms": ms});
    let r = runs().toy_with("", 100.0, ttft(110.0)).toy_with("--a=1", 100.0, ttft(100.0)).toy_with(
        "--a=2",
        100.0,
        ttft(150.0),
    );
    let report = decide("minimize mean(ttft) on load\n step one { vary a[1, 2] }", &r);
    assert_close(report.gain("one"), 0.1, 1e-12);
    assert_eq!(report.after("one"), "toy --a=1");
    assert_close(report.row("one", "2")["gain"].as_f64().expect("a gain"), 110.0 / 150.0 - 1.0, 1e-12);
    assert_eq!(report.0["objective"]["direction"], "minimize");
}

#[test]
fn over_several_profiles_the_geometric_mean_counts() {
    let r = runs()
        .toy("", 100.0)
        .run("toy", "", "more", 400.0)
        .toy("--a=1", 50.0)
        .run("toy", "--a=1", "more", 968.0)
        .toy("--a=2", 300.0)
        .run("toy", "--a=2", "more", 100.0);
    let report = decide("maximize total_tps on load, more\n step one { vary a[1, 2] }", &r);
    // √(50·968) = 220 over √(100·400) = 200; the arithmetic mean of --a=1 would be far better than that
    assert_close(report.gain("one"), 0.1, 1e-9);
    assert_close(report.row("one", "1")["objective"].as_f64().expect("an objective"), 220.0, 1e-9);
    assert!(report.adopted("one"));
    // a trial for each profile
    assert_eq!(report.0["trials"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_profile_that_is_missing_leaves_the_candidate_without_a_verdict() {
    let r = runs().toy("", 100.0).run("toy", "", "more", 100.0).toy("--a=1", 500.0);
    let report = decide("maximize total_tps on load, more\n step one { vary a[1] }", &r);
    assert_eq!(report.outcome("one", "1"), "missing");
    assert!(report.reason("one", "1").contains("more"));
    assert!(!report.adopted("one"));
}

/// The labels of a step's candidates, in order.
#[track_caller]
fn labels(vary: &str, axes: &str) -> Vec<String> {
    let study = toy_study(&format!("step one {{ vary {vary} }}")) + axes;
    let report = Lab::with(&study).replay(&runs().toy("", 100.0), &[]).expect_code(0).report();
    let rows = report.step("one")["rows"].as_array().expect("rows").iter().skip(1);
    rows.map(|r| r["label"].as_str().expect("a label").to_owned()).collect()
}

#[test]
fn a_group_is_what_it_stands_for_and_can_be_picked_from() {
    let axes = "axis both = a[1, 2] * b\naxis any = a[3] + both + fast\n";
    assert_eq!(
        labels("both", axes),
        ["a 1 + b 1", "a 1 + b 2", "a 1 + b 3", "a 2 + b 1", "a 2 + b 2", "a 2 + b 3"]
    );
    assert_eq!(labels("any[fast]", axes), ["fast"]);
    assert_eq!(labels("any[3] * cards[2]", "axis any = a[3] + fast\n"), ["a 3 + cards 2"]);
    // by normal form; a factor without a picked point stays whole
    let sizes = "axis size = --a=[1Ki, 2Ki]\naxis sched = size * b[1, 2]\n";
    assert_eq!(labels("sched[2048]", sizes), ["size 2Ki + b 1", "size 2Ki + b 2"]);
    assert_eq!(labels("sched[2Ki, 2]", sizes), ["size 2Ki + b 2"]);
    assert_eq!(labels("sched[2, 1024] + size[2Ki]", sizes), ["size 1Ki + b 2", "size 2Ki"]);
    assert_eq!(
        labels("fast * (sched[2Ki] + cards[1])", sizes),
        ["fast + size 2Ki + b 1", "fast + size 2Ki + b 2", "fast + cards 1"]
    );
}

#[test]
fn each_term_of_a_sum_stands_over_its_own_engine() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).run("other", "--b=1", "load", 150.0);
    let study = toy_study("step one { vary engine[toy] * a[1] + b[1] * engine[other] + b[2] }");
    let lab = Lab::with(&study);
    let check = lab.run(&["check", "study.plab"]);
    assert!(!check.stderr.contains("N313"), "{}", check.stderr);
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.after("one"), "other --b=1");
    assert_eq!(report.outcome("one", "b 2"), "missing");
}
