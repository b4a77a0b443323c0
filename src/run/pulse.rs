//! Whether a server still lives while it is loaded. Some lose the process that computes and keep the one that answers: every
//! request then hangs until its own timeout, for hours. So a server that has fallen silent is asked whether it is still ready.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::target::Target;
use crate::engine::Failure;
use crate::engine::failure::{NO_ANSWER, WORKER_LOST};
use crate::load;

/// Silence of all streams after which a server that has lost a process is asked; also the pause between two questions.
const SILENT: Duration = Duration::from_secs(10);
/// The same for one that has all of its processes: kernels that are compiled under load may keep it busy for minutes.
const LONG_SILENT: Duration = Duration::from_mins(5);
/// Some look for an answer of their own parts for 20 s before they say that there is none.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_secs(1);

/// When a load last brought anything, shared by who hears of it and who waits for it.
#[derive(Debug, Clone)]
pub struct Pulse(Arc<Mutex<Beat>>);

#[derive(Debug)]
struct Beat {
    /// requests that ended, and chunks that came
    seen: (u64, u64),
    at: Instant,
}

impl Pulse {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Beat { seen: (0, 0), at: Instant::now() })))
    }

    /// Takes a load's progress in.
    pub fn hear(&self, progress: load::Progress) {
        let mut beat = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = (progress.done, progress.chunks);
        if beat.seen != seen {
            *beat = Beat { seen, at: Instant::now() };
        }
    }

    fn last(&self) -> Instant {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).at
    }

    /// Resolves when the server sends nothing and is not ready any more, with what is known of that. A request that failed is no
    /// silence, and a server that says it is ready is believed.
    pub async fn lost(&self, target: &Target<'_>, ready_path: &str) -> Failure {
        if !target.is_ours() {
            return std::future::pending().await;
        }
        let url = format!("{}{ready_path}", target.base_url);
        loop {
            tokio::time::sleep(LOOK).await;
            let last = self.last();
            if last.elapsed() < SILENT {
                continue;
            }
            let gone = target.missing();
            if gone.is_none() && last.elapsed() < LONG_SILENT {
                continue;
            }
            if is_ready(&url).await {
                tokio::time::sleep(SILENT).await;
            } else if self.last() == last {
                return failure(gone, last.elapsed());
            }
        }
    }
}

fn failure(gone: Option<&str>, silent: Duration) -> Failure {
    let silent = silent.as_secs();
    match gone {
        Some(name) => {
            Failure::new(WORKER_LOST, format!("{name} is gone, and nothing was answered for {silent} s"))
        }
        None => Failure::new(
            NO_ANSWER,
            format!("nothing was answered for {silent} s, and it is not ready any more"),
        ),
    }
}

async fn is_ready(url: &str) -> bool {
    let Ok(client) = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build() else { return true };
    client.get(url).send().await.is_ok_and(|answer| answer.status().is_success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_and_every_end_is_a_beat() {
        let pulse = Pulse::new();
        let progress =
            |done, chunks| load::Progress { done, chunks, failed: 0, planned: None, elapsed: Duration::ZERO };
        let heard = |done, chunks| {
            let before = pulse.last();
            std::thread::sleep(Duration::from_millis(2));
            pulse.hear(progress(done, chunks));
            pulse.last() > before
        };
        assert!(!heard(0, 0) && heard(0, 1) && !heard(0, 1) && heard(1, 1) && !heard(1, 1));
    }

    #[test]
    fn what_is_gone_is_named() {
        let failure = failure(Some("sglang::scheduler"), Duration::from_secs(31));
        assert_eq!(failure.class, "worker lost");
        assert_eq!(failure.line, "sglang::scheduler is gone, and nothing was answered for 31 s");
        assert!(failure.is_of_engine());
    }
}
