//! Who watches a load hears of its phases and its progress, and may end it early.

use std::time::Duration;

use super::record::RequestRecord;
use super::summary::Summary;

/// A step of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Phase {
    /// Prompts are being made.
    Preparing,
    /// The warm-up has begun.
    WarmupBegun,
    /// The warm-up is over.
    WarmupDone {
        /// How long it took, until its last answer.
        took: Duration,
        /// Whether it saw the server settle; none if it did not look.
        settled: Option<bool>,
    },
    /// The load has begun.
    LoadBegun {
        /// How many requests it will send, where that is known.
        planned: Option<u64>,
    },
}

/// How far a load or a warm-up has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Requests that ended, failed ones included.
    pub done: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Those of them that waited for as long as they may.
    pub timed_out: u64,
    /// Chunks with text that came so far, in all requests.
    pub chunks: u64,
    /// Requests to send in all, where that is known.
    pub planned: Option<u64>,
    /// Time since the phase began.
    pub elapsed: Duration,
}

/// Whether a load goes on after a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Continue,
    /// End it: requests in flight are dropped, what has ended is kept.
    Stop,
}

/// Listens to a load. Its methods are called between the load's own work and must return soon.
pub trait Observer: Send {
    /// A phase begins or ends.
    fn phase(&mut self, _phase: Phase) {}

    /// Called a few times per second.
    fn progress(&mut self, _progress: Progress) {}

    /// One of the spec's checkpoints is reached: the summary and the records of what has ended so far; its
    /// `planned` are these requests alone. If several were passed meanwhile, only the last is reported.
    fn checkpoint(&mut self, _done: u64, _so_far: &Summary, _records: &[RequestRecord]) -> Verdict {
        Verdict::Continue
    }
}

/// An observer that wants to hear nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
