//! One request's answer as it comes: bytes are measured at once, and the request's task is told only what it has to decide on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::http::Head;
use super::meter::StreamMeter;
use super::request::Lab;
use super::whole::{Meter, WholeMeter};

/// Bytes of an error answer that are read at most.
const ERROR_BODY: usize = 16 << 10;

/// An answer, from nothing to its end.
#[derive(Debug)]
pub(super) struct Answer {
    lab: Arc<Lab>,
    pub meter: Meter,
    /// When the head had come.
    pub headers: Option<Instant>,
    pub status: Option<u16>,
    pub location: Option<String>,
    pub retry_after: Option<String>,
    /// The body of an answer that is not 200, as far as it is kept.
    pub refused: Vec<u8>,
    /// The body of an answer whose text is needed again.
    pub kept: Option<Vec<u8>>,
    told: Told,
}

/// What the request's task knows already.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Told {
    begun: bool,
    last_word: bool,
    refused: bool,
}

impl Answer {
    /// An answer of so many tokens, that has not begun.
    pub(super) fn awaited(lab: Arc<Lab>, tokens: u32) -> Self {
        let meter = if lab.streams {
            Meter::Stream(Box::new(StreamMeter::expecting(tokens)))
        } else {
            Meter::Whole(WholeMeter::default())
        };
        Self {
            kept: lab.keeps.then(Vec::new),
            lab,
            meter,
            headers: None,
            status: None,
            location: None,
            retry_after: None,
            refused: Vec::new(),
            told: Told::default(),
        }
    }

    /// Takes a run of the body.
    pub(super) fn take(&mut self, at: Instant, status: u16, run: &[u8]) {
        if status == 200 {
            let texts = self.meter.bytes(self.lab.ns(at), run);
            self.lab.chunks.fetch_add(texts as u64, Ordering::Relaxed);
            if let Some(kept) = &mut self.kept {
                kept.extend_from_slice(run);
            }
        } else {
            self.refused.extend_from_slice(&run[..run.len().min(ERROR_BODY - self.refused.len())]);
        }
    }

    /// Notes the head, which had come by then.
    pub(super) fn begin(&mut self, at: Instant, head: &Head) {
        self.headers = Some(at);
        self.status = Some(head.status);
        self.location.clone_from(&head.location);
        self.retry_after.clone_from(&head.retry_after);
    }

    /// Whether there is something that the task does not know: the first text, the answer's last word, or all of a refusal that is kept.
    pub(super) fn has_news(&mut self) -> bool {
        let now = Told {
            begun: self.meter.has_begun(),
            last_word: self.meter.is_done(),
            refused: self.is_refused_whole(),
        };
        std::mem::replace(&mut self.told, now) != now
    }

    /// Whether no more of a refusal is kept.
    pub(super) fn is_refused_whole(&self) -> bool {
        self.refused.len() == ERROR_BODY
    }
}
