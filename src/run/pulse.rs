//! Whether a server still lives while it is loaded. Some lose the process that computes and keep the one that answers: every
//! request then hangs until its own timeout, for hours. So a server that has fallen silent is asked whether it is still ready.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::served;
use super::target::Target;
use crate::engine::Failure;
use crate::engine::failure::{NO_ANSWER, WORKER_LOST};
use crate::load;

/// How long a server may be silent.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// of all streams, until a server that has lost a process is asked; also the pause between two questions
    silent: Duration,
    /// the same for one that has all of its processes: kernels that are compiled under load may keep it busy for minutes
    long_silent: Duration,
    /// some look for an answer of their own parts for 20 s before they say that there is none
    patience: Duration,
    look: Duration,
    /// of all streams, until somebody who watches is told
    told: Duration,
}

const LIMITS: Limits = Limits {
    silent: Duration::from_secs(10),
    long_silent: Duration::from_mins(5),
    patience: Duration::from_secs(30),
    look: Duration::from_secs(1),
    told: Duration::from_mins(1),
};

/// When a load last brought anything, shared by who hears of it and who waits for it.
#[derive(Debug, Clone)]
pub struct Pulse(Arc<Mutex<Beat>>);

#[derive(Debug)]
struct Beat {
    /// requests that the server ended, and chunks that came
    seen: (u64, u64),
    at: Instant,
    failed: u64,
    /// its silence has been told
    told: bool,
}

impl Pulse {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Beat { seen: (0, 0), at: Instant::now(), failed: 0, told: false })))
    }

    /// Takes a load's progress in.
    pub fn hear(&self, progress: load::Progress) {
        let mut beat = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // the end of a request that ran into its own limit is the client's doing
        let seen = (progress.done.saturating_sub(progress.timed_out), progress.chunks);
        beat.failed = progress.failed;
        if beat.seen != seen {
            (beat.seen, beat.at, beat.told) = (seen, Instant::now(), false);
        }
    }

    /// That nothing has come for a minute, once: somebody who watches need not wait until it is given up.
    pub fn told_silence(&self) -> Option<String> {
        let mut beat = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = beat.at.elapsed();
        if beat.told || silent < LIMITS.told {
            return None;
        }
        beat.told = true;
        Some(format!(
            "nothing was answered for {} s; after {} min the server is asked whether it is still ready",
            silent.as_secs(),
            LIMITS.long_silent.as_secs() / 60
        ))
    }

    fn last(&self) -> Instant {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).at
    }

    /// Resolves when the server sends nothing and is not ready any more, with what is known of that. A request that the server failed is
    /// no silence, one that it left waiting is; and a server that says it is ready is believed.
    pub async fn lost(&self, target: &Target<'_>, ready_path: &str) -> Failure {
        let url = format!("{}{ready_path}", target.base_url);
        let Some(client) = target.client(LIMITS.patience) else { return std::future::pending().await };
        let server = (client, url);
        tokio::select! {
            lost = self.silenced(&server, || target.missing(), LIMITS) => lost,
            () = self.deserted(&server), if !target.is_ours() => {
                Failure::new(NO_ANSWER, "nobody takes connections any more".to_owned())
            }
        }
    }

    /// Resolves when requests fail and nobody listens where they go, at two looks: nobody sees the process of a server that runs
    /// already end.
    async fn deserted(&self, (client, url): &(reqwest::Client, String)) {
        let (mut failed, mut looks) = (0, 0);
        while looks < 2 {
            tokio::time::sleep(LIMITS.look).await;
            let now = self.0.lock().unwrap_or_else(PoisonError::into_inner).failed;
            let worse = std::mem::replace(&mut failed, now) != now;
            let away = worse && client.get(url).send().await.is_err_and(|e| served::is_away(url, &e));
            looks = if away { looks + 1 } else { 0 };
        }
    }

    async fn silenced<'n>(
        &self,
        server: &(reqwest::Client, String),
        missing: impl Fn() -> Option<&'n str>,
        limits: Limits,
    ) -> Failure {
        loop {
            tokio::time::sleep(limits.look).await;
            let last = self.last();
            if last.elapsed() < limits.silent {
                continue;
            }
            let gone = missing();
            if gone.is_none() && last.elapsed() < limits.long_silent {
                continue;
            }
            if is_ready(server).await {
                tokio::time::sleep(limits.silent).await;
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

/// Whether a server that fell silent says, within its patience, that it is ready.
pub async fn is_still_ready(target: &Target<'_>, ready_path: &str) -> bool {
    let Some(client) = target.client(LIMITS.patience) else { return true };
    is_ready(&(client, format!("{}{ready_path}", target.base_url))).await
}

async fn is_ready((client, url): &(reqwest::Client, String)) -> bool {
    client.get(url).send().await.is_ok_and(|answer| answer.status().is_success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(done: u64, timed_out: u64, chunks: u64) -> load::Progress {
        load::Progress { done, failed: timed_out, timed_out, chunks, planned: None, elapsed: Duration::ZERO }
    }

    #[test]
    fn every_chunk_and_every_end_is_a_beat() {
        let pulse = Pulse::new();
        let heard = |done, timed_out, chunks| {
            let before = pulse.last();
            std::thread::sleep(Duration::from_millis(2));
            pulse.hear(progress(done, timed_out, chunks));
            pulse.last() > before
        };
        assert!(!heard(0, 0, 0) && heard(0, 0, 1) && !heard(0, 0, 1) && heard(1, 0, 1) && !heard(1, 0, 1));
        // what ends because nothing comes is silence all the same
        assert!(!heard(2, 1, 1) && !heard(9, 8, 1) && heard(10, 8, 1));
    }

    #[test]
    fn a_silence_is_told_once_and_again_after_a_beat() {
        let pulse = Pulse::new();
        let silent = || pulse.0.lock().unwrap().at -= Duration::from_secs(61);
        assert_eq!(pulse.told_silence(), None);
        silent();
        let told = pulse.told_silence().expect("a sentence");
        assert!(told.starts_with("nothing was answered for 61 s; after 5 min the server is asked"), "{told}");
        assert_eq!(pulse.told_silence(), None);
        pulse.hear(progress(1, 0, 1));
        assert_eq!(pulse.told_silence(), None);
        silent();
        assert!(pulse.told_silence().is_some());
    }

    const SHORT: Limits = Limits {
        silent: Duration::from_millis(100),
        long_silent: Duration::from_millis(600),
        patience: Duration::from_millis(200),
        look: Duration::from_millis(10),
        told: Duration::from_millis(300),
    };

    fn with_a_second<T>(work: impl Future<Output = T>) -> Option<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(3), work).await.ok() })
    }

    /// A server that accepts, and whose answer to every question is `answer`.
    fn server(answer: &'static [u8]) -> (reqwest::Client, String) {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/health", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(answer);
                if answer.is_empty() {
                    held.push(stream);
                }
            }
        });
        (crate::run::asking::client(SHORT.patience, None).unwrap(), url)
    }

    #[test]
    fn a_server_with_all_of_its_processes_that_answers_nothing_is_given_up_later() {
        let (began, pulse, url) = (Instant::now(), Pulse::new(), server(b""));
        let failure = with_a_second(pulse.silenced(&url, || None, SHORT)).expect("it is given up");
        assert_eq!(failure.class, "no answer under load");
        assert!(began.elapsed() >= SHORT.long_silent + SHORT.patience, "{:?}", began.elapsed());
        // one that has lost a process is asked sooner
        let (began, pulse) = (Instant::now(), Pulse::new());
        let failure = with_a_second(pulse.silenced(&url, || Some("Worker"), SHORT)).expect("it is given up");
        assert_eq!(failure.class, "worker lost");
        assert!(began.elapsed() < SHORT.long_silent + SHORT.patience, "{:?}", began.elapsed());
    }

    #[test]
    fn a_server_that_says_it_is_ready_is_believed_and_one_that_does_not_is_not() {
        let ready = server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        assert!(with_a_second(Pulse::new().silenced(&ready, || None, SHORT)).is_none());
        let busy = server(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        assert!(with_a_second(Pulse::new().silenced(&busy, || None, SHORT)).is_some());
    }

    #[test]
    fn what_is_gone_is_named() {
        let failure = failure(Some("sglang::scheduler"), Duration::from_secs(31));
        assert_eq!(failure.class, "worker lost");
        assert_eq!(failure.line, "sglang::scheduler is gone, and nothing was answered for 31 s");
        assert!(failure.is_of_engine());
    }
}
