//! Servers that run already (`via url`), met by the real binary: what they are is asked, and what becomes of them under a load.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{EXEC, Lab, binary, events, wait_for};

/// A server that somebody else started.
pub struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn serve(port: u16, more: &[&str]) -> Server {
    let mut command = Command::new(binary());
    command.args(["sim", "--port", &port.to_string()]).args(more);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a server");
    wait_for("the server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    Server(child)
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port()
}

/// A study of one server that runs already, under so many requests.
pub fn lab(requests: u32, states: &str) -> (Lab, u16) {
    let lab = Lab::with(&format!(
        "use std/engines {{ sim }}\nengine there = sim {{ {states} }}\n\
         profile quick \"Quick\" {{\n data random\n input 16\n output 8\n concurrency 4\n requests {requests}\n warmup 0\n}}\n\
         study s \"S\" {{\n model \"Qwen/Qwen3-0.6B\"\n baseline there\n maximize total_tps on quick\n repeat 1\n \
         step one {{ vary engine[there] }}\n}}\n"
    ));
    let port = free_port();
    lab.write("site.plab", format!("site lab {{ engine there via url \"http://127.0.0.1:{port}\" }}\n"));
    (lab, port)
}

#[track_caller]
pub fn kinds(lab: &Lab, kind: &str) -> usize {
    let text = lab.read("state/journal.jsonl");
    let lines = text.lines().map(|l| serde_json::from_str::<Value>(l).expect("a line"));
    lines.filter(|l| !l["kind"][kind].is_null()).count()
}

#[test]
fn a_server_that_dies_under_load_leaves_no_verdict() {
    let (lab, port) = lab(2000, "");
    let server = serve(port, &["--model", "Qwen/Qwen3-0.6B"]);
    let study = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    wait_for("some requests", || {
        events(&lab).iter().any(|e| e["event"] == "load" && e["done"].as_u64().is_some_and(|done| done > 8))
    });
    drop(server);
    let out = study.wait().expect_code(75);
    for word in
        ["was lost", "nobody listens there", "requests failed", "says nothing about the configuration"]
    {
        assert!(out.stderr.contains(word), "`{word}` is missing in {}", out.stderr);
    }
    assert_eq!((kinds(&lab, "run"), kinds(&lab, "gone"), kinds(&lab, "setback")), (0, 1, 1));
    assert!(events(&lab).iter().any(|e| e["event"] == "launch_fails"));
    // it runs again: nothing stands in the way of a result
    lab.write("study.plab", lab.read("study.plab").replace("requests 2000", "requests 20"));
    let _server = serve(port, &["--model", "Qwen/Qwen3-0.6B"]);
    let report = lab.run(&EXEC).expect_code(0).report();
    let outcome = report.trial(report.0["baseline"].as_str().expect("an id"))["outcome"].clone();
    // a busy machine may have held the client up
    assert!(outcome == "ok" || outcome == "flagged", "{outcome}");
}

/// A gateway, or a server in trouble, that is ready and fails every request: what it answers tells of itself.
#[test]
fn a_server_that_fails_every_request_leaves_no_verdict() {
    // it knows no POST, and says 501
    let (failing, port) = naming("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B");
    let (lab, _) = lab(8, "");
    lab.write("site.plab", format!("site lab {{ engine there via url \"http://127.0.0.1:{port}\" }}\n"));
    let out = lab.run(&EXEC).expect_code(75);
    for word in ["answered each of 8 requests with a failure", "501", "says nothing about the configuration"]
    {
        assert!(out.stderr.contains(word), "`{word}` is missing in {}", out.stderr);
    }
    assert_eq!((kinds(&lab, "run"), kinds(&lab, "setback")), (0, 1));
    drop(failing);
    let _server = serve(port, &["--model", "Qwen/Qwen3-0.6B"]);
    lab.run(&EXEC).expect_code(0);
}

/// A server that calls its model so, and says where its weights come from.
fn naming(id: &str, root: &str) -> (Server, u16) {
    let lab = Lab::new();
    let port = free_port();
    let script = "import json, sys\nfrom http.server import *\nmodels = json.loads(sys.argv[2])\n\
        class H(BaseHTTPRequestHandler):\n    def log_message(self, *a): pass\n    def do_GET(self):\n        \
        body = json.dumps({'data': [models]}).encode() if self.path == '/v1/models' else b'{}'\n        \
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)\n\
        ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()\n";
    let script = lab.write("server.py", script);
    let mut entry = serde_json::json!({"id": id});
    if !root.is_empty() {
        entry["root"] = root.into();
    }
    let mut command = Command::new("python3");
    command.arg(script).arg(port.to_string()).arg(entry.to_string()).stderr(Stdio::null());
    let server = Server(command.spawn().expect("a server"));
    wait_for("the server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    (server, port)
}

#[test]
fn a_server_of_another_model_is_not_measured() {
    let (lab, port) = lab(8, "");
    let _server = serve(port, &["--model", "Qwen/Qwen3-8B"]);
    let out = lab.run(&EXEC).expect_code(1);
    let why = "serves Qwen/Qwen3-8B, the study is about Qwen/Qwen3-0.6B";
    assert!(out.stderr.contains(why) && out.stderr.contains("--served-model-name"), "{}", out.stderr);
    assert!(!lab.path("state/journal.jsonl").exists() || kinds(&lab, "run") == 0);
    // the same server, where the study says that this is but its name
    lab.write(
        "study.plab",
        lab.read("study.plab").replace("sim {  }", "sim { --served-model-name=Qwen/Qwen3-8B }"),
    );
    lab.run(&EXEC).expect_code(0);
}

#[test]
fn an_alias_a_directory_and_a_server_that_does_not_tell_leave_the_model_open() {
    for (id, root, open) in [
        ("prod", "Qwen/Qwen3-0.6B", true),
        ("prod", "/models/weights", true),
        ("prod", "prod", true),
        ("../weights.gguf", "", true),
        ("qwen3-0.6b", "other/name", true),
        ("prod", "Qwen/Qwen3-8B", false),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B", false),
    ] {
        let (server, port) = naming(id, root);
        let (lab, _) = lab(8, "");
        lab.write("site.plab", format!("site lab {{ engine there via url \"http://127.0.0.1:{port}\" }}\n"));
        let out = lab.run(&EXEC);
        drop(server);
        // it answers no request, and so has no result either way
        assert_eq!(out.stderr.contains("the study is about"), !open, "{id}, {root}: {}", out.stderr);
    }
}

/// A server that answers, counts what it was asked, and begins anew at one of forty requests, as `how` says: it breaks that request off, or
/// says when it was started, or does neither; or it stays as it is.
fn beginning_anew(how: &str, port: u16) -> Server {
    let lab = Lab::new();
    let script = lab.write("server.py", include_str!("serve_anew.py"));
    let mut command = Command::new("python3");
    command.arg(script).arg(port.to_string()).arg(how).stderr(Stdio::null());
    let server = Server(command.spawn().expect("a server"));
    wait_for("the server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    server
}

#[test]
fn a_server_that_was_started_again_under_a_load_is_not_one_server() {
    for (how, evidence) in [
        ("breaks", "vllm:prompt_tokens_total{model_name=\"m\"} fell from "),
        ("says when", "process_start_time_seconds rose from "),
        // as behind a gateway that keeps requests until its server is back
        ("quietly", "vllm:prompt_tokens_total{model_name=\"m\"} fell from "),
    ] {
        let (lab, port) = lab(40, "");
        let server = beginning_anew(how, port);
        let out = lab.run(&EXEC).expect_code(75);
        for word in ["was started again under", evidence, "says nothing about the configuration"] {
            assert!(out.stderr.contains(word), "{how}: `{word}` is missing in {}", out.stderr);
        }
        assert_eq!((kinds(&lab, "run"), kinds(&lab, "setback")), (0, 1), "{how}");
        drop(server);
        let _server = beginning_anew("never", port);
        lab.run(&EXEC).expect_code(0);
    }
}

/// Between two invocations: what does not tell its flags may have others now.
#[test]
fn a_server_that_was_started_again_since_is_measured_again() {
    let (lab, port) = lab(40, "");
    let server = beginning_anew("tells", port);
    lab.run(&EXEC).expect_code(0);
    lab.run(&EXEC).expect_code(0);
    assert_eq!(kinds(&lab, "run"), 1);
    drop(server);
    std::thread::sleep(std::time::Duration::from_secs(2));
    let _server = beginning_anew("tells", port);
    let out = lab.run(&EXEC).expect_code(0);
    let why = format!("measured before http://127.0.0.1:{port} was started again");
    assert!(out.stderr.contains(&why), "{}", out.stderr);
    assert_eq!(kinds(&lab, "run"), 2);
}

#[test]
fn counters_of_several_servers_behind_one_address_are_told_with_the_result() {
    // long enough for some pages
    let (lab, port) = lab(400, "");
    let _server = beginning_anew("by turns", port);
    let report = lab.run(&EXEC).expect_code(0).report();
    let warnings = report.0["warnings"].to_string();
    for word in ["vllm:prompt_tokens_total{", "} fell from ", "or several servers answer at one address"] {
        assert!(warnings.contains(word), "`{word}` is missing in {warnings}");
    }
}

/// A gateway lets another model answer some of the requests: what was measured is of neither.
#[test]
fn a_load_that_several_models_answered_is_no_result() {
    let (lab, port) = lab(40, "");
    let _server = beginning_anew("falls back", port);
    let out = lab.run(&EXEC).expect_code(75);
    let words = out.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["several models answer at http://127.0.0.1:", "which was asked for: `small/fallback`"] {
        assert!(words.contains(said), "`{said}` is missing in {words}");
    }
    assert_eq!((kinds(&lab, "run"), kinds(&lab, "setback")), (0, 1));
}

/// A server that is ready and says what it serves, but for the first questions after that.
fn slow_to_name(silent: u32) -> (Server, u16) {
    let lab = Lab::new();
    let port = free_port();
    let script = "import json, sys, time\nfrom http.server import *\nasked = [0]\n\
        class H(BaseHTTPRequestHandler):\n    def log_message(self, *a): pass\n    def do_GET(self):\n        \
        listing = self.path == '/v1/models'\n        asked[0] += listing\n        \
        time.sleep(3600 if listing and asked[0] <= int(sys.argv[2]) else 0)\n        \
        body = json.dumps({'data': [{'id': 'Qwen/Qwen3-0.6B'}]}).encode()\n        \
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)\n\
        ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()\n";
    let script = lab.write("server.py", script);
    let mut command = Command::new("python3");
    command.arg(script).args([port.to_string(), silent.to_string()]).stderr(Stdio::null());
    let server = Server(command.spawn().expect("a server"));
    wait_for("the server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    (server, port)
}

#[test]
fn a_server_that_does_not_say_what_it_serves_is_asked_again_and_told_of() {
    for (silent, why) in [
        (1, "answered each of 8 requests with a failure"),
        (u32::MAX, "no answer within 10 s, asked 2 times"),
    ] {
        let (_server, port) = slow_to_name(silent);
        let (lab, _) = lab(8, "");
        lab.write("site.plab", format!("site lab {{ engine there via url \"http://127.0.0.1:{port}\" }}\n"));
        let out = lab.run(&EXEC);
        let waited = format!("waiting for http://127.0.0.1:{port}/v1/models, which does not answer");
        assert!(out.stderr.contains(&waited), "{}", out.stderr);
        // it answers no request, and so has no result where it was loaded
        let told = out.stdout + &out.stderr;
        assert!(told.contains(why), "`{why}` is missing in {told}");
    }
}

/// Killed and started at once, with requests in between that broke and others that succeeded; nothing that it says tells of that.
#[test]
fn a_server_of_this_machine_that_was_replaced_under_a_load_leaves_no_verdict() {
    let (lab, port) = lab(400, "");
    let server = serve(port, &["--model", "Qwen/Qwen3-0.6B"]);
    let study = lab.start(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
    wait_for("some requests", || {
        events(&lab).iter().any(|e| e["event"] == "load" && e["done"].as_u64().is_some_and(|done| done > 8))
    });
    drop(server);
    let _server = serve(port, &["--model", "Qwen/Qwen3-0.6B"]);
    let out = study.wait().expect_code(75);
    for word in [
        "was started again under a load",
        "another socket listens there",
        "the same command measures it again",
        "add `--again TRIAL`",
    ] {
        assert!(out.stderr.contains(word), "`{word}` is missing in {}", out.stderr);
    }
    assert_eq!((kinds(&lab, "run"), kinds(&lab, "setback")), (0, 1));
}
