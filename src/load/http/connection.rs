//! One connection: a socket that requests are written into, one after the other.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use super::flow::{Broken, Flow};
use super::sockets::{Placed, Sockets};
use super::tls::Secure;
use crate::load::answer::Answer;

/// Below the 5 s after which uvicorn closes an idle connection, so that no request is written into a closing
/// one.
const IDLE: Duration = Duration::from_secs(4);

/// Round trips within which the end of a connection that crosses a request is seen,
const CROSSING: u32 = 4;
/// and how late a busy client may see it.
const AT_ONCE: Duration = Duration::from_millis(200);

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    placed: Placed,
    /// It has carried an answer before.
    pub used: bool,
    idle_since: Instant,
    /// What it took to be connected: a round trip.
    round_trip: Duration,
}

/// A server that says nothing for so long while a connection is opened is away.
const OPENING: Duration = Duration::from_secs(10);

async fn in_time<T>(what: &str, opening: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(OPENING, opening).await.unwrap_or_else(|_| {
        let why = format!("no {what} within {} s", OPENING.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, why))
    })
}

impl Connection {
    /// Opens one to the first of the addresses that takes it.
    pub(super) async fn open(
        addresses: &[SocketAddr],
        secure: Option<&Secure>,
        among: &Arc<Sockets>,
    ) -> io::Result<Self> {
        let asked = Instant::now();
        let socket = in_time("connection", TcpStream::connect(addresses)).await?;
        let round_trip = asked.elapsed();
        socket.set_nodelay(true)?;
        let session = match secure {
            Some(secure) => Some(in_time("TLS handshake", secure.shake(&socket)).await?),
            None => None,
        };
        let placed = among.add(socket.into_std()?, session)?;
        Ok(Self { placed, used: false, idle_since: Instant::now(), round_trip })
    }

    /// Makes it ready for another request, if there can be one.
    pub(super) fn rest(mut self) -> Option<Self> {
        self.used = true;
        self.idle_since = Instant::now();
        self.flow().reset().then_some(self)
    }

    /// Whether a request may be written into it: it was not idle for long, the server has not closed it, and has said nothing.
    pub(super) fn is_fresh(&self) -> bool {
        self.idle_since.elapsed() < IDLE && self.flow().is_silent()
    }

    /// Whether an end that is seen so long after a request was written may have been under way before the server had the request. One that
    /// comes later is that of a server that took it.
    pub(super) fn may_have_crossed(&self, since_written: Duration) -> bool {
        since_written <= (self.round_trip * CROSSING).max(AT_ONCE)
    }

    /// Whether nothing of an answer has come.
    pub(super) fn is_untouched(&self) -> bool {
        self.flow().is_untouched()
    }

    /// What comes from now on is this answer.
    pub(super) fn expect(&self, answer: Answer) {
        self.flow().expect(answer);
    }

    /// The answer, as far as it has come.
    pub(super) fn take_answer(&self) -> Option<Answer> {
        self.flow().take_answer()
    }

    /// Writes a request. A server that answers before it has all of it is heard at once: what is left is then not written.
    pub(super) async fn write(&self, head: &[u8], body: &[u8]) -> io::Result<()> {
        let (mut head, mut body) = (head, body);
        while !(head.is_empty() && body.is_empty() && !self.flow().owes()) {
            match self.flow().write(head, body) {
                Ok(0) if !(head.is_empty() && body.is_empty()) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    let of_head = written.min(head.len());
                    head = &head[of_head..];
                    body = &body[written - of_head..];
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let mut waited = false;
                    if !poll_fn(|cx| self.flow().poll_room(cx, &mut waited)).await {
                        // what comes next would be read as the rest of this request
                        self.flow().spoil();
                        return Ok(());
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Waits for news of the answer; false at its proper end.
    pub(super) async fn news(&self) -> Result<bool, Broken> {
        poll_fn(|cx| self.flow().poll_news(cx)).await
    }

    pub(super) fn flow(&self) -> &Arc<Flow> {
        &self.placed.flow
    }
}
