//! The standard library: its schemas against the lists of flags that the engines' own parsers gave, every other item in use, and
//! the commands that print and write it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use perflab::lang::learn::{self, Row};
use perflab::lang::sema::schema::{FlagSpec, Kind, Schema, key};
use perflab::lang::source::NoFiles;
use perflab::lang::{Analysis, analyze, stdlib};

/// Engine, release, and the file with its flags.
const LISTS: [(&str, &str, &str); 7] = [
    ("vllm", "0.11.0", "vllm-0.11.0"),
    ("vllm", "0.17.1", "vllm-0.17.1"),
    ("vllm", "0.32.0", "vllm-0.32.0"),
    ("sglang", "0.5.5.post1", "sglang-0.5.5.post1"),
    ("sglang", "0.5.9", "sglang-0.5.9"),
    ("trtllm", "1.2.0rc1", "trtllm-serve-snapshot"),
    ("llama_cpp", "11434", "llama-server"),
];

fn rows(file: &str) -> Vec<Row> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/flags").join(format!("{file}.json"));
    let mut rows: Vec<Row> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    for row in &mut rows {
        row.vague = file == "llama-server";
    }
    rows
}

fn checked(text: &str) -> Analysis {
    analyze(&NoFiles, "test.plab", text)
}

fn schema(engine: &str) -> Arc<Schema> {
    checked(&format!("use std/engines {{ {engine} }}")).program.engines[engine].schema.clone()
}

fn spellings(names: &[String]) -> BTreeSet<String> {
    names.iter().map(|n| key(n)).collect()
}

/// What differs between a flag as listed and as the schema has it, but for what the schema tells more exactly.
fn difference(engine: &str, listed: &FlagSpec, known: &FlagSpec) -> Option<String> {
    let name = &listed.names[0];
    let kinds = (&listed.kind, &known.kind);
    if listed.kind != known.kind && !matches!(kinds, (Kind::OneOf(a), Kind::OneOf(b)) if a.iter().eq(b)) {
        return Some(format!("{name}: listed as {:?}, declared as {:?}", listed.kind, known.kind));
    }
    let (theirs, ours) = (spellings(&listed.names), spellings(&known.names));
    // the one list that is partial lacks the spellings of other releases
    let spelled = if engine == "trtllm" { !ours.is_disjoint(&theirs) } else { ours == theirs };
    if !spelled || spellings(&listed.negated) != spellings(&known.negated) {
        return Some(format!("{name}: other spellings"));
    }
    if listed.keys != known.keys || listed.known != known.known {
        return Some(format!("{name}: other keys, or other known texts"));
    }
    let number = |d: &Option<String>| d.as_ref().and_then(|d| d.parse::<f64>().ok());
    let same = listed.default == known.default
        || number(&listed.default).is_some_and(|n| number(&known.default) == Some(n));
    (!same).then(|| format!("{name}: default {:?}, declared {:?}", listed.default, known.default))
}

#[test]
fn every_release_has_exactly_the_flags_that_its_parser_lists() {
    for (engine, version, file) in LISTS {
        let known = schema(engine);
        assert!(known.stand_in(Some(version)).is_none(), "{engine} {version} has a schema of its own");
        let listed = learn::schema(&rows(file), version, &known);
        let names =
            |s: &Schema| s.of_version(Some(version)).map(|f| f.names[0].clone()).collect::<BTreeSet<_>>();
        let (ours, theirs) = (names(&known), names(&listed));
        assert_eq!(ours, theirs, "{engine} {version}");
        assert_eq!(
            known.of_version(Some(version)).count(),
            ours.len(),
            "{engine} {version}: a flag is declared twice"
        );
        let differ = listed.of_version(None).filter_map(|spec| {
            let found = known.of_version(Some(version)).find(|k| k.names[0] == spec.names[0])?;
            difference(engine, spec, found)
        });
        assert_eq!(differ.collect::<Vec<_>>(), Vec::<String>::new(), "{engine} {version}");
    }
}

#[test]
fn the_lists_are_as_long_as_they_were() {
    let counts: Vec<usize> =
        LISTS.iter().map(|(engine, version, _)| schema(engine).of_version(Some(version)).count()).collect();
    assert_eq!(counts, [179, 218, 312, 270, 328, 23, 232]);
}

#[test]
fn since_and_until_name_releases_that_were_read() {
    for engine in ["vllm", "sglang", "trtllm", "llama_cpp"] {
        let schema = schema(engine);
        for spec in schema.specs() {
            for at in spec.since.iter().chain(&spec.until) {
                assert!(schema.versions().contains(at), "{engine}: {} {at}", spec.names[0]);
            }
            assert_ne!(spec.since.as_ref(), schema.versions().first(), "{}", spec.names[0]);
        }
    }
}

#[test]
fn what_multiplies_gpus_is_marked() {
    let uses = |engine: &str| {
        let schema = schema(engine);
        let newest = schema.versions().last().cloned();
        let marked = schema.of_version(newest.as_deref()).filter(|s| s.uses_gpus.is_some());
        marked.map(|s| s.names[0].clone()).collect::<Vec<_>>().join(" ")
    };
    let vllm = "--data-parallel-size --pipeline-parallel-size --prefill-context-parallel-size --tensor-parallel-size";
    assert_eq!(uses("vllm"), vllm);
    assert_eq!(uses("sglang"), "--data-parallel-size --pipeline-parallel-size --tensor-parallel-size");
    assert_eq!(uses("trtllm"), "--pp_size --tp_size");
    assert_eq!(uses("llama_cpp"), "--device --tensor-split");
}

#[test]
fn the_simulated_engine_takes_its_flags() {
    let help = Command::new(env!("CARGO_BIN_EXE_perflab")).args(["sim", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let mut listed: BTreeSet<&str> = help
        .split_whitespace()
        .map(|w| w.trim_end_matches([',', '.']))
        .filter(|w| w.starts_with("--"))
        .collect();
    for name in ["--host", "--port", "--model", "--help", "--version"] {
        listed.remove(name);
    }
    let schema = schema("sim");
    let ours: BTreeSet<&str> = schema.names(None).filter(|n| n.starts_with("--")).collect();
    assert_eq!(ours, listed);
}

#[test]
fn a_learned_schema_is_the_shipped_one() {
    for (engine, version, file) in LISTS {
        let root = checked(&format!("use std/engines {{ {engine} }}")).program.engines[engine].clone();
        let learned = learn::schema(&rows(file), version, &root.schema);
        let text = learn::written("learned", &root, version, &learned, "a list");
        let found = checked(&text);
        assert!(found.diagnostics.is_empty(), "{engine} {version}: {:?}", found.diagnostics);
        let again = &found.program.engines["learned"];
        assert_eq!(again.version.as_deref(), Some(version));
        assert!(again.schema.stand_in(Some(version)).is_none());
        for spec in root.schema.of_version(Some(version)) {
            let same = again.schema.specs().iter().find(|s| s.names[0] == spec.names[0]).unwrap();
            assert_eq!(difference(engine, spec, same), None, "{engine} {version}");
            assert_eq!(spec.uses_gpus.is_some(), same.uses_gpus.is_some(), "{}", spec.names[0]);
        }
    }
}

#[test]
fn the_help_of_a_real_llama_server_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/flags/llama-server-help.txt");
    let rows = learn::rows_of_help(&fs::read_to_string(path).unwrap());
    let known = schema("llama_cpp");
    let learned = learn::schema(&rows, "11549", &known);
    assert!(learned.specs().len() > 220, "{}", learned.specs().len());
    let spec =
        |name: &str| learned.specs().iter().find(|s| s.names.iter().any(|n| n == name)).unwrap().clone();
    assert_eq!(spec("-np").names, ["--parallel", "-np"]);
    assert!(matches!(spec("-c").kind, Kind::Int { .. }));
    assert_eq!(spec("--kv-offload").negated, ["-nkvo", "--no-kv-offload"]);
    assert_eq!(spec("--flash-attn").kind, Kind::OneOf(["on", "off", "auto"].map(str::to_owned).to_vec()));
    assert_eq!(spec("--batch-size").default.as_deref(), Some("2048"));
    assert!(!learned.specs().iter().any(|s| s.names.contains(&"--port".to_owned())));
}

/// An item in a study of its engine: nothing is said about it.
fn quiet(uses: &str, step: &str, objective: &str) {
    let text = format!(
        "use std/engines {{ vllm, sglang, trtllm, llama_cpp, sim }}\n{uses}\n\
         engine v = vllm {{ version \"0.32.0\" }}\nengine s = sglang {{ version \"0.5.9\" }}\n\
         engine t = trtllm {{ version \"1.2.0rc1\" }}\nengine l = llama_cpp {{ version \"11434\" }}\n"
    );
    let study =
        format!("study all {{\n model \"m\"\n gpus 8\n baseline v\n maximize {objective}\n{step}}}\n");
    let found = checked(&(text + &study));
    let said: Vec<_> = found
        .diagnostics
        .iter()
        .filter(|d| {
            !(d.code.id() == "W510" && (d.message.contains("engine") || d.message.contains("`sim`")))
                && !d.code.id().starts_with('N')
        })
        .map(|d| format!("{} {}", d.code.id(), d.message))
        .collect();
    assert!(said.is_empty(), "{uses} {step}: {said:?}");
}

#[test]
fn every_axis_is_one_of_its_engine() {
    let items = stdlib::items("axes");
    assert!(items.len() > 30);
    for axis in items {
        let name = axis.name;
        let engine = match name.split('_').next() {
            Some("vllm") => "v",
            Some("sglang") => "s",
            Some("trtllm") => "t",
            Some("llama") => "l",
            other => panic!("{other:?} is no engine"),
        };
        let step = format!(" step one from {engine} {{ vary {name} }}\n");
        quiet(&format!("use std/axes {{ {name} }}\nuse std/profiles {{ chat }}"), &step, "total_tps on chat");
    }
}

#[test]
fn every_rule_is_quiet_in_a_study_of_any_engine() {
    let items = stdlib::items("rules");
    assert!(items.len() > 8);
    for rule in items {
        let uses = format!(
            "use std/rules {{ {} }}\nuse std/profiles {{ chat }}\nuse std/axes {{ sglang_seqs }}",
            rule.name
        );
        quiet(&uses, " step one from s { vary sglang_seqs }\n", "total_tps on chat");
    }
}

#[test]
fn every_metric_and_profile_can_be_an_objective() {
    for metric in stdlib::items("metrics") {
        let name = metric.name;
        quiet(
            &format!(
                "use std/metrics {{ {name} }}\nuse std/profiles {{ chat }}\nuse std/axes {{ vllm_seqs }}"
            ),
            " step one { vary vllm_seqs[512] }\n",
            &format!("{name} on chat"),
        );
    }
    for profile in stdlib::items("profiles") {
        let name = profile.name;
        let (objective, more) =
            if name == "chat_curve" { ("chat", " curve on chat_curve\n") } else { (name.as_str(), "") };
        let uses = if name == "chat_curve" { "chat, chat_curve" } else { &name };
        quiet(
            &format!("use std/profiles {{ {uses} }}\nuse std/axes {{ vllm_seqs }}"),
            &format!(" step one {{ vary vllm_seqs[512] }}\n{more}"),
            &format!("total_tps on {objective}"),
        );
    }
}

fn perflab(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perflab"));
    command.args(arguments).current_dir(dir).env("NO_COLOR", "1").env("COLUMNS", "80");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_library_is_printed_as_it_stands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let vllm = perflab(root, &["std", "engines", "vllm"]);
    assert_eq!(vllm.stdout, fs::read(root.join("stdlib/engines/vllm.plab")).unwrap());
    assert_eq!(
        perflab(root, &["std", "profiles"]).stdout,
        fs::read(root.join("stdlib/profiles.plab")).unwrap()
    );
    let engines = text(&perflab(root, &["std", "engines"]).stdout);
    for name in ["vllm", "sglang", "trtllm", "llama_cpp", "sim"] {
        assert!(engines.contains(&format!("\nengine {name} ")), "{name}");
    }
    let profile = text(&perflab(root, &["std", "profiles", "sharegpt"]).stdout);
    assert!(profile.starts_with("# ") && profile.ends_with("}\n"), "{profile}");
    assert_eq!(profile.matches("profile ").count(), 1, "{profile}");
    let list = text(&perflab(root, &["std"]).stdout);
    for library in stdlib::LIBRARIES {
        assert!(list.contains(&format!("std/{library}\n")), "{list}");
        for item in stdlib::items(library) {
            assert!(list.contains(&format!("  {} ", item.name)), "{}", item.name);
            assert!(item.about.contains(' '), "{} says what it is", item.name);
        }
    }
    let wrong = perflab(root, &["std", "profiles", "shargpt"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(text(&wrong.stderr).contains("did you mean `sharegpt`?"));
    assert_eq!(perflab(root, &["std", "profile"]).status.code(), Some(1));
}

/// A program in `DIR/bin`.
fn script(dir: &Path, name: &str, body: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path: PathBuf = dir.join("bin").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn learn_writes_a_file_that_a_study_can_use() {
    let dir = tempfile::tempdir().unwrap();
    let help = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/flags/llama-server-help.txt");
    let body =
        format!("[ \"$1\" = --help ] && exec cat '{}'\necho 'version: 11549 (abc)' >&2", help.display());
    script(&dir.path().join("env"), "llama-server", &body);
    let learn = ["std", "learn", "llama_cpp", "--from", "venv", "env"];
    let learned = perflab(dir.path(), &learn);
    assert_eq!(learned.status.code(), Some(0), "{}", text(&learned.stderr));
    let study = "use \"./llama_cpp_11549.plab\" { llama_cpp_11549 }\n\
                 engine mine = llama_cpp_11549 {\n --parallel=4\n}\n";
    fs::write(dir.path().join("study.plab"), study).unwrap();
    let check = perflab(dir.path(), &["check", "study.plab"]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
    let again = perflab(dir.path(), &learn);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("is there already"));
}

#[test]
fn learn_says_what_is_wrong_with_an_engine() {
    let dir = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str], says: &str| {
        let out = perflab(dir.path(), arguments);
        assert_eq!(out.status.code(), Some(1), "{arguments:?}");
        assert!(text(&out.stderr).contains(says), "{arguments:?}: {}", text(&out.stderr));
    };
    fails(&["std", "learn", "vlm", "--from", "path"], "no engine is called `vlm`");
    fails(&["std", "learn", "sim", "--from", "path"], "cannot be read from an installed engine");
    fails(&["std", "learn", "vllm", "--from", "venv", "nowhere"], "nowhere is no directory");
    fails(&["std", "learn", "vllm", "--from", "docker"], "names no place");
    fs::create_dir(dir.path().join("empty")).unwrap();
    fails(&["std", "learn", "vllm", "--from", "venv", "empty"], "there is no empty/bin/python");
    script(&dir.path().join("broken"), "python", "echo 'ImportError: no' >&2; exit 1");
    fails(&["std", "learn", "vllm", "--from", "venv", "broken"], "ImportError: no");
    script(&dir.path().join("odd"), "python", "echo hello");
    fails(&["std", "learn", "sglang", "--from", "venv", "odd"], "no list of flags");
    script(&dir.path().join("silent"), "llama-server", "true");
    fails(&["std", "learn", "llama_cpp", "--from", "venv", "silent"], "no list of flags");
}
