//! What a profile says of sampling and of bodies stands in each request, and a rule reads the server's variables.

use serde_json::{Value, json};

use crate::support::{EXEC, Lab, events};

const STUDY: &str = r#"
engine kept "A server that keeps bodies" {
    version "1.0"
    serve   "python3 serve_bodies.py {port}"
    ready   get "/health" within 60s
    stop    sigterm within 5s
    flag --unused int
}
profile sampled {
    data        random
    input       16
    output      4
    concurrency 1
    requests    3
    warmup      0
    temperature 0.7
    top_p       0.8
    top_k       20
    min_p       0.1
    presence_penalty -1.5
    body        {"chat_template_kwargs": {"enable_thinking": false}, "priority": 1}
}
axis threads = env OMP_NUM_THREADS=[1, 2]
prune two "one is enough" when env OMP_NUM_THREADS == 2
study s {
    model    "m"
    baseline kept
    maximize total_tps on sampled
    repeat   1
    step threads { vary threads }
}
"#;

/// Loads that were made, each of three requests: a busy machine has one repeated.
fn loads(lab: &Lab) -> usize {
    events(lab).iter().filter(|e| e["event"] == "phase" && e["phase"] == "load").count()
}

fn with_events() -> Vec<&'static str> {
    [&EXEC[..], &["--events", "events.jsonl"]].concat()
}

#[test]
fn what_a_profile_says_of_sampling_is_in_each_body() {
    let lab = Lab::with(STUDY);
    lab.write("serve_bodies.py", include_str!("serve_bodies.py"));
    let report = lab.run(&with_events()).expect_code(0).report();
    assert_eq!(report.outcome("threads", "2"), "pruned");
    let bodies: Vec<Value> =
        lab.read("bodies").lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let loads = loads(&lab);
    assert!(loads >= 2, "of the baseline and of one thread");
    assert_eq!(bodies.len(), 3 * loads);
    for body in bodies {
        let said = ["temperature", "top_p", "top_k", "min_p", "presence_penalty", "priority"];
        let said: Vec<&Value> = said.iter().map(|name| &body[name]).collect();
        assert_eq!(said, [&json!(0.7), &json!(0.8), &json!(20), &json!(0.1), &json!(-1.5), &json!(1)]);
        assert_eq!(body["chat_template_kwargs"], json!({"enable_thinking": false}));
    }
}

#[test]
fn a_body_may_name_the_adapter_that_is_measured() {
    let named = STUDY.replace("\"priority\": 1}", "\"model\": \"sql\"}");
    let lab = Lab::with(&named);
    lab.write("serve_bodies.py", include_str!("serve_bodies.py"));
    lab.run(&with_events()).expect_code(0);
    let text = lab.read("bodies");
    let bodies: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(bodies.len(), 3 * loads(&lab));
    assert!(bodies.iter().all(|body| body["model"] == "sql"), "{bodies:?}");
    let id = |text: &str| {
        lab.write("study.plab", text);
        let plan =
            lab.run(&["plan", "study.plab", "--dir", "other", "--format", "json"]).expect_code(0).json();
        plan["profiles"][0]["id"].as_str().expect("an id").to_owned()
    };
    assert_ne!(id(&named), id(&named.replace("\"sql\"", "\"law\"")), "another adapter is another load");
}

#[test]
fn sampling_stands_where_sglang_s_own_endpoint_looks_for_it() {
    let study =
        STUDY.replace("    flag --unused int\n", "    api     sglang_generate\n    flag --unused int\n");
    let lab = Lab::with(
        &study.replace("\"priority\": 1}", "\"sampling_params\": {\"stop\": \"x\", \"top_k\": 30}}"),
    );
    lab.write("serve_bodies.py", include_str!("serve_bodies.py"));
    // its answers are chat's and are read all the same
    lab.run(&with_events()).expect_code(0);
    let bodies: Vec<Value> =
        lab.read("bodies").lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let loads = loads(&lab);
    assert!(loads >= 2, "of the baseline and of one thread");
    assert_eq!(bodies.len(), 3 * loads);
    let sampling = json!({
        "max_new_tokens": 4, "temperature": 0.7, "top_p": 0.8, "ignore_eos": true, "top_k": 30, "min_p": 0.1,
        "presence_penalty": -1.5, "stop": "x",
    });
    for body in bodies {
        assert_eq!(body["sampling_params"], sampling);
        assert_eq!(body["text"].as_str().map(|text| text.split(' ').count()), Some(16), "{body}");
        assert_eq!(body["chat_template_kwargs"], json!({"enable_thinking": false}));
        assert!(
            ["model", "messages", "max_tokens", "top_k"].iter().all(|name| body[name].is_null()),
            "{body}"
        );
    }
}

#[test]
fn an_engine_that_writes_to_a_file_of_its_command_is_not_launched_for_ever() {
    let lab = Lab::with(&STUDY.replace("{port}\"", "{port} bodies\""));
    lab.write("serve_bodies.py", include_str!("serve_bodies.py"));
    lab.write("bodies", "");
    let said = [
        "bodies, the installation of kept 1.0 (bodies) changed in each of the last launches",
        "another file",
    ];
    lab.run(&with_events()).expect_error(1, &said);
    assert_eq!(events(&lab).iter().filter(|e| e["event"] == "launch_begins").count(), 3);
    assert_eq!(lab.read("bodies").lines().count(), 3 * loads(&lab));
}

#[test]
fn the_script_of_a_command_that_was_edited_is_named() {
    let lab = Lab::with(STUDY);
    let script = include_str!("serve_bodies.py");
    lab.write("serve_bodies.py", script);
    lab.run(&EXEC).expect_code(0);
    lab.write("serve_bodies.py", format!("{script}# edited\n"));
    let plan = lab.run(&["plan", "study.plab", "--dir", "state", "--format", "json"]).expect_code(0).json();
    let reason = plan["steps"][0]["candidates"][0]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("serve_bodies.py changed since it was measured"), "{reason}");
}

#[test]
fn a_server_that_never_says_what_it_serves_is_told_of_and_not_waited_for() {
    let lab = Lab::with(&STUDY.replace("step threads { vary threads }", "step none { vary engine[kept] }"));
    let script = include_str!("serve_bodies.py").replace("import sys\n", "import sys\nimport time\n");
    let hangs = "    def do_GET(self):\n        time.sleep(3600 if self.path == \"/v1/models\" else 0)\n";
    let script = script.replace("    def do_GET(self):\n", hangs);
    assert!(script.contains("3600"), "{script}");
    lab.write("serve_bodies.py", script);
    let out = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat()).expect_code(0);
    let warnings: Vec<String> = events(&lab)
        .iter()
        .filter(|e| e["event"] == "warning")
        .filter_map(|e| e["text"].as_str().map(str::to_owned))
        .collect();
    for words in ["waiting for its /v1/models", "its /v1/models did not answer within 5 s"] {
        assert!(warnings.iter().any(|w| w.contains(words)), "`{words}` is not in {warnings:?}");
        assert!(out.stderr.contains(words), "{}", out.stderr);
    }
}
