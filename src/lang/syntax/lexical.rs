//! A small scanner beside the grammar: it knows strings, comments and brackets and nothing else.
//!
//! It answers what a grammar cannot say well: how deep brackets nest (before a recursive parser may look), and whether a line has a
//! mistake that can be named at once (single quotes, `--flag value`).

use super::early::begins;
use super::{quotes, spaced};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::invisible;
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

    /// Goes on to the end of a word, whose signs mean nothing: most of a file is words.
    fn skip_word(&mut self) {
        let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let length = self.bytes[self.at..].iter().take_while(|b| word(b)).count();
        self.fresh &= length == 0;
        self.at += length;
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

/// Where the first string of a line begins that does not end on it.
pub fn unclosed_text(line: &str) -> Option<usize> {
    Scanner::new(line).find(|(_, piece)| *piece == Piece::UnclosedText).map(|(at, _)| at)
}

/// Whether a line opens a brace; those in its texts, `"Q-{who}"`, open none.
pub fn opens_brace(line: &str) -> bool {
    Scanner::new(line).any(|(_, piece)| piece == Piece::Open(b'{'))
}

/// How many more blocks a text opens than it closes.
pub fn depth(text: &str) -> i64 {
    Scanner::new(text).fold(0, |depth, (_, piece)| match piece {
        Piece::Open(b'{') => depth + 1,
        Piece::Close(b'}') => depth - 1,
        _ => depth,
    })
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

/// What a first walk over a whole file says of it.
pub struct Survey {
    /// why it cannot be read at all
    pub problem: Option<Diagnostic>,
    /// some `}` closes a block that nothing opened
    pub closes_too_much: bool,
}

/// Looks for what a recursive reader could not bear, and at how blocks open and close.
pub fn survey(id: FileId, text: &str) -> Survey {
    let (mut depth, mut blocks, mut closes_too_much) = (0_usize, 0_i64, false);
    let mut quotes = Quotes::default();
    let mut scanner = Scanner::new(text);
    while let Some((at, piece)) = scanner.next() {
        match piece {
            Piece::Open(bracket) => {
                depth += 1;
                blocks += i64::from(bracket == b'{');
            }
            Piece::Close(bracket) => {
                depth = depth.saturating_sub(1);
                blocks -= i64::from(bracket == b'}');
            }
            Piece::UnclosedText => quotes.take(at, &scanner),
            // what the declarations above lack is none of this one's
            Piece::Other if blocks != 0 && text.as_bytes()[at] == b'\n' && begins(&text[at + 1..]) => {
                blocks = 0;
            }
            _ => {}
        }
        scanner.skip_word();
        closes_too_much |= blocks < 0;
        if depth > MAX_DEPTH {
            return Survey { problem: Some(too_deep(id, at)), closes_too_much };
        }
    }
    Survey { problem: cr_only(id, text).or_else(|| quotes.noise(id)), closes_too_much }
}

fn too_deep(id: FileId, at: usize) -> Diagnostic {
    let message = format!("brackets are nested more than {MAX_DEPTH} deep");
    Diagnostic::new(Code::TooDeep, Span::new(id, at..at + 1), message)
        .label("this one is too deep")
        .help("split it: name a part with `axis` or `metric` and use the name")
}

/// Quotes that begin no string: on very long lines the grammar would look for the end of each anew.
#[derive(Default)]
struct Quotes {
    first: Option<usize>,
    /// bytes that would be looked at
    cost: usize,
}

impl Quotes {
    fn take(&mut self, at: usize, scanner: &Scanner<'_>) {
        self.first.get_or_insert(at);
        self.cost += scanner.unclosed_to - at;
    }

    fn noise(&self, id: FileId) -> Option<Diagnostic> {
        const MOST_BYTES: usize = 1 << 20;
        let first = self.first.filter(|_| self.cost > MOST_BYTES)?;
        let message = "quotes all over: strings are not closed on their lines";
        Some(
            Diagnostic::new(Code::UnclosedString, Span::new(id, first..first + 1), message)
                .label("the first one")
                .help("a string is `\"…\"` on one line; is this a .plab file?"),
        )
    }
}

/// Line ends of a lone carriage return would make one line of the whole file.
fn cr_only(id: FileId, text: &str) -> Option<Diagnostic> {
    (text.contains('\r') && !text.contains('\n')).then(|| {
        Diagnostic::new(Code::NotText, Span::new(id, 0..0), "lines end with a lone carriage return")
            .help("save the file with line ends of `\\n` or `\\r\\n`")
    })
}

/// The first character outside of strings and comments that takes no room on the screen. Copied texts have them.
pub fn invisible(id: FileId, base: usize, chunk: &str) -> Option<Diagnostic> {
    let named = |(at, piece): (usize, Piece)| {
        let c = chunk.get(at..)?.chars().next().filter(|_| piece == Piece::Other)?;
        Some((at, c, invisible::name(c)?))
    };
    if chunk.is_ascii() {
        return None;
    }
    if let Some(found) = other_spaces(id, base, chunk) {
        return Some(found);
    }
    let (at, c, name) = Scanner::new(chunk).find_map(named)?;
    let span = Span::new(id, base + at..base + at + c.len_utf8());
    let message = format!("an invisible character, U+{:04X} ({name})", u32::from(c));
    let d = Diagnostic::new(Code::Unexpected, span, message).label("stands here");
    Some(d.help("remove it").edit(span, ""))
}

/// Spaces that look like plain ones and are none, as pages and documents have them: all of a chunk are one mistake.
fn other_spaces(id: FileId, base: usize, chunk: &str) -> Option<Diagnostic> {
    let named = |(at, piece): (usize, Piece)| {
        let c = chunk.get(at..)?.chars().next().filter(|_| piece == Piece::Other)?;
        Some((at, c, invisible::space(c)?))
    };
    let all: Vec<_> = Scanner::new(chunk).filter_map(named).collect();
    let (first, c, name) = *all.first()?;
    let span = |at: usize, c: char| Span::new(id, base + at..base + at + c.len_utf8());
    let message = format!("a space that is no plain one, U+{:04X} ({name})", u32::from(c));
    let d = Diagnostic::new(Code::Unexpected, span(first, c), message).label("stands here");
    let d = d.help("replace it by a plain space");
    Some(all.into_iter().fold(d, |d, (at, c, _)| d.edit(span(at, c), " ")))
}

/// Mistakes that can be named from the characters alone, the first in the chunk. `base` is the chunk's offset in its file.
pub fn mistake(id: FileId, base: usize, chunk: &str) -> Option<Diagnostic> {
    let span = |from: usize, to: usize| Span::new(id, base + from..base + to);
    for (at, piece) in Scanner::new(chunk) {
        match piece {
            Piece::UnclosedText => {
                if let Some(spare) = quotes::doubled(chunk, at) {
                    return Some(quotes::without_half(span(spare, spare + 1)));
                }
                let end = chunk[at..].find(['\n', '\r']).map_or(chunk.len(), |n| at + n);
                let open = Diagnostic::new(
                    Code::UnclosedString,
                    span(at, end),
                    "a string is not closed on its line",
                );
                return Some(open.label("begins here").help("end it with `\"` on the same line"));
            }
            Piece::Text(_) if chunk[at..].starts_with("\"{\"") => {
                if let Some(d) = quotes::around_json(chunk, at, span) {
                    return Some(d);
                }
            }
            Piece::Other if chunk.as_bytes()[at] == b'\'' && !quotes::is_of_a_text(chunk, at) => {
                return Some(quotes::single(chunk, at, span));
            }
            Piece::Other if chunk.as_bytes()[at] == b'`' => {
                if let Some(d) = quotes::backticks(chunk, at, span) {
                    return Some(d);
                }
            }
            Piece::Other if chunk.as_bytes()[at] >= 0x80 => {
                if let Some(d) = quotes::curly(chunk, at, span) {
                    return Some(d);
                }
            }
            Piece::Other if starts_flag(chunk, at) => {
                if let Some(d) = spaced::flag(chunk, at, span).filter(|_| !is_in_condition(chunk, at)) {
                    return Some(d);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a place is in a condition, which has flags and signs apart: in a chunk that is one, or in such a line of a block.
fn is_in_condition(chunk: &str, at: usize) -> bool {
    let line = &chunk[chunk[..at].rfind('\n').map_or(0, |n| n + 1)..];
    super::hints::is_condition(chunk) || super::hints::is_condition(line)
}

fn starts_flag(chunk: &str, at: usize) -> bool {
    let bytes = chunk.as_bytes();
    bytes[at] == b'-'
        && (at == 0 || matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b'=' | b':'))
        && bytes[at..].iter().find(|b| **b != b'-').is_some_and(u8::is_ascii_alphabetic)
}
