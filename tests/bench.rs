//! `perflab bench` against a server that runs already, as a person would type it.

mod data;
mod ends;
mod waits;
mod words;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{Lab, Output, binary, packed_records};

/// A simulated engine on a free port; it ends with the test.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(binary());
        command.args(["sim", "--model", "Qwen/Qwen3-0.6B", "--host", "127.0.0.1", "--port", "0"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let said = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut lines = said.lines().map_while(Result::ok);
        let url = lines.find_map(|line| {
            let from = line.find("http://127.0.0.1:")?;
            Some(line[from..].split_whitespace().next()?.trim_end_matches('/').to_owned())
        });
        let url = url.expect("it says where it listens");
        // what it says on is read, so that it never waits
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, url }
    }

    fn bench(&self, lab: &Lab, more: &[&str]) -> Output {
        let mut args = vec!["bench", &self.url, "--model", "Qwen/Qwen3-0.6B"];
        args.extend(["--num-prompts", "12", "--random-input-len", "16", "--random-output-len", "8"]);
        args.extend(more);
        lab.run(&args)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn line<'t>(table: &'t str, name: &str) -> &'t str {
    let found = table.lines().find_map(|l| l.strip_prefix(name));
    found.unwrap_or_else(|| panic!("no `{name}` in\n{table}")).trim()
}

#[test]
fn the_table_and_both_documents_agree() {
    let (lab, server) = (Lab::new(), Server::start());
    let more =
        ["--max-concurrency", "4", "--ignore-eos", "--json", "own.json", "--save-result", "--save-detailed"];
    let named = ["--result-dir", "results", "--result-filename", "vllm.json", "--metadata", "gpu=none"];
    let output = server.bench(&lab, &[&more[..], &named[..]].concat()).expect_code(0);
    let table = output.stdout.clone();
    assert!(table.lines().all(|l| l.len() <= 80), "{table}");
    assert_eq!(line(&table, "Successful requests:"), "12");
    assert_eq!(line(&table, "Failed requests:"), "0");
    assert_eq!(line(&table, "Total generated tokens:"), "96");
    assert_eq!(line(&table, "Maximum request concurrency:"), "4");
    assert!(line(&table, "Mean TTFT (ms):").parse::<f64>().is_ok_and(|ms| ms > 0.0));
    let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
    assert_eq!(own["schema"], "perflab.bench/1");
    assert_eq!((&own["url"], &own["model"]), (&server.url.as_str().into(), &"Qwen/Qwen3-0.6B".into()));
    assert_eq!(own["arrivals"], serde_json::json!({"kind": "closed", "concurrency": 4}));
    let (load, data) = (&own["load"], &own["load"]["data"]);
    assert_eq!(
        (&load["num_prompts"], &load["seed"], &load["ignore_eos"]),
        (&12.into(), &0.into(), &true.into())
    );
    assert_eq!(
        (&data["name"], &data["input_len"], &data["output_len"]),
        (&"random".into(), &16.into(), &8.into())
    );
    assert_eq!((&own["requests"]["planned"], &own["requests"]["unsent"]), (&12.into(), &0.into()));
    assert_eq!((&own["requests"]["errors"], &own["interrupted"]), (&serde_json::json!({}), &false.into()));
    assert!(own["client"]["rss_mb"].as_f64() > Some(1.0) && own["client"]["lag_ms"]["n"].is_u64(), "{own:#}");
    assert_eq!((&own["requests"]["completed"], &own["output_tokens"]), (&12.into(), &96.into()));
    assert!(own["ttft_ms"]["p99"].as_f64() >= own["ttft_ms"]["p50"].as_f64());
    let theirs: Value = serde_json::from_str(&lab.read("results/vllm.json")).expect("JSON");
    assert_eq!((&theirs["completed"], &theirs["total_output_tokens"]), (&12.into(), &96.into()));
    assert_eq!((&theirs["request_rate"], &theirs["backend"]), (&"inf".into(), &"openai-chat".into()));
    assert_eq!(theirs["gpu"], "none");
    assert_eq!(theirs["mean_ttft_ms"], own["compatible"]["vllm-0.11"]["ttft_ms"]["mean"]);
    assert_eq!(theirs["output_lens"], serde_json::json!(vec![8; 12]));
    assert_eq!(theirs["itls"].as_array().map(Vec::len), Some(12));
    assert!(theirs["p99_tpot_ms"].is_number() && theirs["std_itl_ms"].is_number());
}

#[test]
fn whole_answers_have_a_latency_and_no_time_of_a_first_token() {
    let (lab, server) = (Lab::new(), Server::start());
    for endpoint in ["/v1/chat/completions", "/v1/completions"] {
        let more = ["--no-stream", "--max-concurrency", "4", "--ignore-eos", "--endpoint", endpoint];
        let files =
            ["--json", "own.json", "--save-result", "--save-detailed", "--result-filename", "vllm.json"];
        let limits = ["--goodput", "e2el:60000", "--save-requests", "requests.jsonl"];
        let output = server.bench(&lab, &[&more[..], &files, &limits].concat()).expect_code(0);
        let table = output.stdout.clone();
        assert_eq!(line(&table, "Successful requests:"), "12");
        assert_eq!(line(&table, "Total generated tokens:"), "96");
        assert_eq!(line(&table, "Answers:"), "whole: no TTFT, TPOT, ITL");
        assert!(line(&table, "Mean E2EL (ms):").parse::<f64>().is_ok_and(|ms| ms > 0.0));
        assert!(!table.contains("TTFT (ms)") && !table.contains("ITL (ms)"), "{table}");
        let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
        assert_eq!((&own["streamed"], &own["output_tokens"]), (&false.into(), &96.into()));
        for none in ["ttft_ms", "ttft_from_schedule_ms", "tpot_ms", "itl_ms", "icl_ms"] {
            assert!(own[none].is_null(), "{none}: {own}");
        }
        assert_eq!(own["latency_ms"]["n"], 12);
        assert!(own["input_tokens"].as_u64() > Some(12 * 16 - 1), "the server's own count");
        assert_eq!(own["goodput"], own["request_rate"]);
        let theirs: Value = serde_json::from_str(&lab.read("vllm.json")).expect("JSON");
        assert!(theirs["mean_e2el_ms"].as_f64() > Some(0.0));
        for none in
            ["mean_ttft_ms", "mean_tpot_ms", "mean_itl_ms", "ttfts", "itls", "max_output_tokens_per_s"]
        {
            assert!(theirs.get(none).is_none(), "{none}: {theirs}");
        }
        let first: Value =
            serde_json::from_str(lab.read("requests.jsonl").lines().next().expect("one")).expect("JSON");
        assert!(first["first_token_ns"].is_null(), "{first}");
        assert_eq!(first["chunks"], serde_json::json!([[first["last_token_ns"], 8]]));
    }
    let error = server.bench(&lab, &["--no-stream", "--goodput", "ttft:9"]);
    error.expect_error(2, &["--no-stream", "e2el"]);
}

#[test]
fn a_load_of_a_time_goes_through_a_range_of_rates() {
    let (lab, server) = (Lab::new(), Server::start());
    let lengths = ["--random-input-len", "4", "--random-output-len", "2", "--ignore-eos"];
    for arrivals in ["ramp", "steps"] {
        let rates = ["--request-rate", "20", "--request-rate-to", "100", "--arrivals", arrivals];
        let more = [&rates[..], &["--duration", "1", "--json", "own.json"], &lengths].concat();
        let args = [&["bench", &server.url, "--model", "Qwen/Qwen3-0.6B"], &more[..]].concat();
        lab.run(&args).expect_code(0);
        let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
        // the area under the line, drawn so for every seed
        let completed = own["requests"]["completed"].as_u64().expect("a number");
        assert!((60..=61).contains(&completed), "{arrivals}: {own}");
        assert!(own["duration_s"].as_f64() > Some(0.9), "{arrivals}: {own}");
    }
}

#[test]
fn the_file_s_own_name_is_vllm_s() {
    let (lab, server) = (Lab::new(), Server::start());
    server.bench(&lab, &["--request-rate", "400", "--max-concurrency", "9", "--save-result"]).expect_code(0);
    let mut names = std::fs::read_dir(lab.path(".")).expect("the folder").flatten();
    let name = names.find_map(|e| e.file_name().into_string().ok().filter(|n| n.starts_with("openai-")));
    let name = name.expect("a result");
    assert!(name.starts_with("openai-chat-400.0qps-concurrency9-Qwen3-0.6B-20"), "{name}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_sent() {
    let lab = Lab::new();
    let url = "http://127.0.0.1:9";
    let refused = |more: &[&str], code: i32, words: &[&str]| {
        let args = [&["bench", url, "--model", "m"], more].concat();
        lab.run(&args).expect_error(code, words);
    };
    refused(&["--num-prompts", "0"], 2, &["--num-prompts"]);
    refused(&["--request-rate", "0"], 2, &["a rate is more than 0"]);
    refused(&["--metric-percentiles", "42"], 2, &["50, 90, 95, 99 and 99.9"]);
    refused(&["--request-rate", "3", "--arrivals", "ramp"], 2, &["--request-rate-to"]);
    refused(&["--request-rate", "3", "--request-rate-to", "9"], 2, &["`--arrivals ramp` or `steps`"]);
    refused(&["--request-rate", "3", "--arrivals", "trace"], 2, &["leave --request-rate out"]);
    refused(&["--count-chat-template"], 2, &["--tokenizer"]);
    refused(&["--dataset-name", "conversations", "--think-time", "3..1"], 2, &["a range of them"]);
    lab.write("talks.json", data::TALKS);
    let talks = ["--dataset-name", "conversations", "--dataset-path", "talks.json"];
    let completions = ["--endpoint", "/v1/completions"];
    refused(&[&talks[..], &completions].concat(), 2, &["they need the endpoint /v1/chat/completions"]);
    refused(&["--arrivals", "trace"], 2, &["only a trace has times of its own"]);
    lab.write("taken", "a file");
    refused(&["--save-requests", "taken/r.jsonl.gz"], 1, &["taken/r.jsonl.gz", "nothing was sent"]);
    refused(&["--save-requests", "."], 1, &["directory", "nothing was sent"]);
    refused(&["--save-result", "--result-dir", "taken/results"], 1, &["taken/", "nothing was sent"]);
    refused(&["--save-requests", "anew/r.jsonl", "--header", "a b=c"], 2, &["`a b` is no header"]);
    refused(
        &["--json", "anew/deeper/own.json", "--dataset-name", "custom", "--dataset-path", "none"],
        1,
        &["none"],
    );
    assert!(!lab.path("anew").exists(), "a refused load leaves no folder");
    refused(&["--save-result", "--result-dir", "taken"], 1, &["taken/", "nothing was sent"]);
    refused(&["--duration", "3", "--num-prompts", "9"], 2, &["--duration", "--num-prompts"]);
    refused(&["--duration", "3", "--recipe", "vllm", "--tokenizer", "."], 2, &["state --num-prompts"]);
    refused(&["--header", "no header=x"], 2, &["`no header` is no header"]);
    refused(&["--dataset-name", "sharegpt"], 2, &["--dataset-path"]);
    refused(&["--recipe", "vllm"], 2, &["--tokenizer"]);
    refused(&["--duration", "3"], 2, &["not a duration"]);
    refused(&["--header", "Content-Length=3"], 2, &["content-length", "perflab itself"]);
    refused(&["--top-p", "7"], 2, &["from 0 to 1"]);
    refused(&["--save-requests", "-"], 2, &["/dev/stdout"]);
    refused(&["--dataset-name", "custom", "--dataset-path", "none.jsonl"], 1, &["none.jsonl"]);
    lab.run(&["bench", "ftp://host", "--model", "m"]).expect_error(2, &["http://"]);
    let other = "http://127.0.0.1:9/v1/completions";
    lab.run(&["bench", other, "--model", "m"]).expect_error(2, &["--endpoint /v1/completions"]);
    lab.run(&["bench", "http://127.0.0.1:9/#part", "--model", "m"]).expect_error(2, &["`#`"]);
    lab.run(&["bench", url, "--model", ""]).expect_error(2, &["--model"]);
}

#[test]
fn an_address_may_say_what_the_endpoint_s_path_says_too() {
    let (lab, server) = (Lab::new(), Server::start());
    for path in ["/", "/v1", "/v1/", "/v1/chat/completions"] {
        let (url, model) = (format!("{}{path}", server.url), "Qwen/Qwen3-0.6B");
        let args = ["bench", &url, "--model", model, "--num-prompts", "2", "--random-output-len", "2"];
        let output = lab.run(&args).expect_code(0);
        assert_eq!(line(&output.stdout, "Successful requests:"), "2", "{path}");
        assert!(
            output.stdout.contains("Running requests") || output.stdout.contains("Preemptions:"),
            "{path}"
        );
    }
}

/// The request lines of a server that answers nothing but 404.
fn asked(address: &str, more: &[&str]) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = address.replace("HOST", &listener.local_addr().expect("an address").to_string());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            if BufReader::new(&stream).read_line(&mut line).is_ok_and(|read| read > 0) {
                seen.lock().expect("no panic").push(line);
                let _ = stream
                    .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            }
        }
    });
    let args = [&["bench", &url, "--model", "m", "--num-prompts", "1"][..], more].concat();
    Lab::new().run(&args).expect_code(3);
    let lines = lines.lock().expect("no panic");
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn a_gateway_s_address_may_have_a_query_and_no_version() {
    let alone = ["--server-metrics", "none"];
    let chat = "POST /v1/chat/completions";
    for (address, target) in [
        ("http://HOST/v1/chat/completions?api-version=1", format!("{chat}?api-version=1")),
        ("http://HOST?a=1&b=x/completions", format!("{chat}?a=1&b=x/completions")),
        ("http://HOST/v1/?a=1", format!("{chat}?a=1")),
        (
            "http://HOST/openai/deployments/d/chat/completions?api-version=1",
            "POST /openai/deployments/d/chat/completions?api-version=1".to_owned(),
        ),
        ("http://HOST/openai/chat/completions/", "POST /openai/chat/completions".to_owned()),
    ] {
        assert_eq!(asked(address, &alone), [format!("{target} HTTP/1.1")], "{address}");
    }
    let completions = [&alone[..], &["--endpoint", "/v1/completions"]].concat();
    assert_eq!(asked("http://HOST/x/completions?k=v", &completions), ["POST /x/completions?k=v HTTP/1.1"]);
    // the page of metrics is the server's own
    let all = asked("http://HOST/v1/chat/completions?k=v", &[]);
    assert!(all.iter().any(|line| line == "GET /metrics HTTP/1.1"), "{all:?}");
    let other = "http://127.0.0.1:9/openai/deployments/d/completions?k=v";
    Lab::new().run(&["bench", other, "--model", "m"]).expect_error(2, &["--endpoint /v1/completions"]);
}

#[test]
fn a_server_that_is_not_there_gives_nothing() {
    let output = Lab::new().run(&["bench", "http://127.0.0.1:9", "--model", "m", "--num-prompts", "2"]);
    let output = output.expect_code(3);
    assert_eq!(line(&output.stdout, "Failed requests:"), "2");
    assert!(output.stderr.contains("connect: "), "{}", output.stderr);
}

#[test]
fn what_the_server_says_of_itself_stands_beside_the_numbers() {
    let (lab, server) = (Lab::new(), Server::start());
    let more = ["--max-concurrency", "4", "--ignore-eos", "--json", "own.json"];
    // long enough to be looked at
    let rate = ["--request-rate", "10"];
    let output = server.bench(&lab, &[&more[..], &rate].concat()).expect_code(0);
    let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
    let said = &own["server"];
    assert!(said["pages"].as_u64() >= Some(1), "{own}");
    assert!(said["running"]["max"].as_f64().is_some_and(|n| (0.0..=4.0).contains(&n)), "{own}");
    assert!(said["prefix_asked_tokens"].as_f64() >= Some(12.0 * 16.0), "{own}");
    assert_eq!((&said["preemptions"], &said["draft_tokens"]), (&0.0.into(), &Value::Null));
    assert_eq!(line(&output.stdout, "Preemptions:"), "0");
    assert!(line(&output.stdout, "Running requests, mean, max:").contains(", "), "{}", output.stdout);
    let output = server.bench(&lab, &[&more[..], &["--server-metrics", "none"]].concat()).expect_code(0);
    let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
    assert!(own["server"].is_null() && !output.stdout.contains("Preemptions"), "{own}");
}

#[test]
fn requests_are_written_one_a_line_and_those_within_limits_counted() {
    let (lab, server) = (Lab::new(), Server::start());
    let more = ["--max-concurrency", "4", "--ignore-eos", "--json", "own.json"];
    let result = ["--save-result", "--result-filename", "vllm.json"];
    let goodput = |limits: &[&str], file: &str| {
        let file = ["--save-requests", file];
        let output = server.bench(&lab, &[&more[..], &result, &file, &["--goodput"], limits].concat());
        let output = output.expect_code(0);
        let read = |name: &str| -> Value { serde_json::from_str(&lab.read(name)).expect("JSON") };
        let (own, theirs) = (read("own.json"), read("vllm.json"));
        let good = |of: &Value, rate: &str, over: &str| {
            (of[rate].as_f64().expect("a rate") * of[over].as_f64().expect("a time")).round()
        };
        let (ours, their) =
            (good(&own, "goodput", "duration_s"), good(&theirs, "request_goodput", "duration"));
        assert!((ours - their).abs() < f64::EPSILON, "one definition but for single tokens: {own} {theirs}");
        let shown = line(&output.stdout, "Request goodput (req/s):").to_owned();
        let rate = own["goodput"].as_f64().expect("a number");
        assert_eq!(shown, format!("{rate:.2}"));
        (rate, own["request_rate"].as_f64().expect("a number"))
    };
    let (all, of) = goodput(&["ttft:60000", "tpot:60000", "e2el:60000"], "all.jsonl.gz");
    assert!(all > 0.0 && (all / of - 1.0).abs() < 1e-9, "{all} of {of}");
    let (none, _) = goodput(&["ttft:60000", "e2el:0.0001"], "none.jsonl");
    assert!(none.abs() < f64::EPSILON, "{none}");

    let packed = std::fs::read(lab.path("all.jsonl.gz")).expect("written");
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).expect("gzip");
    for text in [unpacked, lab.read("none.jsonl")] {
        let records: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        assert_eq!(records.len(), 12);
        for (index, record) in records.iter().enumerate() {
            assert_eq!((&record["index"], &record["output_tokens"]), (&index.into(), &8.into()), "{record}");
            let chunks = record["chunks"].as_array().expect("chunks");
            assert_eq!(chunks.last().expect("one")[0], record["last_token_ns"], "{record}");
        }
    }
}

#[test]
fn a_file_without_room_takes_nothing_from_the_others() {
    let (lab, server) = (Lab::new(), Server::start());
    let files = ["--json", "/dev/full", "--save-requests", "made/anew/requests.jsonl.gz"];
    let output = server.bench(&lab, &files).expect_code(1);
    assert_eq!(line(&output.stdout, "Successful requests:"), "12");
    assert!(output.stderr.contains("/dev/full: No space left on device"), "{}", output.stderr);
    assert_eq!(packed_records(&lab.path("made/anew/requests.jsonl.gz")).len(), 12);
    let files = ["--save-requests", "/dev/full", "--json", "own.json"];
    let output = server.bench(&lab, &files).expect_code(1);
    assert!(output.stderr.contains("/dev/full: No space left on device"), "{}", output.stderr);
    assert!(lab.read("own.json").contains("\"completed\": 12"), "{}", lab.read("own.json"));
}

#[test]
fn a_document_that_cannot_be_written_leaves_the_one_that_was_there() {
    let (lab, server) = (Lab::new(), Server::start());
    lab.write("own.json", "of an earlier load");
    // what a full disk does: the file may not grow
    let mut command = Command::new("bash");
    let more = "--max-concurrency 4 --num-prompts 12 --random-input-len 16 --random-output-len 8";
    let bench = format!("{} bench {} --model Qwen/Qwen3-0.6B {more} --json own.json", binary(), server.url);
    command.current_dir(lab.path(".")).args(["-c", &format!("ulimit -f 0; {bench} | cat")]);
    let out = command.output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("own.json: File too large"), "{said}");
    assert!(String::from_utf8_lossy(&out.stdout).contains("Inter-token Latency"), "the numbers stand there");
    assert_eq!(lab.read("own.json"), "of an earlier load");
    let kept = std::fs::read_dir(lab.path(".")).expect("the folder").flatten();
    assert!(
        !kept.map(|e| e.file_name()).any(|name| name.to_string_lossy().contains("own.json.")),
        "no draft"
    );
    server.bench(&lab, &["--json", "own.json"]).expect_code(0);
    assert!(lab.read("own.json").contains("\"completed\": 12"));
}

/// A bench of one request, and nothing else asked of the server.
fn one_request(url: &str) -> [&str; 10] {
    ["bench", url, "--model", "m", "--num-prompts", "1", "--server-metrics", "none", "--json", "own.json"]
}

#[test]
fn who_asks_may_stand_in_the_address_and_is_shown_nowhere() {
    let lab = Lab::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let url = format!("http://user:open-sesame-9@{address}/v1");
    let bench = lab.start(&one_request(&url));
    let (asked, _) = listener.accept().expect("a connection");
    let mut lines = BufReader::new(asked.try_clone().expect("a socket")).lines().map_while(Result::ok);
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    // python -c "import base64; print(base64.b64encode(b'user:open-sesame-9'))"
    assert!(head.contains(&"authorization: Basic dXNlcjpvcGVuLXNlc2FtZS05".to_owned()), "{head:?}");
    assert!(
        head[0].starts_with("POST /v1/chat/completions ") && head.contains(&format!("host: {address}")),
        "{head:?}"
    );
    drop((lines, asked, listener));
    let output = bench.wait().expect_code(3);
    let all = output.stdout + &output.stderr + &lab.read("own.json");
    assert!(!all.contains("open-sesame-9") && !all.contains("dXNlcjpv"), "{all}");
}

#[test]
fn of_an_option_that_is_stated_twice_the_last_counts() {
    let (lab, server) = (Lab::new(), Server::start());
    let more = ["--num-prompts", "3", "--seed", "1", "--seed", "7", "--json", "own.json"];
    server.bench(&lab, &more).expect_code(0);
    let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
    assert_eq!((&own["load"]["seed"], &own["requests"]["completed"]), (&7.into(), &3.into()));
}

#[test]
fn no_heading_is_taken_for_a_secret() {
    let (lab, server) = (Lab::new(), Server::start());
    let output =
        server.bench(&lab, &["--percentile-metrics", "ttft,tpot,itl,e2el", "--compat"]).expect_code(0);
    assert!(output.stdout.contains("---Inter-token Latency---"), "{}", output.stdout);
    for said in [output, lab.run(&["bench", "--help"]), lab.run(&["exec", "--help"])] {
        assert!(
            !said.stdout.contains("***") && !said.stderr.contains("***"),
            "{}{}",
            said.stdout,
            said.stderr
        );
    }
}

#[test]
fn a_load_that_is_interrupted_before_an_answer_prints_no_numbers() {
    let lab = Lab::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let bench = lab.start(&one_request(&url));
    let (mut asked, _) = listener.accept().expect("a connection");
    asked.read_exact(&mut [0; 4]).expect("a request");
    kill(Pid::from_raw(bench.child.id() as i32), Signal::SIGINT).expect("it lives");
    let output = bench.wait().expect_code(75);
    assert!(output.stdout.is_empty() && !lab.path("own.json").exists(), "{}", output.stdout);
    assert!(output.stderr.contains("nothing was measured"), "{}", output.stderr);
}

#[test]
fn options_that_would_decide_nothing_are_refused() {
    let (lab, server) = (Lab::new(), Server::start());
    for (more, why) in [
        (&["--dataset-path", "x.json"][..], "--dataset-path is read by data sets of a file"),
        (&["--think-time", "2"], "--think-time is about"),
        (&["--arrivals", "constant"], "--arrivals needs --request-rate"),
        (&["--file", "study.plab"], "--file names the study of a --profile"),
        (&["--trace-slowdown", "2"], "--trace-slowdown is about the times of a trace"),
        (&["--burstiness", "2"], "--burstiness is about the gaps of a --request-rate"),
        (&["--request-rate", "9", "--arrivals", "constant", "--burstiness", "2"], "--burstiness is about"),
        (&["--temperature", "nan"], "write a number from 0 on"),
        (&["--extra-body", r#"{"stream": false}"#], "decided by --no-stream"),
        (&["--json", "a.json", "--save-requests", "a.json"], "two options name it"),
    ] {
        let out = server.bench(&lab, more);
        assert_eq!(out.code, 2, "{more:?}: {}", out.stderr);
        assert!(out.stderr.contains(why), "{more:?}: {}", out.stderr);
    }
    let many = lab.run(&["bench", &server.url, "--model", "m", "--num-prompts", "99999999999"]);
    assert!(many.code == 2 && many.stderr.contains("10000000"), "{}", many.stderr);
}

#[test]
fn a_client_that_was_stopped_for_a_while_says_so() {
    let (lab, server) = (Lab::new(), Server::start());
    let mut command = Command::new(binary());
    command.current_dir(lab.path(".")).args([
        "-q",
        "bench",
        &server.url,
        "--model",
        "Qwen/Qwen3-0.6B",
        "--random-input-len",
        "16",
    ]);
    command.args([
        "--random-output-len",
        "8",
        "--num-prompts",
        "120",
        "--request-rate",
        "20",
        "--json",
        "own.json",
    ]);
    let client = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let id = Pid::from_raw(i32::try_from(client.id()).expect("a pid"));
    std::thread::sleep(std::time::Duration::from_secs(1));
    kill(id, Signal::SIGSTOP).expect("stopped");
    std::thread::sleep(std::time::Duration::from_secs(2));
    kill(id, Signal::SIGCONT).expect("goes on");
    let out = client.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("held the client up"), "{said}");
    let own: Value = serde_json::from_str(&lab.read("own.json")).expect("JSON");
    assert!(own["client_held_up"].as_str().is_some_and(|why| why.contains("held the client up")), "{own}");
}
