//! Texts, numbers and JSON as they are written, and what they stand for.

use pest::Parser;
use pest::iterators::Pair;

use crate::lang::source::Span;
use crate::lang::syntax::ast::Number;
use crate::lang::syntax::grammar::{Grammar, Rule};

/// JSON over several lines may hold comments, as any other lines may.
pub(super) fn without_comments(json: &Pair<'_, Rule>) -> String {
    let start = json.as_span().start();
    let mut text = json.as_str().to_owned();
    let comments: Vec<_> =
        json.clone().into_inner().flatten().filter(|p| p.as_rule() == Rule::COMMENT).collect();
    for comment in comments.iter().rev() {
        let span = comment.as_span();
        text.replace_range(span.start() - start..span.end() - start, "");
    }
    text
}

/// A number and nothing else, as it may stand in a file.
pub fn number_alone(text: &str, span: Span) -> Option<Number> {
    let pairs = Grammar::parse(Rule::number, text).ok()?;
    let whole = pairs.as_str() == text;
    let (digits, unit) = split_unit(text);
    let value = digits.parse().ok().filter(|_| whole)?;
    Some(Number { value, unit: unit.to_owned(), span })
}

/// Digits and the unit glued to them; an exponent belongs to the digits.
pub(super) fn split_unit(raw: &str) -> (&str, &str) {
    let unit_at =
        |from: usize| raw[from..].find(|c: char| !(c.is_ascii_digit() || c == '.')).map(|n| from + n);
    let Some(at) = unit_at(usize::from(raw.starts_with('-'))) else { return (raw, "") };
    let exponent = raw[at..].trim_start_matches(['e', 'E']).trim_start_matches(['+', '-']);
    if raw[at..].starts_with(['e', 'E']) && exponent.starts_with(|c: char| c.is_ascii_digit()) {
        let from = raw.len() - exponent.len();
        return unit_at(from).map_or((raw, ""), |n| raw.split_at(n));
    }
    raw.split_at(at)
}

/// A literal's text: `\"`, `\\`, `\n` and `\t` are escapes, any other backslash is itself.
pub(super) fn unescape(literal: &str) -> String {
    let inner = literal.strip_prefix('"').unwrap_or(literal);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = (c == '\\').then(|| chars.peek().copied()).flatten();
        match escaped {
            Some('"') => out.push('"'),
            Some('\\') => out.push('\\'),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            _ => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{split_unit, unescape};

    #[test]
    fn units_are_split_from_digits() {
        assert_eq!(split_unit("32Ki"), ("32", "Ki"));
        assert_eq!(split_unit("-0.5%"), ("-0.5", "%"));
        assert_eq!(split_unit("2.99usd/h"), ("2.99", "usd/h"));
        assert_eq!(split_unit("1e-3"), ("1e-3", ""));
        assert_eq!(split_unit("8/s"), ("8", "/s"));
    }

    #[test]
    fn only_four_escapes_are_escapes() {
        assert_eq!(unescape(r#""a\"b\\c\d\n""#), "a\"b\\c\\d\n");
    }
}
