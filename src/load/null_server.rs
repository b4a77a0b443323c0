//! A server that does nothing but answer: one token to every open stream at each step, as an engine's batch does. It runs in this
//! process, knows when it wrote what, and so what a client that measures it should have seen.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use super::dist::Dist;

const LISTENER: u64 = u64::MAX;
const TOKEN: &str = r#"{"id":"null","object":"chat.completion.chunk","created":0,"model":"null","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}"#;
const LAST: &str = r#"{"id":"null","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;

/// What it did.
#[derive(Debug, Default)]
pub(super) struct Served {
    /// From a request's coming to its first token, on average, in milliseconds.
    pub first_ms: Option<f64>,
    /// How late its steps were, in milliseconds.
    pub late_p99_ms: Option<f64>,
    /// CPU time of its thread, in seconds.
    pub cpu_s: f64,
}

/// A running one; it ends when it is dropped.
#[derive(Debug)]
pub(super) struct NullServer {
    pub url: String,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Served>>,
}

impl NullServer {
    /// Answers requests with so many tokens, one in each step.
    pub(super) fn start(tokens: u32, step: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let queue = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        queue.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let counter = Counter { listener, queue, streams: Vec::new(), tokens, firsts: Vec::new() };
        let run = move || counter.run(step, &ends);
        let thread = thread::Builder::new().name("perflab-null".to_owned()).spawn(run)?;
        Ok(Self { url, over, thread: Some(thread) })
    }

    /// Ends it, and says what it did.
    pub(super) fn stop(mut self) -> Served {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

struct Stream {
    socket: TcpStream,
    received: Vec<u8>,
    /// Tokens that are still to be written.
    left: u32,
    asked: Instant,
}

struct Counter {
    listener: TcpListener,
    queue: Epoll,
    streams: Vec<Stream>,
    tokens: u32,
    firsts: Vec<f64>,
}

impl Counter {
    fn run(mut self, step: Duration, over: &AtomicBool) -> Served {
        let _ = nix::sys::prctl::set_timerslack(1000);
        let (token, last) = (framed(&[TOKEN]), self.last());
        let (mut next, mut lates) = (Instant::now() + step, Vec::new());
        while !over.load(Ordering::Relaxed) {
            self.hear(next.saturating_duration_since(Instant::now()));
            let now = Instant::now();
            if now >= next {
                self.step(now, &token, &last);
                if self.streams.iter().any(|stream| stream.left > 0) {
                    lates.push((now - next).as_secs_f64() * 1e3);
                }
                // one that was missed is not made up for
                next = (next + step).max(now);
            }
        }
        let used = getrusage(UsageWho::RUSAGE_THREAD).ok();
        let cpu = used.map(|used| (used.user_time() + used.system_time()).num_microseconds() as f64 / 1e6);
        Served {
            first_ms: Dist::of(self.firsts).map(|firsts| firsts.mean),
            late_p99_ms: Dist::of(lates).map(|lates| lates.p99),
            cpu_s: cpu.unwrap_or(0.0),
        }
    }

    /// Takes connections and requests until it is time for the next step.
    fn hear(&mut self, left: Duration) {
        let wait = u16::try_from(left.as_millis()).unwrap_or(u16::MAX);
        let mut said = [EpollEvent::empty(); 64];
        let many = self.queue.wait(&mut said, EpollTimeout::from(wait)).unwrap_or(0);
        for event in &said[..many] {
            match event.data() {
                LISTENER => self.welcome(),
                place => self.read(usize::try_from(place).unwrap_or(usize::MAX)),
            }
        }
        if many == 0 && left < Duration::from_millis(1) {
            thread::sleep(left);
        }
    }

    fn welcome(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            let wanted = EpollEvent::new(EpollFlags::EPOLLIN, self.streams.len() as u64);
            let ready = socket.set_nonblocking(true).is_ok() && socket.set_nodelay(true).is_ok();
            if ready && self.queue.add(&socket, wanted).is_ok() {
                self.streams.push(Stream { socket, received: Vec::new(), left: 0, asked: Instant::now() });
            }
        }
    }

    fn read(&mut self, place: usize) {
        let Some(stream) = self.streams.get_mut(place) else { return };
        let mut buffer = [0; 16 << 10];
        match stream.socket.read(&mut buffer) {
            Ok(0) => drop(self.queue.delete(&stream.socket)),
            Ok(read) => stream.received.extend_from_slice(&buffer[..read]),
            Err(_) => return,
        }
        if let Some(length) = whole(&stream.received) {
            stream.received.drain(..length);
            (stream.left, stream.asked) = (self.tokens, Instant::now());
        }
    }

    fn step(&mut self, now: Instant, token: &[u8], last: &[u8]) {
        const HEAD: &[u8] =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        for stream in self.streams.iter_mut().filter(|stream| stream.left > 0) {
            // a client that does not read any more is gone
            if stream.left == self.tokens {
                self.firsts.push((now - stream.asked).as_secs_f64() * 1e3);
                let _ = stream.socket.write(&[HEAD, token].concat());
            } else {
                let _ = stream.socket.write(token);
            }
            stream.left -= 1;
            if stream.left == 0 {
                let _ = stream.socket.write(last);
            }
        }
    }

    fn last(&self) -> Vec<u8> {
        let usage =
            format!(r#"{{"choices":[],"usage":{{"prompt_tokens":8,"completion_tokens":{}}}}}"#, self.tokens);
        [framed(&[LAST, &usage, "[DONE]"]), b"0\r\n\r\n".to_vec()].concat()
    }
}

/// Events as one chunk of a body.
fn framed(events: &[&str]) -> Vec<u8> {
    let text = events.iter().flat_map(|event| ["data: ", event, "\n\n"]).collect::<String>();
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

/// The length of a request that has come whole.
fn whole(received: &[u8]) -> Option<usize> {
    let head = memchr::memmem::find(received, b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&received[..head]).ok()?;
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let all = head + length.trim().parse::<usize>().ok()?;
    (received.len() >= all).then_some(all)
}
