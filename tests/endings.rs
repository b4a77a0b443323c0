//! What a study ends with: a signal after its last launch costs no report, `--events` overwrites nothing that is needed, drafts of the
//! dead go, and a file that may not grow is a full disk.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{EXEC, Lab, events, live_study, wait_for};

fn measured() -> Lab {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    lab.run(&EXEC).expect_code(0);
    lab
}

/// Sends signals to an `exec` that has nothing left to measure, each once `when` holds.
fn interrupt(lab: &Lab, words: &[&str], signals: &[(&dyn Fn() -> bool, Signal)]) -> ExitStatus {
    let mut command = lab.command(&[&EXEC[..], words].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("perflab starts");
    for (when, signal) in signals {
        let over = |child: &mut std::process::Child| child.try_wait().expect("a child").is_some();
        while !when() && !over(&mut child) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = kill(Pid::from_raw(child.id() as i32), *signal);
    }
    child.wait().expect("it ends")
}

fn forget(lab: &Lab) {
    for file in ["report.md", "report.json", "recommended.sh", "live.json"] {
        std::fs::remove_file(lab.path("state").join(file)).expect("it was written");
    }
}

#[test]
fn a_signal_after_the_last_launch_costs_no_report() {
    let lab = measured();
    for delay in [0, 1, 2, 3, 5, 8] {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            forget(&lab);
            lab.write("events.jsonl", "");
            let ends = || {
                let ends = events(&lab).iter().any(|e| e["event"] == "ends");
                std::thread::sleep(Duration::from_millis(if ends { delay } else { 0 }));
                ends
            };
            let words = ["--events", "events.jsonl", "--notify", "touch told"];
            let status = interrupt(&lab, &words, &[(&ends, signal)]);
            // 75 if it came before the end was heard
            assert!(matches!(status.code(), Some(0 | 75)), "{signal} after {delay} ms: {status}");
            let live: serde_json::Value = serde_json::from_str(&lab.read("state/live.json")).expect("JSON");
            assert_eq!(live["ended"]["status"], status.code().expect("a code"));
            assert!(lab.read("state/report.json").ends_with("}\n"));
            assert!(lab.path("state/report.md").exists() && lab.path("state/recommended.sh").exists());
        }
    }
}

#[test]
fn any_signal_ends_the_command_of_notify() {
    let lab = measured();
    forget(&lab);
    let began = Instant::now();
    let told = || lab.path("told").exists();
    // shells lose a SIGINT now and then; this one always does
    let command = "trap '' INT; touch told; sleep 50; touch slept";
    let status = interrupt(&lab, &["--notify", command], &[(&told, Signal::SIGINT)]);
    assert_eq!(status.code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(45), "it was waited for");
    assert!(lab.path("state/report.md").exists() && !lab.path("slept").exists());
}

#[test]
fn a_second_signal_ends_the_command_of_notify_at_once() {
    let lab = measured();
    let command = "trap 'touch once' TERM; echo $$ > shell; touch told; while :; do sleep 0.05; done";
    let (told, once) = (|| lab.path("told").exists(), || lab.path("once").exists());
    let signals: [(&dyn Fn() -> bool, Signal); 2] = [(&told, Signal::SIGTERM), (&once, Signal::SIGTERM)];
    let status = interrupt(&lab, &["--notify", command], &signals);
    assert_eq!(status.signal(), Some(Signal::SIGTERM as i32));
    let shell = lab.read("shell");
    let stat = format!("/proc/{}/stat", shell.trim());
    let runs = || std::fs::read_to_string(&stat).is_ok_and(|s| !s.contains(") Z "));
    wait_for("the command to be gone", || !runs());
}

#[test]
fn events_overwrite_nothing_that_is_needed() {
    let lab =
        Lab::with(&format!("use \"used.plab\" {{ other }}\n{}", live_study("step one { vary seqs[1] }")));
    lab.write("used.plab", "axis other = --max-num-seqs=[3]\n");
    lab.write("site.plab", "site here { }\n");
    lab.run(&EXEC).expect_code(0);
    std::fs::hard_link(lab.path("state/journal.jsonl"), lab.path("hard")).expect("a link");
    std::os::unix::fs::symlink("state/trials/new", lab.path("dangling")).expect("a link");
    std::os::unix::fs::symlink("state", lab.path("linked")).expect("a link");
    let (study, journal) = (lab.read("study.plab"), lab.read("state/journal.jsonl"));
    let needed = [
        "study.plab",
        "./state/../study.plab",
        "used.plab",
        "site.plab",
        "hard",
        "dangling",
        "linked/journal.jsonl",
        "state/lock",
        "state/live.json",
        "state/report.md",
        "state/recommended.sh",
        "state/trials/x/y",
    ];
    for file in needed {
        lab.run(&[&EXEC[..], &["--events", file]].concat()).expect_error(1, &[file, "`--events` overwrites"]);
    }
    assert_eq!((lab.read("study.plab"), lab.read("state/journal.jsonl")), (study, journal));
    lab.run(&[&EXEC[..], &["--events", "state/mine.jsonl"]].concat()).expect_code(0);
    assert!(lab.read("state/mine.jsonl").contains("\"ends\""));
}

#[test]
fn events_do_not_go_where_the_report_goes() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let out = lab.run(&[&EXEC[..], &["--events", "-"]].concat()).expect_code(2);
    for word in ["--events", "standard output holds the report", "./-"] {
        assert!(out.stderr.contains(word), "`{word}` is missing in {}", out.stderr);
    }
    assert!(out.stdout.is_empty() && !lab.path("-").exists(), "{}", out.stdout);
    lab.run(&[&EXEC[..], &["--events", "./-"]].concat()).expect_code(0);
    assert!(lab.read("-").contains("\"ends\""));
}

#[test]
fn drafts_of_the_dead_are_removed() {
    let lab = measured();
    // no process has such a number
    for draft in [".live.json.4194999", ".report.json.4194999"] {
        lab.write(&format!("state/{draft}"), "{");
    }
    lab.run(&EXEC).expect_code(0);
    let names = std::fs::read_dir(lab.path("state")).expect("a directory").flatten();
    let drafts: Vec<_> = names.map(|e| e.file_name()).filter(|n| n.as_encoded_bytes()[0] == b'.').collect();
    assert!(drafts.is_empty(), "{drafts:?}");
}

#[test]
fn a_file_that_may_not_grow_is_a_full_disk() {
    let lab = Lab::with(&live_study("step one { vary seqs[1, 2, 4] }"));
    let limited = format!("ulimit -f 8; exec '{}' {}", crate::support::binary(), EXEC.join(" "));
    let out = std::process::Command::new("bash")
        .args(["-c", &limited])
        .current_dir(lab.path(""))
        .output()
        .expect("bash starts");
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(75), "{said}");
    assert!(said.contains("File too large") && said.contains("help:"), "{said}");
    assert!(said.contains("what could not be written does not count"), "{said}");
    let shown = String::from_utf8_lossy(&out.stdout);
    assert!(!shown.contains("files: ") || lab.path("state/report.md").exists(), "{shown}");
    lab.run(&EXEC).expect_code(0);
}
