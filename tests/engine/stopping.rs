//! Servers that leave when asked, those that do not, and those that leave on their own.

use std::time::Duration;

use nix::sys::signal::Signal;
use perflab::engine::{self, Exit};

use super::workshop::{Workshop, kill_hard, lives, runtime, start, wait_until_gone};

#[test]
fn a_server_leaves_when_asked() {
    let workshop = Workshop::new();
    runtime().block_on(async {
        let report = start(workshop.role("server")).await.unwrap().stop().await;
        assert_eq!((report.killed, report.exit), (false, Exit::Signal(15)));
        assert_eq!(report.survivors, []);
    });
    assert_eq!(engine::find_marked(&workshop.nonce), []);
}

#[test]
fn another_signal_may_be_asked_for() {
    let workshop = Workshop::new();
    let mut spec = workshop.role_after("trap '' TERM", "server");
    spec.stop.signal = Signal::SIGINT;
    let report = runtime().block_on(async { start(spec).await.unwrap().stop().await });
    assert_eq!((report.killed, report.exit), (false, Exit::Signal(2)));
}

#[test]
fn a_server_that_ignores_the_request_is_killed_at_the_deadline() {
    let workshop = Workshop::new();
    let mut spec = workshop.role_after("trap '' TERM", "tree");
    spec.stop.within = Duration::from_millis(300);
    runtime().block_on(async {
        let server = start(spec).await.unwrap();
        let tree = workshop.tree();
        let report = server.stop().await;
        assert_eq!((report.killed, report.exit), (true, Exit::Signal(9)));
        assert!(report.stop_s >= 0.3);
        assert!(!tree.iter().any(|pid| lives(*pid)));
    });
}

#[test]
fn daemons_outside_the_group_are_asked_too() {
    let workshop = Workshop::new();
    runtime().block_on(async {
        let server = start(workshop.role("tree")).await.unwrap();
        let tree = workshop.tree();
        let report = server.stop().await;
        assert!(!report.killed, "it took {} s", report.stop_s);
        assert!(!tree.iter().any(|pid| lives(*pid)));
    });
}

#[test]
fn a_death_is_told_and_its_orphans_can_be_stopped() {
    let workshop = Workshop::new();
    runtime().block_on(async {
        let server = start(workshop.role("tree")).await.unwrap();
        let died = server.died();
        let mut left = workshop.tree();
        kill_hard(server.pid());
        assert_eq!(died.await, Exit::Signal(9));
        left.retain(|pid| *pid != server.pid());
        assert!(left.iter().all(|pid| lives(*pid)), "others live on");
        let report = server.stop().await;
        assert_eq!(report.exit, Exit::Signal(9));
        assert!(!left.iter().any(|pid| lives(*pid)));
    });
}

#[test]
fn a_dropped_server_is_killed() {
    let workshop = Workshop::new();
    let tree = runtime().block_on(async {
        let _server = start(workshop.role("tree")).await.unwrap();
        workshop.tree()
    });
    wait_until_gone(&tree);
}
