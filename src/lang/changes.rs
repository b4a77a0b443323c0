//! How fixes change a text, where its places are then, and which mistakes of the changed text it had before: a mistake is known by its
//! code and its place, for many say the same.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::Range;

use super::codes::Code;
use super::diag::{Diagnostic, Edit};
use super::source::{FileId, Span};

/// A place before and after it was changed, without what stayed the same at its ends.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    /// which of the fixes made it
    pub(super) fix: usize,
}

/// The changes of fixes that were made together, in the order of the text.
pub(super) type Step = Vec<Change>;

/// What a diagnostic and its fix are known by while the text changes: code, place in the text before all changes, and what is written.
pub(super) type Mark = (Code, Span, Vec<String>);

pub(super) fn mark(d: &Diagnostic, steps: &[Step]) -> Mark {
    (d.code, origin(d.span, steps), d.edits.iter().map(|e| e.text.clone()).collect())
}

/// What an engine refuses of its flags it refuses however they were misspelt: it shows once they are not, and no fix brings it.
pub(super) fn is_refused_anyway(d: &Diagnostic) -> bool {
    d.code == Code::Refused
}

pub(super) fn is_here(span: Span) -> bool {
    span.file == FileId::default()
}

/// The text after fixes that do not overlap, and what they changed.
pub(super) fn mended(text: &str, fixes: &[&Diagnostic]) -> (String, Step) {
    let numbered = fixes.iter().enumerate();
    let mut edits: Vec<(usize, &Edit)> =
        numbered.flat_map(|(n, d)| d.edits.iter().map(move |e| (n, e))).collect();
    edits.sort_by_key(|(_, e)| (e.span.start, e.span.end));
    let (mut out, mut at, mut changes) = (String::with_capacity(text.len()), 0, Vec::new());
    for (n, (fix, edit)) in edits.iter().enumerate() {
        let place = edit.span.range();
        let (Some(kept), Some(was)) = (text.get(at..place.start), text.get(place.clone())) else { continue };
        // what goes at the end of a line takes the spaces around it along, if nothing is written there
        let behind = &text[place.end..];
        let end = place.end + behind.len() - behind.trim_start_matches([' ', '\t']).len();
        let last = edits.get(n + 1).is_none_or(|(_, next)| next.span.start as usize > end);
        let ends = text[end..].is_empty() || text[end..].starts_with(['\n', '\r']);
        let place = if edit.text.is_empty() && !was.trim().is_empty() && ends && last {
            at + kept.trim_end_matches([' ', '\t']).len()..end
        } else {
            place
        };
        let was = &text[place.clone()];
        out.push_str(&text[at..place.start]);
        let (before, behind) = shared(was, &edit.text);
        let new = out.len() + before..out.len() + edit.text.len() - behind;
        changes.push(Change { old: place.start + before..place.end - behind, new, fix: *fix });
        out.push_str(&edit.text);
        at = place.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    (out, changes)
}

/// How many bytes two texts share at the start, and of the rest at the end.
fn shared(a: &str, b: &str) -> (usize, usize) {
    let same = |(x, y): &(u8, u8)| x == y;
    let before = a.bytes().zip(b.bytes()).take_while(same).count();
    let before = a.floor_char_boundary(before).min(b.floor_char_boundary(before));
    let (a, b) = (&a[before..], &b[before..]);
    let behind = a.bytes().rev().zip(b.bytes().rev()).take_while(same).count();
    let whole = |text: &str| text.len() - text.ceil_char_boundary(text.len() - behind);
    (before, whole(a).min(whole(b)))
}

/// Whether two places share something; an empty one is shared by what it stands in or beside.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    if a.is_empty() || b.is_empty() {
        return a.start <= b.end && b.start <= a.end;
    }
    a.start < b.end && b.start < a.end
}

/// Where a place was before a step; of what the step wrote, where it stands, and of what a fix takes elsewhere, where it was taken from.
pub(super) fn before(span: Span, step: &[Change]) -> Span {
    let Range { start, end } = span.range();
    let near = step.partition_point(|c| c.new.start <= start).checked_sub(1).map(|at| &step[at]);
    let put = near.filter(|c| is_here(span) && c.old.is_empty() && start < c.new.end && end <= c.new.end);
    let taken = put.and_then(|put| {
        let same = |c: &&Change| c.fix == put.fix && c.new.is_empty() && c.old.len() == put.new.len();
        Some((put.new.start, step.iter().find(same)?.old.start))
    });
    if let Some((new, old)) = taken {
        let at = |place: usize| place - new + old;
        return Span::new(span.file, at(start)..at(end));
    }
    moved(span, step, |c| &c.new, |c| &c.old)
}

/// Where a place is after a step; of what the step overwrote, where it stood.
pub(super) fn after(span: Span, step: &[Change]) -> Span {
    moved(span, step, |c| &c.old, |c| &c.new)
}

/// Where a place was before all steps, the first of which was made first.
pub(super) fn origin(span: Span, steps: &[Step]) -> Span {
    steps.iter().rev().fold(span, |span, step| before(span, step))
}

/// The same of a place that no step wrote in.
pub(super) fn untouched(span: Span, steps: &[Step]) -> Option<Span> {
    steps.iter().rev().try_fold(span, |at, step| {
        let free = !step.iter().any(|c| overlap(&c.new, &at.range()) || c.new == at.range());
        free.then(|| before(at, step))
    })
}

type Side = fn(&Change) -> &Range<usize>;

fn moved(span: Span, step: &[Change], from: Side, to: Side) -> Span {
    if !is_here(span) {
        return span;
    }
    let Range { start, end } = span.range();
    let first = match step.partition_point(|c| from(c).start <= start).checked_sub(1).map(|at| &step[at]) {
        Some(c) if start < from(c).end => to(c).start,
        Some(c) => to(c).end + (start - from(c).end),
        None => start,
    };
    let last = match step.get(step.partition_point(|c| from(c).end < end)) {
        Some(c) if from(c).start < end => to(c).end,
        Some(c) => to(c).start - (from(c).start - end),
        None => step.last().map_or(end, |c| to(c).end + (end - from(c).end)),
    };
    Span::new(span.file, first..last.max(first))
}

/// All but those that are mended.
pub(super) fn without<'a>(all: &[&'a Diagnostic], mended: &[&Diagnostic]) -> Vec<&'a Diagnostic> {
    let gone: HashSet<*const Diagnostic> = mended.iter().map(|d| std::ptr::from_ref(*d)).collect();
    all.iter().copied().filter(|d| !gone.contains(&std::ptr::from_ref(*d))).collect()
}

/// What was found after some steps and not before them, when `before` was found apart from what they mended.
pub(super) fn news<'a>(
    before: &[&Diagnostic],
    after: &[&'a Diagnostic],
    steps: &[Step],
) -> Vec<&'a Diagnostic> {
    let mut known: Vec<Option<&Diagnostic>> = before.iter().copied().map(Some).collect();
    let places = after.iter().enumerate();
    let mut new: Vec<(usize, &Diagnostic, Span)> =
        places.map(|(n, d)| (n, *d, origin(d.span, steps))).collect();
    // what says the same of the same place first, then what says something else of it
    pair(&mut known, &mut new, |d, at| (d.code, at, d.message.as_str()));
    pair(&mut known, &mut new, |d, at| (d.code, at));
    pair(&mut known, &mut new, |d, at| (d.code, at.file, at.start));
    // then what is told once for many places, and now at another of them, or of the whole of something
    pair(&mut known, &mut new, |d, _| (d.code, d.message.as_str()));
    new.into_iter().map(|(n, ..)| after[n]).collect()
}

/// Takes away what is known and found anew by the same key.
fn pair<'a, K: Hash + Eq>(
    known: &mut [Option<&'a Diagnostic>],
    new: &mut Vec<(usize, &'a Diagnostic, Span)>,
    key: impl Fn(&'a Diagnostic, Span) -> K,
) {
    if new.is_empty() {
        return;
    }
    let mut there: HashMap<K, Vec<usize>> = HashMap::new();
    for (at, d) in known.iter().enumerate().rev() {
        if let Some(d) = d {
            there.entry(key(d, d.span)).or_default().push(at);
        }
    }
    new.retain(|(_, d, place)| match there.get_mut(&key(d, *place)).and_then(Vec::pop) {
        Some(at) => {
            known[at] = None;
            false
        }
        None => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(from: usize, to: usize) -> Span {
        Span::new(FileId::default(), from..to)
    }

    fn change(old: Range<usize>, new: Range<usize>, fix: usize) -> Change {
        Change { old, new, fix }
    }

    #[test]
    fn a_place_moves_with_what_was_written_before_it() {
        let step = [change(2..3, 2..5, 0), change(6..8, 8..8, 1)];
        let back = |from: usize, to: usize| before(at(from, to), &step).range();
        assert_eq!((back(0, 2), back(5, 8), back(8, 10)), (0..2, 3..6, 8..10));
        assert_eq!((back(3, 4), back(0, 9), back(4, 6)), (2..3, 0..9, 2..4));
        let on = |from: usize, to: usize| after(at(from, to), &step).range();
        assert_eq!((on(0, 2), on(3, 6), on(8, 10), on(2, 3)), (0..2, 5..8, 8..10, 2..5));
    }

    #[test]
    fn what_goes_at_the_end_of_a_line_leaves_no_spaces() {
        let without_last = |text: &str| {
            let place = text.rfind("--a").expect("there");
            let place = at(place, place + "--a".len());
            let d = Diagnostic::new(Code::FlagTwice, place, "twice").edit(place, "");
            mended(text, &[&d])
        };
        let (text, step) = without_last("--a   --a\n--b");
        assert_eq!((text.as_str(), before(at(4, 7), &step).range()), ("--a\n--b", 10..13));
        assert_eq!(without_last("--a --a # why").0, "--a  # why");
        assert_eq!(without_last("  --a \n").0, "\n");
    }

    #[test]
    fn only_what_differs_was_changed() {
        assert_eq!(
            (shared("--a 1", "--a=1"), shared("ab", "ab"), shared("aa", "aaa")),
            ((3, 1), (2, 0), (2, 0))
        );
        assert_eq!((shared("é", "è"), shared("xé", "yé"), shared("", "a")), ((0, 0), (0, 2), (0, 0)));
    }

    #[test]
    fn an_empty_place_is_shared_by_what_it_touches() {
        assert!(overlap(&(3..3), &(3..5)) && overlap(&(3..5), &(5..5)) && overlap(&(4..4), &(4..4)));
        assert!(!overlap(&(3..5), &(5..6)) && !overlap(&(2..2), &(3..5)));
    }

    #[test]
    fn a_mistake_is_known_by_its_place_and_not_by_what_it_says() {
        let d = |span: Span, says: &str| Diagnostic::new(Code::Unexpected, span, says);
        // `a` became `bcd`: what says the same further on is another mistake
        let step = vec![change(0..1, 0..3, 0)];
        let (was, same, other) = (d(at(4, 5), "no"), d(at(6, 7), "no, never"), d(at(9, 10), "no"));
        let new = news(&[&was], &[&same, &other], &[step]);
        assert_eq!(new.iter().map(|d| d.span.start).collect::<Vec<_>>(), [9]);
    }
}
