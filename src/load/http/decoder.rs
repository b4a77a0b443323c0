//! An HTTP/1.1 answer out of bytes, without input or output of its own: whatever pieces a transport received go in, runs of the
//! body come out as they lie in those pieces, and nothing is copied or allocated for them.

use thiserror::Error;

use super::head::{Framing, Head, HeadError};
use crate::load::shown::glimpse;

/// Bytes of a head, or of a chunk's line or the trailers, that are taken at most.
const HEAD_MOST: usize = 64 << 10;
const LINE_MOST: usize = 16 << 10;

/// Why bytes are no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HttpError {
    #[error(transparent)]
    Head(#[from] HeadError),
    #[error("the answer's head is longer than {HEAD_MOST} bytes")]
    HeadTooLong,
    #[error("a chunk of the body has no size: {0}")]
    ChunkSize(String),
    #[error("a chunk of the body is longer than it says")]
    ChunkEnd,
    #[error("the body's framing has a line of more than {LINE_MOST} bytes")]
    LineTooLong,
    #[error("the server speaks TLS: its address begins with https://")]
    Tls,
    #[error("the connection was closed {0}")]
    Closed(Where),
}

/// Where a connection was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    BeforeAnswer,
    InHead,
    InBody,
}

impl std::fmt::Display for Where {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::BeforeAnswer => "before an answer came",
            Self::InHead => "inside the answer's head",
            Self::InBody => "before the body was complete",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// so many bytes are still to come
    Length(u64),
    /// in the line that says how long the next chunk is
    Size,
    Chunk(u64),
    /// the line end behind a chunk's bytes
    ChunkEnd,
    Trailers,
    /// until the connection is closed
    Open,
    Done,
}

/// The decoder's state between two pieces.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    /// The begun head, or the begun line of the framing.
    begun: Vec<u8>,
    head: Option<Head>,
    status: u16,
    surplus: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { state: State::Head, begun: Vec::new(), head: None, status: 0, surplus: false }
    }
}

impl Decoder {
    /// Ready for the next answer on the same connection.
    pub fn reset(&mut self) {
        self.begun.clear();
        (self.state, self.head, self.surplus) = (State::Head, None, false);
    }

    /// The answer's head, once it is whole.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Whether the body is complete.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether another request may be written into the connection.
    pub fn may_be_kept(&self) -> bool {
        self.is_done() && !self.surplus && self.head.as_ref().is_some_and(|h| h.keep_alive)
    }

    /// Whether anything of an answer has come.
    pub fn has_begun(&self) -> bool {
        self.head.is_some() || !self.begun.is_empty()
    }

    /// Takes the next bytes and calls `body` with the status for every run of the body in them. After an error it has lost its place.
    pub fn feed(&mut self, mut bytes: &[u8], body: &mut impl FnMut(u16, &[u8])) -> Result<(), HttpError> {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Head => self.in_head(bytes)?,
                State::Length(left) => {
                    let (run, rest) = split(bytes, left);
                    body(self.status, run);
                    let left = left - run.len() as u64;
                    self.state = if left == 0 { State::Done } else { State::Length(left) };
                    rest
                }
                State::Size => self.in_size(bytes)?,
                State::Chunk(left) => {
                    let (run, rest) = split(bytes, left);
                    body(self.status, run);
                    let left = left - run.len() as u64;
                    self.state = if left == 0 { State::ChunkEnd } else { State::Chunk(left) };
                    rest
                }
                State::ChunkEnd => match bytes {
                    [b'\r', rest @ ..] if self.begun.is_empty() => {
                        self.begun.push(b'\r');
                        rest
                    }
                    [b'\n', rest @ ..] => {
                        self.begun.clear();
                        self.state = State::Size;
                        rest
                    }
                    _ => return Err(HttpError::ChunkEnd),
                },
                State::Trailers => self.in_trailers(bytes)?,
                State::Open => {
                    body(self.status, bytes);
                    &[]
                }
                State::Done => {
                    self.surplus = true;
                    &[]
                }
            };
        }
        Ok(())
    }

    /// The connection was closed: the proper end of a body without a length, the loss of any other.
    pub fn closed(&mut self) -> Result<(), HttpError> {
        match self.state {
            State::Done => Ok(()),
            State::Open => {
                self.state = State::Done;
                Ok(())
            }
            State::Head if self.begun.is_empty() => Err(HttpError::Closed(Where::BeforeAnswer)),
            State::Head => Err(HttpError::Closed(Where::InHead)),
            _ => Err(HttpError::Closed(Where::InBody)),
        }
    }

    fn in_head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], HttpError> {
        /// How the alert begins by which TLS answers what is none.
        const ALERT: u8 = 0x15;
        if self.begun.is_empty() && bytes.first() == Some(&ALERT) {
            return Err(HttpError::Tls);
        }
        // the usual case, a head in one piece, is not copied
        let parsed = if self.begun.is_empty() {
            Head::parse(bytes)?.map(|(head, length)| (head, &bytes[length..]))
        } else {
            let before = self.begun.len();
            self.begun.extend_from_slice(bytes);
            Head::parse(&self.begun)?.map(|(head, length)| (head, &bytes[length - before..]))
        };
        let Some((head, rest)) = parsed else {
            if self.begun.is_empty() {
                self.begun.extend_from_slice(bytes);
            }
            return if self.begun.len() > HEAD_MOST { Err(HttpError::HeadTooLong) } else { Ok(&[]) };
        };
        // however it was cut, the same head is too long
        if self.begun.len().max(bytes.len()) - rest.len() > HEAD_MOST {
            return Err(HttpError::HeadTooLong);
        }
        self.begun.clear();
        // an answer before the answer (100, 103) says nothing of the request
        let framing = match head.framing() {
            Ok(Some(framing)) => framing,
            Ok(None) => return Ok(rest),
            Err(error) => {
                // the status is known, whatever the body would have been
                if head.status >= 200 {
                    self.status = head.status;
                    self.head = Some(head);
                }
                return Err(error.into());
            }
        };
        self.state = match framing {
            Framing::Length(0) => State::Done,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size,
            Framing::Open => State::Open,
        };
        self.status = head.status;
        self.head = Some(head);
        Ok(rest)
    }

    fn in_size<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], HttpError> {
        let Some((line, rest)) = self.line(bytes)? else { return Ok(&[]) };
        let size = chunk_size(line.as_ref())?;
        self.begun.clear();
        self.state = if size == 0 { State::Trailers } else { State::Chunk(size) };
        Ok(rest)
    }

    fn in_trailers<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], HttpError> {
        let Some((line, rest)) = self.line(bytes)? else { return Ok(&[]) };
        let is_last = line.as_ref().is_empty();
        self.begun.clear();
        if is_last {
            self.state = State::Done;
        }
        Ok(rest)
    }

    /// The next line without its end, and what follows; `None` while it is not whole.
    fn line<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<(Line<'a>, &'a [u8])>, HttpError> {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            self.begun.extend_from_slice(bytes);
            return if self.begun.len() > LINE_MOST { Err(HttpError::LineTooLong) } else { Ok(None) };
        };
        let (piece, rest) = (&bytes[..end], &bytes[end + 1..]);
        if self.begun.len() + piece.len() > LINE_MOST {
            return Err(HttpError::LineTooLong);
        }
        let line = if self.begun.is_empty() {
            Line::Here(piece)
        } else {
            let mut whole = std::mem::take(&mut self.begun);
            whole.extend_from_slice(piece);
            Line::Pieced(whole)
        };
        Ok(Some((line, rest)))
    }
}

/// A line of the framing, in one piece of the input or put together from several.
enum Line<'a> {
    Here(&'a [u8]),
    Pieced(Vec<u8>),
}

impl AsRef<[u8]> for Line<'_> {
    fn as_ref(&self) -> &[u8] {
        let line = match self {
            Self::Here(line) => line,
            Self::Pieced(line) => line.as_slice(),
        };
        line.strip_suffix(b"\r").unwrap_or(line)
    }
}

fn split(bytes: &[u8], left: u64) -> (&[u8], &[u8]) {
    bytes.split_at(usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len())))
}

/// The number before any extension (RFC 9112, 7.1).
fn chunk_size(line: &[u8]) -> Result<u64, HttpError> {
    let digits = line.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
    let digit = |size: u64, b: &u8| {
        let value = char::from(*b).to_digit(16)?;
        size.checked_mul(16)?.checked_add(u64::from(value))
    };
    let size = digits.iter().try_fold(0, digit).filter(|_| !digits.is_empty());
    size.ok_or_else(|| HttpError::ChunkSize(format!("`{}`", glimpse(line))))
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
