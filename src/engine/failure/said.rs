//! What an engine said, and what of it people may see: reasons are looked for in the one, and shown in the words of the other.

use std::ops::Range;

use super::lines;
use super::text;

/// A log without colours, twice where secrets stand in it. Both have the same lines.
#[derive(Debug)]
pub(super) struct Said {
    words: String,
    /// The same with secrets masked; `None` where there are none.
    shown: Option<String>,
}

impl Said {
    /// `original` is what stands in the log before anything is masked, if that is known to be something else.
    pub fn new(log: &[u8], original: Option<&[u8]>) -> Self {
        let plain = |bytes: &[u8]| text::strip_ansi(&text::narrow(bytes)).into_owned();
        let shown = plain(log);
        match original.map(plain).filter(|words| count(words) == count(&shown)) {
            Some(words) => Self { words, shown: Some(shown) },
            None => Self { words: shown, shown: None },
        }
    }

    /// As the engine said it. Nothing of it may be shown.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// As people may see it.
    pub fn shown(&self) -> &str {
        self.shown.as_ref().unwrap_or(&self.words)
    }

    /// What people may see of all lines that a place of [`Said::words`] touches, in one, without what loggers put before.
    pub fn lines_of(&self, place: &Range<usize>) -> String {
        let first = count(&self.words[..place.start]);
        let more = self.words[place.clone()].matches('\n').count();
        let touched = self.shown().split('\n').skip(first).take(more + 1);
        let line = touched.map(|line| text::clean(line.trim_end_matches('\r'))).collect::<Vec<_>>().join(" ");
        text::shortened(line.trim())
    }

    /// What people may see of a line, by its number.
    pub fn line(&self, at: usize) -> String {
        let line = self.shown().split('\n').nth(at).unwrap_or_default();
        text::shortened(lines::said(line))
    }
}

fn count(text: &str) -> usize {
    text.matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::super::pattern::FailurePattern;
    use super::*;

    fn line(pattern: &str, log: &str) -> Option<String> {
        let pattern = FailurePattern::new("x", pattern).unwrap();
        let said = Said::new(log.as_bytes(), None);
        let told = pattern.places(said.words()).next()?.told;
        Some(said.lines_of(&told))
    }

    #[test]
    fn a_match_across_lines_is_one_line() {
        let log = "x\n(A pid=1) ValidationError: 1\n(A pid=1)   Value error, no [type=y]\nz";
        let both = line(r"ValidationError: .*\n.*Value error, ", log).unwrap();
        assert_eq!(both, "ValidationError: 1 Value error, no");
    }

    #[test]
    fn a_group_says_which_line_matters() {
        let log = "x\n(A pid=1) ValidationError: 1\n(A pid=1)   Value error, no [type=y]\nz";
        assert_eq!(line(r"ValidationError: .*\n.*Value error, (.+)", log).unwrap(), "Value error, no");
        assert_eq!(line("one|two", "three"), None);
    }

    #[test]
    fn what_is_written_in_sixteen_bits_is_read() {
        let wide: Vec<u8> = "Fatal: no\nbye\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let with_mark = [&[0xff, 0xfe], &wide[..]].concat();
        for log in [&wide, &with_mark] {
            assert_eq!(Said::new(log, None).line(0), "Fatal: no");
        }
    }

    #[test]
    fn what_is_found_is_shown_masked() {
        let said = Said::new(b"a\n[x] key *** is bad\r\nz", Some(b"a\n[x] key abcdef is bad\r\nz"));
        let at = said.words().find("abc").unwrap();
        assert_eq!(said.lines_of(&(at..at + 3)), "key *** is bad");
        assert_eq!((said.line(1).as_str(), said.shown()), ("key *** is bad", "a\n[x] key *** is bad\r\nz"));
        // without the same lines nobody knows which is which
        assert_eq!(Said::new(b"***", Some(b"a\nb")).words(), "***");
    }
}
