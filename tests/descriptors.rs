//! perflab itself without enough open files: from the start, and under a load.

use std::process::Command;

use crate::faults::{count, journal};
use crate::support::{EXEC, Lab, Output, binary, live_study, marked};

/// The study where no process may have more open files than this.
fn exec(lab: &Lab, files: usize) -> Output {
    let inner = lab.command(&EXEC);
    let mut shell = Command::new("sh");
    // the words that follow the script are its arguments
    shell.args(["-c", &format!("ulimit -n {files}; exec \"$@\""), "sh", binary()]).args(inner.get_args());
    shell.current_dir(inner.get_current_dir().expect("a lab")).env("COLUMNS", "80").env("NO_COLOR", "1");
    lab.start_command(shell).wait()
}

#[test]
fn descriptors_of_whoever_started_perflab_do_not_reach_an_engine() {
    let lab = Lab::with(
        &live_study("step one { vary seqs[1] }")
            .replace("sim { --max-model-len=4Ki }", "sim { serve \"sh engine.sh {model} {host} {port}\" }"),
    );
    let sim = format!("exec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"", binary());
    lab.write(
        "engine.sh",
        format!("for fd in 7 9; do [ ! -e /proc/$$/fd/$fd ] || echo $fd >> leaked; done\n{sim}\n"),
    );
    let inner = lab.command(&EXEC);
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 7</dev/null 9>/dev/null \"$@\"", "sh", binary()]).args(inner.get_args());
    shell.current_dir(inner.get_current_dir().expect("a lab")).env("COLUMNS", "80").env("NO_COLOR", "1");
    lab.start_command(shell).wait().expect_code(0);
    assert!(!lab.path("leaked").exists(), "{}", lab.read("leaked"));
}

#[test]
fn a_limit_that_does_not_do_is_refused_before_anything_starts() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    for files in [4, 6, 8, 10, 14, 20, 30, 60, 67] {
        let out = exec(&lab, files);
        assert!(!out.stderr.contains("panicked"), "{files}:\n{}", out.stderr);
        assert!(out.code == 1 || (files < 8 && out.code == 127), "{files}: {}\n{}", out.code, out.stderr);
        if files >= 20 {
            assert!(out.stderr.contains("this process may open") && out.stderr.contains("ulimit -Hn"));
        }
        assert_eq!(journal(&lab), "", "{files}: nothing was begun");
    }
    exec(&lab, 68).expect_code(0);
    assert_eq!(count(&journal(&lab), "run"), 2);
}

#[test]
fn a_client_s_trial_that_has_too_few_files_is_refused_before_it_begins() {
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "ulimit -n 512; exec \"$@\"",
        "sh",
        binary(),
        "doctor",
        "--client",
        "--streams",
        "3000",
    ]);
    let lab = Lab::new();
    lab.start_command(shell).wait().expect_error(1, &["3000 streams", "ulimit -n", "112 at most"]);
}

#[test]
fn a_limit_that_is_reached_under_load_is_no_result_of_the_engine() {
    // more connections at once than can be had, and no profile says so before
    let slow = live_study("step one { vary seqs[12] }")
        .replace("concurrency 4", "rate 400/s")
        .replace("requests    8", "requests    400")
        .replace("output      8", "output      400");
    let lab = Lab::with(&slow);
    let out = exec(&lab, 72).expect_code(75);
    for words in ["client at its limit", "Too many open files"] {
        assert!(out.stderr.contains(words), "`{words}`:\n{}", out.stderr);
    }
    assert_eq!(marked(&lab), [0_i32; 0]);
    let report: serde_json::Value = serde_json::from_str(&lab.read("state/report.json")).expect("a report");
    assert!(report["recommended"].is_null());
    // with enough of them the same command measures what nothing is known of
    let before = journal(&lab);
    lab.write("study.plab", live_study("step one { vary seqs[12] }"));
    lab.run(&EXEC).expect_code(0);
    let after = journal(&lab);
    assert!(after.starts_with(&before) && count(&after, "run") >= 2);
}
