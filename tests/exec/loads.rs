//! Loads of a live run: open and closed, stopped by a rule, and those that this version refuses.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{EXEC, Lab, binary, events, live_study, wait_for};

fn with_profile(lines: &str, profile: &str) -> String {
    let study = live_study(lines);
    let (from, to) =
        (study.find("profile quick").expect("a profile"), study.find("axis seqs").expect("an axis"));
    format!(
        "{}profile quick {{\n data random\n input 16\n output 8\n warmup 0\n{profile}\n}}\n{}",
        &study[..from],
        &study[to..]
    )
}

#[test]
fn an_open_loop_sends_by_its_schedule() {
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", "rate 20/s\n requests 20"));
    let report = lab.run(&EXEC).expect_code(0).report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    let number = |key: &str| baseline["metrics"][key].as_f64().unwrap_or_else(|| panic!("no {key}"));
    assert_eq!((number("planned") as u64, number("completed") as u64), (20, 20));
    // 19 gaps at 20 a second, stretched to that: it cannot take less, however fast the engine is
    assert!(number("duration_s") >= 0.94, "{}", number("duration_s"));
    assert!(baseline["metrics"]["ttft_from_schedule_ms"]["mean"].is_number());
}

#[test]
fn whole_answers_are_another_load_and_have_no_times_of_tokens() {
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", "concurrency 4\n requests 8"));
    let streamed = lab.run(&EXEC).expect_code(0).report();
    replaced(&lab, "requests 8", "requests 8\n stream false");
    let whole = lab.run(&EXEC).expect_code(0).report();
    let metrics = |report: &crate::support::Report| {
        let id = report.0["baseline"].as_str().expect("an id").to_owned();
        report.trial(&id)["metrics"].clone()
    };
    let (streamed, whole) = (metrics(&streamed), metrics(&whole));
    assert!(streamed["ttft_ms"]["p50"].is_number(), "{streamed}");
    // had the streamed run been taken for this load's, its times would stand here
    assert!(whole["ttft_ms"].is_null() && whole["tpot_ms"].is_null() && whole["itl_ms"].is_null(), "{whole}");
    assert!(whole["latency_ms"]["p50"].is_number() && whole["output_tokens"] == 64, "{whole}");
    assert!(lab.read("state/report.md").contains("whole answers, not streamed"));
}

#[test]
fn a_trace_is_played_at_its_times() {
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", "slowdown 2"));
    replaced(&lab, "data random\n input 16\n output 8", "data trace \"trace.csv\"");
    lab.run(&EXEC).expect_error(1, &["there is no trace at", "trace.csv"]);
    let line = |n: u32| format!("\n2024-05-10 00:00:0{}.0+00:00,12,{}", n / 4, n + 1);
    let lines: Vec<String> = (0..8).map(line).collect();
    lab.write("trace.csv", format!("TIMESTAMP,ContextTokens,GeneratedTokens{}\n", lines.concat()));
    let report = lab.run(&EXEC).expect_code(0).report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["load"], "at the trace's times, 2 times as slow");
    let number = |key: &str| baseline["metrics"][key].as_f64().unwrap_or_else(|| panic!("no {key}"));
    // what a trace's answers were long is asked for to the token
    assert_eq!((number("completed") as u64, number("output_tokens") as u64), (8, 36));
    assert!(number("duration_s") >= 1.99, "{}", number("duration_s"));
}

#[test]
fn conversations_are_carried_on() {
    let study = with_profile("step one { vary seqs[1] }", "concurrency 2\n think 20ms .. 30ms\n requests 6");
    let lab = Lab::with(&study);
    replaced(&lab, "data random\n input 16\n output 8", "data conversations \"talks.jsonl\"\n output 4");
    lab.run(&EXEC).expect_error(1, &["there is no file of conversations at", "talks.jsonl"]);
    let user = r#"{"role": "user", "content": "a b c"}"#;
    let line = format!(r#"{{"messages": [{user}, {{"role": "assistant", "content": "d"}}, {user}]}}"#);
    lab.write("talks.jsonl", format!("{line}\n{line}\n{line}\n"));
    let report = lab.run(&EXEC).expect_code(0).report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    let number = |key: &str| baseline["metrics"][key].as_f64().unwrap_or_else(|| panic!("no {key}"));
    assert_eq!((number("completed") as u64, number("output_tokens") as u64), (6, 24));
}

#[test]
fn a_range_of_rates_is_gone_through_in_one_run() {
    let rates = "rate 10/s .. 30/s\n arrivals ramp\n requests 21";
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", rates));
    let report = lab.run(&EXEC).expect_code(0).report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["load"], "10 to 30 requests/s (a ramp)");
    let number = |key: &str| baseline["metrics"][key].as_f64().unwrap_or_else(|| panic!("no {key}"));
    assert_eq!((number("planned") as u64, number("completed") as u64), (21, 21));
    // twenty gaps at twenty a second on average: it cannot take less, however fast the engine is
    assert!(number("duration_s") >= 0.99, "{}", number("duration_s"));
}

/// Ctrl-Z and `fg` in the middle of a load.
#[test]
fn a_client_that_was_stopped_measures_again() {
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", "concurrency 2\n requests 400"));
    let run = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    wait_for("a load", || events(&lab).iter().any(|e| e["event"] == "load" && e["done"].as_u64() > Some(9)));
    let perflab = Pid::from_raw(run.child.id() as i32);
    kill(perflab, Signal::SIGSTOP).expect("it lives");
    std::thread::sleep(Duration::from_millis(1500));
    kill(perflab, Signal::SIGCONT).expect("it lives");
    let report = run.wait().expect_code(0).report();
    let said: Vec<String> = events(&lab).iter().map(|e| e["text"].to_string()).collect();
    assert!(said.iter().any(|t| t.contains("held the client up") && t.contains("repeated")), "{said:?}");
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    let stall = baseline["metrics"]["client_stall_ms"].as_f64().expect("a number");
    assert!(stall < 1400.0, "the load that stood still does not count: {stall}");
}

#[test]
fn every_candidate_gets_the_same_requests() {
    let lab = Lab::with(&live_study("step one { vary seqs[1, 2] }"));
    let report = lab.run(&EXEC).expect_code(0).report();
    let tokens: Vec<_> = report.0["trials"]
        .as_array()
        .expect("trials")
        .iter()
        .map(|t| t["metrics"]["input_tokens"].clone())
        .collect();
    assert!(tokens.len() == 3 && tokens.iter().all(|t| *t == tokens[0]), "{tokens:?}");
}

#[test]
fn a_curve_is_refused_before_anything_starts() {
    let lab =
        Lab::with(&with_profile("step one { vary seqs[1] }\n curve on ladder", "concurrency 2\n requests 4"));
    lab.write("study.plab", lab.read("study.plab") + "profile ladder = quick { concurrency 1, 2 }\n");
    lab.run(&["check", "study.plab"]).expect_code(0);
    lab.run(&EXEC).expect_error(1, &["cannot carry out", "curve"]);
    assert!(!lab.path("state").exists());
}

fn replaced(lab: &Lab, from: &str, to: &str) {
    let study = lab.read("study.plab");
    assert!(study.contains(from), "{study}");
    lab.write("study.plab", study.replace(from, to));
}

#[test]
fn data_that_cannot_be_measured_yet_is_refused_before_anything_starts() {
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", "concurrency 2\n requests 4"));
    for (data, what) in [
        ("data random\n recipe sglang\n prefix 4", "recipe sglang"),
        ("data random\n recipe vllm\n output 4 .. 9", "range of lengths"),
    ] {
        lab.write("study.plab", with_profile("step one { vary seqs[1] }", "concurrency 2\n requests 4"));
        replaced(&lab, " output 8\n", if data.contains("output") { "" } else { " output 8\n" });
        replaced(&lab, "data random", data);
        lab.run(&EXEC).expect_error(1, &["cannot carry out", what]);
    }
    assert!(!lab.path("state").exists());
}

/// A tokenizer of a hundred words.
fn tokenizer(lab: &Lab) {
    let words: Vec<String> = (0..100).map(|i| format!("\"w{i}\":{i}")).collect();
    let text = format!(
        r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
        "pre_tokenizer":{{"type":"WhitespaceSplit"}},"post_processor":null,"decoder":null,
        "model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"w0"}}}}"#,
        words.join(",")
    );
    lab.write("tokenizer.json", text);
}

#[test]
fn prompts_of_files_are_asked_and_a_changed_file_is_measured_again() {
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", "concurrency 2\n requests 5"));
    replaced(&lab, "data random\n input 16\n output 8", "data jsonl \"prompts.jsonl\"");
    lab.run(&EXEC).expect_error(1, &["there is no file of prompts at", "prompts.jsonl"]);
    assert!(!lab.path("state").exists());
    let line = |n: usize| format!("{{\"prompt\": \"a b c d\", \"output_tokens\": {n}}}\n");
    lab.write("prompts.jsonl", [3, 4, 5].map(line).concat());
    let report = lab.run(&EXEC).expect_code(0).report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    let metrics = &baseline["metrics"];
    assert_eq!((&metrics["completed"], &metrics["planned"]), (&5.into(), &5.into()), "{metrics}");
    let output = metrics["output_tokens"].as_u64().expect("a number");
    assert!((3 + 4 + 5 + 3 + 3..=3 + 4 + 5 + 5 + 5).contains(&output), "each once, two again: {output}");
    let journal = lab.read("state/journal.jsonl");
    assert!(journal.contains("4 requests asked what an earlier one of the load had asked"), "{journal}");
    let to_measure = || -> Vec<String> {
        let plan = lab.run(&["plan", "study.plab", "--dir", "state", "--format", "json"]).expect_code(0);
        let candidates = plan.json()["steps"][0]["candidates"].as_array().expect("candidates").clone();
        let left = candidates.iter().filter(|c| c["state"] == "to_measure");
        left.map(|c| c["reason"].to_string()).collect()
    };
    assert_eq!(to_measure(), [] as [String; 0]);
    lab.write("prompts.jsonl", [3, 4, 6].map(line).concat());
    let reasons = to_measure();
    assert!(reasons.len() == 1 && reasons[0].contains("the data of its load changed"), "{reasons:?}");
}

#[test]
fn conversations_lie_where_the_site_says() {
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", "concurrency 2\n requests 6"));
    replaced(&lab, "data random\n input 16\n output 8", "data sharegpt\n tokenizer \"tokenizer.json\"");
    tokenizer(&lab);
    lab.run(&EXEC).expect_error(1, &["where the conversations of ShareGPT lie is not known"]);
    lab.write("site.plab", "site here {\n    data sharegpt at \"talks.json\"\n}\n");
    lab.run(&EXEC).expect_error(1, &["there is no file of conversations at", "talks.json"]);
    let words =
        |n: usize, from: usize| (from..from + n).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
    let talk = |n: usize| {
        let (question, answer) = (words(8, n), words(5, n + 9));
        format!(r#"{{"conversations":[{{"value":"{question}"}},{{"value":"{answer}"}}]}}"#)
    };
    let talks: Vec<String> = (0..9).map(talk).collect();
    lab.write("talks.json", format!("[{}]", talks.join(",")));
    let report = lab.run(&EXEC).expect_code(0).report();
    let metrics = &report.trial(report.0["baseline"].as_str().expect("an id"))["metrics"];
    assert_eq!((&metrics["completed"], &metrics["output_tokens"]), (&6.into(), &30.into()), "{metrics}");
}

#[test]
fn prompts_are_drawn_as_a_tool_draws_them() {
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", "concurrency 2\n requests 6"));
    replaced(&lab, "data random", "data random\n recipe vllm");
    lab.run(&EXEC).expect_error(1, &["need a tokenizer"]);
    tokenizer(&lab);
    replaced(&lab, "recipe vllm", "recipe vllm\n tokenizer \"tokenizer.json\"");
    let mut command = lab.command(&EXEC);
    command.env("XDG_CACHE_HOME", lab.path("caches"));
    let report = lab.start_command(command).wait().expect_code(0).report();
    let metrics = &report.trial(report.0["baseline"].as_str().expect("an id"))["metrics"];
    assert_eq!((&metrics["completed"], &metrics["output_tokens"]), (&6.into(), &48.into()), "{metrics}");
    assert!(metrics["input_tokens"].as_u64() >= Some(6 * 16), "{metrics}");
    // the launch of the candidate sends what that of the baseline sent
    let trials = report.0["trials"].as_array().expect("trials");
    let known: Vec<_> = trials.iter().filter_map(|t| t["metrics"].get("prompts_from_cache")).collect();
    assert_eq!((trials.len(), known), (2, vec![&6.into()]), "{trials:?}");
}

#[test]
fn prompts_share_the_prefixes_that_are_asked_for() {
    let lab = Lab::with(&with_profile("step one { vary seqs[1] }", "concurrency 1\n requests 12"));
    replaced(&lab, "data random", "data random\n prefix 64\n prefixes 2");
    let report = lab.run(&EXEC).expect_code(0).report();
    let metrics = &report.trial(report.0["baseline"].as_str().expect("an id"))["metrics"];
    assert!(metrics["input_tokens"].as_u64() >= Some(12 * 80), "{metrics}");
    // ten of twelve find theirs, in whole blocks
    let cached = metrics["prefix_hit_tokens"].as_u64().expect("a number");
    assert!((10 * 48..=12 * 80).contains(&cached), "{cached}");
}

#[test]
fn a_rule_ends_a_hopeless_load() {
    let rule = "prune slow \"not worth the wait\" when total_tps < 1000000000tok/s after 8 requests";
    let lab = Lab::with(&with_profile(
        &format!("{rule}\n step one {{ vary seqs[1] }}"),
        "concurrency 2\n requests 400",
    ));
    let report = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat()).expect_code(0).report();
    assert_eq!(report.outcome("one", "1"), "pruned");
    let reason = report.reason("one", "1");
    assert!(reason.contains("not worth the wait") && reason.contains("under load"), "{reason}");
    let completed = |id: &serde_json::Value| {
        let metrics = &report.trial(id.as_str().expect("an id"))["metrics"];
        metrics["completed"].as_f64().expect("a count")
    };
    // the candidate's load ended; the baseline is never pruned
    let done = completed(&report.row("one", "1")["trial"]);
    assert!((8.0..400.0).contains(&done), "{done}");
    assert!((completed(&report.0["baseline"]) - 400.0).abs() < 0.5);
    assert!(
        events(&lab)
            .iter()
            .any(|e| e["event"] == "load_ends" && e["outcome"].as_str().is_some_and(|o| o.contains("slow")))
    );
}

#[test]
fn confirming_launches_measure_the_other_profiles() {
    let lab = Lab::with(
        &(live_study("confirm on other\n step one { vary seqs[1] }")
            + "profile other = quick { requests 4 }\n"),
    );
    let report = lab.run(&EXEC).expect_code(0).report();
    let rows = report.0["confirm"].as_array().expect("rows");
    assert_eq!(
        rows.iter().map(|r| r["profile"].as_str().expect("a name")).collect::<Vec<_>>(),
        ["quick", "other"]
    );
    let winner_is_baseline = report.0["recommended"]["trial"] == report.0["baseline"];
    assert_eq!(report.0["cost"]["launches"], if winner_is_baseline { 3 } else { 4 });
    // a second run confirms nothing again
    assert_eq!(lab.run(&EXEC).expect_code(0).report(), report);
}

#[test]
fn the_event_stream_is_json_lines_and_stdout_is_the_report_alone() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let out = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat()).expect_code(0);
    out.report();
    let text = lab.read("events.jsonl");
    assert_eq!(text.lines().count(), events(&lab).len());
    let names: Vec<String> =
        events(&lab).iter().map(|e| e["event"].as_str().expect("a name").to_owned()).collect();
    assert_eq!(
        (names.first().map(String::as_str), names.last().map(String::as_str)),
        (Some("study"), Some("ends"))
    );
    for name in ["step", "launch_begins", "launch_ready", "phase", "load_ends", "launch_ends"] {
        assert!(names.iter().any(|n| n == name), "{name} is not in {names:?}");
    }
    // progress goes to stderr, unless it is unwanted
    assert!(out.stderr.contains("L001"));
    lab.write("study.plab", live_study("step one { vary seqs[2] }"));
    let quiet = lab.run(&[&EXEC[..], &["--quiet"]].concat()).expect_code(0);
    // a busy machine may have something to warn of
    assert!(quiet.stderr.lines().all(|line| line.starts_with("warning: ")), "{}", quiet.stderr);
}

#[test]
fn an_events_file_that_cannot_be_written_is_an_error() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    lab.run(&[&EXEC[..], &["--events", "none/events.jsonl"]].concat())
        .expect_error(1, &["none/events.jsonl", "--events"]);
}

#[test]
fn a_simulated_study_says_so_everywhere() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(report.0["simulated"], true);
    for file in ["state/report.md", "state/report.json", "state/recommended.sh"] {
        assert!(lab.read(file).contains("imulated"), "{file}");
    }
}

/// Whatever the engine is declared as: what the server says of itself counts.
#[test]
fn a_simulated_engine_behind_another_name_is_told() {
    let lab = Lab::new();
    let script = "#!/bin/sh\nexec 'BIN' sim --model \"$1\" --host \"$2\" --port \"$3\"\n";
    lab.write("engine.sh", script.replace("BIN", binary()));
    let engine = "engine wrapped \"W\" {\n serve \"sh engine.sh {model} {host} {port}\"\n \
                  ready get \"/health\" within 30s\n api openai\n}\n";
    let study = "engine mine = wrapped {}\nprofile quick {\n data random\n input 16\n output 4\n concurrency 2\n \
                 requests 8\n warmup 2\n}\nstudy s \"S\" {\n model \"Qwen/Qwen3-0.6B\"\n baseline mine\n repeat 1\n confirm on quick\n}\n";
    lab.write("study.plab", engine.to_owned() + study);
    let out = lab.run(&EXEC).expect_code(0);
    assert!(out.stderr.contains("perflab's own simulator"), "{}", out.stderr);
    assert_eq!(out.report().0["simulated"], true);
    assert!(lab.read("state/report.md").contains("imulated"));
    let trial = std::fs::read_dir(lab.path("state/trials"))
        .expect("trials")
        .next()
        .expect("one")
        .expect("one")
        .path();
    assert!(trial.join("L001/quick.simulated.requests.jsonl.gz").is_file());
}
