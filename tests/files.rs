//! Studies of several files: paths relative to the file that names them, items that mean what they mean at home, one hash of all.

use std::fs;

use crate::support::{EXEC, Lab};

const SHARED: &str = r#"
use "../loads/quick.plab" { quick_base }
use std/engines { sim }
param ctx = 4Ki
engine small "Small" = sim { --max-model-len="{ctx}" }
engine other "Other" = small { --max-num-seqs=2 }
axis both = engine[small, other]
prune never "never here" when --max-num-seqs > 1k
profile quick = quick_base { requests 4 }
"#;

const LOADS: &str = r"
profile quick_base {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
";

const STUDY: &str = r#"
use "../shared/engines.plab" { small, both, never, quick }
param ctx = 1
axis seqs = --max-num-seqs=[4, 2Ki]
study s {
    model    "Qwen/Qwen3-0.6B"
    baseline small
    maximize total_tps on quick
    repeat   1
    step both { vary both }
    step seqs from small { vary seqs }
}
"#;

fn lab() -> Lab {
    let lab = Lab::new();
    for dir in ["loads", "shared", "studies"] {
        fs::create_dir(lab.path(dir)).expect("a directory");
    }
    lab.write("shared/engines.plab", SHARED);
    lab.write("loads/quick.plab", LOADS);
    lab.write("studies/study.plab", STUDY);
    lab
}

fn exec(lab: &Lab) -> crate::support::Output {
    let mut words: Vec<&str> = EXEC.to_vec();
    words[1] = "studies/study.plab";
    lab.run(&words)
}

fn hashes(lab: &Lab) -> Vec<String> {
    let text = lab.read("state/journal.jsonl");
    let lines = text.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    lines.filter_map(|e| e["kind"]["session"]["file_hash"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_study_of_three_files_is_carried_out() {
    let lab = lab();
    let report = exec(&lab).expect_code(0).report();
    let commands = report.0["trials"].as_array().expect("trials").iter().map(|t| t["command"].to_string());
    let commands: Vec<String> = commands.collect();
    assert!(commands.iter().all(|c| c.contains("--max-model-len=4096")), "{commands:?}");
    assert!(commands.iter().any(|c| c.contains("--max-num-seqs=2\"")), "{commands:?}");
    assert_eq!(report.reason("seqs", "2Ki"), "never here");
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["metrics"]["planned"].as_f64(), Some(4.0));
}

#[test]
fn the_hash_of_a_study_is_that_of_all_its_files() {
    let lab = lab();
    exec(&lab).expect_code(0);
    // a comment changes no configuration, so another candidate is needed for something to be measured
    lab.write("shared/engines.plab", SHARED.replace("--max-num-seqs=2 ", "--max-num-seqs=3 "));
    exec(&lab).expect_code(0);
    let found = hashes(&lab);
    assert!(found.len() == 2 && found[0] != found[1], "{found:?}");
}

#[test]
fn a_file_that_is_not_there_is_named_where_it_is_used() {
    let lab = lab();
    fs::remove_file(lab.path("loads/quick.plab")).expect("removed");
    exec(&lab).expect_error(
        1,
        &["E209", "shared/engines.plab:2:5", "no such file", "studies/study.plab:2:5: used here"],
    );
}

#[test]
fn a_circle_ends() {
    let lab = lab();
    lab.write("loads/quick.plab", format!("use \"../studies/study.plab\" {{ seqs }}\n{LOADS}"));
    for name in ["studies/study.plab", "./studies/../studies/study.plab"] {
        lab.run(&["check", name]).expect_error(1, &["E206", "loads/quick.plab:1:5"]);
    }
    // each of its files would say it of the next one
    let found = told(&lab, &["."]);
    assert_eq!(found.iter().filter(|(code, ..)| code == "E206").count(), 1, "{found:?}");
}

/// Each file is read while those before it wait: a row of any length ends with a diagnostic, and each mistake on it is told once.
#[test]
fn a_long_row_of_files_ends() {
    let lab = Lab::new();
    for i in 0..300 {
        let next = i + 1;
        lab.write(
            &format!("f{i}.plab"),
            format!("use \"./f{next}.plab\" {{ a{next} }}\naxis a{i} = a{next}\n"),
        );
    }
    lab.write("f300.plab", "axis a300 = --max-num-seqs=8\n");
    lab.run(&["check", "f0.plab"])
        .expect_error(1, &["E109", "f31.plab:1:5", "32 times", "1 error in 1 file"]);
    lab.run(&["check", "f269.plab"]).expect_code(0);
    for i in 0..40 {
        let next = i + 1;
        lab.write(
            &format!("f{i}.plab"),
            format!("use \"./f{next}.plab\" {{ a }}\naxis a = --max-num-seqs=8\n"),
        );
    }
    lab.write("f40.plab", "axis a = --max-num-seqs=8\n");
    let found = told(&lab, &["."]);
    assert_eq!(found.iter().filter(|(code, ..)| code == "E202").count(), 40, "{found:?}");
}

#[test]
fn every_file_below_a_directory_is_checked() {
    let lab = lab();
    fs::create_dir(lab.path(".hidden")).expect("made");
    lab.write(".hidden/bad.plab", "stuy s {}\n");
    let out = lab.run(&["check", "."]).expect_code(0);
    assert!(out.stderr.contains("3 files"), "{}", out.stderr);
    lab.write("studies/bad.plab", "stuy s {}\n");
    lab.run(&["check", "./", "./studies/bad.plab"]).expect_error(1, &["studies/bad.plab:1:1", " in 4 files"]);
    fs::create_dir(lab.path("empty")).expect("made");
    lab.run(&["check", "empty"]).expect_error(1, &["empty: no .plab file is in this directory"]);
}

/// Two mistakes, of which the one with a fix is in what others take.
const WRONG: &str = r#"use std/engines { sim }
param lim = 2
engine slow "Slow" = sim {
    --max-num-seqz=4
}
profile office {
    data        random
    input       16
    output      8
    concurrency 4
}
axis seqs = --max-num-seqs=[4, 8]
prune late "late" when p90(ttft) > lim
"#;

const USER: &str = r#"use "./lab.plab" { slow, office, seqs, late }
study s {
    model    "m/m"
    gpus     1 of "H100"
    baseline slow
    maximize total_tps on office
    repeat   1
    step a { vary seqs }
}
"#;

fn wrong() -> Lab {
    let lab = Lab::new();
    lab.write("lab.plab", WRONG);
    lab.write("s.plab", USER);
    lab.write("s2.plab", USER);
    lab
}

/// The diagnostics of a check: code, place and how many edits mend each.
fn told(lab: &Lab, files: &[&str]) -> Vec<(String, String, u64, usize)> {
    let words = [&["check", "--format", "json"], files].concat();
    let out = lab.run(&words).expect_code(1);
    let document: serde_json::Value = serde_json::from_str(&out.stdout).expect("json");
    let all = document["diagnostics"].as_array().expect("a list");
    let text = |d: &serde_json::Value, key: &str| d[key].as_str().expect("text").to_owned();
    all.iter()
        .map(|d| {
            let line = d["span"]["start"]["line"].as_u64().expect("a line");
            (text(d, "code"), text(d, "file"), line, d["fixes"].as_array().expect("a list").len())
        })
        .collect()
}

#[test]
fn a_mistake_in_a_used_file_is_told_once_however_many_use_it() {
    let lab = wrong();
    let mistake = |code: &str, line, fixes| (code.to_owned(), "lab.plab".to_owned(), line, fixes);
    let two = [mistake("E402", 2, 0), mistake("E301", 4, 1)];
    for files in [
        &["lab.plab"][..],
        &["lab.plab", "s.plab", "s2.plab"],
        &["s.plab", "s2.plab", "lab.plab"],
        &["s.plab", "s2.plab"],
        &["./s.plab"],
        &["."],
    ] {
        assert_eq!(told(&lab, files), two, "{files:?}");
    }
    lab.run(&["check", "s.plab", "s2.plab"]).expect_error(
        1,
        &[
            "write `2ms` or `2s`",
            "s.plab:1:5: used here",
            "2 errors in 2 files; `--fix` mends 1 of them where",
        ],
    );
}

#[test]
fn a_used_file_is_mended_where_it_is_named_only() {
    let lab = wrong();
    lab.run(&["check", "--fix", "s.plab"]).expect_error(1, &["E301", "E402"]);
    assert_eq!(lab.read("lab.plab"), WRONG);
    let out =
        lab.run(&["check", "--fix", "s.plab", "lab.plab"]).expect_error(1, &["E402", "1 error in 2 files"]);
    assert!(!out.stderr.contains("has no flag"), "{}", out.stderr);
}

#[test]
fn what_only_a_user_shows_stays_with_a_used_file() {
    let lab = wrong();
    lab.write("lab.plab", WRONG.replace("seqz", "seqs").replace("= 2", "= 2s"));
    lab.run(&["check", "lab.plab", "s.plab"]).expect_code(0);
    // a circle is seen from the file that it leads back to
    lab.write("lab.plab", format!("use \"./s.plab\" {{ other }}\n{WRONG}"));
    let found = told(&lab, &["s.plab"]);
    assert!(found.iter().any(|(code, file, ..)| code == "E206" && file == "lab.plab"), "{found:?}");
}

#[test]
fn a_mistake_far_down_in_a_used_file_is_told() {
    let lab = Lab::new();
    let far = "# a line that says nothing, so that what follows is far down\n".repeat(40);
    lab.write("lab.plab", format!("{far}use std/engines {{ sim }}\naxis seqs = --max-num-sesq=[32, 64]\nengine here = sim {{ --max-model-len=8Ki }}\n"));
    lab.write(
        "s.plab",
        "use \"./lab.plab\" { here, seqs }\nuse std/profiles { chat }\nstudy s {\n    model    \"é\"\n    gpus     1\n    baseline here\n    \
         maximize total_tps on chat\n    repeat   1\n    budget   20usd\n    step a { vary seqs }\n}\n",
    );
    let out = lab.run(&["check", "s.plab"]).expect_code(1);
    assert!(out.stderr.contains("--max-num-sesq") && !out.stderr.contains("panicked"), "{}", out.stderr);
    assert!(out.stderr.contains("no site here says what a GPU hour costs"), "{}", out.stderr);
}

/// A user of the lab's axes, over the library's own engine.
const TUNER: &str = r#"use "./lab.plab" { seqs, bad }
use std/engines { sim }
engine a = sim { }
profile p {
    data random
    input 8
    output 8
    concurrency 2
    requests 4
}
study s {
    model "a/b"
    baseline a
    maximize total_tps on p
    repeat 1
    step one { vary seqs }
    step two { vary bad }
}
"#;

#[test]
fn a_value_that_no_engine_takes_is_told_where_it_stands() {
    let axes = "axis seqs = --max-num-seqs=[16, 32]\naxis bad = --max-num-seqs=[16, 5l2] --foo=1\n";
    let by_itself = "use std/engines { sim }\nengine lab = sim {\n    --max-num-seqs 16\n}\n";
    for (lab_file, mistakes) in [
        (axes.to_owned(), vec![("E302", 2), ("E301", 2)]),
        // the file that holds it may know as well, whatever else is wrong with it
        (format!("{by_itself}{axes}"), vec![("E106", 3), ("E302", 6), ("E301", 6)]),
    ] {
        let lab = Lab::new();
        lab.write("lab.plab", lab_file);
        lab.write("s.plab", TUNER);
        lab.write("s2.plab", TUNER);
        for files in [&["s.plab"][..], &["s.plab", "s2.plab"], &["."]] {
            let found: Vec<_> =
                told(&lab, files).into_iter().map(|(code, file, line, _)| (code, file, line)).collect();
            let wanted: Vec<_> =
                mistakes.iter().map(|(c, line)| ((*c).to_owned(), "lab.plab".to_owned(), *line)).collect();
            assert_eq!(found, wanted, "{files:?}");
        }
    }
}
