//! What this version can check but not carry out: `check` and `plan` accept it with a note, `exec` refuses it and names it.

use std::path::PathBuf;

use serde_json::Value as Json;

use super::{folder, perflab};
use crate::support::studies;

/// The files of this kind.
fn files() -> Vec<PathBuf> {
    let later = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("later_"));
    studies(&folder()).into_iter().filter(later).collect()
}

/// What the notes of `check` name.
fn noted(name: &str) -> Vec<String> {
    let checked = perflab(&["check", "--format", "json", name]);
    assert_eq!(checked.status.code(), Some(0), "check {name}");
    let document: Json = serde_json::from_slice(&checked.stdout).unwrap();
    let notes = document["diagnostics"].as_array().unwrap().iter();
    let notes = notes.filter(|d| d["code"].as_str().is_some_and(|c| c.starts_with("N9")));
    notes.map(|d| d["message"].as_str().unwrap().split(": this version").next().unwrap().to_owned()).collect()
}

#[test]
fn it_is_noted_planned_and_refused() {
    assert!(!files().is_empty());
    let state = tempfile::tempdir().unwrap();
    let directory = state.path().to_str().unwrap();
    for file in files() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let noted = noted(name);
        assert!(!noted.is_empty(), "{name} has no note");
        let planned = perflab(&["plan", name, "--dir", directory]);
        let plan_said = String::from_utf8_lossy(&planned.stderr).into_owned();
        assert_eq!(planned.status.code(), Some(0), "plan {name}: {plan_said}");
        let refused = perflab(&["exec", name, "--dir", directory]);
        let exec_said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "exec {name}: {exec_said}");
        for what in noted {
            assert!(plan_said.contains(&what), "plan {name} does not name {what}: {plan_said}");
            assert!(exec_said.contains(&what), "exec {name} does not name {what}: {exec_said}");
        }
    }
}
