//! The ways in which people may mend a mistake of which no machine knows what was meant.

use indexmap::IndexSet;

use crate::lang::changes::is_here;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Edit};
use crate::lang::sema::schema::Kind as Takes;
use crate::lang::sema::scope::Kind;
use crate::lang::source::{FileId, Span};
use crate::lang::syntax::{Piece, Scanner};

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
            | Code::UnknownName
            | Code::MissingUnit
            | Code::UnknownUnit
            | Code::Unexpected
            | Code::TooManyGpus
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
        // a second track of one engine, where one other is left: either may be that one's
        Code::DeclaredTwice if d.about == About::Twice(Kind::Engine) && line.starts_with("track ") => {
            let [other] = d.suggested.as_slice() else { return None };
            let first = d.related.first().filter(|(at, _)| is_here(*at));
            let tracks = std::iter::once(d.span).chain(first.map(|(at, _)| *at));
            Some(tracks.map(|at| vec![put(at, other)]).collect())
        }
        Code::DeclaredTwice if matches!(d.about, About::Second(_)) => another_name(text, d),
        Code::DeclaredTwice => value_twice(text, d.span).or_else(|| point_twice(text, d.span)),
        Code::BadFlagValue if line.starts_with('-') || line.starts_with("engine ") => a_value(text, d),
        Code::UnknownParam => a_param(text, d.span),
        Code::UnknownMetric if aims(line) => Some(measures(d.span)),
        Code::Dimension | Code::UnknownMetric if line.starts_with("metric ") => {
            body(text, d.span).map(any_measures)
        }
        Code::Dimension | Code::UnknownMetric | Code::MissingUnit => comparison(text, d.span),
        Code::UnknownUnit if d.suggested.len() > 1 => {
            Some(d.suggested.iter().map(|meant| vec![put(d.span, meant)]).collect())
        }
        Code::UnknownName if line.starts_with("profile ") => parent(text, d.span),
        Code::UnknownName if line.starts_with("baseline ") => meant(d),
        Code::UnknownName => base(text, d.span),
        Code::BadFlagValue => two_units(d).or_else(|| listed_value(text, d)),
        Code::Unexpected if aims(line) => two_aims(text, d.span),
        Code::Unexpected => in_a_step(text, d),
        Code::StepEmpty if text[d.span.range()].starts_with("vary ") => vary_twice(text, d.span),
        Code::TrackBorder => start(text, d.span),
        Code::TooManyGpus => enough_gpus(text, d),
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

/// `maximize total_tps, output_tps on chat`: the second without the first, and the first without the second.
fn two_aims(text: &str, comma: Span) -> Option<Ways> {
    let (line, at) = (comma.line_in(text).range(), comma.range());
    let first = text[line.start..at.start].find("imize ").map(|n| line.start + n + "imize ".len())?;
    let end = text[at.end..line.end].find(" on ").map(|n| at.end + n)?;
    (&text[at.clone()] == ",")
        .then(|| vec![vec![put(here(first, at.end), "")], vec![put(here(at.start, end), "")]])
}

/// One of each dimension that metrics mostly have.
fn any_measures(place: Span) -> Ways {
    let mut all = measures(place);
    all.push(vec![put(place, "p50(ttft) / p50(tpot)")]);
    all
}

/// A comparison of a condition, with one in its place of which nobody knows whether it holds.
fn comparison(text: &str, at: Span) -> Option<Ways> {
    let (start, calls) = begins(text, at.range().start)?;
    let end = ends(text, at.range().end, calls);
    Some(vec![vec![put(here(start, end), "failed <= 3")]])
}

/// Where the comparison around a place begins, and how many calls are open there.
fn begins(text: &str, at: usize) -> Option<(usize, usize)> {
    let (mut closed, mut calls) = (0_usize, 0);
    for (i, c) in text[..at].char_indices().rev() {
        let behind = &text[i + c.len_utf8()..];
        match c {
            ')' => closed += 1,
            '(' if closed > 0 => closed -= 1,
            '(' if text[..i].ends_with(|c: char| c.is_ascii_alphanumeric()) => calls += 1,
            '(' => return Some((i + 1, calls)),
            ' ' | '\n' if closed == 0 => {
                let word = text[..i].rsplit([' ', '\n', '(']).next().unwrap_or_default();
                if ["and", "or", "when", "require"].contains(&word) {
                    return Some((at - behind[..at - i - 1].trim_start().len(), calls));
                }
            }
            '{' | '}' | '"' | '='
                if c != '=' || !text[..i].ends_with(['<', '>', '=', '!']) && !behind.starts_with('=') =>
            {
                return None;
            }
            _ => {}
        }
    }
    None
}

/// Where it ends.
fn ends(text: &str, at: usize, mut calls: usize) -> usize {
    let mut open = 0_usize;
    for (i, c) in text[at..].char_indices() {
        let before = |word: &str| text[at + i..].trim_start().starts_with(word);
        match c {
            '(' => open += 1,
            ')' if open > 0 => open -= 1,
            ')' if calls > 0 => calls -= 1,
            ')' | '{' | '\n' | '#' => return at + text[at..at + i].trim_end().len(),
            ' ' if open == 0
                && ["and ", "or ", "on ", "after ", "and\n", "or\n"].iter().any(|w| before(w)) =>
            {
                return at + i;
            }
            _ => {}
        }
    }
    text.len()
}

/// A step from nowhere else, and from each engine; in a track from its own and from each step before it.
fn base(text: &str, at: Span) -> Option<Ways> {
    let nowhere = start(text, at)?;
    let bases = match opened_around(text, at.range().start).filter(|block| block.starts_with("track ")) {
        Some(track) => {
            let steps = track.split("step ").skip(1).filter_map(|s| s.split_whitespace().next());
            let own = track.split_whitespace().nth(1);
            // the last one is the step that is asked about
            let steps: Vec<&str> = own.into_iter().chain(steps).collect();
            let bases = steps.split_last()?.1.iter().map(|name| vec![put(at, name)]).collect();
            (steps.len() <= MOST_NAMES).then_some(bases)?
        }
        None => each_engine(text, |name| put(at, name))?,
    };
    Some(bases.into_iter().chain(nowhere).collect())
}

/// The innermost block that is open at a place, from its first line up to there.
fn opened_around(text: &str, at: usize) -> Option<&str> {
    let mut open = Vec::new();
    for (i, piece) in Scanner::new(&text[..at]) {
        match piece {
            Piece::Open(b'{') => open.push(i),
            Piece::Close(b'}') => drop(open.pop()),
            _ => {}
        }
    }
    let brace = open.last()?;
    let start = text[..*brace].rfind('\n').map_or(0, |n| n + 1);
    Some(text[start..at].trim_start())
}

/// The one name that is near to what nothing is called.
fn meant(d: &Diagnostic) -> Option<Ways> {
    let [meant] = d.suggested.as_slice() else { return None };
    Some(vec![vec![put(d.span, meant)]])
}

/// More GPUs for an engine that is too large; and, where one size of it makes it so, a smaller one.
fn enough_gpus(text: &str, d: &Diagnostic) -> Option<Ways> {
    let [needed] = d.suggested.as_slice() else { return None };
    let number = |at: Span, before: &str| {
        let (_, rest) = text.get(at.range())?.split_once(before)?;
        let rest = rest.trim_start();
        let len = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let start = rest.as_ptr() as usize - text.as_ptr() as usize;
        (len > 0).then(|| here(start, start + len))
    };
    let (line, _) = d.related.first().filter(|(at, _)| is_here(*at))?;
    let there = number(*line, "gpus")?;
    let more = vec![put(there, needed)];
    let sizes = d.related.iter().filter(|(at, _)| is_here(*at)).filter_map(|(at, _)| number(*at, "="));
    let smaller: Vec<Edit> = sizes.map(|size| put(size, &text[there.range()])).collect();
    Some(if smaller.len() == 1 { vec![more, smaller] } else { vec![more] })
}

/// `32K`, which may be `32Ki` or `32k`.
fn two_units(d: &Diagnostic) -> Option<Ways> {
    let counts = matches!(&d.about, About::NotTaken { takes: Takes::Int { .. } | Takes::Float { .. }, .. });
    let [one, other] = d.suggested.as_slice() else { return None };
    counts.then(|| vec![vec![put(d.span, one)], vec![put(d.span, other)]])
}

/// What of a step's words changes no candidate: why it picks, and how it goes through them; and a comma between its axes.
fn in_a_step(text: &str, d: &Diagnostic) -> Option<Ways> {
    let place = d.span.range();
    let before = text[d.span.line_in(text).range().start..place.start].trim_start();
    let says = |word: &str| before.split([' ', '{']).any(|w| w == word);
    let in_list = before.rfind('[') > before.rfind(']');
    if says("pick")
        && !says("because")
        && text[place.end..].trim_start_matches(' ').starts_with(['\n', '#', '}'])
    {
        Some(vec![vec![put(here(place.end, place.end), " because \"…\"")]])
    } else if says("vary") && before.trim_end().ends_with(" by") {
        Some(vec![vec![put(d.span, "grid")]])
    } else if says("vary") && &text[place] == "," && !in_list {
        Some(vec![vec![put(d.span, " *")], vec![put(d.span, " +")]])
    } else {
        None
    }
}

/// A profile without the one that it derives from.
fn parent(text: &str, at: Span) -> Option<Ways> {
    let start = text[..at.range().start].trim_end().strip_suffix('=')?.trim_end().len();
    Some(vec![vec![put(here(start, at.range().end), "")]])
}

/// What a metric is made of.
fn body(text: &str, at: Span) -> Option<Span> {
    let line = at.line_in(text).range();
    let sign = line.start + text[line.clone()].find('=')?;
    let code = text[sign..line.end].split('#').next().unwrap_or_default().trim_end();
    Some(here(sign + 1, sign + code.len())).filter(|s| s.start < s.end)
}

/// One of two declarations that are called alike, with a name of its own.
fn another_name(text: &str, d: &Diagnostic) -> Option<Ways> {
    let (first, _) = d.related.first().filter(|(at, _)| is_here(*at))?;
    let renamed = |at: Span| vec![put(at, &format!("{}_again", &text[at.range()]))];
    Some(vec![renamed(d.span), renamed(*first)])
}

/// The second of two values in a list, with the comma before it.
fn value_twice(text: &str, at: Span) -> Option<Ways> {
    let place = at.range();
    let before = text[..place.start].trim_end();
    let comma = before.strip_suffix(',')?.len();
    let in_list = text[place.end..].trim_start().starts_with([',', ']']);
    in_list.then(|| vec![vec![put(here(comma, place.end), "")]])
}

/// The second of two points of one name, with a name of its own.
fn point_twice(text: &str, at: Span) -> Option<Ways> {
    let place = at.range();
    let is_point = text[..place.start].trim_end().ends_with([',', '{'])
        && text[place.end..].trim_start_matches(' ').starts_with([':', '"']);
    is_point.then(|| vec![vec![put(at, &format!("{}_again", &text[place]))]])
}

/// A flag of an engine with a value that it does not take: without it, and with each of [`values`].
fn a_value(text: &str, d: &Diagnostic) -> Option<Ways> {
    let values = values(text, d)?;
    let place = d.span.range();
    let start = text[..place.start].trim_end_matches(|c: char| !c.is_whitespace()).len();
    let whole = here(start, place.end);
    text[whole.range()].starts_with('-').then_some(())?;
    let with = values.into_iter().map(|value| vec![put(d.span, &value)]);
    Some(std::iter::once(vec![put(whole, "")]).chain(with).collect())
}

/// One of several values of an axis that its flag does not take: with each of [`values`] that is not there yet, or without it.
fn listed_value(text: &str, d: &Diagnostic) -> Option<Ways> {
    let place = d.span.range();
    let open = text[..place.start].rfind(['[', ']', '{', '}'])?;
    let close = place.end + text[place.end..].find(['[', ']', '{', '}'])?;
    (text[..open].ends_with('=') && text[open..].starts_with('[') && text[close..].starts_with(']'))
        .then_some(())?;
    let others: Vec<&str> = text[open + 1..close].split(',').map(str::trim).collect();
    let without = match text[..place.start].trim_end().strip_suffix(',') {
        Some(before) => here(before.len(), place.end),
        None => here(place.start, place.end + text[place.end..close].find(',')? + 1),
    };
    let new = values(text, d)?.into_iter().filter(|v| !others.contains(&v.as_str()));
    let with: Ways = new.map(|value| vec![put(d.span, &value)]).collect();
    Some(if with.is_empty() { vec![vec![put(without, "")]] } else { with })
}

/// Values that a flag takes in the place of one that it does not: the least, one that many are, and the greatest, or the number that stands
/// there beside something else; the first and the last of its choices.
fn values(text: &str, d: &Diagnostic) -> Option<Vec<String>> {
    // a param has one value wherever it stands
    (!text[d.span.range()].contains('{')).then_some(())?;
    let About::NotTaken { takes, .. } = &d.about else { return None };
    let (whole, least, most) = match takes {
        Takes::OneOf(choices) => {
            let ends = choices.first().into_iter().chain(choices.get(1..).and_then(<[_]>::last));
            return Some(ends.cloned().collect());
        }
        Takes::Int { min, max } => (true, (*min)?, *max),
        Takes::Float { min, max } => (false, (*min)?, *max),
        _ => return None,
    };
    let most = most.unwrap_or(1e6);
    let written: String = text[d.span.range()].chars().filter(char::is_ascii_digit).collect();
    let common = whole.then_some(8.0);
    let all = [Some(least.max(1.0).min(most)), common, written.parse().ok(), Some(most)];
    let fit = all.into_iter().flatten().filter(|n| (least..=most).contains(n));
    // each is a reading of the whole text
    let once: IndexSet<String> = fit.map(|n| n.to_string()).collect();
    Some(once.into_iter().collect())
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
