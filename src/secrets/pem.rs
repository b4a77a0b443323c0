//! Private keys in text, in the form in which they lie in files: from `-----BEGIN … PRIVATE KEY-----` to its end, on one line or on many.
//! Logs come line by line, so that a key may begin in one piece and end in a later one. Lines stay lines: what is shown of a log is
//! found again by its place in it.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::mask::MASKED;

/// In every first and last line.
const SIGN: &[u8] = b"PRIVATE KEY";
static BEGIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?-u)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----").ok());
static END: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?-u)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----").ok());
/// A word of a log's prefix is shorter.
const SHORTEST: usize = 16;
/// Longer keys do not exist.
const MOST_LINES: usize = 512;

/// Where in a key the text is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Keys {
    /// lines since a key began, and how far to the right that was
    within: Option<(usize, usize)>,
}

/// Whether a key may begin or end there.
pub(super) fn may_hold(text: &[u8]) -> bool {
    memchr::memmem::find(text, SIGN).is_some()
}

/// A text on its own without its keys; of one that begins in the middle of a key, as the end of a log may, without the rest of that.
pub(super) fn masked(text: &[u8]) -> Cow<'_, [u8]> {
    Keys::default().masked(text)
}

impl Keys {
    /// The next lines of a text without the keys.
    pub fn masked<'t>(&mut self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.within.is_none() && !may_hold(text) {
            return Cow::Borrowed(text);
        }
        let mut lines: Vec<Cow<'_, [u8]>> = Vec::new();
        for line in text.split_inclusive(|b| matches!(b, b'\n' | b'\r')) {
            let first = self.first_of_end(line, &lines);
            for before in &mut lines[first..] {
                *before = Cow::Owned(hidden(before));
            }
            lines.push(self.line(line));
        }
        Cow::Owned(lines.concat())
    }

    /// Where the lines begin that belong to a key whose beginning nobody saw, if this one ends it.
    fn first_of_end(self, line: &[u8], before: &[Cow<'_, [u8]>]) -> usize {
        let end = END.as_ref().and_then(|end| end.find(line)).filter(|_| self.within.is_none());
        let begins = |line: &[u8]| BEGIN.as_ref().is_some_and(|begin| begin.is_match(line));
        let Some(end) = end.filter(|_| !begins(line)) else { return before.len() };
        let of_key = before.iter().rev().take_while(|line| is_of_key(line, end.start())).count();
        before.len() - of_key
    }

    fn line<'t>(&mut self, line: &'t [u8]) -> Cow<'t, [u8]> {
        let Some((begin, end)) = BEGIN.as_ref().zip(END.as_ref()) else { return Cow::Owned(hidden(line)) };
        let last = end.find_iter(line).last().map(|last| last.start());
        if let Some((so_many, column)) = self.within.take() {
            match last {
                Some(last) => return Cow::Owned(up_to(line, last, column)),
                None if so_many < MOST_LINES && is_of_key(line, column) => {
                    self.within = Some((so_many + 1, column));
                    return Cow::Owned(hidden(line));
                }
                None => {}
            }
        }
        match (begin.find(line), last) {
            (Some(first), Some(last)) if first.end() <= last => {
                Cow::Owned([&line[..first.end()], MASKED.as_bytes(), &line[last..]].concat())
            }
            (Some(first), _) if holds_some(&line[first.end()..]) => {
                self.within = Some((0, first.start()));
                Cow::Owned([&line[..first.end()], &hidden(&line[first.end()..])].concat())
            }
            // a sentence about keys goes on behind it
            (Some(first), _) if line[first.end()..].iter().all(|b| b" \t\r\n\\\"',nr".contains(b)) => {
                self.within = Some((0, first.start()));
                Cow::Borrowed(line)
            }
            (None, Some(last)) if holds_some(&line[..last]) => {
                Cow::Owned([MASKED.as_bytes(), &line[last..]].concat())
            }
            _ => Cow::Borrowed(line),
        }
    }
}

/// The last line of a key: what stands before its end is hidden, unless that is only what the log puts before each line.
fn up_to(line: &[u8], end: usize, column: usize) -> Vec<u8> {
    let before = &line[..end];
    let is_prefix = before.len() <= column || is_blank(before);
    [if is_prefix { before } else { MASKED.as_bytes() }, &line[end..]].concat()
}

/// Whether a line may be one of a key: nothing, a header, or base64 behind as much as stood before the key's first line.
fn is_of_key(line: &[u8], column: usize) -> bool {
    let behind = line.get(column..).unwrap_or(line);
    let is_header = |line: &[u8]| {
        let name = line.split(|b| *b == b':').next().unwrap_or_default();
        ["Proc-Type", "DEK-Info", "Version", "Comment", "Hash"]
            .iter()
            .any(|n| name.eq_ignore_ascii_case(n.as_bytes()))
    };
    [line, behind].iter().any(|l| is_blank(l) || is_coded(l) || is_header(l.trim_ascii()))
        || line
            .trim_ascii()
            .rsplit(|b| *b == b' ')
            .next()
            .is_some_and(|word| word.len() >= SHORTEST && is_coded(word))
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Whether this is base64, perhaps in quotes as a program writes a text of several lines.
fn is_coded(line: &[u8]) -> bool {
    let is_of =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'"' | b'\'' | b',' | b'\\');
    line.trim_ascii().iter().all(is_of)
}

/// Whether a piece of a line has some of a key: base64 behind signs that stand for the ends of lines, if any.
fn holds_some(piece: &[u8]) -> bool {
    let mut words = piece.split(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')));
    words.any(|word| word.len() >= SHORTEST)
}

/// Stands in the place of a line; what ends it stays.
fn hidden(line: &[u8]) -> Vec<u8> {
    let end = if line.ends_with(b"\r") || line.ends_with(b"\n") { &line[line.len() - 1..] } else { b"" };
    if is_blank(line) { line.to_vec() } else { [MASKED.as_bytes(), end].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ";

    fn mask(text: &str) -> String {
        String::from_utf8_lossy(&masked(text.as_bytes())).into_owned()
    }

    #[test]
    fn a_key_is_hidden_between_its_first_and_its_last_line() {
        for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
            let key = |body: &str| {
                format!("a\n-----BEGIN {kind}PRIVATE KEY-----\n{body}-----END {kind}PRIVATE KEY-----\nb\n")
            };
            assert_eq!(mask(&key(&format!("{BODY}\n{BODY}\nQ=\n"))), key("***\n***\n***\n"));
        }
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        // as a program quotes it, and as a log has it
        assert_eq!(
            mask(&format!("key='{begin}\\n{BODY}\\nQ=\\n{end}\\n' n=1")),
            format!("key='{begin}***{end}\\n' n=1")
        );
        let prefixed = |body: &str| {
            format!("(pid=1) {begin}\n(pid=1) {body}\n(pid=1) Q=\n(pid=1) {end}\n(pid=1) ready\n")
        };
        assert_eq!(
            mask(&prefixed(BODY)),
            format!("(pid=1) {begin}\n***\n***\n(pid=1) {end}\n(pid=1) ready\n")
        );
        let pgp = format!(
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----\n"
        );
        assert!(!mask(&pgp).contains(BODY) && !mask(&pgp).contains("Version"));
    }

    #[test]
    fn a_key_that_lacks_an_end_is_hidden_as_far_as_it_goes() {
        let begin = "-----BEGIN PRIVATE KEY-----";
        assert_eq!(
            mask(&format!("{begin}\n{BODY}\nready to serve\n{BODY}\n")),
            format!("{begin}\n***\nready to serve\n{BODY}\n")
        );
        assert_eq!(mask(&format!("k: {begin}\\n{BODY}")), format!("k: {begin}***"));
        let end = "-----END PRIVATE KEY-----";
        assert_eq!(
            mask(&format!("some lines\n{BODY}\nQ=\n{end}\nb")),
            format!("some lines\n***\n***\n{end}\nb")
        );
    }

    #[test]
    fn pieces_of_a_log_are_one_text_and_what_is_public_stays() {
        let mut keys = Keys::default();
        let text = format!("a\n-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n{BODY}\n");
        let pieces: Vec<u8> =
            text.split_inclusive('\n').flat_map(|line| keys.masked(line.as_bytes()).into_owned()).collect();
        assert_eq!(String::from_utf8_lossy(&pieces), mask(&text));
        assert!(mask(&text).ends_with(&format!("{BODY}\n")));
        for plain in [
            format!("-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----\n"),
            format!("-----BEGIN PUBLIC KEY-----\n{BODY}\n-----END PUBLIC KEY-----\n"),
            format!("a file with -----BEGIN PRIVATE KEY----- in it is wanted\n{BODY}\n"),
        ] {
            assert_eq!(mask(&plain), plain);
        }
    }
}
