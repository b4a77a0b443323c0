//! The ways in which people may mend a mistake of which no machine knows what was meant.

use crate::lang::changes::is_here;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Edit};
use crate::lang::sema::scope::Kind;
use crate::lang::source::{FileId, Span};

/// Each way is what it changes.
pub(super) type Ways = Vec<Vec<Edit>>;

/// More names than these are not tried one by one, so that nothing is certain of them.
const MOST_NAMES: usize = 3;

/// Whether it is a mistake of those of which ways may be known.
pub(super) fn may_have(d: &Diagnostic) -> bool {
    let known = matches!(
        d.code,
        Code::FlagTwice
            | Code::SettingTwice
            | Code::DeclaredTwice
            | Code::BadFlagValue
            | Code::UnknownParam
            | Code::UnknownMetric
            | Code::Dimension
            | Code::StepEmpty
            | Code::TrackBorder
            | Code::ListOutsideAxis
            | Code::MissingInStudy
            | Code::WrongKind
    );
    known && d.is_error() && d.edits.is_empty() && is_here(d.span)
}

/// The ways of a mistake, if all that are likely are known.
pub(super) fn ways(text: &str, d: &Diagnostic) -> Option<Ways> {
    text.get(d.span.range())?;
    let line = text[d.span.line_in(text).range()].trim_start();
    match d.code {
        Code::FlagTwice | Code::SettingTwice => {
            let (first, _) = d.related.first().filter(|(at, _)| is_here(*at))?;
            Some(vec![vec![put(d.span, "")], vec![put(*first, "")]])
        }
        // a second track of one engine, where one other is left
        Code::DeclaredTwice if d.about == About::Twice(Kind::Engine) && line.starts_with("track ") => {
            let [other] = d.suggested.as_slice() else { return None };
            Some(vec![vec![put(d.span, other)]])
        }
        Code::DeclaredTwice => value_twice(text, d.span),
        Code::BadFlagValue if line.starts_with('-') => a_number(text, d),
        Code::UnknownParam => a_param(text, d.span),
        Code::UnknownMetric if aims(line) => Some(measures(d.span)),
        Code::Dimension if line.starts_with("metric ") => body(text, d.span).map(measures),
        Code::StepEmpty if text[d.span.range()].starts_with("vary ") => vary_twice(text, d.span),
        Code::TrackBorder => start(text, d.span),
        Code::ListOutsideAxis if line.starts_with("axis ") => one_value(text, d.span),
        Code::MissingInStudy if d.about == About::Lacks(&["baseline"]) => {
            let brace = d.span.range().end + text[d.span.range().end..].find(['{', '\n'])?;
            let at = Span::new(FileId::default(), brace + 1..brace + 1);
            text[brace..].starts_with('{').then_some(())?;
            each_engine(text, |name| put(at, &format!("\n    baseline {name}\n")))
        }
        Code::WrongKind if line.starts_with("baseline ") => each_engine(text, |name| put(d.span, name)),
        _ => None,
    }
}

fn put(span: Span, text: &str) -> Edit {
    Edit { span, text: text.to_owned() }
}

fn here(start: usize, end: usize) -> Span {
    Span::new(FileId::default(), start..end)
}

fn aims(line: &str) -> bool {
    line.starts_with("maximize ") || line.starts_with("minimize ")
}

/// Something that grows with the load, and something that shrinks.
fn measures(place: Span) -> Ways {
    vec![vec![put(place, "total_tps")], vec![put(place, "p50(ttft)")]]
}

/// What a metric is made of.
fn body(text: &str, at: Span) -> Option<Span> {
    let line = at.line_in(text).range();
    let sign = line.start + text[line.clone()].find('=')?;
    let code = text[sign..line.end].split('#').next().unwrap_or_default().trim_end();
    Some(here(sign + 1, sign + code.len())).filter(|s| s.start < s.end)
}

/// The second of two values in a list, with the comma before it.
fn value_twice(text: &str, at: Span) -> Option<Ways> {
    let place = at.range();
    let before = text[..place.start].trim_end();
    let comma = before.strip_suffix(',')?.len();
    let in_list = text[place.end..].trim_start().starts_with([',', ']']);
    in_list.then(|| vec![vec![put(here(comma, place.end), "")]])
}

/// A flag of an engine with a word for its number: without it, with the least and with a big one.
fn a_number(text: &str, d: &Diagnostic) -> Option<Ways> {
    if !d.message.ends_with("is not a number") {
        return None;
    }
    let place = d.span.range();
    let start = text[..place.start].trim_end_matches(|c: char| !c.is_whitespace()).len();
    let whole = here(start, place.end);
    text[whole.range()].starts_with('-').then_some(())?;
    Some(vec![vec![put(whole, "")], vec![put(d.span, "1")], vec![put(d.span, "1000000")]])
}

/// A param that is declared, in the place of one that is not.
fn a_param(text: &str, at: Span) -> Option<Ways> {
    text[at.range()].strip_prefix('{')?.strip_suffix('}')?;
    // which flags an engine has hangs on its version
    if text[..at.range().start].trim_end_matches('"').trim_end().ends_with("version") {
        return None;
    }
    let names = declared(text, "param ", |_| true);
    if names.is_empty() {
        return Some(vec![vec![put(at, "1")]]);
    }
    (names.len() <= MOST_NAMES)
        .then(|| names.iter().map(|name| vec![put(at, &format!("{{{name}}}"))]).collect())
}

/// One of two `vary`, without the other.
fn vary_twice(text: &str, second: Span) -> Option<Ways> {
    let before = &text[..second.range().start];
    let first = before.rfind("vary ")?;
    let line = before[first..].split('\n').next().unwrap_or_default();
    let code = line.split('#').next().unwrap_or_default().trim_end();
    Some(vec![vec![put(second, "")], vec![put(here(first, first + code.len()), "")]])
}

/// A base in a track that belongs to none of its steps.
fn start(text: &str, at: Span) -> Option<Ways> {
    let before = text[..at.range().start].trim_end();
    let from = before.strip_suffix("from")?.len();
    Some(vec![vec![put(here(from, at.range().end), "")]])
}

/// A flag with the first value of its list, and with the last.
fn one_value(text: &str, at: Span) -> Option<Ways> {
    let change = &text[at.range()];
    let (open, close) = (change.find('[')?, change.rfind(']')?);
    let values: Vec<&str> = change.get(open + 1..close)?.split(',').map(str::trim).collect();
    let list = here(at.range().start + open, at.range().start + close + 1);
    let ends = [values.first()?, values.last()?];
    Some(ends.iter().map(|value| vec![put(list, value)]).collect())
}

/// Each engine that a study may stand on: those that the file declares.
fn each_engine(text: &str, edit: impl Fn(&str) -> Edit) -> Option<Ways> {
    let names = declared(text, "engine ", |head| head.contains('='));
    let few = (1..=MOST_NAMES).contains(&names.len());
    few.then(|| names.iter().map(|name| vec![edit(name)]).collect())
}

/// The names that a file declares by such a word, of those that are derived or stand for something: a root engine is a schema.
fn declared<'t>(text: &'t str, word: &str, counts: fn(&str) -> bool) -> Vec<&'t str> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let heads = text.lines().filter_map(|l| Some(l.strip_prefix(word)?.trim_start()));
    let heads = heads.filter(|head| counts(head.split('{').next().unwrap_or_default()));
    let names = heads.map(|head| &head[..head.find(|c| !in_word(c)).unwrap_or(head.len())]);
    names.filter(|name| !name.is_empty()).collect()
}
