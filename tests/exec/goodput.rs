//! Goodput of live runs: every request is asked, and a condition may be edited without measuring again.

use serde_json::Value;

use crate::support::{EXEC, Lab, Report, assert_close, live_study, packed_records};

fn study(condition: &str) -> String {
    live_study(&format!(
        "maximize goodput({condition}) on quick\n adopt gain >= 1000%\n step one {{ vary seqs[1] }}"
    ))
}

fn baseline(report: &Report) -> &Value {
    report.trial(report.0["baseline"].as_str().expect("an id"))
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The times of the baseline's first load, in seconds, as the request records have them.
fn latencies(lab: &Lab) -> Vec<f64> {
    let dirs = std::fs::read_dir(lab.path("state/trials")).expect("trials").flatten();
    let launches = dirs.flat_map(|d| std::fs::read_dir(d.path()).expect("launches").flatten());
    let first = launches.map(|d| d.path()).find(|p| p.ends_with("L001")).expect("the first launch");
    let records = packed_records(&first.join("quick.simulated.requests.jsonl.gz"));
    records.iter().map(|r| (number(&r["last_token_ns"]) - number(&r["sent_ns"])) / 1e9).collect()
}

#[test]
fn every_request_is_asked_and_an_edited_condition_measures_nothing() {
    let lab = Lab::with(&study("latency <= 1h and tpot >= 0s"));
    let all = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(all.0["objective"]["unit"], "/s");
    let duration = number(&baseline(&all)["metrics"]["duration_s"]);
    assert_close(number(&baseline(&all)["objective"]), 8.0 / duration, 1e-9);
    let journal = lab.read("state/journal.jsonl");
    // a limit between the requests: so many of them are good
    let mut times = latencies(&lab);
    times.sort_by(f64::total_cmp);
    let limit = f64::midpoint(times[0], times[7]);
    let good = times.iter().filter(|t| **t <= limit).count();
    assert!((1..8).contains(&good), "{times:?}");
    lab.write("study.plab", study(&format!("latency <= {}us", (limit * 1e6).round())));
    let some = lab.run(&EXEC).expect_code(0).report();
    assert_close(number(&baseline(&some)["objective"]), good as f64 / duration, 1e-9);
    assert_eq!(lab.read("state/journal.jsonl"), journal, "nothing is measured");
    // 8 requests, some 25 bytes each
    let run = journal.lines().find(|l| l.contains("\"ttft_us\"")).expect("a run");
    let from = run.find("\"requests\"").expect("requests");
    assert!(run[from..].find('}').expect("an end") < 8 * 40 + 60, "{}", &run[from..]);
}

#[test]
fn what_no_request_meets_recommends_nothing() {
    let lab = Lab::with(&study("ttft <= 1us"));
    let report = lab.run(&EXEC).expect_code(3).report();
    let why = report.0["no_recommendation"].as_str().expect("a reason");
    assert!(why.contains("more than 0 of goodput(ttft <= 1us): it is 0 on quick"), "{why}");
}

#[test]
fn rules_and_requirements_read_it_too() {
    let lines = "require goodput(latency <= 1h) >= 0.99 * request_rate\n\
                 prune slow \"too few are good\" when goodput(ttft <= 1us) < 1/s after 4 requests\n\
                 step one { vary seqs[1] }";
    let lab = Lab::with(&live_study(lines).replace("requests    8", "requests    400"));
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(report.outcome("one", "1"), "pruned");
    let reason = report.reason("one", "1");
    assert!(reason.contains("too few are good") && reason.contains("under load"), "{reason}");
}

#[test]
fn a_rule_under_load_knows_how_long_the_start_took() {
    let rule = "prune late \"starts late\" when startup > 1us and startup < 1h after 4 requests";
    let lab = Lab::with(
        &live_study(&format!("{rule}\n step one {{ vary seqs[1] }}"))
            .replace("requests    8", "requests    400"),
    );
    let report = lab.run(&EXEC).expect_code(0).report();
    assert!(report.reason("one", "1").contains("under load"), "{}", report.reason("one", "1"));
}
