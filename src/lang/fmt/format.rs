//! The way of a text through the formatter: read, laid out anew, read again and compared, so that no tree is ever changed.

use pest::Parser;

use super::{align, print, rows, same, tokens};
use crate::lang::diag::{Diagnostic, Sink, list};
use crate::lang::source::FileId;
use crate::lang::syntax::grammar::{Grammar, Rule};
use crate::lang::syntax::parse;

/// Why a text stays as it is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("the file has mistakes in its syntax")]
    Syntax(Vec<Diagnostic>),
    #[error("the formatted text would not say the same as the file ({0})")]
    Different(String),
}

/// Lays a file out. Spans of diagnostics are those of the text given, without the mark that some editors put before it.
pub fn format(text: &str) -> Result<String, Refusal> {
    let text = crate::lang::sema::without_mark(text);
    let mut sink = Sink::default();
    parse(FileId::default(), text, &mut sink);
    if sink.has_errors() {
        let unlisted = sink.unlisted();
        let mut found = sink.into_sorted();
        list(&mut found, unlisted);
        return Err(Refusal::Syntax(found));
    }
    let different = |why: &str| Refusal::Different(why.to_owned());
    let pairs = Grammar::parse(Rule::file, text).map_err(|_| different("it cannot be read twice"))?;
    let root = pairs.into_iter().next().ok_or_else(|| different("it has no root"))?;
    let tokens = tokens::tokens(&root).ok_or_else(|| different("a line was not understood"))?;
    let lines = print::lines(&rows::file(&tokens, text, &root));
    let formatted = align::text(&lines);
    same::check(text, &formatted).map_err(Refusal::Different)?;
    Ok(formatted)
}
