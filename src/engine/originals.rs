//! What stood where the log says `***`: patterns of failures are matched on the words of the engine, and what is shown comes from the log
//! as it was written. It is kept in memory only, by the guard until perflab has heard it and by perflab as long as the launch lasts.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Bytes kept of originals. Of more the oldest are forgotten: what a failure says stands at the end.
const KEPT: usize = 1 << 20;

/// Lines that the log has masked, and what the engine said there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spot {
    /// Where the masked lines begin in the log file, in bytes.
    pub at: u64,
    /// How long they are there, in bytes.
    pub len: u64,
    /// As the engine said them: a secret.
    original: String,
}

impl Spot {
    /// The lines of a piece that masking has changed; `at` is where the piece begins in the log file. None where lines were lost: then
    /// nobody knows which is which.
    pub fn between(at: u64, said: &[u8], masked: &[u8]) -> Vec<Self> {
        let lines = |text: &[u8]| text.split(|b| *b == b'\n').count();
        if said == masked || lines(said) != lines(masked) {
            return Vec::new();
        }
        let ends = |b: &u8| *b == b'\n';
        let mut at = at;
        let pairs = said.split_inclusive(ends).zip(masked.split_inclusive(ends));
        let spots = pairs.filter_map(|(said, masked)| {
            let (begin, len) = (at, masked.len() as u64);
            at += len;
            let original = || String::from_utf8_lossy(said).into_owned();
            (said != masked).then(|| Self { at: begin, len, original: original() })
        });
        spots.collect()
    }

    /// Where the masked lines end in the log file.
    pub fn end(&self) -> u64 {
        self.at.saturating_add(self.len)
    }
}

impl fmt::Debug for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spot({}..{})", self.at, self.end())
    }
}

/// Spots in the order of the log, in bounded memory.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Originals {
    spots: VecDeque<Spot>,
    bytes: usize,
}

impl Originals {
    pub(super) fn add(&mut self, spots: impl IntoIterator<Item = Spot>) {
        for spot in spots {
            self.bytes += spot.original.len();
            self.spots.push_back(spot);
        }
        while self.bytes > KEPT {
            let Some(oldest) = self.spots.pop_front() else { break };
            self.bytes -= oldest.original.len();
        }
    }

    /// All of them; none is left.
    pub(super) fn take(&mut self) -> Vec<Spot> {
        std::mem::take(self).spots.into()
    }

    /// A piece of the log, which begins `from` bytes behind its start, as the engine said it; `None` if it is that already.
    pub(super) fn restore(&self, log: &[u8], from: u64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut done = 0;
        for spot in self.spots.iter().filter(|s| s.at >= from) {
            let place = |n: u64| usize::try_from(n - from).unwrap_or(usize::MAX);
            let (begin, end) = (place(spot.at), place(spot.end()));
            // what a full disk did not take is not there
            let Some(before) = log.get(done..begin).filter(|_| end <= log.len()) else { continue };
            out.extend_from_slice(before);
            out.extend_from_slice(spot.original.as_bytes());
            done = end;
        }
        (done > 0).then(|| {
            out.extend_from_slice(&log[done..]);
            out
        })
    }
}

impl fmt::Debug for Originals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.spots).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn originals(at: u64, said: &str, masked: &str) -> Originals {
        let mut all = Originals::default();
        all.add(Spot::between(at, said.as_bytes(), masked.as_bytes()));
        all
    }

    fn restored(all: &Originals, log: &str, from: u64) -> Option<String> {
        all.restore(log.as_bytes(), from).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn masked_lines_are_found_again_wherever_the_log_is_read_from() {
        let (said, masked) = ("one\nkey abcdef\ntwo\nabcdef", "one\nkey ***\ntwo\n***");
        let all = originals(5, said, masked);
        assert_eq!(restored(&all, &format!("zero\n{masked}"), 0).unwrap(), format!("zero\n{said}"));
        assert_eq!(restored(&all, masked, 5).unwrap(), said);
        // behind the first of them
        assert_eq!(restored(&all, "two\n***", 17).unwrap(), "two\nabcdef");
        assert_eq!(restored(&all, "three\n", 24), None);
        // the disk was full
        assert_eq!(restored(&all, "one\nkey ***\nt", 5).unwrap(), "one\nkey abcdef\nt");
    }

    #[test]
    fn what_nobody_can_tell_apart_stays_masked() {
        assert_eq!(originals(0, "a\nb\n", "***\n"), Originals::default());
        assert_eq!(originals(0, "a\n", "a\n"), Originals::default());
    }

    #[test]
    fn the_newest_are_kept_and_nothing_of_them_is_shown() {
        let line = "s3cret-".repeat(40_000) + "\n";
        let mut all = Originals::default();
        for i in 0..6 {
            all.add(Spot::between(4 * i, line.as_bytes(), b"***\n"));
        }
        assert!(all.bytes <= KEPT && all.bytes > KEPT / 2);
        let log = "***\n".repeat(6);
        let text = restored(&all, &log, 0).unwrap();
        assert!(text.starts_with("***\n***\n***\ns3cret-") && text.ends_with(&line));
        assert!(!format!("{all:?}").contains("s3cret"), "{all:?}");
    }
}
