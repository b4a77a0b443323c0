//! Something that happens once to all requests of a load, such as the death of the server. Whoever waits for other things meanwhile
//! registers once, and looks at one flag afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// The alarm.
#[derive(Debug, Clone, Default)]
pub(super) struct Alarm(Arc<Bell>);

#[derive(Debug, Default)]
struct Bell {
    rang: AtomicBool,
    waiting: Arc<Notify>,
}

impl Alarm {
    /// Rings, for ever.
    pub(super) fn ring(&self) {
        self.0.rang.store(true, Ordering::Release);
        self.0.waiting.notify_waiters();
    }

    pub(super) fn has_rung(&self) -> bool {
        self.0.rang.load(Ordering::Acquire)
    }

    /// A wait that is woken by every ring from now on.
    pub(super) fn wait(&self) -> OwnedNotified {
        Arc::clone(&self.0.waiting).notified_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_that_began_before_the_ring_is_woken() {
        let alarm = Alarm::default();
        let wait = alarm.wait();
        assert!(!alarm.has_rung());
        alarm.clone().ring();
        wait.await;
        assert!(alarm.has_rung());
    }
}
