//! Several launches of each, and launches of offers alone: in which order they run, and what an edit or a kill leaves to do.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{EXEC, Lab, Report, events, live_study, marked, skip, wait_for};

fn study(repeat: u32, lines: &str) -> String {
    live_study(lines).replace("repeat 1", &format!("repeat {repeat}"))
}

/// Candidates are adopted by no noise.
const TWO: &str = "adopt gain >= 1000%\n step one { vary seqs[1, 2] }";

/// The launches so far: what ran in each, without the turn.
fn launched(lab: &Lab) -> Vec<String> {
    let journal = lab.read("state/journal.jsonl");
    let events = journal.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    events.filter_map(|e| Some(e["kind"]["launch"]["label"].as_str()?.to_owned())).collect()
}

fn runs(report: &Report, id: &Value) -> Vec<u64> {
    let trial = report.trial(id.as_str().expect("an id"));
    trial["runs"].as_array().expect("runs").iter().map(|r| r["n"].as_u64().expect("a number")).collect()
}

#[test]
fn rounds_go_over_all_before_any_is_launched_again() {
    let lab = Lab::with(&study(3, TWO));
    let report = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat()).expect_code(0).report();
    assert_eq!(launched(&lab), ["Small", "1", "2", "Small", "1", "2", "Small", "1", "2"]);
    assert_eq!(runs(&report, &report.0["baseline"]), [1, 2, 3]);
    assert_eq!(runs(&report, &report.row("one", "2")["trial"]), [1, 2, 3]);
    assert_eq!(report.row("one", "1")["spread"]["runs"], 3);
    assert!(report.row("one", "1")["gain_low"].as_f64() < report.row("one", "1")["gain_high"].as_f64());
    assert!(report.0["noise"].as_f64() > Some(0.0));
    let labels: Vec<String> = events(&lab)
        .iter()
        .filter(|e| e["event"] == "launch_begins")
        .map(|e| e["label"].as_str().expect("a label").to_owned())
        .collect();
    assert!(labels.contains(&"2 (3 of 3)".to_owned()), "{labels:?}");
    // nothing is measured again
    assert_eq!(lab.run(&EXEC).expect_code(0).report(), report);
}

/// Prompt tokens of each run of the baseline and the two candidates; `None` if this machine was so busy that a load was repeated, which
/// is done with other prompts.
fn tokens_of_each() -> Option<[Vec<f64>; 3]> {
    let lab = Lab::with(&study(2, TWO).replace("input       16", "input 16 .. 64"));
    let report = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat()).expect_code(0).report();
    if events(&lab).iter().any(|e| e["text"].as_str().is_some_and(|t| t.contains("the load is repeated"))) {
        return None;
    }
    let tokens = |id: &Value| -> Vec<f64> {
        let trial = report.trial(id.as_str().expect("an id"));
        let runs = trial["runs"].as_array().expect("runs").iter();
        runs.map(|r| r["metrics"]["input_tokens"].as_f64().expect("a count")).collect()
    };
    let row = |label: &str| tokens(&report.row("one", label)["trial"]);
    Some([tokens(&report.0["baseline"]), row("1"), row("2")])
}

#[test]
fn the_nth_launch_of_every_configuration_sends_the_same_requests_and_others_send_others() {
    let Some([baseline, one, two]) = (0..5).find_map(|_| tokens_of_each()) else {
        return skip("the_nth_launch_of_every_configuration", "this machine is too busy");
    };
    assert_eq!((&baseline, &baseline), (&one, &two));
    assert!((baseline[0] - baseline[1]).abs() > 0.5, "{baseline:?}");
}

#[test]
fn more_repeats_measure_what_is_missing_and_fewer_keep_what_there_is() {
    let lab = Lab::with(&study(1, TWO));
    let single = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(single.step("one")["gain"]["by"], "single_run");
    lab.write("study.plab", study(2, TWO));
    let twice = lab.run(&EXEC).expect_code(0).report();
    assert_eq!((launched(&lab).len(), &twice.step("one")["gain"]["by"]), (6, &"repeats".into()));
    lab.write("study.plab", study(1, TWO));
    let again = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(launched(&lab).len(), 6);
    assert_eq!(again.step("one")["gain"], single.step("one")["gain"]);
    // all runs stand in the document, the first alone counts
    assert_eq!(runs(&again, &again.0["baseline"]), [1, 2]);
}

#[test]
fn what_a_kill_left_is_made_up_for() {
    let slow = study(3, "adopt gain >= 1000%\n step one { vary seqs[1] }");
    let lab = Lab::with(&slow);
    let run = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    wait_for("the fourth launch", || {
        events(&lab).iter().filter(|e| e["event"] == "launch_ready").count() >= 4
    });
    kill(Pid::from_raw(run.child.id() as i32), Signal::SIGKILL).expect("it lives");
    run.wait();
    wait_for("the guards", || marked(&lab).is_empty());
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(runs(&report, &report.0["baseline"]), [1, 2, 3]);
    assert_eq!(runs(&report, &report.row("one", "1")["trial"]), [1, 2, 3]);
    assert!(launched(&lab).len() <= 7, "{:?}", launched(&lab));
}

#[test]
fn what_failed_or_was_pruned_once_is_launched_no_more() {
    let rule = "prune slow \"too slow\" when --max-num-seqs == 1 and total_tps > 0tok/s";
    let lab =
        Lab::with(&study(3, &format!("{rule}\n adopt gain >= 1000%\n step one {{ vary seqs[1] + bad }}")));
    lab.write("study.plab", lab.read("study.plab") + "axis bad = --max-model-len=1\n");
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(report.outcome("one", "1"), "pruned");
    assert_eq!(report.outcome("one", "bad"), "failed", "{}", report.reason("one", "bad"));
    let launches = launched(&lab);
    let of = |label: &str| launches.iter().filter(|l| *l == label).count();
    assert_eq!((of("Small"), of("1"), of("bad")), (3, 1, 1), "{launches:?}");
}

#[test]
fn confirming_launches_are_fresh_and_as_many() {
    let lines = "adopt gain >= 1000%\n confirm on other\n step one { vary seqs[1] }";
    let lab = Lab::with(&(study(2, lines) + "profile other = quick { requests 4 }\n"));
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(launched(&lab), ["Small", "1", "Small", "1", "confirm baseline", "confirm baseline"]);
    // the steps count their own two runs, the confirming ones stand beside them
    assert_eq!(report.row("one", "1")["spread"]["runs"], 2);
    assert_eq!(runs(&report, &report.0["baseline"]), [1, 2, 3, 4]);
    assert_eq!(runs(&report, &report.0["confirm"][1]["baseline"]), [1, 2]);
    assert_eq!(lab.run(&EXEC).expect_code(0).report(), report);
}

const ELSEWHERE: &str = "profile other = quick { requests 4 }\n";

#[test]
fn an_offer_is_launched_on_the_other_profile_before_it_is_adopted() {
    // one step that adopts whatever it offers, another that offers what is not adopted
    let lines = "require total_tps >= 1tok/s on other\n adopt gain >= 0%\n\
                 step one { vary seqs[1]\n pick seqs[1] because \"it is asked for\" }";
    let lab = Lab::with(&(study(2, lines) + ELSEWHERE));
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(launched(&lab), ["Small", "1", "Small", "1", "offer of one", "offer of one"]);
    assert!(report.adopted("one"));
    assert_eq!(lab.run(&EXEC).expect_code(0).report(), report);
}

#[test]
fn a_refused_offer_makes_way_and_what_is_not_offered_is_not_asked() {
    let lines = "require --max-num-seqs != 2 and total_tps >= 1tok/s on other\n adopt gain >= 1000%\n\
                 step one { vary seqs[2]\n pick seqs[2] because \"it is asked for\" }\n step two { vary seqs[1] }";
    let lab = Lab::with(&(study(1, lines) + ELSEWHERE));
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(launched(&lab), ["Small", "2", "offer of one", "1"]);
    assert_eq!(report.outcome("one", "2"), "refused");
    assert!(
        !report.adopted("one")
            && report.step("one")["reason"].as_str().is_some_and(|r| r.ends_with("was refused"))
    );
}

#[test]
fn a_baseline_that_breaks_what_is_asked_elsewhere_recommends_nothing() {
    let lines = "require p50(ttft) >= 1000s on other\n step one { vary seqs[1] }";
    let lab = Lab::with(&(study(1, lines) + ELSEWHERE));
    let report = lab.run(&EXEC).expect_code(3).report();
    assert_eq!(launched(&lab), ["Small"]);
    let why = report.0["no_recommendation"].as_str().expect("a reason");
    assert!(why.contains("p50(ttft) >= 1000s on other"), "{why}");
}
