//! Names of which the grammar read a part: `max-num-seqs`, which was read up to its first hyphen.

use std::ops::Range;

use super::hints::Hint;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, short};
use crate::lang::source::{FileId, Span};

/// What is said of all of a name where its edit writes it anew and only the end of it was not expected.
pub(super) fn whole(
    id: FileId,
    text: &str,
    base: usize,
    token: &Range<usize>,
    hint: &Hint,
) -> Option<Diagnostic> {
    let (at, right) = hint.edit.as_ref().filter(|(at, _)| at.start < token.start && token.end <= at.end)?;
    let name = text.get(at.clone())?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let hyphened = name.chars().all(plain) && text[token.start..].starts_with('-');
    let alike = |a: &str, b: &str| a.trim_start_matches('-').replace('-', "_") == b.replace('-', "_");
    let label = match right.strip_prefix("--") {
        Some(_) => "a flag lacks its dashes",
        None => "no name holds a `-`",
    };
    let span = Span::new(id, base + at.start..base + at.end);
    let keyword = text[..at.start].split_whitespace().next_back();
    let about = if matches!(keyword, Some("step")) { About::NoName } else { About::Plain };
    (hyphened && alike(right, name)).then(|| {
        Diagnostic::new(Code::Unexpected, span, format!("`{}` was not expected here", short(name)))
            .about(about)
            .label(label)
            .help(hint.help.as_str())
            .edit(span, right.as_str())
    })
}
