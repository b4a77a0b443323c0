//! `perflab doctor`: what a machine can do, for people and for scripts, and the first site file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::support::{Lab, Output};

/// The doctor in a lab that is its home: nothing of the real user is found.
fn doctor(lab: &Lab, args: &[&str]) -> Output {
    let mut command = lab.command(&[&["doctor"], args].concat());
    command.env("HOME", lab.path(".")).env("PATH", lab.path("bin")).env("COLUMNS", "80");
    for name in ["VIRTUAL_ENV", "HF_HOME", "HF_HUB_CACHE", "CUDA_VISIBLE_DEVICES", "PERFLAB_GPUS", "NO_COLOR"]
    {
        command.env_remove(name);
    }
    if lab.path("gpus.json").exists() {
        command.env("PERFLAB_GPUS", lab.path("gpus.json"));
    }
    lab.start_command(command).wait()
}

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

/// An environment as pip leaves it.
fn environment(lab: &Lab, name: &str, version: &str) {
    program(&lab.path(&format!("venvs/{name}/bin/python")), "#!/bin/sh\n");
    program(&lab.path(&format!("venvs/{name}/bin/vllm")), "#!/bin/sh\n");
    let metadata = format!("venvs/{name}/lib/python3.11/site-packages/vllm-{version}.dist-info");
    fs::create_dir_all(lab.path(&metadata)).expect("directories");
}

fn line<'a>(document: &'a Value, words: &str) -> &'a Value {
    let lines = document["lines"].as_array().expect("lines");
    let found = lines.iter().find(|l| l["text"].as_str().is_some_and(|t| t.contains(words)));
    found.unwrap_or_else(|| panic!("no line says `{words}`:\n{document:#}"))
}

/// 0, or 4 where a line says `fail`: what is wrong with the machine that runs the tests is no fault.
#[track_caller]
fn done(out: Output) -> Output {
    let failed = out.stdout.contains("\"level\": \"fail\"") || out.stdout.contains("\n  fail  ");
    out.expect_code(if failed { 4 } else { 0 })
}

#[test]
fn the_load_generator_is_tried_where_that_is_asked_for() {
    let lab = Lab::new();
    let sizes = ["--client", "--streams", "8", "--tokens-per-second", "20"];
    let document = done(doctor(&lab, &[&sizes[..], &["--format", "json"]].concat())).json();
    let found = line(&document, "chunks/s in 12 streams, where a load of 8 has 160");
    assert_eq!((&found["topic"], &document["client"]["streams"]), (&"client".into(), &12.into()));
    assert_eq!(document["client"]["failed"], 0);
    assert!(document["client"]["chunks_per_s"].as_f64() > Some(0.0), "{document:#}");
    let effect = &document["client"]["effect"];
    line(&document, "of the throughput that it has under a client that only reads");
    assert_eq!((&effect["streams"], &effect["pairs"]), (&8.into(), &8.into()), "{document:#}");
    let at = |name: &str| effect[name].as_f64().expect("a number");
    assert!(0.0 < at("low") && at("low") <= at("ratio") && at("ratio") <= at("high"), "{document:#}");
    let without = done(doctor(&lab, &["--format", "json"])).json();
    assert!(without.get("client").is_none(), "{without:#}");
    doctor(&lab, &["--streams", "8"]).expect_error(2, &["--client"]);
    doctor(&lab, &["--client", "--tokens-per-second", "0"]).expect_error(1, &["tokens a second"]);
    doctor(&lab, &["--client", "--pin-client", "x"]).expect_error(2, &["0-3,8"]);
}

#[test]
fn a_broken_script_of_gpus_is_what_is_to_mend() {
    let lab = Lab::new();
    lab.write("gpus.json", "{\"gpus\": 3");
    let document = done(doctor(&lab, &["--format", "json"])).json();
    let found = line(&document, "the GPU script");
    assert!(found["fix"].as_str().is_some_and(|fix| fix.contains("`unset PERFLAB_GPUS`")), "{found}");
}

#[test]
fn the_page_fits_and_is_plain_when_piped() {
    let lab = Lab::new();
    environment(&lab, "vllm-0.17.1", "0.17.1");
    let out = done(doctor(&lab, &[]));
    for heading in ["GPUs", "Engines", "Machine", "Disk", "Limits"] {
        assert!(out.stdout.lines().any(|l| l == heading), "{heading} in\n{}", out.stdout);
    }
    assert!(!out.stdout.contains('\x1b') && out.stderr.is_empty(), "{}", out.stderr);
    let long: Vec<&str> = out.stdout.lines().filter(|l| l.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:?}");
    assert!(out.stdout.contains("  ok    vllm 0.17.1 in the virtual environment ~/venvs/vllm-0.17.1\n"));
}

#[test]
fn a_first_site_is_right_as_it_is_written() {
    let lab = Lab::new();
    environment(&lab, "a", "0.17.1+cu129");
    environment(&lab, "b", "0.17.1");
    environment(&lab, "c", "0.32.0");
    program(&lab.path("bin/llama-server"), "#!/bin/sh\necho 'version: 11434 (ab12cd3)' >&2\n");
    done(doctor(&lab, &["--write", "site.plab"]));
    let text = lab.read("site.plab");
    for said in [
        "engine vllm \"0.17.1\" via venv \"~/venvs/a\"",
        "# also: engine vllm \"0.17.1\" via venv \"~/venvs/b\"",
        "\"0.32.0\" via venv \"~/venvs/c\"",
        "\"11434\"",
    ] {
        assert!(text.contains(said), "`{said}` in\n{text}");
    }
    lab.run(&["check", "site.plab"]).expect_code(0);
    lab.run(&["fmt", "--check", "site.plab"]).expect_code(0);
    // a file that is there is somebody's
    let out = doctor(&lab, &["--write", "site.plab"]).expect_code(1);
    assert!(out.stderr.contains("--force"), "{}", out.stderr);
    done(doctor(&lab, &["--write", "site.plab", "--force"]));
    doctor(&lab, &["--write", "no/such/dir/site.plab"]).expect_code(1);
    doctor(&lab, &["--force"]).expect_code(2);
}

/// Names that people and tools give directories, and some that nobody should.
const NAMES: [&str; 14] = [
    "v\"q",
    "{brace}",
    "{{two}}",
    "back\\slash",
    "end\\",
    "it's",
    "with space",
    "ünïcode 漢",
    "a#b",
    "//x",
    "$HOME",
    "new\nline",
    "tab\there",
    "bell\u{7}",
];

#[test]
fn whatever_it_writes_is_right_however_places_are_called() {
    let lab = Lab::new();
    for (i, name) in NAMES.iter().enumerate() {
        environment(&lab, &name.replace("//", "slashes"), &format!("0.17.{i}"));
    }
    let site = |lab: &Lab, more: &[(&str, &str)]| {
        let mut command = lab.command(&["doctor", "--write", "site.plab", "--force"]);
        command.env("HOME", lab.path(".")).env("PATH", lab.path("bin")).env_remove("VIRTUAL_ENV");
        command.envs(more.iter().copied());
        done(lab.start_command(command).wait());
        lab.run(&["check", "site.plab"]).expect_code(0);
        lab.run(&["fmt", "--check", "site.plab"]).expect_code(0);
        lab.read("site.plab")
    };
    for name in NAMES {
        let text = site(&lab, &[("HF_HOME", name), ("HF_HUB_CACHE", &format!("/x/{name}/{name}"))]);
        assert_eq!(
            text.matches("via venv").count(),
            NAMES.len() - 1,
            "one has a name that no file can hold:\n{text}"
        );
        assert!(text.contains("# no file can name"), "{text}");
    }
}

#[test]
fn a_site_without_engines_is_a_site() {
    let lab = Lab::new();
    done(doctor(&lab, &["--write", "site.plab"]));
    lab.run(&["check", "site.plab"]).expect_code(0);
    lab.run(&["fmt", "--check", "site.plab"]).expect_code(0);
}

#[test]
fn gpus_are_told_with_what_to_mend() {
    let lab = Lab::new();
    let script = r#"{"driver": "550.54.15", "cuda": "12.4", "links": [[0, 1]],
        "gpus": [{"name": "NVIDIA H100 80GB HBM3", "persistence": false, "power_limit_w": 500},
                 {"name": "NVIDIA H100 80GB HBM3", "mig": true}, {"name": "NVIDIA H100 80GB HBM3"}],
        "lost": [{"gpu": 2}],
        "foreign": [{"gpu": 0, "memory_mib": 3072, "pid": 5000001, "name": "python3", "user": "alice"}]}"#;
    lab.write("gpus.json", script);
    let document = doctor(&lab, &["--format", "json"]).expect_code(4).json();
    assert_eq!(document["schema"], "perflab.doctor/1");
    assert_eq!((&document["driver"], &document["cuda"]), (&"550.54.15".into(), &"12.4".into()));
    assert_eq!(document["islands"], serde_json::json!([[0, 1]]));
    for (words, level, fix) in [
        ("played by the script", "warn", "unset PERFLAB_GPUS"),
        ("GPU 0: NVIDIA H100 80GB HBM3, 80.0 GiB, 500 W", "ok", ""),
        ("GPU 0 is used by 5000001 (python3, user alice) 3.0 GiB", "warn", "CUDA_VISIBLE_DEVICES"),
        ("GPU 0 is not in persistence mode", "warn", "-pm 1"),
        ("GPU 0 is limited to 500 W", "warn", "-pl 700"),
        ("GPU 1 is split (MIG)", "warn", "-mig 0"),
        ("GPU 2 does not answer", "fail", "gpu-reset"),
        ("NVLink joins 0-1", "ok", ""),
    ] {
        let line = line(&document, words);
        assert_eq!((&line["level"], &line["topic"]), (&level.into(), &"gpus".into()), "{words}");
        assert!(line["fix"].as_str().unwrap_or_default().contains(fix), "{line}");
        assert_eq!(line["fix"].is_null(), level == "ok", "what is not well has a fix, and only that: {line}");
    }
    assert_eq!(document["gpus"].as_array().map(Vec::len), Some(2));
}

#[test]
fn every_line_that_is_not_well_has_a_fix() {
    let document = done(doctor(&Lab::new(), &["--format", "json"])).json();
    for line in document["lines"].as_array().expect("lines") {
        assert_eq!(line["fix"].is_null(), line["level"] == "ok", "{line}");
    }
    let worst = document["worst"].as_str().expect("a level");
    assert!(["ok", "warn", "fail"].contains(&worst));
    assert!(
        line(&document, "no inference engine")["fix"].as_str().is_some_and(|f| f.contains("pip install"))
    );
}
