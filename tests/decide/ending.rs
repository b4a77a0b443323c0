//! How studies end: tables alone, confirmed, published, without a recommendation.

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
fn without_an_objective_there_are_tables_and_no_recommendation() {
    let lab = Lab::with(&toy_study("objective: none\n confirm on load\n step one { vary a[1, 2] }"));
    let r = runs().toy("", 100.0).toy("--a=1", 150.0);
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert!(report.0["objective"].is_null() && report.0["recommended"].is_null());
    assert_eq!((report.outcome("one", "1"), report.outcome("one", "2")), ("ok", "missing"));
    assert_eq!(
        report.trial(report.row("one", "1")["trial"].as_str().expect("an id"))["metrics"]["total_tps"]
            .as_f64(),
        Some(150.0)
    );
    assert!(!report.adopted("one") && report.step("one")["gain"].is_null());
    let text = lab.run(&["exec", "study.plab", "--replay", "recording.json"]).expect_code(0).stdout;
    assert!(text.contains("150") && text.contains("→ nothing adopted: the study has no objective"), "{text}");
    assert!(!lab.path("replayed/recommended.sh").exists());
}

/// None of several loads stands for the others.
#[test]
fn without_an_objective_each_load_has_its_table() {
    let lab = Lab::with(&toy_study("objective: none\n confirm on load, more\n step one { vary a[1, 2] }"));
    let r = runs().toy("", 100.0).toy("--a=1", 150.0).run("toy", "", "more", 200.0);
    let text = lab.replay_text(&r.run("toy", "--a=1", "more", 170.0), &[]).expect_code(0).stdout;
    let tables = text.split("\nMore\n").collect::<Vec<_>>();
    assert!(tables.len() == 2 && tables[0].contains("│     150.0 │"), "{text}");
    assert!(tables[1].contains("│     200.0 │") && tables[1].contains("│     170.0 │"), "{text}");
}

#[test]
fn confirm_has_a_row_for_each_profile_and_names_losses() {
    let lines = "confirm on more\n step one { vary a[1] }";
    let r = runs()
        .toy("", 100.0)
        .toy("--a=1", 150.0)
        .run("toy", "", "more", 200.0)
        .run("toy", "--a=1", "more", 150.0);
    let report = decide(lines, &r);
    let rows = report.0["confirm"].as_array().expect("rows");
    assert_eq!(
        rows.iter().map(|r| r["profile"].as_str().expect("a name")).collect::<Vec<_>>(),
        ["load", "more"]
    );
    assert_close(rows[1]["gain"]["value"].as_f64().expect("a gain"), -0.25, 1e-12);
    assert_eq!((&rows[0]["verdict"], &rows[1]["verdict"]), (&json!("unproven"), &json!("worse")));
    let confirmed = |key: &str| report.trial(rows[1][key].as_str().expect("an id")).clone();
    assert_eq!(confirmed("baseline")["metrics"]["total_tps"].as_f64(), Some(200.0));
    assert_eq!(confirmed("recommended")["metrics"]["total_tps"].as_f64(), Some(150.0));
    // it decides nothing
    assert_eq!(report.recommended(), Some("toy serve org/m --a=1"));
    let lab = Lab::with(&toy_study(lines));
    lab.replay(&r, &[]).expect_code(0);
    let text = lab.run(&["exec", "study.plab", "--replay", "recording.json"]).expect_code(0).stdout;
    assert!(text.contains("-25.00 %") && text.contains("More"), "{text}");
}

/// Logarithms know no 0: two launches each are not called a single run for it.
#[test]
fn repeats_without_an_interval_are_repeats() {
    let r = runs()
        .toy("", 100.0)
        .toy("--a=1", 150.0)
        .run("toy", "", "more", 200.0)
        .run("toy", "", "more", 210.0)
        .run("toy", "--a=1", "more", 0.0)
        .run("toy", "--a=1", "more", 0.0);
    let lab = Lab::with(&toy_study("repeat 2\n confirm on more\n step one { vary a[1] }"));
    let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
    let of_more = text.split("More: ").last().unwrap_or_default();
    assert!(
        !of_more.starts_with("This is a single run") && text.contains("no interval, as a value is 0"),
        "{text}"
    );
}

#[test]
fn a_loss_within_two_percent_is_not_called_one() {
    let r = runs()
        .toy("", 100.0)
        .toy("--a=1", 150.0)
        .run("toy", "", "more", 200.0)
        .run("toy", "--a=1", "more", 197.0);
    let report = decide("confirm on more\n step one { vary a[1] }", &r);
    assert_eq!(report.0["confirm"][1]["verdict"], "unproven");
}

#[test]
fn a_baseline_that_won_is_confirmed_alone() {
    let r = runs().toy("", 100.0).toy("--a=1", 50.0).run("toy", "", "more", 200.0);
    let report = decide("confirm on more\n step one { vary a[1] }", &r);
    let row = &report.0["confirm"][1];
    assert_eq!((&row["verdict"], &row["baseline"]), (&json!("same"), &row["recommended"]));
}

#[test]
fn a_profile_that_was_not_recorded_is_confirmed_by_nothing() {
    let r = runs().toy("", 100.0).toy("--a=1", 150.0).run("toy", "", "more", 200.0);
    let report = decide("confirm on more\n step one { vary a[1] }", &r);
    let row = &report.0["confirm"][1];
    assert!(row["gain"].is_null());
    assert_eq!(report.trial(row["recommended"].as_str().expect("an id"))["outcome"], "missing");
}

#[test]
fn publish_adds_flags_and_says_so() {
    let mut study = toy_study("step one { vary b[1] }");
    study = study.replace(
        "    flag --conf  json\n}",
        "    flag --conf  json\n    --a=3\n    publish --conf={\"tools\": \"hermes\"} because \"clients call tools\"\n}",
    );
    let r = runs().toy("--a=3", 100.0).toy("--a=3 --b=1", 150.0);
    let lab = Lab::with(&study);
    let report = lab.replay(&r, &[]).expect_code(0).report();
    let recommended = &report.0["recommended"];
    assert_eq!(
        recommended["argv"],
        json!(["toy", "serve", "org/m", "--a=3", "--b=1", "--conf={\"tools\":\"hermes\"}"])
    );
    assert_eq!(recommended["published"]["added"].as_array().map(Vec::len), Some(1));
    // what was measured is what the trial says
    let trial = report.trial(recommended["trial"].as_str().expect("an id"));
    assert_eq!(trial["command"], "toy serve org/m --a=3 --b=1");
    let text = lab.run(&["exec", "study.plab", "--replay", "recording.json"]).expect_code(0).stdout;
    assert!(text.contains("clients call tools"), "{text}");
    let script = lab.read("replayed/recommended.sh");
    assert!(script.contains("--b=1") && script.contains("hermes"), "{script}");
}

#[test]
fn the_script_runs_the_recommended_words() {
    let r = runs().toy("", 100.0).toy("--conf={\"k\":\"it's\"}", 150.0);
    let study = toy_study("step one { vary x }") + "axis x = --conf={\"k\": \"it's\"}\n";
    let lab = Lab::with(&study);
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert!(report.adopted("one"));
    // a `toy` that prints its words shows what the shell makes of the script
    lab.write("toy", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    let path = format!("{}:{}", lab.path("").display(), std::env::var("PATH").unwrap_or_default());
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(lab.path("toy"), mode).expect("a mode");
    let out =
        std::process::Command::new("sh").arg(lab.path("replayed/recommended.sh")).env("PATH", path).output();
    let words = String::from_utf8(out.expect("sh runs").stdout).expect("text");
    assert_eq!(words.lines().collect::<Vec<_>>(), ["serve", "org/m", "--conf={\"k\":\"it's\"}"]);
}

#[test]
fn metrics_and_gains_are_plain_numbers_in_the_document() {
    let r =
        runs().toy_with("", 100.0, json!({"ttft_p99_ms": 12.5, "latency_mean_s": 2.0})).toy("--a=1", 150.0);
    let report = decide("step one { vary a[1] }", &r);
    assert_eq!(report.0["schema"], "perflab.report/1");
    let metrics = &report.trial(report.0["baseline"].as_str().expect("an id"))["metrics"];
    let number = |value: &serde_json::Value| value.as_f64();
    assert_eq!((number(&metrics["total_tps"]), number(&metrics["duration_s"])), (Some(100.0), Some(200.0)));
    assert_eq!(
        (number(&metrics["ttft_ms"]["p99"]), number(&metrics["latency_ms"]["mean"])),
        (Some(12.5), Some(2000.0))
    );
    assert!(metrics["ttft_ms"].as_object().expect("a distribution").contains_key("p999"));
    assert_eq!(report.step("one")["gain"]["value"], json!(0.5));
    assert!(report.0["launches"].as_array().is_some_and(Vec::is_empty));
    assert_eq!(report.0["cost"]["launches"], 0);
    assert!(!report.0.to_string().contains("-0.0"));
}

#[test]
fn an_engine_without_a_version_is_answered_too() {
    let study = toy_study("step one { vary a[1] }").replace("    version \"1.0\"\n", "");
    let r = runs().toy("", 100.0).toy("--a=1", 150.0);
    let report = Lab::with(&study).replay(&r, &[]).expect_code(0).report();
    assert!(report.adopted("one"));
}

#[test]
fn the_replay_answers_profiles_of_the_same_name_and_lists_loads_that_differ() {
    let lab = Lab::with(&toy_study("step one { vary a[1] }"));
    let text = runs().toy("", 100.0).toy("--a=1", 150.0).run("toy", "", "elsewhere", 1.0).text();
    let mut recording: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    recording["profiles"] = json!({"load": {"num_prompts": 500, "input_tokens": 100}});
    recording["engine_versions"] = json!({"toy": "0.9"});
    lab.write("r.json", recording.to_string());
    let args = ["exec", "study.plab", "--replay", "r.json", "--format", "json", "--checks", "warn"];
    let out = lab.run(&args);
    for words in ["500 in the recording", "0.9", "elsewhere"] {
        assert!(out.stderr.contains(words), "`{words}` is missing in:\n{}", out.stderr);
    }
    let differences = out.report().0["replay"]["differences"].as_array().map(Vec::len);
    assert_eq!(differences, Some(3));
    // success is over the recording's own count: 100 of 500
    out.expect_code(3);
}
