//! Mistakes beside each other: several slips in one file are told as each of them is alone, no more and no less.

mod doubled;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use crate::support::Lab;

const STUDY: &str = include_str!("beside/study.plab");
const SLIPS: &str = include_str!("beside/slips.txt");

/// A line of the study and what stands there instead.
type Slip = (usize, &'static str);
/// Code, line and column.
type Told = (String, u64, u64);

fn slips() -> Vec<Slip> {
    let pairs =
        SLIPS.lines().filter_map(|l| l.split_once(" ||| ").or_else(|| Some((l.strip_suffix(" |||")?, ""))));
    let line = |text: &str| {
        STUDY.lines().position(|l| l.trim() == text.trim()).unwrap_or_else(|| panic!("no line `{text}`"))
    };
    pairs.map(|(old, new)| (line(old), new)).collect()
}

fn study(slips: &[Slip]) -> String {
    let mut out = String::new();
    for (n, line) in STUDY.lines().enumerate() {
        let indent = &line[..line.len() - line.trim_start().len()];
        match slips.iter().find(|s| s.0 == n) {
            Some((_, new)) => writeln!(out, "{indent}{}", new.trim_start()).expect("a string"),
            None => writeln!(out, "{line}").expect("a string"),
        }
    }
    out
}

/// What is told of each of some files, without notes.
fn told(files: &[String]) -> Vec<BTreeSet<Told>> {
    let lab = Lab::new();
    let names: Vec<String> = (0..files.len()).map(|n| format!("{n:03}.plab")).collect();
    for (name, text) in names.iter().zip(files) {
        lab.write(name, text);
    }
    let args: Vec<&str> =
        ["check", "--format", "json"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let document: Value = lab.run(&args).json();
    let all = document["diagnostics"].as_array().expect("diagnostics");
    let place = |d: &Value| {
        let at = |what: &str| d["span"]["start"][what].as_u64().expect(what);
        (d["code"].as_str().expect("code").to_owned(), at("line"), at("column"))
    };
    let counts = |d: &&Value, name: &str| d["file"] == *name && d["severity"] != "note";
    names.iter().map(|n| all.iter().filter(|d| counts(d, n)).map(place).collect()).collect()
}

/// Six slips in six lines, others for each number.
fn six(all: &[Slip], number: u64) -> Vec<Slip> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut chosen: Vec<Slip> = Vec::new();
    while chosen.len() < 6 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let next = all[state as usize % all.len()];
        if chosen.iter().all(|c| c.0 != next.0) {
            chosen.push(next);
        }
    }
    chosen
}

#[test]
fn the_study_without_slips_is_right() {
    assert!(told(&[STUDY.to_owned()])[0].is_empty());
}

/// `PERFLAB_BESIDE=FROM..TO` tries other mixes.
#[test]
fn six_slips_are_six_diagnostics() {
    let all = slips();
    let range = std::env::var("PERFLAB_BESIDE").unwrap_or_else(|_| "0..10".to_owned());
    let (from, to) = range.split_once("..").expect("FROM..TO");
    let mixes: Vec<Vec<Slip>> =
        (from.parse().expect("FROM")..to.parse().expect("TO")).map(|n: u64| six(&all, n)).collect();
    let alone: Vec<Slip> = mixes.concat();
    let texts = mixes.iter().map(Vec::as_slice).chain(alone.iter().map(std::slice::from_ref)).map(study);
    let texts: Vec<String> = texts.collect();
    let mut found: Vec<_> = texts.chunks(10).flat_map(told).collect();
    let singles = found.split_off(mixes.len());
    let mut wrong = Vec::new();
    for ((mix, found), singles) in mixes.iter().zip(&found).zip(singles.chunks(6)) {
        let wanted: BTreeSet<Told> = singles.iter().flatten().cloned().collect();
        assert_eq!(wanted.len(), 6, "alone each is one: {mix:#?}");
        if *found != wanted {
            let missing: Vec<&Told> = wanted.difference(found).collect();
            let extra: Vec<&Told> = found.difference(&wanted).collect();
            wrong.push(format!("{mix:#?}\nhidden {missing:?}\nextra {extra:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), mixes.len(), wrong.join("\n"));
}
