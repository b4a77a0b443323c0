//! The time limits of one request, and the end of all requests of a server that has died. One timer per
//! request that is seldom moved: a chunk costs no timer operation.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::futures::OwnedNotified;
use tokio::time::{Sleep, sleep_until};

use super::alarm::Alarm;
use super::http::Pulse;
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
    dead: Alarm,
    death: Pin<Box<OwnedNotified>>,
    /// Both know the task that they have to wake.
    registered: bool,
    limits: Timeouts,
    sent: Instant,
    last_byte: Option<Instant>,
    /// Where bytes are seen that nobody was told of.
    pulse: Option<Pulse>,
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
    pub(super) fn new(limits: Timeouts, sent: Instant, dead: &Alarm) -> Self {
        let mut guard = Self {
            timer: Box::pin(sleep_until(sent.into())),
            dead: dead.clone(),
            death: Box::pin(dead.wait()),
            registered: false,
            limits,
            sent,
            last_byte: None,
            pulse: None,
            dying: None,
            lingering: None,
        };
        guard.rearm();
        guard
    }

    /// Text has come: from now on silence is limited, counted anew with every byte that comes there.
    pub(super) fn heard(&mut self, pulse: Pulse) {
        if self.pulse.is_none() {
            self.last_byte = Some(pulse.last());
            self.pulse = Some(pulse);
            self.rearm();
        }
    }

    /// The stream has said its last word.
    pub(super) fn linger(&mut self) {
        if self.lingering.is_none() {
            self.lingering = Some(Instant::now());
            self.rearm();
        }
    }

    /// Waits for `future`, but no longer than the limits allow. Always called by the same task.
    pub(super) async fn run<F: Future>(&mut self, future: F) -> Result<F::Output, Failure> {
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => self.limit(cx).map(Err),
        })
        .await
    }

    /// Whether a limit is reached. A chunk costs the look at two flags: what is registered wakes the task by itself.
    fn limit(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        if self.dying.is_none() && self.dead.has_rung() {
            self.dying = Some(Instant::now());
            self.rearm();
        }
        while !self.registered || self.timer.is_elapsed() {
            if !self.registered {
                self.registered = true;
                // what it says is told by the flag
                let _ = self.death.as_mut().poll(cx);
                if self.dying.is_none() && self.dead.has_rung() {
                    self.dying = Some(Instant::now());
                    self.rearm();
                }
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                break;
            }
            self.last_byte = self.pulse.as_ref().map(Pulse::last).or(self.last_byte);
            let (deadline, failure) = self.deadline();
            if deadline <= Instant::now() {
                return Poll::Ready(failure);
            }
            self.rearm();
        }
        Poll::Pending
    }

    fn rearm(&mut self) {
        let (deadline, _) = self.deadline();
        self.timer.as_mut().reset(deadline.into());
        // a timer that was reset forgets nobody, but has to be looked at once to run
        self.registered = false;
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
