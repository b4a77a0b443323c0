//! Gathers the records of a load or a warm-up, tells the observer, and decides when it is over before its
//! time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::client::ClientFacts;
use super::drive::Drive;
use super::error::LoadError;
use super::observer::{Observer, Progress, Verdict};
use super::record::{FailureKind, RequestRecord};
use super::request::Lab;
use super::summary::summarize;
use super::warmup::Settling;

const TICK: Duration = Duration::from_millis(200);
/// A load is hopeless after this time and so many failures without a success or any text.
const HOPELESS_AFTER: Duration = Duration::from_secs(10);
const HOPELESS_FAILURES: usize = 100;

/// What may end the gathering before everything is sent.
#[derive(Debug)]
pub(super) enum Watch<'a> {
    /// The observer, asked after so many requests.
    Checkpoints(&'a [u64]),
    /// The server's speed, when at least so many requests have ended.
    Settling(Settling, usize),
    /// Nothing.
    Nothing,
}

/// What was gathered.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub records: Vec<RequestRecord>,
    /// Requests whose turn had come, those that were dropped in flight too.
    pub begun: u64,
    pub stopped: bool,
    pub settled: bool,
    pub hopeless: bool,
}

/// Gathers until the last task has ended.
pub(super) async fn collect(
    drive: Drive,
    lab: &Arc<Lab>,
    observer: &mut dyn Observer,
    planned: Option<u64>,
    slots: usize,
    watch: Watch<'_>,
) -> Result<Collected, LoadError> {
    let got = Collected::default();
    let collector = Collector { lab, observer, planned, slots, watch, failed: 0, timed_out: 0, got };
    collector.run(drive).await
}

struct Collector<'a> {
    lab: &'a Lab,
    observer: &'a mut dyn Observer,
    planned: Option<u64>,
    slots: usize,
    watch: Watch<'a>,
    failed: usize,
    timed_out: usize,
    got: Collected,
}

impl Collector<'_> {
    async fn run(mut self, mut drive: Drive) -> Result<Collected, LoadError> {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut halted = false;
        loop {
            tokio::select! {
                record = drive.records.recv() => {
                    let Some(record) = record else { break };
                    self.failed += usize::from(!record.is_completed());
                    self.timed_out += usize::from(timed_out(&record));
                    self.got.records.push(record);
                    if self.checkpoint().await? == Verdict::Stop {
                        self.got.stopped = true;
                        drive.abort();
                        break;
                    }
                }
                _ = tick.tick() => self.tick(),
                () = self.lab.halt.cancelled(), if !halted => {
                    halted = true;
                    drive.abort();
                }
            }
        }
        self.progress();
        drive.join().await?;
        self.got.begun = self.lab.begun.load(Ordering::Relaxed);
        Ok(self.got)
    }

    fn tick(&mut self) {
        self.progress();
        let elapsed = self.lab.began.elapsed();
        let chunks = self.lab.chunks.load(Ordering::Relaxed);
        let done = self.got.records.len();
        if let Watch::Settling(settling, at_least) = &mut self.watch
            && !self.got.settled
            && settling.settled(elapsed, chunks)
            && done >= *at_least
        {
            self.got.settled = true;
            self.lab.enough.cancel();
        }
        if chunks == 0 && done == self.failed && is_hopeless(elapsed, self.failed, self.slots) {
            self.got.hopeless = true;
            self.lab.enough.cancel();
        }
    }

    fn progress(&mut self) {
        self.observer.progress(Progress {
            done: self.got.records.len() as u64,
            failed: self.failed as u64,
            timed_out: self.timed_out as u64,
            chunks: self.lab.chunks.load(Ordering::Relaxed),
            planned: self.planned,
            elapsed: self.lab.began.elapsed(),
        });
    }

    async fn checkpoint(&mut self) -> Result<Verdict, LoadError> {
        let Watch::Checkpoints(left) = &mut self.watch else { return Ok(Verdict::Continue) };
        let done = self.got.records.len() as u64;
        let passed = left.iter().take_while(|at| **at <= done).count();
        if passed == 0 {
            return Ok(Verdict::Continue);
        }
        *left = &left[passed..];
        let records = std::mem::take(&mut self.got.records);
        // sorting a million gaps takes a while, in which this thread has streams to read
        let summarised = tokio::task::spawn_blocking(move || {
            let summary = summarize(&records, done, ClientFacts::default());
            (records, summary)
        });
        let (records, summary) = summarised.await.map_err(|e| LoadError::Task(e.to_string()))?;
        self.got.records = records;
        Ok(self.observer.checkpoint(done, &summary, &self.got.records))
    }
}

fn timed_out(record: &RequestRecord) -> bool {
    record.outcome.failure().is_some_and(|f| f.kind == FailureKind::Timeout)
}

/// Whether so many failures in so long a time, and nothing else, are enough.
fn is_hopeless(elapsed: Duration, failed: usize, slots: usize) -> bool {
    elapsed >= HOPELESS_AFTER && failed >= HOPELESS_FAILURES.max(slots.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hope_ends_after_both_time_and_failures() {
        let s = Duration::from_secs;
        assert!(is_hopeless(s(10), 100, 1) && is_hopeless(s(60), 1024, 512));
        assert!(!is_hopeless(s(9), 5000, 1) && !is_hopeless(s(60), 99, 1) && !is_hopeless(s(60), 1023, 512));
    }
}
