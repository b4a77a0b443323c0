//! A flag and its value that stand apart, `--flag value`, `--flag = value`: what was meant is one word.

use super::lexical::{Piece, Scanner};
use super::{conditions, redirections};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, did_you_mean};
use crate::lang::source::Span;

/// `--flag value`, `--flag = value`, `--flag= value`, `--flag 1 2 4`: what was meant is `--flag=value`, `--flag="1 2 4"`.
pub fn flag(chunk: &str, at: usize, span: impl Fn(usize, usize) -> Span) -> Option<Diagnostic> {
    let rest = &chunk[at..];
    let name_len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))?;
    let (name, after) = rest.split_at(name_len);
    // most flags have their value, or end: what follows on a long line need not be read for each of them
    let behind_sign = after.strip_prefix('=').unwrap_or(after);
    if !behind_sign.starts_with([' ', '\t', '=']) {
        return None;
    }
    let line = after.split(['\n', '\r']).next().unwrap_or_default();
    let value = line.trim_start_matches([' ', '\t', '=']);
    // `axis seqs = --max-num-seqs in [128, 256]`
    let value =
        value.strip_prefix("in ").map(str::trim_start).filter(|v| v.starts_with('[')).unwrap_or(value);
    let gap = &line[..line.len() - value.len()];
    // of a whole block, the setting is what its line begins with
    let own = chunk[chunk[..at].rfind('\n').map_or(0, |n| n + 1)..at].trim_start();
    let is = |word: &str| own.strip_prefix(word).is_some_and(|r| r.starts_with([' ', '\t']));
    // a condition has flags and signs apart
    let refuses = is("refuses");
    // and a server's key has a flag and a variable
    let of_key = is("key");
    if gap.is_empty() || gap == "=" || value.is_empty() || refuses || of_key {
        return None;
    }
    // of a word the second sign would be its first character, which is told where that is read
    let sets = chunk.starts_with("axis") || own.is_empty() || own.starts_with('-') || is("raw");
    if sets && gap.bytes().all(|b| b == b'=') {
        let second = at + name_len + 1;
        return Some(second_sign(span(second, at + name_len + gap.len())));
    }
    // `publish --cache "warm"`: the reason of a switch lacks its word, else the value is a text
    let publishes = is("publish") && !line.contains(" because ");
    if publishes && value.starts_with('"') && !gap.contains('=') {
        let start = at + name_len + gap.len();
        let message = "the reason stands here without its word";
        let d = Diagnostic::new(Code::Unexpected, span(start, start + value.trim_end().len()), message);
        return Some(
            d.label("expected `because`")
                .help(format!("write `because {}`", value.trim_end()))
                .edit(span(start, start), "because "),
        );
    }
    if let Some((word, help)) = conditions::behind_axes(chunk, at) {
        let message = format!("`{}` was not expected here", &chunk[word.clone()]);
        let d = Diagnostic::new(Code::Unexpected, span(word.start, word.end), message);
        return Some(d.label("axes have no condition").help(help));
    }
    let word_len = word_len(value);
    let word = &value[..value_len(value)];
    // `--cache becuse "warm"`: the word before the reason is misspelt
    let reason = publishes && value[word.len()..].trim_start().starts_with('"');
    if reason && did_you_mean(word, ["because"]).is_some() {
        return None;
    }
    let has_sign = gap.contains('=');
    // `--flag 2>&1`, and `--flag | tee -a x.log`, of which neither is a flag's own
    let of_shell = |(space, _): (usize, &str)| redirections::begins(&own[space + 1..]);
    if !has_sign && redirections::begins(value)
        || own.starts_with('-') && own.match_indices(' ').any(of_shell)
    {
        return None;
    }
    // `{ a: --enforce-eager b: -tp=2 }`: the comma between two points is missing
    if !has_sign && begins_point(value) {
        return None;
    }
    // a flag that is declared is followed by its type
    let declared = is("flag");
    // `on` is a word of the language too
    let turned_on = word == "on" && ends_flag(&value[word_len..]);
    if !has_sign && (declared || !is_value(word) && !turned_on) {
        return None;
    }
    // `--max-model-len= --enable-prefix-caching`: the value is missing
    if has_sign && !turned_on && (is_flag(word) || follows(word)) {
        return None;
    }
    let words = if declared { word } else { words(value, word) };
    let whole = span(at, at + name_len + gap.len() + words.len());
    let message = format!("`{name}` and its value are separated by a space");
    let d = Diagnostic::new(Code::SpacedFlag, whole, message).label("a flag and its value are one word");
    let several = words.len() > word.len();
    if several && chunk.starts_with("axis") {
        let list = words.split_whitespace().collect::<Vec<_>>().join(", ");
        return Some(d.help(format!(
            "write {name}=[{list}] for a point each, or {name}=\"{words}\" if it takes several words"
        )));
    }
    // `--limit-mm-per-prompt image=4`, as some engines read it
    if let Some((key, _)) = word.split_once('=').filter(|(key, _)| !several && !declared && is_key(key)) {
        return Some(d.help(format!(
            "a key of a JSON flag is written {name}.{word}, or all of it {name}={{\"{key}\": …}}"
        )));
    }
    let fixed = if several { format!("{name}=\"{words}\"") } else { format!("{name}={word}") };
    let number = |w: &str| w.starts_with(|c: char| c.is_ascii_digit());
    let help = if several && words.split_whitespace().all(number) {
        format!("write {fixed} if it takes several words, else one value: {name}={word}")
    } else {
        format!("write {fixed}")
    };
    Some(d.help(help).edit(whole, fixed))
}

/// `--flag==value`, where the second sign stands.
pub fn second_sign(span: Span) -> Diagnostic {
    let d = Diagnostic::new(Code::Unexpected, span, "a second `=` stands before a value");
    let help = "a flag and its value have one `=` between them: remove the other";
    d.label("no part of the value").help(help).edit(span, "")
}

/// How long the value is that a text begins with: a word, a text, or all that a bracket holds.
pub(super) fn value_len(text: &str) -> usize {
    if text.starts_with(['{', '[', '"']) { whole(text).len() } else { word_len(text) }
}

fn word_len(text: &str) -> usize {
    text.find([' ', '\t', ',', '#', '}', '\n']).unwrap_or(text.len())
}

/// Whether nothing follows that belongs to a flag: the line's end, or another flag.
fn ends_flag(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t']);
    rest.is_empty() || rest.starts_with(['#', ',', '}', '-'])
}

/// Whether a text begins as a point does: `b:`, `b "B":`.
fn begins_point(text: &str) -> bool {
    let name = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    let behind = text[name..].trim_start_matches([' ', '\t']);
    let title = behind.strip_prefix('"').and_then(|t| t.split_once('"')).map_or(behind, |(_, rest)| rest);
    name > 0 && title.strip_prefix(':').is_some_and(|rest| rest.starts_with([' ', '\t', '\n']))
}

fn is_key(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// The first word of a value and those behind it that can only belong to it: `1 2 4 8`.
pub fn words<'a>(value: &'a str, first: &str) -> &'a str {
    let plain = |w: &str| {
        is_value(w) && w.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'/' | b'-' | b'_'))
    };
    let mut end = first.len();
    if !plain(first) {
        return &value[..end];
    }
    loop {
        let rest = &value[end..];
        let next = rest.trim_start_matches([' ', '\t']);
        let len = next.find([' ', '\t', ',', '#', '}']).unwrap_or(next.len());
        if next.len() == rest.len() || !plain(&next[..len]) {
            return &value[..end];
        }
        end += rest.len() - next.len() + len;
    }
}

/// A string, or all that a bracket holds, as far as it stands on this line.
fn whole(value: &str) -> &str {
    let mut depth = 0_usize;
    for (at, piece) in Scanner::new(value) {
        match piece {
            Piece::Text(end) if depth == 0 => return &value[..end],
            Piece::Open(_) => depth += 1,
            Piece::Close(_) if depth <= 1 => return &value[..=at],
            Piece::Close(_) => depth -= 1,
            _ => {}
        }
    }
    value.trim_end()
}

/// A word after a flag that can only be its value: no other flag, keyword, bracket or operator.
fn is_flag(word: &str) -> bool {
    word.trim_start_matches('-').len() < word.len() && word.contains(|c: char| c.is_ascii_alphabetic())
}

/// Whether it is a word that may stand behind a flag.
fn follows(word: &str) -> bool {
    const FOLLOW: [&str; 24] = [
        "env",
        "model",
        "unset",
        "raw",
        "because",
        "int",
        "float",
        "switch",
        "text",
        "path",
        "json",
        "json_file",
        "words",
        "repeated",
        "one_of",
        "and",
        "or",
        "not",
        "when",
        "uses",
        "adds",
        "unless",
        "limits",
        "default",
    ];
    FOLLOW.contains(&word) || matches!(word, "since" | "until" | "negated" | "after" | "on")
}

fn is_value(word: &str) -> bool {
    let first = word.as_bytes().first().copied().unwrap_or(b'}');
    // a JSON object begins with a key: other braces open the block of a step or of points
    let object = word.strip_prefix('{').is_some_and(|r| r.trim_start().starts_with(['"', '}']));
    (first.is_ascii_alphanumeric() || matches!(first, b'"' | b'[') || object) && !follows(word)
}

#[cfg(test)]
mod tests {
    use super::super::lexical::mistake;
    use crate::lang::source::FileId;

    #[test]
    fn names_a_spaced_flag() {
        let help = |t: &str| mistake(FileId(0), 0, t).and_then(|d| d.help);
        assert_eq!(help("--max-num-seqs 512").as_deref(), Some("write --max-num-seqs=512"));
        let several = |words: &str| {
            format!("write --sizes=\"{words}\" if it takes several words, else one value: --sizes=1")
        };
        assert_eq!(help("--sizes 1 2 4 # few"), Some(several("1 2 4")));
        assert_eq!(help("--sizes 1 2 env A=1"), Some(several("1 2")));
        assert_eq!(help("{ a: --sizes 1, b: --x }").as_deref(), Some("write --sizes=1"));
        assert!(help("--a b: --b").is_none() && help("--a b \"B\": --b").is_none());
        assert!(help("--a --b=1").is_none());
        assert!(help("--a=1 --b").is_none());
    }
}
