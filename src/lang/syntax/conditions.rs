//! Conditions where none can stand, as other tools have them: behind the axes of a step, behind `adopt`, in `goodput` with a colon. And
//! words and signs that are too many in one, or another's.

use std::ops::Range;

use super::at::mend;
use super::hints::{Hint, is_condition};

/// What was meant by a condition at a token, if it is one.
pub fn condition(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    let (before, rest) = (&chunk[..token.start], rest_of_line(chunk, token.end));
    if matches!(word, "where" | "if" | "unless") && varies(before) {
        return Some(told(excluded(rest)));
    }
    if word == "and" && before.trim_start().starts_with("adopt") && !rest.is_empty() {
        return Some(told(format!("what must hold besides is a line of its own: `require {rest}`")));
    }
    let call = before.rfind("goodput(")?;
    let metric = before[call..].rsplit(['(', ',']).next().unwrap_or_default().trim();
    let name = !metric.is_empty() && metric.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if word == ":" && name {
        let gap = before.len() - before.trim_end().len();
        let edit = (token.start - gap..token.end, " <=".to_owned());
        return Some(Hint {
            help: format!("limits are conditions: write `{metric} <= …`"),
            edit: Some(edit),
        });
    }
    None
}

/// What was meant by a token of a condition: `failed is <= 10`, `0.2 x best`, `p95[latency]`, `p99{ttft}`, `p90(ttft) > 2s then`.
pub fn slip(chunk: &str, token: &Range<usize>, word: &str) -> Option<Hint> {
    if !is_condition(chunk) {
        return None;
    }
    let (whole, after) = (&chunk[..token.start], &chunk[token.end..]);
    let (before, next) = (whole.trim_end(), after.trim_start_matches([' ', '\t']));
    let name = &before[before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len()..];
    match word {
        "is" | "equals" | "eq" if next.starts_with(['<', '>', '=', '!']) => {
            let at = token.start..chunk.len() - next.len();
            Some(mend("the sign compares: remove the word", at, ""))
        }
        _ if matches!(name, "best" | "baseline") && is_metric(word, next) => Some(mend(
            format!("a metric of another result is joined by a point: write `{name}.{word}`"),
            before.len()..token.start,
            ".",
        )),
        // `--max-num-seqs ! = 8`
        "!" if next.starts_with('=') => {
            Some(mend("write `!=`, without a space in it", token.start..chunk.len() - next.len() + 1, "!="))
        }
        // `--max-num-seqs % 8 == 0`
        "%" | "mod" | "MOD" | "modulo" => remainder(chunk, token, before, next),
        "÷" => Some(mend("write `/`", token.clone(), "/")),
        // `> 2s for 10s`
        "for" if chunk.starts_with("prune ") && next.starts_with(|c: char| c.is_ascii_digit()) => Some(told(
            "a rule is asked of all that was measured, and not for a time: from how many requests on is said by `after 100 requests`"
                .to_owned(),
        )),
        "then" | "do" if next.is_empty() || next.starts_with(['\n', '\r', '#']) => {
            Some(mend("a condition ends with its line: remove the word", before.len()..token.end, ""))
        }
        // before its condition a step has a name there
        "x" | "×" if chunk.starts_with("step ") && !before.contains(" when ") => None,
        "x" | "×" if before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == ')') => {
            Some(mend("write `*`", token.clone(), "*"))
        }
        "[" if before[..before.len() - name.len()].trim_end().ends_with(" from") => Some(Hint {
            help: format!(
                "a step starts from `best`, or from a step or an engine by its name: write `from {name}`"
            ),
            edit: None,
        }),
        "[" | "{" if before == whole && name.starts_with(|c: char| c.is_ascii_lowercase()) => {
            let (inner, _) = after.split_once(if word == "[" { ']' } else { '}' })?;
            let right = format!("({inner})");
            let plain = |c: char| c.is_ascii_alphanumeric() || "_ ,.".contains(c);
            inner.chars().all(plain).then(|| {
                let help = format!("what a function is asked of stands in round brackets: `{name}{right}`");
                mend(help, token.start..token.end + inner.len() + 1, right)
            })
        }
        _ => None,
    }
}

/// What conditions ask, as one word.
const ASKED: [&str; 11] = [
    "failed",
    "ttft",
    "tpot",
    "itl",
    "latency",
    "startup",
    "energy",
    "preemptions",
    "gpus",
    "engine",
    "model",
];

/// How long the words are that stand before a condition which a text begins with, in the place of `when`: `once p95(ttft) > 4s`, `as soon as
/// failed > 3`. Two operands side by side are none.
pub(super) fn words_before(text: &str) -> usize {
    let mut len = 0;
    loop {
        let rest = text[len..].trim_start_matches([' ', '\t']);
        let word = &rest[..rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len())];
        let behind = &rest[word.len()..];
        let next = behind.trim_start_matches([' ', '\t']);
        let flag = next
            .strip_prefix('-')
            .is_some_and(|n| n.starts_with(|c: char| c.is_ascii_alphabetic() || c == '-'));
        let operand = flag || next.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '(' | '"'));
        let joins = matches!(next.split([' ', '\t', '(']).next(), Some("and" | "or" | "divides" | "is"));
        let own = matches!(word, "" | "not" | "given" | "env" | "when" | "true" | "false");
        // `failed requests > 3`: of two names the first may be what is asked
        let asked = word.contains('_') || ASKED.contains(&word);
        if own || asked || next.len() == behind.len() || !operand || joins {
            return len;
        }
        len = text.len() - behind.len();
    }
}

/// What is left of a division is compared with nothing: one number divides another.
fn remainder(chunk: &str, token: &Range<usize>, before: &str, next: &str) -> Option<Hint> {
    // `>= 99%%`
    let again = before.ends_with('%') && before.len() == token.start;
    if again && (next.is_empty() || next.starts_with(['\n', '\r', '#']) || joins(next)) {
        return Some(mend("remove it", token.clone(), ""));
    }
    let start = before.rfind([' ', '(']).map_or(0, |n| n + 1);
    let whole = &before[start..];
    let divisor = next.split([' ', '\t', ')', '=']).next().filter(|d| !d.is_empty() && !whole.is_empty())?;
    let help = format!("whether one divides another is asked by its word: `{divisor} divides {whole}`");
    let rest = next[divisor.len()..].trim_start();
    let compared = rest.strip_prefix("==").or_else(|| rest.strip_prefix("!="));
    let zero = compared.map(str::trim_start).and_then(|r| r.strip_prefix('0'));
    let zero = zero.filter(|r| !r.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.'));
    let Some(behind) = zero.filter(|_| token.start > start) else { return Some(Hint { help, edit: None }) };
    let not = if rest.starts_with('!') { "not " } else { "" };
    Some(mend(help, start..chunk.len() - behind.len(), format!("{not}{divisor} divides {whole}")))
}

/// Whether another condition or what it is about stands next.
fn joins(next: &str) -> bool {
    matches!(next.split([' ', '\t']).next(), Some("and" | "or" | "on"))
}

/// What was meant by a flag behind a word that begins a condition, which looks like a flag apart from its value: where the word begins, and the help.
pub fn behind_axes(chunk: &str, flag: usize) -> Option<(Range<usize>, String)> {
    let before = chunk[..flag].trim_end();
    let start = before.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let word = &before[start..];
    let found = matches!(word, "where" | "if" | "unless" | "when") && varies(&chunk[..start]);
    found.then(|| (start..before.len(), excluded(rest_of_line(chunk, flag))))
}

/// What a line says from a place on, without a comment and the brace that ends its block.
fn rest_of_line(chunk: &str, from: usize) -> &str {
    let line = chunk[from..].lines().next().unwrap_or_default();
    line.split('#').next().unwrap_or_default().trim().trim_end_matches('}').trim()
}

fn excluded(condition: &str) -> String {
    format!(
        "a step takes every point of its axes; exclude some in the study: `prune NAME \"why\" when {condition}`, with what is not wanted"
    )
}

/// Whether a text is in the line of a step's axes.
fn varies(before: &str) -> bool {
    let line = before.rsplit(['\n', '{']).next().unwrap_or_default();
    line.trim_start().starts_with("vary ")
}

/// Whether a word behind `best` may be a metric, and what follows goes on or ends the condition.
fn is_metric(word: &str, next: &str) -> bool {
    let is_name = word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    is_name && (next.is_empty() || next.starts_with(['\n', '\r', '#', '*', '/', '+', '-', ')', '<', '>']))
}

fn told(help: String) -> Hint {
    Hint { help, edit: None }
}
