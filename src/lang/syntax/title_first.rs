//! A point of an axis whose title stands before its name: `"FP8" fp8: …`.

use super::expected::by_rule;
use super::grammar::Rule;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::{FileId, Span};

/// What is wrong with a text of an axis where it cannot be read on.
pub(super) fn or_by_rule(id: FileId, text: &str, base: usize) -> Diagnostic {
    let found = by_rule(id, Rule::only_item, text, base, &[]);
    let at = (found.span.start as usize).checked_sub(base);
    at.and_then(|at| of_point(id, text, base, at)).unwrap_or(found)
}

fn of_point(id: FileId, text: &str, base: usize, at: usize) -> Option<Diagnostic> {
    let (before, rest) = (text.get(..at)?.trim_end(), text.get(at..)?);
    let title = len(rest).filter(|_| before.ends_with(['{', ',']))?;
    let behind = rest[title..].trim_start_matches([' ', '\t']);
    let name = super::blocks::first_word(behind);
    let start = rest.len() - behind.len();
    let is_point = start > title && behind[name.len()..].trim_start().starts_with(':');
    let span = |len: usize| Span::new(id, base + at..base + at + len);
    is_point.then(|| {
        let right = format!("{name} {}", &rest[..title]);
        told(span(title)).help(format!("write `{right}`")).edit(span(start + name.len()), right)
    })
}

/// How long the text is that another text begins with, behind which a name stands.
pub(super) fn len(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('"')?.split('"').next()?;
    let behind = text.get(inner.len() + 2..)?.trim_start();
    behind.starts_with(|c: char| c.is_ascii_lowercase()).then_some(inner.len() + 2)
}

pub(super) fn told(title: Span) -> Diagnostic {
    Diagnostic::new(Code::Unexpected, title, "the title stands before the name").label("a title")
}
