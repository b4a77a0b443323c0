//! What was expected where a chunk could not be read on: the grammar's own account of it, in the words of a user.

use std::ops::Range;

use pest::Parser;
use pest::error::{Error, ErrorVariant, InputLocation};

use super::blocks::first_word;
use super::grammar::{Grammar, Rule};
use super::surplus::{NO_POWERS, is_power};
use super::{completed, examples, glued, half_names, hints, lacking, reordered, words};
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Expected, did_you_mean, one_of, short};
use crate::lang::source::{FileId, Span};

/// Parses the chunk by one rule and says what that rule expected where it stopped.
/// `settings` begin lines of the block: one of them further on in a line belongs on a line of its own.
pub fn by_rule(id: FileId, rule: Rule, text: &str, base: usize, settings: &[&str]) -> Diagnostic {
    let Some((at, expected)) = stop(rule, text) else {
        return beyond_its_line(id, text, base);
    };
    // `maximize on chat`: the word was read as the name that is missing before it
    if let Some(word) = lacking::taken(text, at, &expected)
        && let Some((stop, expected)) = stop(rule, &text[..word.start])
        && text[stop..word.start].trim().is_empty()
        && lacking::is_before(text, &word, &expected)
    {
        return left_out(id, text, base, &word, &expected);
    }
    let (token, found) = match text.strip_prefix("- ") {
        // a list of YAML: the dash is one too many, not what follows it
        Some(_) if text[..at].trim_end() == "-" => (0..1, Some("`-`".to_owned())),
        _ => listed_dash(text, at).unwrap_or_else(|| token_at(text, at)),
    };
    let whole = again(id, text, base, &token).or_else(|| third_dash(id, text, base, &token));
    if let Some(found) = whole.or_else(|| glued::number(id, text, base, &token, &expected)) {
        return found;
    }
    let gap = || lacking::is_before(text, &token, &expected);
    if found.is_some() && gap() && !completed::lacks_nothing(text, &token, &expected) {
        return left_out(id, text, base, &token, &expected);
    }
    let shown = if found.is_some() { token.clone() } else { last_word(text, &token) };
    let span = Span::new(id, base + shown.start..base + shown.end);
    let message = match &found {
        Some(found) => format!("{found} was not expected here"),
        None => "something is missing at the end of the line".to_owned(),
    };
    let d = Diagnostic::new(Code::Unexpected, span, message);
    let word = if found.is_some() { &text[token.clone()] } else { "" };
    // of two letters, one in common says nothing
    let slip = if word.len() > 2 { did_you_mean(word, expected.iter().flat_map(|e| named(e))) } else { None };
    if let Some(near) = slip.filter(|n| n.len() > 1 && !n.ends_with('…')) {
        return d.suggest(near).help(format!("write `{near}` here")).edit(span, near);
    }
    let label = match expected.as_slice() {
        [] if found.is_none() && text[..token.end].ends_with('-') => "the flag's name is missing".to_owned(),
        [] => "unexpected".to_owned(),
        [only] if Some(only) == found.as_ref() => "after a space".to_owned(),
        _ => format!("expected {}", one_of(&with_operators(&expected))),
    };
    // lines of a site share words with engines and profiles
    let examples = if rule == Rule::only_site_line { examples::site_example } else { examples::example };
    if let Some((at, line)) = glued::setting(rule, text, &token, settings, &expected) {
        let place = Span::new(id, base + text[..token.start].trim_end().len()..base + at);
        return d
            .about(About::Expected(lacks(&expected, false)))
            .label(label)
            .help(format!("a setting ends with its line: write `{line}` on a line of its own"))
            .edit(place, format!("\n    {} ", &text[token.start..at]));
    }
    if token.start > 0
        && !text.starts_with(word)
        && settings.contains(&word)
        && text[token.end..].starts_with([' ', '\t'])
        && expected.iter().any(|e| e == "the end of the line")
    {
        let d = d.about(About::Expected(lacks(&expected, false))).label(label);
        let more = glued::others(text, &token, settings);
        let d = d.help(match more.len() {
            0 => format!("a setting ends with its line: write `{word} …` on a line of its own"),
            _ => "a setting ends with its line: write each on a line of its own".to_owned(),
        });
        return std::iter::once(token.start).chain(more).fold(d, |d, at| {
            let between = Span::new(id, base + text[..at].trim_end().len()..base + at);
            d.edit(between, "\n    ")
        });
    }
    let (hint, by_example) = hints::hint(text, &token, word, &expected, examples);
    if let Some(found) = sign_too_many(id, text, base, (&token, found.is_none()), &hint) {
        return found;
    }
    let about = About::Expected(lacks(&expected, by_example));
    if let Some(found) = before(id, text, base, &token, &hint) {
        // a name that is none is spelled anew wherever it is used
        return if found.about == About::NoName { found } else { found.about(about) };
    }
    let d = d.about(about);
    let d = match hint.edit.as_ref().and_then(|edit| comma_above(text, &token, edit)) {
        Some((place, missing)) => {
            let span = Span::new(id, base + place.start..base + place.end);
            let (message, label) = if missing {
                ("a comma is missing at the end of the line", "expected `,` behind it")
            } else {
                ("`,` was not expected here", "nothing follows it")
            };
            Diagnostic::new(Code::Unexpected, span, message).label(label).help(hint.help)
        }
        None => d.label(label).help(hint.help),
    };
    match hint.edit {
        Some((at, fixed)) => d.edit(Span::new(id, base + at.start..base + at.end), fixed),
        None => d,
    }
}

/// `input 256,`, `requests 900.`, `{"mode": 3,}`, `goodput(a, and b)`: what is said of the end of a line, of JSON, or of a word that joins, is
/// said of the sign before it that is too many.
fn sign_too_many(
    id: FileId,
    text: &str,
    base: usize,
    (token, ends): (&Range<usize>, bool),
    hint: &hints::Hint,
) -> Option<Diagnostic> {
    let sign = |(at, right): &&(Range<usize>, String)| {
        right.is_empty() && matches!(text.get(at.clone()), Some("," | "."))
    };
    let behind_comma = text[..token.start].trim_end().ends_with(',');
    let closes = text[token.start..].starts_with(['}', ']']) && behind_comma;
    let joined = matches!(text.get(token.clone()), Some("and" | "or")) && behind_comma;
    let (at, _) = hint.edit.as_ref().filter(sign).filter(|_| ends || closes || joined)?;
    let label = if joined { "one too many" } else { "nothing follows it" };
    let span = Span::new(id, base + at.start..base + at.end);
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{}` was not expected here", &text[at.clone()]));
    Some(d.label(label).help(hint.help.as_str()).edit(span, ""))
}

/// A chunk that reads as it is, and is followed by what it cannot take along.
fn beyond_its_line(id: FileId, text: &str, base: usize) -> Diagnostic {
    // `maximize total_tps on chat, code,`: the list goes on with the next setting
    let end = text.trim_end().len();
    if text[..end].ends_with(',') {
        let span = Span::new(id, base + end - 1..base + end);
        let d = Diagnostic::new(Code::Unexpected, span, "`,` was not expected here");
        return d.label("nothing follows it").help("a list ends without a comma: remove it").edit(span, "");
    }
    let span = Span::new(id, base..base + end);
    Diagnostic::new(Code::Unexpected, span, "this cannot stand here")
        .help("write each setting on a line of its own")
}

/// What stands before a token and is the mistake rather than that.
fn before(
    id: FileId,
    text: &str,
    base: usize,
    token: &Range<usize>,
    hint: &hints::Hint,
) -> Option<Diagnostic> {
    comment_at(id, text, base, hint)
        .or_else(|| sign_before(id, text, base, token, hint))
        .or_else(|| path_before(id, text, base, token, hint))
        .or_else(|| half_names::whole(id, text, base, token, hint))
        .or_else(|| unfinished_before(id, text, base, token, hint))
        .or_else(|| word_before(id, text, base, token, hint))
}

/// `3s /* why */`, of which the first sign was read as one that divides: both are the comment's.
fn comment_at(id: FileId, text: &str, base: usize, hint: &hints::Hint) -> Option<Diagnostic> {
    let (at, right) =
        hint.edit.as_ref().filter(|(at, _)| text.get(at.start..).is_some_and(|t| t.starts_with("/*")))?;
    let span = |end: usize| Span::new(id, base + at.start..base + end);
    let d = Diagnostic::new(Code::Unexpected, span(at.start + "/*".len()), "`/*` was not expected here");
    Some(d.label("a comment?").help(hint.help.as_str()).edit(span(at.end), right.as_str()))
}

/// `[16; 32]`, `={16, 32}`: the sign before a token is what another one was meant to be.
fn sign_before(
    id: FileId,
    text: &str,
    base: usize,
    token: &Range<usize>,
    hint: &hints::Hint,
) -> Option<Diagnostic> {
    let (at, right) = hint.edit.as_ref().filter(|(at, _)| at.start < token.start)?;
    let sign = text.get(at.start..at.start + 1)?;
    let meant = right.get(..1).filter(|m| matches!((sign, *m), (";" | ".", ",") | ("{", "[")))?;
    let span = Span::new(id, base + at.start..base + at.start + 1);
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{sign}` was not expected here"));
    let d = d.label(format!("expected `{meant}`")).help(hint.help.as_str());
    Some(d.edit(Span::new(id, base + at.start..base + at.end), right.as_str()))
}

/// `require if p99(ttft) < 1s`: the word before a token, which an edit takes away, is what was not expected.
fn word_before(
    id: FileId,
    text: &str,
    base: usize,
    token: &Range<usize>,
    hint: &hints::Hint,
) -> Option<Diagnostic> {
    let (at, _) = hint.edit.as_ref().filter(|(at, right)| right.is_empty() && at.end == token.start)?;
    let word = text.get(at.clone())?.trim_end();
    let alone = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    let span = |end: usize| Span::new(id, base + at.start..base + end);
    let d = Diagnostic::new(
        Code::Unexpected,
        span(at.start + word.len()),
        format!("`{word}` was not expected here"),
    );
    alone.then(|| d.label("one word too many").help(hint.help.as_str()).edit(span(at.end), ""))
}

/// `tokenizer models/q`, `via url http://a`: the beginning of a path was read as a word, and all of it is what an edit quotes.
fn path_before(
    id: FileId,
    text: &str,
    base: usize,
    token: &Range<usize>,
    hint: &hints::Hint,
) -> Option<Diagnostic> {
    let more = |at: &Range<usize>| at.start <= token.start && token.end <= at.end && at.len() > token.len();
    let (at, right) = hint.edit.as_ref().filter(|(at, _)| more(at))?;
    let quoted = |path: &&str| *right == format!("\"{path}\"") && !path.contains([' ', '\t', ',']);
    let path = text.get(at.clone()).filter(quoted)?;
    Some(all_of_edit(id, base, (at, right), path, hint).label("expected a string in double quotes"))
}

/// `5s -a p90(tpot) <= 90ms`, `{"n": 3.}`: the sign and letter before a token, in whose place an edit puts `and`, or the number that it completes.
fn unfinished_before(
    id: FileId,
    text: &str,
    base: usize,
    token: &Range<usize>,
    hint: &hints::Hint,
) -> Option<Diagnostic> {
    let (at, right) = hint
        .edit
        .as_ref()
        .filter(|(at, right)| at.end <= token.start && !at.is_empty() && !right.is_empty())?;
    let joins = matches!(right.as_str(), "and" | "or");
    let is_one = |w: &&str| joins && w.starts_with('-') || w.ends_with('.') && right.starts_with(*w);
    let written = text.get(at.clone()).filter(is_one)?;
    Some(all_of_edit(id, base, (at, right), written, hint).label(format!("expected `{right}`")))
}

/// All that an edit replaces was not expected.
fn all_of_edit(
    id: FileId,
    base: usize,
    (at, right): (&Range<usize>, &str),
    written: &str,
    hint: &hints::Hint,
) -> Diagnostic {
    let span = Span::new(id, base + at.start..base + at.end);
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{}` was not expected here", short(written)));
    d.help(hint.help.as_str()).edit(span, right)
}

/// The comma of a line above a token that an edit takes away, or the last word of such a line, behind which it puts the one that is
/// missing; and whether one is.
fn comma_above(
    text: &str,
    token: &Range<usize>,
    edit: &(Range<usize>, String),
) -> Option<(Range<usize>, bool)> {
    let (at, right) = edit;
    text.get(at.end..token.start).filter(|between| between.contains('\n'))?;
    match (right.as_str(), text.get(at.clone())?) {
        ("", ",") => Some((at.clone(), false)),
        (",", "") => {
            let last = text[..at.start].char_indices().next_back()?.0;
            Some((last_word(text, &(last..at.start)), true))
        }
        _ => None,
    }
}

/// `axis a = - --eager`: a dash as in a list of YAML is what is one too many, not the flag behind it.
fn listed_dash(text: &str, at: usize) -> Option<(Range<usize>, Option<String>)> {
    let before = text[..at].trim_end();
    let alone = before.strip_suffix('-')?.ends_with([' ', '\t', '\n']);
    let behind = &text[before.len()..];
    let flag = behind.starts_with([' ', '\t']) && behind.trim_start_matches([' ', '\t']).starts_with('-');
    (alone && flag).then(|| (before.len() - 1..before.len(), Some("`-`".to_owned())))
}

/// The same with the signs that go on behind the name of an axis, which the grammar tries unseen.
fn with_operators(expected: &[String]) -> Vec<String> {
    let has = |what: &str| expected.iter().any(|e| e == what);
    let algebra =
        has("a [list]") && has("the end of the line") && !has("a flag") && !has("a variable in upper case");
    let signs = ["`*`", "`+`"].into_iter().filter(|_| algebra).map(str::to_owned);
    signs.chain(expected.iter().cloned()).collect()
}

/// `a ** b`, `tps // gpus`: a sign that stands twice.
fn again(id: FileId, text: &str, base: usize, token: &Range<usize>) -> Option<Diagnostic> {
    let word = &text[token.clone()];
    let twice = matches!(word, "*" | "+" | "/" | ">" | "<") && text[..token.start].ends_with(word);
    twice.then(|| {
        let span = Span::new(id, base + token.start..base + token.end);
        let d = Diagnostic::new(Code::Unexpected, span, format!("`{word}` stands here twice"));
        let d = d.label("the second one");
        if is_power(text, token) {
            return d.help(NO_POWERS);
        }
        d.help("remove it").edit(span, "")
    })
}

/// `---max-num-seqs=4`
fn third_dash(id: FileId, text: &str, base: usize, token: &Range<usize>) -> Option<Diagnostic> {
    let name = text[token.clone()].trim_start_matches('-');
    let dashes = text[..token.start].trim_end_matches('-').len()..token.end - name.len();
    let flag = name.starts_with(|c: char| c.is_ascii_alphabetic());
    (flag && dashes.len() > "--".len()).then(|| {
        let span = Span::new(id, base + dashes.start..base + dashes.end);
        let message = format!("`{}` was not expected here", short(&text[dashes]));
        let d = Diagnostic::new(Code::Unexpected, span, message).label("a flag begins with two dashes");
        d.help(format!("write `--{name}`")).edit(span, "--")
    })
}

/// Something that is missing before a word or sign.
fn left_out(id: FileId, text: &str, base: usize, token: &Range<usize>, expected: &[String]) -> Diagnostic {
    let span = Span::new(id, base + token.start..base + token.end);
    if let Some((place, right)) = reordered::profile_first(text, token.start) {
        let d = Diagnostic::new(Code::Unexpected, span, "`on` was not expected here");
        let d = d.label("it stands behind what is asked").help(format!("write `{right}`"));
        return d.edit(Span::new(id, base + place.start..base + place.end), right);
    }
    let message = format!("something is missing before `{}`", &text[token.clone()]);
    let line = lacking::line(text, token.start, expected);
    let about = About::Expected(lacks(expected, line.is_some()));
    let help = line.map_or_else(
        || format!("write {} before it", one_of(expected)),
        |line| format!("write for example `{line}`"),
    );
    let d = Diagnostic::new(Code::Unexpected, span, message).about(about);
    d.label(format!("expected {} before it", one_of(expected))).help(help)
}

/// What of it some pass asks for. A brace that stands behind other signs may be that of an object.
fn lacks(expected: &[String], by_example: bool) -> Expected {
    let has = |what: &str| expected.iter().any(|e| e == what);
    let brace = expected.first().is_some_and(|e| e == "`{`");
    Expected { name: has("a name"), axis: has("an axis"), brace, operand: has("an expression"), by_example }
}

/// Where one rule stops in a chunk, and what it expected there; `None` where it takes the chunk.
pub(super) fn stop(rule: Rule, text: &str) -> Option<(usize, Vec<String>)> {
    // the detail costs much, and is asked for only where a mistake is explained
    pest::set_error_detail(true);
    let parsed = Grammar::parse(rule, text);
    pest::set_error_detail(false);
    let error = parsed.err()?;
    let at = match error.location {
        InputLocation::Pos(p) | InputLocation::Span((p, _)) => p,
    };
    Some(expectation(&error, at, text))
}

/// The words of the language that an expectation names: one in backquotes, or those that the phrases in its parentheses begin with.
pub(super) fn named(expected: &str) -> impl Iterator<Item = &str> {
    let list = expected.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    let all = list.unwrap_or(expected).split(", ");
    all.map(move |word| if list.is_some() { first_word(word) } else { word.trim_matches('`') })
}

fn within_word(text: &str, at: usize) -> bool {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.get(..at).is_some_and(|s| s.ends_with(in_word)) && text[at..].starts_with(in_word)
}

/// The furthest place that was reached, and in words what could have stood there.
fn expectation(error: &Error<Rule>, at: usize, text: &str) -> (usize, Vec<String>) {
    let mut at = at;
    let mut expected: Vec<String> = Vec::new();
    if let ErrorVariant::ParsingError { positives, .. } = &error.variant {
        expected.extend(positives.iter().filter_map(|r| words::rule(*r)).map(str::to_owned));
    }
    if let Some(attempts) = error.parse_attempts() {
        let further = attempts.max_position;
        let tokens: Vec<_> =
            attempts.expected_tokens().iter().filter_map(|t| words::token(&t.to_string())).collect();
        let blank = text.get(at.min(further)..further).is_some_and(|s| s.trim().is_empty());
        // a word that cannot be a name was looked at for being none
        let reserved =
            text.get(at.min(further)..further).is_some_and(|s| words::RESERVED.contains(&s.trim()));
        // a keyword that ends in the middle of a word was not begun
        if further > at && !blank && !reserved && !within_word(text, further) {
            at = further;
            expected.clear();
        }
        if further == at || blank {
            expected.extend(tokens);
        }
    }
    // no block or points are open that it would end
    if !text[..at].contains('{') {
        expected.retain(|e| e != "`}`");
    }
    (at, tidy(expected))
}

/// Without what helps nobody: titles that may be left out, and each operator that could go on.
fn tidy(mut expected: Vec<String>) -> Vec<String> {
    const SIGNS: [&str; 2] = ["`=`", "`{`"];
    const OPERATORS: [&str; 6] = ["`*` or `/`", "`+` or `-`", "a comparison", "`>=`", "`and`", "`or`"];
    let value = expected.iter().any(|e| e == "a JSON object");
    if !value && expected.iter().any(|e| SIGNS.contains(&e.as_str())) {
        expected.retain(|e| e != "a string in double quotes");
    }
    let operators = |e: &String| OPERATORS.contains(&e.as_str());
    if expected.iter().filter(|e| operators(e)).count() > 1 {
        expected.retain(|e| !operators(e) && e != "`(`");
        expected.push("an operator".to_owned());
    }
    if expected.iter().any(|e| e == "a JSON object") {
        expected.retain(|e| e != "`{`");
    }
    // the sign that begins it says the same
    if expected.iter().any(|e| e == "a [list]") && expected.len() > 2 {
        expected.retain(|e| e != "`[`");
    }
    if expected.iter().any(|e| e == "an expression") {
        expected.retain(|e| e != "`(`");
    }
    expected.sort();
    expected.dedup();
    expected.truncate(8);
    expected
}

/// The last word or sign of what ends with a token.
fn last_word(text: &str, token: &Range<usize>) -> Range<usize> {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '%' | '/');
    let sign = |c: char| matches!(c, '&' | '|' | '=' | '<' | '>' | '!');
    let whole = &text[..token.end];
    let start =
        if whole.ends_with(sign) { whole.trim_end_matches(sign) } else { whole.trim_end_matches(word) };
    start.len().min(token.start)..token.end
}

/// The word, string or sign at a place, for the span and for the message; of the end of a line its last character, without words.
fn token_at(text: &str, at: usize) -> (Range<usize>, Option<String>) {
    let at = at + text[at..].len() - text[at..].trim_start_matches([' ', '\t']).len();
    let rest = &text[at..];
    if rest.is_empty() || rest.starts_with(['\n', '\r', '#']) {
        let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
        let end = start_of_comment(&text[line..at]).map_or(at, |n| line + n);
        let end = text[..end].trim_end().len();
        let start = text[..end].char_indices().next_back().map_or(0, |(i, _)| i);
        return (start..end, None);
    }
    let first = rest.chars().next().unwrap_or(' ');
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '%' | '/');
    let sign = |c: char| matches!(c, '&' | '|' | '=' | '<' | '>' | '!');
    let len = if let Some(inner) = rest.strip_prefix('"') {
        inner.find('"').map_or(1, |n| n + 2)
    } else if rest.starts_with(":=") {
        ":=".len()
    } else if sign(first) {
        rest.find(|c: char| !sign(c)).unwrap_or(rest.len())
    } else {
        rest.find(|c: char| !word(c)).unwrap_or(rest.len()).max(first.len_utf8())
    };
    let shown = &rest[..len];
    let visible = !first.is_whitespace() && !first.is_control();
    let found = if visible {
        format!("`{}`", short(shown))
    } else {
        format!("the character U+{:04X}", u32::from(first))
    };
    (at..at + len, Some(found))
}
