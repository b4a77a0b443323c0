//! One request from its release to its record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::alarm::Alarm;
use super::event::error_text;
use super::guard::Guard;
use super::http::{HttpClient, HttpStream};
use super::kitchen::Rendered;
use super::meter::{StreamMeter, shown};
use super::record::{Failure, FailureKind, RECORD_VERSION, RequestRecord};
use super::spec::Timeouts;

/// Bytes of an error answer that are read at most.
const ERROR_BODY: usize = 16 << 10;

/// What all requests of one load (or warm-up) share.
#[derive(Debug)]
pub(super) struct Lab {
    pub client: HttpClient,
    pub timeouts: Timeouts,
    pub ignores_eos: bool,
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
    /// Chunks with text that came so far, in all requests.
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
}

/// Sends a request and follows its stream to the end. Where everything is halted meanwhile, this is dropped with its connection, and
/// there is nothing to say about the request.
pub(super) async fn perform(lab: Arc<Lab>, job: Job) -> RequestRecord {
    let mut run = Run {
        sent: Instant::now(),
        headers: None,
        status: None,
        location: None,
        resent: false,
        meter: StreamMeter::expecting(job.rendered.output_tokens),
    };
    let Job { index, scheduled_ns, released_ns, rendered } = job;
    let end = run.exchange(&lab, rendered.body).await;
    let ended = Instant::now();
    let required = lab.ignores_eos.then_some(rendered.output_tokens);
    let report = run.meter.finish(lab.ns(ended), end, required);
    RequestRecord {
        version: RECORD_VERSION,
        index,
        scheduled_ns,
        released_ns,
        sent_ns: lab.ns(run.sent),
        headers_ns: run.headers.map(|at| lab.ns(at)),
        first_token_ns: report.chunks.first().map(|chunk| chunk.at_ns()),
        last_token_ns: report.chunks.last().map(|chunk| chunk.at_ns()),
        end_ns: lab.ns(ended),
        prompt_tokens: report.usage.prompt_tokens,
        prompt_tokens_own: rendered.input_tokens,
        output_tokens_asked: rendered.output_tokens,
        output_tokens: report.output_tokens,
        counted_by: report.counted_by,
        cached_tokens: report.usage.cached_tokens,
        finish_reason: report.finish_reason,
        resent: run.resent,
        http_status: run.status,
        outcome: report.outcome,
        unknown_text: report.unknown_text,
        chunks: report.chunks,
    }
}

struct Run {
    sent: Instant,
    headers: Option<Instant>,
    status: Option<u16>,
    location: Option<String>,
    resent: bool,
    meter: StreamMeter,
}

impl Run {
    async fn exchange(&mut self, lab: &Lab, body: bytes::Bytes) -> Result<(), Failure> {
        let mut guard = Guard::new(lab.timeouts, self.sent, &lab.death);
        let mut stream = guard.run(lab.client.connect(body)).await??;
        // a handshake is no part of how long a server takes to answer
        self.sent = Instant::now();
        guard.run(stream.send()).await??;
        let mut refused = Vec::new();
        loop {
            let (meter, mut texts) = (&mut self.meter, 0);
            let mut sink = |at: Instant, status: u16, run: &[u8]| match status {
                200 => texts += meter.bytes(lab.ns(at), run),
                _ => refused.extend_from_slice(&run[..run.len().min(ERROR_BODY - refused.len())]),
            };
            let came = guard.run(stream.next(&mut sink)).await;
            self.head(&stream);
            if let Some(status) = self.status.filter(|status| *status != 200) {
                // what is missing of a refusal does not change that it is one
                if !matches!(came, Ok(Ok(Some(_)))) || refused.len() == ERROR_BODY {
                    return Err(refusal(status, self.location.as_deref(), &refused));
                }
            }
            let Some(at) = came?? else { return Ok(()) };
            self.headers.get_or_insert(at);
            lab.chunks.fetch_add(texts as u64, Ordering::Relaxed);
            if self.meter.has_text() {
                guard.heard(at);
            }
            if self.meter.is_done() {
                guard.linger(at);
            }
        }
    }

    fn head(&mut self, stream: &HttpStream) {
        self.resent = stream.resent();
        if let (None, Some(head)) = (self.status, stream.head()) {
            self.status = Some(head.status);
            self.location.clone_from(&head.location);
        }
    }
}

/// The failure of an answer that is not 200, with what its body says.
fn refusal(status: u16, location: Option<&str>, body: &[u8]) -> Failure {
    let said =
        serde_json::from_slice(body).map_or_else(|_| shown(body).into_owned(), |json| error_text(&json));
    let to = location.map_or_else(String::new, |to| format!(" (to {to}, which is not followed)"));
    Failure::new(FailureKind::HttpStatus, format!("{status}{to}: {}", shown(said.as_bytes())))
}
