//! The reset of the prefix cache between two loads of one launch: called, and seen to have been done.

use serde_json::Value;

use crate::support::{EXEC, Lab, Output, events, live_study};

/// A study whose launches have two loads each, on an engine that differs from the simulated one in these lines.
fn run(own: &str) -> (Lab, Vec<Value>, Output) {
    let study = live_study("step one { vary seqs[2] }").replace("on quick", "on quick, second");
    let second = "profile second = quick { requests 9 }\naxis seqs";
    let small = format!("engine odd = sim {{ {own} }}\nengine small \"Small\" = odd");
    let study = study.replacen("axis seqs", second, 1).replacen("engine small \"Small\" = sim", &small, 1);
    let lab = Lab::with(&study);
    let out = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    let events = events(&lab);
    (lab, events, out)
}

fn emptied(events: &[Value]) -> Vec<(u64, u64)> {
    let number = |e: &Value, key: &str| e[key].as_u64().expect("a number");
    let of = events.iter().filter(|e| e["event"] == "prefix_cache_emptied");
    of.map(|e| (number(e, "hit_before"), number(e, "hit_after"))).collect()
}

/// What is said of the prefix cache. A busy machine has loads repeated, with a reset before each: there may be more than one a launch.
fn warnings(events: &[Value]) -> Vec<&str> {
    let texts = events.iter().filter(|e| e["event"] == "warning").filter_map(|e| e["text"].as_str());
    texts.filter(|t| t.contains("the prefix cache")).collect()
}

#[test]
fn a_reset_is_proven_by_a_question_that_hits_before_it_and_not_after_it() {
    let (_, events, out) = run("");
    let report = out.expect_code(0).report();
    let emptied = emptied(&events);
    assert!(emptied.len() >= 2, "one for each launch: {emptied:?}");
    assert!(emptied.iter().all(|(before, after)| *before >= 240 && *after == 0), "{emptied:?}");
    assert_eq!(warnings(&events), [""; 0]);
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["metrics"]["prefix_hit_tokens"], 0.0, "{baseline}");
    assert!(!report.0["not_checked"].to_string().contains("prefix cache"), "{}", report.0["not_checked"]);
}

#[test]
fn a_reset_is_proven_by_answers_alone_where_they_tell() {
    let (_, events, out) = run("api sglang_generate\n metrics get \"/none\"");
    let report = out.expect_code(0).report();
    let emptied = emptied(&events);
    assert!(
        emptied.len() >= 2 && emptied.iter().all(|(before, after)| *before >= 240 && *after == 0),
        "{emptied:?}"
    );
    assert_eq!(warnings(&events), [""; 0]);
    let metrics = &report.trial(report.0["baseline"].as_str().expect("an id"))["metrics"];
    assert_eq!((&metrics["completed"], &metrics["output_tokens"]), (&8.into(), &64.into()), "{metrics}");
    // no chat template stands before the prompts
    assert_eq!(metrics["input_tokens"], 128, "{metrics}");
    assert_eq!(metrics["prefix_hit_tokens"], 0.0, "{metrics}");
}

#[test]
fn a_server_that_says_yes_and_does_nothing_is_not_believed() {
    let (_, events, out) = run("reset get \"/health\"");
    let report = out.expect_code(0).report();
    assert_eq!(emptied(&events), []);
    let said = warnings(&events);
    assert!(said.len() >= 2, "{said:?}");
    assert!(said[0].contains("/health answered that it was, but") && said[0].contains("still came from it"));
    assert!(report.0.to_string().contains("the prefix cache is not known to be empty before it"));
}

#[test]
fn a_reset_that_is_not_there_is_said_of_the_result() {
    let (_, events, out) = run("reset post \"/no_such_path\"");
    out.expect_code(0);
    let said = warnings(&events);
    assert!(
        said.iter().all(|w| w.contains("/no_such_path answered HTTP 404")) && said.len() >= 2,
        "{said:?}"
    );
}

#[test]
fn an_engine_that_keeps_no_prefixes_has_nothing_to_empty() {
    let (_, events, out) = run("--no-enable-prefix-caching");
    out.expect_code(0);
    let emptied = emptied(&events);
    assert!(emptied.len() >= 2 && emptied.iter().all(|e| *e == (0, 0)), "{emptied:?}");
    assert_eq!(warnings(&events), [""; 0]);
}
