//! A small scanner beside the grammar: it knows strings, comments and brackets and nothing else.
//!
//! It answers what a grammar cannot say well: how deep brackets nest (before a recursive parser may look), which bracket is never
//! closed, and whether a line has a mistake that can be named at once (single quotes, `--flag value`).

use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::{FileId, Span};

/// Brackets nest a handful deep in real studies; recursion is safe far beyond this.
const MAX_DEPTH: usize = 48;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    Open(u8),
    Close(u8),
    /// a `"` whose string ends on the same line: the byte after its end
    Text(usize),
    UnclosedText,
    Comment(usize),
    Other,
}

/// Walks over text in pieces: `(offset, piece)`.
pub struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// a `#` begins a comment only where a word could begin, as in `--x=a#b` it is part of the value
    fresh: bool,
    /// no string that begins before this place ends on its line
    unclosed_to: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, fresh: true, unclosed_to: 0 }
    }

    fn string_end(&self) -> Option<usize> {
        let mut i = self.at + 1;
        while let Some(&b) = self.bytes.get(i) {
            match b {
                // a backslash at the end of a line continues nothing
                b'\\' if !matches!(self.bytes.get(i + 1), Some(b'\n' | b'\r')) => i += 2,
                b'"' => return Some(i + 1),
                b'\n' | b'\r' => return None,
                _ => i += 1,
            }
        }
        None
    }

    /// A string, or where there is none: every later quote of its line is an escaped one of it, and begins none either.
    fn string(&mut self) -> Piece {
        if self.at < self.unclosed_to {
            return Piece::UnclosedText;
        }
        if let Some(end) = self.string_end() {
            return Piece::Text(end);
        }
        self.unclosed_to = self.line_end();
        Piece::UnclosedText
    }

    fn line_end(&self) -> usize {
        self.bytes[self.at..]
            .iter()
            .position(|b| matches!(b, b'\n' | b'\r'))
            .map_or(self.bytes.len(), |n| self.at + n)
    }
}

impl Iterator for Scanner<'_> {
    type Item = (usize, Piece);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        let byte = *self.bytes.get(start)?;
        let piece = match byte {
            b'{' | b'[' | b'(' => Piece::Open(byte),
            b'}' | b']' | b')' => Piece::Close(byte),
            b'"' => self.string(),
            b'#' if self.fresh => Piece::Comment(self.line_end()),
            _ => Piece::Other,
        };
        self.at = match piece {
            Piece::Text(end) | Piece::Comment(end) => end,
            _ => start + 1,
        };
        self.fresh = !matches!(piece, Piece::Other)
            || matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b'=' | b':');
        if byte == b'=' && piece == Piece::Other {
            self.fresh = false;
        }
        Some((start, piece))
    }
}

/// The first bracket that is nested too deeply for a recursive reader.
pub fn too_deep(id: FileId, text: &str) -> Option<Diagnostic> {
    let mut depth = 0usize;
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(_) => depth += 1,
            Piece::Close(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let message = format!("brackets are nested more than {MAX_DEPTH} deep");
            return Some(
                Diagnostic::new(Code::TooDeep, Span::new(id, at..at + 1), message)
                    .label("this one is too deep")
                    .help("split it: name a part with `axis` or `metric` and use the name"),
            );
        }
    }
    None
}

/// Quotes that begin no string on very long lines: the grammar would look for the end of each anew.
pub fn noise(id: FileId, text: &str) -> Option<Diagnostic> {
    const MOST_BYTES: usize = 1 << 20;
    let (mut first, mut looked_at) = (None, 0);
    let mut scanner = Scanner::new(text);
    while let Some((at, piece)) = scanner.next() {
        if piece == Piece::UnclosedText {
            first.get_or_insert(at);
            looked_at += scanner.unclosed_to - at;
        }
    }
    let first = first.filter(|_| looked_at > MOST_BYTES)?;
    let message = "quotes all over: strings are not closed on their lines";
    Some(
        Diagnostic::new(Code::UnclosedString, Span::new(id, first..first + 1), message)
            .label("the first one")
            .help("a string is `\"…\"` on one line; is this a .plab file?"),
    )
}

/// Line ends of a lone carriage return would make one line of the whole file.
pub fn cr_only(id: FileId, text: &str) -> Option<Diagnostic> {
    (text.contains('\r') && !text.contains('\n')).then(|| {
        Diagnostic::new(Code::NotText, Span::new(id, 0..0), "lines end with a lone carriage return")
            .help("save the file with line ends of `\\n` or `\\r\\n`")
    })
}

/// The bracket that is never closed (or closes nothing), by stack and by the indentation of closing lines.
pub fn unbalanced(text: &str) -> Option<(usize, Piece)> {
    let mut stack: Vec<(usize, u8)> = Vec::new();
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(b) => stack.push((at, b)),
            Piece::Close(b) => {
                let Some(&(open, o)) = stack.last() else { return Some((at, piece)) };
                if closes(o, b) && !dedents(text, open, at) {
                    stack.pop();
                } else {
                    return Some((open, Piece::Open(o)));
                }
            }
            _ => {}
        }
    }
    stack.last().map(|&(at, b)| (at, Piece::Open(b)))
}

fn closes(open: u8, close: u8) -> bool {
    matches!((open, close), (b'{', b'}') | (b'[', b']') | (b'(', b')'))
}

/// A `}` that begins its line further left than the line that opened the bracket belongs to a bracket further out.
fn dedents(text: &str, open: usize, close: usize) -> bool {
    let indent = |at: usize| {
        let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
        let blank = text[start..].bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
        (blank, start + blank == at)
    };
    let (inner, first) = indent(close);
    first && inner < indent(open).0
}

/// Mistakes that can be named from the characters alone, the first in the chunk. `base` is the chunk's offset in its file.
pub fn mistake(id: FileId, base: usize, chunk: &str) -> Option<Diagnostic> {
    let span = |from: usize, to: usize| Span::new(id, base + from..base + to);
    for (at, piece) in Scanner::new(chunk) {
        match piece {
            Piece::UnclosedText => {
                let end = chunk[at..].find(['\n', '\r']).map_or(chunk.len(), |n| at + n);
                let open = Diagnostic::new(
                    Code::UnclosedString,
                    span(at, end),
                    "a string is not closed on its line",
                );
                return Some(open.label("begins here").help("end it with `\"` on the same line"));
            }
            Piece::Other if chunk.as_bytes()[at] == b'\'' => return Some(single_quotes(chunk, at, span)),
            Piece::Other if chunk.as_bytes()[at] >= 0x80 => {
                if let Some(d) = curly_quotes(chunk, at, span) {
                    return Some(d);
                }
            }
            Piece::Other if starts_flag(chunk, at) && !super::hints::is_condition(chunk) => {
                if let Some(d) = spaced_flag(chunk, at, span) {
                    return Some(d);
                }
            }
            _ => {}
        }
    }
    None
}

fn single_quotes(chunk: &str, at: usize, span: impl Fn(usize, usize) -> Span) -> Diagnostic {
    let line_end = chunk[at..].find(['\n', '\r']).map_or(chunk.len(), |n| at + n);
    let end = chunk[at + 1..line_end].find('\'').map_or(line_end, |n| at + n + 2);
    let inner = chunk[at..end].trim_matches('\'');
    // what a shell needs quotes for is a value of its own here
    let is_object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(inner).is_ok();
    let right = if is_object { inner.to_owned() } else { format!("\"{}\"", inner.replace('"', "\\\"")) };
    Diagnostic::new(Code::SingleQuotes, span(at, end), "a string is written in single quotes")
        .label(if is_object { "a JSON object takes none" } else { "strings take double quotes" })
        .help(format!("write {right}"))
        .edit(span(at, end), right)
}

/// Quotes as a word processor makes them.
fn curly_quotes(chunk: &str, at: usize, span: impl Fn(usize, usize) -> Span) -> Option<Diagnostic> {
    let curly = |c: char| matches!(c, '“' | '”' | '„' | '‘' | '’');
    let rest = chunk.get(at..).filter(|r| r.starts_with(curly))?;
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    let len =
        line.char_indices().skip(1).find(|(_, c)| curly(*c)).map_or(line.len(), |(i, c)| i + c.len_utf8());
    let fixed = format!("\"{}\"", line[..len].trim_matches(curly));
    let d = Diagnostic::new(Code::SingleQuotes, span(at, at + len), "a string is written in curly quotes");
    Some(d.label("strings take double quotes").help(format!("write {fixed}")).edit(span(at, at + len), fixed))
}

fn starts_flag(chunk: &str, at: usize) -> bool {
    let bytes = chunk.as_bytes();
    bytes[at] == b'-'
        && (at == 0 || matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b'=' | b':'))
        && bytes[at..].iter().find(|b| **b != b'-').is_some_and(u8::is_ascii_alphabetic)
}

/// `--flag value`, `--flag = value`, `--flag= value`: what was meant is `--flag=value`.
fn spaced_flag(chunk: &str, at: usize, span: impl Fn(usize, usize) -> Span) -> Option<Diagnostic> {
    let rest = &chunk[at..];
    let name_len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))?;
    let (name, after) = rest.split_at(name_len);
    let line = after.split(['\n', '\r']).next().unwrap_or_default();
    let value = line.trim_start_matches([' ', '\t', '=']);
    let gap = &line[..line.len() - value.len()];
    if gap.is_empty() || gap == "=" || value.is_empty() {
        return None;
    }
    let word_len = value.find([' ', '\t', ',', '#']).unwrap_or(value.len());
    let word = if value.starts_with(['{', '[', '"']) { whole(value) } else { &value[..word_len] };
    let has_sign = gap.contains('=');
    // a flag that is declared is followed by its type
    let declared = chunk[..at].trim_start().strip_prefix("flag").is_some_and(|r| r.starts_with([' ', '\t']));
    if !has_sign && (declared || !is_value(word)) {
        return None;
    }
    let end = at + name_len + gap.len() + word.len();
    let fixed = format!("{name}={word}");
    Some(
        Diagnostic::new(
            Code::SpacedFlag,
            span(at, end),
            format!("`{name}` and its value are separated by a space"),
        )
        .label("a flag and its value are one word")
        .help(format!("write {fixed}"))
        .edit(span(at, end), fixed),
    )
}

/// A string, or all that a bracket holds, as far as it stands on this line.
fn whole(value: &str) -> &str {
    let mut depth = 0_usize;
    for (at, piece) in Scanner::new(value) {
        match piece {
            Piece::Text(end) if depth == 0 => return &value[..end],
            Piece::Open(_) => depth += 1,
            Piece::Close(_) if depth <= 1 => return &value[..=at],
            Piece::Close(_) => depth -= 1,
            _ => {}
        }
    }
    value.trim_end()
}

/// A word after a flag that can only be its value: no other flag, keyword, bracket or operator.
fn is_value(word: &str) -> bool {
    const FOLLOW: [&str; 20] = [
        "env", "model", "unset", "raw", "because", "int", "float", "switch", "text", "path", "json", "words",
        "one_of", "and", "or", "not", "when", "uses", "unless", "default",
    ];
    let first = word.as_bytes().first().copied().unwrap_or(b'}');
    // a JSON object begins with a key: other braces open the block of a step or of points
    let object = word.strip_prefix('{').is_some_and(|r| r.trim_start().starts_with(['"', '}']));
    (first.is_ascii_alphanumeric() || matches!(first, b'"' | b'[') || object)
        && !FOLLOW.contains(&word)
        && !matches!(word, "since" | "until" | "negated" | "after" | "on")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_bracket_that_is_never_closed() {
        assert_eq!(unbalanced("a { b { c } }"), None);
        assert_eq!(unbalanced("a { b { c }"), Some((2, Piece::Open(b'{'))));
        let inner = "study s {\n    step a {\n        vary x\n}\n";
        assert_eq!(unbalanced(inner), Some((21, Piece::Open(b'{'))));
        assert_eq!(unbalanced("a }"), Some((2, Piece::Close(b'}'))));
    }

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        assert_eq!(unbalanced("a { \"}\" # }\n}"), None);
        assert_eq!(unbalanced("--x=a#{b\n"), Some((6, Piece::Open(b'{'))));
    }

    #[test]
    fn names_a_spaced_flag() {
        let d = mistake(FileId(0), 0, "--max-num-seqs 512").expect("found");
        assert_eq!(d.help.as_deref(), Some("write --max-num-seqs=512"));
        assert!(mistake(FileId(0), 0, "--a --b=1").is_none());
        assert!(mistake(FileId(0), 0, "--a=1 --b").is_none());
    }
}
