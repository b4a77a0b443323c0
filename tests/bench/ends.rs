//! How `perflab bench` ends: interrupted, given a server that says nothing of use, or with a client that stood still.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{Lab, Terminal, binary};

/// What a server of the test's own does with the request of this number: writes the answer's body, and says whether it goes on.
pub(super) type Script = Arc<dyn Fn(usize, &mut TcpStream) -> std::io::Result<()> + Send + Sync>;

/// Its address, and how many requests it has seen.
pub(super) fn server(script: Script) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (script, count) = (Arc::clone(&script), Arc::clone(&count));
            std::thread::spawn(move || serve(stream, &script, &count));
        }
    });
    (url, seen)
}

fn serve(stream: TcpStream, script: &Script, count: &AtomicUsize) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        while reader.read_line(&mut line).ok()? > 2 {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            line.clear();
        }
        if line.is_empty() {
            return None;
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        let number = count.fetch_add(1, Ordering::SeqCst);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        writer.write_all(head.as_bytes()).ok()?;
        script(number, &mut writer).ok()?;
        writer.write_all(b"0\r\n\r\n").ok()?;
    }
}

pub(super) fn send(to: &mut TcpStream, data: &str) -> std::io::Result<()> {
    let event = format!("data: {data}\n\n");
    to.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
}

fn token(to: &mut TcpStream, last: bool) -> std::io::Result<()> {
    let reason = if last { "\"length\"" } else { "null" };
    send(to, &format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"w "}},"finish_reason":{reason}}}]}}"#))
}

pub(super) fn count(to: &mut TcpStream, tokens: u32) -> std::io::Result<()> {
    send(to, &format!(r#"{{"choices":[],"usage":{{"prompt_tokens":8,"completion_tokens":{tokens}}}}}"#))
}

/// An answer of four tokens.
pub(super) fn answer(to: &mut TcpStream) -> std::io::Result<()> {
    (0..4).try_for_each(|n| token(to, n == 3))?;
    count(to, 4)?;
    send(to, "[DONE]")
}

/// The first three requests are answered; the others hang until the client leaves.
fn first_three(number: usize, to: &mut TcpStream) -> std::io::Result<()> {
    if number < 3 {
        return answer(to);
    }
    std::thread::sleep(Duration::from_mins(5));
    send(to, "[DONE]")
}

pub(super) fn options<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let load = ["--random-input-len", "8", "--random-output-len", "4", "--server-metrics", "none"];
    [&["bench", url, "--model", "m"], &load[..], more].concat()
}

pub(super) fn finding<'v>(own: &'v Value, name: &str) -> &'v Value {
    let all = own["findings"].as_array().expect("a list");
    all.iter().find(|found| found["finding"] == name).unwrap_or_else(|| panic!("no {name} in {own:#}"))
}

#[test]
fn an_interrupted_load_says_what_was_planned_and_what_was_not_sent() {
    let lab = Lab::new();
    let (url, seen) = server(Arc::new(first_three));
    let files = ["--json", "own.json", "--save-result", "--result-filename", "vllm.json"];
    let load = ["--num-prompts", "9", "--max-concurrency", "2", "--ignore-eos"];
    let bench = lab.start(&options(&url, &[&load[..], &files].concat()));
    let began = Instant::now();
    // two clients: when the fifth request came, three have their answers
    while seen.load(Ordering::SeqCst) < 5 {
        assert!(began.elapsed() < Duration::from_mins(2), "it sends");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(i32::try_from(bench.child.id()).expect("a pid")), Signal::SIGINT).expect("it lives");
    let output = bench.wait().expect_code(75);
    assert!(output.stderr.contains("2 in flight were dropped, 4 were not sent"), "{}", output.stderr);
    let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
    let requests = &own["requests"];
    let number = |name: &str| requests[name].as_u64().expect("a number");
    assert_eq!(
        ["planned", "completed", "failed", "in_flight", "unsent"].map(number),
        [9, 3, 0, 2, 4],
        "{own:#}"
    );
    assert_eq!((&own["interrupted"], &own["ended"]), (&true.into(), &"cancelled".into()));
    assert_eq!(finding(&own, "interrupted")["level"], "warning");
    let theirs: Value = serde_json::from_str(&lab.read("vllm.json")).expect("JSON");
    assert_eq!((&theirs["num_prompts"], &theirs["completed"]), (&9.into(), &3.into()));
}

#[test]
fn their_duration_ends_with_the_last_answer_and_ours_with_its_last_token() {
    let lab = Lab::new();
    let (url, _) = server(Arc::new(|_, to| {
        token(to, true)?;
        std::thread::sleep(Duration::from_millis(400));
        count(to, 1)?;
        send(to, "[DONE]")
    }));
    let files =
        ["--json", "own.json", "--save-result", "--result-filename", "vllm.json", "--goodput", "e2el:60000"];
    lab.run(&options(&url, &[&["--num-prompts", "1"][..], &files].concat())).expect_code(0);
    let read = |name: &str| -> Value { serde_json::from_str(&lab.read(name)).expect("JSON") };
    let (own, theirs) = (read("own.json"), read("vllm.json"));
    let took = |of: &Value, name: &str| of[name].as_f64().expect("a number");
    let lasted = took(&theirs, "duration");
    assert!(lasted - took(&own, "duration_s") >= 0.4, "{own:#} {theirs:#}");
    for rate in ["request_throughput", "output_throughput", "request_goodput"] {
        assert!((took(&theirs, rate) * lasted - 1.0).abs() < 1e-9, "{rate}: {theirs:#}");
    }
}

/// A role at once, three tokens after a while, and their count after another one.
fn role_first(_: usize, to: &mut TcpStream) -> std::io::Result<()> {
    let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#;
    send(to, role)?;
    std::thread::sleep(Duration::from_millis(300));
    (0..3).try_for_each(|n| token(to, n == 2))?;
    std::thread::sleep(Duration::from_millis(300));
    count(to, 3)?;
    send(to, "[DONE]")
}

#[test]
fn other_tools_columns_stand_beside_ours_by_their_own_definitions() {
    let lab = Lab::new();
    let (url, _) = server(Arc::new(role_first));
    let files = ["--json", "own.json", "--save-result", "--save-detailed", "--result-filename", "vllm.json"];
    let more = [&["--num-prompts", "2", "--compat"][..], &files].concat();
    let output = lab.run(&options(&url, &more)).expect_code(0);
    let read = |name: &str| -> Value { serde_json::from_str(&lab.read(name)).expect("JSON") };
    let (own, saved) = (read("own.json"), read("vllm.json"));
    let of = |tool: &str| &own["compatible"][tool];
    let mean = |of: &Value, metric: &str| of[metric]["mean"].as_f64().expect("a mean");
    let (old, new, guide) = (of("vllm-0.11"), of("vllm-0.33"), of("guidellm-0.5"));
    let ours = |metric: &str| mean(&own, metric);
    assert!(ours("ttft_ms") - mean(old, "ttft_ms") >= 290.0, "the role is their first token: {own:#}");
    assert!(mean(old, "latency_ms") - ours("latency_ms") >= 290.0, "the usage is their end: {own:#}");
    assert_eq!(old["itl_ms"]["n"], 6, "from the role on");
    assert!(mean(old, "tpot_ms") >= 290.0, "what is before and behind the text is theirs: {own:#}");
    for tool in [new, guide] {
        assert!((mean(tool, "ttft_ms") - ours("ttft_ms")).abs() < 1e-6, "{own:#}");
    }
    assert!((mean(new, "latency_ms") - ours("latency_ms")).abs() < 1e-6, "{own:#}");
    assert!((mean(guide, "tpot_ms") - ours("latency_ms") / 3.0).abs() < 1e-6, "{own:#}");
    assert!(guide["total_tps"].is_null() && old["total_tps"].is_number(), "{own:#}");

    let pairs = [
        ("duration", "duration_s"),
        ("total_token_throughput", "total_tps"),
        ("output_throughput", "output_tps"),
    ];
    for (theirs, column) in pairs {
        assert_eq!(saved[theirs], old[column], "{theirs}");
    }
    for (theirs, column) in
        [("ttft", "ttft_ms"), ("tpot", "tpot_ms"), ("itl", "itl_ms"), ("e2el", "latency_ms")]
    {
        for (name, field) in [("mean", "mean"), ("median", "p50"), ("p99", "p99"), ("std", "stddev")] {
            assert_eq!(saved[format!("{name}_{theirs}_ms")], old[column][field], "{name} {theirs}");
        }
    }
    assert_eq!(saved["itls"][0].as_array().map(Vec::len), Some(3), "{saved:#}");
    let row = |label: &str| -> Vec<&str> {
        let line = output.stdout.lines().filter_map(|line| line.strip_prefix(label)).next_back();
        line.unwrap_or_else(|| panic!("{label}: {}", output.stdout)).split_whitespace().collect()
    };
    let shown = |of: &Value, metric: &str| format!("{:.2}", mean(of, metric));
    assert_eq!(row("Mean TPOT (ms):"), [old, new, guide].map(|of| shown(of, "tpot_ms")));
    assert_eq!(row("Total throughput (tok/s):")[2], "-");
    assert!(output.stdout.lines().all(|line| line.len() <= 80), "{}", output.stdout);
    let plain = lab.run(&options(&url, &["--num-prompts", "1"])).expect_code(0);
    assert!(!plain.stdout.contains("guidellm"), "{}", plain.stdout);
}

#[test]
fn a_count_of_no_tokens_and_an_empty_event_are_no_failures() {
    let lab = Lab::new();
    let (url, _) = server(Arc::new(|_, to| {
        send(to, "")?;
        send(to, " ")?;
        token(to, true)?;
        count(to, 0)?;
        send(to, "[DONE]")
    }));
    let output = lab.run(&options(&url, &["--num-prompts", "2", "--json", "own.json"])).expect_code(0);
    assert!(output.stderr.contains("counts 0 tokens in 2 answers that came with text"), "{}", output.stderr);
    let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
    assert_eq!(
        (&own["requests"]["completed"], &finding(&own, "counted_none")["requests"]),
        (&2.into(), &2.into())
    );
    assert_eq!(finding(&own, "counted_none")["level"], "note");
}

#[test]
fn a_client_that_stood_still_between_chunks_says_so() {
    let lab = Lab::new();
    let (url, seen) = server(Arc::new(|_, to| {
        for n in 0..150 {
            token(to, n == 149)?;
            std::thread::sleep(Duration::from_millis(10));
        }
        count(to, 150)?;
        send(to, "[DONE]")
    }));
    let mut command = Command::new(binary());
    command.current_dir(lab.path(".")).arg("-q");
    command.args(options(&url, &["--num-prompts", "1", "--json", "own.json"]));
    let client = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let id = Pid::from_raw(i32::try_from(client.id()).expect("a pid"));
    while seen.load(Ordering::SeqCst) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    kill(id, Signal::SIGSTOP).expect("stopped");
    std::thread::sleep(Duration::from_millis(400));
    kill(id, Signal::SIGCONT).expect("goes on");
    let out = client.wait_with_output().expect("it ends");
    let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
    let said = String::from_utf8_lossy(&out.stderr);
    // a machine that is busy may have held it up for so long that nothing is to be believed
    assert!(said.contains("the client stood still") || said.contains("held the client up"), "{said}");
    assert!(own["client_stalled"]["longest_ms"].as_f64() >= Some(300.0), "{own:#}");
    assert!(own["client_stalled"]["chunks"].as_f64() > Some(0.0), "{own:#}");
}

#[test]
fn a_terminal_sees_how_far_a_long_load_has_come() {
    let lab = Lab::new();
    let (url, _) = server(Arc::new(first_three));
    let mut command = Command::new(binary());
    command.current_dir(lab.path(".")).env("TERM", "xterm");
    command.args(options(&url, &["--num-prompts", "9", "--max-concurrency", "2"]));
    let mut terminal = Terminal::start(command);
    terminal.wait_for("progress", |text| text.contains("3 of 9 requests") && text.contains("chunks/s"));
    terminal.types("\x03");
    assert_eq!(terminal.wait(), 75);
    assert!(terminal.text().contains("Successful requests:"), "the table follows");
}

#[test]
fn turns_that_a_failed_request_leaves_unsent_are_told() {
    let lab = Lab::new();
    lab.write("talks.json", super::data::TALKS);
    // of the first two requests one at least begins a conversation of three turns
    let (url, _) = server(Arc::new(|number, to| {
        if number < 2 {
            return send(to, r#"{"error":{"message":"out of memory"}}"#);
        }
        send(to, r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}"#)?;
        send(to, r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#)?;
        send(to, "[DONE]")
    }));
    let talks = ["--dataset-name", "conversations", "--dataset-path", "talks.json", "--num-prompts", "7"];
    let args = ["-q", "bench", &url, "--model", "m", "--server-metrics", "none", "--max-concurrency", "1"];
    let output = lab.run(&[&args[..], &talks, &["--json", "own.json"]].concat()).expect_code(0);
    let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
    let unsent = own["requests"]["unsent"].as_u64().expect("a number");
    assert!(unsent >= 2, "{own:#}");
    let said = format!("{unsent} further turns of 2 conversations were not sent");
    assert!(output.stderr.contains(&said), "{said}: {}", output.stderr);
    let findings = own["findings"].as_array().expect("a list");
    assert!(findings.iter().any(|f| f["finding"] == "turns_dropped" && f["level"] == "warning"), "{own:#}");
}
