//! What a load is: where it goes, when requests are sent, what they ask for and when it ends. Plain data
//! without a parser, so that whoever drives the generator decides where the settings come from.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::arrivals::Arrivals;
use super::error::LoadError;
use super::sent::Sent;
use crate::data::{DataSet, Source};

/// Which endpoint is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `POST /v1/chat/completions`, the prompt being one user message.
    Chat,
    /// `POST /v1/completions`, the prompt being sent as it is.
    Completions,
    /// SGLang's own `POST /generate`, the prompt being sent as it is. Its events hold the whole text so far.
    Generate,
}

/// What [`Api::Generate`] calls the part of a body that says how tokens are drawn.
pub const SAMPLING_PARAMS: &str = "sampling_params";

impl Api {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Completions, Self::Generate];

    /// The path below the server's base URL.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Generate => "/generate",
        }
    }

    /// The path without a version, as some gateways have it.
    pub fn unversioned(self) -> &'static str {
        let path = self.path();
        path.strip_prefix("/v1").unwrap_or(path)
    }

    /// Whether the server puts a chat template around the prompt.
    pub fn has_template(self) -> bool {
        self == Self::Chat
    }
}

/// When no further request is sent. Requests in flight are always waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// After this many requests.
    Requests(u64),
    /// After this time.
    Duration(Duration),
    /// The larger of 300 and ten requests per slot and at least 60 s, but at most 10 min.
    Auto,
}

/// What is sent before the load, to bring the server to its working state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// Nothing.
    None,
    /// This many requests.
    Requests(u64),
    /// Requests for this time.
    Time(Duration),
    /// At least one request per slot, until three windows of 5 s agree within 2 %; after 120 s the load
    /// starts anyway and says so.
    Auto,
}

/// What the requests ask for: random text of an exact length, and an answer of a given length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompts {
    /// Tokens of a prompt, drawn uniformly from the range, ends included.
    pub input: RangeInclusive<u32>,
    /// Tokens of an answer (`max_tokens`), drawn uniformly from the range, ends included.
    pub output: RangeInclusive<u32>,
    /// A `tokenizer.json` or the folder that holds one. Without it a prompt is as many words as tokens are
    /// wanted.
    pub tokenizer: Option<PathBuf>,
    /// Lengths count what the model's chat template adds.
    pub counts_template: bool,
    /// Tokens before them that prompts have in common.
    pub shared: Option<Shared>,
}

/// A beginning that prompts share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// Its tokens.
    pub tokens: u32,
    /// How many different ones there are; each prompt draws one of them.
    pub groups: u32,
}

/// Sampling parameters; all are always sent, so that a server's own defaults play no part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// `temperature`.
    pub temperature: f64,
    /// `top_p`.
    pub top_p: f64,
    /// `ignore_eos`; `None` sends it exactly when the output length is fixed.
    pub ignore_eos: Option<bool>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, top_p: 1.0, ignore_eos: None }
    }
}

/// When a request is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From sending to the first generated text. Bytes that carry none (a role, a comment) do not extend it,
    /// because they say nothing about when the queue will be through.
    pub first_byte: Duration,
    /// Without any byte, once text has come.
    pub idle: Duration,
    /// For the whole request.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first_byte: Duration::from_mins(10), idle: Duration::from_mins(1), total: None }
    }
}

/// A header that goes with each request. Its value may be a key, and is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its value.
    pub value: String,
}

impl Header {
    /// Whether it says who asks.
    pub fn authorizes(&self) -> bool {
        self.name.eq_ignore_ascii_case("authorization")
    }

    /// `Authorization`, with its scheme.
    pub fn authorization(value: String) -> Self {
        Self { name: "authorization".into(), value }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

/// One load: everything that decides which bytes are sent when.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// `http://host:port`, without `/v1`.
    pub base_url: String,
    /// Path and query below it where they are not the endpoint's path alone, as gateways want them. May hold a key.
    pub target: Option<String>,
    /// The endpoint.
    pub api: Api,
    /// The model name to send.
    pub model: String,
    /// When requests are sent.
    pub arrivals: Arrivals,
    /// Open loop only: at most this many requests in flight. What waits for a place is late from its
    /// scheduled time.
    pub in_flight: Option<usize>,
    /// When the load ends.
    pub stop: Stop,
    /// What precedes it.
    pub warmup: Warmup,
    /// What is asked.
    pub prompts: Prompts,
    /// What the load asks instead, in its order and from the beginning again where it needs more. The warm-up asks as
    /// long ones of its own.
    pub data: Option<Arc<DataSet>>,
    /// What other loads of the same launch have sent.
    pub sent: Sent,
    /// Decides prompts, lengths and arrivals: the same spec sends the same bytes on the same schedule.
    pub seed: u64,
    /// Sampling parameters.
    pub sampling: Sampling,
    /// When requests are given up.
    pub timeouts: Timeouts,
    /// Counts of finished requests (failed ones included), ascending, at which the observer sees the summary
    /// so far and may end the load.
    pub checkpoints: Vec<u64>,
    /// Answers come token by token. Otherwise each comes as a whole (`stream: false`), and there is no time of a first token.
    pub stream: bool,
    /// Ask for running token totals in every chunk (`continuous_usage_stats`). Makes tokens per chunk exact
    /// where a server merges tokens, at the price of longer chunks; servers that do not know it ignore it.
    pub continuous_usage: bool,
    /// Further fields of the request body, e.g. `cache_prompt: false` for llama.cpp.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// The directory in which prompts that are made with a tokenizer are kept, and looked for; none, where there is none.
    pub prompt_cache: Option<PathBuf>,
    /// Further headers of each request, warm-up included.
    pub headers: Vec<Header>,
    /// The certificate of a server with TLS is not looked at.
    pub insecure: bool,
    /// Processors that the client's thread is kept on; any, where there are none.
    pub cpus: Vec<usize>,
    /// The path of the server's page of metrics, to be read during the load.
    pub metrics: Option<String>,
}

impl LoadSpec {
    /// What prompts are made with.
    pub fn tokenizer(&self) -> Option<&PathBuf> {
        self.data.as_ref().and_then(|data| data.tokenizer.as_ref()).or(self.prompts.tokenizer.as_ref())
    }

    /// A chat load of 1024 input and 128 output tokens by one client, with every other setting at its
    /// default.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            target: None,
            api: Api::Chat,
            model: model.into(),
            arrivals: Arrivals::Closed { concurrency: 1 },
            in_flight: None,
            stop: Stop::Auto,
            warmup: Warmup::Auto,
            prompts: Prompts {
                input: 1024..=1024,
                output: 128..=128,
                tokenizer: None,
                counts_template: false,
                shared: None,
            },
            data: None,
            sent: Sent::default(),
            seed: 42,
            sampling: Sampling::default(),
            timeouts: Timeouts::default(),
            checkpoints: Vec::new(),
            stream: true,
            continuous_usage: false,
            extra_body: serde_json::Map::new(),
            prompt_cache: None,
            headers: Vec::new(),
            insecure: false,
            cpus: Vec::new(),
            metrics: None,
        }
    }

    /// Whether `ignore_eos` is sent, so that fewer tokens than asked are a fault.
    pub fn ignores_eos(&self) -> bool {
        let stated = match self.api {
            Api::Generate => self.extra_body.get(SAMPLING_PARAMS).and_then(|params| params.get("ignore_eos")),
            Api::Chat | Api::Completions => self.extra_body.get("ignore_eos"),
        };
        let stated = stated.and_then(serde_json::Value::as_bool).or(self.sampling.ignore_eos);
        stated.unwrap_or(self.prompts.output.start() == self.prompts.output.end())
    }

    /// Whether answers are part of later requests.
    pub(super) fn keeps_answers(&self) -> bool {
        matches!(self.data.as_deref(), Some(DataSet { source: Source::Conversations(talks), .. }) if !talks.recorded)
    }

    /// Rejects what cannot be sent or would never end.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        self.arrivals.check()?;
        check_range("input", &self.prompts.input)?;
        check_range("output", &self.prompts.output)?;
        let refuse = |why: &str| Err(LoadError::Spec(why.to_owned()));
        match (self.arrivals, self.stop) {
            (Arrivals::AllAtOnce, Stop::Duration(_)) => {
                return refuse("all requests at once needs a number of requests, not a duration");
            }
            (_, Stop::Requests(0)) => return refuse("it stops after no request at all"),
            _ => {}
        }
        if self.in_flight == Some(0) {
            return refuse("a cap of 0 in flight would never send anything");
        }
        if self.in_flight.is_some() && matches!(self.arrivals, Arrivals::Closed { .. }) {
            return refuse(
                "a closed loop is capped by its concurrency, a cap on requests in flight has no meaning",
            );
        }
        let traced = self.data.as_ref().is_some_and(|data| matches!(data.source, Source::Trace(_)));
        if matches!(self.arrivals, Arrivals::Trace { .. }) && !traced {
            return refuse("only a trace has times of its own");
        }
        let talks = self.data.as_ref().is_some_and(|data| matches!(data.source, Source::Conversations(_)));
        if talks && self.api != Api::Chat {
            return refuse("conversations are messages: they need the endpoint /v1/chat/completions");
        }
        if !["http://", "https://"].iter().any(|scheme| self.base_url.starts_with(scheme)) {
            let address = &self.base_url;
            return refuse(&format!(
                "the server's address `{address}` begins with neither http:// nor https://"
            ));
        }
        Ok(())
    }
}

fn check_range(which: &str, range: &RangeInclusive<u32>) -> Result<(), LoadError> {
    if *range.start() == 0 {
        return Err(LoadError::Spec(format!("{which} length begins at 0 tokens")));
    }
    if range.is_empty() {
        return Err(LoadError::Spec(format!("{which} length {}..={} is empty", range.start(), range.end())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut LoadSpec)) -> String {
        let mut spec = LoadSpec::new("http://127.0.0.1:1", "m");
        spec.check().expect("the default spec is sound");
        change(&mut spec);
        spec.check().expect_err("this must be refused").to_string()
    }

    #[test]
    fn contradictions_are_refused_with_their_reason() {
        assert!(refused(|s| s.stop = Stop::Requests(0)).contains("no request"));
        assert!(refused(|s| s.in_flight = Some(4)).contains("closed loop"));
        assert!(refused(|s| s.arrivals = Arrivals::Trace { slowdown: 1.0 }).contains("a trace"));
        assert!(refused(|s| s.arrivals = Arrivals::Trace { slowdown: 0.0 }).contains("slowdown"));
        assert!(refused(|s| s.base_url = "ftp://host".into()).contains("http://"));
        assert!(refused(|s| s.prompts.input = 0..=3).contains("input"));
        #[expect(clippy::reversed_empty_ranges, reason = "an empty range is what is refused")]
        let empty = 9..=3;
        assert!(refused(|s| s.prompts.output = empty).contains("output"));
        assert!(refused(|s| s.arrivals = Arrivals::Poisson { rate: f64::NAN }).contains("rate"));
        let at_once = refused(|s| {
            s.arrivals = Arrivals::AllAtOnce;
            s.stop = Stop::Duration(Duration::from_secs(1));
        });
        assert!(at_once.contains("number of requests"));
    }

    #[test]
    fn a_fixed_output_length_ignores_eos_unless_told_otherwise() {
        let mut spec = LoadSpec::new("http://h", "m");
        assert!(spec.ignores_eos());
        spec.prompts.output = 1..=9;
        assert!(!spec.ignores_eos());
        spec.sampling.ignore_eos = Some(true);
        assert!(spec.ignores_eos());
        spec.extra_body.insert("ignore_eos".into(), false.into());
        assert!(!spec.ignores_eos(), "what the body says is sent");
    }
}
