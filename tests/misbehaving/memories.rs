//! Servers whose prefix cache holds what it should not.

use super::lab::{bad_candidate, exec, finish};
use crate::support::{Lab, events};

/// The candidate's study with a second profile in the same launch.
pub fn two_loads(script: &str) -> Lab {
    let lab = bad_candidate(script);
    let study = lab.read("study.plab");
    let quick = &study[study.find("profile quick").expect("a profile")..study.find("axis").expect("an axis")];
    let long =
        quick.replace("quick", "second").replace("Quick", "Second").replace("requests    8", "requests 9");
    let study =
        study.replace("axis mode", &format!("{long}\naxis mode")).replace("on quick", "on quick, second");
    lab.write("study.plab", study.replace("input       16", "input 990"));
    lab
}

/// The candidate's launches that no fault of this machine ended: a busy one may have held the client up.
fn launches(lab: &Lab) -> Vec<String> {
    let all = events(lab);
    let set_back =
        |launch: &str| all.iter().any(|e| e["event"] == "setback" && e["launch"].as_str() == Some(launch));
    let begins = all.iter().filter(|e| e["event"] == "launch_begins");
    let bad = begins.filter(|e| e["command"].as_str().is_some_and(|c| c.contains("--mode=bad")));
    let names = bad.filter_map(|e| e["launch"].as_str());
    names.filter(|launch| !set_back(launch)).map(str::to_owned).collect()
}

fn warnings(lab: &Lab) -> String {
    let all = events(lab);
    all.iter().filter_map(|e| e["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_load_that_hits_what_an_earlier_one_left_is_repeated_in_a_fresh_launch() {
    let lab = two_loads("misbehave 'remembers earlier loads'");
    let out = lab.run(&exec());
    let report = finish(&lab, out);
    let said = warnings(&lab);
    assert!(said.contains("of second came from what earlier loads had left in the prefix cache"), "{said}");
    assert_eq!(launches(&lab).len(), 2, "{:?} {said}", launches(&lab));
    let trial = report.trial(report.row("mode", "bad")["trial"].as_str().expect("an id"));
    assert!(!trial["findings"].to_string().contains("PREFIX"), "{trial}");
}

#[test]
fn a_first_load_that_hits_is_shown_as_what_it_is_and_measured_once() {
    let lab = two_loads("misbehave 'remembers earlier launches'");
    let out = lab.run(&exec());
    let report = finish(&lab, out);
    let trial = report.trial(report.row("mode", "bad")["trial"].as_str().expect("an id"));
    let findings = trial["findings"].to_string();
    assert!(findings.contains("PREFIX") && findings.contains("83.6 % of the prompt tokens"), "{findings}");
    assert_eq!(launches(&lab).len(), 2, "the second load has a launch of its own: {:?}", launches(&lab));
}
