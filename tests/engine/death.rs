//! Whoever is killed, nothing that an engine started outlives it.

use std::fs::File;
use std::path::PathBuf;
use std::process::Child;

use perflab::engine;

use super::workshop::{Workshop, kill_hard, lives, wait_for, wait_until_gone};

fn tree_of(workshop: &Workshop) -> (Child, Vec<i32>) {
    let perflab = workshop.perflab();
    let tree = workshop.tree();
    assert!(tree.iter().all(|pid| lives(*pid)));
    (perflab, tree)
}

/// The directory for temporary files that the tree was given.
fn scratch(workshop: &Workshop) -> PathBuf {
    std::fs::read_to_string(workshop.dir.join("notes.scratch")).unwrap().into()
}

#[test]
fn killing_perflab_ends_daemons_too() {
    let workshop = Workshop::new();
    let (mut perflab, tree) = tree_of(&workshop);
    let guard = workshop.guard();
    perflab.kill().unwrap();
    let took = wait_until_gone(&[tree, vec![guard]].concat());
    println!("gone after {took:?}");
    perflab.wait().unwrap();
    assert_eq!(engine::find_marked(&workshop.nonce), []);
}

#[test]
fn the_lock_is_free_only_when_all_are_gone() {
    let workshop = Workshop::new();
    let (mut perflab, tree) = tree_of(&workshop);
    let lock = File::open(workshop.dir.join("lock")).unwrap();
    assert!(lock.try_lock().is_err());
    perflab.kill().unwrap();
    lock.lock().unwrap();
    assert!(!tree.iter().any(|pid| lives(*pid)));
    perflab.wait().unwrap();
}

#[test]
fn killing_the_guard_ends_daemons_too() {
    let workshop = Workshop::new();
    let (mut perflab, tree) = tree_of(&workshop);
    kill_hard(workshop.guard());
    let took = wait_until_gone(&tree);
    println!("gone after {took:?}");
    wait_for("its scratch directory to be removed", || !scratch(&workshop).exists());
    assert!(lives(perflab.id() as i32));
    perflab.kill().unwrap();
    perflab.wait().unwrap();
}

#[test]
fn what_both_leave_behind_is_found_by_its_mark() {
    let workshop = Workshop::new();
    let (mut perflab, tree) = tree_of(&workshop);
    // stopped, so that neither can act on the death of the other
    let guard = nix::unistd::Pid::from_raw(workshop.guard());
    nix::sys::signal::kill(guard, nix::sys::signal::Signal::SIGSTOP).unwrap();
    perflab.kill().unwrap();
    perflab.wait().unwrap();
    kill_hard(guard.as_raw());

    wait_for("the leader to follow its guard", || {
        tree.iter().filter(|pid| lives(**pid)).count() < tree.len()
    });
    let left: Vec<i32> = tree.into_iter().filter(|pid| lives(*pid)).collect();
    assert!(!left.is_empty());
    assert_eq!(engine::kill_marked("test-of-another-launch"), []);
    assert_eq!(engine::sweep(""), []);
    assert!(left.iter().all(|pid| lives(*pid)));

    let met = engine::sweep(&workshop.nonce);
    assert!(met.iter().all(|m| m.nonce == workshop.nonce));
    assert!(met.len() >= left.len());
    wait_until_gone(&left);
    assert!(!scratch(&workshop).exists());
}
