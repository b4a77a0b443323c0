//! Bad input and bad usage: a clear message on stderr, the right exit code, nothing on stdout.

use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Lab, Output, TOYS, toy_study};

/// What `check`, `plan` and `exec` each say of one file.
fn all_commands(lab: &Lab, file: &str) -> Vec<Output> {
    ["check", "plan", "exec"].map(|command| lab.run(&[command, file])).into()
}

#[track_caller]
fn expect_all(lab: &Lab, file: &str, words: &[&str]) {
    for out in all_commands(lab, file) {
        out.expect_error(1, words);
    }
    assert!(!lab.path(".perflab").exists(), "nothing is written for a file that is wrong");
}

#[test]
fn files_that_cannot_be_studies() {
    let lab = Lab::new();
    lab.write("empty.plab", "");
    lab.write("blank.plab", "\n  \n# nothing\n");
    lab.write("latin.plab", b"study caf\xe9 {}\n");
    std::fs::create_dir(lab.path("folder")).expect("a folder");
    expect_all(&lab, "none.plab", &["none.plab", "no such file", "help:"]);
    expect_all(&lab, "empty.plab", &["empty.plab", "declares nothing", "help:"]);
    expect_all(&lab, "blank.plab", &["declares nothing"]);
    expect_all(&lab, "folder", &["folder", "directory"]);
    expect_all(&lab, "latin.plab", &["latin.plab", "UTF-8", "byte 9"]);
    expect_all(&lab, "latin.plab/x", &["latin.plab/x"]);
}

#[test]
fn ten_megabytes_of_noise() {
    const WORDS: &[u8] = b"{}[]()\"#=*, \n-ab09";
    let lab = Lab::new();
    // a linear congruential generator: noise that is the same each time
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let bytes: Vec<u8> = std::iter::repeat_with(&mut next).take(10 << 20).collect();
    lab.write("noise.plab", &bytes);
    let text: Vec<u8> = bytes.iter().map(|b| WORDS[usize::from(*b) % WORDS.len()]).collect();
    lab.write("text.plab", &text);
    // as much as a study may have
    lab.write("less.plab", &text[..1 << 20]);
    for out in
        [lab.run(&["check", "noise.plab"]), lab.run(&["check", "text.plab"]), lab.run(&["exec", "less.plab"])]
    {
        let out = out.expect_error(1, &[]);
        assert!(!out.stderr.contains("panicked") && !out.stderr.is_empty());
        assert!(out.stderr.len() < 4 << 20, "{} bytes of diagnostics", out.stderr.len());
    }
}

#[test]
fn deep_nesting_ends_no_stack() {
    let lab = Lab::new();
    let deep = 200_000;
    lab.write("deep.plab", format!("axis a = {}\n", "(".repeat(deep)));
    lab.write("json.plab", format!("axis a = --x={}\n", "{\"a\":".repeat(deep)));
    lab.write("not.plab", format!("metric m = {}1\n", "not ".repeat(deep)));
    for file in ["deep.plab", "json.plab", "not.plab"] {
        lab.run(&["check", file]).expect_error(1, &[file, "help:"]);
    }
}

#[test]
fn unknown_words_are_named_with_their_place() {
    let cases = [
        ("stduy", "stduy s {}\n".to_owned(), vec!["stduy"]),
        ("setting", toy_study("steps one { vary a }"), vec!["steps"]),
        ("name", toy_study("step one { vary sesq }"), vec!["sesq"]),
        ("engine", toy_study("step one { vary engine[tyo] }"), vec!["tyo"]),
        ("flag", toy_study("step one { vary x }") + "axis x = --fsat\n", vec!["--fsat", "--fast"]),
        ("value", toy_study("step one { vary x }") + "axis x = --a=many\n", vec!["--a", "many"]),
        ("unit", toy_study("require p99(ttft) <= 500mz\n step one { vary a }"), vec!["mz", "ms"]),
        ("bare", toy_study("require p99(ttft) <= 500\n step one { vary a }"), vec!["500ms"]),
        ("stat", toy_study("require ttft <= 500ms\n step one { vary a }"), vec!["ttft", "p99"]),
        (
            "metric",
            toy_study("maximize totl_tps on load\n step one { vary a }"),
            vec!["totl_tps", "total_tps"],
        ),
        ("K", toy_study("step one { vary x }") + "axis x = --a=32K\n", vec!["32Ki"]),
        ("space", toy_study("step one { vary x }") + "axis x = --a 3\n", vec!["--a=3"]),
        ("point", toy_study("step one { vary a[7] }"), vec!["7"]),
    ];
    for (name, text, words) in cases {
        let lab = Lab::new();
        let file = format!("{name}.plab");
        lab.write(&file, text);
        for out in all_commands(&lab, &file) {
            let words: Vec<&str> = words.iter().copied().chain([file.as_str(), "help:"]).collect();
            out.expect_error(1, &words);
        }
    }
}

#[test]
fn several_mistakes_are_several_diagnostics() {
    let lab = Lab::new();
    let axes = "axis x = --fsat\naxis y = --a=many\naxis z = sesq\n";
    lab.write(
        "study.plab",
        toy_study("require ttft <= 1ms\n step one { vary x * y }\n step two { vary z }") + axes,
    );
    let out = lab.run(&["check", "study.plab", "--format", "json"]).expect_code(1);
    let document = out.json();
    let errors =
        document["diagnostics"].as_array().expect("diagnostics").iter().filter(|d| d["severity"] == "error");
    let lines: std::collections::BTreeSet<u64> =
        errors.filter_map(|d| d["span"]["start"]["line"].as_u64()).collect();
    assert_eq!(lines.len(), 4, "{document:#}");
}

#[test]
fn check_as_json_is_one_document_over_all_files() {
    let lab = Lab::new();
    lab.write("good.plab", toy_study("step one { vary a }"));
    lab.write("bad.plab", "stduy s {}\n");
    lab.write("worse.plab", "axis a = (\n");
    let out = lab.run(&["check", "good.plab", "bad.plab", "worse.plab", "--format", "json"]).expect_code(1);
    assert_eq!(out.stderr, "");
    let document = out.json();
    assert_eq!(document["schema"], "perflab.diagnostics/1");
    let found = document["diagnostics"].as_array().expect("diagnostics");
    assert!(found.iter().any(|d| d["label"] == "did you mean `study`?"), "{document:#}");
    for file in ["bad.plab", "worse.plab"] {
        assert!(found.iter().any(|d| d["file"] == file && d["severity"] == "error"), "{document:#}");
    }
    for d in found {
        assert!(d["code"].is_string() && d["message"].is_string() && d["related"].is_array(), "{d}");
        let helps = d["help"].as_str().is_some_and(|h| !h.is_empty());
        assert!(helps || d["severity"] != "error", "{d}");
        for end in ["start", "end"] {
            let place = &d["span"][end];
            assert!(place["line"].as_u64() >= Some(1) && place["column"].as_u64() >= Some(1), "{d}");
            assert!(place["offset"].is_u64(), "{d}");
        }
    }
    let fine = lab.run(&["check", "good.plab", "--format", "json"]).expect_code(0).json();
    assert!(fine["diagnostics"].as_array().is_some_and(|d| d.iter().all(|d| d["severity"] != "error")));
}

#[test]
fn a_study_is_named_where_there_are_several() {
    let lab = Lab::new();
    let study = |name: &str| {
        format!(
            "study {name} {{\n model \"m\"\n baseline toy\n maximize total_tps on load\n repeat 1\n step one {{ vary a }} }}\n"
        )
    };
    lab.write("two.plab", format!("{TOYS}{}{}", study("left"), study("right")));
    lab.write("none.plab", TOYS);
    for command in ["plan", "exec", "report"] {
        lab.run(&[command, "two.plab"]).expect_error(1, &["2 studies", "left", "right"]);
        lab.run(&[command, "two.plab", "middle"]).expect_error(1, &["middle", "left", "right"]);
        lab.run(&[command, "none.plab"]).expect_error(1, &["study"]);
    }
    let plan: Value = lab.run(&["plan", "two.plab", "right", "--format", "json"]).expect_code(0).json();
    assert_eq!(plan["study"], "right");
}

#[test]
fn wrong_usage_is_exit_2() {
    let lab = Lab::with(&toy_study("step one { vary a }"));
    let wrong: [&[&str]; 8] = [
        &["frobnicate"],
        &["exec"],
        &["exec", "study.plab", "--frob"],
        &["exec", "study.plab", "--format", "csv"],
        &["exec", "study.plab", "s", "more"],
        &["exec", "study.plab", "--checks", "maybe"],
        &["check"],
        &["plan", "study.plab", "--color", "blue"],
    ];
    for args in wrong {
        lab.run(args).expect_error(2, &["error", "--help"]);
    }
    let nothing: [&str; 0] = [];
    let out = lab.run(&nothing).expect_code(2);
    assert!(out.stdout.is_empty() && out.stderr.contains("Usage"));
}

#[test]
fn help_and_version_are_results() {
    let lab = Lab::new();
    let help = lab.run(&["--help"]).expect_code(0);
    for command in ["check", "plan", "exec", "report", "sim"] {
        assert!(help.stdout.contains(command), "{}", help.stdout);
        lab.run(&[command, "--help"]).expect_code(0);
    }
    let version = lab.run(&["--version"]).expect_code(0);
    assert_eq!(version.stdout, format!("perflab {}\n", env!("CARGO_PKG_VERSION")));
}

/// Nothing may run as if it had been carried out.
#[test]
fn what_cannot_be_carried_out_is_noted_by_check_and_refused_by_exec() {
    let study = |lines: &str| toy_study(&format!("{lines}\n step one {{ vary a }}"));
    let cases = [("repeat", study("repeat auto"))];
    for (word, text) in cases {
        let lab = Lab::with(&text);
        let out = lab.run(&["check", "study.plab"]).expect_code(0);
        assert!(out.stderr.contains(word), "{}", out.stderr);
        lab.run(&["plan", "study.plab"]).expect_code(0);
        lab.run(&["exec", "study.plab"]).expect_error(1, &["cannot carry out", word]);
        assert!(!lab.path(".perflab").exists());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let lab = Lab::with(&toy_study("step one { vary a }"));
    for args in [&["plan", "study.plab"][..], &["--help"], &["check", "study.plab", "--format", "json"]] {
        let mut command = lab.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("perflab starts");
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
        let status = child.wait().expect("an end");
        let by = std::os::unix::process::ExitStatusExt::signal(&status);
        assert!(status.success() || by == Some(nix::libc::SIGPIPE), "{args:?}: {status}\n{stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("Broken pipe"), "{stderr}");
    }
}

#[test]
fn colours_are_for_those_who_ask() {
    let lab = Lab::with("stduy s {}\n");
    let plain = lab.run(&["check", "study.plab"]);
    assert!(!plain.stderr.contains('\x1b'), "{:?}", plain.stderr);
    let forced = lab.run(&["check", "study.plab", "--color", "always"]);
    assert!(forced.stderr.contains('\x1b'));
}

#[test]
fn tables_fit_the_width() {
    let lab = Lab::new();
    let example =
        |path: &str| crate::support::project().join("examples").join(path).to_string_lossy().into_owned();
    let (study, recording) = (example("qwen3.5-9b-h100.plab"), example("recordings/qwen3.5-9b-h100.json"));
    for width in [72, 80, 140] {
        let mut command =
            lab.command(&["exec", &study, "--replay", &recording, "--checks", "warn", "--dir", "d"]);
        command.env("COLUMNS", width.to_string());
        let out = lab.start_command(command).wait().expect_code(0);
        let table = |l: &&str| l.starts_with(['│', '╭', '├', '╰']);
        for line in out.stdout.lines().filter(table) {
            assert!(line.chars().count() <= width, "{} > {width}: {line}", line.chars().count());
        }
        assert!(out.stdout.contains("11,768"), "no number is broken");
    }
}

#[test]
fn a_result_that_cannot_be_printed_is_no_success() {
    let lab = Lab::with(&toy_study("step one { vary a }"));
    for words in
        [&["plan", "study.plab"][..], &["plan", "study.plab", "--format", "json"], &["std", "engines"]]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let out = lab.command(words).stdout(full).stderr(Stdio::piped()).output().expect("it runs");
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("standard output: No space left"), "{words:?}: {said}");
    }
}
