//! The declarations of a text that no rule took: where each of them begins.

use super::blocks::first_word;
use super::lexical::{Piece, Scanner};
use super::nesting::code;
use super::{imports, names, words};
use crate::lang::comments::start_of_comment;
use crate::lang::diag::did_you_mean;
use crate::lang::source::Span;

/// The parts of a bad chunk: where a line at the margin, outside of every bracket or with a `=` of its own, begins with what was surely meant
/// to be the keyword of a declaration, another mistake begins.
pub fn parts(file: &str, span: Span) -> Vec<Span> {
    let text = &file[span.range()];
    let (mut open, mut cuts) = (Vec::new(), vec![0]);
    for (at, piece) in Scanner::new(text) {
        let depth = open.len();
        match piece {
            Piece::Open(b) => open.push(b),
            Piece::Close(_) => drop(open.pop()),
            Piece::Other if at > 0 && text.as_bytes()[at - 1] == b'\n' => {
                if depth == 0 && begins_indented(&text[..at], &text[at..]) {
                    cuts.push(at);
                    continue;
                }
                let word = first_word(&text[at..]);
                let near = did_you_mean(word, words::DECLARATIONS.iter().copied());
                // a word alone, as in `axs other = …`, not the end of a line that goes on
                let named = text[at + word.len()..].starts_with(' ');
                let slip = near.is_some_and(|n| n != word) && word.len() > 2 && named;
                // what a bracket above was not closed for is no part of it
                let line = text[at..].lines().next().unwrap_or_default().trim_end();
                let begins = depth == 0 || line.contains(" = ") || opens_beyond(&open, line);
                // `lab "Title" {`, `axis` and nothing else
                let head = (line.ends_with('{') && word.starts_with(|c: char| c.is_ascii_lowercase())
                    || words::DECLARATIONS.contains(&line))
                    && (depth == 0 || depth == 1 && is_below_its_block(&text[cuts[cuts.len() - 1]..at]));
                let elsewhere =
                    names::set_elsewhere(line).is_some() || is_set(line) || is_wrong_way_round(line);
                let word_alone = depth == 0 && is_a_word(line) && !goes_on(&text[..at]);
                if head
                    || word_alone
                    || begins_with_a_sign(line)
                    || begins && (slip || elsewhere || imports::is_meant(word, &text[at..]))
                {
                    cuts.push(at);
                    open.clear();
                }
            }
            _ => {}
        }
    }
    cuts.push(text.len());
    let part = |w: &[usize]| Span { start: span.start + w[0] as u32, end: span.start + w[1] as u32, ..span };
    cuts.windows(2).map(part).collect()
}

/// `axis: seqs = …`, `axis = seqs { … }`: a declaration with a sign behind its keyword.
pub(super) fn begins_with_a_sign(line: &str) -> bool {
    let word = first_word(line);
    let rest = line[word.len()..].trim_start_matches([' ', '\t']);
    words::DECLARATIONS.contains(&word) && rest.starts_with([':', '='])
}

/// Whether a text is a block that is open, all of whose lines stand within it: what stands at the margin below is none of them.
fn is_below_its_block(text: &str) -> bool {
    let mut lines = text.lines().map(code).filter(|l| !l.trim().is_empty());
    let opens = lines.next().is_some_and(|l| !l.starts_with([' ', '\t']) && l.ends_with('{'));
    let mut inner = lines.peekable();
    opens && inner.peek().is_some() && inner.all(|l| l.starts_with([' ', '\t']))
}

/// `studdy s {` below a `[` or `(`: no list or call has a block in it.
fn opens_beyond(open: &[u8], line: &str) -> bool {
    matches!(open.last(), Some(b'[' | b'(')) && line.ends_with('{') && !line.contains(['=', ',', ':'])
}

/// ` third = chat {`, ` seqs = --max-num-seqs=[16, 32]` below a block: an indented line that declares something, without its keyword.
fn begins_indented(before: &str, rest: &str) -> bool {
    let line = rest.lines().next().unwrap_or_default();
    let below_a_block = || before.trim_end().ends_with('}');
    // lines of a block whose first one is lost
    let below_its_end = || before.trim_end().ends_with("\n}") && !line.trim().is_empty();
    let begins = || derives(line.trim()) || is_set(line.trim_start()) && below_a_block() || below_its_end();
    line.starts_with([' ', '\t']) && begins()
}

/// `third = chat {`: the first line of a block without its keyword.
fn derives(line: &str) -> bool {
    let name = first_word(line);
    let parent = line[name.len()..].strip_prefix(" = ").and_then(|b| b.strip_suffix('{'));
    let word = |w: &str| w.starts_with(|c: char| c.is_ascii_lowercase()) && first_word(w) == w;
    word(name) && !words::DECLARATIONS.contains(&name) && parent.is_some_and(|p| word(p.trim_end()))
}

/// `async = --async-scheduling`: a declaration without its keyword.
fn is_set(line: &str) -> bool {
    let name = first_word(line);
    let spaced = line[name.len()..].trim_start_matches(' ');
    let behind = spaced.strip_prefix("= ").filter(|_| spaced.len() < line.len() - name.len());
    name.starts_with(|c: char| c.is_ascii_lowercase()) && behind.is_some_and(|b| !b.trim().is_empty())
}

/// `async axis = --async-scheduling`
fn is_wrong_way_round(line: &str) -> bool {
    let name = first_word(line);
    let next = line[name.len()..].trim_start_matches(' ');
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && !words::DECLARATIONS.contains(&name);
    is_name && words::DECLARATIONS.contains(&first_word(next))
}

/// Whether a line is one word and nothing else, as the end of a here-document is.
fn is_a_word(line: &str) -> bool {
    let word = line.trim_matches('`');
    word.len() > 1 && word.bytes().all(|b| b.is_ascii_alphabetic())
}

/// Whether a declaration goes on behind a text.
fn goes_on(before: &str) -> bool {
    let last = before.trim_end().rsplit('\n').next().unwrap_or_default();
    let code = last[..start_of_comment(last).unwrap_or(last.len())].trim_end();
    let word = code.rsplit([' ', '\t']).next().unwrap_or_default();
    let sign = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '"' | ')' | ']' | '}' | '%');
    code.ends_with(sign)
        || words::DECLARATIONS.contains(&word)
        || matches!(word, "when" | "and" | "or" | "not")
}
