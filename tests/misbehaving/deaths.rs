//! Engines that are killed or stopped, whole or in part, while they are loaded.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::lab::{bad_candidate, exec, expect_failure, finish, noted, stages};
use crate::support::{Lab, Report, events, wait_for};

#[test]
fn a_leader_that_is_killed_under_load_is_one_failed_trial() {
    let lab = expect_failure(
        "echo loading; misbehave 'kills itself'",
        &["failed under load", "crash under load (SIGKILL)"],
    );
    assert!(stages(&lab).iter().any(|e| e["to"] == "loading"));
    let report: Report = lab.run(&exec()).expect_code(0).report();
    assert_eq!(report.0["cost"]["launches"], 2, "a finding is not tried again");
}

#[test]
fn a_stopped_engine_is_given_up_and_killed() {
    let lab = expect_failure("misbehave 'stops itself'", &["failed under load"]);
    let killed = stages(&lab).iter().any(|e| e["to"] == "killing" && e["because"] == "stop_overdue");
    assert!(killed, "what is stopped hears no request to leave");
}

/// Kills the worker of the candidate as soon as its load runs.
fn kill_the_worker(how: &str) -> (Lab, Report) {
    kill_the_worker_in(bad_candidate(&format!("misbehave '{how}'")))
}

fn kill_the_worker_in(lab: Lab) -> (Lab, Report) {
    let run = lab.start(&exec());
    let loads =
        |e: &serde_json::Value| e["event"] == "stage" && e["launch"] == "L002" && e["to"] == "loading";
    wait_for("the load", || events(&lab).iter().any(loads));
    wait_for("the worker", || noted(&lab, "worker.pid").is_some());
    kill(Pid::from_raw(noted(&lab, "worker.pid").expect("a worker")), Signal::SIGKILL).expect("it lives");
    let report = finish(&lab, run.wait());
    (lab, report)
}

#[test]
fn a_lost_worker_is_named_although_the_leader_leaves_well() {
    let (lab, report) = kill_the_worker("dies with its worker");
    assert_eq!(report.outcome("mode", "bad"), "failed");
    let reason = report.reason("mode", "bad");
    let said = "failed under load: worker lost: Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.";
    assert_eq!(reason, said);
    let page = lab.read("state/report.md");
    assert!(page.contains("Last lines of the log, L002") && page.contains("died unexpectedly"), "{page}");
}

#[test]
fn a_lost_worker_is_named_although_the_leader_stays() {
    let (_, report) = kill_the_worker("outlives its worker");
    assert_eq!(report.outcome("mode", "bad"), "failed");
    assert!(report.reason("mode", "bad").contains("worker lost"), "{}", report.reason("mode", "bad"));
}

/// Its requests would wait for as long as they may, and that is ten minutes here.
#[test]
fn a_server_that_hangs_without_its_worker_is_given_up() {
    let lab = bad_candidate("misbehave 'hangs without its worker'");
    lab.write("study.plab", lab.read("study.plab").replace("timeout     3s", "timeout     10min"));
    let began = std::time::Instant::now();
    let (lab, report) = kill_the_worker_in(lab);
    assert!(began.elapsed() < std::time::Duration::from_mins(5));
    assert_eq!(report.outcome("mode", "bad"), "failed");
    let reason = report.reason("mode", "bad");
    assert!(reason.starts_with("failed under load: worker lost: "), "{reason}");
    assert!(reason.contains(" is gone, and nothing was answered for "), "{reason}");
    assert!(!stages(&lab).iter().any(|e| e["because"] == "leader_ended"), "it did not end by itself");
}
