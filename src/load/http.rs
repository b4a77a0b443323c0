//! The transport: the only file that knows the HTTP crate. It opens a stream for a body and hands out pieces
//! with the time at which they came; everything else is decided elsewhere.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use nix::errno::Errno;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::error::LoadError;
use super::record::{Failure, FailureKind};
use super::spec::Header;

/// Below the 5 s after which uvicorn closes an idle connection, so that no request is written into a closing
/// one.
const IDLE_CONNECTION: Duration = Duration::from_secs(4);

/// A kept connection that the server had closed shows within this time; a later loss is the server's doing.
const STALE: Duration = Duration::from_secs(1);

/// Opens streams to one endpoint.
///
/// Connections are kept, until one turns out to have been closed while a request was being written into it.
/// Some servers (llama.cpp's) do that after an answer without announcing it. That request is sent once more
/// on a new connection and marked, and from then on every request gets a connection of its own: it costs a
/// handshake, where the race costs a failure.
#[derive(Debug, Clone)]
pub(super) struct HttpClient {
    keeping: reqwest::Client,
    fresh: reqwest::Client,
    keeps: Arc<AtomicBool>,
    url: reqwest::Url,
}

impl HttpClient {
    /// A client for `POST` to `base_url` + `path`: no proxy, no redirects, no retry of what the server has
    /// seen.
    pub(super) fn new(base_url: &str, path: &str, further: &[Header]) -> Result<Self, LoadError> {
        let url = format!("{}{path}", base_url.trim_end_matches('/'));
        let unusable = |e| LoadError::Spec(format!("the server's address `{url}`: {e}"));
        let parsed = reqwest::Url::parse(&url).map_err(unusable)?;
        let keeps = Arc::new(AtomicBool::new(true));
        let headers = headers(further)?;
        let (keeping, fresh) = (client(usize::MAX, headers.clone())?, client(0, headers)?);
        Ok(Self { keeping, fresh, keeps, url: parsed })
    }

    /// Sends a body and waits for the answer's head.
    pub(super) async fn open(&self, body: Bytes) -> Result<HttpStream, Failure> {
        if !self.keeps.load(Ordering::Relaxed) {
            return self.send(&self.fresh, body, false).await.map_err(|e| failure(&e));
        }
        let began = Instant::now();
        match self.send(&self.keeping, body.clone(), false).await {
            Err(e) if !e.is_connect() && began.elapsed() < STALE => {
                self.keeps.store(false, Ordering::Relaxed);
                self.send(&self.fresh, body, true).await.map_err(|e| failure(&e))
            }
            answer => answer.map_err(|e| failure(&e)),
        }
    }

    async fn send(
        &self,
        client: &reqwest::Client,
        body: Bytes,
        resent: bool,
    ) -> Result<HttpStream, reqwest::Error> {
        let response = client.post(self.url.clone()).body(body).send().await?;
        Ok(HttpStream { response, resent })
    }
}

/// A client that keeps so many idle connections.
fn client(idle: usize, headers: HeaderMap) -> Result<reqwest::Client, LoadError> {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .http1_only()
        .tcp_nodelay(true)
        .pool_max_idle_per_host(idle)
        .pool_idle_timeout(IDLE_CONNECTION)
        .default_headers(headers)
        .build()
        .map_err(|e| LoadError::Client(chain(&e)))
}

/// An answer whose body is coming.
#[derive(Debug)]
pub(super) struct HttpStream {
    response: reqwest::Response,
    resent: bool,
}

impl HttpStream {
    /// Whether the request was sent twice, because the kept connection had been closed.
    pub(super) fn resent(&self) -> bool {
        self.resent
    }

    /// The answer's status.
    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The next bytes and when they came; none at the body's proper end.
    pub(super) async fn next(&mut self) -> Result<Option<(Instant, Bytes)>, Failure> {
        let piece = self.response.chunk().await;
        let at = Instant::now();
        piece.map(|bytes| bytes.map(|bytes| (at, bytes))).map_err(|e| failure(&e))
    }
}

fn headers(further: &[Header]) -> Result<HeaderMap, LoadError> {
    let fixed = HeaderValue::from_static;
    let mut all = HeaderMap::from_iter([
        (CONTENT_TYPE, fixed("application/json")),
        (ACCEPT, fixed("text/event-stream")),
        // compression would merge chunks
        (ACCEPT_ENCODING, fixed("identity")),
    ]);
    for header in further {
        let unfit = |_| LoadError::Spec(format!("the value of the header {} cannot be sent", header.name));
        let name = header.name.parse::<HeaderName>();
        let name = name.map_err(|_| LoadError::Spec(format!("`{}` is no header", header.name)))?;
        let mut value = HeaderValue::from_bytes(header.value.as_bytes()).map_err(unfit)?;
        value.set_sensitive(true);
        all.insert(name, value);
    }
    Ok(all)
}

fn failure(error: &reqwest::Error) -> Failure {
    let kind = match error.is_connect() {
        true if is_local(error) => FailureKind::Local,
        true => FailureKind::Connect,
        false => FailureKind::StreamBroken,
    };
    Failure::new(kind, chain(error))
}

/// Whether the client's own machine, or a limit of its process, refused the connection.
fn is_local(error: &reqwest::Error) -> bool {
    const LIMITS: [Errno; 5] =
        [Errno::EMFILE, Errno::ENFILE, Errno::EADDRNOTAVAIL, Errno::ENOBUFS, Errno::ENOMEM];
    let mut cause = error.source();
    while let Some(inner) = cause {
        let code = inner.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
        if code.is_some_and(|code| LIMITS.contains(&Errno::from_raw(code))) {
            return true;
        }
        cause = inner.source();
    }
    false
}

/// An error with its causes: the outermost alone says little. Causes that repeat what stands there are left
/// out.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = inner.source();
    }
    text
}
