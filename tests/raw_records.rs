//! The raw records of loads: what each request of a study did lies beside its log, packed, and nothing depends on that it could be
//! written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::faults::count;
use crate::support::{EXEC, Lab, assert_close, live_study, packed_records, skip, wait_for};

const FILE: &str = "quick.simulated.requests.jsonl.gz";

/// The directories of the launches.
fn launches(state: &Path) -> Vec<PathBuf> {
    let below = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    below(state.join("trials")).flat_map(below).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn every_chunk_of_every_request_lies_beside_the_log() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let report = lab.run(&EXEC).expect_code(0).report();
    let dirs = launches(&lab.path("state"));
    let dir = dirs.iter().find(|dir| dir.ends_with("L001")).expect("the first launch");
    let records = packed_records(&dir.join(FILE));
    assert_eq!(records.len(), 8);
    let mut gaps = Vec::new();
    for (index, record) in records.iter().enumerate() {
        assert_eq!((&record["index"], &record["version"]), (&index.into(), &1.into()), "{record}");
        let chunks = record["chunks"].as_array().expect("chunks");
        assert_eq!(chunks.first().expect("one")[0], record["first_token_ns"], "{record}");
        assert_eq!(chunks.last().expect("one")[1], record["output_tokens"], "{record}");
        gaps.extend(chunks.windows(2).map(|pair| (number(&pair[1][0]) - number(&pair[0][0])) / 1e6));
    }
    let metrics = &report.trial(report.0["baseline"].as_str().expect("an id"))["metrics"];
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert_close(number(&metrics["icl_ms"]["mean"]), mean, 1e-9);
    // what another tool would have printed can be computed from them again, and a result has its mean
    let first = |r: &Value| r["silent"][0][0].as_f64().unwrap_or(f64::MAX).min(number(&r["first_token_ns"]));
    let theirs = records.iter().map(|r| (first(r) - number(&r["sent_ns"])) / 1e6).sum::<f64>() / 8.0;
    assert_close(number(&metrics["as_vllm_0_11_ttft_mean_ms"]), theirs, 1e-9);
    assert!(
        metrics["as_guidellm_0_5_request_rate"].is_number() && metrics["as_vllm_0_33_total_tps"].is_number()
    );
    let names: Vec<_> =
        fs::read_dir(dir).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with('.')), "no draft is left: {names:?}");
}

/// As one that was killed while it wrote them.
#[test]
fn drafts_of_records_that_a_killed_execution_left_are_swept() {
    let lab =
        Lab::with(&live_study("step one { vary seqs[1] }").replace("requests    8", "requests    20000"));
    let mut exec = lab.start(&EXEC);
    wait_for("the first launch", || !launches(&lab.path("state")).is_empty());
    exec.child.kill().expect("it lives");
    exec.child.wait().expect("it is dead");
    let dir = launches(&lab.path("state")).remove(0);
    let (draft, own) = (dir.join(format!(".{FILE}.4194999")), dir.join(".kept"));
    for file in [&draft, &own] {
        fs::write(file, "x").expect("written");
    }
    lab.write("study.plab", live_study("step one { vary seqs[1] }"));
    lab.run(&EXEC).expect_code(0);
    assert!(!draft.exists() && own.exists());
}

#[test]
fn records_that_find_no_place_are_a_warning_and_no_loss() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let exec = lab.start(&EXEC);
    let first = || launches(&lab.path("state")).into_iter().next();
    wait_for("the first launch", || first().is_some());
    let place = first().expect("a launch").join(FILE);
    fs::create_dir(&place).expect("its place is taken");
    let out = exec.wait().expect_code(0);
    assert!(out.stderr.contains("the request records cannot be written"), "{}", out.stderr);
    assert!(
        out.stderr.contains(place.file_name().and_then(|n| n.to_str()).expect("a name")),
        "{}",
        out.stderr
    );
    let report = out.report();
    assert_eq!(report.0["complete"], true);
    assert_eq!(count(&lab.read("state/journal.jsonl"), "run"), 2);
}

#[test]
fn a_disk_without_room_for_records_keeps_the_results() {
    let name = "a_disk_without_room_for_records_keeps_the_results";
    let many = live_study("step one { vary engine[small] }")
        .replace("output      8", "output      1024")
        .replace("concurrency 4", "concurrency 64");
    let lab = Lab::with(&many.replace("requests    8", "requests    64"));
    fs::create_dir_all(lab.path("disk")).expect("a folder");
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=160k", "tmpfs"]).arg(lab.path("disk"));
    if !mount.output().is_ok_and(|o| o.status.success()) {
        return skip(name, "a tmpfs cannot be mounted here");
    }
    let out = lab.run(&["exec", "study.plab", "--checks", "warn", "--format", "json", "--dir", "disk/state"]);
    let left = launches(&lab.path("disk/state"));
    let packed = left.iter().filter(|dir| dir.join(FILE).exists()).count();
    let _ = Command::new("umount").arg("-l").arg(lab.path("disk")).output();
    let out = out.expect_code(0);
    assert!(out.stderr.contains(FILE) && out.stderr.contains("No space left"), "{}", out.stderr);
    assert_eq!((left.len(), packed), (1, 0), "no half of a file is left");
    let report = out.report();
    let metrics = &report.trial(report.0["baseline"].as_str().expect("an id"))["metrics"];
    assert_eq!(metrics["completed"], 64, "{metrics}");
}
