//! Where something is left out in the middle of a line: a sign or a word of the language stands where an operand should, or was itself read
//! as the name that is missing before it. What is missing is told there, and nothing is taken away.

use std::ops::Range;

use super::hints::TEXT;
use super::words;

/// Signs and words that stand between two things.
const BETWEEN: [&str; 16] =
    ["*", "/", "+", "-", "<", "<=", ">", ">=", "==", "!=", "and", "or", "divides", "on", "after", "of"];

/// Words of the language that begin the rest of a line, and could be names.
const GLUE: [&str; 6] = ["on", "when", "from", "after", "because", "by"];

/// Where the word stands directly before a place that is expected there: it was read as the name that is missing before it.
pub(super) fn taken(text: &str, at: usize, expected: &[String]) -> Option<Range<usize>> {
    let end = text[..at].trim_end_matches([' ', '\t']).len();
    let start = text[..end].trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len();
    let word = &text[start..end];
    let own = start > 0 && GLUE.contains(&word) && end < at;
    (own && expected.iter().any(|e| e.strip_prefix('`').and_then(|e| e.strip_suffix('`')) == Some(word)))
        .then_some(start..end)
}

/// Whether a sign or word stands where an operand is missing before it.
pub(super) fn is_before(text: &str, token: &Range<usize>, expected: &[String]) -> bool {
    let (before, word) = (text[..token.start].trim_end(), &text[token.clone()]);
    let Some(what) = operand(expected) else { return false };
    // `< >`, `= >`: two signs that were to be one
    let torn = word.starts_with(['<', '>', '=', '!']) && before.ends_with(['<', '>', '=', '!']);
    // `{ - fp8: --x }`: the dash of a list
    let listed = word == "-" && before.ends_with(['{', ',']) && text[token.end..].starts_with([' ', '\t']);
    // `3s /* why */`
    let comment = word == "*" && text[..token.start].ends_with('/');
    let begins_rest = GLUE.contains(&word) && what != LOST_TEXT;
    // `> {slow}`: a param as a text inserts it
    let behind = text[token.end..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let inserted = word == "{" && behind.starts_with('}') && behind.len() + token.end < text.len();
    !torn
        && !comment
        && !inserted
        && !listed
        && (BETWEEN.contains(&word) || begins_rest || what == EXPRESSION && matches!(word, "{" | ")"))
}

const EXPRESSION: &str = "EXPRESSION";
const LOST_TEXT: &str = "\"…\"";

/// What is missing, in one word, where only one kind of thing can stand.
fn operand(expected: &[String]) -> Option<&'static str> {
    // an axis may begin with much, and a sign of its algebra stands behind another axis
    if expected.iter().any(|e| e == "named points in braces") {
        return Some("NAME");
    }
    let mut kinds = expected.iter().map(String::as_str).filter(|e| !matches!(*e, "`(`" | "`not`"));
    match (kinds.next()?, kinds.next()) {
        ("an expression", None) => Some(EXPRESSION),
        ("a name", None) => Some("NAME"),
        ("a number", None) => Some("NUMBER"),
        (TEXT, None) => Some(LOST_TEXT),
        _ => None,
    }
}

/// The longest line that a help repeats.
const LONGEST: usize = 100;

/// The line with what is missing at a place in it.
pub(super) fn line(text: &str, at: usize, expected: &[String]) -> Option<String> {
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let before = text[start..at].trim();
    let behind = text[at..].split(['\n', '\r', '#']).next().unwrap_or_default().trim();
    // a block that begins on the line is more than what is missing
    let behind = behind.find('{').map_or(behind, |open| &behind[..=open]);
    let what = match (operand(expected)?, before.rsplit([' ', '\t']).next()?) {
        ("NAME", "on") => "PROFILE",
        ("NAME", "baseline") => "ENGINE",
        ("NAME", "vary" | "pick" | "*" | "+" | "=") => "AXIS",
        ("NAME", "from") => "STEP",
        ("NAME", last) if last.ends_with('.') => "METRIC",
        (what, _) => what,
    };
    let room = |side: &str, glued: bool| if side.is_empty() || glued { "" } else { " " };
    let (left, right) = (room(before, before.ends_with(['(', '.'])), room(behind, behind.starts_with(')')));
    let right = format!("{before}{left}{what}{right}{behind}");
    let short = right.len() < LONGEST && !before.contains('{') && !before.is_empty();
    short.then(|| right.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The same where it is missing at the end, behind what an example of the line need not show.
pub(super) fn at_end(text: &str, at: usize, expected: &[String]) -> Option<String> {
    let last = text[..at].trim_end().rsplit([' ', '\t']).next()?;
    let shown = BETWEEN.contains(&last) || last == "from" || last.ends_with(['(', '.', ',']);
    let named = matches!(operand(expected)?, EXPRESSION | "NAME");
    if shown && named { line(text, at, expected) } else { None }
}

/// `--seqs=`: the value is missing behind a flag's or a variable's sign, not the sign too many.
pub(super) fn lacks_value(before: &str, behind: &str) -> bool {
    let named = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let word = before.rsplit([' ', '\t', '\n', '{', ',', ':']).next().unwrap_or_default();
    let set = word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_uppercase());
    let nothing = behind.is_empty() || behind.starts_with([',', '}', ' ', '\t', '\n', '\r']);
    named && set && nothing
}

/// `engine = vllm {`: the name is missing behind a declaration's keyword.
pub(super) fn lacks_name(before: &str) -> bool {
    words::DECLARATIONS.contains(&before.rsplit('\n').next().unwrap_or_default().trim_end())
}

/// `axis seqs = =[16, 32]`: the flag is missing before the second sign, which is glued to its value.
pub(super) fn lacks_flag(before: &str, behind: &str) -> bool {
    let left = before.trim_end_matches([' ', '\t']);
    let apart = left.len() < before.len() && left.ends_with(['=', ':']);
    let line = before.rsplit('\n').next().unwrap_or_default();
    apart && line.starts_with("axis ") && !behind.is_empty() && !behind.starts_with(char::is_whitespace)
}

/// The same of the first one of the two signs.
pub(super) fn lacks_flag_behind(before: &str, behind: &str) -> bool {
    let right = behind.trim_start_matches([' ', '\t']);
    let gap = &behind[..behind.len() - right.len()];
    right.strip_prefix('=').is_some_and(|value| lacks_flag(&[before, "=", gap].concat(), value))
}

/// `axis b = --eager + --async`: alternatives, which would be set together without the sign.
pub(super) fn is_between_changes(before: &str, written: &str, behind: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let change =
        |text: &str| text.starts_with(['-']) || text.starts_with("env ") || text.starts_with("model ");
    let body =
        line.strip_prefix("axis ").and_then(|l| l.split_once(" = ")).map(|(_, body)| body.trim_start());
    matches!(written, "+" | "," | "*" | "/") && body.is_some_and(change) && change(behind.trim_start())
}

/// `p99(latency) /`, `= / p50(ttft)`, `vary * batched`: what an operator joins is missing on one side of it, not the operator too many.
pub(super) fn lacks_operand(before: &str, written: &str, behind: &str) -> bool {
    const BEGINS: [&str; 13] =
        ["when", "require", "maximize", "minimize", "vary", "pick", "and", "or", "not", "<", ">", "<=", ">="];
    let blank = [' ', '\t'];
    let (left, right) = (before.trim_end_matches(blank), behind.trim_start_matches(blank));
    let ends = right.is_empty() || right.starts_with(['\n', '\r', '#', '{', '}', ')']);
    let lacks_right = ends && left.ends_with(|c: char| c.is_alphanumeric() || ")]\"%_".contains(c));
    let last = left.rsplit([' ', '\t', '\n', '(', '{']).next().unwrap_or_default();
    // an `=` apart from what is set: `metric m = …`, `axis a= …`
    let set = last.ends_with('=') && !last.starts_with('-') && left.len() < before.len();
    let begins = set || left.ends_with('(') || BEGINS.contains(&last);
    let operand = right.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '(');
    matches!(written, "/" | "*" | "+" | "-") && (lacks_right || begins && operand)
}

/// `={"name: {"value": 4}}`: keys of an object have quotes, and so none of them is too many.
pub(super) fn is_in_object(before: &str) -> bool {
    before.rsplit('\n').next().is_some_and(|line| line.contains("={\""))
}

/// Whether a token stands in a word, which would be two without it.
pub(super) fn splits(before: &str, behind: &str) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_-.%/".contains(c));
    word(before.chars().next_back()) && word(behind.chars().next())
}

/// `[, 128]`, `{ , unusable }`, `on , chat`: before a comma that begins a list, a value may be missing. So it may between two commas that
/// are apart where an engine lists what a flag takes, or a file what it takes.
pub(super) fn separates_from_nothing(before: &str, behind: &str) -> bool {
    let (left, right) = (before.trim_end(), behind.trim_start());
    let first = left.ends_with(['[', '{']) || left.ends_with(" on");
    let line = before.rsplit('\n').next().unwrap_or_default();
    let listed = ["flag ", "use "].iter().any(|w| line.trim_start().starts_with(w));
    let apart = left.ends_with(',') && left.len() < before.len()
        || right.starts_with(',') && right.len() < behind.len();
    first && !right.starts_with([',', ']', '}']) || listed && apart
}

/// Whether what stands around a token belongs together once it is gone: `--x=}8`.
pub(super) fn joins(before: &str, behind: &str) -> bool {
    let apart = |c: Option<char>| c.is_none_or(char::is_whitespace);
    !(apart(before.chars().next_back()) || apart(behind.chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(what: &[&str]) -> Vec<String> {
        what.iter().map(|w| (*w).to_owned()).collect()
    }

    #[test]
    fn a_word_read_as_the_name_before_it_is_found() {
        let on = expected(&["`on`", "an operator"]);
        assert_eq!(taken("maximize on chat", 12, &on), Some(9..11));
        assert_eq!(taken("maximize on", 11, &on), None);
        assert_eq!(taken("maximize total chat", 15, &on), None);
    }

    #[test]
    fn a_line_is_shown_with_what_it_lacks() {
        let (value, name) = (expected(&["`not`", "an expression"]), expected(&["a name"]));
        for (before, behind, what, right) in [
            ("require good >= ", "on chat", &value, "require good >= EXPRESSION on chat"),
            ("metric m = max(", ")", &value, "metric m = max(EXPRESSION)"),
            ("  step b from ", "when x > 1 {\n", &name, "step b from STEP when x > 1 {"),
            ("confirm on", " # all", &name, "confirm on PROFILE"),
            ("prune a \"b\" when x < best.", "", &name, "prune a \"b\" when x < best.METRIC"),
        ] {
            let text = [before, behind].concat();
            assert_eq!(line(&text, before.len(), what).as_deref(), Some(right), "{text}");
        }
    }
}
