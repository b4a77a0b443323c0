//! What changes while a study runs, between two of its launches: its data is edited, or is away.

use std::fs;
use std::process::Command;

use crate::conditions;
use crate::support::{EXEC, Lab, Running, events, live_study, wait_for};

fn lab() -> Lab {
    let study = live_study("step one { vary seqs[1] }");
    let (from, to) =
        (study.find("profile quick").expect("a profile"), study.find("axis seqs").expect("an axis"));
    let profile =
        "profile quick {\n data jsonl \"prompts.jsonl\"\n concurrency 2\n requests 6\n warmup 0\n}\n";
    let lab = Lab::with(&[&study[..from], profile, &study[to..]].concat());
    prompts(&lab, 3);
    lab
}

fn prompts(lab: &Lab, tokens: usize) {
    let line = format!("{{\"prompt\": \"a b c d\", \"output_tokens\": {tokens}}}\n");
    lab.write("prompts.jsonl", line.repeat(6));
}

/// Starts the study and waits for the end of its first launch.
fn behind_the_first(lab: &Lab) -> Running {
    let run = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    let ended = |text: String| text.contains("launch_ends");
    wait_for("the first launch to end", || fs::read_to_string(lab.path("events.jsonl")).is_ok_and(ended));
    run
}

#[test]
fn data_that_is_edited_between_launches_is_measured_again_in_the_same_run() {
    let lab = lab();
    let run = behind_the_first(&lab);
    prompts(&lab, 4);
    let out = run.wait().expect_code(0);
    let said = "1 result does not count any more and is measured again: the data of its load changed";
    assert!(out.stderr.contains(said), "{}", out.stderr);
    let report = out.report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["metrics"]["output_tokens"], 24, "of the data as it is now");
    assert_eq!(report.outcome("one", "1"), "ok");
}

/// No launch can tell it: what was measured before is looked at once more when the study seems decided.
#[test]
fn a_priority_that_is_changed_meanwhile_makes_everything_before_count_no_more() {
    let lab = conditions::lab("");
    let run = behind_the_first(&lab);
    let pid = run.child.id().to_string();
    let renice = Command::new("renice").args(["-n", "5", "-p", &pid]).output().expect("renice");
    assert!(renice.status.success(), "{renice:?}");
    let out = run.wait().expect_code(0);
    assert!(out.stderr.contains("measured with nice 0, now nice 5"), "{}", out.stderr);
    let report = out.report().0;
    assert_eq!(report["complete"], true);
    assert!(report["cost"]["launches"].as_u64() > Some(2), "the baseline was measured twice");
}

/// What was sent cannot be told from what the file holds at the end.
#[test]
fn data_that_is_written_under_a_launch_makes_its_result_doubtful() {
    let lab = lab();
    let run = behind_the_first(&lab);
    let said = || fs::read_to_string(lab.path("events.jsonl")).unwrap_or_default();
    wait_for("the second launch", || {
        // until it has begun the file is as it was, then it is written again and again, and holds the same; behind its end another begins
        let said = said();
        let over = said.matches("launch_ends").count() > 1;
        if said.contains("L002") && !over {
            prompts(&lab, 3);
        }
        over
    });
    let out = run.wait().expect_code(0);
    let words = out.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("L002: the data of quick"), "{words}");
    assert_eq!(out.report().0["cost"]["launches"], 3);
}

#[test]
fn data_that_is_away_is_no_finding_about_a_candidate() {
    let lab = lab();
    let run = behind_the_first(&lab);
    fs::rename(lab.path("prompts.jsonl"), lab.path("away")).expect("moved");
    let out = run.wait().expect_code(75);
    for said in ["was set back by the machine, load not made", "no launch can be made here: the data set"] {
        assert!(out.stderr.contains(said), "`{said}` is not in {}", out.stderr);
    }
    fs::rename(lab.path("away"), lab.path("prompts.jsonl")).expect("moved");
    let out = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat()).expect_code(0);
    assert_eq!(out.report().0["complete"], true);
    let begun = events(&lab).iter().filter(|e| e["event"] == "launch_begins").count();
    assert_eq!(begun, 1, "what was measured stays");
}

#[test]
fn a_model_that_is_away_is_no_finding_about_a_candidate() {
    let own = "engine small \"Small\" = sim {\n serve \"sh engine.sh {model} {host} {port}\"\n}";
    let study = live_study("step one { vary seqs[1] }");
    let lab = Lab::with(&study.replace("engine small \"Small\" = sim { --max-model-len=4Ki }", own));
    let script = format!(
        "[ -e \"$1/w\" ] || {{ echo \"FileNotFoundError: $1/w\"; exit 1; }}\nexec '{}' sim --host \"$2\" --port \"$3\"\n",
        crate::support::binary()
    );
    lab.write("engine.sh", script);
    lab.write("site.plab", "site here {\n    model \"Qwen/Qwen3-0.6B\" at \"weights\"\n}\n");
    fs::create_dir(lab.path("weights")).expect("made");
    lab.write("weights/w", "w");
    let run = behind_the_first(&lab);
    fs::rename(lab.path("weights"), lab.path("away")).expect("moved");
    let out = run.wait().expect_code(75);
    let said = "was set back by the machine, storage failed: the model's files at";
    assert!(out.stderr.contains(said), "{}", out.stderr);
    assert!(out.report().recommended().is_none() || out.report().0["complete"] == false, "{}", out.stdout);
    fs::rename(lab.path("away"), lab.path("weights")).expect("moved");
    let out = lab.run(&EXEC).expect_code(0);
    let report = out.report();
    let row = report.row("one", "1");
    // what a busy machine does to its client is another matter
    assert!(["ok", "flagged"].iter().any(|o| row["outcome"] == *o) && row["objective"].is_number(), "{row}");
}

#[test]
fn a_model_that_the_site_gives_a_place_is_another_by_its_name() {
    let own = "engine small \"Small\" {\n serve \"sh engine.sh {model} {host} {port}\"\n ready get \"/health\" within 30s\n api openai\n \
               stop sigterm within 5s\n flag --max-num-seqs int 1..\n}";
    let study = live_study("step one { vary seqs[1] }");
    let lab = Lab::with(&study.replace("engine small \"Small\" = sim { --max-model-len=4Ki }", own));
    let serve = format!(
        "exec '{}' sim --served-model-name \"$1\" --host \"$2\" --port \"$3\"\n",
        crate::support::binary()
    );
    lab.write("engine.sh", serve);
    let site = |place: &str| {
        lab.write("site.plab", format!("site here {{\n    model \"Qwen/Qwen3-0.6B\" at \"{place}\"\n}}\n"))
    };
    for dir in ["weights", "copy"] {
        fs::create_dir(lab.path(dir)).expect("made");
        lab.write(&format!("{dir}/w"), "w");
    }
    site("weights");
    lab.run(&EXEC).expect_code(0);
    let plan = || lab.run(&["plan", "study.plab", "--dir", "state"]).expect_code(0).stdout;
    assert!(plan().contains("0 to measure"), "{}", plan());
    site("copy");
    assert!(plan().contains("0 to measure"), "the same lies elsewhere: {}", plan());
    fs::remove_file(lab.path("site.plab")).expect("removed");
    let said = plan().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("measured with Qwen/Qwen3-0.6B where the site says that it lies, now by its name"),
        "{said}"
    );
    // and the other way round
    fs::remove_dir_all(lab.path("state")).expect("removed");
    lab.run(&EXEC).expect_code(0);
    assert!(plan().contains("0 to measure"), "{}", plan());
    site("weights");
    let said = plan().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("measured with Qwen/Qwen3-0.6B by its name, now where the site says"), "{said}");
}
