//! The head of an HTTP/1.1 answer: what of it decides how its body ends, and whether the connection lives on.

use httparse::{EMPTY_HEADER, Error as ParseError, ParserConfig, Response, Status};
use thiserror::Error;

use crate::load::shown::glimpse;

/// Headers of an answer at first, and at most.
const HEADERS: usize = 64;
const HEADERS_MOST: usize = 4096;

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
    /// by the end of the connection
    Open,
}

/// Why a head cannot be followed by a body that is understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeadError {
    #[error("no HTTP answer ({0}): `{1}`")]
    Malformed(&'static str, String),
    #[error("the answer switches the protocol (101)")]
    Switches,
    #[error("the body's transfer encoding `{0}` is not `chunked`")]
    Transfer(String),
    #[error("the body is encoded as `{0}`, which was not asked for")]
    Encoded(String),
    #[error("the body's length is given as `{0}`")]
    Length(String),
}

/// What an answer's head says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// The server means to read another request from the connection.
    pub keep_alive: bool,
    /// `Location`, where it sends somewhere else.
    pub location: Option<String>,
    /// `Retry-After`, as it was sent.
    pub retry_after: Option<String>,
    lengths: Vec<String>,
    transfer: Option<String>,
    encoding: Option<String>,
}

impl Head {
    /// Reads a head, and how long it is; `None` while it is not whole.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HeadError> {
        let mut room = HEADERS;
        loop {
            let mut headers = vec![EMPTY_HEADER; room];
            let mut response = Response::new(&mut headers);
            let mut config = ParserConfig::default();
            config.allow_obsolete_multiline_headers_in_responses(true);
            config.allow_spaces_after_header_name_in_responses(true);
            match config.parse_response(&mut response, bytes) {
                Ok(Status::Complete(length)) => return Ok(Some((Self::of(&response), length))),
                Ok(Status::Partial) => return Ok(None),
                Err(ParseError::TooManyHeaders) if room < HEADERS_MOST => room *= 4,
                Err(error) => return Err(malformed(error, bytes)),
            }
        }
    }

    fn of(response: &Response<'_, '_>) -> Self {
        let old = response.version == Some(0);
        let mut head = Self {
            status: response.code.unwrap_or_default(),
            keep_alive: !old,
            location: None,
            retry_after: None,
            lengths: Vec::new(),
            transfer: None,
            encoding: None,
        };
        for header in response.headers.iter() {
            let value = || String::from_utf8_lossy(header.value).trim().to_owned();
            match header.name.to_ascii_lowercase().as_str() {
                "content-length" => head.lengths.push(value()),
                // several are one list
                "transfer-encoding" => {
                    let before = head.transfer.take().map_or_else(String::new, |t| t + ", ");
                    head.transfer = Some(before + &value().to_ascii_lowercase());
                }
                "content-encoding" => head.encoding = Some(value().to_ascii_lowercase()),
                "connection" => {
                    for word in value().to_ascii_lowercase().split(',') {
                        match word.trim() {
                            "close" => head.keep_alive = false,
                            "keep-alive" if old => head.keep_alive = true,
                            _ => {}
                        }
                    }
                }
                "location" => head.location = Some(value()),
                "retry-after" => head.retry_after = Some(value()),
                _ => {}
            }
        }
        // whoever says both may be read in two ways, and so may what follows (RFC 9112, 6.3)
        head.keep_alive &= head.transfer.is_none() || head.lengths.is_empty();
        head
    }

    /// How the body ends; `None` for an answer that another one follows (100, 103).
    pub fn framing(&self) -> Result<Option<Framing>, HeadError> {
        match self.status {
            101 => return Err(HeadError::Switches),
            100..200 => return Ok(None),
            204 | 304 => return Ok(Some(Framing::Length(0))),
            _ => {}
        }
        if let Some(encoding) = self.encoding.as_ref().filter(|e| !["", "identity"].contains(&e.as_str())) {
            return Err(HeadError::Encoded(glimpse(encoding.as_bytes())));
        }
        match self.transfer.as_deref() {
            Some("chunked") => return Ok(Some(Framing::Chunked)),
            Some("identity") | None => {}
            Some(other) => return Err(HeadError::Transfer(glimpse(other.as_bytes()))),
        }
        // the same length twice is one length
        let mut stated = self.lengths.iter().flat_map(|l| l.split(',')).map(str::trim);
        let Some(first) = stated.next() else { return Ok(Some(Framing::Open)) };
        let number = first.bytes().all(|b| b.is_ascii_digit()).then(|| first.parse().ok()).flatten();
        match number.filter(|_| stated.all(|other| other == first)) {
            Some(length) => Ok(Some(Framing::Length(length))),
            None => Err(HeadError::Length(glimpse(self.lengths.join(", ").as_bytes()))),
        }
    }
}

fn malformed(error: ParseError, bytes: &[u8]) -> HeadError {
    let why = match error {
        ParseError::HeaderName => "a header's name",
        ParseError::HeaderValue => "a header's value",
        ParseError::NewLine => "a line's end",
        ParseError::Status => "its status",
        ParseError::TooManyHeaders => "too many headers",
        ParseError::Version => "its version",
        ParseError::Token => "its first line",
    };
    HeadError::Malformed(why, glimpse(bytes))
}
