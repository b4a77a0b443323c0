//! What those mistakes hide that no machine can mend: the text is read again in each of the ways in which people may mend them, and what
//! all of these readings find is told, as it is so whichever of them is meant.

mod ways;

use super::changes::{Step, is_here, mended};
use super::codes::Code;
use super::diag::{About, Diagnostic, Edit};
use super::effort::Effort;
use super::fix::apart;
use super::hidden::{fresh, in_place, touches, word_at};
use super::sema::scope::Kind;
use super::source::Span;
use ways::{Ways, may_have, ways};

/// Mistakes of which the ways are looked for, each of which may read the whole text.
const MOST_MISTAKES: usize = 64;

/// Groups of groups that are followed.
const DEEPEST: usize = 4;

/// Whether there may be a mistake that people can mend in ways that are known.
pub(super) fn are_there(found: &[Diagnostic]) -> bool {
    found.iter().any(may_have)
}

/// What is found in a text whichever way its mistakes are mended, where it stands in that text.
pub(super) fn in_any_case(text: &str, found: &[Diagnostic], effort: &Effort<'_>) -> Vec<Diagnostic> {
    let mut left = MOST_MISTAKES;
    let mut ways_of = |d: &Diagnostic| {
        left = left.checked_sub(usize::from(may_have(d)))?;
        may_have(d).then(|| ways(text, d)).flatten()
    };
    let mut open: Vec<Option<Ways>> = found.iter().map(&mut ways_of).collect();
    while open.iter().any(Option::is_some) {
        match each_way(text, found, &open, effort) {
            Reading::Sure(told) => return told,
            Reading::Wrong(at) => at.into_iter().for_each(|n| open[n] = None),
            Reading::Spent => break,
        }
    }
    Vec::new()
}

/// What comes of reading a text in all ways.
enum Reading {
    /// what all of them find
    Sure(Vec<Diagnostic>),
    /// some bring errors into what they write: they are no ways of mending these mistakes
    Wrong(Vec<usize>),
    Spent,
}

fn each_way(text: &str, found: &[Diagnostic], open: &[Option<Ways>], effort: &Effort<'_>) -> Reading {
    let most = open.iter().flatten().map(Vec::len).max().unwrap_or_default();
    let mut readings: Vec<(usize, Vec<Diagnostic>)> = Vec::new();
    // what was taken out in the one way that there is may have been what a rule was for
    let is_meant = |d: &Diagnostic, way: &[Edit]| way.iter().all(|edit| d.suggested.contains(&edit.text));
    let is_sure = found.iter().zip(open).all(|(d, ways)| match ways.as_deref() {
        Some([one]) => is_meant(d, one),
        _ => true,
    });
    for way in 0..most {
        let there: Vec<Diagnostic> =
            found.iter().zip(open).map(|(d, ways)| with_way(d, ways.as_ref(), way)).collect();
        let all: Vec<&Diagnostic> =
            there.iter().zip(open).filter(|(_, ways)| ways.is_some()).map(|(d, _)| d).collect();
        let fixes = apart(&all);
        let (next, step) = mended(text, &fixes);
        let Some(read) = effort.read(&next) else { return Reading::Spent };
        let new = fresh(&there, &fixes, &read, &step);
        let wrong: Vec<usize> = harmful(&next, &fixes, &new, &step)
            .filter_map(|d| there.iter().position(|of| std::ptr::eq(of, d)))
            .collect();
        if !wrong.is_empty() {
            return Reading::Wrong(wrong);
        }
        let is_open = |d: &Diagnostic| fixes.iter().any(|f| leaves_open(text, f, &next, d));
        let is_meant = |d: &Diagnostic| is_told(d) || is_sure && is_of_rules(d);
        let more = new.iter().filter(|d| d.is_error() && !is_meant(d)).count();
        let told = new.into_iter().filter(|d| is_meant(d) && !is_open(d) && !is_of_way(&next, d, &step));
        let told: Vec<Diagnostic> = told.map(|d| in_place(d, std::slice::from_ref(&step))).collect();
        if told.is_empty() && more == 0 {
            return Reading::Sure(told);
        }
        readings.push((more, told));
    }
    Reading::Sure(in_all(readings))
}

/// Whether what is found hangs on a value that no way is sure to say.
fn leaves_open(text: &str, fix: &Diagnostic, next: &str, d: &Diagnostic) -> bool {
    let line = &text[fix.span.line_in(text).range()];
    match (fix.code, d.code) {
        // the second of two values was to be another one
        (Code::DeclaredTwice, Code::Unreachable) => !reads(line, d.span, next) && hangs_on(line, d, next),
        // what is called as nothing is may have been meant to be one of two that are called alike
        (Code::DeclaredTwice, Code::UnknownName) => match fix.about {
            About::Second(kind) => {
                let of_base = kind == Kind::Engine && matches!(d.about, About::MissingBase { .. });
                of_base || d.about.missing_kind() == Some(kind)
            }
            _ => false,
        },
        // which point it was to be, unless it is one of those that are asked for
        (Code::BadFlagValue, Code::UnknownPoint) if fix.suggested.len() < 2 => {
            let axis = text[..fix.span.range().start].rsplit_once("\naxis ").map(|(_, head)| head);
            let name =
                axis.and_then(|head| head.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next());
            matches!(&d.about, About::NoPoint { axis } if name.is_some_and(|name| is_made_of(text, axis, name, DEEPEST)))
        }
        // `when --max-num-seqs == 24`
        (Code::BadFlagValue, Code::SettledGuard) => reads(line, d.span, next),
        _ => false,
    }
}

/// Whether an axis is this one, or a group that has it among its axes.
fn is_made_of(text: &str, axis: &str, of: &str, deepest: usize) -> bool {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let mut declared = text.lines().filter_map(|line| line.strip_prefix("axis ")?.split_once('='));
    let body = declared.find(|(name, _)| name.split(word).find(|w| !w.is_empty()) == Some(axis));
    // a group stands on one line, and a list of values names no axis
    let body = body.map(|(_, body)| body).filter(|body| deepest > 0 && !body.contains(['[', '{']));
    axis == of
        || body.is_some_and(|body| {
            body.split(word).any(|w| w != axis && !w.is_empty() && is_made_of(text, w, of, deepest - 1))
        })
}

/// Whether what excludes something reads a flag that this line sets.
fn hangs_on(line: &str, d: &Diagnostic, text: &str) -> bool {
    d.related.iter().any(|(at, _)| reads(line, *at, text))
}

/// Whether the line of a place names a flag that this line sets.
fn reads(line: &str, at: Span, text: &str) -> bool {
    let word = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let flags: Vec<&str> = line.split(word).filter(|w| w.starts_with('-')).collect();
    is_here(at) && text[at.line_in(text).range()].split(word).any(|w| flags.contains(&w))
}

/// What all readings find. One that brings more errors than another, or more engines that are too large, is nobody's.
fn in_all(readings: Vec<(usize, Vec<Diagnostic>)>) -> Vec<Diagnostic> {
    let fewest = readings.iter().map(|(errors, _)| *errors).min().unwrap_or_default();
    let mut readings: Vec<_> =
        readings.into_iter().filter(|(errors, _)| *errors == fewest).map(|(_, told)| told).collect();
    let too_large = |told: &Vec<Diagnostic>| told.iter().filter(|d| d.code == Code::TooManyGpus).count();
    let least = readings.iter().map(too_large).min().unwrap_or_default();
    readings.retain(|told| too_large(told) == least);
    let mut readings = readings.into_iter();
    let mut sure = readings.next().unwrap_or_default();
    for told in readings {
        // one that lists values lists those of its way too
        let same = |d: &Diagnostic, t: &Diagnostic| {
            (t.code, t.span) == (d.code, d.span) && (t.message == d.message || d.code == Code::NeverBinds)
        };
        sure.retain_mut(|d| {
            // where only one part of a rule never holds, it is the part that never does
            if d.code == Code::NeverFires
                && let Some(part) = told.iter().find(|t| t.message == d.message && holds(d.span, t.span))
            {
                *d = part.clone();
            }
            let of_part = |t: &Diagnostic| {
                d.code == Code::NeverFires && t.message == d.message && holds(t.span, d.span)
            };
            told.iter().any(|t| same(d, t) || of_part(t))
        });
    }
    sure
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
}

/// A mistake with the edits of one of its ways, its last one where there are fewer.
fn with_way(d: &Diagnostic, ways: Option<&Ways>, way: usize) -> Diagnostic {
    let edits = ways.and_then(|ways| ways.get(way).or(ways.last())).cloned();
    Diagnostic { edits: edits.unwrap_or_default(), ..d.clone() }
}

/// The mistakes whose way brings an error into the line that it changes.
fn harmful<'a>(
    text: &'a str,
    fixes: &'a [&'a Diagnostic],
    new: &'a [&'a Diagnostic],
    step: &'a Step,
) -> impl Iterator<Item = &'a Diagnostic> {
    let lines = step.iter().map(|c| (c, whole_lines(text, &c.new)));
    let harmed =
        lines.filter(|(_, lines)| new.iter().any(|d| d.is_error() && !is_told(d) && touches(d, lines)));
    harmed.map(|(c, _)| fixes[c.fix])
}

fn whole_lines(text: &str, place: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let start = text[..place.start].rfind('\n').map_or(0, |n| n + 1);
    start..text[place.end..].find('\n').map_or(text.len(), |n| place.end + n)
}

/// Whether it is about what a way wrote, or what is left of it. That a flag is set twice is so whatever it is set to.
fn is_of_way(text: &str, d: &Diagnostic, step: &Step) -> bool {
    let around = |at: usize| {
        let holds = |s: Span| is_here(s) && (s.range().start + 1..s.range().end).contains(&at);
        holds(d.span) || d.related.iter().any(|(s, _)| holds(*s))
    };
    // of each value by itself
    if d.code == Code::NeverBinds {
        return step.iter().any(|c| c.new.contains(&d.span.range().start));
    }
    // `vary shards, seqs`: whose flags these are hangs on the line
    let of_line = matches!(d.code, Code::UnknownFlag | Code::FlagVersion);
    let written = |new: &std::ops::Range<usize>| {
        touches(d, &if of_line { whole_lines(text, new) } else { word_at(text, new) })
    };
    d.code != Code::FlagTwice
        && step.iter().any(|c| if c.new.is_empty() { around(c.new.start) } else { written(&c.new) })
}

/// What is doubted of rules. Of what was taken out in one way alone one may have been about.
fn is_of_rules(d: &Diagnostic) -> bool {
    matches!(d.code, Code::NeverFires | Code::AlwaysFires)
}

/// What stands where it is told of, whatever else is mended. That something is used nowhere may be so because of what was taken out.
fn is_told(d: &Diagnostic) -> bool {
    matches!(
        d.code,
        Code::Unreachable
            | Code::SettledGuard
            | Code::SameTwice
            | Code::FewRequests
            | Code::NeverBinds
            | Code::Overruled
            | Code::UnsetNothing
            | Code::UnknownName
            | Code::UnknownPoint
            | Code::UnknownFlag
            | Code::FlagVersion
            | Code::FlagTwice
            | Code::TooManyGpus
            | Code::BadFlagValue
            | Code::GpusUnstated
            | Code::WrongLoad
            | Code::TooLong
    )
}
