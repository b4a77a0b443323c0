//! What can change a result beside its command, with the real binary: the files that flags name, the libraries beside an engine, and
//! what of the environment it inherits. Each is changed behind a study's back, and `plan` has to say what it was.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::{EXEC, Lab, Output, binary, skip};

pub const STUDY: &str = r#"
engine own "Own" {
    serve "WORDS {model} {host} {port}"
    ready get "/health" within 30s
    api   openai
    stop  sigterm within 5s
    args  joined
    flag --chat-template      path
    flag --speculative-config json
    flag --lora-modules       words
    flag --log-file           path
    flag --lookup-cache-static path
    flag --lookup-cache-dynamic path
    flag --mode-file          text
    flag --state              text
    flag --mode               text
}
engine mine "Mine" = own {
LINES
}
profile quick "Quick" {
    data        random
    input       16
    output      4
    concurrency 2
    requests    4
    warmup      0
}
axis mode = --mode=[one]
study s "S" {
    model    "org/some-model"
    baseline mine
    maximize total_tps on quick
    repeat   1
    step mode { vary mode }
}
"#;

/// A study of an engine that is a script, with these lines in its declaration.
pub fn lab(lines: &str) -> Lab {
    let lab = Lab::with(&STUDY.replace("WORDS", "sh engine.sh").replace("LINES", lines));
    write(&lab, "engine.sh", script("echo started >> written.state"));
    lab
}

pub fn script(first: &str) -> String {
    format!("{first}\nexec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n", binary())
}

/// Writes a file and the directories that it lies in.
pub fn write(lab: &Lab, name: &str, text: impl AsRef<[u8]>) {
    fs::create_dir_all(lab.path(name).parent().expect("a folder")).expect("made");
    lab.write(name, text);
}

pub fn exec(lab: &Lab) -> u64 {
    let report = lab.run(&EXEC).expect_code(0).report();
    report.0["cost"]["launches"].as_u64().expect("a number")
}

pub fn plan(lab: &Lab) -> Output {
    lab.run(&["plan", "study.plab", "--dir", "state", "--format", "json"]).expect_code(0)
}

/// Why the candidate has to be measured again; empty if it has not.
pub fn again(plan: &Output) -> String {
    let candidate = &plan.json()["steps"][0]["candidates"][0];
    match candidate["state"].as_str() {
        Some("to_measure") => candidate["reason"].as_str().unwrap_or("no reason").to_owned(),
        _ => String::new(),
    }
}

#[track_caller]
pub fn expect(lab: &Lab, why: &str) {
    let said = again(&plan(lab));
    assert!(if why.is_empty() { said.is_empty() } else { said.contains(why) }, "`{said}` is not `{why}`");
}

/// A pattern is no file, and stands for those that match it.
#[test]
fn patterns_in_flags_are_what_they_match() {
    let lab = lab("--mode-file=\"conf.d/*.yaml\"");
    write(&lab, "conf.d/a.yaml", "one");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "conf.d/a.yaml", "two");
    expect(&lab, "conf.d/*.yaml changed since it was measured (");
    write(&lab, "conf.d/a.yaml", "one");
    expect(&lab, "");
    write(&lab, "conf.d/b.yaml", "more");
    expect(&lab, "conf.d/*.yaml changed since");
}

/// What servers of applications are given: `uvicorn serve:app`.
#[test]
fn a_module_that_a_serve_line_refers_to_is_part_of_a_result() {
    let lab = Lab::with(&STUDY.replace("WORDS", "sh engine.sh app.serve:create").replace("LINES", ""));
    write(
        &lab,
        "engine.sh",
        format!("shift\nexec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n", binary()),
    );
    write(&lab, "app/serve.py", "DELAY = 1\n");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "app/serve.py", "DELAY = 2\n");
    expect(&lab, "measured with another ./app/ (");
}

/// A program in Python that starts the engine: it reads files whose names it puts together, and keeps one of its own.
#[test]
fn what_a_program_puts_names_together_of_is_part_of_a_result_and_what_it_writes_is_none() {
    let lab = Lab::with(&STUDY.replace("WORDS", "python3 serve.py").replace("LINES", ""));
    let sim = binary();
    write(
        &lab,
        "serve.py",
        format!(
            "import os, sys\nHERE = os.path.dirname(os.path.abspath(__file__))\nSEEN = 'seen.jsonl'\nopen(SEEN, 'a').write('one more\\n')\n\
             open(os.path.join(HERE, 'cfg', 'base.json')).read()\nopen(HERE + '/more/scales.json').read()\n\
             stage = os.environ.get('STAGE', 'prod')\nopen(f'env/{{stage}}.json').read()\n\
             os.execv('{sim}', ['{sim}', 'sim', '--model', sys.argv[1], '--host', sys.argv[2], '--port', sys.argv[3]])\n"
        ),
    );
    let files = ["cfg/base.json", "more/scales.json", "env/prod.json"];
    for file in files {
        write(&lab, file, "1");
    }
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    assert_eq!(fs::read_to_string(lab.path("seen.jsonl")).expect("written").lines().count(), 2);
    for (file, told) in files.into_iter().zip(["cfg/base.json", "more/scales.json", "env/*.json"]) {
        write(&lab, file, "2");
        expect(&lab, &format!("{told} changed since it was measured ("));
        write(&lab, file, "1");
        expect(&lab, "");
    }
}

/// As the manual of CUDA writes it: the list goes on only if there was one.
#[test]
fn what_a_script_puts_before_a_list_is_part_of_a_result() {
    let lab = lab("");
    let lines = "export PYTHONPATH=\"lib${PYTHONPATH:+:$PYTHONPATH}\"\nexport LD_LIBRARY_PATH=\"$PWD/so${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n# import tuned";
    write(&lab, "engine.sh", script(lines));
    write(&lab, "lib/tuned.py", "one");
    write(&lab, "so/libown.so", "one");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "so/libown.so", "two");
    expect(&lab, "measured with another ");
}

#[test]
fn files_that_flags_name_are_part_of_a_result() {
    let lab = lab(
        r#"--chat-template="./t.jinja" --speculative-config={"method": "draft", "model": "drafter", "n": 2}
           --lora-modules="sql=lora/sql"
           env TUNED_FOLDER="tuned""#,
    );
    for file in [
        "t.jinja",
        "drafter/config.json",
        "drafter/sub/model.safetensors",
        "lora/sql/a.bin",
        "tuned/h100.json",
    ] {
        write(&lab, file, "one");
    }
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    for (file, said) in [
        ("t.jinja", "./t.jinja changed since it was measured ("),
        ("drafter/sub/model.safetensors", "drafter changed since"),
        ("lora/sql/a.bin", "lora/sql changed since"),
        ("tuned/h100.json", "tuned changed since"),
    ] {
        write(&lab, file, "two");
        expect(&lab, said);
        write(&lab, file, "one");
        expect(&lab, "");
    }
    fs::remove_file(lab.path("t.jinja")).expect("removed");
    expect(&lab, "measured with ./t.jinja, which is not there now");
    // a link to the same bytes is the same file, and what lies around is nothing
    write(&lab, "elsewhere/x", "one");
    symlink("elsewhere/x", lab.path("t.jinja")).expect("a link");
    write(&lab, "drafter/.cache/x", "noise");
    expect(&lab, "");
    write(&lab, "elsewhere/x", "three");
    assert_eq!(exec(&lab), 4, "both are measured again, once");
    expect(&lab, "");
}

#[test]
fn a_file_that_comes_to_be_is_another_condition() {
    let lab = lab(r#"--chat-template="t.jinja""#);
    exec(&lab);
    expect(&lab, "");
    write(&lab, "t.jinja", "now there");
    expect(&lab, "measured before t.jinja was there");
    exec(&lab);
    expect(&lab, "");
}

#[test]
fn what_an_engine_writes_is_no_condition() {
    let lab = lab(r#"--log-file="engine.log" --state="./written.state""#);
    write(&lab, "engine.log", "old");
    assert_eq!(exec(&lab), 2, "what appears under a launch is the engine's");
    expect(&lab, "");
    write(&lab, "engine.log", "another");
    expect(&lab, "");
    assert_eq!(exec(&lab), 2);
    fs::remove_file(lab.path("written.state")).expect("removed");
    expect(&lab, "");
}

#[test]
fn what_was_there_and_is_written_costs_two_launches() {
    let lab = lab(r#"--state="written.state""#);
    write(&lab, "written.state", "from before\n");
    // the first launches cannot be told from those under which a person edits the file
    let out = lab.run(&EXEC).expect_code(0);
    let report = out.report();
    assert_eq!(report.0["cost"]["launches"], 4);
    let told = "written.state changes under the launches that name it";
    assert!(out.stderr.contains(told) && report.0["warnings"].to_string().contains(told), "{out:?}");
    expect(&lab, "");
    assert!(plan(&lab).stderr.contains(told));
    assert_eq!(exec(&lab), 4);
}

/// A script that asks for a file does something else once it is there.
#[test]
fn a_file_that_a_script_asks_for_counts_from_the_moment_that_it_is_there() {
    let lab = lab("");
    // what it makes itself, and what comes while it waits, are no conditions
    let lines = "[ -f slow.flag ] && seqs='--max-num-seqs 2'\n[ -e made.flag ] || touch made.flag\n\
                 (sleep 0.3; : >go.$(echo flag)) &\n[ -e go.flag ] || until [ -e go.flag ]; do sleep 0.1; done";
    write(&lab, "engine.sh", script(lines).replace(" --port", " $seqs --port"));
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    write(&lab, "slow.flag", "");
    expect(&lab, "measured before slow.flag was there");
    assert_eq!(exec(&lab), 4);
    // as it was: what was measured without it counts, and nothing of what was measured with it
    fs::remove_file(lab.path("slow.flag")).expect("removed");
    expect(&lab, "");
    let report = lab.run(&EXEC).expect_code(0).report().0["trials"].to_string();
    assert!(report.contains("L001") && !report.contains("L003"), "{report}");
}

/// Two edits are no sign that an engine writes a file: what was measured under each of them counts for nothing, and what is there at the
/// end is compared.
#[test]
fn a_file_that_is_edited_under_two_launches_is_compared_all_the_same() {
    // under the first two; under the first and the one after the next, by which the result between them is of another file; three in a row,
    // which look as if an engine wrote it
    for (edits, launches, void) in [("1 2", 4, 2), ("1 3", 5, 3), ("1 2 3", 5, 3)] {
        let lab = lab(r#"--chat-template="t.jinja""#);
        write(&lab, "t.jinja", "one");
        let first = format!(
            "echo started >> count\nn=$(wc -l < count)\nfor e in {edits}; do if [ $e -eq $n ]; then echo $n > t.jinja; fi; done"
        );
        write(&lab, "engine.sh", script(&first));
        let out = lab.run(&EXEC).expect_code(0);
        let report = out.report();
        assert_eq!(report.0["cost"]["launches"], launches, "{edits}: {out:?}");
        let warnings = report.0["warnings"].to_string();
        assert!(warnings.contains("t.jinja changed while it was measured"), "{warnings}");
        assert!(!warnings.contains("compared no more"), "{warnings}");
        let trials = report.0["trials"].to_string();
        let voided = (1..=launches).filter(|n| !trials.contains(&format!("L00{n}"))).count();
        assert_eq!(voided, void, "{edits}: {trials}");
        expect(&lab, "");
        write(&lab, "t.jinja", "quiet");
        expect(&lab, "t.jinja changed since it was measured");
    }
}

#[test]
fn what_an_engine_inherits_counts_and_harmless_differences_do_not() {
    let lab = lab("");
    write(&lab, "lib/libx.so", "1");
    let under = |args: &[&str], path: &str| {
        let mut command = lab.command(args);
        let programs = std::env::var("PATH").unwrap_or_default();
        command.env("LD_LIBRARY_PATH", path).env("PATH", format!("/no/such/{path}:{programs}"));
        lab.start_command(command).wait().expect_code(0)
    };
    under(&EXEC, "");
    let planned =
        |path: &str| again(&under(&["plan", "study.plab", "--dir", "state", "--format", "json"], path));
    assert_eq!(planned(""), "");
    assert_eq!(planned("/no/such/place::/usr/lib"), "");
    let said = planned(&lab.path("lib").display().to_string());
    assert!(said.contains("measured without LD_LIBRARY_PATH, now with LD_LIBRARY_PATH="), "{said}");
}

#[test]
fn how_many_processors_an_engine_may_use_is_part_of_a_result() {
    use nix::sched::{CpuSet, sched_getaffinity};
    let allowed = sched_getaffinity(nix::unistd::Pid::from_raw(0)).expect("told");
    let mine: Vec<usize> = (0..CpuSet::count()).filter(|n| allowed.is_set(*n).unwrap_or(false)).collect();
    if mine.len() < 2 {
        return skip("conditions", "one processor only");
    }
    let lab = lab("");
    exec(&lab);
    expect(&lab, "");
    let mut plan = std::process::Command::new("taskset");
    plan.current_dir(lab.path(".")).args(["-c", &mine[0].to_string(), binary()]);
    plan.args(["plan", "study.plab", "--dir", "state", "--format", "json"]);
    let said = again(&lab.start_command(plan).wait().expect_code(0));
    assert_eq!(said, format!("measured with {} processors, now 1", mine.len()));
}

/// What a shell sets before it starts perflab is inherited by engines.
#[test]
fn limits_and_the_mask_of_new_files_are_part_of_a_result() {
    let lab = lab("");
    exec(&lab);
    let planned = |first: &str| {
        let mut plan = std::process::Command::new("sh");
        let words = format!("{first}; exec '{}' plan study.plab --dir state --format json", binary());
        plan.current_dir(lab.path(".")).args(["-c", &words]);
        again(&lab.start_command(plan).wait().expect_code(0))
    };
    assert_eq!(planned(":"), "");
    for (first, name, now) in [
        ("ulimit -S -s 4096", "stack limit", "4096 KiB"),
        ("ulimit -S -l 16", "locked memory limit", "16 KiB"),
        ("ulimit -S -v 60000000", "address space limit", "60000000 KiB"),
        ("umask 0027", "umask", "0027"),
    ] {
        let said = planned(first);
        assert!(said.starts_with(&format!("measured with {name} ")), "{said}");
        assert!(said.ends_with(&format!(", now {now}")), "{said}");
    }
}

/// A name with `cache` in it says neither that a file is read nor that it is written: what the launches do to it does.
#[test]
fn a_file_under_a_name_that_leaves_it_open_counts_unless_launches_write_it() {
    let lab = lab(r#"--lookup-cache-static="look.bin" --lookup-cache-dynamic="kept.bin""#);
    lab.write("engine.sh", script("echo more >> kept.bin"));
    write(&lab, "look.bin", "one");
    write(&lab, "kept.bin", "one\n");
    assert_eq!(exec(&lab), 2, "what a launch writes to makes nothing doubtful");
    expect(&lab, "");
    write(&lab, "kept.bin", "another\n");
    expect(&lab, "");
    write(&lab, "look.bin", "two");
    expect(&lab, "look.bin changed since it was measured (");
    assert_eq!(exec(&lab), 4);
    expect(&lab, "");
}

#[test]
fn what_a_configuration_file_and_a_file_behind_a_sign_name_counts() {
    let lab = lab(r#"--chat-template="conf/serve.yaml" --mode-file="@words.txt""#);
    write(&lab, "words.txt", "one");
    write(&lab, "conf/serve.yaml", "lora: {path: tuned.json}\n");
    write(&lab, "conf/tuned.json", r#"{"scales": "conf/scales.bin"}"#);
    write(&lab, "conf/scales.bin", "one");
    exec(&lab);
    expect(&lab, "");
    for file in ["words.txt", "conf/tuned.json", "conf/scales.bin"] {
        let was = lab.read(file);
        write(&lab, file, format!("{was} "));
        expect(&lab, &format!("{file} changed since it was measured ("));
        write(&lab, file, was);
        expect(&lab, "");
    }
}

#[test]
fn a_drafter_of_the_hub_is_its_commit() {
    let lab = lab(r#"--speculative-config={"method": "eagle3", "model": "org/draft"}"#);
    let with_cache = |args: &[&str]| {
        let mut command = lab.command(args);
        command.env("HF_HUB_CACHE", lab.path("hub"));
        lab.start_command(command).wait().expect_code(0)
    };
    let main = |commit: &str| {
        let place = "hub/models--org--draft";
        write(&lab, &format!("{place}/snapshots/{commit}/config.json"), "{}");
        write(&lab, &format!("{place}/refs/main"), commit);
    };
    let plan = || again(&with_cache(&["plan", "study.plab", "--dir", "state", "--format", "json"]));
    main("1111111111111111111111111111111111111111");
    with_cache(&EXEC);
    assert_eq!(plan(), "");
    main("2222222222222222222222222222222222222222");
    assert_eq!(plan(), "org/draft changed since it was measured (111111111111, now 222222222222)");
}

#[test]
fn a_file_that_is_edited_while_it_is_measured_counts_for_no_result() {
    let lab = lab(r#"--chat-template="t.jinja""#);
    write(&lab, "t.jinja", "one");
    // the first launch alone finds the mark, and the edit under it
    write(&lab, "edit", "");
    write(&lab, "engine.sh", script("if [ -e edit ]; then rm edit; printf two > t.jinja; fi"));
    let out = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat()).expect_code(0);
    assert!(
        out.stderr.contains("L001: t.jinja changed while it was measured, its results are doubtful"),
        "{out:?}"
    );
    let report = out.report();
    assert_eq!(report.0["cost"]["launches"], 3, "the baseline is launched again");
    let warnings = report.0["warnings"].to_string();
    assert!(
        warnings.contains("no result of launch L001: t.jinja changed while it was measured"),
        "{warnings}"
    );
    let events = lab.read("events.jsonl");
    assert_eq!(events.matches(r#""event":"changed""#).count(), 1, "{events}");
    assert!(events.contains(r#""what":["t.jinja"]"#) && events.contains(r#""doubtful":true"#), "{events}");
    expect(&lab, "");
    write(&lab, "t.jinja", "three");
    expect(&lab, "t.jinja changed since it was measured");
}

#[test]
fn spaces_in_a_serve_line_say_nothing() {
    let lab = lab("");
    assert_eq!(exec(&lab), 2);
    lab.write("study.plab", lab.read("study.plab").replace("sh engine.sh", "sh   engine.sh"));
    expect(&lab, "");
}

#[test]
fn what_a_shell_script_sources_and_runs_is_part_of_a_result() {
    let lab = Lab::with(&STUDY.replace("WORDS", "bin/start.sh").replace("LINES", ""));
    let start = "#!/bin/sh\n. ./serve.env\n. \"$(dirname \"$0\")/more.env\"\n[ -f local.env ] && . ./local.env\n\
                 echo $SPEED >> ./written.state\nexec ./engine.sh \"$@\" --n=$SPEED\n";
    write(&lab, "bin/start.sh", start);
    write(&lab, "serve.env", "SPEED=20\n");
    write(&lab, "bin/more.env", "A=1\n");
    write(&lab, "engine.sh", format!("#!/bin/sh\n: tuned.json\n{}", script("")));
    write(&lab, "tuned.json", "{}");
    for file in ["bin/start.sh", "engine.sh"] {
        fs::set_permissions(lab.path(file), fs::Permissions::from_mode(0o755)).expect("set");
    }
    assert_eq!(exec(&lab), 2, "what a script writes is no condition");
    expect(&lab, "");
    for (file, said) in [
        ("serve.env", "./serve.env changed since it was measured ("),
        ("bin/more.env", "bin/more.env changed since"),
        ("engine.sh", "./engine.sh changed since"),
        ("tuned.json", "tuned.json changed since"),
    ] {
        let before = lab.read(file);
        write(&lab, file, format!("{before}\n"));
        expect(&lab, said);
        write(&lab, file, before);
        expect(&lab, "");
    }
    write(&lab, "local.env", "SPEED=30\n");
    expect(&lab, "measured before ./local.env was there");
    assert_eq!(exec(&lab), 4);
    expect(&lab, "");
    write(&lab, "serve.env", "SPEED=21\n");
    assert_eq!(exec(&lab), 6);
    expect(&lab, "");
}

/// A text behind `-c` holds host and port, and is read like a script.
#[test]
fn what_a_text_for_a_shell_and_a_program_name_is_part_of_a_result() {
    let text =
        "\"sh -c 'set -a && . ./serve.env; PATH=$PWD/tools:$PATH; exec own-engine {model} {host} {port}'\"";
    let lab = Lab::with(&STUDY.replace("\"WORDS {model} {host} {port}\"", text).replace("LINES", ""));
    write(&lab, "serve.env", "A=1\n");
    write(&lab, "tools/own-engine", format!("#!/bin/sh\n{}", script("python3 read.py")));
    write(&lab, "read.py", "import os\nif os.path.exists('side.json'): open('side.json').read()\n");
    write(&lab, "side.json", "{}");
    fs::set_permissions(lab.path("tools/own-engine"), fs::Permissions::from_mode(0o755)).expect("set");
    assert_eq!(exec(&lab), 2);
    expect(&lab, "");
    for (file, said) in [
        ("serve.env", "./serve.env changed since it was measured ("),
        ("tools/own-engine", "tools/own-engine changed since"),
        ("side.json", "side.json changed since"),
    ] {
        let before = lab.read(file);
        write(&lab, file, format!("{before}\n"));
        expect(&lab, said);
        write(&lab, file, before);
        expect(&lab, "");
    }
}

#[test]
fn a_file_that_a_shell_script_sources_along_the_path_is_part_of_a_result() {
    let (lab, far) = (lab(""), tempfile::tempdir().expect("a directory"));
    write(&lab, "engine.sh", script(". tune.env"));
    let (first, second) = (far.path().join("first"), far.path().join("second"));
    fs::create_dir(&first).and_then(|()| fs::create_dir(&second)).expect("made");
    fs::write(second.join("tune.env"), "x=1\n").expect("written");
    let under = |args: &[&str]| {
        let mut command = lab.command(args);
        let programs = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{}:{programs}", first.display(), second.display()));
        lab.start_command(command).wait().expect_code(0)
    };
    let planned = || again(&under(&["plan", "study.plab", "--dir", "state", "--format", "json"]));
    under(&EXEC);
    assert_eq!(planned(), "");
    // neither another file beside it, nor one of another name before it
    fs::write(second.join("other.env"), "x=1\n").expect("written");
    fs::write(first.join("other.env"), "x=1\n").expect("written");
    assert_eq!(planned(), "");
    fs::write(second.join("tune.env"), "x=2\n").expect("written");
    let said = planned();
    assert!(said.contains("tune.env sourced along PATH changed since it was measured"), "{said}");
    fs::write(second.join("tune.env"), "x=1\n").expect("written");
    assert_eq!(planned(), "");
    fs::write(first.join("tune.env"), "x=2\n").expect("written");
    let said = planned();
    assert!(said.contains("tune.env sourced along PATH changed since it was measured"), "{said}");
}

#[test]
fn a_program_that_a_shell_script_finds_by_the_path_is_part_of_a_result() {
    let lab = lab("");
    write(&lab, "engine.sh", "exec own-engine \"$@\"\n");
    write(&lab, "tools/own-engine", format!("#!/bin/sh\n{}", script("")));
    fs::set_permissions(lab.path("tools/own-engine"), fs::Permissions::from_mode(0o755)).expect("set");
    let under = |args: &[&str]| {
        let mut command = lab.command(args);
        let programs = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{programs}", lab.path("tools").display()));
        lab.start_command(command).wait().expect_code(0)
    };
    let planned = || again(&under(&["plan", "study.plab", "--dir", "state", "--format", "json"]));
    under(&EXEC);
    assert_eq!(planned(), "");
    write(&lab, "tools/own-engine", format!("#!/bin/sh\n{}# edited\n", script("")));
    let said = planned();
    assert!(said.contains("own-engine on PATH changed since it was measured"), "{said}");
}

#[test]
fn what_counts_again_is_not_said_to_be_measured_again() {
    let lab = lab(r#"--chat-template="t.jinja""#);
    write(&lab, "t.jinja", "one");
    exec(&lab);
    // of a load that the study has no more nothing is measured again
    lab.write("study.plab", lab.read("study.plab").replace("requests    4", "requests    5"));
    exec(&lab);
    write(&lab, "t.jinja", "two");
    let warnings = |lab: &Lab| lab.run(&EXEC).expect_code(0).report().0["warnings"].to_string();
    let said = warnings(&lab);
    assert!(said.contains("2 results do not count any more") && !said.contains("4 results"), "{said}");
    assert_eq!(said.matches("measured again").count(), 1, "{said}");
    assert_eq!(warnings(&lab), said, "it is still so");
    let reported = |lab: &Lab| {
        let words = ["report", "study.plab", "--dir", "state", "--checks", "warn", "--format", "json"];
        lab.run(&words).expect_code(0).report().0["warnings"].to_string()
    };
    assert!(reported(&lab).contains("2 results do not count any more"), "{}", reported(&lab));
    write(&lab, "t.jinja", "one");
    for said in [warnings(&lab), reported(&lab)] {
        assert!(!said.contains("measured again"), "{said}");
    }
    expect(&lab, "");
}

#[test]
fn a_directory_that_is_exchanged_under_a_launch_and_put_back_makes_it_doubtful() {
    for edit in ["mv conf away; mv away conf", "ln -s b t; mv -T t cur; ln -s a t; mv -T t cur"] {
        let lab = lab("env CONF=\"conf/f\"\nenv OTHER=\"cur/f\"");
        write(&lab, "conf/f", "one");
        write(&lab, "a/f", "one");
        symlink("a", lab.path("cur")).expect("a link");
        // the first launch alone finds the mark
        write(&lab, "edit", "");
        write(&lab, "engine.sh", script(&format!("if [ -e edit ]; then rm edit; {edit}; fi")));
        let out = lab.run(&EXEC).expect_code(0);
        let named = if edit.contains("conf") { "conf/f" } else { "cur/f" };
        let said = format!("L001: {named} (written or moved, now as before) changed while it was measured");
        assert!(out.stderr.contains(&said), "{out:?}");
        expect(&lab, "");
    }
}

#[test]
fn what_settings_of_other_forms_name_and_what_comes_to_be_count() {
    let lab = lab(r#"--mode-file="a.toml" --chat-template="conf"
           env HIDDEN="dir""#);
    write(&lab, "a.toml", "[model]\ndraft = \"d.bin\" # good\nlater = \"later.json\"\n");
    write(&lab, "d.bin", "one");
    write(&lab, "conf", "template: t.txt\n");
    write(&lab, "t.txt", "one");
    write(&lab, "dir/.h.json", "one");
    exec(&lab);
    expect(&lab, "");
    for (file, said) in
        [("d.bin", "d.bin changed"), ("t.txt", "t.txt changed"), ("dir/.h.json", "dir changed")]
    {
        write(&lab, file, "two");
        expect(&lab, said);
        write(&lab, file, "one");
        expect(&lab, "");
    }
    write(&lab, "later.json", "{}");
    expect(&lab, "measured before later.json was there");
}
