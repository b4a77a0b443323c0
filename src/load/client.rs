//! How well the client's own machine kept up: results of a load whose generator was starved are not the
//! server's.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::dist::Dist;
use super::stalls::{STALL, Stalls};

const BEAT: Duration = Duration::from_millis(10);

/// What the client's process was up to during a load.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClientFacts {
    /// 99th percentile of how late a timer of the client's runtime fired, in milliseconds; up to 1 ms is the
    /// timer's own coarseness.
    pub loop_lag_p99_ms: Option<f64>,
    /// The longest that it was late, in milliseconds: a client that was stopped for a while, or starved, saw nothing then.
    #[serde(default)]
    pub stall_ms: Option<f64>,
    /// How late it was each time, in milliseconds.
    #[serde(default)]
    pub lag_ms: Option<Dist>,
    /// CPU time of the whole process during the load, in seconds.
    pub cpu_s: Option<f64>,
    /// The most memory that the process has held so far, in MB.
    #[serde(default)]
    pub rss_mb: Option<f64>,
}

/// How late the client was each time, in milliseconds, and when it stood still.
type Beats = (Vec<f64>, Stalls);

/// Watches the client while a load runs.
#[derive(Debug)]
pub(super) struct ClientWatch {
    stop: DropGuard,
    beats: JoinHandle<Beats>,
    cpu_s: Option<f64>,
}

impl ClientWatch {
    /// Starts to watch the thread that a load's requests run on.
    pub(super) fn start(on: &Handle) -> Self {
        let stop = CancellationToken::new();
        Self { beats: on.spawn(beat(stop.clone())), stop: stop.drop_guard(), cpu_s: cpu_s() }
    }

    /// What was seen since.
    pub(super) async fn stop(self) -> (ClientFacts, Stalls) {
        drop(self.stop);
        let (lags, stalls) = self.beats.await.unwrap_or_default();
        let stall_ms = lags.iter().copied().reduce(f64::max);
        let lag_ms = Dist::of(lags);
        let facts = ClientFacts {
            loop_lag_p99_ms: lag_ms.map(|lags| lags.p99),
            stall_ms,
            lag_ms,
            rss_mb: rss_mb(),
            cpu_s: cpu_s().zip(self.cpu_s).map(|(after, before)| after - before),
        };
        (facts, stalls)
    }
}

async fn beat(stop: CancellationToken) -> Beats {
    let (mut lags, mut stalls) = (Vec::new(), Stalls::new());
    loop {
        let due = Instant::now() + BEAT;
        let stopped = tokio::select! {
            () = sleep_until(due) => false,
            // what it is late by now counts too
            () = stop.cancelled() => true,
        };
        let now = Instant::now();
        let late = now.saturating_duration_since(due);
        lags.push(late.as_secs_f64() * 1e3);
        if late > STALL {
            // it may have stood still since the last time
            stalls.push(((due - BEAT).into_std(), now.into_std()));
        }
        if stopped {
            return (lags, stalls);
        }
    }
}

fn rss_mb() -> Option<f64> {
    // in KiB, on Linux
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    Some(usage.max_rss() as f64 * 1024.0 / 1e6)
}

fn cpu_s() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    Some((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}
