//! Servers that say nothing, nonsense, or too much.

use std::fs;

use serde_json::Value;

use super::lab::{
    bad_candidate, exec, expect_failure, expect_success, finish, log_of, run, setbacks, stages,
};
use super::memories::two_loads;
use crate::support::{assert_close, events};

#[test]
fn a_server_that_is_never_ready_has_its_last_answer_told() {
    let said = "GET /health was last answered with 503 Service Unavailable: model is loading";
    expect_failure("misbehave 'is loading for ever'", &["did not start: never ready", said]);
}

#[test]
fn a_probe_that_is_never_answered() {
    expect_failure("echo waiting; misbehave 'never answers'", &["did not start: never ready"]);
}

#[test]
fn a_probe_that_is_answered_with_garbage() {
    expect_failure(
        "echo waiting; misbehave 'answers garbage to the probe'",
        &["did not start: never ready", "GET /health was last answered with something that is no HTTP"],
    );
}

#[test]
fn requests_that_are_never_answered() {
    expect_failure("misbehave 'never answers a request'", &["no request succeeded", "within 3 s"]);
}

#[test]
fn requests_that_are_answered_with_garbage() {
    expect_failure("misbehave 'answers garbage'", &["no request succeeded"]);
}

#[test]
fn requests_that_are_answered_with_noise() {
    let (_, report) = run("misbehave 'answers noise'");
    let reason = report.reason("mode", "bad");
    assert!(
        reason.contains("an event that is not understood") && reason.contains(r": \x80\x81\x82"),
        "{reason}"
    );
    assert!(reason.contains("8 of 8 requests failed") && reason.chars().count() < 250, "{reason}");
}

/// The fastest of all, if what a server counts were believed.
#[test]
fn tokens_that_are_counted_and_never_come() {
    for how in ["counts tokens of a role alone", "counts tokens of a letter"] {
        let lab = bad_candidate(&format!("misbehave '{how}'"));
        let study = lab.read("study.plab");
        let longer = study.replace("output      8", "output      40");
        assert!(longer != study, "{study}");
        lab.write("study.plab", longer);
        let out = lab.run(&exec());
        let report = finish(&lab, out);
        let trial = report.trial(report.row("mode", "bad")["trial"].as_str().expect("an id"));
        let found =
            trial["findings"].as_array().expect("findings").iter().find(|f| f["check"] == "TOKENS_OUT");
        let found = found.unwrap_or_else(|| panic!("{how}: {trial}"));
        let text = found["text"].as_str().expect("a text");
        assert!(text.contains("the server counts 320 tokens"), "{how}: {text}");
        assert_eq!(found["level"], "refuse", "{how}: where checks refuse, nothing of it counts");
    }
}

#[test]
fn answers_that_break_off() {
    expect_failure("misbehave 'breaks off'", &["no request succeeded"]);
}

#[test]
fn headers_and_then_silence() {
    expect_failure("misbehave 'sends headers and falls silent'", &["no request succeeded", "within 3 s"]);
}

/// Limits of requests that are shorter than the patience with a silent server hide nothing of it.
#[test]
fn a_server_that_stops_answering_is_lost_however_short_its_requests_may_take() {
    for how in ["stops after five", "sticks after five"] {
        let lab = bad_candidate(&format!("misbehave '{how}'"));
        lab.write("study.plab", lab.read("study.plab").replace("requests    8", "requests    24"));
        let out = lab.run(&exec());
        let report = finish(&lab, out);
        assert_eq!(report.outcome("mode", "bad"), "failed", "{how}: {}", report.reason("mode", "bad"));
        let reason = report.reason("mode", "bad");
        let said = "failed under load: no answer under load: 19 of 24 requests were not answered: nothing came in the last ";
        assert!(reason.starts_with(said), "{how}: {reason}");
    }
}

/// That nothing succeeded until then makes no other failure of it.
#[test]
fn a_server_that_stops_amid_its_first_answers_is_lost() {
    let said = ["failed under load: no answer under load", "8 of 8 requests were not answered"];
    expect_failure("misbehave 'stops amid its first answers'", &said);
}

/// One that stopped before it said anything in a load is asked; one that is only too slow says that it is ready.
#[test]
fn a_server_that_stops_before_its_first_answer_is_asked_whether_it_is_ready() {
    let said = ["no answer under load", "8 of 8 requests were not answered", "and it is not ready any more"];
    expect_failure("misbehave 'stops at its first request'", &said);
}

/// Three requests that were open already may be three that hang; that nobody says any more that it is ready decides.
#[test]
fn a_server_that_stops_at_the_end_of_a_load_is_asked_whether_it_is_ready() {
    let said = ["no answer under load", "3 of 8 requests were not answered", "and it is not ready any more"];
    expect_failure("misbehave 'stops after five'", &said);
}

/// What is to be loaded after it would meet the same silence.
#[test]
fn a_server_that_fell_silent_is_loaded_no_more() {
    let lab = two_loads("misbehave 'stops after five'");
    let out = lab.run(&exec());
    let report = finish(&lab, out);
    assert_eq!(report.outcome("mode", "bad"), "failed");
    let of_bad = |e: &Value| e["event"] == "phase" && e["launch"] == "L002" && e["phase"] == "load";
    let profiles: Vec<String> =
        events(&lab).iter().filter(|e| of_bad(e)).map(|e| e["profile"].to_string()).collect();
    assert_eq!(profiles, ["\"quick\""], "{}", report.0);
    let runs = lab.read("state/journal.jsonl");
    let runs = runs.lines().map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
    let runs: Vec<Value> = runs.map(|l| l["kind"]["run"].clone()).filter(|r| r["launch"] == "L002").collect();
    assert_eq!(runs.len(), 2, "{runs:?}");
    for run in &runs {
        assert_eq!(run["run"]["outcome"]["class"], "no answer under load", "{run}");
    }
    let line = runs[1]["run"]["outcome"]["line"].as_str().expect("a line");
    let said = "not loaded, as the server was lost under quick: 3 of 8 requests were not answered";
    assert!(line.starts_with(said), "{line}");
}

/// The server says that it is ready, and is believed.
#[test]
fn requests_that_hang_beside_others_are_told_with_the_result() {
    let (_, report) = run("misbehave 'leaves the last three'");
    assert_eq!(report.outcome("mode", "bad"), "refused");
    let reason = report.reason("mode", "bad");
    assert!(reason.contains("5 of 8 requests succeeded"), "{reason}");
    let warnings = report.0["warnings"].to_string();
    let said = "3 of 8 requests failed, the first one so: not done within 3 s";
    assert!(warnings.contains(said), "{warnings}");
}

#[test]
fn a_log_without_a_line_end_takes_neither_memory_nor_disk() {
    let (lab, report) = run("echo first; head -c 1000000000 /dev/zero; serve");
    expect_success(&lab, &report);
    let log = fs::metadata(log_of(&lab, &report)).expect("a log");
    assert!(log.len() < 20 << 20, "{} bytes", log.len());
}

#[test]
fn too_few_descriptors_to_listen() {
    let lab = expect_failure("ulimit -n 9; serve", &["did not start: too many open files", "os error 24"]);
    assert_eq!(setbacks(&lab), 0, "a limit is no accident");
}

#[test]
fn too_few_descriptors_for_all_connections() {
    let (lab, report) = run("ulimit -n 12; serve");
    let (outcome, reason) = (report.outcome("mode", "bad"), report.reason("mode", "bad"));
    assert!(["failed", "refused"].contains(&outcome), "{outcome}: {reason}");
    assert_eq!(setbacks(&lab), 0);
}

#[test]
fn a_full_disk_is_the_machine_s_failure_and_is_tried_again() {
    let script = "n=$(cat tries 2>/dev/null || echo 0); echo $((n + 1)) > tries\n\
                  if [ \"$n\" -lt 1 ]; then echo 'OSError: [Errno 28] No space left on device' >&2; exit 1; fi";
    let (lab, report) = run(script);
    expect_success(&lab, &report);
    assert_eq!((setbacks(&lab), lab.read("tries").trim()), (1, "2"));
    assert_eq!(report.0["cost"]["launches"], 3);
    assert!(stages(&lab).iter().any(|e| e["launch"] == "L003"));
    // the pause before it was launched again is nobody's time
    let seconds = |value: &serde_json::Value| value.as_f64().expect("seconds");
    let cost = &report.0["cost"];
    let own: f64 =
        report.0["launches"].as_array().expect("launches").iter().map(|l| seconds(&l["own_s"])).sum();
    assert_close(seconds(&cost["own_s"]), own, 1e-6);
    let parts = ["start_s", "warmup_s", "load_s", "stop_s", "own_s"];
    let all = report.0["launches"].as_array().expect("launches").iter();
    let engines: f64 = all.flat_map(|l| parts.map(|part| seconds(&l[part]))).sum();
    assert!(seconds(&cost["wall_s"]) - engines >= 2.0, "{cost}");
}
