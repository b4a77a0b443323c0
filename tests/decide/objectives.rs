//! What counts as better: less or more, for each GPU, over several profiles, or nothing.

use serde_json::{Value, json};

use crate::support::{Lab, Recording, Report, assert_close, toy_study};

fn runs() -> Recording {
    Recording::default()
}

#[track_caller]
fn decide(lines: &str, recording: &Recording) -> Report {
    Lab::with(&toy_study(lines)).replay(recording, &[]).expect_code(0).report()
}

fn latency(s: f64) -> Value {
    json!({"latency_mean_s": s})
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn a_gain_is_an_improvement_whichever_way_the_objective_points() {
    // 2.0 s after 2.1 s is 5 % better; twice as long is a loss of half
    let r = runs()
        .toy_with("", 100.0, latency(2.1))
        .toy_with("--a=1", 100.0, latency(2.0))
        .toy_with("--a=2", 100.0, latency(4.2))
        .add("toy", "", "more", 100.0, latency(3.0))
        .add("toy", "--a=1", "more", 100.0, latency(4.0));
    let lines = "minimize mean(latency) on load\n prune far \"far behind\" when gain < -20%\n confirm on more
 step one { vary a[1, 2] }";
    let lab = Lab::with(&toy_study(lines));
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert_close(report.gain("one"), 0.05, 1e-12);
    assert_eq!((report.outcome("one", "1"), report.outcome("one", "2")), ("ok", "pruned"));
    assert_close(number(&report.0["recommended"]["gain"]["value"]), 0.05, 1e-12);
    assert_eq!(report.0["objective"]["unit"], "s");
    let confirmed = &report.0["confirm"][1];
    assert_close(number(&confirmed["gain"]["value"]), -0.25, 1e-12);
    assert_eq!(confirmed["verdict"], "worse");
    let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
    for words in [
        "adopted: 1, 5.00 % better than Toy",
        "5.00 % better than the baseline in mean(latency) on load",
        "minimize mean(latency) on load",
        "Worse than the baseline on More: -25.00 %",
    ] {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
    let page = lab.replay_text(&r, &["--format", "md"]).expect_code(0).stdout;
    for words in ["(+5.00 %)", "(-25.00 %)", "Best first: 1 (2.000 s), then Toy (2.100 s)"] {
        assert!(page.contains(words), "`{words}` is missing in:\n{page}");
    }
}

#[test]
fn ties_are_within_the_threshold_when_less_is_better_too() {
    let r = runs()
        .toy_with("", 100.0, latency(2.2))
        .toy_with("--a=1 --b=1", 100.0, latency(1.99))
        .toy_with("--a=1", 100.0, latency(2.0))
        .toy_with("--b=1", 100.0, latency(2.05));
    let report = decide("minimize mean(latency) on load\n step one { vary a[1] * b[1] + a[1] + b[1] }", &r);
    assert_eq!(report.after("one"), "toy --a=1");
    assert_close(report.gain("one"), 2.2 / 1.99 - 1.0, 1e-12);
}

#[test]
fn the_gpus_of_an_expression_are_those_that_the_configuration_takes() {
    let r = runs().toy("", 100.0).toy("--cards=2", 240.0).toy("--cards=4", 420.0);
    let study = |objective: &str| {
        toy_study(&format!("gpus 8\n {objective}\n step one {{ vary cards[2, 4] }}"))
            + "metric per_gpu \"Per GPU\" = total_tps / gpus\n"
    };
    for objective in ["maximize per_gpu on load", "maximize total_tps / gpus on load"] {
        let lab = Lab::with(&study(objective));
        let report = lab.replay(&r, &[]).expect_code(0).report();
        assert_eq!(report.after("one"), "toy --cards=2", "{objective}");
        assert_close(report.gain("one"), 0.2, 1e-12);
        assert_close(number(&report.row("one", "4")["objective"]), 105.0, 1e-12);
        assert_eq!(report.0["objective"]["unit"], "tok/s");
        let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
        assert!(text.contains("tok/s"), "{text}");
    }
    // the most tokens in all are another thing
    let report = Lab::with(&study("maximize total_tps on load")).replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.after("one"), "toy --cards=4");
    // and so is the time that the GPUs take together
    let r = runs().toy_with("", 100.0, latency(4.0)).toy_with("--cards=2", 100.0, latency(1.9)).toy_with(
        "--cards=4",
        100.0,
        latency(1.1),
    );
    let report =
        Lab::with(&study("minimize mean(latency) * gpus on load")).replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.after("one"), "toy --cards=2");
}

#[test]
fn units_of_expressions_are_computed() {
    let unit = |objective: &str| {
        let more = json!({"latency_mean_s": 2.0, "ttft_mean_ms": 10.0, "request_throughput": 1.0});
        let r = runs().toy_with("", 100.0, more);
        decide(&format!("maximize {objective} on load\n step one {{ vary a[1] }}"), &r).0["objective"]["unit"]
            .clone()
    };
    assert_eq!(unit("total_tps * mean(latency)"), "tok");
    assert_eq!(unit("output_tps / total_tps"), Value::Null);
    assert_eq!(unit("output_tps / mean(ttft)"), "tok/s^2");
    assert_eq!(unit("1 / mean(latency)"), "/s");
    assert_eq!(unit("mean(latency) - mean(ttft)"), "s");
    assert_eq!(unit("request_rate"), "/s");
}

#[test]
fn several_profiles_are_minimised_by_their_geometric_mean() {
    let both = |r: Recording, flags: &str, load: f64, more: f64| {
        r.toy_with(flags, 100.0, latency(load)).add("toy", flags, "more", 100.0, latency(more))
    };
    let r = both(both(both(runs(), "", 1.0, 4.0), "--a=1", 0.5, 6.0), "--a=2", 2.0, 3.0);
    let report = decide("minimize mean(latency) on load, more\n step one { vary a[1, 2] }", &r);
    assert_close(report.gain("one"), 2.0 / 3f64.sqrt() - 1.0, 1e-9);
    assert_eq!(report.after("one"), "toy --a=1");
    assert!(number(&report.row("one", "2")["gain"]) < 0.0);
}

#[test]
fn a_guard_reads_flags_engine_and_gpus() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=1 --b=1", 120.0).toy("--b=1", 105.0);
    let skipped = |guard: &str| {
        let lines = format!("step one {{ vary a[1] }}\n step two when {guard} {{ vary b[1] }}");
        decide(&lines, &r).step("two")["skipped"].is_string()
    };
    assert!(!skipped("--a == 1"));
    assert!(skipped("--a == 2"));
    assert!(!skipped("engine == toy and gpus == 1"));
    assert!(skipped("engine == other"));
    assert!(!skipped("--b == 7"), "a default counts");
    assert!(!skipped("total_tps > 105tok/s and model == \"org/m\""));
    assert!(skipped("not (total_tps > 105tok/s)"));
}

#[test]
fn a_pick_gives_its_reason_wherever_it_is_printed() {
    let r = runs().toy("", 100.0).toy("--a=1", 150.0).toy("--a=2", 120.0);
    let lab =
        Lab::with(&toy_study("step one { vary a[1, 2]\n pick a[2] because \"its answers are better\" }"));
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.step("one")["by"], "hand");
    let said = ["picked by hand: 2 at +20.00 %", "its answers are better"];
    for format in [&[][..], &["--format", "md"]] {
        let text = lab.replay_text(&r, format).expect_code(0).stdout;
        // the page begins its sentences with capitals, and lines break where the terminal ends
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("Picked", "picked");
        assert!(said.iter().all(|words| text.contains(words)), "{text}");
    }
    let plan = lab.run(&["plan", "study.plab"]).expect_code(0).stdout;
    assert!(plan.contains("its answers are better"), "{plan}");
}

/// A study that only wants tables has no candidates: its baseline is measured on each profile, and every page shows all of them.
#[test]
fn a_study_of_tables_needs_no_step() {
    let r = runs().toy("", 100.0).run("toy", "", "more", 250.0);
    let lab = Lab::with(&toy_study("objective: none\n confirm on load, more"));
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert!(report.0["recommended"].is_null() && report.0["complete"] == true, "{:?}", report.0);
    let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
    assert!(text.contains("Baseline on each profile"), "{text}");
    for row in ["Load", "More"] {
        assert!(text.lines().any(|l| l.starts_with(&format!("│ {row} "))), "{row}\n{text}");
    }
    let page = lab.replay_text(&r, &["--format", "md"]).expect_code(0).stdout;
    assert_eq!(page.matches("<summary>Benchmark result").count(), 2, "{page}");
}

/// Over an objective of 0 there is no ratio, and more than 0 is better all the same.
#[test]
fn from_nothing_the_most_is_adopted_and_no_ratio_told() {
    let both = |r: Recording, flags: &str, load: f64, more: f64| {
        r.toy_with(flags, 100.0, latency(load)).add("toy", flags, "more", 100.0, latency(more))
    };
    let r =
        both(both(both(both(runs(), "", 0.5, 0.0), "--a=1", 0.6, 0.2), "--a=2", 0.6, 0.3), "--a=3", 0.9, 0.0);
    let lines = "maximize mean(latency) on load, more\n confirm on load\n step one { vary a[1, 2, 3] }";
    let lab = Lab::with(&toy_study(lines));
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.after("one"), "toy --a=2");
    assert_close(number(&report.row("one", "3")["gain"]), 0.0, 1e-12);
    for gain in [&report.row("one", "1")["gain"], &report.0["recommended"]["gain"]["value"]] {
        assert!(gain.is_null(), "{gain}");
    }
    let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "adopted: 2, better than Toy, whose objective is 0: no ratio can be told (single run)",
        "better than the baseline in mean(latency) on load, more: +20.00 % on Load, from 0 to 0.3 on More, so no ratio can be told",
        "│ from 0 │",
    ] {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
    let page = lab.replay_text(&r, &["--format", "md"]).expect_code(0).stdout;
    assert!(page.contains("(from 0)") && page.contains("| from 0 |"), "{page}");
}

#[test]
fn where_nothing_is_more_than_0_nothing_is_recommended() {
    let r = runs().toy_with("", 100.0, latency(0.0)).toy_with("--a=1", 100.0, latency(0.0));
    let lines = "maximize mean(latency) on load\n step one { vary a[1] }";
    let report = Lab::with(&toy_study(lines)).replay(&r, &[]).expect_code(3).report();
    let why = "no valid configuration has more than 0 of mean(latency): it is 0 on load";
    assert_eq!(report.0["no_recommendation"], why);
}

#[test]
fn a_value_that_should_be_little_may_come_to_0() {
    let r = runs().toy_with("", 100.0, latency(0.5)).toy_with("--a=1", 100.0, latency(0.0));
    let lines = "minimize mean(latency) on load\n step one { vary a[1] }";
    let lab = Lab::with(&toy_study(lines));
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.after("one"), "toy --a=1");
    let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
    assert!(text.contains("better than Toy, with an objective of 0") && text.contains("│  to 0 │"), "{text}");
}

/// The mean over profiles hides which of them moved.
#[test]
fn the_value_on_each_profile_stands_in_the_tables() {
    let r = runs()
        .toy("", 100.0)
        .toy("--a=1", 400.0)
        .run("toy", "", "more", 100.0)
        .run("toy", "--a=1", "more", 50.0);
    let lab = Lab::with(&toy_study("maximize total_tps on load, more\n step one { vary a[1] }"));
    let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
    assert!(text.contains("│    on │    on │") && text.contains("│ 400.0 │  50.0 │"), "{text}");
    let page = lab.replay_text(&r, &["--format", "md"]).expect_code(0).stdout;
    // the heading of a long one takes no room from the others
    let long = "maximize total_tps / gpus * gpus / gpus * gpus on load, more\n step one { vary a[1] }";
    let text = Lab::with(&toy_study(long)).replay_text(&r, &[]).expect_code(0).stdout;
    assert!(text.contains("│ total_tps / gpus * │    on │    on │"), "{text}");
    let mut command = lab.command(&["exec", "study.plab", "--replay", "recording.json"]);
    command.env("COLUMNS", "60");
    let narrow = lab.start_command(command).wait().expect_code(0).stdout;
    assert!(narrow.contains("  • 1: 400 on Load, 50 on More\n"), "{narrow}");
    assert!(page.contains("| on Load | on More |") && page.contains("| 400.00 | 50.00 |"), "{page}");
}

/// A title is one load's: those that derive from it go by their names.
#[test]
fn a_derived_load_has_a_title_of_its_own_or_its_name() {
    let study = toy_study("confirm on quiet, loud\n step one { vary a[1] }")
        + "profile quiet = load { concurrency 2 }\nprofile loud \"Loud\" = load { concurrency 9 }\n";
    let r = runs().toy("", 100.0).toy("--a=1", 120.0);
    let report = Lab::with(&study).replay(&r, &[]).expect_code(0).report();
    let titles: Vec<&str> = report.0["profiles"]
        .as_array()
        .expect("profiles")
        .iter()
        .filter_map(|p| p["title"].as_str())
        .collect();
    assert_eq!(titles, ["Load", "quiet", "Loud"]);
}

/// A flag that another engine calls alike is no part of the base.
#[test]
fn a_row_of_another_engine_shows_all_of_its_flags() {
    let study = toy_study("step one { vary engine[second] }").replace("baseline toy", "baseline first")
        + "engine first = toy { --b=2 }\nengine second = other { --b=2 }\n";
    let r = runs().toy("--b=2", 100.0).run("other", "--b=2", "load", 120.0);
    let report = Lab::with(&study).replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.row("one", "Other")["changes"], json!(["Other 2.0", "--b=2"]));
}

/// What a decision calls the incumbent stands in its table.
#[test]
fn a_decision_names_the_incumbent_as_its_row_does() {
    let r = runs()
        .toy("", 100.0)
        .run("other", "", "load", 150.0)
        .toy("--a=1", 90.0)
        .run("other", "--b=1", "load", 90.0);
    let lines =
        "track toy \"One\" { step one { vary a[1] } }\n track other \"Two\" { step one { vary b[1] } }";
    let text = Lab::with(&toy_study(lines)).replay_text(&r, &[]).expect_code(0).stdout;
    assert!(text.contains("│ Toy (so far)") && text.contains("adopted: Two, +50.00 % over Toy"), "{text}");
}
