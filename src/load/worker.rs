//! The thread that a load's requests run on. One is enough for all of them, and nothing else runs there: what the rest of perflab does
//! meanwhile delays no time stamp.

use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::LoadError;

/// A runtime on a thread of its own; it ends, with all that runs on it, when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    handle: Handle,
    _stop: DropGuard,
}

impl Worker {
    pub(super) fn start() -> Result<Self, LoadError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(LoadError::Thread)?;
        let (handle, stop) = (runtime.handle().clone(), CancellationToken::new());
        let stopped = stop.clone();
        let run = move || runtime.block_on(stopped.cancelled());
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
