//! The whole lines of a file, one after another, where they lie in a buffer: most of a long journal is read once and never copied.

use std::io::{self, Read};

use memchr::memchr;

/// Room for a few lines of a long study; a longer line makes more.
const ROOM: usize = 1 << 16;

/// Reads a file's lines.
pub struct Lines<R> {
    file: R,
    buffer: Vec<u8>,
    /// what was read and not yet given
    from: usize,
    to: usize,
}

impl<R: Read> Lines<R> {
    pub fn of(file: R) -> Self {
        Self { file, buffer: vec![0; ROOM], from: 0, to: 0 }
    }

    /// The next line without its end; `None` where no line end follows.
    pub fn next(&mut self) -> io::Result<Option<&mut [u8]>> {
        let mut looked_at = 0;
        loop {
            let new = self.from + looked_at;
            if let Some(more) = memchr(b'\n', &self.buffer[new..self.to]) {
                let line = self.from..new + more;
                self.from = line.end + 1;
                return Ok(Some(&mut self.buffer[line]));
            }
            looked_at = self.to - self.from;
            if self.read()? == 0 {
                return Ok(None);
            }
        }
    }

    /// Reads on behind what is there, which moves to the front; how many bytes came.
    fn read(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.to == self.buffer.len() {
            self.buffer.resize(2 * self.to, 0);
        }
        loop {
            match self.file.read(&mut self.buffer[self.to..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
                Ok(came) => {
                    self.to += came;
                    return Ok(came);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives a few bytes at a time, as a file may.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let few = self.1.min(self.0.len()).min(to.len());
            let (now, later) = self.0.split_at(few);
            to[..few].copy_from_slice(now);
            self.0 = later;
            Ok(few)
        }
    }

    fn lines(text: &[u8], at_once: usize, room: usize) -> Vec<Vec<u8>> {
        let mut lines = Lines { file: Slowly(text, at_once), buffer: vec![0; room], from: 0, to: 0 };
        let mut all = Vec::new();
        while let Some(line) = lines.next().expect("memory") {
            all.push(line.to_vec());
        }
        all
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_text(text in "[ab\n]{0,60}", at_once in 1..20usize, room in 1..20usize) {
            let mut expected: Vec<Vec<u8>> = text.split('\n').map(|l| l.as_bytes().to_vec()).collect();
            // what follows the last line end is no whole line
            expected.pop();
            prop_assert_eq!(lines(text.as_bytes(), at_once, room), expected);
        }
    }
}
