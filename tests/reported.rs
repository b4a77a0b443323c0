//! What `perflab report FILE` shows after what results are made of was changed, with the real binary.

use serde_json::Value;

use crate::conditions::{again, exec, lab, plan, script, write};
use crate::support::{EXEC, Lab};

fn reported(lab: &Lab) -> Value {
    let words = ["report", "study.plab", "--dir", "state", "--checks", "warn", "--format", "json"];
    lab.run(&words).expect_code(0).report().0
}

/// The launches whose runs are shown, in the order of the trials.
fn launches(report: &Value) -> Vec<String> {
    let trials = report["trials"].as_array().expect("trials").iter();
    let runs = trials.flat_map(|trial| trial["runs"].as_array().expect("runs"));
    runs.map(|run| run["launch"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn what_was_put_back_is_shown_as_it_was_measured() {
    let lab = lab(r#"--chat-template="t.jinja""#);
    for content in ["one", "two"] {
        write(&lab, "t.jinja", content);
        exec(&lab);
    }
    let told = reported(&lab);
    assert_eq!(launches(&told), ["L003", "L004"]);
    assert!(told["warnings"].to_string().contains("2 results do not count any more and are measured again"));
    write(&lab, "t.jinja", "one");
    // with and without an `exec` that finds nothing to measure
    assert_eq!(launches(&reported(&lab)), ["L001", "L002"]);
    let report = lab.run(&EXEC).expect_code(0).report().0;
    assert_eq!(report["cost"]["launches"], 4);
    assert_eq!(launches(&report), ["L001", "L002"]);
    assert_eq!(reported(&lab), report);
    let warnings = report["warnings"].to_string();
    assert!(!warnings.contains("do not count any more"), "what is shown was not measured again: {warnings}");
}

#[test]
fn what_counts_no_more_is_shown_with_a_warning() {
    let lab = lab(r#"--chat-template="t.jinja""#);
    write(&lab, "t.jinja", "one");
    exec(&lab);
    let before = reported(&lab);
    assert!(!before["warnings"].to_string().contains("t.jinja"), "{before}");
    write(&lab, "t.jinja", "two");
    let after = reported(&lab);
    assert_eq!(after["trials"], before["trials"]);
    let warning = "2 results do not count any more, `perflab exec` measures them again: t.jinja changed since it was measured";
    let warnings = after["warnings"].to_string();
    assert!(warnings.contains(warning), "{warnings}");
    assert_eq!(exec(&lab), 4);
    assert!(!reported(&lab)["warnings"].to_string().contains(warning));
}

#[test]
fn what_was_edited_is_named_and_not_what_was_put_back() {
    let lab = lab("");
    write(&lab, "engine.sh", script(". ./one.env; . ./two.env"));
    write(&lab, "two.env", "B=1\n");
    for content in ["A=1\n", "A=2\n"] {
        write(&lab, "one.env", content);
        exec(&lab);
    }
    write(&lab, "one.env", "A=1\n");
    write(&lab, "two.env", "B=2\n");
    let why = again(&plan(&lab));
    assert!(why.starts_with("./two.env changed since it was measured"), "{why}");
}
