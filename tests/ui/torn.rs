//! A mistake hides no doubt about the rest of its file, and brings none about that it would not have without it.

use std::fs;

use perflab::lang::analyze;
use perflab::lang::fix::complete;
use perflab::lang::source::NoFiles;
use perflab::plan::reviewed;

use super::folder;
use crate::support::studies;

/// A doubt that only candidates show.
struct Doubt {
    code: &'static str,
    message: String,
    line: String,
}

impl Doubt {
    /// Whether another is the same: where two things exclude a step, either may be where that is told.
    fn is(&self, other: &Self) -> bool {
        self.code == other.code && (self.message == other.message || self.line == other.line)
    }
}

/// Those of a text, as a check tells them, and whether it has errors.
fn doubts(text: &str) -> (bool, Vec<Doubt>) {
    let read = |text: &str| reviewed(analyze(&NoFiles, "test.plab", text));
    let mut analysis = read(text);
    complete(text, &mut analysis, &read);
    let line = |at: u32| {
        let at = at as usize;
        let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
        text[start..].lines().next().unwrap_or_default().to_owned()
    };
    let known = ["W512", "W513", "W514", "W515", "W516", "W517", "W524", "W527", "E340"];
    let all = analysis.diagnostics.iter().filter(|d| known.contains(&d.code.id()));
    let all = all.map(|d| Doubt { code: d.code.id(), message: d.message.clone(), line: line(d.span.start) });
    (analysis.has_errors(), all.collect())
}

/// A file with one slip in a line: each of its words once without a letter, and the line with a sign too many.
fn slips(line: &str) -> Vec<String> {
    let mut out = vec![format!("{line} @")];
    let mut at = 0;
    for word in line.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        if word.len() > 4 && word.is_ascii() {
            let mut slip = line.to_owned();
            slip.remove(at + 2);
            out.push(slip);
        }
        at += word.len();
    }
    out
}

#[test]
fn a_mistake_brings_no_doubt_about_the_rest_about() {
    // `PERFLAB_TORN=1` takes every slip, which takes a while
    let every = std::env::var("PERFLAB_TORN").map_or(41, |n| n.parse().expect("a number"));
    let (mut tried, mut kept, mut of, mut wrong) = (0, 0, 0, Vec::new());
    for path in studies(&folder()) {
        let text = fs::read_to_string(&path).unwrap();
        let (errors, sound) = doubts(&text);
        if errors || text.len() > 4000 {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate().filter(|(_, l)| !l.trim_start().starts_with('#')) {
            for slip in slips(line) {
                tried += 1;
                if tried % every != 0 {
                    continue;
                }
                let torn = [&lines[..n], &[slip.as_str()], &lines[n + 1..]].concat().join("\n");
                let (errors, found) = doubts(&torn);
                if !errors {
                    continue;
                }
                if found.len() < sound.len() && std::env::var_os("PERFLAB_TORN").is_some() {
                    println!("hidden {} {} {slip:?}", found.len(), sound.len());
                }
                kept += found.len();
                of += sound.len();
                let new = found.iter().filter(|f| f.line != slip && !sound.iter().any(|s| s.is(f)));
                let told =
                    |f: &Doubt| format!("{}: {slip:?} brings {} {:?}", path.display(), f.code, f.message);
                wrong.extend(new.map(told));
            }
        }
    }
    println!("{tried} slips, {kept} of {of} doubts were told");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(kept * 10 > of * 9, "{kept} of {of} doubts are told beside a mistake");
}

#[test]
fn how_long_requests_are_is_not_judged_of_a_profile_that_cannot_be_read() {
    let file = |short: &str| {
        format!(
            "use std/engines {{ sim }}\nengine a = sim {{ --max-model-len=1Ki }}\nprofile long {{\n data random\n input 4Ki\n output 256\n \
             concurrency 2\n requests 4\n}}\nprofile short = long {{ {short} }}\nprofile shorter = short {{ seed 1 }}\nstudy s {{\n model \"a/b\"\n \
             baseline a\n maximize total_tps on shorter\n repeat 1\n step two {{ vary engine[a] }}\n}}\n"
        )
    };
    let told = |short: &str| {
        let found = reviewed(analyze(&NoFiles, "test.plab", &file(short))).diagnostics;
        found.iter().map(|d| d.code.id()).filter(|c| c.starts_with('E') || *c == "W603").collect::<Vec<_>>()
    };
    assert_eq!(told("input 64"), [""; 0]);
    assert_eq!(told("seed 2"), ["W603"]);
    assert_eq!(told("inputt 64"), ["E102"]);
    assert_eq!(told("input 64x5"), ["E103"]);
    // what has nothing to do with lengths hides nothing
    assert_eq!(told("seed two"), ["W603", "E601"]);
}
