//! Engines that do not do what they should: not there, gone at once, never ready, talkative, mortal, in each other's way.

use std::fs;
use std::net::TcpListener;

use crate::support::{EXEC, Lab, Output, binary, events, live_study, marked, runs, wait_for};

/// An engine that is a script of the test: it serves with the simulated engine unless `--mode` says otherwise.
const SCRIPTED: &str = r#"
engine scripted "Scripted" {
    version "1"
    serve   "sh engine.sh {model} {host} {port}"
    ready   get "/health" within 1s
    api     openai
    args    joined
    stop    sigterm within 5s
    failure "port in use" when log matches "ddress already in use"
    failure "no device"   when log matches "no such device: (.*)"
    flag --mode text
}
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
axis mode = --mode=[bad, fine]
"#;

/// A lab with a scripted engine; `$1 $2 $3` are model, host and port, `serve` goes on as the simulated engine.
fn scripted(script: &str) -> Lab {
    let lab = Lab::new();
    let engine = format!(
        "model=$1 host=$2 port=$3 mode=$4\nserve() {{ exec '{}' sim --model \"$model\" --host \"$host\" --port \"$port\"; }}\n{script}\nserve\n",
        binary()
    );
    lab.write("engine.sh", engine);
    let study = "study s \"S\" {\n model \"Qwen/Qwen3-0.6B\"\n baseline scripted\n maximize total_tps on quick\n repeat 1\n step mode { vary mode }\n}\n";
    lab.write("study.plab", SCRIPTED.to_owned() + study);
    lab
}

/// Only a candidate does what the script does for `--mode=bad`.
fn bad_candidate(script: &str) -> Lab {
    scripted(&format!("if [ \"$mode\" = --mode=bad ]; then\n{script}\nfi"))
}

fn bad_baseline(script: &str) -> Lab {
    scripted(script)
}

/// The study ends with nothing to recommend, says why, and leaves nothing behind.
#[track_caller]
fn expect_failed_baseline(lab: &Lab, words: &[&str]) -> Output {
    expect_failed_with(lab, 3, words)
}

#[track_caller]
fn expect_failed_with(lab: &Lab, code: i32, words: &[&str]) -> Output {
    let out = lab.run(&EXEC).expect_code(code);
    let report = out.report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["outcome"], "failed", "{baseline}");
    let reason = baseline["reason"].as_str().expect("a reason");
    for word in words {
        assert!(reason.contains(word), "`{word}` is not in: {reason}");
    }
    let why = report.0["no_recommendation"].as_str().expect("a reason");
    assert!(why.contains("baseline") && why.contains("`exec --again baseline` measures it again"), "{why}");
    assert_eq!(marked(lab), [0i32; 0]);
    out
}

#[test]
fn an_engine_that_is_not_there() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }").replace(
        "engine small \"Small\" = sim { --max-model-len=4Ki }",
        "engine small \"Small\" = sim {\n serve \"perflab-no-such-engine {model} {host} {port}\"\n}",
    ));
    expect_failed_baseline(&lab, &["engine not found", "perflab-no-such-engine"]);
}

/// The header of a program for a processor that no test runs on.
fn foreign_program() -> Vec<u8> {
    let mut header = vec![0; 128];
    header[..7].copy_from_slice(b"\x7fELF\x02\x02\x01");
    (header[17], header[19], header[23], header[53]) = (2, 22, 1, 64);
    header
}

/// perflab itself, with a loader that is nowhere: the kernel says that the program is not there.
fn loaderless_program() -> Vec<u8> {
    let mut program = std::fs::read(binary()).expect("a program");
    let at =
        program.windows(7).position(|bytes| bytes == b"/lib64/" || bytes == b"/lib/ld").expect("a loader");
    program[at + 1..at + 4].copy_from_slice(b"gon");
    program
}

#[test]
fn an_engine_that_cannot_be_run_is_a_finding_and_not_this_machine_s_failure() {
    use std::os::unix::fs::PermissionsExt as _;
    for (text, mode, words) in [
        (foreign_program(), 0o755, "a program for another processor (s390x)"),
        (loaderless_program(), 0o755, "No such file or directory"),
        ("#!/bin/sh\n".into(), 0o644, "may not be executed here (mode 644)"),
        (
            "#!/moved/away/bin/python3\nimport vllm\n".into(),
            0o755,
            "`/moved/away/bin/python3`, which is not there",
        ),
        ("#!/bin/sh\r\nexit 0\r\n".into(), 0o755, "`/bin/sh\\r`, which is not there"),
        (Vec::new(), 0o755, "it is empty"),
    ] {
        let study = live_study("step one { vary engine[other] }");
        let other = "engine other \"Other\" = sim {\n serve \"./engine {model} {host} {port}\"\n}\nprofile";
        let lab = Lab::with(&study.replacen("profile", other, 1));
        let engine = lab.write("engine", text);
        std::fs::set_permissions(&engine, std::fs::Permissions::from_mode(mode)).expect("a mode");
        // a candidate's failure ends no study
        let report = lab.run(&EXEC).expect_code(0).report();
        let other = report.0["trials"].as_array().expect("trials").iter().find(|t| t["outcome"] == "failed");
        let reason = other.expect("one that failed")["reason"].as_str().expect("a reason").to_owned();
        assert!(reason.contains("engine cannot be run") && reason.contains(words), "{reason}");
        // and a baseline's does, as any other that is not valid
        lab.write("study.plab", lab.read("study.plab").replace("baseline small", "baseline other"));
        expect_failed_baseline(&lab, &["engine cannot be run", words]);
        // mended, it is tried again
        std::fs::set_permissions(&engine, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        lab.write("engine", format!("#!/bin/sh\nexec '{}' sim --model $1 --host $2 --port $3\n", binary()));
        lab.run(&EXEC).expect_code(0);
    }
}

#[test]
fn an_engine_that_exits_at_once() {
    let lab = bad_baseline("echo 'fatal: no such device: gpu7' >&2; exit 3");
    expect_failed_baseline(&lab, &["no device", "gpu7"]);
}

#[test]
fn an_engine_that_exits_without_a_word() {
    let lab = bad_baseline("exit 7");
    expect_failed_baseline(&lab, &["exit code 7"]);
}

#[test]
fn an_engine_that_ends_well_but_does_not_serve() {
    let lab = bad_baseline("echo all done; exit 0");
    expect_failed_baseline(&lab, &["did not start"]);
}

#[test]
fn an_engine_that_is_never_ready() {
    let lab = bad_baseline("echo loading; sleep 1000");
    let out = expect_failed_baseline(&lab, &["never ready", "loading"]);
    assert!(out.stderr.contains("made no progress"), "{}", out.stderr);
}

#[test]
fn a_failing_candidate_keeps_its_reason_and_the_study_goes_on() {
    let lab = bad_candidate("echo 'fatal: no such device: gpu7' >&2; exit 3");
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(report.outcome("mode", "bad"), "failed");
    assert!(report.reason("mode", "bad").contains("gpu7"));
    assert!(["ok", "flagged"].contains(&report.outcome("mode", "fine")));
    assert!(report.recommended().is_some());
    assert_eq!(report.0["cost"]["launches"], 3);
    assert_eq!(marked(&lab), [0i32; 0]);
    // a failure is a result: it is not tried again
    let again = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(again, report);
}

#[test]
fn a_gigabyte_of_log_fills_no_disk() {
    let lab =
        bad_candidate("echo first words; head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo last words");
    let report = lab.run(&EXEC).expect_code(0).report();
    assert!(["ok", "flagged"].contains(&report.outcome("mode", "bad")), "{}", report.reason("mode", "bad"));
    let trial = report.row("mode", "bad")["trial"].as_str().expect("an id").to_owned();
    let launches = fs::read_dir(lab.path("state/trials").join(trial)).expect("launches").flatten();
    let logs: Vec<_> = launches.map(|l| l.path().join("server.log")).collect();
    let [log] = logs.as_slice() else { panic!("{logs:?}") };
    let size = fs::metadata(log).expect("a log").len();
    assert!(size < 20 << 20, "{size} bytes");
    let text = String::from_utf8_lossy(&fs::read(log).expect("a log")).into_owned();
    assert!(text.starts_with("first words") && text.contains("last words"));
}

#[test]
fn an_engine_that_dies_under_load() {
    // long answers: the load lasts until the server is killed
    let study = live_study("step one { vary seqs[1, 2] }").replace("output      8", "output      3000");
    let lab = Lab::with(&study.replace("requests    8", "requests    4"));
    let run = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    let loading = |launch: &str| {
        let in_load =
            |e: &serde_json::Value| e["event"] == "phase" && e["launch"] == launch && e["phase"] == "load";
        wait_for("the load to begin", || events(&lab).iter().any(in_load));
    };
    loading("L001");
    // the baseline is let through; the next dies
    loading("L002");
    let servers: Vec<i32> = marked(&lab).into_iter().filter(|pid| runs(*pid, "sim --model")).collect();
    assert!(!servers.is_empty());
    for pid in servers {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
    let report = run.wait().expect_code(0).report();
    assert_eq!(report.outcome("one", "1"), "failed");
    assert!(report.reason("one", "1").contains("failed under load"), "{}", report.reason("one", "1"));
    assert!(
        report.reason("one", "1").contains("crash under load (SIGKILL)"),
        "{}",
        report.reason("one", "1")
    );
    assert!(["ok", "flagged"].contains(&report.outcome("one", "2")));
    assert_eq!(marked(&lab), [0i32; 0]);
}

/// Nobody can tell who sent SIGKILL: it is a finding, ends a study whose baseline it met, and says how it is measured again.
#[test]
fn a_baseline_that_somebody_killed_is_measured_again_where_the_user_says_so() {
    let study = live_study("step one { vary seqs[1] }").replace("output      8", "output      1000");
    let lab = Lab::with(&study);
    let run = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    wait_for("the load to begin", || {
        events(&lab).iter().any(|e| e["event"] == "phase" && e["phase"] == "load")
    });
    for pid in marked(&lab).into_iter().filter(|pid| runs(*pid, "sim --model")) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
    run.wait().expect_code(3);
    let again = lab.run(&["exec", "study.plab", "--checks", "warn", "--dir", "state"]).expect_code(3).stdout;
    let said: String = again.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in [
        "crash under load (SIGKILL)",
        "`exec --again baseline` measures it again",
        "Of SIGKILL nobody tells who sent it",
    ] {
        assert!(said.contains(word), "`{word}` is missing in: {again}");
    }
    let launches = |report: &crate::support::Report| report.0["cost"]["launches"].as_u64();
    let out = lab.run(&[&EXEC[..], &["--again", "baseline"]].concat()).expect_code(0).report();
    assert_eq!(launches(&out), Some(3), "the baseline again, and then the candidate");
    assert!(out.recommended().is_some());
}

#[test]
fn an_engine_that_insists_on_a_port_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let lab = bad_baseline(&format!("port={port}"));
    // no finding about the study: the same command tries again
    let out = expect_failed_with(&lab, 75, &["port in use"]);
    assert!(out.stderr.contains("trying another port"), "{}", out.stderr);
    assert!(out.stderr.contains("tries again"), "{}", out.stderr);
}

#[test]
fn an_upgrade_in_the_middle_of_a_study_changes_nothing() {
    let lab = Lab::with(&live_study("step one { vary seqs[1, 2] }"));
    let copy = lab.path("perflab");
    fs::copy(binary(), &copy).expect("a copy");
    let mut command = std::process::Command::new(&copy);
    command.args(EXEC).args(["--events", "events.jsonl"]).current_dir(lab.path(""));
    let run = lab.start_command(command);
    wait_for("the first launch", || events(&lab).iter().any(|e| e["event"] == "launch_ready"));
    fs::remove_file(&copy).expect("removed");
    let report = run.wait().expect_code(0).report();
    for label in ["1", "2"] {
        assert!(["ok", "flagged"].contains(&report.outcome("one", label)), "{}", report.reason("one", label));
    }
    assert_eq!(marked(&lab), [0i32; 0]);
}

#[test]
fn an_engine_that_answers_no_request() {
    // ready, and then nothing but 404: it serves another model
    let lab = bad_candidate("model=some/other-model");
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!(report.outcome("mode", "bad"), "failed");
    assert!(
        report.reason("mode", "bad").contains("no request succeeded"),
        "{}",
        report.reason("mode", "bad")
    );
}

#[test]
fn an_engine_that_will_not_stop_is_killed() {
    let lab = bad_candidate("");
    let script = format!(
        "trap '' TERM INT\n'{}' sim --model \"$1\" --host \"$2\" --port \"$3\" &\nwhile :; do sleep 1; done\n",
        binary()
    );
    lab.write("engine.sh", script);
    lab.write("study.plab", lab.read("study.plab").replace("sigterm within 5s", "sigterm within 1s"));
    let report = lab.run(&EXEC).expect_code(0).report();
    assert!(["ok", "flagged"].contains(&report.outcome("mode", "bad")));
    assert_eq!(marked(&lab), [0i32; 0]);
}
