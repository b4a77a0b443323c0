//! What mistakes hide: the text is read again as it would be with those mended that a machine can mend, and what is found only then is told
//! too, in the place where it stands now.

use std::ops::Range;

use super::analyze::Analysis;
use super::codes::Code;
use super::diag::{self, Diagnostic, Edit, Severity};
use super::fix::{apart, fix_of, news};
use super::source::{FileId, Span};

/// Each reading shows what those mended in it have hidden; few hide more than one below the other.
const MOST_READINGS: usize = 12;

/// Adds what those mistakes hide that a machine can mend. A fix that brings errors into what it writes is no mending, nor is a guess that
/// brings them into the word that it changes: they are left alone.
pub fn reveal(text: &str, found: &mut Vec<Diagnostic>, analyze: &dyn Fn(&str) -> Analysis) {
    let (mut now, mut there) = (text.to_owned(), found.clone());
    // how the text became what is read now, the first change first
    let mut changes: Vec<Vec<Change>> = Vec::new();
    let mut wrong: Vec<(Code, String)> = Vec::new();
    for _ in 0..MOST_READINGS {
        let open = |d: &&Diagnostic| d.is_error() && fix_of(d).is_some() && !wrong.contains(&key(d));
        let fixes = apart(&there.iter().filter(open).collect::<Vec<_>>());
        // where not all are listed, those that move up were not hidden
        if fixes.is_empty() || there.iter().any(|d| d.code == Code::TooMany) {
            break;
        }
        let (next, step) = mended(&now, &fixes);
        let read = analyze(&next).diagnostics;
        let new = news(&there, &read);
        let place_of = |c: &Change| match fixes[c.fix] {
            d if is_guess(d) => word_at(&next, &c.new),
            d if renames(d) || sets_apart(d) => words_beside(&next, &c.new),
            _ => c.new.clone(),
        };
        let touches = |d: &Diagnostic, c: &Change| {
            let places = d.related.iter().map(|(at, _)| *at).chain([d.span]);
            places.filter(|at| is_here(*at)).any(|at| overlap(&at.range(), &place_of(c)))
        };
        let harms = |c: &&Change| new.iter().any(|d| d.is_error() && touches(d, c));
        let harmful: Vec<_> = step.iter().filter(harms).map(|c| key(fixes[c.fix])).collect();
        if !harmful.is_empty() {
            wrong.extend(harmful);
            continue;
        }
        let unsure = |d: &Diagnostic| is_guess(d) || sets_apart(d);
        let guessed = |d: &Diagnostic| step.iter().any(|c| unsure(fixes[c.fix]) && touches(d, c));
        let told: Vec<_> =
            new.into_iter().filter(|d| d.severity() != Severity::Note && !guessed(d)).collect();
        changes.push(step);
        for d in told {
            let d = in_place(d, &changes);
            if !found.iter().any(|o| o.code == d.code && o.span == d.span) {
                found.push(d);
            }
        }
        (now, there) = (next, read);
    }
    forget_doubts(found, &there, &changes);
    diag::sort(found);
}

/// Takes back doubts that are none where what was mended is right: they followed from it.
fn forget_doubts(found: &mut Vec<Diagnostic>, last: &[Diagnostic], changes: &[Vec<Change>]) {
    let doubts = last.iter().filter(|d| d.severity() == Severity::Warning);
    let stay: Vec<Diagnostic> = doubts.map(|d| in_place(d, changes)).collect();
    let stays = |d: &Diagnostic| {
        stay.iter().any(|s| s.code == d.code && (s.span == d.span || s.message == d.message))
    };
    found.retain(|d| changes.is_empty() || d.severity() != Severity::Warning || !is_here(d.span) || stays(d));
}

fn key(d: &Diagnostic) -> (Code, String) {
    (d.code, d.message.clone())
}

fn is_here(span: Span) -> bool {
    span.file == FileId::default()
}

/// Whether what was meant is only near to what is written.
fn is_guess(d: &Diagnostic) -> bool {
    d.label.starts_with("did you mean")
}

/// Whether a word is written in the place of another, behind which something else may have to stand.
fn renames(d: &Diagnostic) -> bool {
    d.edits.iter().all(|e| e.text.trim().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

/// Whether words are set apart or put together, or a bracket between them, of which one may not belong there at all.
fn sets_apart(d: &Diagnostic) -> bool {
    d.edits.iter().all(|e| e.text.trim().bytes().all(|b| b",{}[]()".contains(&b)))
}

/// A place before and after it was changed, without what stayed the same at its ends.
#[derive(Debug)]
pub(super) struct Change {
    old: Range<usize>,
    new: Range<usize>,
    /// which of the fixes made it
    fix: usize,
}

/// The text after fixes that do not overlap, and what they changed.
pub(super) fn mended(text: &str, fixes: &[&Diagnostic]) -> (String, Vec<Change>) {
    let numbered = fixes.iter().enumerate();
    let mut edits: Vec<(usize, &Edit)> =
        numbered.flat_map(|(n, d)| d.edits.iter().map(move |e| (n, e))).collect();
    edits.sort_by_key(|(_, e)| (e.span.start, e.span.end));
    let (mut out, mut at, mut changes) = (String::with_capacity(text.len()), 0, Vec::new());
    for (fix, edit) in edits {
        let place = edit.span.range();
        let (Some(kept), Some(was)) = (text.get(at..place.start), text.get(place.clone())) else { continue };
        out.push_str(kept);
        let (before, behind) = shared(was, &edit.text);
        let new = out.len() + before..out.len() + edit.text.len() - behind;
        changes.push(Change { old: place.start + before..place.end - behind, new, fix });
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

/// What stands between the spaces around a place.
fn word_at(text: &str, place: &Range<usize>) -> Range<usize> {
    let start = text[..place.start].rfind(char::is_whitespace).map_or(0, |n| n + 1);
    let end = text[place.end..].find(char::is_whitespace).map_or(text.len(), |n| place.end + n);
    start..end
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The words before and behind a place, also where spaces stand between.
fn words_beside(text: &str, place: &Range<usize>) -> Range<usize> {
    let before = text[..place.start].trim_end().len();
    let behind = text.len() - text[place.end..].trim_start().len();
    word_at(text, &(before..behind))
}

/// What was found in a changed text, where it stands in the one before all changes.
fn in_place(d: &Diagnostic, changes: &[Vec<Change>]) -> Diagnostic {
    let back = |span: Span| changes.iter().rev().fold(span, |span, step| before(span, step));
    let untouched = |span: Span| {
        let mut at = span;
        changes.iter().rev().all(|step| {
            let free = !step.iter().any(|c| overlap(&c.new, &at.range()) || c.new == at.range());
            at = before(at, step);
            free
        })
    };
    let mut d = d.clone();
    // what would be changed there was changed already
    if !d.edits.iter().all(|e| !is_here(e.span) || untouched(e.span)) {
        d.edits.clear();
    }
    d.edits.iter_mut().for_each(|e| e.span = back(e.span));
    d.related.iter_mut().for_each(|(span, _)| *span = back(*span));
    d.span = back(d.span);
    d
}

/// Where a place was before a step; of what the step wrote, where it stands.
fn before(span: Span, step: &[Change]) -> Span {
    if !is_here(span) {
        return span;
    }
    let Range { start, end } = span.range();
    let from = match step.iter().rev().find(|c| c.new.start <= start) {
        Some(c) if start < c.new.end => c.old.start,
        Some(c) => c.old.end + (start - c.new.end),
        None => start,
    };
    let to = match step.iter().find(|c| end <= c.new.end) {
        Some(c) if c.new.start < end => c.old.end,
        Some(c) => c.old.start - (c.new.start - end),
        None => step.last().map_or(end, |c| c.old.end + (end - c.new.end)),
    };
    Span::new(span.file, from..to.max(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::analyze;
    use crate::lang::source::NoFiles;

    /// Code and text of all that is found, in order.
    fn told(text: &str) -> Vec<(&'static str, &str)> {
        let analyze = |t: &str| analyze(&NoFiles, "test.plab", t);
        let mut found = analyze(text).diagnostics;
        reveal(text, &mut found, &analyze);
        found.iter().map(|d| (d.code.id(), &text[d.span.range()])).collect()
    }

    #[test]
    fn what_a_mended_mistake_hid_stands_in_its_place() {
        let text =
            "use std/engines { sim }\nengin a = sim {\n    --max-num-seqs 16 --foo=1\n}\nstudi s \"S {\n}\n";
        assert_eq!(
            told(text),
            [
                ("E101", "engin"),
                ("E106", "--max-num-seqs 16"),
                ("E301", "--foo"),
                ("E101", "studi"),
                ("E501", "s"),
                ("E105", "\"S {")
            ]
        );
    }

    #[test]
    fn a_place_moves_with_what_was_written_before_it() {
        let step = [Change { old: 2..3, new: 2..5, fix: 0 }, Change { old: 6..8, new: 8..8, fix: 1 }];
        let at = |from: usize, to: usize| before(Span::new(FileId::default(), from..to), &step).range();
        assert_eq!((at(0, 2), at(5, 8), at(8, 10)), (0..2, 3..6, 8..10));
        assert_eq!((at(3, 4), at(0, 9), at(4, 6)), (2..3, 0..9, 2..4));
    }

    #[test]
    fn only_what_differs_was_changed() {
        assert_eq!(
            (shared("--a 1", "--a=1"), shared("ab", "ab"), shared("aa", "aaa")),
            ((3, 1), (2, 0), (2, 0))
        );
        assert_eq!((shared("é", "è"), shared("xé", "yé"), shared("", "a")), ((0, 0), (0, 2), (0, 0)));
    }
}
