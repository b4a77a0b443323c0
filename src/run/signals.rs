//! Signals: the first one asks for a clean end, the second kills at once.
//!
//! A terminal that is closed says so more than once, by the kernel and by the shell: what follows at once is no second word.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Hang-ups that follow a first one so shortly are of the same terminal.
const ECHO: Duration = Duration::from_secs(2);
/// The same signal so shortly after the first is the same word: `timeout` sends it to the process and to its group. Nobody types so fast.
const TWIN: Duration = Duration::from_millis(50);

/// What signals have asked for so far.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    /// end cleanly
    pub first: CancellationToken,
    /// end at once
    pub second: CancellationToken,
}

impl Signals {
    /// Begins to listen. The exit code of a second signal, 128 and its number, arrives through `on_second`.
    pub fn listen(
        &self,
        on_first: impl FnOnce() + Send + 'static,
        on_second: impl FnOnce(u8) + Send + 'static,
    ) {
        let this = self.clone();
        let Some(mut heard) = Heard::listen() else { return };
        tokio::spawn(async move {
            let first = heard.next().await;
            let at = Instant::now();
            on_first();
            this.first.cancel();
            let second = loop {
                let next = heard.next().await;
                let echo = if first == Signal::SIGHUP { ECHO } else { TWIN };
                if next != first || at.elapsed() >= echo {
                    break next;
                }
            };
            on_second(128 + second as u8);
            this.second.cancel();
        });
    }
}

/// The signals that end a study.
struct Heard {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` where whoever started this wants it to go on without its terminal, as `nohup` does
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Heard {
    fn listen() -> Option<Self> {
        let wanted = !is_ignored(Signal::SIGHUP);
        Some(Self {
            interrupt: signal(SignalKind::interrupt()).ok()?,
            terminate: signal(SignalKind::terminate()).ok()?,
            hangup: if wanted { Some(signal(SignalKind::hangup()).ok()?) } else { None },
        })
    }

    async fn next(&mut self) -> Signal {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Signal::SIGINT,
            _ = self.terminate.recv() => Signal::SIGTERM,
            _ = hangup => Signal::SIGHUP,
        }
    }
}

/// Whether this process was started with a signal ignored.
fn is_ignored(which: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).unwrap_or(0);
    mask >> (which as u32 - 1) & 1 == 1
}
