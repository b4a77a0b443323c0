//! Sites: engines launched as the machine's facts say, models found where they lie, variables passed on, servers that run already.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{EXEC, LIVE, Lab, Report, binary, unsealed, wait_for};

/// An engine that writes down what it got, and serves with the simulated one.
const RECORDED: &str = r#"
engine recorded "Recorded" {
    version "1.0"
    serve   "recorded {model} {host} {port}"
    ready   get "/health" within 30s
    stop    sigterm within 5s
    flag --name text
}
engine mine "Mine" = recorded { env B=own }
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
    step name { vary name }
}
axis name = --name=[x]
"#;

/// A lab with a study and, in `venv`, the program that it starts.
fn lab() -> Lab {
    let lab = Lab::with(RECORDED);
    fs::create_dir_all(lab.path("venv/bin")).expect("directories");
    let script = format!(
        "#!/bin/sh\necho \"$1|$VIRTUAL_ENV|$A|$B|$4\" >> started\nexec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    let program = lab.write("venv/bin/recorded", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
    lab
}

fn started(lab: &Lab) -> Vec<String> {
    fs::read_to_string(lab.path("started")).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn path(lab: &Lab, name: &str) -> String {
    lab.path(".").canonicalize().expect("a directory").join(name).to_string_lossy().into_owned()
}

#[test]
fn a_virtual_environment_is_used_without_being_named_in_the_study() {
    let lab = lab();
    lab.write(
        "site.plab",
        "site lab {\n engine recorded \"1.0\" via venv \"venv\"\n engine unknown via path\n}\n",
    );
    let report = lab.run(&EXEC).expect_code(0).report();
    let venv = path(&lab, "venv");
    assert_eq!(
        started(&lab),
        [format!("org/some-model|{venv}||own|"), format!("org/some-model|{venv}||own|--name=x")]
    );
    let command = report.recommended().expect("a command").to_owned();
    assert!(command.contains("recorded org/some-model") && !command.contains("venv"), "{command}");
}

#[test]
fn what_is_not_there_is_said_before_anything_starts() {
    let lab = lab();
    for (site, words) in [
        (
            "engine recorded via venv \"nowhere\"",
            vec!["no virtual environment", "nowhere", "engine mine of site lab"],
        ),
        ("engine recorded via venv \".\"", vec!["no virtual environment"]),
        ("model \"org/some-model\" at \"~/no/such/model\"", vec!["org/some-model", "/no/such/model"]),
        ("engine recorded via docker", vec!["which image docker is to start", "(engine mine of site lab)"]),
        ("runner slurm { node \"h100\" }", vec!["cannot carry out", "`runner slurm` (site lab)"]),
        ("engine recorded via ssh", vec!["E308", "no launch method is called `ssh`"]),
    ] {
        lab.write("other.plab", format!("site lab {{\n {site}\n}}\n"));
        lab.run(&[&EXEC[..], &["--site", "other.plab"]].concat()).expect_error(1, &words);
    }
    fs::remove_file(lab.path("venv/bin/recorded")).expect("removed");
    lab.write("site.plab", "site lab { engine recorded via venv \"venv\" }\n");
    lab.run(&EXEC).expect_error(1, &["has no program `recorded`"]);
    lab.run(&[&EXEC[..], &["--site", "study.plab"]].concat()).expect_error(1, &["study.plab has no site"]);
    lab.run(&[&EXEC[..], &["--site", "gone.plab"]].concat()).expect_error(1, &["gone.plab", "no such file"]);
    assert!(!lab.path("state").exists() && started(&lab).is_empty());
}

#[test]
fn a_version_without_a_line_is_launched_from_the_path() {
    let lab = lab();
    lab.write("site.plab", "site lab { engine recorded \"2.0\" via venv \"venv\" }\n");
    let report = lab.run(&EXEC).expect_code(3).report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert!(baseline["reason"].as_str().is_some_and(|r| r.contains("engine not found")), "{baseline}");
}

#[test]
fn a_model_is_served_from_where_it_lies_and_keeps_its_name() {
    let lab = lab();
    fs::create_dir_all(lab.path("models/some")).expect("directories");
    let venv = "engine recorded via venv \"venv\"";
    lab.write(
        "site.plab",
        format!("site lab {{\n {venv}\n model \"org/some-model\" at \"models/some\"\n}}\n"),
    );
    let report = lab.run(&EXEC).expect_code(0).report();
    let at = path(&lab, "models/some");
    assert!(started(&lab).iter().all(|l| l.starts_with(&format!("{at}|"))), "{:?}", started(&lab));
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["config"]["model"], "org/some-model");
    assert_eq!(baseline["metrics"]["completed"].as_f64(), Some(8.0));
    // the same at another place is the same model; what the engine takes for the bare name, nobody knows
    fs::rename(lab.path("models/some"), lab.path("models/other")).expect("moved");
    lab.write(
        "site.plab",
        format!("site lab {{\n {venv}\n model \"org/some-model\" at \"models/other\"\n}}\n"),
    );
    assert_eq!(lab.run(&EXEC).expect_code(0).report().0["cost"]["launches"], 2);
    lab.write("site.plab", format!("site lab {{ {venv} }}\n"));
    assert_eq!(lab.run(&EXEC).expect_code(0).report().0["cost"]["launches"], 4);
    lab.write(
        "site.plab",
        format!("site lab {{\n {venv}\n model \"org/some-model\" at \"models/away\"\n}}\n"),
    );
    let plan = lab.run(&["plan", "study.plab", "--dir", "state"]).expect_code(0);
    assert!(plan.stderr.contains("note: the model org/some-model is not at"), "{}", plan.stderr);
}

#[test]
fn variables_reach_the_engine_and_are_part_of_a_runs_key() {
    let lab = lab();
    let site = |a: &str| {
        format!("site lab {{\n engine recorded via venv \"venv\"\n env A=\"{a}\"\n env B=site\n}}\n")
    };
    lab.write("site.plab", site("~/hf"));
    lab.run(&EXEC).expect_code(0);
    let home = std::env::var("HOME").expect("a home");
    assert!(started(&lab)[0].contains(&format!("|{home}/hf|own|")), "{:?}", started(&lab));
    assert_eq!(lab.run(&EXEC).expect_code(0).report().0["cost"]["launches"], 2);
    lab.write("site.plab", site("other"));
    assert_eq!(lab.run(&EXEC).expect_code(0).report().0["cost"]["launches"], 4);
    let plan = lab.run(&["plan", "study.plab", "--dir", "state", "--checks", "warn"]).expect_code(0).stdout;
    assert!(plan.contains("site      lab") && plan.contains("0 to measure"), "{plan}");
}

#[test]
fn a_site_may_stand_in_the_study_file() {
    let lab = lab();
    lab.write("study.plab", RECORDED.to_owned() + "site here { engine recorded via venv \"venv\" }\n");
    lab.write("site.plab", "site beside { engine recorded via docker }\n");
    lab.run(&EXEC).expect_code(0);
    lab.run(&[&EXEC[..], &["--site", "site.plab"]].concat()).expect_error(1, &["docker", "site beside"]);
    lab.write("study.plab", RECORDED.to_owned() + "site here { }\nsite there { }\n");
    lab.run(&["check", "study.plab"]).expect_error(1, &["E502", "a second site"]);
}

#[test]
fn check_reads_the_site_once_with_its_studies() {
    let lab = lab();
    lab.write("second.plab", RECORDED);
    lab.write("site.plab", "site lab {\n engine recorded via nothing\n}\n");
    let found = lab.run(&["check", "study.plab", "second.plab"]).expect_code(1);
    assert_eq!(found.stderr.matches("E308").count(), 1, "{}", found.stderr);
    let document = lab.run(&["check", "study.plab", "site.plab", "--format", "json"]).expect_code(1).json();
    assert_eq!(document["diagnostics"].as_array().map(Vec::len), Some(1), "{document}");
}

/// A server that somebody else started.
struct Elsewhere(Child, u16);

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn elsewhere(model: &str) -> Elsewhere {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    elsewhere_at(model, port)
}

fn elsewhere_at(model: &str, port: u16) -> Elsewhere {
    let mut command = Command::new(binary());
    command.args(["sim", "--model", model, "--host", "127.0.0.1", "--port", &port.to_string()]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a server");
    wait_for("the server", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    Elsewhere(child, port)
}

fn study_elsewhere(steps: &str) -> String {
    let used = LIVE.split("axis batched").next().unwrap_or_default();
    format!(
        "{used}engine there \"There\" = sim {{ --max-num-seqs=9 }}\n\
         study s {{\n model \"Qwen/Qwen3-0.6B\"\n baseline there\n maximize total_tps on quick\n repeat 1\n{steps}\n}}\n"
    )
}

fn notes(lab: &Lab) -> Vec<Value> {
    let text = lab.read("state/journal.jsonl");
    let events = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    events.filter_map(|e| e["kind"]["run"]["run"]["notes"].as_array().cloned()).flatten().collect()
}

#[test]
fn a_server_that_runs_already_is_measured_and_left_alone() {
    let mut server = elsewhere("Qwen/Qwen3-0.6B");
    let lab = Lab::with(&study_elsewhere(
        "step engines { vary engine[small] }\nstep seqs from small { vary seqs[1] }",
    ));
    lab.write(
        "site.plab",
        format!("site lab {{ engine there via url \"http://127.0.0.1:{}/\" }}\n", server.1),
    );
    let report: Report = lab.run(&EXEC).expect_code(0).report();
    let baseline = report.trial(report.0["baseline"].as_str().expect("an id"));
    assert_eq!(baseline["metrics"]["completed"].as_f64(), Some(8.0));
    assert!(baseline["metrics"]["startup_s"].is_null(), "nothing was started: {baseline}");
    assert!(
        notes(&lab).iter().any(|n| n.as_str().is_some_and(|n| n.contains("ran already"))),
        "{:?}",
        notes(&lab)
    );
    assert!(server.0.try_wait().expect("a state").is_none(), "it must go on running");
    // what was measured elsewhere is no run of ours
    fs::remove_file(lab.path("site.plab")).expect("removed");
    let again = lab.run(&EXEC).expect_code(0).report();
    assert!(again.0["cost"]["launches"].as_u64() > report.0["cost"]["launches"].as_u64());
}

#[test]
fn a_result_of_one_server_is_never_told_of_another() {
    let first = elsewhere("Qwen/Qwen3-0.6B");
    let lab = Lab::with(&study_elsewhere("step engines { vary engine[there] }"));
    let at = |port: u16| {
        lab.write("site.plab", format!("site lab {{ engine there via url \"http://127.0.0.1:{port}\" }}\n"))
    };
    let launches = || lab.read("state/journal.jsonl").matches("\"kind\":{\"launch\"").count();
    let planned = || {
        let plan = lab.run(&["plan", "study.plab", "--dir", "state"]).expect_code(0);
        plan.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    at(first.1);
    lab.run(&EXEC).expect_code(0);
    assert!(planned().contains("0 to measure"), "{}", planned());
    lab.run(&EXEC).expect_code(0);
    assert_eq!(launches(), 1, "the same server still answers");
    // another address
    let second = elsewhere("Qwen/Qwen3-0.6B");
    at(second.1);
    let why = format!("measured at http://127.0.0.1:{}, now http://127.0.0.1:{}", first.1, second.1);
    assert!(planned().contains(&why), "{}", planned());
    lab.run(&EXEC).expect_code(0);
    assert_eq!(launches(), 2);
    let made = lab.read("state/journal.jsonl");
    assert!(made.contains(&format!("\"running\":{{\"url\":\"http://127.0.0.1:{}\"", second.1)), "{made}");
    // nobody at it
    let port = second.1;
    drop(second);
    let why = format!("measured at http://127.0.0.1:{port}, which does not answer now");
    assert!(planned().contains(&why), "{}", planned());
    // somebody else at it
    let third = elsewhere_at("org/another", port);
    let why = format!(
        "measured when http://127.0.0.1:{port} called its model Qwen/Qwen3-0.6B, now it is org/another"
    );
    assert!(planned().contains(&why), "{}", planned());
    // and that of another model is not measured under the study's
    let out = lab.run(&EXEC).expect_code(1);
    assert!(out.stderr.contains("serves org/another, the study is about Qwen/Qwen3-0.6B"), "{}", out.stderr);
    assert_eq!(launches(), 2);
    drop(third);
}

#[test]
fn old_numbers_are_not_told_of_a_server_that_does_not_answer() {
    let server = elsewhere("Qwen/Qwen3-0.6B");
    let lab = Lab::with(&study_elsewhere("step engines { vary engine[there] }"));
    let site = format!("site lab {{ engine there via url \"http://127.0.0.1:{}\" }}\n", server.1);
    lab.write("site.plab", site);
    lab.run(&EXEC).expect_code(0);
    drop(server);
    let out = lab.run(&EXEC).expect_code(75);
    assert!(out.stderr.contains("a server that should run already cannot be measured"), "{}", out.stderr);
    assert!(out.stderr.contains("once a server answers there, the same command continues"), "{}", out.stderr);
    assert!(out.stderr.contains("does not count until it does"), "{}", out.stderr);
}

#[test]
fn one_configuration_does_not_run_in_two_places() {
    let text = study_elsewhere("step engines { vary engine[twin] }")
        .replace("study s {", "engine twin \"Twin\" = sim { --max-num-seqs=9 }\nstudy s {");
    let lab = Lab::with(&text);
    let site = "site lab {\n engine there via url \"http://127.0.0.1:9\"\n engine twin via url \"http://127.0.0.1:10\"\n}\n";
    lab.write("site.plab", site);
    lab.run(&EXEC).expect_error(1, &["`there` and `twin` are one configuration, and run in two places"]);
    lab.write("site.plab", "site lab { engine twin via url \"http://127.0.0.1:9\" }\n");
    lab.run(&EXEC).expect_error(1, &["`there` and `twin` are one configuration"]);
}

#[test]
fn a_server_that_runs_already_takes_no_changes() {
    let site = "site lab { engine there via url \"http://127.0.0.1:9\" }\n";
    for (steps, words) in [
        ("step seqs { vary seqs[1] }", vec!["step `seqs`", "`there`", "not managed"]),
        ("step engines { vary engine[small] }\nstep seqs { vary seqs[1] }", vec!["step `seqs`"]),
        ("step seqs from there { vary seqs[1] }", vec!["step `seqs`"]),
        ("step both { vary engine[there, small] * seqs[1] }", vec!["step `both`"]),
    ] {
        let lab = Lab::with(&study_elsewhere(steps));
        lab.write("site.plab", site);
        lab.run(&EXEC).expect_error(1, &words);
        assert!(!lab.path("state").exists());
    }
    let lab = Lab::with(&study_elsewhere("step engines { vary engine[small] }"));
    lab.write("site.plab", "site lab { engine sim via url \"http://127.0.0.1:9\" }\n");
    lab.run(&EXEC).expect_error(1, &["two configurations of one running server", "`there` and `small`"]);
}

#[test]
fn what_a_launch_cost_is_kept_with_it() {
    let lab = lab();
    let site = |price: &str| format!("site lab {{ engine recorded via venv \"venv\"\n price {price} }}\n");
    lab.write("site.plab", site("36usd/h"));
    lab.run(&EXEC).expect_code(0);
    // a machine without a GPU: as if each launch had held one
    let journal = lab.path("state/journal.jsonl");
    let held =
        unsealed(&fs::read_to_string(&journal).expect("a journal")).replace("\"gpus\":0", "\"gpus\":1");
    fs::write(&journal, held).expect("written");
    // the report reads no site, and a price that changes later changes nothing
    let report = ["report", "study.plab", "--dir", "state", "--format", "json"];
    let cost = lab.run(&report).expect_code(0).report().0["cost"].clone();
    let (usd, gpu_s) = (cost["usd"].as_f64().expect("a cost"), cost["gpu_s"].as_f64().expect("a time"));
    assert!(gpu_s > 0.0 && (usd - gpu_s / 100.0).abs() < 1e-9, "{cost}");
    lab.write("site.plab", site("72usd/h"));
    assert_eq!(lab.run(&EXEC).expect_code(0).report().0["cost"]["usd"], cost["usd"]);
}

#[test]
fn a_plan_shows_how_each_engine_is_launched() {
    let lab = Lab::new();
    lab.write(
        "study.plab",
        r#"use std/engines  { sglang, vllm }
use std/profiles { throughput }

engine patched = vllm {
    version "0.17.1"
    image   "registry.example.com/vllm:{version}-ours"
}
engine plain   = vllm   { version "0.11.0" }
engine other   = sglang { version "0.5.9" }

study compare "Three engines" {
    model    "Qwen/Qwen3-8B"
    gpus     1
    baseline patched
    maximize total_tps on throughput
    repeat   3

    step engines "Engines" { vary engine[plain, other] }
}

site lab {
    engine vllm via docker
    engine vllm "0.11.0" via docker "mirror/vllm-openai:v0.11.0"
    engine sglang via venv "venv"
}
"#,
    );
    let plan = lab.run(&["plan", "study.plab"]).expect_code(0).stdout;
    let venv = path(&lab, "venv");
    for line in [
        "  engine    patched 0.17.1: docker registry.example.com/vllm:0.17.1-ours\n",
        "  engine    plain 0.11.0: docker mirror/vllm-openai:v0.11.0\n",
        &format!("  engine    other 0.5.9: venv {venv}\n"),
    ] {
        assert!(plan.contains(line), "{line}{plan}");
    }
    let document: serde_json::Value =
        serde_json::from_str(&lab.run(&["plan", "study.plab", "--format", "json"]).expect_code(0).stdout)
            .expect("a document");
    let first = serde_json::json!({
        "name": "patched", "version": "0.17.1", "via": "docker", "from": "registry.example.com/vllm:0.17.1-ours",
    });
    assert_eq!(document["engines"][0], first);
}
