//! The simulated engine in virtual time: what a load would take, in milliseconds of ours. It drives the same engine
//! as the server, so a prediction and a simulated run agree but for the run's own overhead.

use std::collections::VecDeque;
use std::time::Duration;

use foldhash::HashMap;

use super::config::EngineConfig;
use super::scheduler::{Counters, Refusal};
use super::sequence::{Emission, Ending, Request, RequestId};
use super::simulation::Simulation;
use super::tokens::{Prompt, mix};

/// Time between two requests that the clients of a closed loop send at once. No two real ones leave together, and
/// the front end amplifies the difference: without it, clients that start together would stay in step for ever.
const SEND_TIME: Duration = Duration::from_micros(250);

/// One request of a load. `input_tokens` of a chat request include the template's
/// (`TEMPLATE_TOKENS`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestShape {
    /// Tokens of the prompt.
    pub input_tokens: u32,
    /// Tokens of the answer.
    pub output_tokens: u32,
    /// Tokens at the beginning of the prompt that all requests of the load have in common.
    pub shared_prefix_tokens: u32,
}

/// When requests are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrivals {
    /// So many clients, each sending its next request when its last is answered.
    Closed {
        /// Requests in flight.
        concurrency: usize,
    },
    /// At these times from the start of the load, in ascending order, one per request; requests without a time of
    /// their own are sent with the last.
    Open(Vec<Duration>),
}

/// A load to predict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The requests, in the order in which they are sent.
    pub requests: Vec<RequestShape>,
    /// When.
    pub arrivals: Arrivals,
}

impl Load {
    /// `count` equal requests without a common prefix.
    pub fn uniform(count: usize, input_tokens: u32, output_tokens: u32, arrivals: Arrivals) -> Self {
        let shape = RequestShape { input_tokens, output_tokens, shared_prefix_tokens: 0 };
        Self { requests: vec![shape; count], arrivals }
    }
}

/// Times of one predicted request, from the start of the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTimes {
    /// When it was sent.
    pub sent: Duration,
    /// When its first token came.
    pub first_token: Duration,
    /// When its last token came.
    pub last_token: Duration,
    /// The longest wait between two of its tokens.
    pub longest_gap: Duration,
    /// Tokens that came with the first.
    pub first_tokens: u32,
    /// Tokens in all.
    pub output_tokens: u32,
}

impl RequestTimes {
    /// Time to first token.
    pub fn ttft(&self) -> Duration {
        self.first_token.saturating_sub(self.sent)
    }

    /// Time per output token after the first; `None` when no token came after it.
    pub fn tpot(&self) -> Option<Duration> {
        let later = self.output_tokens.checked_sub(self.first_tokens).filter(|later| *later > 0)?;
        Some(self.last_token.saturating_sub(self.first_token) / later)
    }
}

/// What a load would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// From the first request sent to the last token.
    pub duration: Duration,
    /// From the start of the engine until it is ready.
    pub startup: Duration,
    /// Tokens of all prompts.
    pub input_tokens: u64,
    /// Tokens of all answers.
    pub output_tokens: u64,
    /// Engine steps.
    pub steps: u64,
    /// The engine's totals.
    pub counters: Counters,
    /// Times of each request, in the order of the load.
    pub requests: Vec<RequestTimes>,
}

impl Prediction {
    /// Generated tokens per second.
    pub fn output_tps(&self) -> f64 {
        self.output_tokens as f64 / self.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Prompt and generated tokens per second.
    pub fn total_tps(&self) -> f64 {
        (self.input_tokens + self.output_tokens) as f64 / self.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Mean time to first token in seconds; 0 without requests.
    pub fn mean_ttft(&self) -> f64 {
        mean(self.requests.iter().map(|times| times.ttft().as_secs_f64()))
    }

    /// Mean over requests of the time per output token in seconds; 0 when no request has more than one.
    pub fn mean_tpot(&self) -> f64 {
        mean(self.requests.iter().filter_map(RequestTimes::tpot).map(|tpot| tpot.as_secs_f64()))
    }
}

/// A request of the load that the engine would refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("request {index} of the load cannot be served: {refusal}")]
pub struct PredictError {
    /// Which, from 0.
    pub index: usize,
    /// Why.
    #[source]
    pub refusal: Refusal,
}

/// Runs the load through an idle engine.
pub fn predict(config: &EngineConfig, load: &Load) -> Result<Prediction, PredictError> {
    let mut run = Run::new(config, load);
    let duration = run.drive()?;
    Ok(Prediction {
        duration,
        startup: config.startup(),
        input_tokens: load.requests.iter().map(|request| u64::from(request.input_tokens)).sum(),
        output_tokens: run.times.iter().map(|times| u64::from(times.output_tokens)).sum(),
        steps: run.steps,
        counters: run.simulation.scheduler().counters(),
        requests: run.times,
    })
}

struct Run<'a> {
    load: &'a Load,
    simulation: Simulation,
    times: Vec<RequestTimes>,
    index_of: HashMap<RequestId, usize>,
    next: usize,
    steps: u64,
    /// Clients of a closed loop that have their answer, with the time when they got it.
    idle_clients: VecDeque<Duration>,
    /// When the next of them can send.
    can_send: Duration,
}

impl<'a> Run<'a> {
    fn new(config: &EngineConfig, load: &'a Load) -> Self {
        let clients = match load.arrivals {
            Arrivals::Closed { concurrency } => concurrency.clamp(1, load.requests.len().max(1)),
            Arrivals::Open(_) => 0,
        };
        Self {
            load,
            simulation: config.simulation(),
            times: vec![RequestTimes::default(); load.requests.len()],
            index_of: HashMap::default(),
            next: 0,
            steps: 0,
            idle_clients: vec![Duration::ZERO; clients].into(),
            can_send: Duration::ZERO,
        }
    }

    /// Steps until all requests are answered; returns when that was.
    fn drive(&mut self) -> Result<Duration, PredictError> {
        let mut now = Duration::ZERO;
        loop {
            while let Some(at) = self.next_arrival().filter(|at| *at <= now) {
                self.send(at)?;
            }
            if let Some(plan) = self.simulation.step(now) {
                now += plan.duration;
                self.steps += 1;
                plan.emissions.iter().for_each(|emission| self.receive(emission, now));
                continue;
            }
            let next = [self.simulation.next_time(), self.next_arrival()].into_iter().flatten().min();
            let Some(next) = next else { return Ok(now) };
            now = now.max(next);
        }
    }

    /// When the next request is sent; in a closed loop that is not known while all clients wait for answers.
    fn next_arrival(&self) -> Option<Duration> {
        if self.next >= self.load.requests.len() {
            return None;
        }
        match &self.load.arrivals {
            Arrivals::Closed { .. } => self.idle_clients.front().map(|since| self.can_send.max(*since)),
            Arrivals::Open(times) => Some(times.get(self.next).or(times.last()).copied().unwrap_or_default()),
        }
    }

    fn send(&mut self, at: Duration) -> Result<(), PredictError> {
        let index = self.next;
        let shape = self.load.requests[index];
        let id = index as RequestId;
        let request = Request {
            id,
            prompt: prompt_of(&shape, id, self.simulation.scheduler().limits().prefix_caching),
            output_tokens: shape.output_tokens,
            ending: Ending::Length,
        };
        self.simulation.submit(at, request).map_err(|refusal| PredictError { index, refusal })?;
        self.times[index].sent = at;
        self.idle_clients.pop_front();
        self.can_send = at + SEND_TIME;
        self.index_of.insert(id, index);
        self.next += 1;
        Ok(())
    }

    fn receive(&mut self, emission: &Emission, now: Duration) {
        let Some(&index) = self.index_of.get(&emission.id) else { return };
        let times = &mut self.times[index];
        if times.output_tokens == 0 {
            times.first_token = now;
            times.first_tokens = emission.tokens;
        } else {
            times.longest_gap = times.longest_gap.max(now.saturating_sub(times.last_token));
        }
        times.last_token = now;
        times.output_tokens += emission.tokens;
        if emission.ending.is_some() {
            self.idle_clients.push_back(now);
        }
    }
}

/// A prompt of tokens that no other request has, behind those that all have.
fn prompt_of(shape: &RequestShape, id: RequestId, named: bool) -> Prompt {
    if !named {
        return Prompt { tokens: shape.input_tokens, ..Prompt::default() };
    }
    let shared = shape.shared_prefix_tokens.min(shape.input_tokens);
    let mut prompt = Prompt::default();
    prompt.extend((0..shared).map(u64::from));
    prompt.extend((shared..shape.input_tokens).map(|place| mix(id) ^ u64::from(place)));
    prompt
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    if count == 0 { 0.0 } else { sum / count as f64 }
}
