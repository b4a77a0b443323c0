//! A small HTTP/1.1 server whose answers follow a script, down to cutting the connection in the middle of a
//! chunk. Written on bare sockets, because a proper server library refuses to misbehave.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinHandle;

/// What the server does next in an answer. The answer ends properly after the last step.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends these bytes as one chunk.
    Send(String),
    Wait(Duration),
    /// Waits until as many requests as the barrier wants are at this step.
    Together(Arc<Barrier>),
    /// Closes the connection here.
    Cut,
    /// Falls silent until the client leaves.
    Hang,
}

/// An answer: its status, further header lines, and the steps of its body. Without a status nothing is sent
/// before the steps.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: Option<&'static str>,
    pub headers: &'static str,
    pub steps: Vec<Step>,
}

impl Reply {
    pub fn stream(steps: Vec<Step>) -> Self {
        Self { status: Some("200 OK"), headers: "", steps }
    }
}

/// What the server has seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub bodies: Mutex<Vec<Value>>,
    pub heads: Mutex<Vec<String>>,
    pub connections: AtomicUsize,
    pub open: AtomicUsize,
    pub in_flight: AtomicUsize,
    pub peak: AtomicUsize,
    /// After this many requests the next on the same connection is dropped unanswered; 0 is no limit.
    pub per_connection: AtomicUsize,
}

/// A running server; it stops when it is dropped.
#[derive(Debug)]
pub struct Server {
    pub url: String,
    pub seen: Arc<Seen>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers each request as `script` says, given its number and its body.
    pub async fn start(script: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Seen::default());
        let (kept, script) = (Arc::clone(&seen), Arc::new(script));
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (seen, script) = (Arc::clone(&kept), Arc::clone(&script));
                tokio::spawn(async move {
                    seen.connections.fetch_add(1, Ordering::SeqCst);
                    seen.open.fetch_add(1, Ordering::SeqCst);
                    // an error is the client's leaving
                    let _ = serve(socket, &seen, &*script).await;
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { url, seen, task }
    }
}

type Script = dyn Fn(usize, &Value) -> Reply + Send + Sync;

async fn serve(mut socket: TcpStream, seen: &Seen, script: &Script) -> std::io::Result<()> {
    let mut received = Vec::new();
    let mut served = 0;
    while let Some((head, body)) = request(&mut socket, &mut received).await? {
        let limit = seen.per_connection.load(Ordering::SeqCst);
        if limit > 0 && served == limit {
            return Ok(());
        }
        served += 1;
        let number = {
            let mut bodies = seen.bodies.lock().expect("no panic");
            bodies.push(body.clone());
            bodies.len() - 1
        };
        seen.heads.lock().expect("no panic").push(head);
        let now = seen.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        seen.peak.fetch_max(now, Ordering::SeqCst);
        let goes_on = answer(&mut socket, script(number, &body)).await;
        // before the last bytes: the client may send its next request the moment it has them
        seen.in_flight.fetch_sub(1, Ordering::SeqCst);
        if !goes_on? {
            return Ok(());
        }
        socket.write_all(b"0\r\n\r\n").await?;
    }
    Ok(())
}

/// The next request's head and body; none when the client has closed the connection.
async fn request(socket: &mut TcpStream, received: &mut Vec<u8>) -> std::io::Result<Option<(String, Value)>> {
    loop {
        if let Some(end) = received.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            let whole = end + 4 + length.unwrap_or(0);
            if received.len() >= whole {
                let body = serde_json::from_slice(&received[end + 4..whole]).unwrap_or(Value::Null);
                received.drain(..whole);
                return Ok(Some((head, body)));
            }
        }
        if socket.read_buf(received).await? == 0 {
            return Ok(None);
        }
    }
}

/// Whether the connection may be used on.
async fn answer(socket: &mut TcpStream, reply: Reply) -> std::io::Result<bool> {
    if let Some(status) = reply.status {
        let head = format!("HTTP/1.1 {status}\r\n{}Transfer-Encoding: chunked\r\n\r\n", reply.headers);
        socket.write_all(head.as_bytes()).await?;
    }
    for step in reply.steps {
        match step {
            Step::Send(text) => {
                socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await?;
            }
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::Together(barrier) => {
                barrier.wait().await;
            }
            Step::Cut => return Ok(false),
            Step::Hang => {
                let _ = socket.read(&mut [0; 16]).await?;
                return Ok(false);
            }
        }
    }
    Ok(true)
}
