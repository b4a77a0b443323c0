//! Prompts that a tokenizer made are sent again from the disk, byte for byte, by a load that asks the same and reads no tokenizer; whatever
//! decides them makes them anew. The real binary against a server that keeps what it was sent.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Lab, Output};

/// Answers every request with one token and keeps the bodies.
struct Server {
    url: String,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let bodies = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || answer(stream, &kept));
            }
        });
        Self { url, bodies }
    }
}

fn answer(stream: TcpStream, kept: &Mutex<Vec<String>>) -> Option<()> {
    const SAID: &str = "data: {\"choices\":[{\"text\":\"x\",\"delta\":{\"content\":\"x\"},\"finish_reason\":\"length\"}],\
        \"usage\":{\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
    let mut writes = stream.try_clone().ok()?;
    let mut reads = BufReader::new(stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        while reads.read_line(&mut line).ok()? > 0 && line != "\r\n" {
            if let Some(n) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = n.trim().parse().ok()?;
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reads.read_exact(&mut body).ok().filter(|()| !line.is_empty())?;
        if length > 0 {
            kept.lock().ok()?.push(String::from_utf8(body).ok()?);
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ";
        write!(writes, "{head}{}\r\n\r\n{SAID}", SAID.len()).ok()?;
    }
}

/// A tokenizer of a hundred words, and where prompts are kept.
struct Bench {
    lab: Lab,
    server: Server,
}

/// What was sent, and where the prompts came from.
type Sent = (Vec<String>, Value);

impl Bench {
    fn new() -> Self {
        let bench = Self { lab: Lab::new(), server: Server::start() };
        bench.tokenizer("w");
        bench
    }

    fn tokenizer(&self, letter: &str) {
        let words: Vec<String> = (0..100).map(|i| format!("\"{letter}{i}\":{i}")).collect();
        let text = format!(
            r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
            "pre_tokenizer":{{"type":"WhitespaceSplit"}},"post_processor":null,"decoder":null,
            "model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"{letter}0"}}}}"#,
            words.join(",")
        );
        self.lab.write("tokenizer.json", text);
    }

    fn run(&self, cache: &str, more: &[&str]) -> Output {
        let usual = [
            ["--endpoint", "/v1/completions"],
            ["--random-input-len", "20"],
            ["--random-output-len", "1"],
            ["--max-concurrency", "1"],
            ["--server-metrics", "none"],
            ["--json", "own.json"],
        ];
        let mut args = vec!["bench", &self.server.url, "--model", "m", "--tokenizer", "."];
        args.extend(usual.iter().filter(|option| !more.contains(&option[0])).flatten());
        args.extend(more);
        let mut command = self.lab.command(&args);
        command.env("XDG_CACHE_HOME", self.lab.path(cache));
        self.lab.start_command(command).wait()
    }

    fn sent_with(&self, cache: &str, more: &[&str]) -> Sent {
        self.server.bodies.lock().expect("bodies").clear();
        self.run(cache, more).expect_code(0);
        let own: Value = serde_json::from_str(&self.lab.read("own.json")).expect("JSON");
        (self.server.bodies.lock().expect("bodies").clone(), own["prompts"].clone())
    }

    fn sent(&self, more: &[&str]) -> Sent {
        self.sent_with("caches", more)
    }

    fn files(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.lab.path("caches/perflab/prompts")).expect("kept prompts");
        all.map(|entry| entry.expect("a file").path()).collect()
    }
}

fn made(prompts: u64) -> Value {
    json!({"from_cache": 0, "made": prompts, "tokenizer_read": true})
}

fn known(prompts: u64) -> Value {
    json!({"from_cache": prompts, "made": 0, "tokenizer_read": false})
}

const FIVE: [&str; 2] = ["--num-prompts", "5"];
const EIGHT: [&str; 2] = ["--num-prompts", "8"];

#[test]
fn a_load_that_asks_the_same_sends_the_same_and_reads_no_tokenizer() {
    let bench = Bench::new();
    let (five, facts) = bench.sent(&FIVE);
    assert_eq!((five.len(), facts), (5, made(5)));
    assert_eq!(bench.sent(&FIVE), (five.clone(), known(5)));
    let (eight, facts) = bench.sent(&EIGHT);
    assert_eq!(facts, json!({"from_cache": 5, "made": 3, "tokenizer_read": true}));
    assert!(eight.starts_with(&five) && eight.len() == 8);
    assert_eq!(bench.sent(&EIGHT), (eight.clone(), known(8)));
    assert_eq!(bench.sent(&FIVE), (five, known(5)));
    assert_eq!(bench.sent(&[&EIGHT[..], &["--no-prompt-cache"]].concat()), (eight.clone(), made(8)));
    assert_eq!(bench.sent_with("elsewhere", &EIGHT), (eight, made(8)));
    // texts are kept and no bodies: what else is asked for makes no difference
    let table = bench.run("caches", &[&FIVE[..], &["--temperature", "0.5"]].concat()).expect_code(0).stdout;
    assert!(table.lines().any(|l| l.starts_with("Prompts from the cache:") && l.ends_with(" 5")), "{table}");
}

#[test]
fn prompts_that_are_ready_and_never_sent_are_not_counted() {
    let bench = Bench::new();
    for _ in 0..2 {
        let (sent, facts) = bench.sent(&["--duration", "0.2"]);
        let number = |name: &str| facts[name].as_u64().expect("a number");
        assert_eq!(number("from_cache") + number("made"), sent.len() as u64, "{facts}");
    }
}

#[test]
fn whatever_decides_prompts_makes_them_anew() {
    let bench = Bench::new();
    let (five, _) = bench.sent(&FIVE);
    for more in [["--seed", "7"], ["--random-input-len", "21"], ["--random-range-ratio", "0.5"]] {
        let (other, facts) = bench.sent(&[&FIVE[..], &more].concat());
        assert_eq!(facts, made(5), "{more:?}");
        assert!(other.iter().all(|body| !five.contains(body)), "{more:?}");
    }
    bench.tokenizer("v");
    let (other, facts) = bench.sent(&FIVE);
    assert_eq!(facts, made(5));
    assert!(other.iter().all(|body| body.contains("\"v") && !body.contains("\"w")), "{other:?}");
    bench.tokenizer("w");
    assert_eq!(bench.sent(&FIVE), (five, known(5)), "the same content is the same tokenizer");
    bench.lab.write("tokenizer_config.json", "{\"clean_up_tokenization_spaces\": true}");
    assert_eq!(bench.sent(&FIVE).1, made(5));
}

#[test]
fn damaged_prompts_are_made_again_and_never_sent() {
    let bench = Bench::new();
    let (five, _) = bench.sent(&FIVE);
    let [kept] = &bench.files()[..] else { panic!("one file") };
    let whole = fs::read(kept).expect("kept");
    for at in [0, 9, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(kept, &bytes).expect("damaged");
        assert_eq!(bench.sent(&FIVE), (five.clone(), made(5)), "byte {at}");
        assert_eq!(bench.sent(&FIVE), (five.clone(), known(5)), "byte {at}, made again");
    }
    fs::write(kept, &whole[..whole.len() - 9]).expect("cut");
    assert_eq!(bench.sent(&FIVE), (five, made(5)));
}

#[test]
fn prompts_of_recipes_and_files_are_kept_too() {
    let bench = Bench::new();
    let recipe = [&FIVE[..], &["--recipe", "vllm"]].concat();
    let (first, facts) = bench.sent(&recipe);
    assert_eq!((first.len(), facts), (5, made(5)));
    assert_eq!(bench.sent(&recipe), (first.clone(), known(5)));
    assert_ne!(bench.sent(&[&recipe[..], &["--seed", "1"]].concat()).0, first);
    let lines = |word: &str| -> String {
        let line = |n: u32| format!("{{\"prompt\": \"w{n} {word}\", \"output_tokens\": 1}}\n");
        (0..5).map(line).collect::<Vec<_>>().concat()
    };
    bench.lab.write("prompts.jsonl", lines("w9"));
    let custom = [&FIVE[..], &["--dataset-name", "custom", "--dataset-path", "prompts.jsonl"]].concat();
    let (first, facts) = bench.sent(&custom);
    assert_eq!(facts, made(5));
    assert_eq!(bench.sent(&custom), (first.clone(), known(5)));
    bench.lab.write("prompts.jsonl", lines("w8"));
    let (other, facts) = bench.sent(&custom);
    assert_eq!(facts, made(5));
    assert!(other.iter().all(|body| body.contains(" w8\"")), "{other:?}");
    let trace =
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6,30,1\n2023-11-16 18:15:46.7,40,1\n";
    bench.lab.write("trace.csv", trace);
    let azure = ["--num-prompts", "2", "--dataset-name", "azure", "--dataset-path", "trace.csv"];
    let (first, facts) = bench.sent(&azure);
    assert_eq!(facts, made(2));
    assert_eq!(bench.sent(&azure), (first, known(2)));
    bench.lab.write("trace.csv", trace.replace(",40,", ",50,"));
    assert_eq!(bench.sent(&azure).1, made(2));
}

#[test]
fn what_a_chat_template_adds_is_known_without_the_tokenizer() {
    let bench = Bench::new();
    bench.lab.write("chat_template.jinja", "w1 w2 {{ messages[0].content }} w3");
    let more = [&FIVE[..], &["--endpoint", "/v1/chat/completions", "--count-chat-template"]].concat();
    let template = || {
        serde_json::from_str::<Value>(&bench.lab.read("own.json")).expect("JSON")["template_tokens"].clone()
    };
    let (first, facts) = bench.sent(&more);
    assert_eq!((facts, template()), (made(5), json!(3)));
    assert_eq!((bench.sent(&more), template()), ((first.clone(), known(5)), json!(3)));
    bench.lab.write("chat_template.jinja", "w1 w2 w3 {{ messages[0].content }} w3");
    let (other, facts) = bench.sent(&more);
    assert_eq!((facts, template()), (made(5), json!(4)));
    assert!(other[0].len() < first[0].len(), "one token less of its own");
}

#[test]
fn where_nothing_can_be_kept_prompts_are_made() {
    let bench = Bench::new();
    bench.lab.write("a file", "x");
    let (first, facts) = bench.sent_with("a file", &FIVE);
    assert_eq!(facts, made(5));
    assert_eq!(bench.sent_with("a file", &FIVE), (first, made(5)));
}

#[test]
fn several_at_once_disturb_nobody() {
    let bench = Bench::new();
    let run = || bench.run("caches", &[&EIGHT[..], &["--json", "/dev/null"]].concat()).expect_code(0);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        for one in all {
            one.join().expect("it ends");
        }
    });
    let mut sent = bench.server.bodies.lock().expect("bodies").clone();
    assert_eq!(sent.len(), 32);
    sent.sort();
    sent.dedup();
    assert_eq!(sent.len(), 8, "all of them sent the same");
    let (again, facts) = bench.sent(&EIGHT);
    assert_eq!((again.len(), facts), (8, known(8)));
}
