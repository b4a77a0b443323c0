//! A load: what is asked, when, and how often.

use indexmap::IndexMap;

use super::whole::NotYet;
use crate::lang::source::Span;

/// One load. Times in seconds, rates per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    pub name: String,
    pub title: String,
    pub data: Option<Data>,
    pub input: Option<(u32, u32)>,
    pub output: Option<(u32, u32)>,
    /// where it says how long prompts and answers are
    pub input_at: Option<Span>,
    pub output_at: Option<Span>,
    /// tokens that a prompt begins with before its input, and shares with others
    pub prefix: Option<u32>,
    /// how many different prefixes there are
    pub prefixes: Option<u32>,
    pub load: Option<Load>,
    /// what the times of a trace are multiplied by
    pub slowdown: Option<f64>,
    /// how long people think between the turns of a conversation, in seconds: from, to
    pub think_s: Option<(f64, f64)>,
    /// whose answers stand in the history of a conversation
    pub answers: Option<Answers>,
    pub in_flight: Option<u32>,
    pub requests: Option<u64>,
    pub duration_s: Option<f64>,
    pub seed: u64,
    /// it says so, and does not leave it to be drawn
    pub seed_stated: bool,
    pub warmup: Option<Warmup>,
    pub timeout_s: Option<f64>,
    pub recipe: Option<String>,
    pub tokenizer: Option<String>,
    pub temperature: Option<f64>,
    /// what else is stated of how tokens are drawn, by its name in a request's body
    pub sampling: IndexMap<&'static str, f64>,
    /// further fields of a request's body
    pub body: serde_json::Map<String, serde_json::Value>,
    pub ignore_eos: Option<bool>,
    /// answers come token by token, and not as wholes
    pub stream: bool,
    /// what of it this version cannot measure
    pub not_yet: Vec<NotYet>,
    pub span: Span,
}

impl Profile {
    /// Tokens of a whole prompt, its prefix included: from, to.
    pub fn prompt_tokens(&self) -> Option<(u32, u32)> {
        let prefix = self.prefix.unwrap_or(0);
        self.input.map(|(from, to)| (from.saturating_add(prefix), to.saturating_add(prefix)))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    Random,
    ShareGpt,
    PrefixRepetition,
    Jsonl(String),
    Trace(String),
    Conversations(String),
}

/// Whose answers later turns of a conversation are sent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// the server's own
    Own,
    /// those in the file
    Recorded,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// all requests at once
    Max,
    Rate {
        per_s: f64,
        arrivals: Arrivals,
    },
    RateRange {
        from: f64,
        to: Option<f64>,
        arrivals: Arrivals,
    },
    Rates(Vec<f64>, Arrivals),
    Concurrency(u32),
    ConcurrencyRange {
        from: u32,
        to: Option<u32>,
    },
    Concurrencies(Vec<u32>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    Poisson,
    Constant,
    Gamma(f64),
    Ramp,
    Steps,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Warmup {
    None,
    Requests(u64),
    Time(f64),
}
