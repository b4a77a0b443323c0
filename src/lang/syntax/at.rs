//! A token that stands where no rule takes it, with what stands around it, and the fixes that go with a hint.

use std::ops::Range;

use super::hints::Hint;

/// A token where it stands.
pub(super) struct At<'a> {
    pub chunk: &'a str,
    /// a place in the chunk
    pub token: &'a Range<usize>,
    pub word: &'a str,
    /// what stands before it, without spaces at its end
    pub before: &'a str,
    pub after: &'a str,
    /// what could have stood there instead
    pub expected: &'a [String],
}

impl<'a> At<'a> {
    pub fn new(chunk: &'a str, token: &'a Range<usize>, word: &'a str, expected: &'a [String]) -> Self {
        let (before, after) = (chunk[..token.start].trim_end(), &chunk[token.end.max(token.start)..]);
        Self { chunk, token, word, before, after, expected }
    }

    pub fn is(&self, what: &str) -> bool {
        self.expected.iter().any(|e| e == what)
    }

    pub fn is_only(&self, what: &str) -> bool {
        matches!(self.expected, [only] if only == what)
    }

    /// In its place, something else.
    pub fn here(&self, help: impl Into<String>, right: &str) -> Hint {
        mend(help, self.token.clone(), right)
    }

    /// Whether nothing but a comment follows on the line.
    pub fn ends_line(&self) -> bool {
        let rest = self.after.trim_start_matches([' ', '\t']);
        rest.is_empty() || rest.starts_with(['\n', '\r', '#'])
    }
}

/// A token on its line.
pub(super) struct Line<'a> {
    /// a place in the chunk
    pub token: &'a Range<usize>,
    pub word: &'a str,
    /// what stands before it on the line, without spaces around it
    pub before: &'a str,
    /// where that ends in the chunk
    pub end: usize,
    /// the line from the token on, without a comment
    pub rest: &'a str,
}

impl<'a> Line<'a> {
    pub fn of(chunk: &'a str, token: &'a Range<usize>, word: &'a str) -> Self {
        let start = chunk[..token.start].rfind('\n').map_or(0, |n| n + 1);
        let before = chunk[start..token.start].trim();
        let end = chunk[..token.start].trim_end().len();
        let rest = chunk[token.start..].split(['\n', '#']).next().unwrap_or_default().trim_end();
        Self { token, word, before, end, rest }
    }

    /// Where what stands before the token begins in the chunk.
    pub fn start(&self) -> usize {
        self.end - self.before.len()
    }

    /// The word that it begins with.
    pub fn first(&self) -> &str {
        self.before.split_whitespace().next().unwrap_or_default()
    }

    /// In the place of so much of the rest, something else.
    pub fn write(&self, len: usize, right: &str) -> Hint {
        mend(format!("write `{right}`"), self.token.start..self.token.start + len, right)
    }
}

/// The number that a text ends with, with its sign: `-30` of `gain < -30`. Empty where it ends with none.
pub(super) fn number_at_end(text: &str) -> &str {
    let start = text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let before = &text[..start];
    if start == text.len() || before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return "";
    }
    let signed = before.strip_suffix('-').filter(|b| b.is_empty() || b.ends_with([' ', '\t', '(', '=']));
    &text[signed.map_or(start, str::len)..]
}

/// A hint without a fix.
pub(super) fn only(help: impl Into<String>) -> Hint {
    Hint { help: help.into(), edit: None }
}

/// A hint that puts something into a place of the chunk.
pub(super) fn mend(help: impl Into<String>, at: Range<usize>, right: impl Into<String>) -> Hint {
    Hint { help: help.into(), edit: Some((at, right.into())) }
}

/// How long the rest of a value is behind a param that it inserts: up to a space, a quote, a comma or a bracket. Another param is part of it.
pub(super) fn goes_on(text: &str) -> usize {
    let is_name = |n: &str| n.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let param = text[at..].strip_prefix('{').and_then(|t| t.split_once('}'));
        at += match param.filter(|(name, _)| !name.is_empty() && is_name(name)) {
            Some((name, _)) => name.len() + 2,
            None if c.is_whitespace() || "\"',[](){}".contains(c) => break,
            None => c.len_utf8(),
        };
    }
    at
}
