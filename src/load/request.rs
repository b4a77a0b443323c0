//! One request from its release to its record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::alarm::Alarm;
use super::answer::Answer;
use super::event::error_text;
use super::guard::Guard;
use super::http::{HttpClient, HttpStream};
use super::kitchen::Rendered;
use super::named;
use super::record::{Failure, FailureKind, RECORD_VERSION, RequestRecord, TurnPlace};
use super::shown::{glimpse, message};
use super::spec::Timeouts;

/// What all requests of one load (or warm-up) share.
#[derive(Debug)]
pub(super) struct Lab {
    pub client: HttpClient,
    pub timeouts: Timeouts,
    pub ignores_eos: bool,
    /// The model that is asked for.
    pub model: String,
    /// Answers are part of later requests.
    pub keeps: bool,
    /// Answers come token by token, not as a whole.
    pub streams: bool,
    /// Time zero.
    pub began: Instant,
    /// Send no more; what is in flight goes on.
    pub enough: CancellationToken,
    /// Drop everything at once.
    pub halt: CancellationToken,
    /// The server is gone: nothing more is sent,
    pub dead: CancellationToken,
    /// and what is in flight has a second.
    pub death: Alarm,
    /// Requests whose turn had come so far.
    pub begun: AtomicU64,
    /// Chunks with text that came so far, in all requests; tokens, where answers come as a whole.
    pub chunks: AtomicU64,
}

impl Lab {
    /// Nanoseconds since the load's start.
    pub(super) fn ns(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.began).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A request whose turn has come.
#[derive(Debug)]
pub(super) struct Job {
    pub index: u64,
    pub scheduled_ns: u64,
    pub released_ns: u64,
    pub rendered: Rendered,
    /// Its place in a conversation.
    pub turn: Option<TurnPlace>,
}

/// Sends a request and follows its stream to the end. Where everything is halted meanwhile, this is dropped with its connection, and
/// there is nothing to say about the request.
pub(super) async fn perform(lab: Arc<Lab>, job: Job) -> RequestRecord {
    perform_and_keep(lab, job).await.0
}

/// The same, with the answer's body where those of the load are kept.
pub(super) async fn perform_and_keep(lab: Arc<Lab>, job: Job) -> (RequestRecord, Vec<u8>) {
    let Job { index, scheduled_ns, released_ns, rendered, turn } = job;
    lab.begun.fetch_add(1, Ordering::Relaxed);
    let mut run = Run { sent: Instant::now(), resent: false, answer: None };
    let end = run.exchange(&lab, &rendered).await;
    let ended = Instant::now();
    let mut answer = run.answer.unwrap_or_else(|| Answer::awaited(Arc::clone(&lab), 0));
    let kept = answer.kept.take().unwrap_or_default();
    let required = lab.ignores_eos.then_some(rendered.output_tokens);
    let report = answer.meter.finish(lab.ns(ended), end, required);
    if !lab.streams {
        // what a stream tells chunk by chunk
        lab.chunks.fetch_add(report.output_tokens.into(), Ordering::Relaxed);
    }
    let record = RequestRecord {
        version: RECORD_VERSION,
        index,
        scheduled_ns,
        released_ns,
        sent_ns: lab.ns(run.sent),
        headers_ns: answer.headers.map(|at| lab.ns(at)),
        // of an answer that comes as a whole nobody knows when it began
        first_token_ns: report.chunks.first().filter(|_| lab.streams).map(|chunk| chunk.at_ns()),
        last_token_ns: report.chunks.last().map(|chunk| chunk.at_ns()),
        end_ns: lab.ns(ended),
        silent: report.silent.into(),
        last_event_ns: report.last_event_ns,
        content_ns: report.content_ns,
        prompt_tokens: report.usage.prompt_tokens,
        prompt_tokens_own: rendered.input_tokens,
        output_tokens_asked: rendered.output_tokens,
        output_tokens: report.output_tokens,
        unseen_tokens: report.unseen_tokens,
        counted_by: report.counted_by,
        cached_tokens: report.usage.cached_tokens,
        finish_reason: report.finish_reason,
        resent: run.resent,
        http_status: answer.status,
        outcome: report.outcome,
        unknown_text: report.unknown_text,
        answered_as: report
            .model
            .filter(|name| named::is_another(name, &lab.model))
            .map(String::into_boxed_str),
        chunks: report.chunks.into_iter().collect(),
        turn,
        form: report.form,
    };
    (record, kept)
}

struct Run {
    sent: Instant,
    resent: bool,
    answer: Option<Answer>,
}

impl Run {
    async fn exchange(&mut self, lab: &Arc<Lab>, rendered: &Rendered) -> Result<(), Failure> {
        let mut guard = Guard::new(lab.timeouts, self.sent, &lab.death);
        let answer = Answer::awaited(Arc::clone(lab), rendered.output_tokens);
        let mut stream = guard.run(lab.client.connect(rendered.body.clone())).await??;
        // a handshake is no part of how long a server takes to answer
        self.sent = Instant::now();
        let end = follow(&mut guard, &mut stream, answer).await;
        self.resent = stream.resent();
        self.answer = stream.answer();
        match &self.answer {
            // what is missing of a refusal does not change that it is one
            Some(answer @ Answer { status: Some(status), .. }) if *status != 200 => {
                Err(refusal(*status, answer))
            }
            _ => end,
        }
    }
}

/// Sends a request and follows its answer to the end.
async fn follow(guard: &mut Guard, stream: &mut HttpStream, answer: Answer) -> Result<(), Failure> {
    guard.run(stream.send(answer)).await??;
    while guard.run(stream.news()).await?? {
        let seen =
            |answer: &Answer| (answer.meter.has_begun(), answer.meter.is_done(), answer.is_refused_whole());
        let (has_begun, is_done, is_refused) = stream.look(seen).unwrap_or_default();
        if is_refused {
            return Ok(());
        }
        if let (true, Some(pulse)) = (has_begun, stream.pulse()) {
            guard.heard(pulse);
        }
        if is_done {
            guard.linger();
        }
    }
    Ok(())
}

/// The failure of an answer that is not 200, with what its body says.
fn refusal(status: u16, Answer { location, retry_after, refused, .. }: &Answer) -> Failure {
    let said =
        serde_json::from_slice(refused).map_or_else(|_| glimpse(refused), |json| message(&error_text(&json)));
    let to = location.as_deref().map(|to| format!(" (to {}, which is not followed)", message(to)));
    // a request that was sent again later would be another load
    let later = retry_after.as_deref().map(|when| format!(" (Retry-After: {})", message(when)));
    let more = to.or(later).unwrap_or_default();
    let said = if said.is_empty() { " without a word".to_owned() } else { format!(": {said}") };
    Failure::new(FailureKind::HttpStatus, format!("{status}{more}{said}"))
}
