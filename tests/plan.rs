//! `perflab plan`: the document's shape, what states candidates are in, and two whole trees as people see them.

mod against;
mod formats;
mod shown;
mod tracks;

use std::fs;

use serde_json::Value;

use crate::support::{Lab, Output, live_study, project, toy_study};

fn example(name: &str) -> String {
    project().join("examples").join(name).to_string_lossy().into_owned()
}

#[track_caller]
fn plan(lab: &Lab, more: &[&str]) -> Value {
    let args = ["plan", "study.plab", "--format", "json"];
    lab.run(&[&args, more].concat()).expect_code(0).json()
}

/// The states of a step's candidates in order.
fn states(plan: &Value, step: usize) -> Vec<&str> {
    let candidates = plan["steps"][step]["candidates"].as_array().expect("candidates");
    candidates.iter().map(|c| c["state"].as_str().expect("a state")).collect()
}

/// Compares with a file beside this one; `UPDATE_EXPECT=1` rewrites it.
#[track_caller]
fn assert_golden(name: &str, output: &Output) {
    let path = project().join("tests/plan").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        fs::create_dir_all(path.parent().expect("a folder"))
            .and_then(|()| fs::write(&path, &output.stdout))
            .expect("written");
    }
    let expected =
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}; UPDATE_EXPECT=1 writes it"));
    assert!(
        output.stdout == expected,
        "{name} differs (UPDATE_EXPECT=1 rewrites it); now:\n{}",
        output.stdout
    );
}

#[test]
fn the_quickstart_as_a_tree() {
    let lab = Lab::new();
    let out = lab.run(&["plan", &example("quickstart.plab"), "--dir", "none"]).expect_code(0);
    assert_golden("quickstart.txt", &out);
}

#[test]
fn a_published_study_as_a_tree() {
    let lab = Lab::new();
    let out = lab.run(&["plan", &example("qwen3.5-9b-h100.plab"), "--dir", "none"]).expect_code(0);
    assert_golden("qwen3.5-9b-h100.txt", &out);
}

#[test]
fn the_document_has_the_shape_that_scripts_read() {
    let lab = Lab::with(&toy_study(
        "gpus 2\n confirm on more\n prune low \"low\" when gain < -20%\n step one \"First\" { vary a[1, 2] }\n step two from one when p50(ttft) > 1s { vary cards }",
    ));
    let plan = plan(&lab, &[]);
    assert_eq!(plan["schema"], "perflab.plan/1");
    assert_eq!(plan.as_object().expect("an object").keys().next().map(String::as_str), Some("schema"));
    assert_eq!((&plan["study"], plan["launches"]["max"].is_u64()), (&"s".into(), true));
    for count in ["max", "to_measure", "measured", "pruned"] {
        assert!(plan["trials"][count].is_u64(), "{count}");
    }
    assert!(plan["gpu_time_s"]["predicted"].is_null() && plan["gpu_time_s"]["by"].is_string());
    let one = &plan["steps"][0];
    assert_eq!((&one["name"], &one["title"], &one["base"]), (&"one".into(), &"First".into(), &"best".into()));
    assert!(one["guard"].is_null());
    let two = &plan["steps"][1];
    assert_eq!(
        (&two["title"], &two["base"], &two["guard"]),
        (&"two".into(), &"one".into(), &"p50(ttft) > 1s".into())
    );
    let candidate = &one["candidates"][0];
    assert_eq!((&candidate["label"], &candidate["command"]), (&"1".into(), &"toy serve org/m --a=1".into()));
    let flags = &candidate["config"]["flags"];
    assert_eq!(flags, &serde_json::json!([{"name": "--a", "value": 1}]));
    assert!(candidate["id"].as_str().is_some_and(|id| !id.is_empty()) && candidate["reason"].is_null());
}

#[test]
fn states_say_what_would_happen() {
    let lab = Lab::with(&toy_study(
        "gpus 2\n prune odd \"odd\" when --a == 3\n step one { vary a }\n step two from toy { vary a[2] + cards }\n step three { vary b[1] }",
    ));
    let plan = plan(&lab, &[]);
    assert_eq!(states(&plan, 0), ["to_measure", "to_measure", "pruned"]);
    assert_eq!(states(&plan, 1), ["same_as", "to_measure", "to_measure", "pruned"]);
    assert_eq!(states(&plan, 2), ["later"]);
    let reason =
        |step: usize, candidate: usize| plan["steps"][step]["candidates"][candidate]["reason"].as_str();
    assert_eq!(reason(0, 2), Some("odd"));
    assert!(reason(1, 3).is_some_and(|r| r.contains("needs 4 GPUs")));
    assert!(reason(1, 0).is_some() && reason(2, 0).is_some());
    let trials = &plan["trials"];
    assert_eq!((&trials["pruned"], &trials["measured"]), (&2.into(), &0.into()));
    // the baseline, two of the first step, two of the second, one of the third
    assert_eq!(
        (&trials["max"], &trials["to_measure"], &plan["launches"]["max"]),
        (&6.into(), &6.into(), &6.into())
    );
}

#[test]
fn what_is_excluded_over_the_baseline_may_come_over_what_earlier_steps_adopt() {
    let lab = Lab::with(
        r#"use std/engines { sim }
engine here = sim {
    --max-num-batched-tokens=64
    --max-num-seqs=64
}
profile load {
    data        random
    input       8
    output      8
    concurrency 2
    requests    8
}
axis batched = --max-num-batched-tokens=[8Ki]
axis seqs    = --max-num-seqs=[32, 128, 16Ki]
prune empty "cannot fill the batch" when --max-num-batched-tokens < --max-num-seqs
study later {
    model    "Qwen/Qwen3-8B"
    baseline here
    maximize total_tps on load
    repeat   1
    step batched { vary batched }
    step seqs    { vary seqs }
}
"#,
    );
    let plan = plan(&lab, &[]);
    // 128 fits over the one base that there may be, and 16Ki over none
    assert_eq!(states(&plan, 1), ["later", "later", "pruned"]);
    assert_eq!((&plan["launches"]["max"], &plan["trials"]["pruned"]), (&4.into(), &1.into()));
    let rule = &plan["rules"][0];
    assert_eq!((&rule["prunes"], &rule["may_prune"]), (&1.into(), &1.into()));
}

/// Rules are told apart by what they are, whatever they say.
#[test]
fn two_rules_for_one_reason_are_counted_each() {
    let lab = Lab::with(&toy_study(
        "prune none \"odd\" when --a == 3 and --b == 9\n prune some \"odd\" when --a == 3\n step one { vary a }",
    ));
    let plan = plan(&lab, &[]);
    let counts = |rule: usize| (&plan["rules"][rule]["prunes"], &plan["rules"][rule]["may_prune"]);
    assert_eq!(counts(0), (&0.into(), &0.into()), "{plan}");
    assert_eq!(counts(1), (&1.into(), &0.into()), "{plan}");
}

/// Over the base as it is, two candidates that take flags back are both the base; over what the step before sets they are two.
#[test]
fn candidates_that_are_alike_over_the_base_as_it_is_may_be_two_over_another() {
    let lab = Lab::with(
        r#"use std/engines { sim }
engine here = sim { --max-num-seqs=16 }
profile load {
    data        random
    input       8
    output      8
    concurrency 2
    requests    8
}
axis both    = { both: --max-num-seqs=64 --async-scheduling --enforce-eager }
axis without = {
    no_async: unset --async-scheduling,
    no_eager: unset --enforce-eager
}
study ablation {
    model    "Qwen/Qwen3-8B"
    baseline here
    maximize total_tps on load
    repeat   1
    step both    { vary both }
    step without { vary without }
}
"#,
    );
    let plan = plan(&lab, &[]);
    assert_eq!(states(&plan, 1), ["later", "later"]);
    assert_eq!((&plan["launches"]["max"], &plan["trials"]["max"]), (&4.into(), &4.into()));
}

/// Those that are alike over every base that there may be are one.
#[test]
fn candidates_that_are_alike_over_every_base_are_one() {
    let study = toy_study("step one { vary a[1] }\n step two { vary b[1, 2] + twin }");
    let lab = Lab::with(&format!("axis twin = {{ one: --b=1 }}\n{study}"));
    let plan = plan(&lab, &[]);
    assert_eq!(states(&plan, 1), ["later", "later", "same_as"]);
    let reason = &plan["steps"][1]["candidates"][2]["reason"];
    assert_eq!(reason, "the same configuration as 1");
}

#[test]
fn a_plan_starts_nothing_and_writes_nothing() {
    let lab = Lab::with(&live_study("step one { vary seqs }"));
    let before = fs::read_dir(lab.path("")).expect("a folder").count();
    plan(&lab, &[]);
    lab.run(&["plan", "study.plab"]).expect_code(0);
    // the streams of an invocation are gone with it
    assert_eq!(fs::read_dir(lab.path("")).expect("a folder").count(), before);
}

#[test]
fn what_is_measured_is_planned_as_measured() {
    let lab = Lab::with(&live_study("step one { vary seqs[2] }"));
    lab.run(&["exec", "study.plab", "--checks", "warn", "--dir", "state"]).expect_code(0);
    // a step more, and a point more in the first
    lab.write("study.plab", live_study("step one { vary seqs[2, 3] }\n step two { vary batched }"));
    let plan = plan(&lab, &["--dir", "state", "--checks", "warn"]);
    assert_eq!(plan["baseline"]["state"], "measured");
    assert_eq!(states(&plan, 0), ["measured", "to_measure"]);
    assert_eq!(states(&plan, 1), ["later"]);
    assert_eq!((&plan["trials"]["measured"], &plan["trials"]["to_measure"]), (&2.into(), &2.into()));
    assert!(plan["gpu_time_s"]["predicted"].as_f64().is_some_and(|s| s > 0.0));
    assert_eq!(plan["gpu_time_s"]["by"], "journal");
}

#[test]
fn the_same_file_gives_the_same_plan() {
    let lab = Lab::new();
    let file = example("qwen3-32b-h100.plab");
    let args = ["plan", &file, "--format", "json", "--dir", "none"];
    assert_eq!(lab.run(&args).expect_code(0).stdout, lab.run(&args).expect_code(0).stdout);
}

#[test]
fn budgets_say_what_they_have_no_room_for() {
    let lab = Lab::new();
    let quickstart = std::fs::read_to_string(example("quickstart.plab")).expect("an example");
    let with =
        |budget: &str| quickstart.replacen("    repeat ", &format!("    budget {budget}\n    repeat "), 1);
    lab.write("a.plab", with("100h"));
    let plan: Value = lab.run(&["plan", "a.plab", "--format", "json"]).expect_code(0).json();
    let limit = &plan["budgets"][0];
    assert_eq!(
        (&limit["of"], &limit["unit"], &limit["allows"]),
        (&"study".into(), &"seconds".into(), &360_000.0.into())
    );
    assert_eq!((&limit["fits"], &limit["spent"]), (&true.into(), &0.0.into()));
    assert!(limit["to_come"].as_f64().is_some_and(|s| s > 0.0), "{limit}");
    lab.write("a.plab", with("1 trials"));
    let tree = lab.run(&["plan", "a.plab"]).expect_code(0).stdout;
    assert!(
        tree.contains("budget    1 trial; ") && tree.contains("what does not fit will be missing"),
        "{tree}"
    );
    assert!(tree.contains("to come, fewer where a budget has no room"), "{tree}");
    let page = lab.run(&["plan", "a.plab", "--format", "md"]).expect_code(0).stdout;
    assert!(
        page.contains("| budget | 1 trial; ") && page.contains("(fewer where a budget has no room)"),
        "{page}"
    );
}

/// How long simulated launches took says nothing of real ones.
#[test]
fn a_rehearsal_predicts_no_real_launches() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    lab.run(&["exec", "study.plab", "--dir", "state"]).expect_code(0);
    let rehearsed = plan(&lab, &["--dir", "state"]);
    assert_eq!(rehearsed["launches"]["max"], 0);
    let study = lab.read("study.plab");
    let study = study
        .replace("std/engines { sim }", "std/engines { vllm }")
        .replace("= sim {", "= vllm {\n version \"0.17.1\"\n");
    lab.write("study.plab", study);
    let real = plan(&lab, &["--dir", "state"]);
    assert_eq!(
        (&real["launches"]["max"], &real["gpu_time_s"]["by"]),
        (&2.into(), &"simulator".into()),
        "{real}"
    );
}

/// `exec` refuses the directory of another file's study.
#[test]
fn a_plan_takes_nothing_from_the_journal_of_another_file() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    lab.run(&["exec", "study.plab"]).expect_code(0);
    lab.write("copy.plab", lab.read("study.plab"));
    let out = lab.run(&["plan", "copy.plab", "--format", "json"]).expect_code(0);
    assert_eq!(out.json()["launches"]["max"], 2);
    assert!(
        out.stderr.contains("is of the study `s` in study.plab: nothing of it counts here"),
        "{}",
        out.stderr
    );
}
