//! The plan in a pull request: Markdown and Mermaid as people see them, and how big steps are shown.

use super::{assert_golden, example, plan};
use crate::support::{Lab, toy_study};

/// Names and reasons that would break out of a table, a graph or HTML, if they could.
fn hostile() -> String {
    toy_study(
        "confirm on more\n note \"<script>alert(1)</script> & | `x`\"\n prune odd \"a | b `c` <d>\" when --a == 3\n prune slow \"slow\" when gain < -20%\n step one \"end | \\\"quoted\\\" [x] <b>\" { vary a }\n step end \"1. List\" from toy when p50(ttft) > 1s { vary cards }",
    )
}

#[test]
fn the_quickstart_as_markdown() {
    let lab = Lab::new();
    let out = lab.run(&["plan", &example("quickstart.plab"), "--dir", "none", "--format", "md"]);
    assert_golden("quickstart.md", &out.expect_code(0));
}

#[test]
fn a_published_study_as_a_graph() {
    let lab = Lab::new();
    let out = lab.run(&["plan", &example("qwen3.5-9b-h100.plab"), "--dir", "none", "--format", "mermaid"]);
    assert_golden("qwen3.5-9b-h100.mmd", &out.expect_code(0));
}

#[test]
fn what_a_file_says_breaks_no_markdown() {
    let lab = Lab::with(&hostile());
    let out = lab.run(&["plan", "study.plab", "--format", "md"]).expect_code(0);
    assert_golden("hostile.md", &out);
    assert!(!out.stdout.contains("<script>"), "{}", out.stdout);
    // every row of a table has as many cells as its head
    for table in out.stdout.split("\n\n").filter(|block| block.starts_with('|')) {
        let cells: Vec<usize> =
            table.lines().map(|row| row.replace("\\|", "").matches('|').count()).collect();
        assert!(cells.windows(2).all(|w| w[0] == w[1]), "{table}");
    }
}

#[test]
fn what_a_file_says_breaks_no_graph() {
    let lab = Lab::with(&hostile());
    let out = lab.run(&["plan", "study.plab", "--format", "mermaid"]).expect_code(0);
    assert_golden("hostile.mmd", &out);
    let mut lines = out.stdout.lines();
    assert_eq!(lines.next(), Some("flowchart TD"));
    for line in lines {
        let line = line.trim();
        let style = line.starts_with("classDef ");
        let edge = line.contains(" --> ") || line.contains(" --- ") || line.contains(" -->|");
        let node = line.split_once("[\"").is_some_and(|(id, rest)| {
            let label = rest.split_once("\"]").map(|(label, _)| label.replace("<br/>", ""));
            id.chars().all(|c| c.is_ascii_alphanumeric())
                && label.is_some_and(|l| !l.contains(['"', '[', ']', '<', '>', '`', '|']))
        });
        assert!(style || edge || node, "{line}");
    }
}

#[test]
fn a_big_step_is_shown_by_its_first_candidates_and_written_whole() {
    let values: Vec<String> = (1..=40).map(|n| n.to_string()).collect();
    let study = toy_study("step grid { vary many * a[1, 2] }\n step small from toy { vary a }");
    let study = format!("axis many = --b=[{}]\n{study}", values.join(", "));
    let lab = Lab::with(&study);
    assert_eq!(plan(&lab, &[])["steps"][0]["candidates"].as_array().map(Vec::len), Some(80));
    for format in ["tree", "md"] {
        let out = lab.run(&["plan", "study.plab", "--format", format]).expect_code(0).stdout;
        assert!(out.contains("… and 68 more (68 to measure)"), "{format}:\n{out}");
        assert!(out.contains("many 6 + a 2") && !out.contains("many 7 + a 1"), "{format}:\n{out}");
    }
    let graph = lab.run(&["plan", "study.plab", "--format", "mermaid"]).expect_code(0).stdout;
    assert!(graph.contains("80 candidates: 80 to measure") && !graph.contains("s1c1"), "{graph}");
    assert!(graph.contains("s2c1[") && graph.matches("[\"").count() <= 60, "{graph}");
}

#[test]
fn candidates_stand_on_lines_of_their_own() {
    let lab = Lab::with(&toy_study("step one { vary a }"));
    let out = lab.run(&["plan", "study.plab", "--format", "json"]).expect_code(0).stdout;
    let lines: Vec<&str> = out.lines().filter(|l| l.trim_start().starts_with("{\"id\"")).collect();
    assert_eq!(lines.len(), 3, "{out}");
    for line in lines {
        let whole = line.trim().trim_end_matches(',');
        assert!(serde_json::from_str::<serde_json::Value>(whole).is_ok(), "{whole}");
    }
}

#[test]
fn a_repeated_flag_stands_once_for_each_of_its_words() {
    let lab = Lab::with(
        r#"
use std/engines  { vllm }
use std/profiles { sharegpt }
engine own = vllm {
    version "0.17.1"
    --middleware="auth.Check trace.Spans"
}
axis seqs = --max-num-seqs=[128]
study s "S" {
    model    "org/m"
    gpus     1 of "H100"
    baseline own
    maximize total_tps on sharegpt
    step seqs { vary seqs }
}
"#,
    );
    let out = lab.run(&["plan", "study.plab", "--format", "json"]).expect_code(0);
    assert!(out.stdout.contains("--middleware=auth.Check --middleware=trace.Spans"), "{}", out.stdout);
}
