//! One token of a study doubled, or two of them the other way round: one diagnostic, and one that `--fix` mends to what it was, alone and
//! with another mistake in the same block.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::support::Lab;

const STUDY: &str = r#"use std/engines { sim }
use std/profiles { chat, summarize }
param lim = 1s
engine x "X" = sim { --max-model-len=8Ki }
profile c2 = chat { requests 20 }
axis seqs = --max-num-seqs=[64, 128]
axis async = --async-scheduling
metric tail = p99(ttft) / p50(ttft)
prune late "late" when p99(ttft) > lim
study a "A" {
    model "x/y"
    gpus 2 of "H100"
    baseline x
    maximize total_tps on chat
    require tail < 10 on c2
    repeat 1
    budget 4h
    adopt gain >= 1%
    note "hello"
    step q "Q" from x when tail < 3 { vary seqs + async }
    step r { vary engine[x] by grid }
    track t { step r { vary seqs } }
    confirm on summarize
}
site s {
    engine sim via path
    data sharegpt at "x"
    env A_B=1
    price 1usd/h
}
"#;

/// What stands beside it: nothing, a word that is misspelt, a sign that is missing.
const NOISE: [Option<(&str, &str)>; 3] =
    [None, Some(("repeat 1", "repeats 1")), Some(("tail < 10", "tail 10"))];

/// A line of the study, the places of its words, and its text.
fn words() -> Vec<(usize, Vec<std::ops::Range<usize>>, &'static str)> {
    let word = |line: &'static str| {
        let at = |w: &str| w.as_ptr() as usize - line.as_ptr() as usize;
        // a factor with its points is several tokens
        let one = |w: &&str| !matches!(*w, "{" | "}") && !w.ends_with("[x]");
        let plain = line.split_whitespace().filter(one);
        plain.map(|w| at(w)..at(w) + w.trim_end_matches(',').len()).collect()
    };
    STUDY.lines().enumerate().map(|(n, line)| (n, word(line), line)).collect()
}

fn with(number: usize, right: &str, noise: Option<(&str, &str)>) -> Option<String> {
    let mut out = String::new();
    for (n, line) in STUDY.lines().enumerate() {
        let line = if n == number { right } else { line };
        writeln!(out, "{line}").expect("a string");
    }
    let Some((was, now)) = noise else { return Some(out) };
    let beside = STUDY.lines().nth(number).is_none_or(|l| !l.contains(was));
    (beside && out.contains(was)).then(|| out.replacen(was, now, 1))
}

/// Each word of each line twice.
fn doubled() -> Vec<(usize, String)> {
    let twice = |(n, words, line): (usize, Vec<std::ops::Range<usize>>, &'static str)| {
        words.into_iter().map(move |w| (n, format!("{} {}", &line[..w.end], &line[w.start..])))
    };
    words().into_iter().flat_map(twice).collect()
}

/// Each two words of each line the other way round that belong together.
fn turned() -> Vec<(usize, String)> {
    let pairs = [
        ("param lim = 1s", "param lim 1s ="),
        ("axis async = --async-scheduling", "axis async --async-scheduling ="),
        ("use std/profiles", "std/profiles use"),
        ("metric tail", "tail metric"),
        ("prune late \"late\" when", "prune late when \"late\""),
        ("study a", "a study"),
        ("gpus 2 of", "gpus of 2"),
        ("maximize total_tps on", "maximize on total_tps"),
        ("require tail <", "require < tail"),
        ("repeat 1", "1 repeat"),
        ("gain >=", ">= gain"),
        ("step q", "q step"),
        ("from x", "x from"),
        ("step r {", "step { r"),
        ("track t {", "track { t"),
        ("track t", "t track"),
        ("on summarize", "summarize on"),
        ("site s", "s site"),
        ("sim via", "via sim"),
        ("at \"x\"", "\"x\" at"),
    ];
    let line = |was: &str| STUDY.lines().position(|l| l.contains(was)).unwrap_or_else(|| panic!("no {was}"));
    let right = |(was, now): (&str, &str)| {
        let n = line(was);
        (n, STUDY.lines().nth(n).expect("a line").replacen(was, now, 1))
    };
    pairs.into_iter().map(right).collect()
}

/// How many more errors each of some files has than the study with the same noise, and what of it `--fix` leaves other than it was.
fn wrong(slips: &[(usize, String)]) -> Vec<String> {
    let lab = Lab::new();
    let mut wrong = Vec::new();
    for noise in NOISE {
        let named = |n: usize| format!("{n:03}.plab");
        let texts: Vec<(&(usize, String), String)> =
            slips.iter().filter_map(|s| Some((s, with(s.0, &s.1, noise)?))).collect();
        lab.write("base.plab", with(usize::MAX, "", noise).expect("noise alone"));
        for (n, (_, text)) in texts.iter().enumerate() {
            lab.write(&named(n), text);
        }
        let files: Vec<String> = (0..texts.len()).map(named).collect();
        let told = errors(&lab, &files);
        let base = errors(&lab, &["base.plab".to_owned()])[0];
        let mut fix = vec!["check", "--fix"];
        fix.extend(files.iter().map(String::as_str));
        lab.run(&fix);
        for ((slip, name), told) in texts.iter().zip(&files).zip(told) {
            let mended = fs::read_to_string(lab.path(name)).expect("the file");
            let line = mended.lines().nth(slip.0.0).unwrap_or_default();
            let right = STUDY.lines().nth(slip.0.0).expect("a line");
            let unspaced = |line: &str| line.split_whitespace().collect::<String>();
            // of a value that stands there twice both may be meant
            let left = line == slip.0.1;
            if told != base + 1 || !left && unspaced(line) != unspaced(right) || left && !line.contains('=') {
                wrong.push(format!("{noise:?}: {} is {} more, then {line}", slip.0.1, told - base));
            }
        }
    }
    wrong
}

fn errors(lab: &Lab, names: &[String]) -> Vec<i64> {
    let args: Vec<&str> =
        ["check", "--format", "json"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let document: Value = lab.run(&args).json();
    let all = document["diagnostics"].as_array().expect("diagnostics");
    let of = |name: &String| all.iter().filter(|d| d["file"] == **name && d["severity"] == "error").count();
    names.iter().map(|n| i64::try_from(of(n)).expect("few")).collect()
}

#[test]
fn a_word_that_stands_twice_is_one_mistake() {
    let wrong = wrong(&doubled());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn two_words_the_wrong_way_round_are_one_mistake() {
    let wrong = wrong(&turned());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
