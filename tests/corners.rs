//! Corners of the command line: places that take nothing, terminals that know little, words for one.

use crate::support::{EXEC, Lab, Terminal, binary, live_study};

fn small() -> Lab {
    Lab::with(&live_study("step one { vary seqs[1] }"))
}

#[test]
fn events_that_find_no_room_say_so() {
    let lab = small();
    let out = lab.run(&[&EXEC[..], &["--events", "/dev/full"]].concat()).expect_code(0);
    assert!(out.stderr.contains("No space left on device"), "{}", out.stderr);
    assert!(!out.stderr.contains("broken pipe"), "{}", out.stderr);
}

#[test]
fn an_output_that_is_closed_is_a_result_that_was_lost() {
    let lab = small();
    let command = format!("'{}' exec study.plab --checks warn --dir state >&-", binary());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &command]).current_dir(lab.path("."));
    let out = lab.start_command(shell).wait().expect_code(1);
    assert!(out.stderr.contains("standard output: it is closed"), "{}", out.stderr);
    // nothing is lost but what was to be printed
    lab.run(&["report", "study.plab", "--dir", "state"]).expect_code(0);
}

#[test]
fn one_of_a_kind_is_called_so() {
    let lab = small();
    let out = lab.run(&["exec", "study.plab", "--checks", "warn", "--dir", "state"]).expect_code(0);
    assert!(out.stderr.contains(": 1 step, at most 2 launches to come"), "{}", out.stderr);
    assert!(!out.stdout.contains("clean GPUs"), "no GPU was asked for: {}", out.stdout);
    lab.write("study.plab", live_study("step one { vary seqs[1, 2] }"));
    let plan = lab
        .run(&["plan", "study.plab", "--dir", "state", "--checks", "warn", "--format", "md"])
        .expect_code(0);
    assert!(plan.stdout.contains("**At most 1 launch to come**"), "{}", plan.stdout);
    let out = lab.run(&[&EXEC[..], &["--budget", "1trials"]].concat()).expect_code(75);
    assert!(
        out.stdout.contains("budget of 1 trial has no room") && out.stdout.contains("it takes 1 trial)"),
        "{}",
        out.stdout
    );
}

#[test]
fn a_budget_below_nothing_is_told_of_in_our_words() {
    small().run(&["exec", "study.plab", "--budget", "-1h"]).expect_error(2, &["write for example 6h"]);
}

#[test]
fn a_dumb_terminal_gets_no_escape_sequences() {
    let lab = small();
    let mut command = lab.command(&["exec", "study.plab", "--checks", "warn", "--dir", "state"]);
    command.env("TERM", "dumb").env_remove("NO_COLOR");
    let mut terminal = Terminal::start(command);
    assert_eq!(terminal.wait(), 0);
    let text = terminal.text().to_owned();
    assert!(text.contains("Baseline") && !text.contains('\x1b'), "{text:?}");
}

#[test]
fn doctor_without_a_home_names_what_is_missing() {
    let lab = Lab::new();
    let mut command = lab.command(&["doctor"]);
    for name in ["HOME", "HF_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    let out = lab.start_command(command).wait();
    assert!(out.stdout.contains("there is no place for them"), "{}", out.stdout);
    assert!(out.stdout.lines().all(|l| !l.trim_end().ends_with("free in")), "{}", out.stdout);
}

#[test]
fn what_is_quoted_ends_behind_a_masked_secret() {
    let lab = small();
    lab.write("site.plab", "site lab { engine sim via url \"ftp://host/x?token=abcdefgh123\" }\n");
    let out = lab.run(&["check", "study.plab"]).expect_code(1);
    assert!(out.stderr.contains("?token=***`"), "{}", out.stderr);
    lab.write("site.plab", "site lab { engine sim via url \"ftp://host/x?sv=1&sig=abcdefgh123\" }\n");
    let out = lab.run(&["check", "study.plab"]).expect_code(1);
    assert!(out.stderr.contains("sig=***") && !out.stderr.contains("abcdefgh123"), "{}", out.stderr);
}
