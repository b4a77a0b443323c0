//! Every launch stands in a plan, and what is said of one is so: starts of tracks, steps that are never run, labels, rules.

use serde_json::Value;

use super::{plan, states};
use crate::support::{Lab, Recording, toy_study};

const TRACKS: &str = "track toy \"Toys\" { step one { vary a[1] } }
 track other \"Others\" { step one { vary b[1] } }
 step again { vary engine[other] * b[1, 2] }";

/// Launches that a document, a tree, a page and a graph show: the text of each.
fn renderings(lab: &Lab) -> [String; 4] {
    let of = |more: &[&str]| lab.run(&[&["plan", "study.plab"], more].concat()).expect_code(0).stdout;
    [of(&["--format", "json"]), of(&[]), of(&["--format", "md"]), of(&["--format", "mermaid"])]
}

#[test]
fn what_a_track_begins_with_is_shown_where_it_is_measured_first() {
    let lab = Lab::with(&toy_study(TRACKS));
    let document = plan(&lab, &[]);
    assert!(document["steps"][0]["start"].is_null(), "the baseline begins the first track");
    let start = &document["steps"][1]["start"];
    assert_eq!((&start["label"], &start["state"]), (&"Other, as declared".into(), &"to_measure".into()));
    assert_eq!(start["command"], "other serve org/m");
    let [_, tree, page, graph] = renderings(&lab);
    assert!(tree.contains("  • Other, as declared  to measure\n      $ other serve org/m\n"), "{tree}");
    assert!(page.contains("| Other, as declared |") && page.contains("\nother serve org/m\n"), "{page}");
    assert!(graph.contains("e2[\"engine<br/>Other<br/>to measure\"]"), "{graph}");
    // as many launches as commands that are to be measured
    let all = document["steps"].as_array().expect("steps").iter();
    let rows = all.flat_map(|s| s["candidates"].as_array().expect("rows").iter().chain(s.get("start")));
    let to_measure = rows.filter(|c| c["state"] == "to_measure").count() + 1;
    assert_eq!(document["launches"]["max"], to_measure);
}

/// An engine as declared is what it is, whichever track has won before it.
#[test]
fn engines_behind_tracks_are_known_where_they_were_measured() {
    let lab = Lab::with(&toy_study(TRACKS));
    let document = plan(&lab, &[]);
    let again = document["steps"].as_array().expect("steps").len() - 1;
    assert_eq!(states(&document, again), ["same_as", "to_measure"]);
    assert_eq!(document["launches"]["max"], 5);
}

#[test]
fn a_guarded_step_is_shown_over_what_meets_its_guard() {
    let lines = "step one { vary a[1, 2] }\n step two when --a == 2 { vary b[1] }";
    let document = plan(&Lab::with(&toy_study(lines)), &[]);
    let candidate = &document["steps"][1]["candidates"][0];
    assert_eq!(
        (&candidate["state"], &candidate["changes"]),
        (&"later".into(), &serde_json::json!(["--b=1"]))
    );
    assert_eq!(candidate["command"], "toy serve org/m --a=2 --b=1");
    // as many launches as without the guard
    assert_eq!(document["launches"]["max"], 4);
}

#[test]
fn a_step_that_no_guard_lets_run_is_no_launch() {
    let lines = "step one { vary a[1] }\n step two from other when --a == 7 { vary b[1, 2] }\n step three when --a == 1 { vary b[1] }";
    let lab = Lab::with(&toy_study(lines));
    let document = plan(&lab, &[]);
    // the base of a step that is not run is not measured either
    assert_eq!(states(&document, 1), ["skipped", "skipped"]);
    assert_eq!(states(&document, 2), ["later"]);
    assert_eq!((&document["launches"]["max"], &document["trials"]["to_measure"]), (&3.into(), &3.into()));
    let reason = document["steps"][1]["candidates"][0]["reason"].as_str().expect("a reason");
    assert_eq!(reason, "the guard `--a == 7` can hold for no incumbent");
    let [_, tree, page, graph] = renderings(&lab);
    for text in [tree, page, graph] {
        assert!(text.contains("not run"), "{text}");
    }
}

#[test]
fn what_is_called_alike_goes_by_its_name() {
    let engines = "engine quick = toy { --fast }\nengine slow = toy { --no-fast }\n";
    let lab = Lab::with(&format!("{engines}{}", toy_study("step e { vary engine[quick, slow] }")));
    let document = plan(&lab, &[]);
    let label = |i: usize| document["steps"][0]["candidates"][i]["label"].clone();
    assert_eq!([label(0), label(1)], [Value::from("quick"), Value::from("slow")]);
}

#[test]
fn rules_of_later_candidates_are_named() {
    let lines =
        "prune odd \"odd\" when --b == 3 and not --fast\n step one { vary fast }\n step two { vary b[3] }";
    let lab = Lab::with(&toy_study(lines));
    let document = plan(&lab, &[]);
    assert_eq!(document["steps"][1]["candidates"][0]["rules"], serde_json::json!(["odd"]));
    let [_, tree, ..] = renderings(&lab);
    assert!(tree.contains("may be pruned later by odd"), "{tree}");
}

/// What its base as it is does not take may come over another: why not now is said.
#[test]
fn a_later_candidate_that_the_base_does_not_take_says_why() {
    let own = "flag --b     int 0..\n    flag --own   int 0..\n}\naxis own = --own=1";
    let study = toy_study("step one { vary engine[other] }\n step two { vary own }");
    let lab = Lab::with(&study.replace("flag --b     int 0..\n}", own));
    let candidate = &plan(&lab, &[])["steps"][1]["candidates"][0];
    assert_eq!(candidate["state"], "later");
    let reason = candidate["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("not over the base as it is: Toy has no flag --own"), "{reason}");
    let [_, tree, page, _] = renderings(&lab);
    for text in [tree, page] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("Toy has no flag --own"), "{text}");
    }
}

/// A study without an objective names what it measures; what is published stands in every plan.
#[test]
fn profiles_without_an_objective_and_published_flags_are_shown() {
    let lab = Lab::with(&toy_study("objective: none\n confirm on load, more"));
    for text in &renderings(&lab)[1..3] {
        assert!(text.contains("none: tables of load, more"), "{text}");
    }
    let published = toy_study("step one { vary a[1] }")
        .replacen(
            "study s",
            "engine shown = toy { --a=3\n publish --b=4 because \"people like it\"\n }\nstudy s",
            1,
        )
        .replace("baseline toy", "baseline shown");
    let lab = Lab::with(&published);
    assert_eq!(plan(&lab, &[])["publish"], serde_json::json!({"added": ["--b=4"], "hidden": []}));
    for text in &renderings(&lab)[1..3] {
        assert!(text.contains("with --b=4, unmeasured"), "{text}");
    }
}

#[test]
fn a_requirement_on_a_profile_of_the_objective_costs_nothing_more() {
    let lab = Lab::with(&toy_study("require p50(ttft) <= 1s on load\n step one { vary a[1] }"));
    let [_, tree, ..] = renderings(&lab);
    assert!(tree.contains("  require   p50(ttft) <= 1s on load\n"), "{tree}");
}

#[test]
fn a_changed_profile_of_confirm_is_told_as_a_profile() {
    let lab = Lab::with(&toy_study("confirm on more\n step one { vary a[1] }"));
    lab.write("old.plab", lab.read("study.plab").replace("concurrency 8", "concurrency 9"));
    let tree = lab.run(&["plan", "study.plab", "--against", "old.plab"]).expect_code(0).stdout;
    assert!(tree.contains("  ~ profile: more: ") && !tree.contains("~ confirm"), "{tree}");
}

/// Flags as they are printed: an engine's own program need not take `_` for `-`.
#[test]
fn commands_spell_flags_as_the_schema_does() {
    let study = "use std/engines { sglang }\nuse std/profiles { chat }\nengine a = sglang { version \"0.5.9\"\n --mem_fraction_static=0.8 --tp=2\n }\n\
                 axis chunk = --chunked_prefill_size=[4096, 8192]\nstudy s { model \"org/m\"\n gpus 2\n baseline a\n maximize total_tps on chat\n \
                 repeat 1\n step c { vary chunk } }\n";
    let lab = Lab::with(&study.replace("--tp=2", "--tp-size=2"));
    let document = plan(&lab, &[]);
    let command = document["baseline"]["command"].as_str().expect("a command");
    assert!(command.ends_with("--mem-fraction-static=0.8 --tp-size=2"), "{command}");
    let changes = &document["steps"][0]["candidates"][0]["changes"];
    assert_eq!(changes, &serde_json::json!(["--chunked-prefill-size=4096"]));
}

/// What bounds a batch is the load with the most in flight, and what is not met says on which load.
#[test]
fn findings_and_refusals_name_the_load() {
    let slow = serde_json::json!({"ttft_p50_ms": 4000});
    let fine = serde_json::json!({"ttft_p50_ms": 40});
    let mut r = Recording::default();
    for (flags, more) in [("", &fine), ("--a=1", &slow)] {
        r = r.add("toy", flags, "load", 100.0, fine.clone()).add("toy", flags, "more", 100.0, more.clone());
    }
    let lines = "maximize total_tps on load, more\n require p50(ttft) <= 1s\n step one { vary a[1] }";
    let report = Lab::with(&toy_study(lines)).replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.row("one", "1")["reason"], "requires p50(ttft) <= 1s; p50(ttft) is 4 s on more");
}

/// A recording may have no runs but those of the steps: then nothing was launched to confirm.
#[test]
fn a_confirmation_from_the_runs_of_the_steps_says_so() {
    let mut r = Recording::default();
    for (flags, tps) in [("", [100.0, 101.0]), ("--a=1", [120.0, 121.0])] {
        r = tps.iter().fold(r, |r, tps| r.toy(flags, *tps));
    }
    let lab = Lab::with(&toy_study("repeat 2\n confirm on load\n step one { vary a[1] }"));
    let report = lab.replay(&r, &[]).expect_code(0).report();
    assert_eq!(report.0["confirm"][0]["of_the_steps"], true);
    let text = lab.replay_text(&r, &[]).expect_code(0).stdout;
    assert!(text.contains("The recording has no launches made for this alone"), "{text}");
    assert!(!text.contains("From launches made for this alone"), "{text}");
}

#[test]
fn what_a_study_says_stands_in_its_plan() {
    let lines = "repeat auto\n curve on line\n step size { vary cards }";
    let study = toy_study(lines).replace("study s", "profile line = load { concurrency 1, 2 }\nstudy s");
    let lab = Lab::with(&study);
    let document = plan(&lab, &[]);
    assert_eq!((&document["curve"], &document["repeat"]), (&serde_json::json!(["line"]), &Value::Null));
    let [_, tree, page, _] = renderings(&lab);
    for told in ["curve     of line", "repeat    auto:", "engine    toy 1.0", "• 2  to measure, on 2 GPUs"]
    {
        assert!(tree.contains(told), "{told}: {tree}");
    }
    assert!(!tree.contains("on 1 GPU"), "as many as the baseline has: {tree}");
    for told in ["| curve |", "| repeat | auto", "toy 1.0", "to measure, on 4 GPUs"] {
        assert!(page.contains(told), "{told}: {page}");
    }
}

#[test]
fn rules_that_configurations_settle_in_part_are_counted() {
    let rule = "prune odd \"odd\" when --a == 1 or p90(ttft) > 2s\n step one { vary a }";
    let document = plan(&Lab::with(&toy_study(rule)), &[]);
    assert_eq!(states(&document, 0), ["pruned", "to_measure", "to_measure"]);
    let rule = &document["rules"][0];
    assert_eq!((&rule["prunes"], &rule["may_prune"]), (&1.into(), &2.into()), "{rule}");
    assert!(
        rule["settled"].as_str().is_some_and(|s| s.starts_with("before anything starts where")),
        "{rule}"
    );
}

/// What a long step leaves out can be asked for, and each load stands in a line.
#[test]
fn all_of_a_long_step_are_shown_where_that_is_asked_for() {
    let points = (1..=30).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let study = toy_study("confirm on more\n prune odd \"odd\" when --a > 28\n step one { vary many }");
    let lab = Lab::with(&format!("{study}axis many = --a=[{points}]\n"));
    for format in ["tree", "md"] {
        let of = |more: &[&str]| {
            lab.run(&[&["plan", "study.plab", "--format", format], more].concat()).expect_code(0).stdout
        };
        let (some, all) = (of(&[]), of(&["--all"]));
        assert!(some.contains("… and 18 more (16 to measure, 2 pruned); `--all` shows them"), "{some}");
        assert!(!some.contains("--a=30") && all.contains("--a=30") && !all.contains("more ("), "{all}");
        for load in ["load: random prompts, 100 tokens in", "more: random prompts, 100 tokens in"] {
            assert!(all.contains(load), "{all}");
        }
    }
}
