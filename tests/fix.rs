//! `check --fix` and the forms of `check` that programs read: what is mended, what is left, and that nothing else changes.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value as Json;

use crate::support::Lab;

/// A study with a mistake of each kind that a machine can mend.
const WRONG: &str = r#"use std/engines  { sim, vllm }
use std/profiles { chat }   # the load

param ctx = 8KI

engine small = sim {
    --max-model-len "{ctx}"     # short
    --max-num-seq=64
    --enable-prefix-caching=false
    --quantization='fp8'
}

axis seqs = --max-num-seqs=[16 32]  # both

study tiny “A small study” {
    model    "Qwen/Qwen3-8B"
    baseline smal
    maximize total_tps on chat
    require  p99(ttft) <= 500msec && success_rate >= 99%
    repeat   1

    step seqs { vray seqs }
}
"#;

const RIGHT: &str = r#"use std/engines  { sim }
use std/profiles { chat }   # the load

param ctx = 8Ki

engine small = sim {
    --max-model-len="{ctx}"     # short
    --max-num-seqs=64
    --no-enable-prefix-caching
    --quantization="fp8"
}

axis seqs = --max-num-seqs=[16, 32]  # both

study tiny "A small study" {
    model    "Qwen/Qwen3-8B"
    baseline small
    maximize total_tps on chat
    require  p99(ttft) <= 500ms and success_rate >= 99%
    repeat   1

    step seqs { vary seqs }
}
"#;

#[test]
fn all_that_a_machine_can_mend_is_mended_and_comments_stay() {
    let lab = Lab::new();
    lab.write("a.plab", WRONG);
    let out = lab.run(&["check", "--fix", "a.plab"]).expect_code(0);
    assert_eq!(std::fs::read_to_string(lab.path("a.plab")).expect("there"), RIGHT, "{}", out.stderr);
    assert!(out.stderr.contains("a.plab: 12 fixes made"), "{}", out.stderr);
    let told: Vec<&str> = out.stderr.lines().filter(|l| l.starts_with("a.plab:")).collect();
    assert_eq!(told.len(), 13, "a line for each fix: {}", out.stderr);
    for line in [
        "a.plab:8: wrote `--max-num-seqs` for `--max-num-seq` (E301)",
        "a.plab:17: wrote `small` for `smal` (E201)",
        "a.plab:1: took out `, vllm` (W510)",
    ] {
        assert!(told.contains(&line), "{line} is not in {}", out.stderr);
    }
    let again = lab.run(&["check", "--fix", "a.plab"]).expect_code(0);
    assert!(!again.stderr.contains("made"), "{}", again.stderr);
    lab.write("a.plab", WRONG);
    let quiet = lab.run(&["-q", "check", "--fix", "a.plab"]).expect_code(0);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn what_only_a_person_can_mend_is_left_as_it_is() {
    let lab = Lab::new();
    // minutes or milliseconds? one of two names? seconds or milliseconds? 1000 or 1024? a second or a minute?
    let text = "use std/profiles { sharegpt_1rps, sharegpt_4rps }\n\
                profile a = sharegpt_5rps { timeout 5m }\nprofile b = sharegpt_1rps { duration 500 }\n\
                profile c = sharegpt_1rps { input 32K }\nprofile d = sharegpt_1rps { rate 30 }\n";
    lab.write("a.plab", text);
    let out = lab.run(&["check", "--fix", "a.plab"]).expect_code(1);
    assert_eq!(std::fs::read_to_string(lab.path("a.plab")).expect("there"), text, "{}", out.stderr);
    assert!(!out.stderr.contains("fix"), "{}", out.stderr);
}

#[test]
fn several_files_are_mended_links_and_permissions_stay() {
    let lab = Lab::new();
    lab.write("one.plab", "param a = 'x'\n");
    lab.write("two.plab", "\u{feff}param b = 32KI\r\nparam c = 5m\r\n");
    std::fs::set_permissions(lab.path("one.plab"), std::fs::Permissions::from_mode(0o640)).expect("set");
    symlink("one.plab", lab.path("link.plab")).expect("a link");
    let out = lab.run(&["check", "--fix", "link.plab", "two.plab"]).expect_code(1);
    assert!(out.stderr.ends_with("1 error in 2 files\n"), "{}", out.stderr);
    assert_eq!(std::fs::read_to_string(lab.path("one.plab")).expect("there"), "param a = \"x\"\n");
    let two = std::fs::read_to_string(lab.path("two.plab")).expect("there");
    assert_eq!(two, "\u{feff}param b = 32Ki\r\nparam c = 5m\r\n");
    assert!(lab.path("link.plab").is_symlink());
    let mode = std::fs::metadata(lab.path("one.plab")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn json_holds_the_fixes() {
    let lab = Lab::new();
    lab.write("a.plab", "param a = 'x'\nparam b = 5m\n");
    let document: Json = lab.run(&["check", "--format", "json", "a.plab"]).expect_code(1).json();
    let fixes = &document["diagnostics"][0]["fixes"];
    assert_eq!(fixes[0]["replacement"], "\"x\"");
    assert_eq!(
        (&fixes[0]["span"]["start"]["offset"], &fixes[0]["span"]["end"]["offset"]),
        (&10.into(), &13.into())
    );
    assert_eq!(document["diagnostics"][1]["fixes"], Json::Array(Vec::new()));
}

#[test]
fn json_holds_a_fix_that_another_one_makes_possible() {
    let lab = Lab::new();
    // so long as `engin` may name any engine, nobody knows what the flag was meant to be
    let text = "use std/engines { vllm }\nuse std/profiles { chat }\nengine a = vllm { version \"0.17.1\" }\n\
                axis eager = --enforce-eger\nstudy s {\n    model \"x\"\n    baseline a\n    maximize total_tps on chat\n    \
                repeat 1\n    step engines { vary engin[a] }\n    step eager { vary eager }\n}\n";
    lab.write("a.plab", text);
    let document: Json = lab.run(&["check", "--format", "json", "a.plab"]).expect_code(1).json();
    let found = document["diagnostics"].as_array().expect("a list");
    let shown: Vec<&str> = found.iter().filter_map(|d| d["fixes"][0]["replacement"].as_str()).collect();
    assert_eq!(shown, ["--enforce-eager", "engine"], "{document:#}");
    let out = lab.run(&["check", "--fix", "a.plab"]);
    assert!(out.stderr.contains("a.plab: 2 fixes made"), "{}", out.stderr);
    for line in [
        "a.plab:4: wrote `--enforce-eager` for `--enforce-eger` (E301)\n",
        "a.plab:10: wrote `engine` for `engin` (E201)\n",
    ] {
        assert!(out.stderr.contains(line), "{}", out.stderr);
    }
}

#[test]
fn workflow_commands_are_escaped() {
    let lab = Lab::new();
    lab.write("a,b:c%.plab", "axs a = --x\n");
    let out = lab.run(&["check", "--format", "github", "a,b:c%.plab"]).expect_code(1);
    let line = "::error file=a%2Cb%3Ac%25.plab,line=1,endLine=1,col=1,endColumn=4,title=E101::`axs` begins no \
                declaration%0Adid you mean `axis`?%0Ahelp: a declaration begins with";
    assert!(out.stdout.starts_with(line), "{}", out.stdout);
    assert_eq!(out.stdout.lines().count(), 1);
    assert!(out.stderr.contains("1 error in 1 file; `--fix` mends it"), "{}", out.stderr);
}
