//! Every way to fail, with llama.cpp: an unknown flag, a bad value, no model, a port that somebody has, too little memory, and a
//! kill under load. One study meets them all and goes on.

use std::net::TcpListener;
use std::os::unix::fs::symlink;

use super::trouble::{Asked, Session};
use crate::llama_cpp::turn;
use crate::support::{Lab, project, wait_for};

/// What the profile of the example asks for; the chat template adds three tokens to a prompt.
const ASKED: Asked = Asked { requests: 60, input: 128 + 3, output: 64 };

/// Starts the example's server, after the trouble that the candidate wants: `port` waits until somebody else has it, `memory`
/// takes all but a little away.
const ENGINE: &str = r#"
model=$1 host=$2 port=$3
shift 3
if [ "$TROUBLE" = port ] && [ ! -e taken ]; then
    echo "$port" >port.part && mv port.part port
    until [ -e taken ]; do sleep 0.01; done
fi
[ "$TROUBLE" != memory ] || ulimit -v 3000000
exec llama_cpp/.venv/bin/python llama_cpp/serve.py --model "$model" --host "$host" --port "$port" "$@"
"#;

const STUDY: &str = r#"
axis trouble = {
    flag   "an unknown flag": raw --no-such-flag=1,
    value  "a bad value":     raw --threads=many,
    model  "a missing model": model "llama_cpp/no-such.gguf",
    port   "a taken port":    env TROUBLE=port,
    memory "a huge context":  --ctx-size=4000000 env TROUBLE=memory,
    killed "a killed worker": --parallel=2,
    none   "nothing at all":  --parallel=4
}
study trouble "Trouble" {
    model    "llama_cpp/tiny.gguf"
    baseline tiny
    maximize output_tps on chat
    repeat   1
    step trouble "Trouble" { vary trouble }
}
"#;

/// Engine and profile of the example, with the study above.
fn lab() -> Lab {
    let example = std::fs::read_to_string(project().join("examples/llama_cpp.plab")).expect("the example");
    let (declarations, _) = example.split_once("\naxis slots").expect("its axes come behind its engine");
    let serve =
        r#""llama_cpp/.venv/bin/python llama_cpp/serve.py --model {model} --host {host} --port {port}""#;
    assert!(declarations.contains(serve) && declarations.contains("requests    40"), "{declarations}");
    let declarations = declarations
        .replace(serve, r#""sh engine.sh {model} {host} {port}""#)
        .replace("requests    40", &format!("requests {}", ASKED.requests));
    let lab = Lab::with(&format!("{declarations}{STUDY}"));
    symlink(project().join("examples/llama_cpp"), lab.path("llama_cpp")).expect("a link");
    lab.write("engine.sh", ENGINE);
    lab
}

/// Takes the port that the candidate waits with, for as long as the listener lives.
fn take_port(lab: &Lab) -> TcpListener {
    // real loads come before it, and other tests beside it
    wait_for("the baseline's load", || {
        std::fs::read_to_string(lab.path("state/journal.jsonl"))
            .is_ok_and(|text| text.contains("\"kind\":{\"run\":"))
    });
    wait_for("the candidate's port", || lab.path("port").exists());
    let port: u16 = lab.read("port").trim().parse().expect("a port");
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("it is free");
    lab.write("taken", "");
    listener
}

#[test]
fn one_study_meets_every_failure_and_goes_on() {
    let Some(_turn) = turn() else { return };
    let mut session = Session::start(lab(), &[]);
    let _stranger = take_port(&session.lab);
    session.kill_under_load("serve.py");
    let ended = session.end(0);

    ended.left_at_once(
        "an unknown flag",
        "exit code 2",
        &["unknown flag: serve.py: error: unrecognized arguments: --no-such-flag 1"],
    );
    ended.left_at_once(
        "a bad value",
        "exit code 2",
        &["bad value: ", "argument -t/--threads: invalid int value: 'many'"],
    );
    ended.left_at_once(
        "a missing model",
        "exit code 1",
        &["model missing", "failed to open GGUF file 'llama_cpp/no-such.gguf'"],
    );
    ended.left_at_once("a huge context", "exit code 1", &["out of host memory: ", "failed to allocate"]);
    ended.failed("a killed worker", &["crash under load (SIGKILL)"]);
    ended.measured("a taken port", &ASKED);
    ended.measured("nothing at all", &ASKED);
    assert!(ended.stderr.contains("trying another port"), "{}", ended.stderr);
    ended.recommends_what_works(&ASKED);
    // a finding is not tried again: each configuration has one launch
    assert_eq!(ended.report.0["cost"]["launches"], 8);
    let page = ended.lab.read("state/report.md");
    assert!(
        page.contains("couldn't bind") || page.contains("failed to allocate"),
        "the last lines are kept: {page}"
    );
}

#[test]
fn a_baseline_that_cannot_start_ends_the_study_at_once() {
    let Some(_turn) = turn() else { return };
    let lab = lab();
    lab.write("study.plab", lab.read("study.plab").replace("--threads=1", "raw --no-such-flag=1"));
    let ended = Session::start(lab, &[]).end(3);
    assert_eq!(ended.report.recommended(), None);
    assert_eq!(ended.report.0["cost"]["launches"], 1);
    let reason = ended.report.0["no_recommendation"].to_string();
    assert!(reason.contains("unknown flag"), "{reason}");
}

/// The engine of the standard library, with the server of the example, which is started without a key, with one in each place that the
/// engine's declaration names, and with one that nobody states.
const KEYS: &str = r#"
use std/engines { llama_cpp }
engine open "No key" = llama_cpp {
    version "11434"
    serve   "sh engine.sh {model} {host} {port}"
    --threads=1 --ctx-size=2048 --no-cache-prompt --cache-ram=0 --metrics
}
profile chat "Short chats" {
    data        random
    tokenizer   "llama_cpp/tokenizer.json"
    input       64
    output      16
    concurrency 2
    requests    8
    warmup      2
}
axis trouble = {
    flag    "a flag":      --api-key=key-of-llama-5531,
    several "two keys":    --api-key="key-of-llama-7742,key-of-llama-5531",
    file    "a file":      --api-key-file=keys.txt,
    env     "a variable":  env LLAMA_API_KEY=key-of-llama-5531,
    locked  "not stated":  env TROUBLE=locked
}
study keys "Keys" {
    model    "llama_cpp/tiny.gguf"
    baseline open
    maximize output_tps on chat
    repeat   1
    step trouble "Keys" { vary trouble }
}
"#;

#[test]
fn a_server_with_a_key_is_measured_wherever_its_key_stands() {
    let Some(_turn) = turn() else { return };
    let lab = Lab::with(KEYS);
    symlink(project().join("examples/llama_cpp"), lab.path("llama_cpp")).expect("a link");
    let locked = "[ \"$TROUBLE\" != locked ] || export LLAMA_API_KEY=key-of-llama-6613\n";
    let (_, engine) = ENGINE.split_once("exec ").expect("it ends so");
    lab.write("engine.sh", format!("model=$1 host=$2 port=$3\nshift 3\n{locked}exec {engine}"));
    lab.write("keys.txt", "# of clients\n\nkey-of-llama-9954\nkey-of-llama-5531\n");
    let ended = Session::start(lab, &[]).end(0);

    let asked = Asked { requests: 8, input: 64 + 3, output: 16 };
    for label in ["a flag", "two keys", "a file", "a variable"] {
        ended.measured(label, &asked);
    }
    let said = "the server answers 401, and no key is stated: perflab sends the one of --api-key or --api-key-file or LLAMA_API_KEY";
    ended.failed("not stated", &["access refused", said]);
    ended.recommends_what_works(&asked);
    for key in ["key-of-llama-5531", "key-of-llama-7742", "key-of-llama-9954"] {
        ended.nowhere_is(key);
    }
}
