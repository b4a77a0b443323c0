//! What cannot win: requirements, prune rules, and candidates that cannot be.

use serde_json::json;

use crate::support::{Lab, Recording, Report, toy_study};

fn runs() -> Recording {
    Recording::default()
}

#[track_caller]
fn decide(lines: &str, recording: &Recording) -> Report {
    Lab::with(&toy_study(lines)).replay(recording, &[]).expect_code(0).report()
}

#[test]
fn what_breaks_a_requirement_is_refused() {
    let latency = |ms: f64| json!({"ttft_p99_ms": ms});
    let r = runs().toy_with("", 100.0, latency(400.0)).toy_with("--a=1", 200.0, latency(600.0)).toy_with(
        "--a=2",
        150.0,
        latency(500.0),
    );
    let report = decide("require p99(ttft) <= 500ms\n step one { vary a[1, 2] }", &r);
    assert_eq!(report.outcome("one", "1"), "refused");
    assert!(report.reason("one", "1").contains("p99(ttft) <= 500ms"));
    assert_eq!(report.after("one"), "toy --a=2");
}

#[test]
fn a_limit_that_is_met_exactly_is_met() {
    for ms in [500.0, 110.0, 0.3, 1234.567] {
        let metrics = json!({"ttft_p99_ms": ms, "itl_p90_ms": ms});
        let r = runs().toy_with("", 100.0, metrics.clone()).toy_with("--a=1", 200.0, metrics);
        let lines = format!("require p99(ttft) <= {ms}ms and p90(itl) >= {ms}ms\n step one {{ vary a[1] }}");
        assert_eq!(decide(&lines, &r).after("one"), "toy --a=1", "{ms} ms");
    }
}

#[test]
fn a_requirement_that_has_nothing_to_read_is_not_met() {
    let r = runs().toy_with("", 100.0, json!({"ttft_p99_ms": 1.0})).toy("--a=1", 200.0);
    let report = decide("require p99(ttft) <= 500ms\n step one { vary a[1] }", &r);
    assert_eq!(report.outcome("one", "1"), "refused");
}

#[test]
fn every_requirement_must_hold_on_each_profile() {
    let ok = json!({"ttft_p50_ms": 10.0});
    let slow = json!({"ttft_p50_ms": 90.0});
    let both = |r: Recording, flags: &str, tps: f64, more| {
        r.add("toy", flags, "load", tps, ok.clone()).add("toy", flags, "more", tps, more)
    };
    let r = both(runs(), "", 100.0, ok.clone());
    let r = both(r, "--a=1", 200.0, slow);
    let report =
        decide("maximize total_tps on load, more\n require p50(ttft) <= 50ms\n step one { vary a[1] }", &r);
    assert_eq!(report.outcome("one", "1"), "refused");
}

#[test]
fn requests_that_fail_are_a_requirement_unless_a_study_says_otherwise() {
    let lost = json!({"successful_requests": 99});
    let r = runs().toy("", 100.0).toy_with("--a=1", 200.0, lost);
    let recording = |r: &Recording| r.clone();
    let report =
        Lab::with(&toy_study("step one { vary a[1] }")).replay(&recording(&r), &["--checks", "warn"]);
    let report = report.expect_code(0).report();
    assert_eq!(report.outcome("one", "1"), "refused");
    assert!(report.reason("one", "1").contains("99 of 100"), "{}", report.reason("one", "1"));
    let lax = Lab::with(&toy_study("require success_rate >= 90%\n step one { vary a[1] }"));
    let report = lax.replay(&r, &["--checks", "warn"]).expect_code(0).report();
    assert!(report.adopted("one"));
    // of several runs all are counted, not the last one alone
    let r = runs().toy("", 100.0).toy("", 100.0).toy_with("--a=1", 200.0, json!({"successful_requests": 90}));
    let r = r.toy("--a=1", 200.0);
    let report = Lab::with(&toy_study("repeat 2\n step one { vary a[1] }")).replay(&r, &["--checks", "warn"]);
    let report = report.expect_code(0).report();
    assert_eq!(report.outcome("one", "1"), "refused");
    let reason = report.reason("one", "1");
    assert!(reason.contains("190 of 200 requests succeeded in 2 runs"), "{reason}");
}

#[test]
fn requirements_compare_with_the_baseline_too() {
    let ttft = |ms: f64| json!({"ttft_mean_ms": ms});
    let r = runs().toy_with("", 100.0, ttft(100.0)).toy_with("--a=1", 300.0, ttft(160.0)).toy_with(
        "--a=2",
        200.0,
        ttft(140.0),
    );
    let report = decide("require mean(ttft) <= 1.5 * baseline.mean(ttft)\n step one { vary a[1, 2] }", &r);
    assert_eq!((report.outcome("one", "1"), report.outcome("one", "2")), ("refused", "ok"));
}

#[test]
fn a_baseline_that_breaks_a_requirement_ends_the_study() {
    let r = runs().toy_with("", 100.0, json!({"ttft_p99_ms": 900.0})).toy_with(
        "--a=1",
        200.0,
        json!({"ttft_p99_ms": 1.0}),
    );
    let lab = Lab::with(&toy_study("require p99(ttft) <= 500ms\n step one { vary a[1] }"));
    let report = lab.replay(&r, &[]).expect_code(3).report();
    assert!(report.recommended().is_none());
    let why = report.0["no_recommendation"].as_str().expect("a reason");
    assert!(why.contains("baseline") && why.contains("p99(ttft)"), "{why}");
}

#[test]
fn the_validity_checks_refuse_or_warn() {
    let wrong = json!({"total_tps": 900.0, "duration_s": 100.0});
    let r = runs().toy("", 100.0).toy_with("--a=1", 900.0, wrong);
    let lab = Lab::with(&toy_study("step one { vary a[1] }"));
    let refused = lab.replay(&r, &[]).expect_code(0).report();
    assert_eq!(refused.outcome("one", "1"), "refused");
    assert!(refused.reason("one", "1").contains("THROUGHPUT_ID"));
    let warned = lab.replay(&r, &["--checks", "warn"]).expect_code(0).report();
    assert_eq!(warned.outcome("one", "1"), "flagged");
    assert!(warned.adopted("one"));
}

#[test]
fn a_rule_on_a_metric_prunes_after_the_run() {
    let r = runs()
        .toy_with("", 100.0, json!({"ttft_p99_ms": 9000.0}))
        .toy_with("--a=1", 300.0, json!({"ttft_p99_ms": 1500.0}))
        .toy_with("--a=2", 200.0, json!({"ttft_p99_ms": 500.0}));
    let report = decide("prune slow \"users wait\" when p99(ttft) > 1s\n step one { vary a[1, 2] }", &r);
    assert_eq!(report.outcome("one", "1"), "pruned");
    assert!(report.reason("one", "1").contains("users wait"));
    assert_eq!(report.after("one"), "toy --a=2");
}

#[test]
fn a_rule_holds_on_any_profile() {
    let bad = json!({"ttft_p50_ms": 2000.0});
    let r = runs()
        .toy("", 100.0)
        .run("toy", "", "more", 100.0)
        .toy("--a=1", 200.0)
        .add("toy", "--a=1", "more", 200.0, bad);
    let report = decide(
        "maximize total_tps on load, more\n prune slow \"slow\" when p50(ttft) > 1s\n step one { vary a[1] }",
        &r,
    );
    assert_eq!(report.outcome("one", "1"), "pruned");
}

#[test]
fn a_rule_on_the_gain_prunes_against_the_incumbent() {
    let r = runs().toy("", 100.0).toy("--a=1", 79.0).toy("--a=2", 81.0);
    let report = decide("prune worse \"far behind\" when gain < -20%\n step one { vary a[1, 2] }", &r);
    assert_eq!((report.outcome("one", "1"), report.outcome("one", "2")), ("pruned", "ok"));
    assert!(report.reason("one", "1").contains("far behind"));
}

#[test]
fn rules_read_best_and_baseline() {
    let r = runs().toy("", 100.0).toy("--a=1", 200.0).toy("--a=1 --b=1", 120.0).toy("--a=1 --b=2", 90.0);
    let rule = |when: &str| {
        format!("step one {{ vary a[1] }}\n prune r \"r\" when {when}\n step two {{ vary b[1, 2] }}")
    };
    let best = decide(&rule("total_tps < 0.5 * best.total_tps"), &r);
    assert_eq!((best.outcome("two", "1"), best.outcome("two", "2")), ("ok", "pruned"));
    let baseline = decide(&rule("total_tps < 1.25 * baseline.total_tps"), &r);
    assert_eq!((baseline.outcome("two", "1"), baseline.outcome("two", "2")), ("pruned", "pruned"));
    assert_eq!(baseline.outcome("one", "1"), "ok");
}

#[test]
fn a_comparison_with_what_is_not_there_is_not_met() {
    let report = decide(
        "prune slow \"slow\" when p50(ttft) > 1s\n step one { vary a[1] }",
        &runs().toy("", 100.0).toy("--a=1", 200.0),
    );
    assert_eq!(report.outcome("one", "1"), "ok");
    let report = decide(
        "prune x \"x\" when --a < 5\n step one { vary fast }",
        &runs().toy("", 100.0).toy("--fast", 200.0),
    );
    assert_eq!(report.outcome("one", "fast"), "ok");
}

#[test]
fn static_rules_prune_before_anything_runs() {
    let r = runs().toy("", 100.0).toy("--a=1", 200.0).toy("--a=3", 300.0);
    let report = decide("prune odd \"three is too many\" when --a == 3\n step one { vary a[1, 3] }", &r);
    assert_eq!(report.outcome("one", "3"), "pruned");
    assert!(report.reason("one", "3").contains("three is too many"));
    // it was measured, and still does not count
    assert_eq!(report.after("one"), "toy --a=1");
}

#[test]
fn static_rules_read_defaults_engines_models_and_gpus() {
    let r = runs()
        .toy("", 100.0)
        .toy("--a=1", 200.0)
        .toy("--b=3", 200.0)
        .run("other", "", "load", 300.0)
        .toy("--cards=2", 400.0);
    let outcome = |when: &str, vary: &str, label: &str| {
        let lines = format!("gpus 4\n prune r \"r\" when {when}\n step one {{ vary {vary} }}");
        decide(&lines, &r).outcome("one", label).to_owned()
    };
    // --b has the default 7
    assert_eq!(outcome("--b > 6", "a[1]", "1"), "pruned");
    assert_eq!(outcome("--b > 6", "b[3]", "3"), "ok");
    assert_eq!(outcome("engine == other", "engine[other]", "Other"), "pruned");
    assert_eq!(outcome("engine != other", "engine[other]", "Other"), "ok");
    assert_eq!(outcome("gpus >= 2", "cards[2]", "2"), "pruned");
    assert_eq!(outcome("gpus >= 2", "a[1]", "1"), "ok");
    assert_eq!(outcome("model == \"org/m\" and --a == 1", "a[1]", "1"), "pruned");
    assert_eq!(outcome("not (--a == 2 or --b == 7)", "a[1]", "1"), "ok");
}

#[test]
fn the_baseline_is_never_pruned() {
    let r = runs().toy("", 100.0).toy("--a=1", 90.0);
    for rule in ["--b == 7", "total_tps < 1000tok/s", "gpus == 1"] {
        let report =
            decide(&format!("prune all \"all\" when {rule}\n step one {{ vary a[1] + engine[toy] }}"), &r);
        assert_eq!(report.outcome("one", "1"), "pruned", "{rule}");
        assert_eq!(report.outcome("one", "Toy"), "ok", "{rule}");
        assert_eq!(report.recommended(), Some("toy serve org/m"));
    }
}

#[test]
fn too_many_gpus_are_pruned_without_a_rule() {
    let r = runs().toy("", 100.0).toy("--cards=2", 150.0).toy("--cards=4", 900.0);
    let report = decide("gpus 2\n step one { vary cards[2, 4] }", &r);
    assert_eq!(report.outcome("one", "4"), "pruned");
    assert!(report.reason("one", "4").contains("needs 4 GPUs"));
    assert_eq!(report.trial(report.0["recommended"]["trial"].as_str().expect("an id"))["config"]["gpus"], 2);
    // a study without `gpus` checks none
    let report = decide("step one { vary cards[2, 4] }", &r);
    assert_eq!(report.after("one"), "toy --cards=4");
}

#[test]
fn an_engine_that_lacks_a_flag_is_pruned_without_a_rule() {
    let r = runs().toy("", 100.0).toy("--a=1", 120.0).run("other", "", "load", 110.0);
    let report = decide("step one { vary engine[toy, other] * a[1] }", &r);
    assert_eq!((report.outcome("one", "Toy + 1"), report.outcome("one", "Other + 1")), ("ok", "pruned"));
    let reason = report.reason("one", "Other + 1");
    assert!(reason.contains("Other") && reason.contains("--a"), "{reason}");
}

#[test]
fn a_flag_that_its_version_lacks_is_pruned_where_another_has_it() {
    let mut study = toy_study("step one { vary engine[toy, late] * since }");
    study = study.replace("flag --conf  json", "flag --conf  json\n    flag --new   int 0..  since \"1.5\"");
    study += "engine late \"Late\" = toy { version \"1.6\" }\naxis since = --new=[4]\n";
    let lab = Lab::with(&study);
    let check = lab.run(&["check", "study.plab"]);
    // a version without a schema of its own may make this a warning; then there is nothing to prune
    let r = runs().toy("", 100.0).toy("--new=4", 200.0);
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.outcome("one", "Toy + 4"), "pruned", "{}", check.stderr);
    assert!(report.reason("one", "Toy + 4").contains("--new"));
}

#[test]
fn a_broken_requirement_shows_what_was_measured() {
    let r = runs().toy_with("", 100.0, json!({"ttft_p99_ms": 400.0}));
    let r = r.toy_with("--a=1", 200.0, json!({"ttft_p99_ms": 1250.0}));
    let lines = "require total_tps > 10tok/s and p99(ttft) <= 500ms\n step one { vary a[1] }";
    let report = decide(lines, &r);
    assert!(report.reason("one", "1").ends_with("; p99(ttft) is 1.25 s"), "{}", report.reason("one", "1"));
}

#[test]
fn one_check_that_speaks_on_two_profiles_is_named_once() {
    let odd = json!({"total_tps": 90.0});
    let r = ["load", "more"].into_iter().fold(runs(), |r, p| r.add("toy", "", p, 100.0, odd.clone()));
    let r = ["load", "more"].into_iter().fold(r, |r, p| r.add("toy", "--a=1", p, 100.0, odd.clone()));
    let lab = Lab::with(&toy_study("maximize total_tps on load, more\n step one { vary a[1] }"));
    let report = lab.replay(&r, &["--checks", "warn"]).expect_code(0).report();
    let reason = report.reason("one", "1");
    assert!(reason.starts_with("THROUGHPUT_ID: ") && !reason.contains("(and THROUGHPUT_ID"), "{reason}");
}

#[test]
fn a_reason_that_has_no_room_in_its_table_stands_under_it() {
    let long = "far too long a reason ".repeat(20);
    let lines = format!("prune long \"{}\" when --a >= 2\n step one {{ vary a }}", long.trim());
    let r = runs().toy("", 100.0).toy("--a=1", 90.0);
    let text = Lab::with(&toy_study(&lines)).replay_text(&r, &[]).expect_code(0).stdout;
    assert!(text.contains("  • 2, 3: pruned: far too long a reason far too"), "{text}");
    assert!(text.lines().filter(|l| l.starts_with('│')).all(|l| !l.contains("far too long")), "{text}");
}
