//! The load generator: draws prompts and arrivals, streams requests to an OpenAI-compatible server, records
//! every chunk and summarises what was measured. It knows servers and clocks, and nothing of the experiment
//! language.

mod alarm;
mod anew;
mod answer;
mod arrivals;
mod body;
mod chunks;
mod client;
mod collect;
mod compatible;
mod dist;
mod drive;
mod effect;
mod error;
mod event;
mod feed;
mod findings;
mod floor;
mod guard;
mod http;
mod inflight;
mod iterations;
mod json;
mod kitchen;
mod late;
mod meter;
mod metronome;
mod named;
mod null_server;
mod observer;
mod outcome;
mod pace;
mod pantry;
mod pieces;
mod plan;
mod prompts;
mod raw;
mod record;
mod request;
mod run;
mod seeds;
mod self_test;
mod sent;
mod series;
mod server;
mod share;
mod shown;
mod spec;
mod sse;
mod stalls;
mod summary;
mod talking;
mod talks;
mod template;
mod tokens;
mod turns;
mod warmup;
mod whole;
mod words;
mod worker;

#[cfg(test)]
mod tests;

pub use arrivals::{Arrivals, schedule};
pub use chunks::Chunks;
pub use client::ClientFacts;
pub use compatible::{Column, Columns, Times, Vllm, columns};
pub use dist::{Dist, samples_needed};
pub use effect::{Effect, EffectTest, effect};
pub use error::LoadError;
pub use findings::{Finding, unseen};
pub use http::{Decoder as HttpDecoder, Head as HttpHead, HttpError};
pub use meter::{StreamMeter, StreamReport, Usage};
pub use named::is_mixed;
pub use observer::{Observer, Phase, Progress, Silent, Verdict};
pub use outcome::{Ended, LoadOutcome, PromptFacts, Sending, WarmupFacts};
pub use pace::{Pace, STEPS};
pub use record::{
    Chunk, Failure, FailureKind, Form, Outcome, RECORD_VERSION, RequestRecord, Textless, TokenSource,
    TurnPlace, UnknownText,
};
pub use run::{prompts, run};
pub use self_test::{SPARE, SelfTest, SelfTestFacts, self_test};
pub use sent::Sent;
pub use series::sum as sum_of_series;
pub use server::{Level, ServerFacts};
pub use spec::{Api, Header, LoadSpec, Prompts, SAMPLING_PARAMS, Sampling, Shared, Stop, Timeouts, Warmup};
pub use sse::{SseDecoder, SseEvent, TooLong};
pub use stalls::Stalled;
pub use summary::{Steady, Summary, summarize};
pub use turns::{TurnFacts, turns};
