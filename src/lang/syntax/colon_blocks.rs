//! A block as YAML and Python have it: a first line that ends with `:`, and lines below it that are indented.

use super::ast::Item;
use super::blocks::first_word;
use super::brackets::unbalanced;
use super::reread::reread_within;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Expected, Sink};
use crate::lang::source::{FileId, Span};

/// The declaration that was meant, and what is said of its first line. `text` begins at `at` of the file.
pub(super) fn read(
    id: FileId,
    at: usize,
    text: &str,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    if !matches!(first_word(text), "engine" | "profile" | "study" | "site") || unbalanced(text).is_some() {
        return None;
    }
    let first = text.lines().next()?;
    let head = first[..start_of_comment(first).unwrap_or(first.len())].trim_end();
    // a name alone stands behind the keyword, or a parent behind `=`
    let colon = head.len().checked_sub(1).filter(|_| head.ends_with(':') && !head.contains('{'))?;
    let body = text[first.len()..].trim_end();
    let is_indented = |line: &str| line.trim().is_empty() || line.starts_with([' ', '\t']);
    if body.trim().is_empty() || !body.lines().skip(1).all(is_indented) {
        return None;
    }
    let end = first.len() + body.len();
    let mut mended = format!("{}\n}}", &text[..end]);
    mended.replace_range(colon..=colon, "{");
    let here = Span::new(id, at + colon..at + colon + 1);
    let close = Span::new(id, at + end..at + end);
    let d = Diagnostic::new(Code::Unexpected, here, "`:` was not expected here")
        .about(About::Expected(Expected::sign("{")))
        .label("expected `{`")
        .help("a block stands in braces: write `{` here, and `}` below its last line")
        .edit(here, if head[..colon].ends_with(' ') { "{" } else { " {" })
        .edit(close, "\n}");
    sink.push(d);
    reread_within(at..at + end, id, &mended, at, sink, broken)
}
