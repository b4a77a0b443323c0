//! Quotes that begin no string here: single ones, those of a word processor, and those of Python's dictionaries.

use super::lexical::{Piece, Scanner};
use super::notations::subscripts;
use super::words;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

pub fn single(chunk: &str, at: usize, span: impl Fn(usize, usize) -> Span) -> Diagnostic {
    let bracket = at.checked_sub(1).filter(|n| chunk.as_bytes()[*n] == b'[');
    if let Some((place, path, help)) = bracket.and_then(|n| subscripts(chunk, n)) {
        let at = span(place.start, place.end);
        let d = Diagnostic::new(Code::SingleQuotes, at, "a key is written in single quotes and brackets");
        return d.label("a key of a JSON flag").help(help).edit(at, path);
    }
    if let Some((start, end, json)) = dictionary(chunk, at) {
        let d = Diagnostic::new(Code::SingleQuotes, span(start, end), "JSON is written with single quotes");
        let d = d.label("JSON takes double quotes");
        return d.help(format!("write {json}")).edit(span(start, end), json);
    }
    if let Some((end, json)) = quoted_object(chunk, at) {
        let d =
            Diagnostic::new(Code::SingleQuotes, span(at, end), "a JSON object is written in single quotes");
        return d.label("a JSON object takes none").help(format!("write {json}")).edit(span(at, end), json);
    }
    let line_end = chunk[at..].find(['\n', '\r']).map_or(chunk.len(), |n| at + n);
    let rest = &chunk[at + 1..line_end];
    // `'Lim"` ends with the other one
    let other = rest.find('"').filter(|_| !rest.contains('\'') && rest.matches('"').count() == 1);
    let end = closing(rest).or(other).map_or(line_end, |n| at + n + 2);
    let inner = chunk[at + 1..end].trim_end_matches('\'');
    let inner = if other.is_some() { inner.trim_end_matches('"') } else { inner };
    if takes_a_name(&chunk[..at], inner) {
        let d = Diagnostic::new(Code::SingleQuotes, span(at, end), "a name is written in single quotes");
        let d = d.label("a name").help(format!("a name stands without quotes: write `{inner}`"));
        return d.edit(span(at, end), inner);
    }
    let right = format!("\"{}\"", inner.replace('"', "\\\""));
    Diagnostic::new(Code::SingleQuotes, span(at, end), "a string is written in single quotes")
        .label("strings take double quotes")
        .help(format!("write {right}"))
        .edit(span(at, end), right)
}

/// Whether a single quote belongs to a text that lacks its own quotes, or the first of them.
pub fn is_of_a_text(chunk: &str, at: usize) -> bool {
    is_apostrophe(chunk, at) || within_a_lost_text(chunk, at)
}

/// `note the fork's scheduler`, `because users' times matter`: whether a single quote is part of a word, and no other of its line begins or
/// ends a text. The first word of a line is the setting's, and `f'…'` a text of Python.
fn is_apostrophe(chunk: &str, at: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let start = chunk[..at].rfind(['\n', '\r']).map_or(0, |n| n + 1);
    let line = chunk[start..].split(['\n', '\r']).next().unwrap_or_default();
    let inner = |n: usize| letter(line[..n].chars().next_back()) && letter(line[n + 1..].chars().next());
    let word = line[..at - start].rsplit([' ', '\t']).next().unwrap_or_default();
    let is_word = word.chars().all(char::is_alphabetic) && !matches!(word, "f" | "r" | "b" | "u" | "");
    let first = line[..at - start].trim_start().len() == word.len();
    let all = || line.match_indices('\'').map(|(n, _)| n);
    is_word && !first && (all().all(inner) || all().count() == 1)
}

/// `log matches argument '(.+)' twice"`: whether a pair of single quotes stands in a text whose first quote is missing.
fn within_a_lost_text(chunk: &str, at: usize) -> bool {
    let line = chunk[at..].split(['\n', '\r']).next().unwrap_or_default();
    let end = Scanner::new(line).find_map(|(n, piece)| (piece == Piece::UnclosedText).then_some(n));
    let before = &chunk[chunk[..at].rfind(['\n', '\r']).map_or(0, |n| n + 1)..at];
    let singles = |text: &str| text.matches('\'').count();
    end.is_some_and(|end| singles(&line[..end]) + singles(before) > 1)
}

/// Where behind a single quote the one stands that ends its text: one between two letters is an apostrophe, if another one follows.
pub(super) fn closing(rest: &str) -> Option<usize> {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let in_word = |n: usize| letter(rest[..n].chars().next_back()) && letter(rest[n + 1..].chars().next());
    let all = || rest.match_indices('\'').map(|(n, _)| n);
    all().find(|n| !in_word(*n)).or_else(|| all().next())
}

/// `""Title"`, `"Title""`: the quote that is one too many, if it makes the one at a place begin a string that does not end.
pub fn doubled(chunk: &str, at: usize) -> Option<usize> {
    let line = chunk[..at].rsplit('\n').next().unwrap_or_default();
    let behind = &chunk[at + 1..];
    let ends = behind.is_empty() || behind.starts_with([' ', '\t', '\n', '\r', '{', ',', '}']);
    if line.ends_with('"') && !line.ends_with("\"\"") && ends {
        return Some(at);
    }
    let (head, inner) = line.rsplit_once("\"\"")?;
    let apart = head.is_empty() || head.ends_with([' ', '\t', '=', ',', '[', '(', '{', ':']);
    let text = inner.starts_with(|c: char| c.is_alphanumeric()) && !inner.contains('"');
    (apart && text).then(|| at - inner.len() - 1)
}

/// What is said of one quote too many.
pub fn without_half(quote: Span) -> Diagnostic {
    Diagnostic::new(Code::UnclosedString, quote, "a quote without its other half")
        .label("one too many")
        .help("remove it")
        .edit(quote, "")
}

/// `engine 'v'`, `engine v = 'vllm'`, `step b from 'a'`: whether what stands in quotes behind a text was to be a name.
fn takes_a_name(before: &str, inner: &str) -> bool {
    let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let named = inner.starts_with(|c: char| c.is_ascii_lowercase()) && inner.chars().all(snake);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let said: Vec<&str> = line.split_whitespace().collect();
    named
        && match said.as_slice() {
            [only] => {
                words::DECLARATIONS.contains(only) && *only != "use"
                    || matches!(*only, "step" | "track" | "baseline")
            }
            ["engine" | "profile", .., last] => *last == "=",
            ["step", .., last] => *last == "from",
            _ => false,
        }
}

/// `'{"key": 1}'`, as a shell needs it, over several lines too: what is within the quotes is a value of its own here. Where it ends,
/// and as JSON.
fn quoted_object(chunk: &str, at: usize) -> Option<(usize, String)> {
    let inner = chunk.get(at + 1..)?;
    let blank = inner.len() - inner.trim_start().len();
    let text = &inner[blank..];
    let end = inner.find('\'').filter(|_| text.starts_with('{'))?;
    let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&inner[..end]);
    let json = match object {
        Ok(_) => inner[..end].trim().to_owned(),
        Err(_) => {
            as_json(inner[..end].trim_start()).filter(|(_, len)| inner[blank + len..end].trim().is_empty())?.0
        }
    };
    Some((at + 1 + end + 1, json))
}

/// `="{"key": 1}"`: an object whose quotes end and begin the quotes around it.
pub fn around_json(chunk: &str, at: usize, span: impl Fn(usize, usize) -> Span) -> Option<Diagnostic> {
    let inner = chunk.get(at..)?.strip_prefix('"')?;
    let line = inner.split(['\n', '\r']).next().unwrap_or_default();
    let json = line.starts_with('{').then(|| as_json(line))??;
    let (json, len) = (json.0, json.1);
    let (is_value, closed) = (chunk[..at].ends_with(['=', ' ']), line[len..].starts_with('"'));
    if !is_value || !closed || !line[1..len].contains('"') {
        return None;
    }
    let whole = span(at, at + len + 2);
    let d = Diagnostic::new(Code::Unexpected, whole, "a JSON object is written in quotes");
    Some(d.label("a JSON object takes none").help(format!("write {json}")).edit(whole, json))
}

/// Nobody pastes longer ones on one line.
const LONGEST_OBJECT: usize = 4 << 10;

const CURLY: [char; 11] = ['“', '”', '„', '‘', '’', '«', '»', '‹', '›', '「', '」'];

/// Quotes as a word processor makes them, and those of other languages.
pub fn curly(chunk: &str, at: usize, span: impl Fn(usize, usize) -> Span) -> Option<Diagnostic> {
    let curly = |c: char| CURLY.contains(&c);
    let rest = chunk.get(at..).filter(|r| r.starts_with(curly))?;
    if let Some((from, to, json)) = curly_object(chunk, at) {
        let d = Diagnostic::new(Code::SingleQuotes, span(from, to), "an object is written in curly quotes");
        let d = d.about(About::Untyped).label("strings take double quotes");
        return Some(d.help(format!("write {json}")).edit(span(from, to), json));
    }
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    let len =
        line.char_indices().skip(1).find(|(_, c)| curly(*c)).map_or(line.len(), |(i, c)| i + c.len_utf8());
    let fixed = format!("\"{}\"", line[..len].trim_matches(curly));
    let d = Diagnostic::new(Code::SingleQuotes, span(at, at + len), "a string is written in curly quotes");
    let d = d.about(About::Untyped);
    Some(d.label("strings take double quotes").help(format!("write {fixed}")).edit(span(at, at + len), fixed))
}

/// The object behind `=` in which a curly quote stands, on one line: where it is, and as JSON.
fn curly_object(chunk: &str, at: usize) -> Option<(usize, usize, String)> {
    let before = chunk[..at].bytes().rev().take(LONGEST_OBJECT).position(|b| b == b'{')?;
    let start = at - before - 1;
    let line = chunk[start..].split(['\n', '\r']).next()?;
    if !chunk[..start].ends_with('=') || chunk[start..at].contains('\n') || line.len() > LONGEST_OBJECT {
        return None;
    }
    let right = line.replace(CURLY, "\"");
    let mut objects =
        serde_json::Deserializer::from_str(&right).into_iter::<serde_json::Map<String, serde_json::Value>>();
    objects.next()?.ok()?;
    let len = objects.byte_offset();
    let json = &right[..len];
    // as many characters as with the quotes that it has
    let end = line.char_indices().nth(json.chars().count()).map_or(line.len(), |(n, _)| n);
    (start + end > at).then(|| (start, start + end, json.to_owned()))
}

/// Quotes of a shell's command, or of a page's code: `` `a text` ``. A fence, and one that is alone, are something else.
pub fn backticks(chunk: &str, at: usize, span: impl Fn(usize, usize) -> Span) -> Option<Diagnostic> {
    let line = chunk.get(at + 1..)?.split(['\n', '\r']).next().unwrap_or_default();
    let inner = &line[..line.find('`')?];
    let alone = !inner.trim().is_empty() && !inner.contains('"') && line.matches('`').count() == 1;
    if !alone || !chunk[..at].ends_with([' ', '\t', '=']) {
        return None;
    }
    let whole = span(at, at + inner.len() + 2);
    let right = format!("\"{inner}\"");
    let d = Diagnostic::new(Code::SingleQuotes, whole, "a string is written in backticks");
    Some(d.label("strings take double quotes").help(format!("write {right}")).edit(whole, right))
}

/// Curly quotes around values that can be read all the same: `--dtype=“fp8”` would be a value of those letters and signs.
pub fn curly_values(id: FileId, text: &str, sink: &mut Sink) {
    if text.is_ascii() {
        return;
    }
    for (at, piece) in Scanner::new(text) {
        let begins =
            text.as_bytes()[at] >= 0x80 && text.get(..at).is_some_and(|t| t.ends_with(['=', '[', ',']));
        if piece != Piece::Other || !begins {
            continue;
        }
        let found = curly(text, at, |from, to| Span::new(id, from..to));
        if let Some(found) = found.filter(|d| sink.in_span(d.span.line_in(text)).next().is_none()) {
            sink.push(found);
        }
    }
}

/// The object behind `=` in which a single quote stands, where it is, and as JSON.
fn dictionary(chunk: &str, at: usize) -> Option<(usize, usize, String)> {
    let start = chunk[..at].rfind("={")? + 1;
    let (json, len) = as_json(&chunk[start..])?;
    (start + len > at).then(|| (start, start + len, json))
}

/// A dictionary of Python at the beginning of a text as JSON, and how long it is.
pub fn as_json(text: &str) -> Option<(String, usize)> {
    let mut out = String::new();
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        match c {
            '\'' | '"' => {
                let (string, len) = string(rest, c)?;
                out.push_str(&string);
                at += len;
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => {
                out.truncate(out.trim_end().trim_end_matches(',').len());
                depth = depth.checked_sub(1)?;
            }
            _ if c.is_ascii_alphabetic() => {
                let len = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                out.push_str(match &rest[..len] {
                    "True" => "true",
                    "False" => "false",
                    "None" => "null",
                    word => word,
                });
                at += len;
                continue;
            }
            _ => {}
        }
        out.push(c);
        at += c.len_utf8();
        if depth == 0 {
            break;
        }
    }
    let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&out);
    object.is_ok_and(|map| !map.is_empty()).then_some((out, at))
}

/// A string in quotes of either kind, as JSON, and how long it is.
fn string(text: &str, quote: char) -> Option<(String, usize)> {
    let len = text[1..].find(quote)?;
    let inner = &text[1..=len];
    let right = if quote == '\'' { inner.replace('"', "\\\"") } else { inner.to_owned() };
    Some((format!("\"{right}\""), len + 2))
}

#[cfg(test)]
mod tests {
    use super::{as_json, closing};

    #[test]
    fn an_apostrophe_ends_no_text() {
        let inner = |t: &str| closing(t).map(|n| t[..n].to_owned());
        assert_eq!(inner("A day's work' {").as_deref(), Some("A day's work"));
        assert_eq!(inner("a', 'b']").as_deref(), Some("a"));
        assert_eq!(inner("A day's work {").as_deref(), Some("A day"));
        assert_eq!(inner("A day"), None);
    }

    #[test]
    fn a_dictionary_is_an_object() {
        let json = |t: &str| as_json(t).map(|(json, _)| json);
        let right = r#"{"method": "mtp", "n": [1, 2], "on": true, "no": null}"#;
        let python = "{'method': 'mtp', 'n': [1, 2,], 'on': True, 'no': None,}";
        assert_eq!(json(python).as_deref(), Some(right));
        assert_eq!(as_json("{'a': 1} --x").map(|(_, len)| len), Some(8));
        assert_eq!(json("{'a': b}"), None);
        assert_eq!(json("{}"), None);
        assert_eq!(json("{'a"), None);
    }
}
