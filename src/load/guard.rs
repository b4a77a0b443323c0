//! The time limits of one request, and the end of all requests of a server that has died. One timer per
//! request that is seldom moved: a chunk costs no timer operation.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::record::{Failure, FailureKind};
use super::spec::Timeouts;

/// How long a request of a dead server may look for its own end (mostly a reset, at once) before it is given
/// up.
const DYING: Duration = Duration::from_secs(1);
/// How long the body's end is waited for after the stream's last word, to keep the connection.
const LINGER: Duration = Duration::from_secs(1);

/// Watches over one request.
pub(super) struct Guard {
    timer: Pin<Box<Sleep>>,
    dead: Pin<Box<WaitForCancellationFutureOwned>>,
    limits: Timeouts,
    sent: Instant,
    last_byte: Option<Instant>,
    dying: Option<Instant>,
    lingering: Option<Instant>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("limits", &self.limits)
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// Limits count from `sent`; `dead` says that the server is gone.
    pub(super) fn new(limits: Timeouts, sent: Instant, dead: &CancellationToken) -> Self {
        let mut guard = Self {
            timer: Box::pin(sleep_until(sent.into())),
            dead: Box::pin(dead.clone().cancelled_owned()),
            limits,
            sent,
            last_byte: None,
            dying: None,
            lingering: None,
        };
        guard.rearm();
        guard
    }

    /// Text has come: from now on silence is limited, counted anew with every byte.
    pub(super) fn heard(&mut self, at: Instant) {
        let was_waiting = self.last_byte.replace(at).is_none();
        if was_waiting {
            self.rearm();
        }
    }

    /// The stream has said its last word.
    pub(super) fn linger(&mut self, at: Instant) {
        if self.lingering.is_none() {
            self.lingering = Some(at);
            self.rearm();
        }
    }

    /// Waits for `future`, but no longer than the limits allow.
    pub(super) async fn run<F: Future>(&mut self, future: F) -> Result<F::Output, Failure> {
        let mut future = pin!(future);
        loop {
            tokio::select! {
                biased;
                output = &mut future => return Ok(output),
                () = &mut self.dead, if self.dying.is_none() => {
                    self.dying = Some(Instant::now());
                    self.rearm();
                }
                () = &mut self.timer => {
                    let (deadline, failure) = self.deadline();
                    if deadline <= Instant::now() {
                        return Err(failure);
                    }
                    self.rearm();
                }
            }
        }
    }

    fn rearm(&mut self) {
        let (deadline, _) = self.deadline();
        self.timer.as_mut().reset(deadline.into());
    }

    /// The nearest limit and what passing it means.
    fn deadline(&self) -> (Instant, Failure) {
        let timeout = |from: Instant, limit: Duration, what: &str| {
            (
                from + limit,
                Failure::new(FailureKind::Timeout, format!("{what} within {} s", limit.as_secs_f64())),
            )
        };
        let silence = match self.last_byte {
            None => timeout(self.sent, self.limits.first_byte, "no text"),
            Some(at) => timeout(at, self.limits.idle, "no byte"),
        };
        let others = [
            self.limits.total.map(|total| timeout(self.sent, total, "not done")),
            self.dying.map(|at| (at + DYING, Failure::new(FailureKind::StreamBroken, "the server has died"))),
            self.lingering.map(|at| timeout(at, LINGER, "no end after the last event")),
        ];
        others.into_iter().flatten().fold(silence, |a, b| if b.0 < a.0 { b } else { a })
    }
}
