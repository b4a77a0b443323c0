//! Budgets in GPU hours and money, shares of tracks, and what a launch cost whose end nobody saw.

use std::time::Duration;

use serde_json::{Value, json};

use crate::faults::journal;
use crate::gpus::Machine;
use crate::support::{EXEC, Lab, Output, events, live_study, wait_for};

const STEPS: &str = "gpus 1 of \"H100\"\n step one { vary seqs[1, 2, 3] }";

fn exec(machine: &Machine, more: &[&str]) -> Output {
    machine.start(&[&EXEC[..], more].concat(), None).wait()
}

fn cost(out: &Output, key: &str) -> f64 {
    out.report().0["cost"][key].as_f64().unwrap_or_else(|| panic!("no {key} in {}", out.report().0["cost"]))
}

fn warnings(out: &Output) -> Vec<String> {
    let report = out.report();
    let all = report.0["warnings"].as_array().expect("warnings").iter();
    all.filter_map(|w| w.as_str().map(str::to_owned))
        .filter(|w| w.contains("left out") || w.contains("budget"))
        .collect()
}

/// A study in parts: some launches, the others left out by name, a recommendation that says so.
#[track_caller]
fn is_partial(out: &Output, unit: &str) {
    let (report, named) = (out.report(), warnings(out));
    assert_eq!(report.0["complete"], false);
    assert!(report.0["recommended"].is_null() || report.0["recommended"]["partial"] == true);
    assert!(!named.is_empty() && named.iter().all(|w| w.contains(unit) && w.contains("(one)")), "{named:?}");
}

#[test]
fn gpu_hours_are_settled_from_what_launches_hold() {
    let machine = Machine::new(STEPS, json!({}));
    // not even one fits: nothing is begun
    let out = exec(&machine, &["--budget", "0.00001 gpu_hours"]).expect_code(75);
    assert_eq!(cost(&out, "launches") as u32, 0);
    let text = out.report().0.to_string();
    assert!(text.contains("budget of 0.00001 gpu_hours has no room for it"), "{text}");
    assert!(text.contains("the baseline was left out: the study's budget"), "{text}");
    assert!(!text.contains("baseline is not valid"), "{text}");
    let first = exec(&machine, &["--budget", "1trials"]).expect_code(75);
    let took = cost(&first, "gpu_s");
    assert!(took > 0.0);
    let budget = format!("{:.6}gpu_hours", took * 2.6 / 3600.0);
    let out = exec(&machine, &["--budget", &budget]).expect_code(75);
    assert!((1..=3).contains(&(cost(&out, "launches") as u32)), "{}", out.report().0["cost"]);
    is_partial(&out, "gpu_hours");
    let whole = exec(&machine, &["--budget", "100gpu_hours"]).expect_code(0);
    assert_eq!(
        (cost(&whole, "launches") as u32, &whole.report().0["recommended"]["partial"]),
        (4, &false.into())
    );
}

#[test]
fn money_is_settled_at_the_sites_price() {
    let machine = Machine::new(STEPS, json!({}));
    machine.0.write("site.plab", "site lab { price 36usd/h }\n");
    let first = exec(&machine, &["--budget", "1trials"]).expect_code(75);
    let (took, paid) = (cost(&first, "gpu_s"), cost(&first, "usd"));
    assert!((paid - took / 100.0).abs() < 1e-9, "a cent a second: {paid} for {took}");
    let out = exec(&machine, &["--budget", &format!("{:.6}usd", paid * 2.6)]).expect_code(75);
    assert!((1..=3).contains(&(cost(&out, "launches") as u32)), "{}", out.report().0["cost"]);
    is_partial(&out, "usd");
    assert!(cost(&out, "usd") <= paid * 2.6 * 1.5, "{}", out.report().0["cost"]);
    let whole = exec(&machine, &["--budget", "100usd"]).expect_code(0);
    assert_eq!(cost(&whole, "launches") as u32, 4);
}

#[test]
fn tracks_share_what_a_budget_has_left() {
    let lines = "track small \"Tuning\" { step one { vary seqs[1, 2, 3, 4] } }\n \
                 track other \"Another\" { step two { vary seqs[5, 6, 7, 8] } }";
    let text = live_study(lines)
        .replace("profile quick", "engine other \"Other\" = sim { --max-model-len=2Ki }\nprofile quick");
    let lab = Lab::with(&text);
    let out = lab.run(&[&EXEC[..], &["--budget", "6trials"]].concat()).expect_code(75);
    let report = out.report();
    let tried = |step: &str, label: &str| report.outcome(step, label) != "missing";
    let first = ["1", "2", "3", "4"].iter().filter(|l| tried("one", l)).count();
    let second = ["5", "6", "7", "8"].iter().filter(|l| tried("two", l)).count();
    assert!(first < 4 && second > 0, "the first track left the second its share: {first} and {second}");
    let why = ["1", "2", "3", "4"].map(|l| report.reason("one", l).to_owned());
    assert!(why.iter().any(|w| w.contains("track `small`'s share")), "{why:?}");
}

#[test]
fn a_launch_that_was_lost_cost_what_it_lived() {
    let endless = live_study("step one { vary seqs[1, 2] }").replace("requests    8", "requests    200000");
    let machine = Machine(Lab::with(&endless.replace("step one", "gpus 1 of \"H100\"\n step one")));
    machine.play(json!({}));
    let mut run = machine.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat(), None);
    let loads = || events(&machine.0).iter().filter(|e| e["event"] == "load").count();
    wait_for("the load", || loads() > 0);
    std::thread::sleep(Duration::from_millis(2500));
    run.child.kill().expect("it lives");
    run.child.wait().expect("it is dead");
    // what it took is more than all that there is
    let out = exec(&machine, &["--budget", "2s"]).expect_code(75);
    assert_eq!(cost(&out, "launches") as u32, 1, "nothing more is begun");
    let lost: Vec<Value> = machine.events("lost");
    let lived = lost[0]["after_s"].as_f64().expect("seconds");
    assert!((2.0..120.0).contains(&lived) && lost[0]["gpus"] == 1, "{lost:?}");
    assert!(cost(&out, "wall_s") >= lived, "a launch lasts no longer than all: {}", out.report().0["cost"]);
    assert!((cost(&out, "gpu_s") - lived).abs() < 1e-6, "{}", out.report().0["cost"]);
    assert!(warnings(&out).iter().any(|w| w.contains("s spent")), "{:?}", warnings(&out));
    assert_eq!(journal(&machine.0).matches("\"launch\":{").count(), 1);
}
