//! `perflab init`: pasted commands and the studies that they become. Each `tests/init/NAME.txt` has its study beside it,
//! which must check without a warning, and whose baseline must be the pasted command.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{Lab, Output, project};

fn folder() -> PathBuf {
    project().join("tests/init")
}

/// The binary with a text on stdin and a home of its own.
fn init(lab: &Lab, args: &[&str], stdin: &str) -> Output {
    let input = lab.write("stdin.txt", stdin);
    let mut command = lab.command(&[&["init"], args].concat());
    command.env("HOME", "/home/me").stdin(fs::File::open(input).map_or(Stdio::null(), Stdio::from));
    lab.start_command(command).wait()
}

#[track_caller]
fn assert_golden(name: &str, text: &str) {
    let path = folder().join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        fs::write(&path, text).expect("written");
    }
    let expected =
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}; UPDATE_EXPECT=1 writes it"));
    assert!(text == expected, "{name} differs (UPDATE_EXPECT=1 rewrites it); now:\n{text}");
}

/// Errors and warnings that `check` finds; notes are no doubts.
fn doubts(lab: &Lab, file: &str) -> Vec<String> {
    let out = lab.run(&["check", "--format", "json", file]);
    let all = out.json();
    let found = all["diagnostics"].as_array().expect("a list");
    let doubts = found.iter().filter(|d| d["severity"] != "note");
    doubts.map(|d| format!("{} {}", d["code"], d["message"])).collect()
}

fn cases() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(folder())
        .expect("the folder")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "txt"))
        .map(|p| {
            let name = p.file_stem().and_then(|s| s.to_str()).expect("a name").to_owned();
            (name, fs::read_to_string(&p).expect("text"))
        })
        .collect();
    found.sort();
    assert!(found.len() > 10, "the cases are where they should be");
    found
}

#[test]
fn pasted_commands_become_studies() {
    for (name, text) in cases() {
        let lab = Lab::new();
        let out = init(&lab, &[], &text).expect_code(0);
        assert_golden(&format!("{name}.plab"), &out.stdout);
        lab.write("study.plab", &out.stdout);
        assert_eq!(doubts(&lab, "study.plab"), Vec::<String>::new(), "{name}");
        lab.run(&["fmt", "--check", "study.plab"]).expect_code(0);
        let plan = lab.run(&["plan", "study.plab", "--format", "json"]).expect_code(0).json();
        assert!(plan["launches"]["max"].as_u64().is_some_and(|n| n > 2), "{name}: {}", plan["launches"]);
        for secret in ["hf_not_for_git", "sk-not-for-git"] {
            assert!(!out.stdout.contains(secret) && !out.stderr.contains(secret), "{name} tells a secret");
        }
        for line in out.stdout.lines() {
            assert!(line.chars().count() <= 120 && line.trim_end() == line, "{name}: {line}");
        }
    }
}

/// Words of a command, `--flag=value` and `--flag value` alike, without those that a launch decides.
fn words(command: &str) -> Vec<String> {
    let all = shell_words::split(&command.replace("\\\n", " ")).expect("a command");
    let mut out: Vec<String> = Vec::new();
    let mut skip = false;
    for word in all {
        if std::mem::take(&mut skip) || word == "&" {
            continue;
        }
        match word.split_once('=').filter(|(name, _)| name.starts_with('-')) {
            Some((name, value)) => out.extend([name.to_owned(), value.to_owned()]),
            None => out.push(word),
        }
        if matches!(out.last().map(String::as_str), Some("--host" | "--port")) {
            out.pop();
            skip = true;
        }
    }
    out
}

#[test]
fn the_baseline_is_the_pasted_command() {
    let simple: Vec<_> = cases()
        .into_iter()
        .filter(|(_, text)| text.lines().filter(|l| !l.starts_with([' ', '#'])).count() == 1)
        .filter(|(name, text)| {
            !text.starts_with("docker") && !text.starts_with("podman") && !name.contains("session")
        })
        .collect();
    assert!(simple.len() >= 8, "{}", simple.len());
    for (name, text) in simple {
        let lab = Lab::new();
        let study = init(&lab, &[], &text).expect_code(0).stdout;
        lab.write("study.plab", study);
        let plan = lab.run(&["plan", "study.plab", "--format", "json"]).expect_code(0).json();
        let command = plan["baseline"]["command"].as_str().expect("a command");
        let text: String = text.lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n");
        // what `argparse` takes for the long option, and numbers and JSON in another spelling, are the same words
        let same = |w: String| match w.as_str() {
            "--tp" => "--tp-size".to_owned(),
            "--dp" => "--dp-size".to_owned(),
            "1k" => "1000".to_owned(),
            w if w.starts_with("~/") => w.replacen('~', "/home/me", 1),
            w => {
                serde_json::from_str::<serde_json::Value>(w).map_or_else(|_| w.to_owned(), |j| j.to_string())
            }
        };
        let sorted = |text: &str| {
            let mut all: Vec<String> = words(text).into_iter().map(same).collect();
            all.sort();
            all
        };
        assert_eq!(sorted(command), sorted(&text), "{name}");
    }
}

#[test]
fn a_command_comes_as_arguments_in_quotes_or_on_stdin() {
    let lab = Lab::new();
    let line = "vllm serve Qwen/Qwen3-8B --max-model-len 32768 -tp 2";
    let piped = init(&lab, &[], line).expect_code(0);
    let split: Vec<&str> = line.split(' ').collect();
    for args in [vec![line], vec!["--", line], [vec!["--"], split.clone()].concat(), split] {
        let out = init(&lab, &args, "").expect_code(0);
        assert_eq!(out.stdout, piped.stdout, "{args:?}");
    }
    assert_eq!(piped.stderr, "");
}

#[test]
fn a_file_is_never_overwritten_by_accident() {
    let lab = Lab::new();
    let args = ["-o", "study.plab", "--", "vllm", "serve", "org/m"];
    let out = init(&lab, &args, "").expect_code(0);
    assert_eq!(out.stdout, "");
    assert!(out.stderr.contains("perflab plan study.plab"), "{}", out.stderr);
    let first = lab.read("study.plab");
    lab.write("study.plab", "mine");
    init(&lab, &args, "").expect_error(1, &["study.plab", "there is a file", "--force"]);
    assert_eq!(lab.read("study.plab"), "mine");
    init(&lab, &[&["--force"], &args[..]].concat(), "").expect_code(0);
    assert_eq!(lab.read("study.plab"), first);
    init(&lab, &["-o", "no/such/folder.plab", "--", "vllm", "serve", "org/m"], "")
        .expect_error(1, &["folder"]);
}

#[test]
fn the_version_comes_from_the_user_the_image_or_is_marked() {
    let lab = Lab::new();
    let guessed = init(&lab, &[], "vllm serve org/m").expect_code(0).stdout;
    assert!(guessed.contains("# the newest one known; write yours: vllm --version"), "{guessed}");
    let said =
        init(&lab, &["--engine-version", "0.11.0", "--", "vllm serve org/m"], "").expect_code(0).stdout;
    assert!(said.contains("version \"0.11.0\"\n"), "{said}");
    // 0.11.0 has no --performance-mode, and schedules asynchronously only if told to
    assert!(
        !said.contains("--performance-mode") && said.contains("axis async   = --async-scheduling"),
        "{said}"
    );
    init(&lab, &["--engine-version", "new est", "--", "vllm serve org/m"], "").expect_error(1, &["new est"]);
}

#[test]
fn what_cannot_be_read_is_said() {
    let cases: [(&str, &[&str]); 12] = [
        ("", &["no command", "vllm serve"]),
        ("# only a comment\n", &["no command"]),
        ("ls -l", &["no serve command", "`ls -l`", "trtllm-serve"]),
        ("vllm bench serve --model m", &["no serve command"]),
        ("vllm serve --max-num-seqs 8", &["names no model"]),
        ("vllm serve <model>", &["<model>", "placeholder"]),
        ("vllm serve 'org/m", &["never closed"]),
        ("vllm serve org/m -tp $(nproc)", &["$(nproc)", "another command"]),
        ("vllm serve org/m -tp $TP", &["$TP", "sets"]),
        ("vllm serve a/b &\nvllm serve c/d", &["2 serve commands"]),
        ("docker run ubuntu:24.04 sleep 10", &["no serve command"]),
        ("docker run", &["no serve command"]),
    ];
    let lab = Lab::new();
    for (text, words) in cases {
        let words: Vec<&str> = words.iter().copied().chain(["help:"]).collect();
        init(&lab, &[], text).expect_error(1, &words);
    }
}
