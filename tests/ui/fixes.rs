//! `check --fix` never breaks a file: on every golden file with something to mend there are fewer mistakes afterwards, and no new
//! ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;

use perflab::lang::diag::Severity;
use perflab::lang::source::Files;
use perflab::lang::{Analysis, Diagnostic, analyze, fix};

use super::folder;
use crate::support::studies;

struct Goldens;

impl Files for Goldens {
    fn read(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(folder().join(path)).map_err(|e| e.to_string())
    }
}

fn analysis(text: &str) -> Analysis {
    analyze(&Goldens, "golden.plab", text)
}

/// How often each code and message is said, notes apart.
fn said(found: &[Diagnostic]) -> BTreeMap<(&'static str, &str), usize> {
    let mut out = BTreeMap::new();
    for d in found.iter().filter(|d| d.severity() != Severity::Note) {
        *out.entry((d.code.id(), d.message.as_str())).or_default() += 1;
    }
    out
}

/// Whether there was something to mend in a file, and what is wrong with the result.
fn mended(file: &PathBuf) -> (bool, Option<String>) {
    let (text, name) = (fs::read_to_string(file).expect("text"), file.display());
    let mut before = analysis(&text).diagnostics;
    // what mistakes hide is there before they are mended
    fix::complete(&text, &mut before, &analysis);
    let mended = fix::mend(&text, &analysis);
    if mended.fixes == 0 {
        return (
            false,
            (mended.text != text).then(|| format!("{name}: changed without a fix\n{}", mended.text)),
        );
    }
    let after = analysis(&mended.text).diagnostics;
    let wrong = |why: String| (true, Some(format!("{name}: {why}\n{}", mended.text)));
    let errors = |all: &[Diagnostic]| all.iter().filter(|d| d.is_error()).count();
    let fewer = errors(&after) < errors(&before);
    let (was, is) = (said(&before), said(&after));
    if !fewer && is.values().sum::<usize>() >= was.values().sum::<usize>() {
        return wrong("no fewer mistakes".to_owned());
    }
    for ((code, message), n) in &is {
        // warnings that only a file with fewer errors has may show
        let hidden = code.starts_with('W') && fewer;
        if *n > was.get(&(*code, *message)).copied().unwrap_or(0) && !hidden {
            return wrong(format!("a fix made {code} {message}"));
        }
    }
    (true, None)
}

#[test]
fn fixes_leave_fewer_mistakes_and_no_new_ones() {
    let files = studies(&folder());
    let results: Vec<(bool, Option<String>)> = thread::scope(|scope| {
        let part = |files| scope.spawn(move || <[_]>::iter(files).map(mended).collect::<Vec<_>>());
        let parts: Vec<_> = files.chunks(files.len().div_ceil(4)).map(part).collect();
        parts.into_iter().flat_map(|p| p.join().expect("no panic")).collect()
    });
    let wrong: Vec<String> = results.iter().filter_map(|(_, why)| why.clone()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let tried = results.iter().filter(|(tried, _)| *tried).count();
    assert!(tried > 80, "only {tried} files have something to mend");
}
