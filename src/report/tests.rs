//! The renderings as wholes: pages to look at, and what must hold on every one of them.

use std::path::Path;

use insta::assert_snapshot;

use super::fixture::{full, nothing_recommended, replayed};
use super::wrap::width_of;
use super::{Objective, ReadError, Report, Style, markdown, terminal};

fn plain(report: &Report, width: usize) -> String {
    terminal(report, Style::new(width, false), Some(Path::new(".perflab/qwen3_5_9b")))
}

#[test]
fn terminal_80() {
    assert_snapshot!(plain(&full(), 80));
}

#[test]
fn terminal_140() {
    assert_snapshot!(plain(&full(), 140));
}

#[test]
fn terminal_replay_200() {
    assert_snapshot!(plain(&replayed(), 200));
}

#[test]
fn terminal_nothing() {
    assert_snapshot!(plain(&nothing_recommended(), 80));
}

#[test]
fn markdown_page() {
    assert_snapshot!(markdown(&full()));
}

#[test]
fn markdown_nothing() {
    assert_snapshot!(markdown(&nothing_recommended()));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let strip = |text: &str| {
        let mut out = String::new();
        for (i, part) in text.split('\u{1b}').enumerate() {
            out.push_str(if i == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) });
        }
        out
    };
    for width in [80, 120] {
        let coloured = terminal(&full(), Style::new(width, true), None);
        assert_ne!(coloured, terminal(&full(), Style::new(width, false), None));
        assert_eq!(strip(&coloured), terminal(&full(), Style::new(width, false), None));
    }
}

#[test]
fn nothing_is_wider_than_the_terminal_but_the_command() {
    for width in 60..200 {
        let page = plain(&full(), width);
        for line in page.lines().filter(|line| !line.starts_with("        --")) {
            assert!(width_of(line) <= width, "{} columns in {width}:\n{line}", width_of(line));
        }
    }
}

#[test]
fn every_table_says_what_it_is() {
    for (report, word) in [(full(), "(simulated)"), (replayed(), "(recorded)")] {
        let heads = |page: &str, head: &str| page.lines().filter(|line| line.starts_with(head)).count();
        let page = plain(&report, 100);
        let marked = page.lines().filter(|line| line.starts_with('│') && line.contains(word)).count();
        assert_eq!(heads(&page, "╭"), marked, "{page}");
        let page = markdown(&report);
        let all = page.lines().filter(|line| line.starts_with('#')).count();
        assert_eq!(page.lines().filter(|line| line.starts_with('#') && line.contains(word)).count(), all);
        assert_eq!(
            heads(&page, "| ---"),
            page.lines().filter(|line| line.starts_with("| ") && line.contains(word)).count()
        );
    }
    assert!(plain(&replayed(), 80).contains("recorded, not measured by perflab"));
}

#[test]
fn markdown_tables_keep_their_columns() {
    let page = markdown(&full());
    let mut columns = None;
    for line in page.lines() {
        if !line.starts_with('|') {
            columns = None;
            continue;
        }
        let bars = line.replace(r"\|", "").matches('|').count();
        assert_eq!(*columns.get_or_insert(bars), bars, "{line}");
    }
}

#[test]
fn json_round_trip() {
    for report in [full(), replayed(), nothing_recommended()] {
        let text = report.to_json().expect("writes");
        assert!(text.starts_with("{\n  \"schema\": \"perflab.report/1\",\n"), "{text}");
        assert_eq!(Report::from_json(&text).expect("reads"), report);
    }
    let text = full().to_json().expect("writes");
    assert!(text.contains("\"request_rate\": 18.2681768365"), "numbers are unrounded");
}

#[test]
fn other_documents_are_refused_by_name() {
    let newer = full().to_json().expect("writes").replace("report/1", "report/2");
    let error = Report::from_json(&newer).expect_err("another version");
    assert!(matches!(&error, ReadError::Schema { found } if found == "perflab.report/2"), "{error}");
    assert!(matches!(Report::from_json("{\"schema\": \"perflab.report/1\"}"), Err(ReadError::Shape(_))));
}

#[test]
fn a_study_without_objective_prints_tables() {
    let report = Report { objective: None, recommended: None, confirm: vec![], ..full() };
    let page = plain(&report, 100);
    assert!(page.contains("nothing is recommended: the study has no objective"), "{page}");
    assert!(page.contains("│ total_tps │"), "{page}");
    assert!(!page.contains(" gain "), "{page}");
}

#[test]
fn an_objective_of_another_unit_keeps_its_digits() {
    let objective = full().objective.map(|o| Objective {
        expr: "p99(ttft)".to_owned(),
        means: None,
        unit: Some("ms".to_owned()),
        ..o
    });
    let page = markdown(&Report { objective, ..full() });
    assert!(page.contains("| p99(ttft) (ms) |"), "{page}");
    assert!(page.contains("p99(ttft) (ms): 11,527<br>Mean TPOT (ms): 15.12"), "{page}");
}

#[test]
fn contradictions_do_not_panic() {
    let mut report = full();
    report.trials.clear();
    report.baseline = "gone".to_owned();
    assert!(plain(&report, 80).contains("baseline   gone"));
    assert!(markdown(&report).contains("## Conclusion"));
}
