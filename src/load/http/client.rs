//! Requests to one endpoint over connections that are kept, until one turns out to have been closed while a request was being
//! written into it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use std::{fmt, io};

use bytes::Bytes;
use nix::errno::Errno;
use tokio::runtime::Handle;

use super::connection::Connection;
use super::decoder::{HttpError, Where};
use super::flow::{Broken, Flow};
use super::sockets::Sockets;
use super::tls::Secure;
use crate::load::answer::Answer;
use crate::load::error::LoadError;
use crate::load::record::{Failure, FailureKind};
use crate::load::spec::{Header, LoadSpec};

/// Connections that are opened at one time: a server's queue for them is short.
const OPENED_AT_ONCE: usize = 64;

/// Opens streams to one endpoint.
///
/// Some servers (llama.cpp's) close a connection after an answer without announcing it. A request that was written into such
/// a connection is sent once more on a new one and marked, and from then on every request gets a connection of its own: it
/// costs a handshake, where the race costs a failure.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient(Arc<Endpoint>);

struct Endpoint {
    addresses: Vec<SocketAddr>,
    /// Where the server is to be spoken with in TLS.
    secure: Option<Secure>,
    /// The request's head up to the number of bytes of its body; keys may stand in it.
    head: String,
    keeps: AtomicBool,
    /// An answer has come.
    answers: AtomicBool,
    resting: Mutex<VecDeque<Connection>>,
    sockets: Arc<Sockets>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Endpoint {
    async fn open(&self) -> io::Result<Connection> {
        Connection::open(&self.addresses, self.secure.as_ref(), &self.sockets).await
    }
}

impl HttpClient {
    /// A client for `POST` to a load's endpoint: no proxy, no redirects, no retry of what the server has
    /// seen.
    pub(crate) async fn new(spec: &LoadSpec) -> Result<Self, LoadError> {
        let address = spec.base_url.trim_end_matches('/');
        let unusable = |why: String| {
            LoadError::Spec(format!("the server's address `{address}{}`: {why}", spec.api.path()))
        };
        let below = spec.target.as_deref().unwrap_or(spec.api.path());
        let parsed =
            reqwest::Url::parse(&format!("{address}{below}")).map_err(|e| unusable(e.to_string()))?;
        let host = parsed.host_str().ok_or_else(|| unusable("it names no host".to_owned()))?;
        let port = parsed.port_or_known_default().unwrap_or(80);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let secure = (parsed.scheme() == "https").then(|| Secure::with(bare, !spec.insecure)).transpose();
        let secure = secure.map_err(|e| unusable(e.to_string()))?;
        let unknown = |e: io::Error| LoadError::Host { url: address.to_owned(), why: e.to_string() };
        let found = tokio::net::lookup_host((bare, port)).await.map_err(unknown)?;
        let named = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let query = parsed.query().map_or_else(String::new, |query| format!("?{query}"));
        let target = format!("{}{query}", parsed.path());
        let accept = if spec.stream { "text/event-stream" } else { "application/json" };
        // compression would merge chunks
        let further = spec.headers.iter().map(line).collect::<Result<String, _>>()?;
        let head = format!(
            "POST {target} HTTP/1.1\r\nhost: {named}\r\ncontent-type: application/json\r\n\
             accept: {accept}\r\naccept-encoding: identity\r\n{further}content-length: "
        );
        let (keeps, answers, resting) = (AtomicBool::new(true), AtomicBool::new(false), Mutex::default());
        let sockets = Sockets::new().map_err(LoadError::Thread)?;
        Ok(Self(Arc::new(Endpoint {
            addresses: found.collect(),
            secure,
            head,
            keeps,
            answers,
            resting,
            sockets,
        })))
    }

    /// Reads what comes on this runtime, where all requests have to be made then.
    pub(crate) fn serve(&self, on: &Handle) -> Result<(), LoadError> {
        self.0.sockets.serve(on).map_err(LoadError::Thread)
    }

    /// Opens connections until so many are there, so that no request has to wait for a handshake. What cannot be opened now will
    /// be told by the requests.
    pub(crate) async fn open_ahead(&self, wanted: usize) {
        let ready = {
            let mut resting = self.resting();
            resting.retain(Connection::is_fresh);
            resting.len()
        };
        let mut left = wanted.saturating_sub(ready);
        while left > 0 && self.0.keeps.load(Ordering::Relaxed) {
            let now = left.min(OPENED_AT_ONCE);
            let opening = (0..now).map(|_| self.0.open());
            let opened = futures_util::future::join_all(opening).await;
            let good: Vec<_> = opened.into_iter().flatten().collect();
            if good.len() < now {
                left = now;
            }
            self.resting().extend(good);
            left -= now;
        }
    }

    /// Closes the connections that rest: a server that gives each a thread of its own may have none left for who asks it beside the load.
    pub(crate) fn let_go(&self) {
        self.resting().clear();
    }

    /// Takes a connection: a kept one, or a new one.
    pub(crate) async fn connect(&self, body: Bytes) -> Result<HttpStream, Failure> {
        let kept = self.kept();
        let connection = match kept {
            Some(connection) => connection,
            None => self.open().await?,
        };
        Ok(HttpStream {
            client: self.clone(),
            connection: Some(connection),
            body,
            answer: None,
            written: None,
            resent: false,
        })
    }

    fn kept(&self) -> Option<Connection> {
        let mut resting = self.resting();
        // the one that rested longest: all of them are then used before they are too old
        std::iter::from_fn(|| resting.pop_front()).find(Connection::is_fresh)
    }

    async fn open(&self) -> Result<Connection, Failure> {
        self.0.open().await.map_err(|e| {
            let kind = if is_local(&e) { FailureKind::Local } else { FailureKind::Connect };
            Failure::new(kind, format!("cannot connect: {e}"))
        })
    }

    fn resting(&self) -> std::sync::MutexGuard<'_, VecDeque<Connection>> {
        self.0.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request and its answer.
#[derive(Debug)]
pub(crate) struct HttpStream {
    client: HttpClient,
    /// `None` once it was given back.
    connection: Option<Connection>,
    body: Bytes,
    /// The answer, once it has come whole.
    answer: Option<Answer>,
    /// When all of the request had been written.
    written: Option<Instant>,
    resent: bool,
}

impl HttpStream {
    /// Writes the request, whose answer is awaited.
    pub(crate) async fn send(&mut self, answer: Answer) -> Result<(), Failure> {
        if let Some(connection) = &self.connection {
            connection.expect(answer);
        }
        let sent = self.write().await;
        if matches!(&sent, Err(e) if self.is_stale(&Broken::Io(e.kind().into()))) {
            return self.send_again().await;
        }
        sent.map_err(|e| failure(&Broken::Io(e)))
    }

    async fn write(&mut self) -> io::Result<()> {
        let head = format!("{}{}\r\n\r\n", self.client.0.head, self.body.len());
        match &self.connection {
            Some(connection) => connection.write(head.as_bytes(), &self.body).await?,
            None => return Err(io::ErrorKind::NotConnected.into()),
        }
        self.written = Some(Instant::now());
        Ok(())
    }

    /// Waits for news of the answer: its first text, its last word, all of a refusal that is kept. False at the body's proper end.
    pub(crate) async fn news(&mut self) -> Result<bool, Failure> {
        loop {
            let Some(connection) = &self.connection else { return Ok(false) };
            match connection.news().await {
                Ok(true) => return Ok(true),
                Ok(false) => {
                    self.give_back();
                    return Ok(false);
                }
                Err(broken) if self.is_stale(&broken) => self.send_again().await?,
                Err(broken) => return Err(self.failure(&broken)),
            }
        }
    }

    /// Why there is no answer. Servers in Python that speak TLS close a connection on which plain HTTP comes, and say nothing.
    fn failure(&self, broken: &Broken) -> Failure {
        let endpoint = &self.client.0;
        let silent = matches!(broken, Broken::Http(HttpError::Closed(Where::BeforeAnswer)));
        if silent && endpoint.secure.is_none() && !endpoint.answers.load(Ordering::Relaxed) {
            let hint = "; the address of a server that speaks TLS begins with https://";
            return Failure::new(FailureKind::StreamBroken, format!("{broken}{hint}"));
        }
        failure(broken)
    }

    /// Where the answer comes out of; none once it is whole.
    pub(crate) fn pulse(&self) -> Option<Pulse> {
        self.connection.as_ref().map(|connection| Pulse(Arc::clone(connection.flow())))
    }

    /// The answer, as far as it has come.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        self.answer.take().or_else(|| self.connection.as_ref()?.take_answer())
    }

    /// Looks at the answer so far.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Answer) -> T) -> Option<T> {
        match (&self.answer, &self.connection) {
            (Some(answer), _) => Some(look(answer)),
            (None, Some(connection)) => connection.flow().look(look),
            (None, None) => None,
        }
    }

    /// Whether the request was sent twice, because the kept connection had been closed.
    pub(crate) fn resent(&self) -> bool {
        self.resent
    }

    /// A kept connection that the server had closed: it has seen nothing of the request. One that it closes later has carried the request
    /// to a server that gives no answer, and is a failure as on a new connection.
    fn is_stale(&self, broken: &Broken) -> bool {
        let since_written = self.written.map(|at| at.elapsed()).unwrap_or_default();
        let closed_before = |c: &Connection| c.used && c.is_untouched() && c.may_have_crossed(since_written);
        let reused = self.connection.as_ref().is_some_and(closed_before);
        let closed = match broken {
            Broken::Http(e) => *e == HttpError::Closed(Where::BeforeAnswer),
            Broken::Io(e) => matches!(e.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset),
            // a reset
            Broken::Tls(_) => true,
        };
        reused && closed && !self.resent
    }

    async fn send_again(&mut self) -> Result<(), Failure> {
        self.client.0.keeps.store(false, Ordering::Relaxed);
        self.client.resting().clear();
        self.resent = true;
        self.answer = self.answer();
        let fresh = self.client.open().await?;
        if let Some(answer) = self.answer.take() {
            fresh.expect(answer);
        }
        self.connection = Some(fresh);
        self.write().await.map_err(|e| failure(&Broken::Io(e)))
    }

    fn give_back(&mut self) {
        self.client.0.answers.store(true, Ordering::Relaxed);
        self.answer = self.answer();
        let kept = self.connection.take().and_then(Connection::rest);
        if let Some(connection) = kept.filter(|_| self.client.0.keeps.load(Ordering::Relaxed)) {
            self.client.resting().push_back(connection);
        }
    }
}

/// Where an answer comes out of, for those who look for signs of life.
#[derive(Debug)]
pub(crate) struct Pulse(Arc<Flow>);

impl Pulse {
    /// When the last bytes came.
    pub(crate) fn last(&self) -> Instant {
        self.0.last()
    }
}

/// A header's line. Nothing in it may end the line: what follows would be read as further headers.
fn line(header: &Header) -> Result<String, LoadError> {
    let Header { name, value } = header;
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(LoadError::Spec(format!("`{name}` is no header")));
    }
    if !value.bytes().all(|b| b == b'\t' || (b >= b' ' && b != 0x7f)) {
        return Err(LoadError::Spec(format!("the value of the header {name} cannot be sent")));
    }
    Ok(format!("{name}: {value}\r\n"))
}

fn failure(broken: &Broken) -> Failure {
    Failure::new(FailureKind::StreamBroken, broken.to_string())
}

/// Whether the client's own machine, or a limit of its process, refused the connection.
fn is_local(error: &io::Error) -> bool {
    const LIMITS: [Errno; 5] =
        [Errno::EMFILE, Errno::ENFILE, Errno::EADDRNOTAVAIL, Errno::ENOBUFS, Errno::ENOMEM];
    error.raw_os_error().is_some_and(|code| LIMITS.contains(&Errno::from_raw(code)))
}
