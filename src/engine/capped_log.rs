//! A log file that cannot fill a disk: the beginning word for word, then only the end.
//!
//! A failed start explains itself in the first lines or in the last. Everything else is counted, and a line in
//! between says how much is missing. Writing never fails: a full disk loses bytes, not the engine.

use std::collections::VecDeque;
use std::io::Write;

/// Bytes kept from the beginning.
pub(super) const HEAD: u64 = 16 << 20;
/// Bytes kept from the end.
pub(super) const TAIL: usize = 1 << 20;

/// Takes the bytes of an engine's output and keeps what fits.
#[derive(Debug)]
pub(super) struct CappedLog<W> {
    sink: W,
    /// Bytes that it took.
    written: u64,
    /// Bytes that may still be written as they come; 0 once the disk refused one.
    head_left: u64,
    tail_limit: usize,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl<W: Write> CappedLog<W> {
    pub fn new(sink: W) -> Self {
        Self::with_limits(sink, HEAD, TAIL)
    }

    pub(super) fn with_limits(sink: W, head: u64, tail: usize) -> Self {
        Self { sink, written: 0, head_left: head, tail_limit: tail, tail: VecDeque::new(), left_out: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let fits = usize::try_from(self.head_left).unwrap_or(usize::MAX).min(bytes.len());
        let written = write_some(&mut self.sink, &bytes[..fits]);
        self.written += written as u64;
        self.head_left = if written < fits { 0 } else { self.head_left - written as u64 };
        self.remember(&bytes[written..]);
    }

    /// Keeps the last bytes, in bounded memory.
    fn remember(&mut self, bytes: &[u8]) {
        let skipped = bytes.len().saturating_sub(self.tail_limit);
        let bytes = &bytes[skipped..];
        let over = (self.tail.len() + bytes.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        self.tail.extend(bytes);
        self.left_out += (skipped + over) as u64;
    }

    /// Nothing more is written before [`CappedLog::finish`].
    pub fn is_full(&self) -> bool {
        self.head_left == 0
    }

    /// How long the file is, in bytes.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends the end of the output, after a line that says what is missing between. `show` makes of the end what is
    /// written, and is told whether it begins in the middle of something, and where in the file it will stand.
    pub fn finish(mut self, show: impl FnOnce(&[u8], bool, u64) -> Vec<u8>) -> W {
        if self.left_out > 0 {
            let note = format!("\n[perflab: {} bytes of output left out here]\n", self.left_out);
            self.written += write_some(&mut self.sink, note.as_bytes()) as u64;
        }
        let shown = show(self.tail.make_contiguous(), self.left_out > 0, self.written);
        write_some(&mut self.sink, &shown);
        self.sink
    }
}

/// Writes until the first refusal; returns how many bytes were taken.
fn write_some(sink: &mut impl Write, bytes: &[u8]) -> usize {
    let mut written = 0;
    while written < bytes.len() {
        match sink.write(&bytes[written..]) {
            Ok(0) => break,
            Ok(n) => written += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(chunks: &[&[u8]]) -> String {
        let mut log = CappedLog::with_limits(Vec::new(), 4, 3);
        for chunk in chunks {
            log.push(chunk);
        }
        String::from_utf8(log.finish(|tail, _, _| tail.to_vec())).unwrap()
    }

    #[test]
    fn short_output_is_kept_word_for_word() {
        assert_eq!(kept(&[b"ab", b"cdefg"]), "abcdefg");
        assert_eq!(kept(&[]), "");
    }

    #[test]
    fn long_output_keeps_its_ends_and_says_what_is_missing() {
        let expected = "abcd\n[perflab: 2 bytes of output left out here]\nghi";
        assert_eq!(kept(&[b"abcdefghi"]), expected);
        assert_eq!(kept(&[b"abcde", b"fg", b"hi"]), expected);
    }

    /// A disk that takes `.0` bytes and is full from then on.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let n = self.0.min(bytes.len());
            self.0 -= n;
            if n == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(n) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_loses_bytes_and_nothing_else() {
        let mut log = CappedLog::with_limits(Full(2), 100, 3);
        log.push(b"abcdef");
        log.push(b"ghij");
        assert_eq!(log.left_out, 5);
        assert_eq!(log.finish(|tail, _, _| tail.to_vec()).0, 0);
    }
}
