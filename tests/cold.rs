//! The first start of an engine's build compiles; where a study is about starts, it is no sample.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{EXEC, Lab, Output, binary, wait_for};

const STUDY: &str = r#"
use std/engines { vllm }
engine quickly "Quickly" = vllm {
    version "0.17.1"
    serve   "vllm serve {model} --host {host} --port {port}"
    # whatever happens to a process of it: these tests end in time
    ready   get "/health" within 20s
    stop    sigterm within 10s
}
profile quick "Quick" {
    data        random
    input       16
    output      8
    concurrency 4
    requests    8
    warmup      0
}
axis seqs = --max-num-seqs=[64]
study s "S" {
    model    "org/some-model"
    baseline quickly
    OBJECTIVE
    repeat   1
    step one { vary seqs }
}
"#;

/// A lab whose engine compiles for a second and a half when it finds nothing compiled.
fn lab(objective: &str) -> Lab {
    let lab = Lab::with(&STUDY.replace("OBJECTIVE", objective));
    for dir in ["venv/bin", "weights", "caches"] {
        fs::create_dir_all(lab.path(dir)).expect("a directory");
    }
    lab.write("weights/config.json", "{}");
    let script = format!(
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do case \"$1\" in --port) port=$2;; --port=*) port=${{1#*=}};; esac; shift; done\n\
         if [ ! -e \"$VLLM_CACHE_ROOT/graph\" ]; then touch '{}'; sleep 1.5; touch \"$VLLM_CACHE_ROOT/graph\"; fi\n\
         exec '{}' sim --model org/some-model --host 127.0.0.1 --port \"$port\"\n",
        lab.path("begun").display(),
        binary()
    );
    let program = lab.write("venv/bin/vllm", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
    let site = "site lab {\n engine vllm \"0.17.1\" via venv \"venv\"\n model \"org/some-model\" at \"weights\"\n}\n";
    lab.write("site.plab", site);
    lab
}

fn exec(lab: &Lab) -> Output {
    let mut command = lab.command(&EXEC);
    command.env("XDG_CACHE_HOME", lab.path("caches").canonicalize().expect("a path"));
    lab.start_command(command).wait()
}

#[test]
fn a_cold_start_is_no_sample_of_a_study_about_starts() {
    let lab = lab("minimize startup on quick");
    let out = exec(&lab);
    assert!([0, 3].contains(&out.code), "{}", out.stderr);
    assert!(out.stderr.contains("L001: it was ready after"), "{}", out.stderr);
    let report = out.report();
    assert_eq!((&report.0["cost"]["launches"], &report.0["cost"]["trials"]), (&3.into(), &2.into()));
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    let runs = baseline["runs"].as_array().expect("runs");
    assert_eq!((runs.len(), &runs[0]["launch"]), (1, &"L002".into()), "{baseline}");
    // what is compiled stays so
    fs::remove_dir_all(lab.path("state")).expect("removed");
    assert_eq!(exec(&lab).report().0["cost"]["launches"], 2);
}

#[test]
fn who_does_not_ask_for_starts_pays_for_none() {
    let lab = lab("maximize total_tps on quick");
    let out = exec(&lab);
    assert!(!out.stderr.contains("cold caches"), "{}", out.stderr);
    assert_eq!(out.report().0["cost"]["launches"], 2);
}

#[test]
fn a_cold_start_is_no_sample_either_where_starts_are_asked_for_later() {
    let lab = lab("maximize total_tps on quick");
    exec(&lab);
    lab.write("study.plab", lab.read("study.plab").replace("maximize total_tps", "minimize startup"));
    let out = exec(&lab);
    assert!(out.stderr.contains("its start was no sample of how long starts take"), "{}", out.stderr);
    let report = out.report();
    assert_eq!(report.0["cost"]["launches"], 3, "the warm one counts");
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["runs"][0]["launch"], "L003", "{baseline}");
}

/// Ctrl-Z and `fg` while an engine starts: it is ready meanwhile, and nobody sees when.
#[test]
fn a_start_that_nobody_saw_is_no_sample() {
    let lab = lab("minimize startup on quick");
    let mut command = lab.command(&EXEC);
    command.env("XDG_CACHE_HOME", lab.path("caches").canonicalize().expect("a path"));
    let run = lab.start_command(command);
    wait_for("an engine that compiles", || lab.path("begun").exists());
    let perflab = Pid::from_raw(run.child.id() as i32);
    kill(perflab, Signal::SIGSTOP).expect("it lives");
    std::thread::sleep(Duration::from_secs(3));
    kill(perflab, Signal::SIGCONT).expect("it lives");
    let out = run.wait();
    assert!(out.stderr.contains("L001: perflab did not run for"), "{}", out.stderr);
    let report = out.report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["runs"][0]["launch"], "L002", "{baseline}");
}
