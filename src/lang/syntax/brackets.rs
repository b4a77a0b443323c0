//! Brackets without their other half, or written twice: which one is to blame, and the text as it was meant.

use super::blocks::first_word;
use super::lexical::{Piece, Scanner};
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::{FileId, Span};

/// The bracket that is never closed (or closes nothing).
pub fn unbalanced(text: &str) -> Option<(usize, Piece)> {
    let found = by_stack(text)?;
    let json = if found.1 == Piece::Open(b'{') { open_json(text) } else { None };
    Some(json.map_or(found, |at| (at, Piece::Open(b'{'))))
}

/// By stack and by the indentation of closing lines: a `}` that begins its line further left than the line that opened the bracket belongs to
/// a bracket further out. Of a block it does not where each bracket has its other half: that is bad layout only.
fn by_stack(text: &str) -> Option<(usize, Piece)> {
    let blank = |at: usize| text[at..].bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
    // where a bracket stands, which it is, and how far its line is indented
    let mut stack: Vec<(usize, u8, usize)> = Vec::new();
    let (mut line, mut indent, mut even) = (0, blank(0), None);
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(b) => stack.push((at, b, indent)),
            Piece::Close(b) => {
                let Some(&(open, o, outer)) = stack.last() else { return Some((at, piece)) };
                // of the only one that is open it is the end, wherever it stands, but for one that begins its line
                let begins = || text[..open].rsplit('\n').next().is_some_and(|l| l.trim().is_empty());
                let left = line + indent == at && indent < outer && (stack.len() > 1 || begins());
                let dedents =
                    left && !(ends_its_line(text, open) && *even.get_or_insert_with(|| is_even(text)));
                if closes(o, b) && !dedents {
                    stack.pop();
                } else if !dedents && (is_spare(&stack, text, at) || is_strange(&stack, text, at)) {
                    return Some((at, piece));
                } else {
                    return Some((open, Piece::Open(o)));
                }
            }
            Piece::Other if text.as_bytes()[at] == b'\n' => {
                line = at + 1;
                indent = blank(line);
            }
            _ => {}
        }
    }
    stack.last().map(|&(at, b, _)| (at, Piece::Open(b)))
}

/// The first `{` of a text, where it is the only brace that is never closed, whatever is wrong with other brackets.
pub(super) fn open_head(text: &str) -> Option<(usize, Piece)> {
    let mut open = Vec::new();
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(b'{') => open.push(at),
            Piece::Close(b'}') => drop(open.pop()?),
            _ => {}
        }
    }
    let head = text.find('{')?;
    (open == [head]).then_some((head, Piece::Open(b'{')))
}

/// Whether a bracket opens lines below it.
fn ends_its_line(text: &str, at: usize) -> bool {
    let behind = text[at + 1..].lines().next().unwrap_or_default().trim_start();
    behind.is_empty() || behind.starts_with('#')
}

/// Whether each bracket has its other half, wherever that stands.
fn is_even(text: &str) -> bool {
    let mut open = Vec::new();
    let mut fits = |(_, piece)| match piece {
        Piece::Open(b) => {
            open.push(b);
            true
        }
        Piece::Close(b) => open.pop().is_some_and(|o| closes(o, b)),
        _ => true,
    };
    Scanner::new(text).all(&mut fits) && open.is_empty()
}

/// Whether all is closed on its line without a closing bracket that fits none: `{"a": [1, 2]]}`.
fn is_spare(stack: &[(usize, u8, usize)], text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
    let mut open: Vec<u8> = stack.iter().filter(|(o, ..)| *o >= line).map(|(_, b, _)| *b).collect();
    let depth = open.len();
    for (_, piece) in Scanner::new(&text[at + 1..end]) {
        match piece {
            Piece::Open(b) => open.push(b),
            Piece::Close(b) if open.last().is_some_and(|o| closes(*o, b)) => drop(open.pop()),
            Piece::Close(_) => return false,
            _ => {}
        }
    }
    depth > 0 && open.is_empty()
}

/// Whether a round or square bracket behind something stands in braces of lines above, where none of its kind is open: `b: --seed=2)`.
fn is_strange(stack: &[(usize, u8, usize)], text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let above = stack.last().is_some_and(|(open, b, _)| *b == b'{' && *open < line);
    let begins = text[line..at].trim().is_empty();
    above && !begins && !stack.iter().any(|(_, b, _)| closes(*b, text.as_bytes()[at]))
}

fn closes(open: u8, close: u8) -> bool {
    matches!((open, close), (b'{', b'}') | (b'[', b']') | (b'(', b')'))
}

/// A JSON object that goes on with a line that is no JSON, or that begins on its first line and takes the `}` of the block around
/// it: without indentation nothing else tells the two apart.
fn open_json(text: &str) -> Option<usize> {
    let begins = |(at, piece): &(usize, Piece)| *piece == Piece::Open(b'{') && text[..*at].ends_with('=');
    Scanner::new(text).filter(begins).map(|(at, _)| at).find(|&at| {
        let mut depth = 0_usize;
        for (inner, piece) in Scanner::new(&text[at..]) {
            match piece {
                Piece::Open(_) => depth += 1,
                Piece::Close(_) => depth = depth.saturating_sub(1),
                _ if text.as_bytes()[at + inner] == b'\n' && !goes_on(&text[at + inner + 1..]) => {
                    return true;
                }
                _ => {}
            }
            if depth == 0 {
                let first = text[at + 1..].split('\n').next().unwrap_or_default().trim();
                let line = text[..at + inner].rsplit('\n').next().unwrap_or_default();
                return !first.is_empty() && line.trim().is_empty();
            }
        }
        true
    })
}

/// Whether a line can be one of a JSON object.
fn goes_on(rest: &str) -> bool {
    let line = rest.split('\n').next().unwrap_or_default().trim();
    let word = ["true", "false", "null"].iter().any(|w| line.starts_with(w));
    let number = line.strip_prefix('-').unwrap_or(line).starts_with(|c: char| c.is_ascii_digit());
    line.is_empty() || word || number || line.starts_with(['"', '{', '}', '[', ']', ',', ':', '#'])
}

/// A round or square bracket of a line without its other half. Braces may go on over lines, and are told of where their block ends.
pub fn lone(id: FileId, base: usize, text: &str) -> Option<Diagnostic> {
    let (at, piece) = unbalanced(text)?;
    let within = matches!(piece, Piece::Open(b'(' | b'[') | Piece::Close(b')' | b']'));
    within.then(|| bracket(id, base + at, piece))
}

/// What is said of a bracket without its other half.
pub fn bracket(id: FileId, at: usize, piece: Piece) -> Diagnostic {
    let span = Span::new(id, at..at + 1);
    match piece {
        Piece::Close(b) => {
            let open = match b {
                b'}' => "open the block",
                b']' => "add the `[`",
                _ => "add the `(`",
            };
            Diagnostic::new(Code::Unopened, span, format!("this `{}` closes nothing", b as char))
                .label("nothing is open here")
                .help(format!("remove it, or {open} that it should close"))
        }
        Piece::Open(b) => {
            let close = match b {
                b'{' => '}',
                b'[' => ']',
                _ => ')',
            };
            Diagnostic::new(Code::Unclosed, span, format!("this `{}` is never closed", b as char))
                .label("opened here")
                .help(format!("add a `{close}` where what it opens ends"))
        }
        _ => Diagnostic::new(Code::Unexpected, span, "something else was expected here")
            .help("see the grammar"),
    }
}

/// Whether a round bracket without its other half may stand for one around some operands: of `a + b) * c` and `(a + b * c` nobody knows
/// what was meant.
pub(super) fn may_group(text: &str, at: usize) -> bool {
    // what closes nothing may also be a line that begins nothing
    let Some(bracket @ (b'(' | b')')) = text.as_bytes().get(at) else { return false };
    let line =
        text[..at].rfind('\n').map_or(0, |n| n + 1)..text[at..].find('\n').map_or(text.len(), |n| at + n);
    let (before, behind) = (text[line.start..at].trim_end(), text[at + 1..line.end].trim_start());
    let operator = |word: &&str| matches!(*word, "+" | "-" | "*" | "/" | "and" | "or");
    if *bracket == b')' {
        let goes_on = behind.split_whitespace().next().is_some_and(|w| operator(&w));
        let outside = outside(before);
        let operators: Vec<&str> = outside.split_whitespace().filter(operator).collect();
        // of `q * seqs + eager)` too: only of one kind of operator all groups are the same
        let (first, plain) = (operators.first(), |w: &&str| matches!(*w, "+" | "*" | "and" | "or"));
        let alike = operators.iter().all(|w| Some(w) == first && plain(w));
        goes_on && !operators.is_empty() || operators.len() > 1 && !alike
    } else {
        let glued = text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        !glued && behind.split_whitespace().any(|w| operator(&w))
    }
}

/// The end of a text that stands in no round brackets, up to one that is open, without what stands in those that are closed.
fn outside(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept: Vec<char> = Vec::new();
    for c in text.chars().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => break,
            '(' => depth -= 1,
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept.into_iter().rev().collect()
}

/// A brace that is written twice, as templates do.
pub struct Doubled {
    second: usize,
    /// the brace that closes it, where it has one
    close: Option<usize>,
}

impl Doubled {
    /// The first one of a text.
    pub fn find(text: &str) -> Option<Self> {
        let mut last = None;
        let mut braces = Scanner::new(text).filter(|(_, p)| *p == Piece::Open(b'{')).map(|(at, _)| at);
        let second = braces.find(|&at| {
            let before = last.replace(at);
            before.is_some_and(|b: usize| text[b + 1..at].bytes().all(|c| matches!(c, b' ' | b'\t')))
        })?;
        let alone = Self { second, close: None };
        let close = if unbalanced(&alone.without(text)).is_some() { closing(text, second) } else { None };
        Some(Self { second, close })
    }

    /// Those of a whole file that begin a block: one is closed twice where both ends stand alike, else a brace is missing elsewhere.
    pub fn of_blocks(text: &str) -> Vec<Self> {
        let line = |at: usize| text[..at].rfind('\n').map_or(0, |n| n + 1);
        let begins = |at: usize| text[line(at)..at].trim().is_empty();
        let of_block = |at: usize| {
            let word = first_word(text[line(at)..].trim_start());
            matches!(word, "step" | "track" | "study" | "engine" | "profile" | "site")
        };
        let mut found = Vec::new();
        let mut last: Option<usize> = None;
        for (at, _) in Scanner::new(text).filter(|(_, p)| *p == Piece::Open(b'{')) {
            let before = last.replace(at);
            let Some(first) = before.filter(|b| text[b + 1..at].bytes().all(|c| matches!(c, b' ' | b'\t')))
            else {
                continue;
            };
            if !of_block(at) || found.last().is_some_and(|d: &Self| d.second == first) {
                continue;
            }
            // one that closes something further below is that one's
            let beside = |(inner, outer): &(usize, usize)| text[inner + 1..*outer].trim().is_empty();
            let ends = closing(text, at).zip(closing(text, first)).filter(beside);
            let close = ends
                .filter(|(inner, outer)| line(*inner) == line(*outer) || begins(*inner) && begins(*outer));
            found.push(Self { second: at, close: close.map(|(_, outer)| outer) });
        }
        found
    }

    /// The text without it, all else in its place.
    pub fn without(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for at in [Some(self.second), self.close].into_iter().flatten() {
            out.replace_range(at..=at, " ");
        }
        out
    }

    pub fn diagnostic(&self, id: FileId, base: usize) -> Diagnostic {
        let at = |at: usize| Span::new(id, base + at..base + at + 1);
        let d = Diagnostic::new(Code::Unexpected, at(self.second), "this brace is written twice")
            .label("the second one")
            .edit(at(self.second), "");
        match self.close {
            Some(close) => d.help("remove it, and the `}` that closes it").edit(at(close), ""),
            None => d.help("remove it"),
        }
    }
}

/// A block whose first line, as far as it could be read, is another `{`.
pub fn doubled_block(id: FileId, base: usize, text: &str) -> Option<Diagnostic> {
    let inner = text.strip_prefix('{')?;
    // `{"max_num_seqs": 256}`
    if inner.trim_start().starts_with('"') {
        return None;
    }
    let close = closing(text, 0);
    Some(Doubled { second: 0, close }.diagnostic(id, base))
}

/// Where what a bracket opens is closed.
pub(super) fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, piece) in Scanner::new(&text[open..]) {
        match piece {
            Piece::Open(_) => depth += 1,
            Piece::Close(b'}') if depth == 1 => return Some(open + at),
            Piece::Close(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
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
    fn a_bracket_that_fits_none_is_one_too_many() {
        assert_eq!(unbalanced("--x={\"a\": [1, 2]]}"), Some((16, Piece::Close(b']'))));
        assert_eq!(unbalanced("a = {\n b: --x=2)\n}"), Some((15, Piece::Close(b')'))));
        assert_eq!(unbalanced("a = {\n b: --x=2\n)"), Some((4, Piece::Open(b'{'))));
        assert_eq!(unbalanced("--x={\"a\": [1, 2}"), Some((10, Piece::Open(b'['))));
        assert_eq!(unbalanced("a { b[1, 2 }"), Some((5, Piece::Open(b'['))));
    }

    #[test]
    fn without_indentation_json_is_told_from_the_block_around_it() {
        assert_eq!(unbalanced("a {\n--x={\"m\": 1\n--y=2\n}\n"), Some((8, Piece::Open(b'{'))));
        assert_eq!(unbalanced("a {\n--x={\"m\": 1\n}\n"), Some((8, Piece::Open(b'{'))));
        assert_eq!(unbalanced("a {\n--x={\n\"m\": 1\n}\n"), Some((2, Piece::Open(b'{'))));
        assert_eq!(unbalanced("a {\n--x={\"m\": 1}\n--y=2\n"), Some((2, Piece::Open(b'{'))));
    }

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        assert_eq!(unbalanced("a { \"}\" # }\n}"), None);
        assert_eq!(unbalanced("--x=a#{b\n"), Some((6, Piece::Open(b'{'))));
    }

    #[test]
    fn a_brace_written_twice_hides_none_that_is_missing() {
        let mended = |t: &str| Doubled::of_blocks(t).iter().fold(t.to_owned(), |text, d| d.without(&text));
        assert_eq!(
            mended("study s {\n step a { vary x\n step b {{ vary y }\n}"),
            "study s {\n step a { vary x\n step b {  vary y }\n}"
        );
        assert_eq!(mended("study s {\n step b {{ vary y }}\n}"), "study s {\n step b {  vary y } \n}");
        assert_eq!(mended("step b {{\n vary y\n }\n}"), "step b { \n vary y\n }\n ");
        assert_eq!(mended("--x={{\"a\": 1}}"), "--x={{\"a\": 1}}");
    }

    #[test]
    fn a_brace_written_twice_goes_with_what_closes_it() {
        let mended = |t: &str| Doubled::find(t).map(|d| d.without(t));
        assert_eq!(mended("a {{ b }"), Some("a {  b }".to_owned()));
        assert_eq!(mended("a {{ b { c } }}"), Some("a {  b { c }  }".to_owned()));
        assert_eq!(mended("a { b \"{{\" }"), None);
    }
}
