//! `perflab plan --against`: what a change of the file changes of the study.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{assert_golden, plan};
use crate::support::{Lab, live_study, toy_study};

const STEPS: &str =
    "prune odd \"odd\" when --a == 3\n step one \"First\" { vary a }\n step two from toy { vary b }";

fn lab(old: &str, new: &str) -> Lab {
    let lab = Lab::with(new);
    lab.write("old.plab", old);
    lab
}

#[track_caller]
fn against(lab: &Lab) -> Value {
    plan(lab, &["--against", "old.plab"])["against"].clone()
}

fn labels(changed: &Value) -> Vec<String> {
    let all = changed.as_array().expect("a list").iter();
    all.map(|c| format!("{}: {}", c["step"].as_str().unwrap_or("-"), c["label"].as_str().expect("a label")))
        .collect()
}

fn decided(against: &Value) -> Vec<String> {
    let all = against["decides"].as_array().expect("a list").iter();
    let text = |v: &Value| v.as_str().unwrap_or("-").to_owned();
    all.map(|d| format!("{}: {} | {}", text(&d["what"]), text(&d["before"]), text(&d["after"]))).collect()
}

#[test]
fn the_same_file_changes_nothing() {
    let lab = lab(&toy_study(STEPS), &toy_study(STEPS));
    let against = against(&lab);
    assert_eq!(
        against["trials"],
        json!({"added": 0, "already_measured": 0, "gone": 0, "kept": against["trials"]["kept"]})
    );
    assert!(decided(&against).is_empty(), "{against}");
    let tree = lab.run(&["plan", "study.plab", "--against", "old.plab"]).expect_code(0).stdout;
    assert!(tree.contains("nothing changes"), "{tree}");
}

#[test]
fn names_and_titles_cost_nothing() {
    let new = toy_study(
        &STEPS.replace("step one \"First\"", "step uno \"Primero\"").replace("prune odd", "prune strange"),
    );
    // the load under another name
    let new = new
        .replace("on load", "on charge")
        .replace("profile load", "profile charge")
        .replace("= load", "= charge");
    let lab = lab(&toy_study(STEPS), &new);
    let against = against(&lab);
    assert_eq!(
        (&against["trials"]["added"], &against["trials"]["gone"]),
        (&json!(0), &json!(0)),
        "{against}"
    );
    assert!(decided(&against).is_empty(), "{against}");
}

#[test]
fn an_engine_under_another_name_is_the_same_base() {
    let own = "engine own = toy { --b=2 }\n";
    let old = own.to_owned() + &toy_study("step one from own { vary a }");
    let lab = lab(&old, &old.replace("own", "mine"));
    let renamed = against(&lab);
    assert_eq!(
        (&renamed["trials"]["added"], &renamed["trials"]["gone"]),
        (&json!(0), &json!(0)),
        "{renamed}"
    );
    assert!(decided(&renamed).is_empty(), "{renamed}");
    lab.write("study.plab", old.replace("own", "mine").replace("--b=2", "--b=1"));
    let changed = decided(&against(&lab));
    assert!(changed.contains(&"step one, from: own | mine".to_owned()), "{changed:?}");
}

#[test]
fn trials_come_and_go() {
    let new = toy_study(
        "prune odd \"odd\" when --a == 2\n step one \"First\" { vary a }\n step two from toy { vary b[1] }\n step three from toy { vary cards }",
    );
    let lab = lab(&toy_study(STEPS), &format!("{new}# the end\n"));
    let against = against(&lab);
    let added = labels(&against["added"]);
    assert!(
        added.contains(&"one: 3".to_owned()) && added.iter().any(|l| l.starts_with("three:")),
        "{added:?}"
    );
    let gone = against["gone"].as_array().expect("a list");
    let pruned = gone.iter().find(|c| c["label"] == "2").expect("it is pruned now");
    assert_eq!((&pruned["state"], &pruned["reason"]), (&json!("pruned"), &json!("odd")));
    assert_eq!(decided(&against)[0], "prune odd: --a == 3 | --a == 2");
    for (format, golden) in [("tree", "against.txt"), ("md", "against.md"), ("mermaid", "against.mmd")] {
        let args = ["plan", "study.plab", "--against", "old.plab", "--format", format];
        assert_golden(golden, &lab.run(&args).expect_code(0));
    }
}

#[test]
fn what_decides_is_told() {
    let old = toy_study("step one { vary a }\n step two when p50(ttft) > 1s { vary b }");
    let new = toy_study(
        "adopt gain >= 5%\n gpus 2\n require p99(ttft) <= 1s\n confirm on more\n minimize mean(latency) on load\n repeat 2\n prune bad \"bad\" when gain < -9%\n step one { vary a\n pick a[2] because \"known\" }\n step two from toy when p50(ttft) > 2s { vary b }",
    );
    let against = against(&lab(&old, &new));
    let decided = decided(&against);
    for expected in [
        "gpus: - | 2",
        "objective: maximize total_tps on load | minimize mean(latency) on load",
        "adopt: from 1.00 % on | from 5.00 % on",
        "repeat: 1 | 2",
        "confirm: - | more",
        "require: - | p99(ttft) <= 1s",
        "prune bad: - | gain < -9%",
        "step one, pick: - | 2",
        "step two, from: best | toy",
        "step two, when: p50(ttft) > 1s | p50(ttft) > 2s",
    ] {
        assert!(decided.iter().any(|d| d == expected), "{expected} is missing in {decided:#?}");
    }
    assert_eq!(decided.len(), 10, "{decided:#?}");
}

#[test]
fn another_load_under_an_old_name_makes_new_trials() {
    let old = toy_study("step one { vary a }");
    let new = old.replacen("requests", "requests 7 #", 1);
    let against = against(&lab(&old, &new));
    assert!(
        against["trials"]["kept"] == 0 && against["trials"]["added"] == against["trials"]["gone"],
        "{against}"
    );
    assert!(decided(&against).iter().any(|d| d.starts_with("profile: load")), "{against}");
}

#[test]
fn what_was_measured_already_is_said() {
    let both = "step one { vary seqs[2, 3] }";
    let lab = Lab::with(&live_study(both));
    lab.run(&["exec", "study.plab", "--checks", "warn", "--dir", "state"]).expect_code(0);
    lab.write("old.plab", live_study("step one { vary seqs[2] }"));
    let plan = plan(&lab, &["--dir", "state", "--checks", "warn", "--against", "old.plab"]);
    let trials = &plan["against"]["trials"];
    assert_eq!((&trials["added"], &trials["already_measured"]), (&json!(1), &json!(1)), "{trials}");
    assert_eq!(plan["against"]["added"][0]["state"], "measured");
}

#[test]
fn a_revision_comes_from_stdin() {
    let lab = Lab::with(&toy_study(STEPS));
    let mut command = lab.command(&["plan", "study.plab", "--against", "-", "--format", "json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
    let old = toy_study("step one \"First\" { vary a[1] }");
    child.stdin.take().expect("piped").write_all(old.as_bytes()).expect("written");
    let out = child.wait_with_output().expect("ended");
    let plan: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(plan["against"]["file"], "stdin");
    assert!(plan["against"]["trials"]["added"].as_u64().is_some_and(|n| n > 0), "{plan}");
}

#[test]
fn a_revision_with_errors_is_refused_with_its_diagnostics() {
    let lab = lab("study s { modell \"x\" }\n", &toy_study(STEPS));
    let args = ["plan", "study.plab", "--against", "old.plab"];
    lab.run(&args).expect_error(1, &["old.plab", "modell"]);
    lab.write(
        "old.plab",
        toy_study(STEPS).replace("study s ", "study t ").replacen(
            "study t",
            "study u { model \"m\"\n baseline toy\n step x { vary a } }\nstudy t",
            1,
        ),
    );
    lab.run(&args).expect_error(1, &["no study `s`"]);
    lab.run(&["plan", "study.plab", "--against", "nowhere.plab"])
        .expect_error(1, &["nowhere.plab", "no such file"]);
}

/// A study of the toy engine, whose parts are edited.
const WHOLE: &str = "param lim = 2s\nmetric m = total_tps / gpus\nengine mine = toy {\n version \"1.0\"\n env A=1\n publish --b=1 because \"clients\"\n}\n\
     profile own = load { seed 1 }\nprofile other = load { input 99 }\nprofile line = load { concurrency 1, 2 }\n";

fn edited(part: &str, by: &str) -> Value {
    let study = toy_study(
        "baseline: mine\n maximize m on own\n require p99(ttft) <= lim\n prune slow \"slow\" when p99(ttft) > lim\n step one { vary a }",
    );
    let study = study.replace(" baseline toy\n", "").replace("baseline: mine", "baseline mine");
    let at = study.find("study s").expect("the study");
    let old = format!("{}{WHOLE}{}", &study[..at], &study[at..]);
    let new = old.replace(part, by);
    assert_ne!(old, new, "{part}");
    against(&lab(&old, &new))
}

#[test]
fn an_edit_that_reads_the_same_elsewhere_is_told_where_it_matters() {
    for (part, by, expected) in [
        (
            "lim = 2s",
            "lim = 3s",
            "require: p99(ttft) <= lim, which is p99(ttft) <= 2 s | p99(ttft) <= lim, which is p99(ttft) <= 3 s",
        ),
        (
            "lim = 2s",
            "lim = 3s",
            "prune slow: p99(ttft) > lim, which is p99(ttft) > 2 s | p99(ttft) > lim, which is p99(ttft) > 3 s",
        ),
        (
            "m = total_tps",
            "m = output_tps",
            "objective: m, which is total_tps / gpus | m, which is output_tps / gpus",
        ),
        ("\"1.0\"", "\"1.1\"", "baseline: mine: version 1.0 | mine: version 1.1"),
        ("env A=1", "env A=2", "baseline: mine: A=1 | mine: A=2"),
        ("publish --b=1", "publish --b=2", "publish of mine: --b=1 | --b=2"),
        ("publish --b=1", "publish unset --b", "publish of mine: --b=1 | without --b"),
        ("step one", "budget 1h\n step one", "budget: - | 1h"),
        ("{ vary a }", "{ vary a\n budget 2 trials }", "step one, budget: - | 2 trials"),
        ("step one", "curve on line\n step one", "curve: - | line"),
    ] {
        let against = edited(part, by);
        assert!(
            decided(&against).iter().any(|d| d == expected),
            "{expected} is missing in {:#?}",
            decided(&against)
        );
    }
    let seed = decided(&edited("seed 1", "seed 2"));
    assert!(seed.iter().any(|d| d.contains("; seed 1 |") && d.ends_with("; seed 2")), "{seed:#?}");
    let timeout = decided(&edited("seed 1", "seed 1\n timeout 10s"));
    assert!(timeout.iter().any(|d| d.ends_with("; timeout 10 s")), "{timeout:#?}");
}

#[test]
fn both_trials_that_confirm_are_counted() {
    let against = edited("step one", "confirm on other\n step one");
    assert_eq!(against["trials"]["added"], json!(2), "{against}");
    assert_eq!(labels(&against["added"]), ["-: baseline", "-: winner"]);
    assert_eq!(against["added"][1]["command"], "");
}

/// Requirements on a profile that nothing else names.
fn required(new: &str) -> Value {
    let old = "profile other = load { input 99 }\n".to_owned() + &toy_study(ON_OTHER);
    let (profile, lines) = new.split_once('\n').unwrap_or((new, ON_OTHER));
    let new = format!("{profile}\n{}", toy_study(lines));
    let lab = lab(&old, &new);
    let plan = plan(&lab, &["--against", "old.plab"]);
    let trials = &plan["against"]["trials"];
    let of = |what: &str| trials[what].as_u64().expect("a count");
    assert_eq!(plan["trials"]["max"], json!(of("kept") + of("added")), "{plan}");
    plan["against"].clone()
}

const ON_OTHER: &str = "require p50(ttft) <= 1.1 * baseline.p50(ttft) on other\n step one { vary a[1, 2] }";

#[test]
fn a_profile_that_only_a_requirement_names_is_compared_too() {
    let edited = required("profile other = load { input 98 }");
    assert_eq!((&edited["trials"]["added"], &edited["trials"]["gone"]), (&json!(3), &json!(3)), "{edited}");
    assert_eq!(labels(&edited["added"]), ["-: baseline", "one: 1", "one: 2"]);
    let decided_by = decided(&edited);
    assert!(
        matches!(&decided_by[..], [one] if one.starts_with("profile: other: ") && one.contains("99 tokens in") && one.contains("98 tokens in")),
        "{decided_by:?}"
    );

    let on_two = ON_OTHER.replace("on other", "on two");
    let renamed = required(&format!("profile two = load {{ input 99 }}\n{on_two}"));
    assert_eq!(
        (&renamed["trials"]["added"], &renamed["trials"]["gone"]),
        (&json!(0), &json!(0)),
        "{renamed}"
    );
    assert!(decided(&renamed).is_empty(), "{renamed}");

    let (_, without) = ON_OTHER.split_once('\n').expect("lines");
    let gone = required(&format!("profile other = load {{ input 99 }}\n{without}"));
    assert_eq!((&gone["trials"]["added"], &gone["trials"]["gone"]), (&json!(0), &json!(3)), "{gone}");
    assert_eq!(decided(&gone), ["require: p50(ttft) <= 1.1 * baseline.p50(ttft) on other | -"]);
}

#[test]
fn what_a_guard_keeps_out_is_no_trial() {
    let guarded = |n: u32| {
        let steps =
            format!("step one from own when --a >= {n} {{ vary b[1] }}\n step two from own {{ vary a[1] }}");
        let study = toy_study(&steps).replace(" baseline toy\n", " baseline own\n");
        format!("engine own = toy {{ --a=2 }}\n{study}")
    };
    for (old, new, (added, gone)) in [(9, 0, (1, 0)), (0, 9, (0, 1)), (9, 8, (0, 0))] {
        let lab = lab(&guarded(old), &guarded(new));
        let plan = plan(&lab, &["--against", "old.plab"]);
        let against = &plan["against"];
        assert_eq!(
            (&against["trials"]["added"], &against["trials"]["gone"]),
            (&json!(added), &json!(gone)),
            "{old} to {new}: {against}"
        );
        let kept = against["trials"]["kept"].as_u64().expect("a count");
        assert_eq!(plan["trials"]["max"], json!(kept + added), "{plan}");
    }
    let tree = lab(&guarded(0), &guarded(9)).run(&["plan", "study.plab", "--against", "old.plab"]);
    let tree = tree.expect_code(0).stdout;
    assert!(tree.contains("not run now: the guard `--a >= 9` does not hold"), "{tree}");
}

/// Where every trial is another, so is whatever wins.
#[test]
fn no_winner_is_kept_where_no_trial_is() {
    let steps = "confirm on other\n step one { vary a }";
    let with = |model: &str| toy_study(&steps.replace("on other", "on more")).replace("org/m", model);
    let lab = lab(&with("org/m"), &with("org/n"));
    let against = against(&lab);
    assert_eq!(against["trials"]["kept"], json!(0), "{against}");
    assert_eq!(against["trials"]["added"], against["trials"]["gone"]);
}

#[test]
fn a_profile_that_is_added_changes_none_of_the_others() {
    let with =
        |profiles: &str| toy_study(&format!("maximize total_tps on {profiles}\n step one {{ vary a }}"));
    for profiles in ["more, load", "load, more"] {
        let against = against(&lab(&with("load"), &with(profiles)));
        let expected = format!("objective: maximize total_tps on load | maximize total_tps on {profiles}");
        assert_eq!(decided(&against), [expected]);
    }
}

#[test]
fn what_a_load_does_anyway_may_be_stated() {
    let old = toy_study("step one { vary a }");
    let new = old.replacen(
        "requests    100",
        "requests    100\n temperature 0\n top_p 1\n ignore_eos true\n stream true",
        1,
    );
    assert_ne!(old, new);
    let against = against(&lab(&old, &new));
    assert_eq!(
        (&against["trials"]["added"], &against["trials"]["gone"]),
        (&json!(0), &json!(0)),
        "{against}"
    );
}
