//! Masks a stream that arrives in pieces: a secret may be cut in two by a read.

use std::borrow::Cow;
use std::io::{self, Write};

use super::known::masker;
use super::mask::Masker;
use super::pem::Keys;

/// Without the end of a line, so much is collected before it goes on.
const LONGEST_LINE: usize = 64 << 10;

/// Escaped, a secret takes so many times its own length, or less.
const LONGEST_SPELLING: usize = 7;

/// Some of a log.
#[derive(Default)]
pub struct Piece {
    /// What can be written.
    pub masked: Vec<u8>,
    /// What was said there, if that is something else. Of a line that goes on without an end nobody knows.
    pub said: Option<Vec<u8>>,
}

/// Takes pieces of a log and gives back what can be written.
#[derive(Debug)]
pub struct LogMask {
    masker: Masker,
    /// a key of several lines may have begun in what is written already
    keys: Keys,
    pending: Vec<u8>,
    /// A secret that has only begun is at most so long.
    held_back: usize,
}

impl LogMask {
    pub fn new(masker: Masker) -> Self {
        let longest = masker.values().first().map_or(0, String::len);
        Self {
            masker,
            keys: Keys::default(),
            pending: Vec::new(),
            held_back: (LONGEST_SPELLING * longest).max(512),
        }
    }

    /// Whole lines, masked; what follows the last line's end waits for more.
    pub fn push(&mut self, bytes: &[u8]) -> Piece {
        self.pending.extend_from_slice(bytes);
        if let Some(end) = self.pending.iter().rposition(|b| matches!(b, b'\n' | b'\r')) {
            let rest = self.pending.split_off(end + 1);
            let lines = std::mem::replace(&mut self.pending, rest);
            return self.piece(lines);
        }
        if self.pending.len() < LONGEST_LINE {
            return Piece::default();
        }
        let mut masked = self.masker.bytes(&self.pending).into_owned();
        self.pending = masked.split_off(masked.len().saturating_sub(self.held_back));
        Piece { masked, said: None }
    }

    /// What still waits.
    pub fn finish(&mut self) -> Piece {
        let rest = std::mem::take(&mut self.pending);
        self.piece(rest)
    }

    fn piece(&mut self, said: Vec<u8>) -> Piece {
        let without_keys = self.keys.masked(&said);
        let masked = match self.masker.bytes(&without_keys) {
            Cow::Borrowed(same) if same.len() == without_keys.len() => None,
            masked => Some(masked.into_owned()),
        };
        match (masked, without_keys) {
            (Some(masked), _) | (None, Cow::Owned(masked)) => Piece { masked, said: Some(said) },
            (None, Cow::Borrowed(_)) => Piece { masked: said, said: None },
        }
    }
}

/// Masks what is written through it. Call [`MaskedWriter::finish`]: a last line without an end waits for it.
#[derive(Debug)]
pub struct MaskedWriter<W: Write> {
    to: W,
    mask: LogMask,
}

impl<W: Write> MaskedWriter<W> {
    /// With everything that this process knows.
    pub fn new(to: W) -> Self {
        Self { to, mask: LogMask::new((*masker()).clone()) }
    }

    pub fn finish(&mut self) -> io::Result<()> {
        let rest = self.mask.finish();
        self.to.write_all(&rest.masked)?;
        self.to.flush()
    }
}

impl<W: Write> Write for MaskedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = self.mask.push(bytes);
        self.to.write_all(&piece.masked)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(pieces: &[&[u8]]) -> String {
        let mut mask = LogMask::new(Masker::new(["s3cret-value".to_owned()]));
        let mut out: Vec<u8> = pieces.iter().flat_map(|p| mask.push(p).masked).collect();
        out.extend(mask.finish().masked);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_secret_in_two_pieces_is_masked_too() {
        assert_eq!(log(&[b"key s3cr", b"et-value\nnext", b" line"]), "key ***\nnext line");
        assert_eq!(log(&[b"\xff broken s3cret-value"]), "\u{fffd} broken ***");
    }

    #[test]
    fn a_line_without_an_end_goes_on_and_hides_secrets_across_its_cuts() {
        let mut long = vec![b'x'; LONGEST_LINE - 6];
        long.extend(b"s3cret");
        let text = log(&[&long, b"-value and more"]);
        assert!(text.ends_with("x*** and more") && text.len() > LONGEST_LINE - 6, "{}", text.len());
    }
}
