//! Whose answers are they? Ports that are bound late, shared, or taken by somebody else.

use std::io::{Read, Write};

use super::engine::stranger;
use super::lab::{bad_candidate, exec, expect_failure, expect_success, finish, noted, run, setbacks};
use crate::support::{Lab, events, wait_for};

#[test]
fn a_server_that_binds_late_is_waited_for() {
    let (lab, report) = run("for n in 1 2 3 4; do echo loading $n; sleep 0.4; done");
    expect_success(&lab, &report);
}

/// Listens beside the engine, and answers everything well.
fn intrude(lab: &Lab) {
    wait_for("the engine's port", || noted(lab, "port").is_some());
    let listener = stranger(noted(lab, "port").expect("a port") as u16);
    lab.write("intruded", "");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
}

#[test]
fn a_shared_port_is_left_for_another_one() {
    let wait = "if [ ! -e \"$(echo intruded)\" ]; then echo $port > port; while [ ! -e \"$(echo intruded)\" ]; do sleep 0.01; done; fi";
    let lab = bad_candidate(&format!("{wait}; misbehave well"));
    let running = lab.start(&exec());
    intrude(&lab);
    let out = running.wait();
    assert!(out.stderr.contains("is answered by a stranger"), "{}", out.stderr);
    assert!(out.stderr.contains("trying another port"), "{}", out.stderr);
    let report = finish(&lab, out);
    expect_success(&lab, &report);
}

#[test]
fn a_stranger_s_answer_is_not_the_engine_s() {
    let lab = bad_candidate("if [ ! -e \"$(echo intruded)\" ]; then echo $port > port; exec sleep 1000; fi");
    let running = lab.start(&exec());
    intrude(&lab);
    let out = running.wait();
    assert!(out.stderr.contains("is answered by a stranger"), "{}", out.stderr);
    let report = finish(&lab, out);
    expect_success(&lab, &report);
}

#[test]
fn a_load_that_was_shared_with_a_stranger_does_not_count() {
    let lab = bad_candidate("[ -e \"$(echo intruded)\" ] || echo $port > port; misbehave slowly");
    let running = lab.start(&exec());
    let loads =
        |e: &serde_json::Value| e["event"] == "stage" && e["launch"] == "L002" && e["to"] == "loading";
    wait_for("the load", || events(&lab).iter().any(loads));
    intrude(&lab);
    let out = running.wait();
    assert!(out.stderr.contains("was set back by the machine, port in use"), "{}", out.stderr);
    let report = finish(&lab, out);
    expect_success(&lab, &report);
    assert_eq!(setbacks(&lab), 1);
    assert_eq!(
        report.trial(report.row("mode", "bad")["trial"].as_str().expect("an id"))["runs"][0]["launch"],
        "L003"
    );
}

#[test]
fn a_server_on_another_port_is_told_where_it_is() {
    let elsewhere = "port=$((port + 1)); serve";
    expect_failure(elsewhere, &["never ready", "it listens on port ", ", and was given "]);
}

#[test]
fn a_stranger_who_listens_only_for_a_moment_of_the_load_is_seen() {
    let lab = bad_candidate("[ -e \"$(echo intruded)\" ] || echo $port > port; misbehave slowly");
    let running = lab.start(&exec());
    let loads =
        |e: &serde_json::Value| e["event"] == "stage" && e["launch"] == "L002" && e["to"] == "loading";
    wait_for("the load", || events(&lab).iter().any(loads));
    // it is gone from the port before the load ends, and goes on to answer what it has taken
    let listener = stranger(noted(&lab, "port").expect("a port") as u16);
    lab.write("intruded", "");
    std::thread::sleep(std::time::Duration::from_millis(700));
    drop(listener);
    let out = running.wait();
    assert!(out.stderr.contains("was set back by the machine, port in use"), "{}", out.stderr);
    let report = finish(&lab, out);
    expect_success(&lab, &report);
    assert_eq!(setbacks(&lab), 1);
}
