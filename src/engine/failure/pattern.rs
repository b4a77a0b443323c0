//! How a class of failures looks in a log.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

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
