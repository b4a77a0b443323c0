//! How a class of failures looks in a log.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::text;

/// A class of failures and how it looks in a log.
#[derive(Debug, Clone)]
pub struct FailurePattern {
    pub name: String,
    regex: Regex,
}

impl FailurePattern {
    /// `^` and `$` match at lines; `\n` may stand in the pattern to match across them.
    pub fn new(name: impl Into<String>, pattern: &str) -> Result<Self, regex::Error> {
        Ok(Self { name: name.into(), regex: RegexBuilder::new(pattern).multi_line(true).build()? })
    }

    /// Where `log` matches.
    pub(super) fn places<'a>(&'a self, log: &'a str) -> impl Iterator<Item = Place> + 'a {
        self.regex.captures_iter(log).filter_map(|found| {
            let told = found.iter().flatten().last()?.range();
            Some(Place { begin: found.get(0)?.start(), told })
        })
    }
}

/// Where a pattern matches, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub begin: usize,
    /// The last group that took part, else the whole.
    pub told: Range<usize>,
}

/// All lines of `log` that a place touches, in one.
pub(super) fn lines_of(log: &str, told: &Range<usize>) -> String {
    let start = log[..told.start].rfind('\n').map_or(0, |i| i + 1);
    let end = log[told.end..].find('\n').map_or(log.len(), |i| told.end + i);
    let line = log[start..end].lines().map(text::clean).collect::<Vec<_>>().join(" ");
    text::shortened(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pattern: &str, log: &str) -> Option<String> {
        let pattern = FailurePattern::new("x", pattern).unwrap();
        pattern.places(log).next().map(|place| lines_of(log, &place.told))
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
}
