//! Edits of the study file between two invocations: what was measured under other words, rules or declarations is no result any more.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{EXEC, Lab, Output, binary, live_study};

const ENGINE: &str = r#"
engine scripted "Scripted" {
    version "1"
    serve   "sh engine.sh {model} {host} {port}"
    ready   get "/health" within 30s
    api     openai
    args    joined
    stop    sigterm within 5s
    flag --mode text
    flag --many words
    flag --conf json
}
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 2
    requests    24
    warmup      0
}
axis mode = { a: --mode=a, b: --many="x y", c: --conf={"k": 1} }
"#;

/// A lab whose engine does what a script says, its flags in `$flags`, and then serves with the simulated one.
fn lab(script: &str, lines: &str) -> Lab {
    let lab = Lab::new();
    let serve = format!("exec '{}' sim --model \"$model\" --host \"$host\" --port \"$port\"", binary());
    let engine = format!("model=$1 host=$2 port=$3\nshift 3\nflags=\"$*\"\n{script}\n{serve}\n");
    lab.write("engine.sh", engine);
    let study = format!(
        "study s \"S\" {{\n model \"Qwen/Qwen3-0.6B\"\n baseline scripted\n maximize total_tps on quick\n repeat 1\n step mode {{ vary mode }}\n{lines}\n}}\n"
    );
    lab.write("study.plab", ENGINE.to_owned() + &study);
    lab
}

fn edit(lab: &Lab, from: &str, to: &str) {
    let text = lab.read("study.plab");
    assert!(text.contains(from), "{from}");
    lab.write("study.plab", text.replace(from, to));
}

fn launched(out: &Output) -> usize {
    out.stderr.lines().filter(|l| l.starts_with("  L") && l.contains(": own-server")).count()
}

fn launches(out: &Output) -> usize {
    out.stderr.lines().filter(|l| l.starts_with("  L") && l.contains("engine.sh")).count()
}

#[test]
fn a_load_that_a_rule_stopped_is_a_result_for_that_rule_alone() {
    let lab = lab("", "");
    let rule = "prune slow \"too slow\" when p50(ttft) > 0.001ms after 6 requests\n";
    lab.write("study.plab", rule.to_owned() + &lab.read("study.plab"));
    let out = lab.run(&EXEC).expect_code(0);
    assert_eq!((launches(&out), out.report().outcome("mode", "a")), (4, "pruned"));
    assert_eq!(launches(&lab.run(&EXEC).expect_code(0)), 0);
    edit(&lab, "0.001ms", "900s");
    let out = lab.run(&EXEC).expect_code(0);
    assert!(out.stderr.contains("the rule `slow` ended its load, and is another now"), "{}", out.stderr);
    assert_eq!(launches(&out), 3);
    assert_ne!(out.report().outcome("mode", "a"), "pruned");
    // what ran to its end stands, whatever becomes of rules
    edit(&lab, "prune slow \"too slow\" when p50(ttft) > 900s after 6 requests", "");
    assert_eq!(launches(&lab.run(&EXEC).expect_code(0)), 0);
}

#[test]
fn the_same_values_in_other_words_are_another_command() {
    let lab = lab("", "");
    assert_eq!(launches(&lab.run(&EXEC).expect_code(0)), 4);
    edit(&lab, "flag --many words", "flag --many repeated");
    assert_eq!(launches(&lab.run(&EXEC).expect_code(0)), 1);
    edit(&lab, "flag --conf json", "flag --conf json_file");
    assert_eq!(launches(&lab.run(&EXEC).expect_code(0)), 1);
    edit(&lab, "args    joined", "args    spaced");
    let out = lab.run(&EXEC).expect_code(0);
    assert!(out.stderr.contains("flags typed another way (`args`)"), "{}", out.stderr);
    assert_eq!(launches(&out), 4);
    let script = lab.read("state/recommended.sh");
    let shell = if script.contains("<(") { "#!/usr/bin/env bash" } else { "#!/bin/sh" };
    assert!(script.starts_with(shell), "{script}");
}

/// An engine that derives from another one and is started otherwise is measured for itself.
#[test]
fn an_engine_with_a_serve_line_of_its_own_is_no_other_engine() {
    let lab = lab("", "step both { vary engine[scripted, slow] }");
    let slow =
        "engine slow \"Slow\" = scripted { serve \"env SLOW=1 sh engine.sh {model} {host} {port}\" }\n";
    lab.write("study.plab", lab.read("study.plab").replace("profile quick", &format!("{slow}profile quick")));
    let out = lab.run(&EXEC).expect_code(0);
    assert_eq!(launches(&out), 5, "{}", out.stderr);
    let report = out.report();
    let rows = report.0["steps"][1]["candidates"].as_array().expect("candidates");
    assert!(rows.len() == 2 && rows[0] != rows[1], "{rows:?}");
    // what the one was measured with is no result of the other when they change places
    lab.write(
        "study.plab",
        lab.read("study.plab")
            .replace("sh engine.sh {model}", "env SLOW=1 sh engine.sh {model}")
            .replace("env SLOW=1 env SLOW=1 ", ""),
    );
    let out = lab.run(&EXEC).expect_code(0);
    assert!(out.stderr.contains("measured with another serve line, `ready` or `reset`"), "{}", out.stderr);
    assert!(launches(&out) >= 4, "{}", out.stderr);
}

/// Names stand for what they mean where they are declared.
#[test]
fn roots_of_one_name_in_two_files_are_two_engines() {
    let lab = lab("", "step both { vary engine[far] }");
    let root = lab.read("study.plab").split("profile quick").next().expect("an engine").to_owned();
    let far = root.replace("sh engine.sh", "env FAR=1 sh engine.sh")
        + "engine far \"Far\" = scripted { --mode=f }\n";
    lab.write("far.plab", far);
    lab.write("study.plab", "use \"./far.plab\" { far }\n".to_owned() + &lab.read("study.plab"));
    let out = lab.run(&EXEC).expect_code(0);
    assert_eq!(launches(&out), 5, "{}", out.stderr);
    assert!(out.stderr.contains("env FAR=1 sh engine.sh"), "{}", out.stderr);
}

/// What an engine was missing and has now is looked for where the `PATH` leads.
#[test]
fn a_program_that_was_not_there_is_tried_again_once_it_is() {
    let lab = lab("", "");
    edit(&lab, "sh engine.sh {model}", "own-server {model}");
    let run = || {
        let mut command = lab.command(&EXEC);
        let path = std::env::var("PATH").expect("a path");
        command.env("PATH", format!("{}:{path}", lab.path("bin").display()));
        lab.start_command(command).wait()
    };
    let out = run().expect_code(3);
    assert!(out.stderr.contains("own-server: program not found"), "{}", out.stderr);
    assert_eq!(launched(&run().expect_code(3)), 0);
    std::fs::create_dir(lab.path("bin")).expect("made");
    let program = lab.write("bin/own-server", "#!/bin/sh\n".to_owned() + &lab.read("engine.sh"));
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).expect("executable");
    assert_eq!(launched(&run().expect_code(0)), 4);
}

/// Without it a load may find in the cache what the one before it left there.
#[test]
fn another_reset_between_loads_is_another_measurement() {
    let lab = lab("", "");
    lab.run(&EXEC).expect_code(0);
    edit(&lab, "args    joined", "args    joined\n    reset   post \"/reset_prefix_cache\"");
    let out = lab.run(&EXEC).expect_code(0);
    assert!(out.stderr.contains("measured without the `reset` between its loads"), "{}", out.stderr);
    assert_eq!(launches(&out), 4);
    assert_eq!(launches(&lab.run(&EXEC).expect_code(0)), 0);
}

#[test]
fn a_baseline_that_fails_afresh_is_said_and_has_no_number() {
    let lab = lab(
        "case $flags in '') echo >> count; [ $(wc -l < count) -lt 2 ] || { echo 'RuntimeError: not again' >&2; exit 1; };; esac",
        "adopt gain >= 0%\n confirm on quick",
    );
    edit(&lab, "{ vary mode }", "{ vary mode\n pick mode[a] because \"it shall\" }");
    let out = lab.run(&EXEC).expect_code(0);
    let report = out.report();
    let confirm = &report.0["confirm"][0];
    assert!(confirm["baseline_objective"].is_null(), "{confirm}");
    assert!(
        confirm["baseline_failed"].as_str().is_some_and(|why| why.contains("RuntimeError: not again")),
        "{confirm}"
    );
    assert!(lab.read("state/recommended.sh").contains("The baseline failed on Quick"));
}

/// What an engine is told of its files are words, and a journal is text.
#[test]
fn a_path_that_is_no_text_is_named_before_anything_starts() {
    let lab = lab("", "");
    let name = OsStr::from_bytes(b"bad\xff");
    let dir = lab.path(".").join(name);
    let mut command = lab.command(&["exec", "study.plab", "--dir"]);
    command.arg(&dir);
    lab.start_command(command).wait().expect_error(1, &["is not text in UTF-8", "--dir DIR"]);
    assert!(!dir.exists());
}

#[test]
fn a_failure_is_tried_again_once_its_declaration_is_mended() {
    let lab = lab("case $flags in *mode=a*) sleep 2;; esac", "");
    edit(&lab, "within 30s", "within 1s");
    assert_eq!(lab.run(&EXEC).expect_code(0).report().outcome("mode", "a"), "failed");
    assert_eq!(launches(&lab.run(&EXEC).expect_code(0)), 0);
    edit(&lab, "within 1s", "within 30s");
    let out = lab.run(&EXEC).expect_code(0);
    assert_eq!(launches(&out), 1);
    assert_ne!(out.report().outcome("mode", "a"), "failed");
    // what failed is no result any more for whoever reads the journal, too
    let told =
        lab.run(&["report", "study.plab", "--dir", "state", "--format", "json"]).expect_code(0).report();
    assert_ne!(told.outcome("mode", "a"), "failed");
}

/// What runs only sometimes is not recommended.
#[test]
fn a_winner_that_fails_afresh_is_not_recommended() {
    let lab = lab(
        "case $flags in *mode=a*) echo >> count; [ $(wc -l < count) -lt 2 ] || { echo 'RuntimeError: not again' >&2; exit 1; };; esac",
        "adopt gain >= 0%\n confirm on quick",
    );
    edit(&lab, "{ vary mode }", "{ vary mode\n pick mode[a] because \"it shall\" }");
    let out = lab.run(&EXEC).expect_code(3);
    let report = out.report();
    assert!(report.0["recommended"].is_null(), "{}", report.0["recommended"]);
    let why = report.0["no_recommendation"].as_str().expect("a reason");
    assert!(why.contains("what won failed") && why.contains("RuntimeError: not again"), "{why}");
    assert_eq!(report.0["confirm"][0]["verdict"], "failed");
    // what failed there is what `--again failed` means too
    let again = lab.run(&[&EXEC[..], &["--again", "failed"]].concat());
    assert!(again.stderr.contains("1 configuration is measured again"), "{}", again.stderr);
}

/// One load of two is edited: what was measured of the other one counts, and the plan counts it.
#[test]
fn the_trials_of_a_profile_that_nobody_edited_are_measured_ones() {
    let study = live_study("step one { vary seqs[4] }")
        .replace("study s ", "profile other = quick { input 8 }\nstudy s ")
        .replace("total_tps on quick", "total_tps on quick, other");
    let lab = Lab::with(&study);
    lab.run(&EXEC).expect_code(0);
    let trials = || {
        let plan =
            lab.run(&["plan", "study.plab", "--dir", "state", "--format", "json"]).expect_code(0).json();
        ["max", "to_measure", "measured"].map(|count| plan["trials"][count].as_u64().expect("a number"))
    };
    assert_eq!(trials(), [4, 0, 4]);
    lab.write("study.plab", study.replace("input 8 ", "input 9 "));
    assert_eq!(trials(), [4, 2, 2]);
}
