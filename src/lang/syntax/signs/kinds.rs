//! What kind of thing a word or the end of a text is.

use crate::lang::diag::did_you_mean;
use crate::lang::syntax::json_slips;

/// `flase`: one of JSON's words with letters swapped, or one too many or too few. `full` and `tree` are words of their own.
pub(in super::super) fn json_word(word: &str) -> Option<&'static str> {
    let right = did_you_mean(word, ["true", "false", "null"])?;
    let sorted = |w: &str| {
        let mut letters = w.to_ascii_lowercase().into_bytes();
        letters.sort_unstable();
        letters
    };
    let same = word.len() != right.len() || sorted(word) == sorted(right);
    (same && word.len() > 2 && word.starts_with(&right[..1])).then_some(right)
}

/// The number that has its digits in groups of three.
pub(in super::super) fn grouped(value: &str) -> Option<String> {
    let mut groups = value.split(',');
    let first = groups.next().is_some_and(|g| digits(g) && g.len() <= 3);
    (first && groups.all(|g| digits(g) && g.len() == 3)).then(|| value.replace(',', ""))
}

/// As numbers of thousands are that people write out: 32,768 or 10,000.
pub(in super::super) fn is_round(number: &str) -> bool {
    number.parse().is_ok_and(|n: u64| n.is_multiple_of(1000) || n.is_multiple_of(1024))
}

pub(in super::super) fn digits(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_digit())
}

pub(in super::super) fn is_distribution(word: &str) -> bool {
    matches!(word, "ttft" | "tpot" | "itl" | "latency")
}

pub(super) fn function_before(before: &str) -> bool {
    is_function(before.rsplit([' ', '(']).next().unwrap_or_default())
}

/// Whether a word is a function of what is measured of each request.
pub(in super::super) fn is_function(word: &str) -> bool {
    matches!(word, "mean" | "stddev" | "min" | "max" | "p50" | "p90" | "p95" | "p99" | "p999")
}

pub(super) fn value_before(before: &str) -> bool {
    before.rsplit([' ', '\t']).next().is_some_and(|w| w.contains('=') && !w.ends_with('='))
}

pub(super) fn unclosed_json(before: &str) -> bool {
    json_slips::open(before).is_some()
}

/// `{ on` or `, off`: the name of a point.
pub(super) fn point_name(before: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let head = before.trim_end_matches(name).trim_end();
    head.len() < before.len() && head.ends_with(['{', ','])
}

pub(super) fn derives(before: &str) -> bool {
    before.starts_with("engine ") || before.starts_with("profile ")
}

pub(super) fn plain_word(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.chars().all(inner)
}

pub(super) fn plain_value(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/'))
}

pub(super) fn quoted_name(word: &str) -> bool {
    let inner = word.trim_matches('"');
    word.len() == inner.len() + 2
        && inner.starts_with(|c: char| c.is_ascii_lowercase())
        && inner.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

pub(in super::super) fn upper(word: &str) -> bool {
    word.len() > 1
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

pub(super) fn path(word: &str) -> bool {
    word.contains('/') && plain_word(word)
}
