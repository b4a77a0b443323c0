//! A small engine that misbehaves as it is told: this test binary, started again by a study. It speaks just enough of the
//! protocol to be measured, and no tool is needed that a machine may lack.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What to do wrong.
pub const HOW: &str = "PLAB_TEST_MISBEHAVES";
pub const PORT: &str = "PLAB_TEST_ENGINE_PORT";
/// Where the worker's number is noted.
pub const WORKER: &str = "PLAB_TEST_WORKER";

/// The key that one asks for which asks for a key.
const KEY: &str = "PLAB_TEST_KEY";

/// Longer than any test waits.
const FOR_EVER: Duration = Duration::from_mins(10);

#[test]
#[ignore = "a process that other tests start"]
fn play() {
    // run by hand, with all that are ignored, it has nothing to play
    let Ok(how) = std::env::var(HOW) else { return };
    if how == "worker" {
        return std::thread::sleep(FOR_EVER);
    }
    let port: u16 = std::env::var(PORT).unwrap().parse().unwrap();
    let listener = crate::engine::sharing_listener(port);
    let worker = how.contains("worker").then(|| Arc::new(Mutex::new(start_worker())));
    for stream in listener.incoming().flatten() {
        let (how, worker) = (how.clone(), worker.clone());
        std::thread::spawn(move || Connection { stream, how, worker }.serve());
    }
}

/// The command line that plays it, for a shell.
pub fn command_line() -> String {
    let program = std::env::current_exe().unwrap();
    let test = format!("{}::play", module_path!().split_once("::").unwrap().1);
    format!("'{}' --ignored --exact {test} --nocapture --test-threads=1", program.display())
}

/// The command that plays one on a port, for a shell.
pub fn play_line(how: &str, port: &str) -> String {
    format!("export {HOW}='{how}' {PORT}=\"{port}\"; exec {}", command_line())
}

fn start_worker() -> Child {
    let test = format!("{}::play", module_path!().split_once("::").unwrap().1);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", &test]).env(HOW, "worker");
    let worker = command.spawn().unwrap();
    std::fs::write(std::env::var(WORKER).unwrap(), worker.id().to_string()).unwrap();
    worker
}

/// Kills this engine at a request that comes after so many, as soon as these are answered.
fn die_after(many: u32, requests: &AtomicU32, answered: &AtomicU32) {
    if requests.fetch_add(1, Ordering::SeqCst) < many {
        return;
    }
    while answered.load(Ordering::SeqCst) < many {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = kill(Pid::this(), Signal::SIGKILL);
}

/// A request, as far as this engine reads it.
struct Asked {
    path: String,
    body: String,
    authorization: String,
}

/// Whether a request has the key; written down either way, in the directory that the engine runs in.
fn admitted(path: &str, authorization: &str) -> bool {
    let admitted = authorization == format!("Bearer {}", std::env::var(KEY).unwrap());
    let file = if admitted { "asked-with" } else { "asked-without" };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
    file.unwrap().write_all(format!("{path}\n").as_bytes()).unwrap();
    admitted
}

struct Connection {
    stream: TcpStream,
    how: String,
    worker: Option<Arc<Mutex<Child>>>,
}

impl Connection {
    /// One request a connection; whatever cannot be written has no reader any more.
    fn serve(mut self) {
        let Some(Asked { path, body, authorization }) = self.request() else { return };
        if self.how == "asks for a key" && !admitted(&path, &authorization) {
            let refusal = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            return drop(self.stream.write_all(refusal));
        }
        if path == "/v1/chat/completions" {
            let _ = self.chat(&body);
            return;
        }
        let answer: &[u8] = match (path.as_str(), self.how.as_str()) {
            ("/health", "never answers") => return std::thread::sleep(FOR_EVER),
            ("/health", "answers garbage to the probe") => b"\0\xff\xfe garbage\r\n\r\n",
            ("/health", "is loading for ever") => {
                b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 17\r\nconnection: close\r\n\r\nmodel  is loading"
            }
            ("/health", "hangs without its worker") if self.lost_its_worker() => {
                b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            }
            _ => b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        };
        let _ = self.stream.write_all(answer);
    }

    fn request(&mut self) -> Option<Asked> {
        let mut reader = BufReader::new(self.stream.try_clone().ok()?);
        let (mut first, mut length, mut authorization) = (String::new(), 0, String::new());
        reader.read_line(&mut first).ok()?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            if line.trim().is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            match name.to_lowercase().as_str() {
                "content-length" => length = value.trim().parse().ok()?,
                "authorization" => value.trim().clone_into(&mut authorization),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let path = first.split(' ').nth(1)?.to_owned();
        Some(Asked { path, body: String::from_utf8(body).ok()?, authorization })
    }

    fn chat(&mut self, body: &str) -> std::io::Result<()> {
        static REQUESTS: AtomicU32 = AtomicU32::new(0);
        static ANSWERED: AtomicU32 = AtomicU32::new(0);
        let me = Pid::this();
        match self.how.as_str() {
            "never answers a request" => std::thread::sleep(FOR_EVER),
            "answers garbage" => {
                return self.stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n\0\xff{garbage\xfe\r\n\r\n");
            }
            "answers noise" => {
                self.head()?;
                let noise: Vec<u8> = (128..=u8::MAX).cycle().take(4000).collect();
                return self.stream.write_all(&[b"data: ", &noise[..], b"\n\n"].concat());
            }
            "breaks off" => return self.stream.write_all(b"HTTP/1.1 20"),
            "sends headers and falls silent" => {
                self.head()?;
                std::thread::sleep(FOR_EVER);
            }
            "kills itself" if REQUESTS.fetch_add(1, Ordering::SeqCst) == 2 => kill(me, Signal::SIGKILL)?,
            "stops itself" if REQUESTS.fetch_add(1, Ordering::SeqCst) == 2 => kill(me, Signal::SIGSTOP)?,
            "stops at its first request" => kill(me, Signal::SIGSTOP)?,
            "dies in mid-load" => die_after(3, &REQUESTS, &ANSWERED),
            "dies in its last request" => die_after(7, &REQUESTS, &ANSWERED),
            // as often as a load of eight is sent
            "leaves the last three" if REQUESTS.fetch_add(1, Ordering::SeqCst) % 8 >= 5 => {
                std::thread::sleep(FOR_EVER);
            }
            "stops after five" | "sticks after five" if REQUESTS.fetch_add(1, Ordering::SeqCst) >= 5 => {
                while ANSWERED.load(Ordering::SeqCst) < 5 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                if self.how == "stops after five" {
                    kill(me, Signal::SIGSTOP)?;
                }
                std::thread::sleep(FOR_EVER);
            }
            _ => {}
        }
        self.answer(body)?;
        ANSWERED.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn head(&mut self) -> std::io::Result<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        self.stream.write_all(head.as_bytes())
    }

    /// The whole answer, a token in 5 ms; in 100 where somebody needs time to interfere.
    fn answer(&mut self, body: &str) -> std::io::Result<()> {
        let wanted: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let tokens = wanted["max_tokens"].as_u64().or(wanted["max_completion_tokens"].as_u64()).unwrap_or(1);
        let pace =
            if ["well", "asks for a key"].contains(&self.how.as_str()) || self.how.starts_with("remembers") {
                5
            } else {
                100
            };
        let cached = self.remembered();
        let prompt = if cached.is_empty() { 16 } else { 1000 };
        self.head()?;
        let all_there_is = match self.how.as_str() {
            "counts tokens of a role alone" => Some("{\"role\":\"assistant\"}"),
            "counts tokens of a letter" => Some("{\"content\":\"x\"}"),
            _ => None,
        };
        if let Some(delta) = all_there_is {
            self.event(&format!(
                "{{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":\"length\"}}]}}"
            ))?;
        }
        for n in 1..=tokens {
            if all_there_is.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(pace));
            if self.lost_its_worker() {
                return self.mourn();
            }
            if n == 3 && self.how == "stops amid its first answers" {
                kill(Pid::this(), Signal::SIGSTOP)?;
            }
            let reason = if n == tokens { "\"length\"" } else { "null" };
            let delta = format!(
                "{{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x \"}},\"finish_reason\":{reason}}}]}}"
            );
            self.event(&delta)?;
        }
        let usage = format!(
            "{{\"prompt_tokens\":{prompt},\"completion_tokens\":{tokens},\"total_tokens\":{}{cached}}}",
            prompt + tokens
        );
        self.event(&format!("{{\"choices\":[],\"usage\":{usage}}}"))?;
        self.event("[DONE]")
    }

    /// What it says of its prefix cache: nothing, unless it is one that remembers what no client has sent.
    fn remembered(&self) -> String {
        static ANSWERS: AtomicU32 = AtomicU32::new(0);
        let before = ANSWERS.fetch_add(1, Ordering::SeqCst);
        let hits = match self.how.as_str() {
            "remembers earlier loads" => before >= 8,
            "remembers earlier launches" => true,
            _ => return String::new(),
        };
        let cached = if hits { 900 } else { 0 };
        format!(",\"prompt_tokens_details\":{{\"cached_tokens\":{cached}}}")
    }

    fn event(&mut self, data: &str) -> std::io::Result<()> {
        self.stream.write_all(format!("data: {data}\n\n").as_bytes())
    }

    fn lost_its_worker(&self) -> bool {
        let ended =
            |w: &Arc<Mutex<Child>>| w.lock().is_ok_and(|mut w| w.try_wait().is_ok_and(|s| s.is_some()));
        self.worker.as_ref().is_some_and(ended)
    }

    /// As one server leaves with 0 after a crash, and another stays and says no more.
    fn mourn(&mut self) -> std::io::Result<()> {
        if self.how == "hangs without its worker" {
            std::thread::sleep(FOR_EVER);
        }
        if self.how == "outlives its worker" {
            println!(
                "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds."
            );
            std::thread::sleep(FOR_EVER);
        }
        println!(
            "(APIServer pid=1) ERROR 11-21 07:19:43 [core_client.py:691] Engine core proc EngineCore_DP0 died unexpectedly, shutting down client."
        );
        self.event("{\"error\":{\"message\":\"EngineCore encountered an issue\",\"code\":500}}")?;
        std::thread::sleep(Duration::from_millis(300));
        std::process::exit(0);
    }
}

/// A listener that shares its port, as a stranger would.
pub fn stranger(port: u16) -> TcpListener {
    crate::engine::sharing_listener(port)
}
