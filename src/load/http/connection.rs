//! One connection: a socket with the decoder of what comes out of it. Bytes are read into one buffer for each thread, with the time at
//! which they came.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::net::TcpStream;

use super::decoder::{Decoder, HttpError};
use super::stamp;

/// Below the 5 s after which uvicorn closes an idle connection, so that no request is written into a closing
/// one.
const IDLE: Duration = Duration::from_secs(4);
const BUFFER: usize = 64 << 10;

thread_local! {
    static READ: RefCell<Vec<u8>> = RefCell::new(vec![0; BUFFER]);
}

/// What went wrong with a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Http(#[from] HttpError),
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    pub decoder: Decoder,
    /// It has carried an answer before.
    pub used: bool,
    idle_since: Instant,
    /// When the last bytes came, or the request was begun.
    last: Instant,
}

impl Connection {
    /// Opens one to the first of the addresses that takes it.
    pub(super) async fn open(addresses: &[SocketAddr]) -> io::Result<Self> {
        let stream = TcpStream::connect(addresses).await?;
        stream.set_nodelay(true)?;
        stamp::ask(&stream);
        let now = Instant::now();
        Ok(Self { stream, decoder: Decoder::default(), used: false, idle_since: now, last: now })
    }

    /// Puts it by after an answer.
    pub(super) fn rest(&mut self) {
        self.decoder.reset();
        self.used = true;
        self.idle_since = Instant::now();
    }

    /// Whether a request may be written into it: it was not idle for long, the server has not closed it, and has said nothing.
    pub(super) fn is_fresh(&self) -> bool {
        let silent =
            matches!(self.stream.try_read(&mut [0]), Err(e) if e.kind() == io::ErrorKind::WouldBlock);
        self.idle_since.elapsed() < IDLE && silent
    }

    /// Writes a request. A server that answers before it has all of it is heard at once: what is left is then not written.
    pub(super) async fn write(&mut self, head: &[u8], body: &[u8]) -> io::Result<()> {
        let (mut head, mut body) = (head, body);
        self.last = Instant::now();
        loop {
            match self.stream.try_write_vectored(&[IoSlice::new(head), IoSlice::new(body)]) {
                Ok(written) => {
                    let of_head = written.min(head.len());
                    head = &head[of_head..];
                    body = &body[written - of_head..];
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let ready = Interest::WRITABLE | Interest::READABLE;
                    if self.stream.ready(ready).await?.is_readable() && self.has_something().await {
                        return Ok(());
                    }
                }
                Err(e) => return Err(e),
            }
            if head.is_empty() && body.is_empty() {
                return Ok(());
            }
        }
    }

    /// Whether there is something to be read, or the connection is closed.
    async fn has_something(&self) -> bool {
        let peeked = tokio::time::timeout(Duration::ZERO, self.stream.peek(&mut [0])).await;
        peeked.is_ok()
    }

    /// Waits for the next bytes and decodes them: `sink` is called with their time, the status and each run of the body. Returns
    /// the time.
    pub(super) async fn read(
        &mut self,
        sink: &mut impl FnMut(Instant, u16, &[u8]),
    ) -> Result<Instant, Broken> {
        let Self { stream, decoder, last, .. } = self;
        poll_fn(|cx| {
            READ.with_borrow_mut(|buffer| {
                loop {
                    if let Err(e) = ready!(stream.poll_read_ready(cx)) {
                        return Poll::Ready(Err(Broken::Io(e)));
                    }
                    let Some(read) = receive(stream, buffer) else { continue };
                    let (bytes, at) = match read {
                        Ok(read) => read,
                        Err(e) => return Poll::Ready(Err(Broken::Io(e))),
                    };
                    // two clocks are compared, and none of them may turn the order around
                    let at = at.max(*last);
                    *last = at;
                    let fed = match bytes {
                        0 => decoder.closed(),
                        _ => decoder.feed(&buffer[..bytes], &mut |status, run| sink(at, status, run)),
                    };
                    return Poll::Ready(fed.map(|()| at).map_err(Broken::Http));
                }
            })
        })
        .await
    }
}

/// Reads what is there; none if there is nothing. A read that does not fill the buffer has taken all: the socket is then not looked at
/// again before more has come.
fn receive(stream: &TcpStream, buffer: &mut [u8]) -> Option<io::Result<(usize, Instant)>> {
    let mut got = None;
    let tried = stream.try_io(Interest::READABLE, || {
        let read = stamp::read(stream, buffer)?;
        got = Some(read);
        if (1..buffer.len()).contains(&read.0) { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    match (got, tried) {
        (Some(read), _) => Some(Ok(read)),
        (None, Err(e)) if e.kind() == io::ErrorKind::WouldBlock => None,
        (None, Err(e)) => Some(Err(e)),
        (None, Ok(())) => None,
    }
}
