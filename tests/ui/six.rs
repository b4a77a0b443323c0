//! Six unrelated mistakes in one file give the six diagnostics that each of them gives alone, and no other.

use std::collections::BTreeMap;
use std::fs;

use perflab::lang::analyze;
use perflab::lang::source::NoFiles;
use perflab::plan::reviewed;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::sample::{Index, subsequence};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::folder;

/// Files that are right.
const RIGHT: [&str; 2] = ["two_engines_tuned", "latency_and_cost"];
const MISTAKES: usize = 6;
/// Files that are tried of each.
const TRIED: usize = 60;

/// What is told of a mistake: its code, and the line.
type Told = (&'static str, usize);
/// A line with a slip in it, and what is told of it alone.
type Single = (String, Told);

fn told(text: &str) -> Vec<Told> {
    let analysis = reviewed(analyze(&NoFiles, "test.plab", text));
    let line = |at: u32| text[..at as usize].matches('\n').count();
    let mut all: Vec<_> = analysis.diagnostics.iter().map(|d| (d.code.id(), line(d.span.start))).collect();
    all.sort_unstable();
    all
}

/// A line with one slip in it, of those that leave what it declares where it is.
fn slips(line: &str) -> Vec<String> {
    let code = line.trim_start();
    let indent = &line[..line.len() - code.len()];
    let word = code.split([' ', '=', '{']).next().unwrap_or_default();
    let (rest, letters) = (&code[word.len()..], word.chars().collect::<Vec<_>>());
    let mut out = vec![format!("{line};"), format!("{line} // later"), line.replacen('=', ":", 1)];
    out.push(line.replacen('"', "", 1));
    out.push(line.replace('"', "'"));
    if let [a, b, c, more @ ..] = letters.as_slice()
        && b != c
        && word.chars().all(char::is_alphabetic)
    {
        let more: String = more.iter().collect();
        out.push(format!("{indent}{a}{c}{b}{more}{rest}"));
        out.push(format!("{indent}{}{rest}", word.to_uppercase()));
        out.push(format!("{indent}{word}:{rest}"));
    }
    if let Some((second, behind)) = rest.trim_start().split_once(' ') {
        out.push(format!("{indent}{second} {word} {behind}"));
    }
    if code.ends_with(|c: char| c.is_ascii_digit()) {
        out.push(format!("{line}q"));
    }
    out.retain(|slip| slip != line);
    out
}

/// The slips of a file that are one mistake each, by their lines, with what is told of each alone.
fn singles(lines: &[&str]) -> BTreeMap<usize, Vec<Single>> {
    let mut all: BTreeMap<usize, Vec<Single>> = BTreeMap::new();
    for (n, line) in
        lines.iter().enumerate().filter(|(_, l)| !matches!(l.trim(), "" | "}") && !l.starts_with('#'))
    {
        for slip in slips(line) {
            let torn = [&lines[..n], &[slip.as_str()], &lines[n + 1..]].concat().join("\n");
            if let [(code, at)] = told(&torn).as_slice()
                && code.starts_with('E')
                && *at == n
            {
                all.entry(n).or_default().push((slip, (*code, *at)));
            }
        }
    }
    all
}

#[test]
fn six_unrelated_mistakes_are_those_six() {
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut wrong = Vec::new();
    for name in RIGHT {
        let text = fs::read_to_string(folder().join(name).with_extension("plab")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(told(&text), [], "{name}");
        let singles = singles(&lines);
        let places: Vec<usize> = singles.keys().copied().collect();
        let chosen = (subsequence(places, MISTAKES), vec(any::<Index>(), MISTAKES));
        for _ in 0..TRIED {
            let (places, which) = chosen.new_tree(&mut runner).unwrap().current();
            let mut torn: Vec<&str> = lines.clone();
            let mut wanted = Vec::new();
            for (place, which) in places.iter().zip(&which) {
                let (slip, told) = which.get(&singles[place]);
                torn[*place] = slip;
                wanted.push(*told);
            }
            wanted.sort_unstable();
            let found = told(&torn.join("\n"));
            if found != wanted {
                let torn: Vec<_> = places.iter().map(|n| format!("{n}: {}", torn[*n])).collect();
                let missing: Vec<_> = wanted.iter().filter(|w| !found.contains(w)).collect();
                let extra: Vec<_> = found.iter().filter(|f| !wanted.contains(f)).collect();
                wrong.push(format!("{name}\n{}\nmissing {missing:?}, extra {extra:?}\n", torn.join("\n")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), 2 * TRIED, wrong.join("\n"));
}
