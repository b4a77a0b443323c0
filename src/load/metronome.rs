//! Ticks at absolute times. A thread of its own sleeps to within some tens of microseconds, where the
//! runtime's timers are as coarse as a millisecond; spinning would take the core that reads the streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// A running metronome; it stops when it is dropped.
#[derive(Debug)]
pub(super) struct Metronome {
    ticks: UnboundedReceiver<usize>,
    stop: Arc<AtomicBool>,
    thread: Thread,
}

impl Metronome {
    /// Ticks at each of the ascending `times` after `began`.
    pub(super) fn start(began: Instant, times: Vec<Duration>) -> std::io::Result<Self> {
        let (sender, ticks) = mpsc::unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let handle = thread::Builder::new()
            .name("perflab-arrivals".to_owned())
            .spawn(move || tick(began, &times, &stopped, &sender))?;
        Ok(Self { ticks, stop, thread: handle.thread().clone() })
    }

    /// The number of the next time that has come; none after the last.
    pub(super) async fn tick(&mut self) -> Option<usize> {
        self.ticks.recv().await
    }
}

impl Drop for Metronome {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

fn tick(began: Instant, times: &[Duration], stop: &AtomicBool, ticks: &UnboundedSender<usize>) {
    for (number, time) in times.iter().enumerate() {
        loop {
            if stop.load(Ordering::Acquire) {
                return;
            }
            match (began + *time).checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => thread::park_timeout(left),
                _ => break,
            }
        }
        if ticks.send(number).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ticks_in_order_never_early_and_stops_when_dropped() {
        let began = Instant::now();
        let times: Vec<Duration> = [0, 0, 20, 30].map(Duration::from_millis).to_vec();
        let mut metronome = Metronome::start(began, times.clone()).expect("a thread");
        let mut seen = Vec::new();
        while let Some(number) = metronome.tick().await {
            assert!(began.elapsed() >= times[number]);
            seen.push(number);
        }
        assert_eq!(seen, [0, 1, 2, 3]);
        let endless = Metronome::start(began, vec![Duration::from_secs(100_000)]).expect("a thread");
        let stop = Arc::downgrade(&endless.stop);
        drop(endless);
        let patience = Instant::now() + Duration::from_secs(20);
        while stop.strong_count() > 0 {
            assert!(Instant::now() < patience, "the thread still waits");
            tokio::task::yield_now().await;
        }
    }
}
