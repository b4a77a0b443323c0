//! `--set NAME=VALUE`: typed by the param's default, part of every check, recorded with the results, and in an identity only through
//! what it changes.

use crate::support::{EXEC, LIVE, Lab};

fn study() -> String {
    let params = "param seqs = 4\nparam slow = 10s\nparam note = \"plain\"\nparam on = true\n";
    let study = "prune late \"late\" when p90(ttft) > slow\naxis some = --max-num-seqs=\"{seqs}\"\n\
        study s \"S {note}\" {\n model \"Qwen/Qwen3-0.6B\"\n baseline small\n maximize total_tps on quick\n repeat 1\n\
        step some { vary some }\n}\n";
    // the axes that are not used here would be warned of
    let used = LIVE.split("axis seqs").next().unwrap_or_default();
    format!("{params}{used}{study}")
}

fn lab() -> Lab {
    Lab::with(&study())
}

#[test]
fn a_value_has_the_type_of_the_default() {
    let lab = lab();
    let quoted = lab.run(&["plan", "study.plab", "--set", "note=\"a b\""]).expect_code(0).stdout;
    assert!(quoted.contains("S a b"), "{quoted}");
    for right in ["seqs=1Ki", "seqs=7", "slow=2s", "slow=1min", "note=a b", "note=", "note=1", "on=false"] {
        lab.run(&["check", "study.plab", "--set", right]).expect_code(0);
    }
    for (wrong, words) in [
        ("slow=2", "`slow` is a time"),
        ("seqs=2s", "`seqs` is a plain number"),
        ("seqs=2K", "write `2Ki` or `2k`"),
        ("seqs=x", "study.plab:1:1"),
        ("seqs=4 ", "`seqs` is a plain number"),
        ("on=yes", "`on` is true or false"),
        ("sesq=3", "did you mean `seqs`?"),
        ("zzzzz=3", "it has note, on, seqs, slow"),
    ] {
        for command in ["check", "plan", "exec", "report"] {
            // of one that nothing declares the value may be a secret
            let shown =
                if words.starts_with("did you") || words.starts_with("it has") { "--set" } else { wrong };
            lab.run(&[command, "study.plab", "--set", wrong]).expect_error(1, &[shown, words]);
        }
    }
}

#[test]
fn a_malformed_or_repeated_one_is_wrong_usage() {
    let lab = lab();
    for wrong in ["seqs", "=3", "Seqs=3", "a-b=3", ""] {
        lab.run(&["check", "study.plab", "--set", wrong]).expect_error(2, &["NAME=VALUE"]);
    }
    let twice = ["plan", "study.plab", "--set", "seqs=3", "--set", "slow=1s", "--set", "seqs=3"];
    lab.run(&twice).expect_error(2, &["--set seqs=…", "twice"]);
}

#[test]
fn it_takes_part_in_the_checks_and_mistakes_say_so() {
    let lab = lab();
    let found = lab.run(&["check", "study.plab", "--set", "seqs=0"]).expect_code(1);
    for words in ["E302", "--max-num-seqs=\"{seqs}\"", "note: `seqs` is 0 by `--set seqs=0`"] {
        assert!(found.stderr.contains(words), "`{words}` is not in:\n{}", found.stderr);
    }
    let document =
        lab.run(&["check", "study.plab", "--set", "seqs=0", "--format", "json"]).expect_code(1).json();
    assert_eq!(document["diagnostics"][0]["related"][0]["file"], "--set", "{document}");
}

#[test]
fn a_plan_shows_it() {
    let lab = lab();
    let plan =
        lab.run(&["plan", "study.plab", "--set", "seqs=2k", "--set", "note=quick"]).expect_code(0).stdout;
    for words in ["set       seqs=2k", "--max-num-seqs=2000", "S quick"] {
        assert!(plan.contains(words), "`{words}` is not in:\n{plan}");
    }
    let document =
        lab.run(&["plan", "study.plab", "--set", "seqs=2k", "--format", "json"]).expect_code(0).json();
    assert_eq!(document["set"], serde_json::json!({"seqs": "2k"}));
}

#[test]
fn it_is_recorded_and_runs_are_lost_only_where_it_changes_them() {
    let lab = lab();
    let run = |more: &[&str]| lab.run(&[&EXEC[..], more].concat()).expect_code(0).report();
    assert_eq!(run(&[]).0["cost"]["launches"], 2);
    let slower = run(&["--set", "slow=9s", "--set", "note=other", "--set", "seqs=4"]);
    assert_eq!(slower.0["cost"]["launches"], 2, "nothing that was set changes a configuration");
    let other = run(&["--set", "seqs=5"]);
    assert_eq!(other.0["cost"]["launches"], 3);
    assert_eq!(other.0["set"], serde_json::json!({"seqs": "5"}));
    assert!(lab.read("state/journal.jsonl").contains("\"set\":{\"seqs\":\"5\"}"));
    let report = lab.run(&["report", "study.plab", "--dir", "state", "--set", "seqs=5"]).expect_code(0);
    assert!(report.stdout.contains("set on the command line: seqs=5"), "{}", report.stdout);
    let without = lab.run(&["report", "study.plab", "--dir", "state"]).expect_code(0);
    assert!(without.stderr.contains("the last run was made with --set seqs=5"), "{}", without.stderr);
}
