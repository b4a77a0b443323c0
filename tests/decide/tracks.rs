//! Tracks: engines that are tuned apart, and the contest between their winners.

use serde_json::json;

use crate::support::{Lab, Recording, Report, assert_close, toy_study};

const BOTH: &str = "track toy \"Toys\" { step one \"Letters\" { vary a[1, 2] } }
 track other \"Others\" { step one \"Letters\" { vary b[1, 2] } }";

fn runs() -> Recording {
    Recording::default()
}

fn other(r: Recording, flags: &str, tps: f64) -> Recording {
    r.run("other", flags, "load", tps)
}

#[track_caller]
fn decide(lines: &str, recording: &Recording) -> Report {
    Lab::with(&toy_study(lines)).replay(recording, &[]).expect_code(0).report()
}

fn names(report: &Report) -> Vec<(String, Option<String>)> {
    let steps = report.0["steps"].as_array().expect("steps").iter();
    let text = |v: &serde_json::Value| v.as_str().map(str::to_owned);
    steps.map(|s| (text(&s["name"]).expect("a name"), text(&s["track"]))).collect()
}

#[test]
fn an_engine_that_loses_as_declared_may_win_when_tuned() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=2", 90.0);
    let r = other(other(other(r, "", 50.0), "--b=1", 60.0), "--b=2", 150.0);
    let report = decide(BOTH, &r);
    let track = |name: &str| Some(name.to_owned());
    assert_eq!(
        names(&report),
        [("one".into(), track("toy")), ("one".into(), track("other")), ("tracks".into(), None)]
    );
    // inside a track gains are against its own incumbent
    let own = &report.0["steps"][1];
    assert_close(own["gain"]["value"].as_f64().expect("a gain"), 2.0, 1e-12);
    assert_eq!(own["rows"][0]["label"], "Other");
    // the winners meet the incumbent from before the tracks
    let contest = report.step("tracks");
    assert_eq!((&contest["title"], &contest["base"]), (&json!("Winners of the tracks"), &json!("best")));
    assert_eq!(report.config(&contest["incumbent_before"]), "toy");
    assert_close(report.row("tracks", "Toys")["gain"].as_f64().expect("a gain"), 0.1, 1e-12);
    assert_close(report.gain("tracks"), 0.5, 1e-12);
    assert_eq!(report.after("tracks"), "other --b=2");
    assert_eq!(report.recommended(), Some("other serve org/m --b=2"));
    let tracks = json!([{"name": "toy", "title": "Toys", "notes": []}, {"name": "other", "title": "Others", "notes": []}]);
    assert_eq!(report.0["tracks"], tracks);
}

#[test]
fn inside_a_track_best_is_its_own_and_from_knows_its_steps_and_its_engine() {
    let r = runs().toy("", 100.0).toy("--a=1", 300.0).toy("--b=1", 90.0);
    let r = other(other(other(r, "", 50.0), "--b=1", 60.0), "--b=2", 70.0);
    let lines = "step first { vary a[1] }
 track other { step one { vary b[1] }\n step two from one { vary b[2] }\n step three from other { vary b[1] } }";
    let report = decide(lines, &r);
    // not over the study's best, --a=1
    assert_eq!(report.config(&report.step("one")["incumbent_before"]), "other");
    assert_eq!(report.config(&report.step("two")["incumbent_before"]), "other --b=1");
    assert_close(report.gain("two"), 70.0 / 60.0 - 1.0, 1e-12);
    assert_eq!(report.config(&report.step("three")["incumbent_before"]), "other --b=2");
    // the only track loses, and the study goes on with what it had
    assert_eq!(report.step("tracks")["title"], "Winner of the track");
    assert!(!report.adopted("tracks"));
    assert_eq!(report.after("tracks"), "toy --a=1");
}

#[test]
fn a_track_starts_from_its_engine_as_declared_whatever_was_adopted() {
    let study = toy_study("step model { vary quant }\n track other { step one { vary b[1] } }")
        + "axis quant = { small: model \"org/small\" }\n";
    let r = other(runs().toy("", 100.0), "--b=1", 90.0);
    let mut recording: serde_json::Value = serde_json::from_str(&r.text()).expect("JSON");
    let mut small = recording["runs"][0].clone();
    small["model"] = json!("org/small");
    small["metrics"]["total_tps"] = json!(200.0);
    small["metrics"]["duration_s"] = json!(100.0);
    recording["runs"].as_array_mut().expect("runs").push(small);
    let lab = Lab::with(&study);
    lab.write("r.json", recording.to_string());
    let args = ["exec", "study.plab", "--replay", "r.json", "--format", "json"];
    let report = lab.run(&args).expect_code(0).report();
    assert!(report.adopted("model"));
    let id = report.row("one", "1")["trial"].as_str().expect("an id");
    assert_eq!(report.trial(id)["config"]["model"], "org/m");
    assert_eq!(report.outcome("one", "1"), "ok");
}

#[test]
fn after_the_tracks_the_study_goes_on_from_the_winner() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=2", 90.0);
    let r = other(other(r, "", 50.0), "--b=1", 150.0);
    let r = other(r, "--b=3", 200.0);
    let report = decide(&format!("{BOTH}\n step last {{ vary b[3] }}"), &r);
    assert_eq!(report.after("last"), "other --b=3");
    assert_close(report.gain("last"), 200.0 / 150.0 - 1.0, 1e-12);
    assert_close(report.0["recommended"]["gain"]["value"].as_f64().expect("a gain"), 1.0, 1e-12);
}

#[test]
fn each_row_of_tracks_ends_in_a_contest_of_its_own() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=1 --fast", 120.0);
    let r = other(other(r, "", 50.0), "--b=1", 115.0);
    let lines = "track toy { step one { vary a[1] } }\n step mid { vary fast }\n track other { step one { vary b[1] } }";
    let report = decide(lines, &r);
    let names: Vec<String> = names(&report).into_iter().map(|n| n.0).collect();
    assert_eq!(names, ["one", "tracks", "mid", "one", "tracks_2"]);
    assert!(report.adopted("tracks") && report.adopted("mid") && !report.adopted("tracks_2"));
    assert_close(report.gain("tracks_2"), 115.0 / 120.0 - 1.0, 1e-12);
}

#[test]
fn a_written_step_keeps_its_name() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=1 --b=1", 130.0);
    let report = decide("track toy { step one { vary a[1] } }\n step tracks { vary b[1] }", &r);
    assert_eq!(report.after("tracks_2"), "toy --a=1");
    assert_eq!(report.after("tracks"), "toy --a=1 --b=1");
}

#[test]
fn an_engine_that_does_not_start_ends_its_track_and_not_the_study() {
    let mut failed = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=2", 90.0);
    failed = failed.failed_as("other", "", "out of GPU memory", "no room");
    let report = decide(BOTH, &failed);
    let own = &report.0["steps"][1];
    assert!(own["adopted"] == false && own["gain"].is_null());
    assert_eq!(report.outcome("tracks", "Others"), "failed");
    assert!(report.reason("tracks", "Others").contains("out of GPU memory"));
    assert_eq!(report.after("tracks"), "toy --a=1");
}

#[test]
fn an_engine_that_runs_only_when_tuned_goes_on_from_what_runs() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=2", 90.0);
    let r = r.failed_as("other", "", "out of GPU memory", "no room");
    let report = decide(BOTH, &other(other(r, "--b=1", 140.0), "--b=2", 150.0));
    let own = &report.0["steps"][1];
    assert!(own["adopted"] == true && own["gain"].is_null(), "{own}");
    assert!(own["reason"].as_str().expect("a reason").contains("Other failed"), "{own}");
    assert_eq!(own["chosen"], own["candidates"][1]);
    assert_eq!(report.after("tracks"), "other --b=2");
    // and where less is better, the least
    let ttft = |ms: f64| json!({"ttft_mean_ms": ms});
    let r = runs().toy_with("", 100.0, ttft(9.0)).failed_as("other", "", "boom", "");
    let r = r.add("other", "--b=1", "load", 1.0, ttft(5.0)).add("other", "--b=2", "load", 1.0, ttft(7.0));
    let report = decide(&format!("minimize mean(ttft) on load\n {BOTH}"), &r);
    assert_eq!(report.after("tracks"), "other --b=1");
}

#[test]
fn what_was_refused_is_no_measure_for_what_follows() {
    // the engine as declared loses half of its requests, quickly: neither gain nor rule compares with that
    let lost = json!({"successful_requests": 50});
    let r = runs().toy("", 100.0).add("other", "", "load", 900.0, lost);
    let r = other(other(r, "--b=1", 140.0), "--b=2", 150.0);
    let lines =
        format!("prune far \"far behind\" when gain < -20% or total_tps < 0.5 * best.total_tps\n {BOTH}");
    let lab = Lab::with(&toy_study(&lines));
    let report = lab.replay(&r, &["--checks", "warn"]).expect_code(0).report();
    assert_eq!(report.after("tracks"), "other --b=2");
}

#[test]
fn rules_and_guards_read_the_tracks_own_incumbent() {
    let r = runs().toy("", 100.0).toy("--a=1", 1000.0);
    let r = r.add("other", "", "load", 50.0, json!({"tpot_p50_ms": 20.0}));
    let r = other(other(r, "--b=1", 30.0), "--b=2", 20.0);
    let lines = "prune far \"far behind\" when total_tps < 0.5 * best.total_tps\n step first { vary a[1] }
 track other { step one when p50(tpot) > 15ms and engine == other { vary b[1, 2] } }";
    let report = decide(lines, &r);
    assert_eq!((report.outcome("one", "1"), report.outcome("one", "2")), ("ok", "pruned"));
    assert!(report.step("one")["skipped"].is_null());
    let skips = decide(&lines.replace("> 15ms", "> 25ms"), &r);
    assert!(skips.step("one")["skipped"].is_string());
}

#[test]
fn a_baseline_that_is_not_valid_leaves_the_tracks_unrun() {
    let r = other(runs().failed("", "failed", "boom"), "--b=1", 150.0);
    let report = Lab::with(&toy_study(BOTH)).replay(&r, &[]).expect_code(3).report();
    assert_eq!(report.0["steps"].as_array().map(Vec::len), Some(3));
    assert_eq!(report.outcome("tracks", "Others"), "missing");
    assert!(report.step("tracks")["skipped"].is_string());
}

#[test]
fn tracks_and_their_notes_are_printed() {
    let r = runs().toy("", 100.0).toy("--a=1", 110.0).toy("--a=2", 90.0);
    let r = other(other(r, "", 50.0), "--b=2", 150.0);
    let lines = BOTH.replacen("{ step", "{ note \"letters only\"\n step", 1);
    let lab = Lab::with(&toy_study(&lines));
    let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
    for words in
        ["Toys", "Others", "letters only", "Winners of the tracks", "adopted: Others, +50.00 % over Toy"]
    {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
    let page = lab.replay_text(&r, &["--format", "md"]).expect_code(0).stdout;
    for words in ["Toys", "letters only", "Winners of the tracks"] {
        assert!(page.contains(words), "`{words}` is missing in:\n{page}");
    }
    let plan = lab.run(&["plan", "study.plab"]).expect_code(0).stdout;
    for words in ["Toys", "Others", "Winners of the tracks"] {
        assert!(plan.contains(words), "`{words}` is missing in:\n{plan}");
    }
}
