//! Long work is visible: the event stream, who watches from elsewhere, and the command that is run at the end.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{EXEC, Lab, live_study, wait_for};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
}

#[test]
fn events_are_numbered_lines_of_one_version() {
    let lab = Lab::with(&live_study("step one { vary seqs[1, 2] }"));
    lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat()).expect_code(0);
    let events = lines(&lab.read("events.jsonl"));
    for (i, e) in events.iter().enumerate() {
        assert_eq!((&e["v"], &e["seq"]), (&1.into(), &(i + 1).into()), "{e}");
        assert!(e["at"].is_string() && e["t_s"].is_number() && e["event"].is_string(), "{e}");
    }
    let count = |name: &str| events.iter().filter(|e| e["event"] == name).count();
    assert_eq!((count("study"), count("launch_begins"), count("launch_ends"), count("ends")), (1, 3, 3, 1));
    let predicted = events.iter().filter(|e| e["event"] == "launch_begins");
    assert!(
        predicted.clone().all(|e| e["left_s"].as_f64().is_some_and(|s| s > 0.0)),
        "the simulator predicts the first"
    );
    let left: Vec<f64> = predicted.filter_map(|e| e["left_s"].as_f64()).collect();
    assert!(left[2] < left[1], "{left:?}");
}

#[test]
fn watching_shows_a_study_and_ends_with_it() {
    let lab =
        Lab::with(&live_study("step one { vary seqs[1, 2] }").replace("requests    8", "requests    400"));
    let exec = lab.start(&EXEC);
    wait_for("the first launch", || lab.path("state/live.json").exists());
    let now = lab.run(&["watch", "state", "--format", "json"]).expect_code(0).json();
    assert_eq!((&now["schema"], &now["running"]), (&"perflab.watch/1".into(), &true.into()), "{now}");
    assert_eq!((&now["live"]["study"], &now["live"]["simulated"]), (&"S".into(), &true.into()), "{now}");
    let watch = lab.start(&["watch", "study.plab", "--dir", "state"]);
    exec.wait().expect_code(0);
    let out = watch.wait().expect_code(0);
    for word in ["study.plab", "L001 Small", "L003", "quick: done", "tok/s", "ended: done (status 0)"] {
        assert!(out.stdout.contains(word), "{word}:\n{}", out.stdout);
    }
    // where somebody says how wide the page is, lines fold below what follows the launch's name
    let mut narrow = lab.command(&["watch", "state"]);
    let folded = lab.start_command({
        narrow.env("COLUMNS", "40");
        narrow
    });
    let folded = folded.wait().expect_code(0).stdout;
    assert!(folded.lines().all(|line| line.chars().count() <= 40), "{folded}");
    assert!(folded.contains("\n       --max-num-seqs=2\n"), "{folded}");
    let mut piped = lab.command(&["watch", "state"]);
    piped.env_remove("COLUMNS");
    let piped = lab.start_command(piped).wait().expect_code(0).stdout;
    assert!(piped.contains("--max-model-len=4096 --max-num-seqs=2\n"), "one line for each event: {piped}");
    // what is over is shown as that, and nothing of it is touched
    let journal = lab.read("state/journal.jsonl");
    let again = lab.run(&["watch", "state"]).expect_code(0);
    assert_eq!(again.stdout, out.stdout);
    let now = lab.run(&["watch", "state", "--format", "json"]).expect_code(0).json();
    assert_eq!((&now["running"], &now["live"]["ended"]["status"]), (&false.into(), &0.into()));
    assert_eq!(lab.read("state/journal.jsonl"), journal);
}

#[test]
fn a_killed_study_is_seen_to_have_ended() {
    let lab =
        Lab::with(&live_study("step one { vary seqs[1] }").replace("requests    8", "requests    50000"));
    let mut exec = lab.start(&EXEC);
    wait_for("the first launch", || lab.path("state/live.json").exists());
    let watch = lab.start(&["watch", "state"]);
    exec.child.kill().expect("it lives");
    let out = watch.wait().expect_code(75);
    assert!(out.stdout.contains("ended: it was killed"), "{}", out.stdout);
    exec.wait();
}

#[test]
fn where_nothing_ran_there_is_nothing_to_watch() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    lab.run(&["watch", "study.plab"]).expect_error(1, &["nothing has run in", ".perflab/s", "help:"]);
}

/// A hook that writes what it is told.
fn hook(lab: &Lab, code: i32) -> String {
    let text = format!(
        "#!/bin/sh\nenv | grep ^PERFLAB_ | sort > {}\necho said\nexit {code}\n",
        lab.path("told").display()
    );
    let path = lab.write("hook", text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    path.display().to_string()
}

#[test]
fn the_hook_is_told_how_a_study_ended() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let hook = hook(&lab, 0);
    let out = lab.run(&[&EXEC[..], &["--notify", &hook]].concat()).expect_code(0);
    out.json();
    assert!(out.stderr.contains("said"), "{}", out.stderr);
    let told = lab.read("told");
    for line in
        ["PERFLAB_EXIT_CODE=0", "PERFLAB_OUTCOME=done", "PERFLAB_STUDY=s", "state/report.md", "perflab sim"]
    {
        assert!(told.contains(line), "{line}:\n{told}");
    }
}

#[test]
fn the_hook_runs_when_nothing_is_recommended_and_its_failure_is_a_warning() {
    let lab = Lab::with(&live_study("require p99(ttft) < 1us\n step one { vary seqs[1] }"));
    let hook = hook(&lab, 7);
    let out = lab.run(&[&EXEC[..], &["--notify", &hook]].concat()).expect_code(3);
    assert!(
        out.stderr.contains("warning: the command of `--notify` failed: exit status: 7"),
        "{}",
        out.stderr
    );
    let told = lab.read("told");
    assert!(
        told.contains("PERFLAB_EXIT_CODE=3") && told.contains("PERFLAB_OUTCOME=nothing_recommended"),
        "{told}"
    );
    assert!(told.contains("PERFLAB_RECOMMENDED=\n"), "{told}");
}

#[test]
fn a_hook_that_takes_its_time_is_told_of() {
    let lab = Lab::with(&live_study("step one { vary seqs[1] }"));
    let slow = lab.run(&[&EXEC[..], &["--notify", "sleep 3; exit 3"]].concat()).expect_code(0).stderr;
    let waited = slow.find("waiting for the command of `--notify`");
    let failed = slow.find("`--notify` failed: exit status: 3");
    assert!(waited.is_some() && waited < failed, "{slow}");
}

#[test]
fn the_hook_runs_when_a_study_is_interrupted() {
    let lab =
        Lab::with(&live_study("step one { vary seqs[1] }").replace("requests    8", "requests    50000"));
    let hook = hook(&lab, 0);
    let exec = lab.start(&[&EXEC[..], &["--notify", &hook]].concat());
    wait_for("the first launch", || lab.path("state/live.json").exists());
    let pid = nix::unistd::Pid::from_raw(exec.child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it lives");
    exec.wait().expect_code(75);
    let told = lab.read("told");
    assert!(told.contains("PERFLAB_EXIT_CODE=75") && told.contains("PERFLAB_OUTCOME=incomplete"), "{told}");
}

#[test]
fn a_study_whose_live_file_is_gone_ended_as_its_journal_says() {
    let lab = Lab::with(&live_study("step one { vary seqs[2] }"));
    lab.run(&EXEC).expect_code(0);
    std::fs::remove_file(lab.path("state/live.json")).expect("removed");
    let out = lab.run(&["watch", "state"]).expect_code(0);
    assert!(out.stdout.ends_with("ended: complete\n"), "{}", out.stdout);
}
