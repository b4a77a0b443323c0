//! `exec --fresh` takes nothing over, `exec --only` carries out one step: what is launched, what is said, and what stays.

use crate::support::{EXEC, Lab, Output, Report, live_study, wait_for};

const STEPS: &str = "step one \"Sequences\" { vary seqs[1, 2] }\n step two { vary batched }";

fn exec(lab: &Lab, more: &[&str]) -> Output {
    lab.run(&[&EXEC[..], more].concat())
}

#[track_caller]
fn launches(out: &Output) -> u64 {
    out.report().0["cost"]["launches"].as_u64().expect("a number")
}

/// The configurations that were launched, by their labels, in order.
fn launched(lab: &Lab) -> Vec<String> {
    let journal = lab.read("state/journal.jsonl");
    let lines = journal.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).expect("a line"));
    lines.filter_map(|l| Some(l["kind"]["launch"]["label"].as_str()?.to_owned())).collect()
}

fn plan(lab: &Lab) -> serde_json::Value {
    lab.run(&["plan", "study.plab", "--dir", "state", "--checks", "warn", "--format", "json"])
        .expect_code(0)
        .json()
}

#[test]
fn fresh_measures_everything_anew_and_loses_nothing() {
    let lab = Lab::with(&live_study(STEPS));
    let first = exec(&lab, &["--fresh"]).expect_code(0);
    assert_eq!(launches(&first), 4, "of nothing there is nothing to take over");
    let before = lab.read("state/journal.jsonl");
    assert_eq!(launches(&exec(&lab, &[]).expect_code(0)), 4);
    let fresh = exec(&lab, &["--fresh"]).expect_code(0);
    assert_eq!(launches(&fresh), 8, "{}", fresh.stderr);
    assert!(fresh.stderr.contains("4 configurations are measured again"), "{}", fresh.stderr);
    assert!(lab.read("state/journal.jsonl").starts_with(&before), "what was measured is in the journal");
    let runs = |r: &Report| r.trial(r.0["baseline"].as_str().expect("an id"))["runs"].clone();
    let (old, new) = (runs(&first.report()), runs(&fresh.report()));
    assert!(old != new && new.to_string().contains("L005") && !new.to_string().contains("L001"), "{new}");
    let watched = lab.run(&["watch", "state"]).expect_code(0).stdout;
    assert!(watched.contains("\n  asked to take nothing over that was measured before\n"), "{watched}");
    // it is said once, and holds for what was measured until then
    assert_eq!(launches(&exec(&lab, &[]).expect_code(0)), 8);
    lab.run(&[&EXEC[..], &["--fresh", "--again", "one"]].concat()).expect_code(2);
    lab.run(&[&EXEC[..], &["--fresh", "--replay", "r.json"]].concat()).expect_code(2);
}

#[test]
fn a_fresh_study_that_is_killed_goes_on_from_there() {
    let lab = Lab::with(&live_study(STEPS));
    exec(&lab, &[]).expect_code(0);
    let mut running = lab.start(&[&EXEC[..], &["--fresh"]].concat());
    wait_for("the second launch", || lab.read("state/journal.jsonl").contains("\"launch\":\"L006\""));
    running.child.kill().expect("it lives");
    running.wait();
    let reason = plan(&lab)["steps"][0]["candidates"][1]["reason"].to_string();
    assert!(reason.contains("asked for with `--fresh`"), "{reason}");
    let out = exec(&lab, &[]).expect_code(0);
    assert!([8, 9].contains(&launches(&out)), "nothing but the running trial is lost: {}", out.stderr);
}

#[test]
fn who_interrupts_a_fresh_study_is_told_how_it_goes_on() {
    let study = live_study(STEPS).replace("requests    8", "requests    50000");
    let lab = Lab::with(&study);
    let running = lab.start(&[&EXEC[..], &["--fresh", "--events", "events.jsonl"]].concat());
    wait_for("a load", || crate::support::events(&lab).iter().any(|e| e["event"] == "load"));
    let pid = nix::unistd::Pid::from_raw(running.child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it lives");
    let out = running.wait().expect_code(75);
    assert!(out.stderr.contains("go on without `--fresh`"), "{}", out.stderr);
    let document = lab.read("state/report.json");
    assert!(document.contains("the same command without `--fresh` continues it"), "{document}");
}

#[test]
fn one_step_is_carried_out_over_those_before_it() {
    let lab = Lab::with(&live_study(STEPS));
    let words =
        ["what it stands on is not measured: the baseline, Small; 1 of step one; 2 of step one", "help: "];
    exec(&lab, &["--only", "two"]).expect_error(1, &words);
    exec(&lab, &["--only", "one"]).expect_error(1, &["the baseline, Small", "from `baseline` on"]);
    assert!(!lab.read("state/journal.jsonl").contains("launch"), "nothing was begun");
    exec(&lab, &["--only", "tow"]).expect_error(1, &["has no step `tow`", "did you mean `two`?", "one, two"]);
    assert_eq!(launches(&exec(&lab, &["--only", "baseline"]).expect_code(0)), 1);
    let one = exec(&lab, &["--only", "one"]).expect_code(0);
    assert_eq!(launched(&lab), ["Small", "1", "2"]);
    let report = one.report();
    assert_eq!((report.0["complete"].as_bool(), report.recommended()), (Some(false), None));
    // a busy machine flags what it measures
    assert!(["ok", "flagged"].contains(&report.outcome("one", "1")), "{:?}", report.0);
    assert_eq!(report.outcome("two", "512"), "missing");
    let why = report.0["no_recommendation"].to_string();
    assert!(why.contains("only `one` was asked for; the same command without `--only`"), "{why}");
    // again: there is nothing left to do of it
    assert_eq!(launches(&exec(&lab, &["--only", "one"]).expect_code(0)), 3);
    let two = exec(&lab, &["--only", "two"]).expect_code(0);
    assert_eq!((launches(&two), two.report().recommended()), (4, None), "a step recommends nothing");
    // all is there, and the study says so
    let whole = exec(&lab, &[]).expect_code(0);
    assert_eq!(launches(&whole), 4);
    assert!(whole.report().recommended().is_some());
    assert!(lab.path("state/recommended.sh").exists());
    exec(&lab, &["--only", "two"]).expect_code(0);
    assert!(lab.path("state/recommended.sh").exists(), "what the study found stays");
    exec(&lab, &["--only", "one", "--replay", "r.json"]).expect_code(2);
}

#[test]
fn one_step_is_measured_anew_and_those_before_it_stay() {
    let lab = Lab::with(&live_study(STEPS));
    exec(&lab, &[]).expect_code(0);
    let out = exec(&lab, &["--only", "one", "--fresh"]).expect_code(0);
    assert_eq!(launches(&out), 6);
    assert_eq!(launched(&lab)[4..], ["1", "2"]);
    assert_eq!(launches(&exec(&lab, &["--only", "one", "--again", "2"]).expect_code(0)), 7);
    // what two measured stands on the same incumbent, unless noise chose another
    assert!(launches(&exec(&lab, &[]).expect_code(0)) <= 8);
}

#[test]
fn steps_of_tracks_are_named_by_both() {
    let tracks = "track small {\n step seqs { vary seqs[1] }\n step rest { vary batched }\n }\n\
                  track other {\n step seqs { vary seqs[2] }\n }";
    let study = live_study(tracks)
        .replace("profile quick", "engine other = sim { --max-model-len=8Ki }\nprofile quick");
    let lab = Lab::with(&study);
    exec(&lab, &["--only", "baseline"]).expect_code(0);
    let words = ["several tracks have a step `seqs`", "small.seqs, other.seqs"];
    exec(&lab, &["--only", "seqs"]).expect_error(1, &words);
    exec(&lab, &["--only", "small.seqs"]).expect_code(0);
    assert_eq!(launched(&lab), ["Small", "1"]);
    exec(&lab, &["--only", "small.rset"]).expect_error(1, &["did you mean `small.rest`?"]);
}
