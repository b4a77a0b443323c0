//! The log of an engine without the secrets that were given to it: engines print their arguments and variables.
//!
//! Only what is kept is looked through: an engine that prints gigabytes does not wait for that.

use std::io::Write;

use super::capped_log::CappedLog;
use crate::secrets::{LogMask, Masker};

/// The end of a long log is shown from a line's beginning, if there is one in so many bytes.
const LONGEST_START: usize = 4 << 10;

#[derive(Debug)]
pub(super) struct MaskedLog<W> {
    masker: Masker,
    mask: LogMask,
    log: CappedLog<W>,
    total: u64,
}

impl<W: Write> MaskedLog<W> {
    pub fn new(log: CappedLog<W>, secrets: Vec<String>) -> Self {
        let masker = Masker::new(secrets);
        Self { mask: LogMask::new(masker.clone()), masker, log, total: 0 }
    }

    /// Bytes that the engine has printed, written or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.log.is_full() {
            // kept in memory, and masked if it is still there at the end
            self.flush();
            self.log.push(bytes);
        } else {
            let masked = self.mask.push(bytes);
            self.log.push(&masked);
        }
    }

    /// Writes what still waits.
    pub fn finish(mut self) -> W {
        self.flush();
        let masker = self.masker;
        self.log.finish(|tail, cut| masker.bytes(whole_lines(tail, cut)).into_owned())
    }

    fn flush(&mut self) {
        let rest = self.mask.finish();
        self.log.push(&rest);
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
        let text = String::from_utf8(log.finish()).unwrap();
        assert!(text.starts_with("a *** b\nfirst li"), "{text}");
        assert!(text.ends_with("*** kept\nlast ***") && !text.contains("cret-value"), "{text}");
    }
}
