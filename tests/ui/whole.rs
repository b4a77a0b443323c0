//! Everything that the grammar allows, however its lines end.

use std::fs;

use perflab::lang::codes::Code;
use perflab::lang::sema::program::{Arrivals, Load};
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
    // an engine lacks flags of another's, and tables alone are wanted: that is said of a study, and no mistake
    let said = [Code::PartialFlag.id(), Code::NothingWins.id()];
    assert!(others.iter().all(|(code, ..)| said.contains(code)), "{others:#?}");
    assert_eq!(found.program.studies.len(), 5);
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

#[test]
fn a_derived_profile_keeps_what_goes_with_its_load_and_drops_the_rest() {
    let text = "profile bursts { data random
 input 8
 output 8
 rate 8/s
 arrivals gamma 0.5
 in_flight 64
 requests 600 }
profile faster = bursts { rate 16/s }
profile closed = faster { concurrency 4 }
profile timed = closed { duration 2min }
profile again = timed { rate 4/s
 requests 50 }
profile ramp = bursts { rate 1/s .. 8/s
 arrivals ramp }
profile flat = ramp { rate 8/s }
";
    let found = analyze(&Beside, "profiles.plab", text);
    assert!(!found.has_errors(), "{:#?}", found.diagnostics);
    let profile = |name: &str| found.program.profiles[name].clone();
    let gamma = Arrivals::Gamma(0.5);
    assert_eq!(profile("faster").load, Some(Load::Rate { per_s: 16.0, arrivals: gamma }));
    assert_eq!(
        (profile("closed").load.clone(), profile("closed").in_flight),
        (Some(Load::Concurrency(4)), None)
    );
    assert_eq!((profile("timed").requests, profile("timed").duration_s), (None, Some(120.0)));
    assert_eq!((profile("again").requests, profile("again").duration_s), (Some(50), None));
    let poisson = Arrivals::Poisson;
    assert_eq!(profile("again").load, Some(Load::Rate { per_s: 4.0, arrivals: poisson.clone() }));
    assert_eq!(profile("flat").load, Some(Load::Rate { per_s: 8.0, arrivals: poisson }));
}
