//! Signs of an expression as a page of the web escapes them, `ttft &lt; 2s`: they are read as what they stand for.

use super::blocks::first_word;
use super::lexical::{Piece, Scanner};
use super::nesting::code;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// Nobody copies more of them; each makes a fix longer.
const MOST: usize = 64;
const ESCAPES: [(&str, &str); 4] = [("&lt;", "<"), ("&gt;", ">"), ("&amp;&amp;", "and"), ("&amp;", "and")];

/// The text with the signs themselves, all else in its place; they are told of.
pub fn undone(id: FileId, text: &mut String, sink: &mut Sink) {
    if !text.contains("&lt;") && !text.contains("&gt;") && !text.contains("&amp;") {
        return;
    }
    let mut found = Vec::new();
    let mut last = 0;
    for (at, piece) in Scanner::new(text) {
        let signed = piece == Piece::Other && text.as_bytes()[at] == b'&' && at >= last;
        if !signed || found.len() == MOST || !is_condition(text, at) {
            continue;
        }
        if let Some((escape, sign)) = ESCAPES.iter().find(|(escape, _)| text[at..].starts_with(escape)) {
            last = at + escape.len();
            found.push((at, *escape, *sign));
        }
    }
    for (at, escape, sign) in found {
        let span = Span::new(id, at..at + escape.len());
        let d = Diagnostic::new(Code::Unexpected, span, format!("`{escape}` was not expected here"));
        let d = d.label(format!("an escaped `{}`", if sign == "and" { "&" } else { sign }));
        sink.push(d.help(format!("write `{sign}`")).edit(span, sign));
        // of `&lt;=` both signs stand together
        let width = escape.len();
        let right = if sign == "and" { format!("{sign:^width$}") } else { format!("{sign:>width$}") };
        text.replace_range(at..at + width, &right);
    }
}

/// Whether a place is in a line that has an expression: a value elsewhere may hold any sign.
pub(super) fn is_condition(text: &str, at: usize) -> bool {
    let before = text[..at].rsplit('\n').next().unwrap_or_default();
    let line = code(before).trim_start();
    let begins = matches!(
        first_word(line),
        "prune" | "metric" | "refuses" | "require" | "maximize" | "minimize" | "when" | "and" | "or" | "not"
    );
    begins || line.contains(" when ")
}
