//! Signals: the first one asks for a clean end, the second kills at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What signals have asked for so far.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    /// end cleanly
    pub first: CancellationToken,
    /// end at once
    pub second: CancellationToken,
}

impl Signals {
    /// Begins to listen. The exit code of a second signal arrives through `on_second`.
    pub fn listen(
        &self,
        on_first: impl FnOnce() + Send + 'static,
        on_second: impl FnOnce(u8) + Send + 'static,
    ) {
        const SIGINT: u8 = 130;
        const SIGTERM: u8 = 143;
        let this = self.clone();
        let (Ok(mut int), Ok(mut term)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        tokio::spawn(async move {
            tokio::select! { _ = int.recv() => {}, _ = term.recv() => {} }
            on_first();
            this.first.cancel();
            let code = tokio::select! { _ = int.recv() => SIGINT, _ = term.recv() => SIGTERM };
            on_second(code);
            this.second.cancel();
        });
    }
}
