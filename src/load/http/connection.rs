//! One connection: a socket with the decoder of what comes out of it. Bytes are read into one buffer for each thread, and stamped
//! before anybody looks at them.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

use super::decoder::{Decoder, HttpError};

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
}

impl Connection {
    /// Opens one to the first of the addresses that takes it.
    pub(super) async fn open(addresses: &[SocketAddr]) -> io::Result<Self> {
        let stream = TcpStream::connect(addresses).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, decoder: Decoder::default(), used: false, idle_since: Instant::now() })
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
        loop {
            match self.stream.try_write_vectored(&[IoSlice::new(head), IoSlice::new(body)]) {
                Ok(written) => {
                    let of_head = written.min(head.len());
                    head = &head[of_head..];
                    body = &body[written - of_head..];
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let ready = tokio::io::Interest::WRITABLE | tokio::io::Interest::READABLE;
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
        let Self { stream, decoder, .. } = self;
        poll_fn(|cx| {
            READ.with_borrow_mut(|buffer| {
                let mut read = ReadBuf::new(buffer);
                let polled = Pin::new(&mut *stream).poll_read(cx, &mut read);
                let at = Instant::now();
                match polled {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(Err(e)) => Poll::Ready(Err(Broken::Io(e))),
                    Poll::Ready(Ok(())) if read.filled().is_empty() => {
                        Poll::Ready(decoder.closed().map_err(Broken::Http))
                    }
                    Poll::Ready(Ok(())) => {
                        let fed = decoder.feed(read.filled(), &mut |status, run| sink(at, status, run));
                        Poll::Ready(fed.map_err(Broken::Http))
                    }
                }
                .map_ok(|()| at)
            })
        })
        .await
    }
}
