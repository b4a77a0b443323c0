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
    /// CPU time of the whole process during the load, in seconds.
    pub cpu_s: Option<f64>,
}

/// Watches the client while a load runs.
#[derive(Debug)]
pub(super) struct ClientWatch {
    stop: DropGuard,
    beats: JoinHandle<Vec<f64>>,
    cpu_s: Option<f64>,
}

impl ClientWatch {
    /// Starts to watch the thread that a load's requests run on.
    pub(super) fn start(on: &Handle) -> Self {
        let stop = CancellationToken::new();
        Self { beats: on.spawn(beat(stop.clone())), stop: stop.drop_guard(), cpu_s: cpu_s() }
    }

    /// What was seen since.
    pub(super) async fn stop(self) -> ClientFacts {
        drop(self.stop);
        let lags = self.beats.await.unwrap_or_default();
        let stall_ms = lags.iter().copied().reduce(f64::max);
        ClientFacts {
            loop_lag_p99_ms: Dist::of(lags).map(|lags| lags.p99),
            stall_ms,
            cpu_s: cpu_s().zip(self.cpu_s).map(|(after, before)| after - before),
        }
    }
}

async fn beat(stop: CancellationToken) -> Vec<f64> {
    let mut lags = Vec::new();
    loop {
        let due = Instant::now() + BEAT;
        tokio::select! {
            () = sleep_until(due) => lags.push(due.elapsed().as_secs_f64() * 1e3),
            // what it is late by now counts too
            () = stop.cancelled() => {
                lags.push(Instant::now().saturating_duration_since(due).as_secs_f64() * 1e3);
                return lags;
            }
        }
    }
}

fn cpu_s() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    Some((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}
