//! Flags whose object stands in a file: each launch writes it, keys of it are varied like any others, and the copied command makes it itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::containers::children;
use crate::support::{EXEC, Lab, binary, events, wait_for};

const STUDY: &str = r#"
engine filed "Filed" {
    version "1.0"
    serve   "./filed {model} {host} {port}"
    ready   get "/health" within 30s
    stop    sigterm within 5s
    flag --options json_file keys [cache json keys [fraction float 0..1], attention_dp]
}
engine mine "Mine" = filed { --options={"cache": {"fraction": 0.8}} }

axis dp       = --options.attention_dp=[true]
axis fraction = --options.cache.fraction=[0.85, 0.9]

profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
study s {
    model    "org/some-model"
    baseline mine
    maximize total_tps on quick
    repeat   1
    step both { vary dp * fraction }
}
"#;

fn lab() -> Lab {
    let lab = Lab::with(STUDY);
    let script = format!(
        "#!/bin/sh\nstat -c %a \"${{4#--options=}}\" >> modes\ncat \"${{4#--options=}}\" >> options\necho >> options\nexec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    let program = lab.write("filed", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
    lab
}

/// The files of flags that are there.
fn written(lab: &Lab) -> Vec<PathBuf> {
    fn below(dir: &Path, found: &mut Vec<PathBuf>) {
        for path in fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()) {
            if path.is_dir() {
                below(&path, found);
            } else if path.ends_with("options.yaml") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    below(&lab.path("state"), &mut found);
    found
}

#[test]
fn each_launch_writes_the_object_and_takes_its_path() {
    let lab = lab();
    lab.run(&EXEC).expect_code(0);
    let seen = fs::read_to_string(lab.path("options")).expect("options");
    let modes = fs::read_to_string(lab.path("modes")).expect("modes");
    assert_eq!(modes, "600\n600\n600\n", "an object may hold a secret");
    assert_eq!(written(&lab), [] as [PathBuf; 0], "they go with their launches");
    let mut seen: Vec<&str> = seen.lines().collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            r#"{"cache":{"fraction":0.85},"attention_dp":true}"#,
            r#"{"cache":{"fraction":0.8}}"#,
            r#"{"cache":{"fraction":0.9},"attention_dp":true}"#,
        ]
    );
}

/// Started, and killed under its first load; with its guard, if that is wanted.
fn killed_under_load(lab: &Lab, guard_too: bool) {
    let _ = fs::remove_file(lab.path("events.jsonl"));
    let mut exec = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    wait_for("a load", || events(lab).iter().any(|e| e["event"] == "load"));
    assert_eq!(written(lab).len(), 1);
    let guards = children(exec.child.id());
    assert_eq!(guards.len(), 1);
    // a guard that is stopped sees nothing of perflab's end
    for guard in guards.iter().filter(|_| guard_too) {
        kill(Pid::from_raw(*guard as i32), Signal::SIGSTOP).expect("it lives");
    }
    exec.child.kill().expect("it lives");
    exec.child.wait().expect("a status");
    for guard in guards.iter().filter(|_| guard_too) {
        kill(Pid::from_raw(*guard as i32), Signal::SIGKILL).expect("it lives");
    }
}

#[test]
fn the_files_of_a_killed_execution_go_with_its_guard_or_with_the_next_one() {
    let long =
        STUDY.replace("requests    8", "requests    400").replace("attention_dp]", "attention_dp, api_key]");
    let long = long.replace(r#"{"cache": {"#, r#"{"api_key": "s3cret-of-a-file", "cache": {"#);
    let lab = lab();
    lab.write("study.plab", &long);
    killed_under_load(&lab, false);
    wait_for("the guard's end", || written(&lab).is_empty());
    killed_under_load(&lab, true);
    assert_eq!(written(&lab).len(), 1, "nobody was left to remove it");
    lab.write("study.plab", long.replace("requests    400", "requests    8"));
    lab.run(&EXEC).expect_code(0);
    assert_eq!(written(&lab), [] as [PathBuf; 0]);
    let said = fs::read_to_string(lab.path("options")).expect("options");
    assert!(said.contains("s3cret-of-a-file"), "the engine got it: {said}");
}

#[test]
fn the_copied_command_makes_the_file_itself() {
    let lab = lab();
    let plan = lab.run(&["plan", "study.plab", "--format", "json"]).expect_code(0).stdout;
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("a document");
    let command = plan["baseline"]["command"].as_str().expect("a command");
    assert_eq!(
        command,
        r#"./filed org/some-model '<host>' '<port>' --options=<(echo '{"cache":{"fraction":0.8}}')"#
    );
    // as bash reads it, the program finds the object at the path that it is given
    let shown = command.replace("./filed org/some-model '<host>' '<port>' --options=", "cat ");
    let read = Command::new("bash").args(["-c", &shown]).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&read.stdout), "{\"cache\":{\"fraction\":0.8}}\n");
}

#[test]
fn a_file_of_ones_own_goes_by_its_path() {
    let lab = lab();
    lab.write(
        "study.plab",
        STUDY.replace(r#"{"cache": {"fraction": 0.8}}"#, "own.yaml").replace("dp * fraction", "own"),
    );
    let text = fs::read_to_string(lab.path("study.plab")).expect("the study");
    lab.write("study.plab", text + "axis own = --options=[other.yaml]\n");
    lab.write("own.yaml", "cache:\n  fraction: 0.8");
    lab.write("other.yaml", "cache:\n  fraction: 0.9");
    lab.run(&EXEC).expect_code(0);
    let seen = fs::read_to_string(lab.path("options")).expect("options");
    assert_eq!(seen.matches("fraction: 0.8").count(), 1, "{seen}");
    assert_eq!(seen.matches("fraction: 0.9").count(), 1, "{seen}");
}
