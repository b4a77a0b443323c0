//! Budgets carried out: settled before each launch, what is left out is named, and more of it goes on.

use serde_json::Value;

use crate::support::{EXEC, Lab, Output, live_study};

fn exec(lab: &Lab, more: &[&str]) -> Output {
    lab.run(&[&EXEC[..], more].concat())
}

fn launches(out: &Output) -> u64 {
    out.report().0["cost"]["launches"].as_u64().expect("a count")
}

fn warnings(out: &Output) -> Vec<String> {
    let report = out.report();
    let all = report.0["warnings"].as_array().expect("warnings").iter();
    all.map(|w| w.as_str().expect("a sentence").to_owned()).collect()
}

#[test]
fn a_budget_of_trials_ends_a_study_in_parts() {
    let lab = Lab::with(&live_study("step one { vary seqs[1, 2, 3] }"));
    let out = exec(&lab, &["--budget", "2trials"]).expect_code(75);
    assert_eq!(launches(&out), 2, "the baseline and one candidate");
    let report = out.report();
    assert_eq!((&report.0["complete"], &report.0["recommended"]["partial"]), (&false.into(), &true.into()));
    assert_eq!((report.outcome("one", "2"), report.outcome("one", "3")), ("missing", "missing"));
    assert!(
        report.reason("one", "3").starts_with("left out: the study's budget of 2 trials"),
        "{}",
        report.reason("one", "3")
    );
    let named = warnings(&out);
    assert!(named.len() == 2 && named[0].contains("2 (one)") && named[1].contains("3 (one)"), "{named:?}");
    let shown = lab
        .run(&["exec", "study.plab", "--checks", "warn", "--dir", "state", "--budget", "2trials"])
        .expect_code(75);
    let said = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("raise the budget, and it goes on"), "{}", shown.stdout);
    assert!(!said.contains("same command continues"), "{}", shown.stdout);
    // once for all, and not in each row
    assert!(said.contains("• 2, 3: missing: left out: the study's budget of 2 trials"), "{}", shown.stdout);
    // the same budget measures nothing more, a larger one goes on, none at all ends it
    assert_eq!(launches(&exec(&lab, &["--budget", "2 trials"]).expect_code(75)), 2);
    assert_eq!(launches(&exec(&lab, &["--budget", "3trials"]).expect_code(75)), 3);
    let whole = exec(&lab, &[]).expect_code(0);
    assert_eq!((launches(&whole), &whole.report().0["recommended"]["partial"]), (4, &false.into()));
}

#[test]
fn a_budget_of_time_is_settled_from_what_launches_take() {
    let lab = Lab::with(&live_study("step one { vary seqs[1, 2, 3] }"));
    let first = exec(&lab, &["--budget", "1trials"]).expect_code(75);
    let took = first.report().0["cost"]["wall_s"].as_f64().expect("seconds");
    // room for two and a half of what the first one took
    let budget = format!("{:.3}s", took * 2.5);
    let out = exec(&lab, &["--budget", &budget]).expect_code(75);
    assert!((1..=3).contains(&launches(&out)), "{}", launches(&out));
    let named = warnings(&out);
    assert!(named[0].contains("s spent") && named[0].contains("it takes about"), "{named:?}");
    // nothing at all fits in here: not even begun
    let none = Lab::with(&live_study("step one { vary seqs[1] }"));
    let out = exec(&none, &["--budget", "0.001s"]).expect_code(75);
    assert_eq!((launches(&out), &out.report().0["recommended"]), (0, &Value::Null));
}

#[test]
fn budgets_of_steps_and_tracks_bound_these_alone() {
    let lab = Lab::with(&live_study(
        "step one { vary seqs[1, 2, 3]\n budget 2 trials }\n step two { vary batched }",
    ));
    let out = exec(&lab, &[]).expect_code(75);
    assert_eq!(out.report().outcome("one", "3"), "missing");
    assert!(out.report().reason("one", "3").contains("step `one`'s budget of 2 trials"));
    assert_ne!(out.report().outcome("two", "512"), "missing", "another step is not meant");
    let lab =
        Lab::with(&live_study("track small \"Tuning\" { budget 1 trials\n step one { vary seqs[1, 2] } }"));
    let out = exec(&lab, &[]).expect_code(75);
    assert!(
        out.report().reason("one", "2").contains("track `small`'s budget of 1 trial has"),
        "{}",
        out.stdout
    );
}

#[test]
fn the_command_lines_budget_is_in_place_of_the_studys() {
    let lab = Lab::with(&live_study("budget 1 trials\n step one { vary seqs[1] }"));
    assert_eq!(launches(&exec(&lab, &[]).expect_code(75)), 1);
    assert_eq!(launches(&exec(&lab, &["--budget", "1h"]).expect_code(0)), 2);
}

#[test]
fn a_budget_that_nothing_can_be_counted_in_is_refused() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    exec(&lab, &["--budget", "6gpu_hours"]).expect_error(1, &["6 gpu_hours", "asks for no GPUs", "help:"]);
    exec(&lab, &["--budget", "20usd"]).expect_error(1, &["20usd", "price", "help:"]);
    let out = exec(&lab, &["--budget", "6"]);
    assert!(out.code == 2 && out.stderr.contains("write for example 6h"), "{}", out.stderr);
}

#[test]
fn nothing_is_put_aside_that_no_budget_measures_again() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let whole = exec(&lab, &[]).expect_code(0);
    for again in [&["--fresh"][..], &["--again", "baseline"]] {
        let asked = [again, &["--budget", "0.001s"]].concat();
        let text = "nothing would be measured again: the study's budget of";
        exec(&lab, &asked).expect_error(1, &[text, "help: give a larger budget"]);
    }
    assert!(lab.read("state/recommended.sh").contains("#!"), "the recommendation stands");
    let same = exec(&lab, &[]).expect_code(0);
    assert_eq!(launches(&same), launches(&whole), "nothing is measured anew");
    assert_eq!(launches(&exec(&lab, &["--fresh", "--budget", "1h"]).expect_code(0)), 2 * launches(&whole));
}
