//! The tokens of a line that may be too many in it, or another's: its signs, and the words that stand there twice.

use std::ops::Range;

use super::lexical::{Piece, Scanner};

/// Signs that are no brackets or quotes.
pub(super) const SEPARATORS: &[char] = &[
    ',', ';', ':', '=', '+', '*', '-', '/', '<', '>', '!', '%', '|', '&', '?', '@', '$', '^', '~', '.', '\\',
    '`',
];

/// A token to be taken out, or written as another.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) place: Range<usize>,
    pub(super) right: &'static str,
    /// a word, text or sign that stands there twice
    pub(super) twice: bool,
}

/// The signs of a line that may be too many or another's, and the words that stand there twice.
pub(super) fn tokens(line: &str) -> Vec<Token> {
    let end =
        Scanner::new(line).find(|(_, p)| matches!(p, Piece::Comment(_))).map_or(line.len(), |(at, _)| at);
    let odd = line[..end].matches('"').count() % 2 == 1;
    let (mut found, mut last): (Vec<Token>, Range<usize>) = (Vec::new(), 0..0);
    for word in pieces(line, end, odd) {
        let text = &line[word.clone()];
        let gone = Token { place: word.clone(), right: "", twice: false };
        if let Some(right) = comparison(&line[word.start..end]) {
            // the other way round
            found.push(Token { place: word.start..word.start + right.len(), right, twice: false });
        } else if text.starts_with(SEPARATORS) && text.chars().nth(1).is_none() {
            let twice = &line[last.clone()] == text && is_again(text, &line[last.end..word.start]);
            // of a comparison the sign is not too many, but the rest
            if twice || !matches!(text, "<" | ">" | "!") {
                found.push(Token { twice, ..gone });
            }
            let others =
                [",", ":", "="].iter().filter(|o| matches!(text, "," | ";" | ":" | "=") && **o != text);
            found.extend(others.map(|right| Token { place: word.clone(), right, twice: false }));
        } else if matches!(text, "{" | "}" | "[" | "]" | "(" | ")" | "\"" | "'") {
            found.push(gone);
            let others: &[&'static str] = match text {
                "}" | "]" | ")" => &["}", "]", ")", "{"],
                "{" | "[" | "(" => &["{", "[", "(", "}"],
                _ => &[],
            };
            let others = others.iter().filter(|o| **o != text);
            found.extend(others.map(|right| Token { place: word.clone(), right, twice: false }));
        } else if &line[last.clone()] == text {
            found.push(Token { twice: true, ..gone });
        }
        last = word;
    }
    found
}

/// `=>` and `=<`, as they are written here.
fn comparison(rest: &str) -> Option<&'static str> {
    let right = match rest.get(..2)? {
        "=>" => ">=",
        "=<" => "<=",
        _ => return None,
    };
    (!rest[2..].starts_with('=')).then_some(right)
}

/// Whether a sign stands there for a second time, and nothing was to stand between the two: `++`, `+ +`, `,,`. Between two commas that are
/// apart a value may be missing.
fn is_again(sign: &str, between: &str) -> bool {
    between.is_empty() || between == " " && sign != ","
}

/// The words, texts and signs of a line; where a quote has no other half, each quote is a sign.
pub(super) fn pieces(line: &str, end: usize, odd: bool) -> Vec<Range<usize>> {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '%');
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = line[at..end].chars().next() {
        let rest = &line[at..end];
        let len = match c {
            _ if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '"' if !odd => match Scanner::new(rest).next() {
                Some((_, Piece::Text(len))) => len,
                _ => 1,
            },
            // of `99%%` one is too many
            _ if in_word(c) => {
                let word = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
                rest[..word].find("%%").map_or(word, |n| n + 1)
            }
            _ => c.len_utf8(),
        };
        found.push(at..at + len);
        at += len;
    }
    found
}
