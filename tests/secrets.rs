//! Secrets and the environment of engines, with the real binary: whatever is written is searched for values that nobody may read.

use std::fs;
use std::path::Path;

use crate::support::{EXEC, Lab, binary, events, wait_for};

const VALUES: [&str; 7] = [
    "tok-from-env-1",
    "tok-from-file-2",
    "key-as-flag-3",
    "pw-in-proxy-4",
    "hf_abcdefghijklmnopqrstuv",
    "param-secret-6",
    "through-a-param-7",
];

/// An engine that tells everything that it was given, and serves with the simulated one.
const TALKATIVE: &str = r#"
param my_secret = "none"
param word = "through-a-param-7"
engine talkative "Talkative" {
    version "1.0"
    serve   "sh engine.sh {model} {host} {port}"
    ready   get "/health" within 30s
    stop    sigterm within 5s
    failure "told" when log matches "told (.*)"
    flag --api-key text
    flag --hf-token text
    flag --mode text
}
engine mine "Mine" = talkative {
    env MY_TOKEN="tok-from-file-2"
    env OTHER="x{my_secret}x"
    --api-key="key-as-flag-3"
    --hf-token="{word}"
}
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
    step mode { vary mode }
}
axis mode = --mode=[bad, fine]
"#;

fn lab() -> Lab {
    let lab = Lab::with(TALKATIVE);
    let script = format!(
        "env; printf 'args %s\\n' \"$*\"; printf 'half hf_abcdefg'; sleep 0.1; echo hijklmnopqrstuv\n\
         case \"$*\" in *mode*bad*) echo \"told $MY_TOKEN at http://me:pw-in-proxy-4@host/\" >&2; exit 3;; esac\n\
         exec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"\n",
        binary()
    );
    lab.write("engine.sh", script);
    lab
}

fn command(lab: &Lab, args: &[&str]) -> std::process::Command {
    let mut command = lab.command(args);
    command.env("HUGGING_FACE_HUB_TOKEN", VALUES[0]).env("http_proxy", "http://me:pw-in-proxy-4@proxy:1");
    command.env("VLLM_USE_V9", "1").env("EDITOR", "vi").env("XDG_CACHE_HOME", lab.path("cache"));
    command.env("no_proxy", "127.0.0.1");
    command
}

fn files(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            files(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

#[track_caller]
fn expect_none(place: &str, text: &str) {
    for value in VALUES {
        assert!(!text.contains(value), "{value} stands in {place}:\n{text}");
    }
}

#[test]
fn no_secret_is_written_anywhere() {
    let lab = lab();
    let set = ["--set", "my_secret=param-secret-6"];
    let exec = [&EXEC[..], &["--events", "events.jsonl"], &set].concat();
    let out = lab.start_command(command(&lab, &exec)).wait().expect_code(0);
    expect_none("stdout", &out.stdout);
    expect_none("stderr", &out.stderr);
    for args in [
        &["plan", "study.plab", "--format", "json"][..],
        &["plan", "study.plab"],
        &["plan", "study.plab", "--format", "md"],
        &["report", "study.plab", "--dir", "state"],
        &["report", "study.plab", "--dir", "state", "--format", "json"],
        &["report", "study.plab", "--dir", "state", "--format", "md"],
        &["check", "study.plab", "--format", "json"],
    ] {
        let out = lab.start_command(command(&lab, &[args, &set].concat())).wait().expect_code(0);
        expect_none(&args.join(" "), &(out.stdout + &out.stderr));
    }
    let mut written = Vec::new();
    files(&lab.path("state"), &mut written);
    written.push(lab.path("events.jsonl"));
    let log = written.iter().find(|f| f.ends_with("server.log")).expect("a log");
    let log = fs::read_to_string(log).expect("text");
    assert!(log.contains("MY_TOKEN=***") && log.contains("half ***"), "{log}");
    for file in written {
        expect_none(&file.display().to_string(), &String::from_utf8_lossy(&fs::read(&file).expect("a file")));
    }
    // the journal can be read as before, and what failed says why
    let report = lab.start_command(command(&lab, &exec)).wait().expect_code(0).report();
    assert_eq!(report.0["cost"]["launches"], 3);
    assert!(
        report.reason("mode", "bad").contains("told *** at http://***@host/"),
        "{}",
        report.reason("mode", "bad")
    );
    let script = lab.read("state/recommended.sh");
    assert!(script.contains("${MY_TOKEN:?") && script.contains("export MY_TOKEN"), "{script}");
}

#[test]
fn a_wrong_line_with_a_secret_is_shown_without_it() {
    let lab = Lab::with(
        &TALKATIVE.replace("--api-key=\"key-as-flag-3\"", "--api-key=\"key-as-flag-3\" --no-such=1"),
    );
    let out = lab.start_command(command(&lab, &["check", "study.plab"])).wait().expect_code(1);
    expect_none("stderr", &out.stderr);
    // files stay the user's own
    let out = lab.start_command(command(&lab, &["fmt", "--diff", "study.plab"])).wait();
    assert!(!out.stdout.contains("***"), "{}", out.stdout);
}

#[test]
fn an_engine_inherits_a_short_list_and_the_record_names_what_was_dropped() {
    let lab = lab();
    let out = lab.start_command(command(&lab, &EXEC)).wait().expect_code(0);
    assert!(
        out.stderr.contains("not passed on to engines: ") && out.stderr.contains("VLLM_USE_V9"),
        "{}",
        out.stderr
    );
    let mut written = Vec::new();
    files(&lab.path("state/trials"), &mut written);
    let record = written.iter().find(|f| f.ends_with("environment.json")).expect("a record");
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(record).expect("text")).expect("JSON");
    assert_eq!(record["variables"]["MY_TOKEN"], "***");
    assert_eq!(record["variables"]["http_proxy"], "http://***@proxy:1");
    let dropped: Vec<&str> =
        record["dropped"].as_array().expect("names").iter().filter_map(|n| n.as_str()).collect();
    assert!(dropped.contains(&"VLLM_USE_V9") && dropped.contains(&"HUGGING_FACE_HUB_TOKEN"), "{dropped:?}");
    let log = written.iter().find(|f| f.ends_with("server.log")).expect("a log");
    let log = fs::read_to_string(log).expect("text");
    assert!(!log.contains("EDITOR=") && !log.contains("VLLM_USE_V9"), "{log}");
    let tmp = log.lines().find_map(|l| l.strip_prefix("TMPDIR=")).expect("a TMPDIR");
    assert!(tmp.len() <= 60 && !Path::new(tmp).exists(), "{tmp}");
}

#[test]
fn a_deep_temporary_directory_leaves_room_for_sockets() {
    let lab = lab();
    let deep = lab.path("a-directory-with-a-name-that-is-long/and-another-one-below-it");
    fs::create_dir_all(&deep).expect("directories");
    let mut exec = command(&lab, &EXEC);
    exec.env("TMPDIR", &deep);
    lab.start_command(exec).wait().expect_code(0);
    let mut written = Vec::new();
    files(&lab.path("state/trials"), &mut written);
    let log = written.iter().find(|f| f.ends_with("server.log")).expect("a log");
    let log = fs::read_to_string(log).expect("text");
    let tmp = log.lines().find_map(|l| l.strip_prefix("TMPDIR=")).expect("a TMPDIR");
    assert!(tmp.len() <= 40, "{tmp}");
}

/// An engine that refuses a key in its own words, at its start or once something asks for it; its pattern looks for the key itself.
const CHOOSY: &str = r#"
engine choosy "Choosy" {
    version "1.0"
    serve   "sh choosy.sh {model} {host} {port}"
    ready   get "/health" within 30s
    stop    sigterm within 5s
    failure "weak key" when log matches "refused key-as-flag-\d since (.*)"
    flag --api-key text
    flag --mode text
}
engine mine "Mine" = choosy { --api-key="key-as-flag-3" }
profile steady "Steady" {
    data     random
    input    16
    output   8
    rate     8/s
    requests 24
    warmup   0
}
study s {
    model    "org/some-model"
    baseline mine
    maximize total_tps on steady
    repeat   1
    step mode { vary mode }
}
axis mode = --mode=[start, load]
"#;

#[test]
fn a_failure_s_pattern_sees_what_the_log_masks_and_nobody_else_does() {
    let lab = Lab::with(CHOOSY);
    let script = format!(
        "key=${{4#--api-key=}}; say() {{ echo \"ERROR refused $key since $1\"; }}\n\
         case \"$*\" in *mode=start*) say 'it is short at key-as-flag-3'; exit 3;; esac\n\
         '{}' sim --model \"$1\" --host \"$2\" --port \"$3\" & server=$!\n\
         trap 'kill $server; exit' TERM\n\
         case \"$*\" in *mode=load*) until [ -e go ]; do sleep 0.1; done; say 'it is old'; kill -9 $server; exit 3;; esac\n\
         wait $server\n",
        binary()
    );
    lab.write("choosy.sh", script);
    let running = lab.start_command(command(&lab, &[&EXEC[..], &["--events", "events.jsonl"]].concat()));
    // one candidate has no load
    let loaded = |launch: &str| events(&lab).iter().any(|e| e["event"] == "load" && e["launch"] == launch);
    wait_for("the candidate's load", || loaded("L002") || loaded("L003"));
    lab.write("go", "");
    let out = running.wait().expect_code(0);
    expect_none("stderr", &out.stderr);
    let report = out.report();
    assert_eq!(
        report.reason("mode", "start"),
        "did not start: weak key: refused *** since it is short at ***"
    );
    assert_eq!(report.reason("mode", "load"), "failed under load: weak key: refused *** since it is old");
    let mut written = vec![lab.path("events.jsonl")];
    files(&lab.path("state"), &mut written);
    for file in written {
        expect_none(&file.display().to_string(), &String::from_utf8_lossy(&fs::read(&file).expect("a file")));
    }
}
