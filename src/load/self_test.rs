//! What the load generator can do on this machine, tried against a server in the same process that is never the bottleneck: half as
//! many streams again as a load has, at the pace of its tokens.

use std::time::Duration;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::arrivals::Arrivals;
use super::error::LoadError;
use super::null_server::NullServer;
use super::observer::Silent;
use super::run::run;
use super::spec::{LoadSpec, Prompts, Stop, Warmup};

/// How much more than the load is tried.
pub const SPARE: f64 = 1.5;
/// How long it is tried.
const LONG: Duration = Duration::from_millis(2500);

/// The load whose client is tried.
#[derive(Debug, Clone, PartialEq)]
pub struct SelfTest {
    /// Streams at one time.
    pub streams: u32,
    /// Tokens a second of each of them.
    pub tokens_per_s: f64,
    /// Processors that the client's thread is kept on; any, where there are none.
    pub cpus: Vec<usize>,
}

/// What the client did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SelfTestFacts {
    /// Streams at one time, the spare ones included.
    pub streams: u64,
    /// Chunks a second that the server sent,
    pub chunks_per_s: f64,
    /// and requests that did not end as they should.
    pub failed: u64,
    /// Mean time to the first token by the client, less what the server took.
    pub ttft_error_ms: Option<f64>,
    /// Mean gap between tokens by the client, less the server's step.
    pub itl_error_ms: Option<f64>,
    /// How late requests were sent.
    pub schedule_lag_p99_ms: Option<f64>,
    /// How late the client's thread woke up.
    pub loop_lag_p99_ms: Option<f64>,
    /// CPU seconds a second of the client, the server's apart.
    pub client_cores: Option<f64>,
    /// How late the server itself was: a machine that is busy with something else.
    pub server_late_p99_ms: Option<f64>,
}

/// Tries the client for some seconds.
pub async fn self_test(test: &SelfTest) -> Result<SelfTestFacts, LoadError> {
    let refuse = |why: &str| Err(LoadError::Spec(why.to_owned()));
    if test.streams == 0 || !(test.tokens_per_s > 0.0 && test.tokens_per_s <= 1000.0) {
        return refuse("a client is tried with at least one stream of up to 1000 tokens a second");
    }
    let step = Duration::from_secs_f64(1.0 / test.tokens_per_s);
    let tokens = (LONG.as_secs_f64() / step.as_secs_f64()).ceil().max(2.0) as u32;
    let streams = (f64::from(test.streams) * SPARE).ceil() as u64;
    let server = NullServer::start(tokens, step).map_err(LoadError::Thread)?;
    let mut spec = short_prompts(&server.url, "null", (streams, streams), tokens);
    spec.cpus.clone_from(&test.cpus);
    let (cancel, dead) = (CancellationToken::new(), CancellationToken::new());
    let outcome = run(&spec, &mut Silent, &cancel, &dead).await?;
    let known = server.stop();
    let s = &outcome.summary;
    let per_s = |amount: f64| if s.duration_s > 0.0 { amount / s.duration_s } else { 0.0 };
    Ok(SelfTestFacts {
        streams,
        chunks_per_s: per_s(s.output_tokens as f64),
        failed: s.failed,
        ttft_error_ms: s.ttft_ms.zip(known.first_ms).map(|(ours, theirs)| ours.mean - theirs),
        itl_error_ms: s.itl_ms.map(|itl| itl.mean - step.as_secs_f64() * 1e3),
        schedule_lag_p99_ms: s.schedule_lag_ms.map(|lag| lag.p99),
        loop_lag_p99_ms: s.client.loop_lag_p99_ms,
        client_cores: s.client.cpu_s.map(|all| per_s((all - known.cpu_s).max(0.0))),
        server_late_p99_ms: known.late_p99_ms,
    })
}

/// A closed loop of so many streams, and requests in all, whose prompts are short and whose answers have so many tokens.
pub(super) fn short_prompts(
    url: &str,
    model: &str,
    (streams, requests): (u64, u64),
    tokens: u32,
) -> LoadSpec {
    let mut spec = LoadSpec::new(url, model);
    spec.arrivals = Arrivals::Closed { concurrency: usize::try_from(streams).unwrap_or(usize::MAX) };
    (spec.stop, spec.warmup) = (Stop::Requests(requests), Warmup::None);
    spec.prompts = Prompts {
        input: 8..=8,
        output: tokens..=tokens,
        tokenizer: None,
        shared: None,
        counts_template: false,
    };
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn every_stream_is_read_to_its_end() {
        let test = SelfTest { streams: 5, tokens_per_s: 50.0, cpus: Vec::new() };
        let facts = self_test(&test).await.expect("a test");
        assert_eq!((facts.streams, facts.failed), (8, 0));
        assert!(facts.chunks_per_s > 0.0 && facts.client_cores.is_some(), "{facts:?}");
        assert!(facts.ttft_error_ms.is_some() && facts.itl_error_ms.is_some(), "{facts:?}");
    }

    #[tokio::test]
    async fn no_stream_and_no_pace_are_refused() {
        for (streams, tokens_per_s) in [(0, 40.0), (4, 0.0), (4, f64::NAN), (4, 1e9)] {
            let test = SelfTest { streams, tokens_per_s, cpus: Vec::new() };
            assert!(self_test(&test).await.is_err(), "{test:?}");
        }
    }
}
