//! What a shell would read behind a command, `> server.log`, `2>&1`, `| tee x`, as a line of an engine or behind one: no shell reads it, and
//! what a server prints is kept with its launch.

use std::ops::Range;

use super::at::{Line, mend};
use super::blocks::{Block, first_word};
use super::hints::Hint;
use super::words;
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, short};
use crate::lang::source::{FileId, Span};

const NO_SHELL: &str = "no shell reads this, and what the server prints is kept with its launch: remove";

/// Whether a text begins with what says where the output of a command goes. A quoted line of an engine, `> --flag`, is none.
pub(super) fn begins(text: &str) -> bool {
    let piped = text.strip_prefix("|&").or_else(|| text.strip_prefix('|'));
    if piped.is_some_and(|rest| first_word(rest.trim_start()) == "tee") {
        return true;
    }
    let text = text.strip_prefix(['1', '2', '&']).unwrap_or(text);
    let goes = text.strip_prefix(">>").or_else(|| text.strip_prefix('>')).map(str::trim_start);
    goes.is_some_and(|to| {
        let quoted = to.starts_with('-') || words::ENGINE_SETTINGS.contains(&first_word(to));
        !to.is_empty() && !to.starts_with('=') && !quoted
    })
}

/// A line of an engine that is nothing else.
pub(super) fn line(id: FileId, block: Block, text: &str, base: usize) -> Option<Diagnostic> {
    let line = text.lines().next()?;
    let line = line.split(" #").next()?.trim_end();
    if block != Block::Engine || !begins(line) {
        return None;
    }
    let sign = line.split([' ', '\t']).next()?;
    let span = Span::new(id, base..base + sign.len());
    let d =
        Diagnostic::new(Code::UnknownSetting, span, format!("an engine has no setting `{}`", short(sign)));
    let whole = Span::new(id, base..base + line.len());
    Some(d.label("of a shell").help(format!("{NO_SHELL} the line")).edit(whole, ""))
}

/// The same behind a flag, a variable or a command.
pub(super) fn behind(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let line = Line::of(chunk, token, word);
    let of_engine = line.before.starts_with('-') || matches!(line.first(), "env" | "raw" | "serve" | "probe");
    (of_engine && begins(line.rest)).then(|| {
        let place = line.end..token.start + line.rest.len();
        mend(format!("{NO_SHELL} `{}`", short(line.rest)), place, "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_and_a_quotation_go_nowhere() {
        for text in ["> log", ">> log", ">log", "2>&1 | tee x", "&> x", "1> x", "| tee -a x", "|& tee x"] {
            assert!(begins(text), "{text}");
        }
        for text in [">= 5", "> --seqs=1", "> version \"1\"", "| x", "2", ">", "& x"] {
            assert!(!begins(text), "{text}");
        }
    }
}
