//! Everything that the grammar allows, however its lines end.

use std::fs;

use perflab::lang::codes::Code;
use perflab::lang::source::Files;
use perflab::lang::{Analysis, analyze};

use super::folder;

/// The files beside the tests.
struct Beside;

impl Files for Beside {
    fn read(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(folder().join(path)).map_err(|e| e.to_string())
    }
}

fn everything() -> String {
    fs::read_to_string(folder().join("everything.plab")).unwrap()
}

/// Code, message, line and column of each diagnostic.
fn places(analysis: &Analysis) -> Vec<(&'static str, String, usize, usize)> {
    let place = |d: &perflab::lang::Diagnostic| analysis.sources.get(d.span.file).place(d.span.start);
    let all = analysis.diagnostics.iter();
    all.map(|d| (d.code.id(), d.message.clone(), place(d).line, place(d).column)).collect()
}

#[test]
fn every_construct_is_right_and_what_is_not_carried_out_has_a_note() {
    let found = analyze(&Beside, "everything.plab", &everything());
    let others: Vec<_> = places(&found).into_iter().filter(|(code, ..)| !code.starts_with("N9")).collect();
    // an engine lacks flags of another's: that is said of a study, and no mistake
    assert!(others.iter().all(|(code, ..)| *code == Code::PartialFlag.id()), "{others:#?}");
    assert_eq!(found.program.studies.len(), 4);
    assert!(found.diagnostics.len() > others.len());
}

#[test]
fn line_ends_and_marks_of_other_systems_change_nothing() {
    let text = everything();
    let plain = places(&analyze(&Beside, "everything.plab", &text));
    let variants = [
        ("CRLF", text.replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{text}")),
        ("no newline at the end", text.trim_end().to_owned()),
        ("blank lines at the beginning", format!("\n\n{text}")),
        ("tabs", text.replace("    ", "\t")),
        ("blanks at the ends of lines", text.replace('\n', "  \t\n")),
    ];
    for (what, variant) in variants {
        let found = places(&analyze(&Beside, "everything.plab", &variant));
        let brief = |all: &[(&'static str, String, usize, usize)]| {
            all.iter().map(|(code, message, ..)| (*code, message.clone())).collect::<Vec<_>>()
        };
        assert_eq!(brief(&found), brief(&plain), "with {what}");
    }
}

#[test]
fn a_comment_may_end_any_line() {
    let text = everything();
    let plain = places(&analyze(&Beside, "everything.plab", &text)).len();
    let commented = text.lines().fold(String::new(), |all, line| all + line + " # \"it's {[(\n");
    let found = analyze(&Beside, "everything.plab", &commented);
    assert_eq!(places(&found).len(), plain, "{:#?}", places(&found));
}
