//! What is said of a sign that is one too many, or that stands for another.

use std::ops::Range;

use super::tokens::Token;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Expected, Swap};
use crate::lang::source::{FileId, Span};

/// What a declaration lacks nothing without.
pub(super) struct Stray {
    pub(super) token: Token,
    pub(super) after: String,
    /// where a `[` is missing that the token closes
    pub(super) opens: Option<usize>,
    /// another token would do as well
    pub(super) unsure: bool,
}

impl Stray {
    /// The part of a word and the sign behind it that change places, in a declaration that begins at `base`: `mo,del` is read as ` model`.
    pub(super) fn swap(&self, file: FileId, text: &str, base: usize) -> Option<Swap> {
        let differ = |(a, b): (u8, u8)| a != b;
        let was = text.get(base..base + self.after.len())?;
        let start = was.bytes().zip(self.after.bytes()).position(differ)?;
        let same = was.bytes().rev().zip(self.after.bytes().rev()).position(differ)?;
        let (end, sign) = (was.len() - same, self.opens.map_or(self.token.place.len(), |_| 1));
        let (was, is) = (was.get(start..end)?, self.after.get(start..end)?);
        let moved = was.len() > sign && was.get(..was.len() - sign)? == is.get(sign..)?;
        let cut = base + end - sign;
        moved.then(|| Swap { file, first: base + start..cut, second: cut..base + end })
    }

    pub(super) fn diagnostic(&self, id: FileId, text: &str, base: usize) -> Diagnostic {
        let Token { place, right, twice } = &self.token;
        let span = Span::new(id, base + place.start..base + place.end);
        let written = &text[span.range()];
        if let Some(at) = self.opens {
            let d = Self::sign(written, span)
                .label("nothing is open here")
                .help("a `[` stands before the points");
            return d.edit(Span::new(id, base + at..base + at), "[");
        }
        let d = if *twice {
            Diagnostic::new(Code::Unexpected, span, format!("{} stands here twice", quoted(written)))
                .label("the second one")
        } else if !right.is_empty() {
            Diagnostic::new(Code::Unexpected, span, format!("`{written}` was not expected here"))
                .about(About::Expected(Expected::sign(right)))
                .label(format!("expected `{right}`"))
        } else {
            Self::sign(written, span)
        };
        if is_power(text, &span.range()) {
            return d.help(NO_POWERS);
        }
        if self.unsure {
            let d = if twice == &false && right.is_empty() { d.label("one too many?") } else { d };
            return d.help("remove it, or add what belongs to it");
        }
        if right.is_empty() {
            // with the space before it, where one stands on both sides
            let spaced = text[..span.range().start].ends_with(' ')
                && text[span.range().end..].starts_with([' ', '\n', '\r']);
            let start = span.range().start - usize::from(*twice && spaced);
            return d.help("remove it").edit(Span::new(id, start..span.range().end), "");
        }
        d.help(format!("write `{right}`")).edit(span, *right)
    }

    fn sign(written: &str, span: Span) -> Diagnostic {
        let (code, message) = match written {
            "}" | "]" | ")" => (Code::Unopened, format!("this `{written}` closes nothing")),
            "{" | "[" | "(" => (Code::Unclosed, format!("this `{written}` is never closed")),
            "\"" => (Code::UnclosedString, "a quote without its other half".to_owned()),
            "'" => (Code::SingleQuotes, "a single quote without its other half".to_owned()),
            _ => (Code::Unexpected, format!("`{written}` was not expected here")),
        };
        Diagnostic::new(code, span, message).label("one too many")
    }
}

/// `vary a * + b`: an axis is missing between the two signs, and nobody meant the product of the others. The text in which they are
/// alternatives, where the plus is the one of the strays that is told.
pub(super) fn as_alternatives(text: &str, found: &[Stray], told: usize) -> Option<String> {
    let written = |s: &Stray| &text[s.token.place.clone()];
    let plus = found.get(told).filter(|s| written(s) == "+")?;
    let line = Span::new(FileId::default(), plus.token.place.clone()).line_in(text).range();
    let before = &text[line.start..plus.token.place.start];
    let is_of_axes =
        before.starts_with("axis ") || before.split_whitespace().any(|w| matches!(w, "vary" | "pick"));
    let is_beside = |s: &&Stray| {
        let (first, second) = (&s.token.place, &plus.token.place);
        let (end, start) = (first.end.min(second.end), first.start.max(second.start));
        written(s) == "*" && text[end..start].trim().is_empty()
    };
    found.iter().filter(|_| is_of_axes).find(is_beside).map(|s| s.after.clone())
}

pub(super) const NO_POWERS: &str = "there are no powers: multiply, `a * a`, or remove it";

/// Whether a sign is the second one of a power of other languages, `tps ** 2`; of axes there is none.
pub(super) fn is_power(text: &str, sign: &Range<usize>) -> bool {
    let line = text[..sign.start].rsplit('\n').next().unwrap_or_default();
    &text[sign.clone()] == "*" && line.ends_with('*') && !line.contains("vary ") && !line.starts_with("axis ")
}

fn quoted(text: &str) -> String {
    if text.starts_with('"') { text.to_owned() } else { format!("`{text}`") }
}
