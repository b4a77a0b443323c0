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

/// A script that starts the server, waits for it and stays longer is a leader whose end tells nothing of the server's.
#[test]
fn a_server_that_dies_while_its_leader_stays_is_one_failed_trial() {
    for (dies, succeeded) in [("dies in mid-load", "3 of 8"), ("dies in its last request", "7 of 8")] {
        let script = format!("(misbehave '{dies}') & wait $!; sleep 60");
        // with these conditions the answers that came would do
        let lab = bad_candidate(&script);
        let study = lab.read("study.plab").replace(" repeat 1", " require success_rate >= 10%\n repeat 1");
        lab.write("study.plab", study);
        let out = lab.run(&exec());
        let report = finish(&lab, out);
        assert_eq!(report.outcome("mode", "bad"), "failed", "{dies}: {}", report.reason("mode", "bad"));
        let reason = report.reason("mode", "bad");
        assert!(reason.contains("crash under load: nobody listens on its port any more"), "{dies}: {reason}");
        assert!(reason.contains(&format!("{succeeded} requests succeeded")), "{dies}: {reason}");
    }
}

/// As the client of a container's engine does, and many a script.
#[test]
fn a_leader_that_ends_shortly_after_its_server_is_waited_for() {
    let script = "(misbehave 'dies in its last request') & wait $!; code=$?; sleep 0.4; exit $code";
    expect_failure(script, &["failed under load", "killed (exit code 137)"]);
}

/// Its requests fail between two servers, and what was measured is of two.
#[test]
fn a_server_that_its_leader_starts_again_under_load_is_one_failed_trial() {
    let script = "while :; do (misbehave 'dies in mid-load') & wait $!; done";
    expect_failure(
        script,
        &["crash under load: the server that was loaded listens no more, and another does"],
    );
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
