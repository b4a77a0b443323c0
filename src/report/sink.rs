//! Text that goes on to where it is written as it is made: that of a long study has tens of megabytes.

use std::io;

/// So much is held before it goes on.
pub(super) const PIECE: usize = 64 << 10;

/// A text that is being made, held or written on.
#[derive(Default)]
pub(super) struct Sink<'w> {
    held: String,
    to: Option<&'w mut (dyn io::Write + 'w)>,
    failed: Option<io::Error>,
}

impl<'w> Sink<'w> {
    /// A text that goes on; [`Sink::end`] says whether all of it did.
    pub fn to(to: &'w mut (dyn io::Write + 'w)) -> Self {
        Self { to: Some(to), ..Self::default() }
    }

    pub fn push_str(&mut self, text: &str) {
        self.held.push_str(text);
        self.give_on(PIECE);
    }

    /// A line and its end.
    pub fn line(&mut self, text: &str) {
        self.held.push_str(text);
        self.push_str("\n");
    }

    /// All of a text that was held.
    pub fn held(self) -> String {
        self.held
    }

    /// Writes what is left of one that goes on.
    pub fn end(mut self) -> io::Result<()> {
        self.give_on(0);
        self.failed.map_or(Ok(()), Err)
    }

    fn give_on(&mut self, at_least: usize) {
        let Some(to) = self.to.as_mut().filter(|_| self.held.len() > at_least) else { return };
        // the first error is the one to tell
        if self.failed.is_none() {
            self.failed = to.write_all(self.held.as_bytes()).err();
        }
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_what_would_be_held() {
        let write = |sink: &mut Sink<'_>| {
            sink.line("first");
            (0..2000).for_each(|_| sink.line(&"x".repeat(100)));
            sink.push_str("last");
        };
        let mut held = Sink::default();
        write(&mut held);
        let mut out = Vec::new();
        let mut sink = Sink::to(&mut out);
        write(&mut sink);
        assert!(sink.held.len() <= PIECE);
        sink.end().expect("memory");
        assert_eq!(String::from_utf8(out).expect("text"), held.held());
        let mut full: &mut [u8] = &mut [0; 9];
        let mut sink = Sink::to(&mut full);
        write(&mut sink);
        assert!(sink.end().is_err());
    }
}
