//! The thread that a load's requests run on. One is enough for all of them, and nothing else runs there: what the rest of perflab does
//! meanwhile delays no time stamp.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::LoadError;

/// The thread goes to wait for sockets no more often than this.
const APART: Duration = Duration::from_micros(100);

/// A runtime on a thread of its own; it ends, with all that runs on it, when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    handle: Handle,
    _stop: DropGuard,
}

/// Waits until it is some time since the thread last went to wait: chunks that come one after another are then read together, instead
/// of waking it one by one. What comes seldom waits for nothing; and when bytes came, the kernel says.
fn rest(parked: &Mutex<Instant>) {
    let mut parked = parked.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(left) = APART.checked_sub(parked.elapsed()) {
        thread::sleep(left);
    }
    *parked = Instant::now();
}

impl Worker {
    pub(super) fn start() -> Result<Self, LoadError> {
        let mut builder = Builder::new_current_thread();
        let parked = Mutex::new(Instant::now());
        builder.on_thread_park(move || rest(&parked));
        let runtime = builder.enable_all().build().map_err(LoadError::Thread)?;
        let (handle, stop) = (runtime.handle().clone(), CancellationToken::new());
        let stopped = stop.clone();
        let run = move || {
            // sleeps end when they should; without it, some tens of microseconds later
            let _ = nix::sys::prctl::set_timerslack(1000);
            runtime.block_on(stopped.cancelled());
        };
        thread::Builder::new().name("perflab-load".to_owned()).spawn(run).map_err(LoadError::Thread)?;
        Ok(Self { handle, _stop: stop.drop_guard() })
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs something there to its end.
    pub(super) async fn run<F>(&self, work: F) -> Result<F::Output, LoadError>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        self.handle.spawn(work).await.map_err(|e| LoadError::Task(e.to_string()))
    }
}
