//! Flags whose object stands in a file: each launch writes it, keys of it are varied like any others, and the copied command makes it itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{EXEC, Lab, binary};

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
        "#!/bin/sh\ncat \"${{4#--options=}}\" >> options\necho >> options\nexec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    let program = lab.write("filed", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
    lab
}

#[test]
fn each_launch_writes_the_object_and_takes_its_path() {
    let lab = lab();
    lab.run(&EXEC).expect_code(0);
    let seen = fs::read_to_string(lab.path("options")).expect("options");
    let launches = fs::read_dir(lab.path("state/trials")).expect("trials").map(|e| e.expect("one").path());
    for file in
        launches.map(|trial| fs::read_dir(trial).expect("launches").next().expect("one").expect("one").path())
    {
        let mode = fs::metadata(file.join("options.yaml")).expect("its file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "an object may hold a secret");
    }
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

#[test]
fn the_copied_command_makes_the_file_itself() {
    let lab = lab();
    let plan = lab.run(&["plan", "study.plab", "--format", "json"]).expect_code(0).stdout;
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("a document");
    let command = plan["baseline"]["command"].as_str().expect("a command");
    assert_eq!(command, r#"./filed org/some-model --options=<(echo '{"cache":{"fraction":0.8}}')"#);
    // as bash reads it, the program finds the object at the path that it is given
    let shown = command.replace("./filed org/some-model --options=", "cat ");
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
