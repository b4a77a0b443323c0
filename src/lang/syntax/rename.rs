//! A name that is none is spelled anew where it is declared and wherever it is used, or a fix would leave its uses behind.

use std::ops::Range;

use super::lexical::{Piece, Scanner};
use crate::lang::codes::Code;
use crate::lang::diag::{Edit, Sink};
use crate::lang::source::{FileId, Span};

/// Completes the fixes of names that are declared wrongly; where the right name is taken already, there is none.
pub fn everywhere(id: FileId, text: &str, sink: &mut Sink) {
    for d in sink.each_mut().filter(|d| d.code == Code::Unexpected && d.span.file == id) {
        let [edit] = d.edits.as_slice() else { continue };
        if edit.span != d.span || !d.message.ends_with("is no name") {
            continue;
        }
        let (wrong, right) = (&text[d.span.range()], edit.text.clone());
        let Some(keyword) = text[..d.span.start as usize].split_whitespace().next_back() else { continue };
        if is_declared(text, keyword, &right) {
            d.edits.clear();
            continue;
        }
        let uses = uses(text, wrong).filter(|at| *at != d.span.range());
        let uses = uses.map(|at| Edit { span: Span::new(id, at), text: right.clone() });
        let uses: Vec<Edit> = uses.collect();
        d.edits.extend(uses);
    }
}

pub(super) fn is_declared(text: &str, keyword: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(keyword) && words.next() == Some(name)
    })
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Where a name stands as a word of its own: in no text, comment or value.
fn uses<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    // a value goes on to the end of its word, a list of values to its bracket
    let (mut value, mut was_sign) = (false, false);
    Scanner::new(text).filter_map(move |(at, piece)| {
        let byte = text.as_bytes()[at];
        let starts_value = was_sign && piece == Piece::Open(b'[');
        was_sign = byte == b'=' && piece == Piece::Other;
        value = match piece {
            _ if starts_value => true,
            Piece::Close(b']') => false,
            _ => value,
        };
        let here = matches!(piece, Piece::Other) && text.get(at..).is_some_and(|rest| rest.starts_with(name));
        let end = at + name.len();
        let alone = here && !text[..at].ends_with(in_word) && !text[end..].starts_with(in_word);
        (alone && !value && !text[..at].ends_with('=')).then_some(at..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand_for_something() {
        let text = "engine V = x { --y=V --z=[V, W] \"V\" }\nstep a { vary engine[V, w] } # V\nbaseline V";
        let found: Vec<usize> = uses(text, "V").map(|r| r.start).collect();
        assert_eq!(found, [7, text.find("[V, w").unwrap_or(0) + 1, text.len() - 1]);
    }
}
