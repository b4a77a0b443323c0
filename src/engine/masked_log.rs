//! The log of an engine without the secrets that were given to it: engines print their arguments and variables.
//!
//! Only what is kept is looked through: an engine that prints gigabytes does not wait for that.

use std::io::Write;

use super::capped_log::CappedLog;
use super::originals::{Originals, Spot};
use crate::secrets::{LogMask, Masker, Piece};

/// The end of a long log is shown from a line's beginning, if there is one in so many bytes.
const LONGEST_START: usize = 4 << 10;

#[derive(Debug)]
pub(super) struct MaskedLog<W> {
    masker: Masker,
    mask: LogMask,
    log: CappedLog<W>,
    total: u64,
    originals: Originals,
}

impl<W: Write> MaskedLog<W> {
    pub fn new(log: CappedLog<W>, secrets: Vec<String>) -> Self {
        let masker = Masker::new(secrets);
        Self { mask: LogMask::new(masker.clone()), masker, log, total: 0, originals: Originals::default() }
    }

    /// Bytes that the engine has printed, written or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What was masked since this was last asked.
    pub fn take_spots(&mut self) -> Vec<Spot> {
        self.originals.take()
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.log.is_full() {
            // kept in memory, and masked if it is still there at the end
            self.flush();
            self.log.push(bytes);
        } else {
            let piece = self.mask.push(bytes);
            self.write(&piece);
        }
    }

    /// Writes what still waits; what was masked since it was last asked for comes with it.
    pub fn finish(mut self) -> (W, Vec<Spot>) {
        self.flush();
        let (masker, mut originals) = (self.masker, self.originals);
        let log = self.log.finish(|tail, cut, at| {
            let said = whole_lines(tail, cut);
            let shown = masker.bytes(said).into_owned();
            originals.add(Spot::between(at, said, &shown));
            shown
        });
        (log, originals.take())
    }

    fn flush(&mut self) {
        let rest = self.mask.finish();
        self.write(&rest);
    }

    fn write(&mut self, piece: &Piece) {
        let at = self.log.written();
        self.log.push(&piece.masked);
        let Some(said) = &piece.said else { return };
        let end = self.log.written();
        // what the file has no room for is masked for good
        self.originals.add(Spot::between(at, said, &piece.masked).into_iter().filter(|s| s.end() <= end));
    }
}

/// A secret of which only the end is left is not found: what begins in the middle of a line begins with the next one.
fn whole_lines(tail: &[u8], cut: bool) -> &[u8] {
    let start = tail.iter().take(LONGEST_START).position(|b| *b == b'\n');
    start.filter(|_| cut).map_or(tail, |at| &tail[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_log_are_masked() {
        let log = CappedLog::with_limits(Vec::new(), 16, 40);
        let mut log = MaskedLog::new(log, vec!["s3cret-value".into()]);
        for piece in [
            "a s3cret",
            "-value b\nfirst line\n",
            "s3cret-value lost\n",
            "s3cret-value kept\n",
            "last s3cr",
            "et-value",
        ] {
            log.push(piece.as_bytes());
        }
        assert_eq!(log.total(), 81);
        let text = String::from_utf8(log.finish().0).unwrap();
        assert!(text.starts_with("a *** b\nfirst li"), "{text}");
        assert!(text.ends_with("*** kept\nlast ***") && !text.contains("cret-value"), "{text}");
    }
}
