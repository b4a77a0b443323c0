//! `check --fix` never breaks a file: on every golden file with something to mend there are fewer mistakes afterwards, and no new
//! ones.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;

use perflab::lang::codes::Code;
use perflab::lang::diag::Severity;
use perflab::lang::source::{FileId, Files, NoFiles, Span};
use perflab::lang::{Analysis, Diagnostic, analyze, analyze_whole, fix};

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
    let mut before = analysis(&text);
    // what mistakes hide is there before they are mended
    fix::complete(&text, &mut before, &analysis);
    let before = before.diagnostics;
    let mended = fix::mend(&text, &analysis);
    if mended.fixes.is_empty() {
        return (
            false,
            (mended.text != text).then(|| format!("{name}: changed without a fix\n{}", mended.text)),
        );
    }
    // as a check tells it, with what is hidden then
    let mut after = analysis(&mended.text);
    fix::complete(&mended.text, &mut after, &analysis);
    let after = after.diagnostics;
    let wrong = |why: String| (true, Some(format!("{name}: {why}\n{}", mended.text)));
    let errors = |all: &[Diagnostic]| all.iter().filter(|d| d.is_error()).count();
    if errors(&after) > errors(&before) {
        return wrong("more mistakes than before".to_owned());
    }
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

/// A text as `check` tells of it, and how often it was read for that.
fn checked(text: &str) -> (Analysis, usize) {
    let count = Cell::new(0);
    let counted = |t: &str| {
        count.set(count.get() + 1);
        analyze_whole(&NoFiles, "t.plab", t, &[])
    };
    let mut found = counted(text);
    fix::complete(text, &mut found, &counted);
    (found, count.get())
}

fn errors(found: &Analysis) -> Vec<(&'static str, usize)> {
    let errors = found.diagnostics.iter().filter(|d| d.is_error());
    errors.map(|d| (d.code.id(), d.span.start as usize)).collect()
}

fn fixable(found: &Analysis) -> usize {
    found.diagnostics.iter().filter(|d| fix::fix_of(d).is_some()).count()
}

fn all_mended(text: &str) -> fix::Mended {
    fix::mend(text, &|t| analyze_whole(&NoFiles, "t.plab", t, &[]))
}

const BEGIN: &str = "use std/engines { sim }\nengine a = sim {\n}\n";

#[test]
fn what_says_the_same_as_a_mended_mistake_is_told_too() {
    let text = "use std/engines { sim }\nengine a = sim {\n    env A='x'\n    env B='y' env C='z'\n}\n";
    let places = ["'x'", "'y'", "'z'"].map(|p| text.find(p).expect("there"));
    let (found, _) = checked(text);
    let told: Vec<usize> = errors(&found).into_iter().map(|(_, at)| at).collect();
    assert_eq!(told, places, "{:?}", found.diagnostics);
    let mended = all_mended(text);
    assert!(mended.text.contains("env B=\"y\" env C=\"z\""), "{}", mended.text);
}

#[test]
fn no_fix_brings_what_another_one_mended() {
    let text = "use std/engines { vllm }\nengin a = vllm {\n    version \"0.17.1\"\n    --tensor-parallel-size=2\n    \
                publish unset --tensor-parallel-size a b because \"x\"\n}\n";
    let mended = all_mended(text);
    assert_eq!(mended.text.matches('"').count(), text.matches('"').count(), "{}", mended.text);
}

#[test]
fn fixes_that_exclude_each_other_are_promised_as_they_are_made() {
    for n in [2, 45] {
        let pair = |i: usize| {
            format!("axis Aa{i} = --max-num-seqs=[16, 32]\naxis AA{i} = --max-num-seqs=[16, 32]\n")
        };
        let text = format!("{BEGIN}{}", (0..n).map(pair).collect::<String>());
        let (found, readings) = checked(&text);
        let mended = all_mended(&text);
        assert_eq!((fixable(&found), mended.fixes.len()), (n, n), "{}", mended.text);
        assert!(readings < 20, "{readings} readings");
    }
}

#[test]
fn many_mistakes_are_mended_together() {
    let engine =
        |i: usize| format!("engine e{i} = sim {{\n    --max-num-seqs {}\n    env A{i}=1\n}}\n", i + 2);
    let text = format!("{BEGIN}{}", (0..300).map(engine).collect::<String>());
    let (found, readings) = checked(&text);
    assert_eq!((errors(&found).len(), fixable(&found)), (300, 300));
    assert!(readings < 20, "{readings} readings");
    let mended = all_mended(&text);
    assert_eq!(mended.fixes.len(), 300);
    assert!(!analysis(&mended.text).has_errors());
}

#[test]
fn fixes_that_do_harm_are_tried_a_few_times() {
    // each word mended makes a line that says something else wrong
    let harmful = |t: &str| {
        let mut found = analyze_whole(&NoFiles, "t.plab", "metric m = total_tps\n", &[]);
        for (at, c) in t.char_indices() {
            let span = Span::new(FileId::default(), at..at + 1);
            let d = |code, text: &str| Diagnostic::new(code, span, "no").edit(span, text);
            match c {
                'a' => found.diagnostics.push(d(Code::Unexpected, "!")),
                'b' => found.diagnostics.push(d(Code::UnknownName, ".")),
                '!' => found
                    .diagnostics
                    .extend([Code::UnknownFlag, Code::UnknownName].map(|c| Diagnostic::new(c, span, "no"))),
                _ => {}
            }
        }
        found
    };
    let (text, count) = ("ab".repeat(200), Cell::new(0));
    let mended = fix::mend(&text, &|t| {
        count.set(count.get() + 1);
        harmful(t)
    });
    assert_eq!(mended.text, "a.".repeat(200));
    assert!(count.get() < 30, "{} readings", count.get());
}

#[test]
fn what_follows_is_not_counted_among_what_is_too_much() {
    let steps: Vec<String> = (0..150).map(|i| format!(" step a{i} {{ vary seqz }}\n")).collect();
    let steps = steps.concat();
    let study = "profile p {\n data random\n input 8\n output 8\n concurrency 2\n requests 4\n}\nstudy s \"S\" {\n model \"a/b\"\n \
                 baseline a\n maximize total_tps on p\n repeat 1\n";
    let text = format!("{BEGIN}axis seqs = --max-num-seqs=[16, 32]\n{study}{steps}}}\n");
    let found = analyze(&NoFiles, "t.plab", &text);
    assert_eq!(errors(&found).len(), 1, "{:?}", errors(&found));
    // what is wrong further up is listed first, whoever finds it
    let engines: Vec<String> = (0..150).map(|i| format!("engine E-{i} = sim {{\n}}\n")).collect();
    let engines = engines.concat();
    let text =
        format!("use std/engines {{ sim }}\nengine top = sim {{\n    --max-num-seqs=no\n}}\n{engines}");
    let found = analyze(&NoFiles, "t.plab", &text);
    let told = errors(&found);
    assert_eq!((told.len(), found.unlisted), (101, 51));
    assert_eq!((told[0].0, told[100].0), ("E302", "E113"));
}
