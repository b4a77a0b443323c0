//! Servers that ask their clients for a key, met by the real binary: the key that the engine's declaration points to is sent with
//! everything, and stands in nothing that is written.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{EXEC, LIVE, Lab, Report, binary, events, wait_for};

const KEY: &str = "sk-of-the-server-5531";

fn study(engine: &str, baseline: &str) -> String {
    let used = LIVE.split("axis").next().unwrap_or_default();
    format!(
        "{used}{engine}study s \"S\" {{\n model \"Qwen/Qwen3-0.6B\"\n baseline {baseline}\n maximize total_tps on quick\n repeat 1\n \
         step one {{ vary engine[{baseline}] }}\n}}\n"
    )
}

/// An engine that answers nobody without the key, whatever is asked, and writes down what it was asked without it.
fn strict(states: &str) -> Lab {
    let engine = "engine strict \"Strict\" {\n version \"1\"\n serve \"sh engine.sh {model} {host} {port}\"\n \
        ready get \"/health\" within 3s\n metrics get \"/metrics\"\n reset post \"/reset\"\n key --first --keys --file env STRICT_KEY\n \
        stop sigterm within 500ms\n flag --first text\n flag --keys words\n flag --file path\n}\n";
    let engine = format!("{engine}engine asking = strict {{ {states} }}\n");
    let second = "profile second = quick { input 32 }\n";
    let lab = Lab::with(
        &study(&format!("{engine}{second}"), "asking")
            .replace("total_tps on quick", "total_tps on quick, second"),
    );
    lab.write("keys.txt", format!("# keys of clients\n\n{KEY}\nanother-key-4471\n"));
    let play = crate::misbehaving::play_line("asks for a key", "$3");
    lab.write("engine.sh", format!("export PLAB_TEST_KEY={KEY}\n{play}\n"));
    lab
}

fn objective(report: &Report) -> Option<f64> {
    report.trial(report.0["baseline"].as_str().expect("an id"))["metrics"]["completed"].as_f64()
}

#[track_caller]
fn nothing_tells(dir: &Path, but: &[&str]) {
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            nothing_tells(&path, but);
        } else if !but.contains(&name.as_str()) {
            let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
            assert!(!text.contains(KEY), "{name}: {text}");
        }
    }
}

#[test]
fn the_key_goes_with_everything_that_is_asked() {
    for states in [
        format!("--first={KEY}"),
        format!("--keys=\"{KEY} another-key-4471\""),
        "--file=keys.txt".to_owned(),
        format!("env STRICT_KEY={KEY}"),
    ] {
        let lab = strict(&states);
        let out = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat());
        let asked = fs::read_to_string(lab.path("asked-without")).unwrap_or_default();
        assert_eq!(asked, "", "{states}");
        let report = out.expect_code(0).report();
        assert_eq!(objective(&report), Some(8.0), "{states}");
        let heard = fs::read_to_string(lab.path("asked-with")).unwrap_or_default();
        for path in ["/health", "/v1/models", "/version", "/v1/chat/completions", "/metrics", "/reset"] {
            assert!(heard.lines().any(|l| l == path), "{path} in {heard}");
        }
        nothing_tells(&lab.path("."), &["study.plab", "engine.sh", "keys.txt"]);
    }
}

#[test]
fn a_site_s_variable_is_the_key_too() {
    let lab = strict("--first=\"\"");
    lab.write("study.plab", lab.read("study.plab").replace(" { --first=\"\" }", " { }"));
    lab.write("site.plab", format!("site lab {{ env STRICT_KEY={KEY} }}\n"));
    assert_eq!(objective(&lab.run(&EXEC).expect_code(0).report()), Some(8.0));
    nothing_tells(&lab.path("state"), &[]);
}

#[test]
fn a_server_that_lets_nobody_in_is_a_finding_that_says_where_its_key_would_stand() {
    let lab = Lab::with(&study("engine locked = sim { }\n", "locked").replace(
        "engine locked = sim { }",
        "engine locked = sim { serve \"sh engine.sh {model} {host} {port}\" }",
    ));
    let sim = format!("exec '{}' sim --model \"$1\" --host \"$2\" --port \"$3\"", binary());
    lab.write("engine.sh", format!("export SIM_API_KEY={KEY}\n{sim}\n"));
    let out = lab.run(&[&EXEC[..], &["--events", "events.jsonl"]].concat()).expect_code(3);
    let said = out.stdout.clone() + &out.stderr;
    let sentence =
        "the server answers 401, and no key is stated: perflab sends the one of --api-key or SIM_API_KEY";
    assert!(said.contains("access refused") && said.contains(sentence), "{said}");
    assert!(!events(&lab).is_empty());
    // one that is stated, and wrong
    let study = lab.read("study.plab").replace("{port}\" }", "{port}\"\n --api-key=another-key-4471 }");
    lab.write("study.plab", study);
    let out = lab.run(&EXEC).expect_code(3);
    let said = out.stdout + &out.stderr;
    assert!(said.contains("answers 401 also to the key of --api-key or SIM_API_KEY"), "{said}");
}

/// A simulated server that somebody else started, with a key.
struct Elsewhere(Child, u16);

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn elsewhere() -> Elsewhere {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let mut command = Command::new(binary());
    command
        .args(["sim", "--model", "Qwen/Qwen3-0.6B", "--port", &port.to_string()])
        .arg(format!("--api-key={KEY}"));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a server");
    wait_for("the server", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    Elsewhere(child, port)
}

#[test]
fn a_server_that_runs_already_gets_the_key_of_the_caller_s_environment() {
    let server = elsewhere();
    let lab = Lab::with(&study("engine there = sim { key env MY_SERVERS_KEY }\n", "there"));
    lab.write(
        "site.plab",
        format!("site lab {{ engine there via url \"http://127.0.0.1:{}\" }}\n", server.1),
    );
    let refused = lab.run(&EXEC).expect_code(1);
    assert!(
        refused.stderr.contains("no key is stated: perflab sends the one of MY_SERVERS_KEY"),
        "{}",
        refused.stderr
    );
    let mut command = lab.command(&EXEC);
    command.env("MY_SERVERS_KEY", KEY);
    let out = lab.start_command(command).wait().expect_code(0);
    assert_eq!(objective(&out.report()), Some(8.0));
    nothing_tells(&lab.path("."), &[]);
}
