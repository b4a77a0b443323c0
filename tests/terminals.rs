//! Terminals that are closed while a study runs on them, once and twice, and terminals that a study is asked on.

use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::signals::{assert_sound, endless, lock_is_free, stubborn};
use crate::support::{EXEC, Lab, Terminal, binary, events, live_study, marked, wait_for};

fn exec(lab: &Lab) -> Command {
    lab.command(&[&EXEC[..], &["--events", "events.jsonl"]].concat())
}

fn is_loading(lab: &Lab) -> bool {
    events(lab).iter().any(|e| e["event"] == "load")
}

/// Starts on a terminal and waits until requests are sent.
fn start_loading(lab: &Lab, command: Command) -> Terminal {
    let mut terminal = Terminal::start(command);
    let began = Instant::now();
    while !is_loading(lab) {
        terminal.text();
        assert!(began.elapsed() < Duration::from_mins(2), "no load:\n{}", terminal.text());
        std::thread::sleep(Duration::from_millis(5));
    }
    terminal
}

fn hang_up(terminal: &Terminal) {
    kill(Pid::from_raw(terminal.child.id() as i32), Signal::SIGHUP).expect("it lives");
}

/// The same command, at last without anything to keep it, ends the study, and lost the running trial alone.
#[track_caller]
fn goes_on(lab: &Lab) {
    lab.write("study.plab", live_study("step one { vary seqs[1] }"));
    let report = lab.run(&EXEC).expect_code(0).report();
    assert_eq!((&report.0["cost"]["trials"], &report.0["cost"]["launches"]), (&2.into(), &3.into()));
}

#[test]
fn a_closed_terminal_ends_a_study_cleanly() {
    let lab = endless();
    let mut terminal = start_loading(&lab, exec(&lab));
    terminal.close();
    assert_eq!(terminal.wait(), 75);
    assert_sound(&lab);
    let report: serde_json::Value = serde_json::from_str(&lab.read("state/report.json")).expect("a report");
    assert_eq!(report["complete"], false);
    goes_on(&lab);
}

#[test]
fn a_closed_terminal_of_a_shell_ends_a_study_cleanly() {
    let lab = endless();
    let mut command = exec(&lab);
    let words: Vec<String> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("'{}' {}; echo ended", binary(), words.join(" ")));
    shell.current_dir(command.get_current_dir().expect("a lab")).env("COLUMNS", "80");
    command = shell;
    let mut terminal = start_loading(&lab, command);
    terminal.close();
    // the shell is gone at once, and perflab is nobody's child
    assert_eq!(terminal.wait(), 1000 + Signal::SIGHUP as i32);
    wait_for("the end of the study", || lock_is_free(&lab));
    assert_sound(&lab);
    let gone = |journal: String| journal.lines().any(|l| l.contains("\"gone\":") || l.contains("\"lost\":"));
    assert!(gone(lab.read("state/journal.jsonl")), "the launch was ended in order");
    goes_on(&lab);
}

#[test]
fn a_second_hangup_kills_at_once() {
    let lab = stubborn();
    let mut terminal = start_loading(&lab, exec(&lab));
    hang_up(&terminal);
    terminal.wait_for("the first to be heard", |text| text.contains("once more kills"));
    std::thread::sleep(Duration::from_millis(2500));
    assert!(!marked(&lab).is_empty());
    terminal.close();
    assert_eq!(terminal.wait(), 129);
    assert_sound(&lab);
}

#[test]
fn one_terminal_that_is_closed_says_so_more_than_once() {
    let lab = stubborn();
    let mut terminal = start_loading(&lab, exec(&lab));
    hang_up(&terminal);
    terminal.wait_for("the first to be heard", |text| text.contains("once more kills"));
    hang_up(&terminal);
    terminal.close();
    std::thread::sleep(Duration::from_millis(800));
    assert!(!marked(&lab).is_empty(), "the engine still has its time to leave");
    kill(Pid::from_raw(terminal.child.id() as i32), Signal::SIGTERM).expect("it lives");
    assert_eq!(terminal.wait(), 143);
    assert_sound(&lab);
}

/// Ctrl-S and Ctrl-Q.
const STOP: &str = "\u{13}";
const GO_ON: &str = "\u{11}";

#[test]
fn a_terminal_that_takes_nothing_holds_nothing_up() {
    let study = live_study("step one { vary seqs[1] }").replace("requests    8", "requests    200");
    let lab = Lab::with(&study);
    let mut terminal = start_loading(&lab, exec(&lab));
    terminal.types(STOP);
    wait_for("the report's files", || lab.path("state/report.json").exists());
    assert_eq!(marked(&lab), [0i32; 0]);
    terminal.types(GO_ON);
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.text().contains("perflab.report/1"), "what was held back comes now");
}

#[test]
fn signals_are_heard_behind_a_terminal_that_takes_nothing() {
    let lab = endless();
    let mut terminal = start_loading(&lab, exec(&lab));
    terminal.types(STOP);
    std::thread::sleep(Duration::from_millis(500));
    let pid = Pid::from_raw(terminal.child.id() as i32);
    kill(pid, Signal::SIGTERM).expect("it lives");
    wait_for("the report's files", || lab.path("state/report.json").exists());
    assert_eq!(marked(&lab), [0i32; 0]);
    kill(pid, Signal::SIGTERM).expect("its last words wait");
    assert_eq!(terminal.wait(), 1000 + Signal::SIGTERM as i32);
    goes_on(&lab);
}

#[test]
fn who_is_started_with_nohup_outlives_the_terminal() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }").replace("requests    8", "requests    200"));
    let inner = exec(&lab);
    let mut command = Command::new("nohup");
    command.arg(binary()).args(inner.get_args()).current_dir(inner.get_current_dir().expect("a lab"));
    let mut terminal = start_loading(&lab, command);
    terminal.close();
    assert_eq!(terminal.wait(), 0);
    assert_sound(&lab);
    assert!(lab.read("nohup.out").contains("perflab.report/1"), "the report is where nohup said");
}
