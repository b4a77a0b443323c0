//! What is kept of one request: plain numbers that every metric can be computed from again later.

use serde::{Deserialize, Serialize};

use super::chunks::Chunks;

/// The version of [`RequestRecord`]; it rises when a field changes its meaning.
pub const RECORD_VERSION: u16 = 1;

/// One request from its schedule to its end. Times are monotonic nanoseconds since the load's start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// [`RECORD_VERSION`] of the writer.
    pub version: u16,
    /// The number of the request in sending order, from 0.
    pub index: u64,
    /// When it should have been sent: by the schedule, or in a closed loop when its client became free.
    pub scheduled_ns: u64,
    /// When only the client itself stood in the way: later than scheduled if the cap on requests in flight
    /// held it back.
    pub released_ns: u64,
    /// Just before the request was written.
    pub sent_ns: u64,
    /// When the answer's headers had come.
    pub headers_ns: Option<u64>,
    /// When the first generated text came, of whatever kind; none of an answer that came as a whole.
    pub first_token_ns: Option<u64>,
    /// When the last generated text came.
    pub last_token_ns: Option<u64>,
    /// When the body had ended or was given up.
    pub end_ns: u64,
    /// Every chunk that carried generated text; an answer that came as a whole is one.
    pub chunks: Chunks,
    /// Events of the generation without text, which other tools take for tokens.
    #[serde(default, skip_serializing_if = "<[Textless]>::is_empty")]
    pub silent: Box<[Textless]>,
    /// When the last event that is JSON came, token counts included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_ns: Option<u64>,
    /// When the first and the last text of the answer itself came, neither thoughts nor calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_ns: Option<(u64, u64)>,
    /// Tokens of the prompt as the server counts them, template included.
    pub prompt_tokens: Option<u32>,
    /// Tokens of the prompt as we made it, without a chat template.
    pub prompt_tokens_own: u32,
    /// Tokens asked for (`max_tokens`).
    pub output_tokens_asked: u32,
    /// Tokens received.
    pub output_tokens: u32,
    /// Those that the server counted beyond what the text that came has room for: at least a byte each, or an event of their own.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unseen_tokens: u32,
    /// How tokens received were counted.
    pub counted_by: TokenSource,
    /// Prompt tokens that the server took from its prefix cache, where it says so.
    pub cached_tokens: Option<u32>,
    /// The server's reason for the end.
    pub finish_reason: Option<String>,
    /// Sent twice, because the server had closed the kept connection before; its times count from the first
    /// sending.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resent: bool,
    /// HTTP status of the answer, if there was one.
    pub http_status: Option<u16>,
    /// How it went.
    pub outcome: Outcome,
    /// Delta fields with text that were not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_text: Vec<UnknownText>,
    /// The model that the answer names, where it is another than was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_as: Option<Box<str>>,
    /// Its place in a conversation, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnPlace>,
    /// What of the answer's form clients of other tools fail at.
    #[serde(default, skip_serializing_if = "Form::is_usual")]
    pub form: Form,
}

/// Takes a reference because serde passes one.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(tokens: &u32) -> bool {
    *tokens == 0
}

/// What of an answer's form changes nothing here, and makes clients of other tools fail.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Form {
    /// The body was cut off behind its last word: the end that HTTP had announced did not come.
    pub cut: bool,
    /// Events had other fields than `data: `, or comments inside.
    pub fields: bool,
    /// Events had data on several lines, or none.
    pub lines: bool,
}

impl Form {
    /// Whether there is nothing of it.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The place of a request in a load's conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnPlace {
    /// The number of the conversation, from 0, in the order in which they were begun.
    pub conversation: u64,
    /// The number of the turn in it, from 1.
    pub turn: u32,
}

impl RequestRecord {
    /// Tokens of the prompt: the server's count, else our own.
    pub fn input_tokens(&self) -> u32 {
        self.prompt_tokens.unwrap_or(self.prompt_tokens_own)
    }

    /// Whether its tokens count: it ended properly, if perhaps short.
    pub fn is_completed(&self) -> bool {
        matches!(self.outcome, Outcome::Ok | Outcome::Short)
    }

    /// Time per output token after the first chunk, in nanoseconds; none if all tokens came in one chunk.
    pub fn tpot_ns(&self) -> Option<f64> {
        let first_chunk = self.chunks.first()?;
        let after_first = self.output_tokens.checked_sub(first_chunk.tokens()).filter(|n| *n > 0)?;
        Some(self.last_token_ns?.saturating_sub(first_chunk.at_ns()) as f64 / f64::from(after_first))
    }
}

/// A chunk of text: when it came (nanoseconds since the load's start) and how many tokens had come with it.
/// Written as a pair, since a record holds hundreds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk(pub u64, pub u32);

impl Chunk {
    /// When it came, in nanoseconds since the load's start.
    pub fn at_ns(self) -> u64 {
        self.0
    }

    /// Tokens received up to and with this chunk.
    pub fn tokens(self) -> u32 {
        self.1
    }
}

/// An event of the generation without text: a role alone, or the end. When it came, and whether it held an empty text and no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Textless(pub u64, pub bool);

impl Textless {
    /// When it came, in nanoseconds since the load's start.
    pub fn at_ns(self) -> u64 {
        self.0
    }

    /// Whether it held an empty text and no role.
    pub fn is_blank(self) -> bool {
        self.1
    }
}

/// Where the number of received tokens comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The server's total at the end; where it differs from the number of chunks, tokens per chunk are
    /// estimated.
    Usage,
    /// The server's running totals: exact for every chunk.
    RunningUsage,
    /// One per chunk, because the server sent no total.
    Chunks,
}

/// How a request went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Outcome {
    /// The stream ended with a reason, and no token is missing.
    Ok,
    /// The stream ended with a reason, but with fewer tokens than were asked for with `ignore_eos`.
    Short,
    /// It did not end as it should.
    Failed(Failure),
}

impl Outcome {
    /// What went wrong, if anything did.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Ok | Self::Short => None,
        }
    }
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct Failure {
    /// The kind, for counting.
    pub kind: FailureKind,
    /// What happened, for reading.
    pub message: String,
}

impl Failure {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// Kinds of failure. The names are part of the result format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No connection to the server.
    Connect,
    /// This machine refused the client a connection: no descriptor, no port or no memory was left for it. Not the server's doing.
    Local,
    /// The answer's status is not 200.
    HttpStatus,
    /// The connection broke before the body's end.
    StreamBroken,
    /// The server reported an error inside a stream that began with 200.
    StreamError,
    /// The stream ended, but without a reason.
    NoFinishReason,
    /// One of the time limits passed.
    Timeout,
    /// The stream ended properly without any generated text.
    NoTokens,
    /// The answer is not a stream that we can read.
    BadStream,
}

impl FailureKind {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Local => "local",
            Self::HttpStatus => "http_status",
            Self::StreamBroken => "stream_broken",
            Self::StreamError => "stream_error",
            Self::NoFinishReason => "no_finish_reason",
            Self::Timeout => "timeout",
            Self::NoTokens => "no_tokens",
            Self::BadStream => "bad_stream",
        }
    }
}

impl std::fmt::Display for FailureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A delta field that carried text and was not known: counted as generated text, and told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownText {
    /// The field's name.
    pub field: String,
    /// How many chunks had it.
    pub chunks: u32,
    /// The first such event, cut to a few hundred bytes.
    pub example: String,
}
