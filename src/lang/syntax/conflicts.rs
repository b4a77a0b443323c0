//! Conflicts that a merge left in a file: each is told once, and the file is read with one side of it, so that the other one is no further
//! mistake.

use std::borrow::Cow;
use std::ops::Range;

use super::blocks::first_word;
use super::{imports, recover, words};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The text with one side of each conflict, everything else in its place. What the other sides declare is added to `lost`.
pub fn settled<'t>(
    id: FileId,
    text: &'t str,
    sink: &mut Sink,
    lost: &mut impl Extend<String>,
) -> Cow<'t, str> {
    let markers = markers(text);
    let mut mended = Cow::Borrowed(text);
    let mut at = 0;
    while let Some(marker) = markers.get(at) {
        let conflict = Conflict::of(&markers[at..]);
        let (d, gone) = match &conflict {
            Some(conflict) => (conflict.diagnostic(id), conflict.gone(text)),
            None => (alone(id, text, marker, markers.len() == 1), vec![marker.line.clone()]),
        };
        sink.push(d);
        for place in gone {
            lost.extend(text[place.clone()].lines().flat_map(declared));
            let blank =
                text[place.clone()].bytes().map(|b| if matches!(b, b'\n' | b'\r') { b } else { b' ' });
            let blank = String::from_utf8(blank.collect()).unwrap_or_default();
            mended.to_mut().replace_range(place, &blank);
        }
        at += conflict.map_or(1, |c| c.markers);
    }
    mended
}

/// A line that a merge wrote.
struct Marker {
    sign: u8,
    /// without its line end
    line: Range<usize>,
}

fn markers(text: &str) -> Vec<Marker> {
    const SIGNS: [(&str, u8); 4] =
        [("<<<<<<<", b'<'), ("|||||||", b'|'), ("=======", b'='), (">>>>>>>", b'>')];
    let lines =
        text.split_inclusive('\n').scan(0, |at, line| Some((std::mem::replace(at, *at + line.len()), line)));
    let marker = |(at, line): (usize, &str)| {
        let line = line.trim_end();
        let (rest, sign) = SIGNS.iter().find_map(|(sign, byte)| Some((line.strip_prefix(sign)?, *byte)))?;
        (rest.is_empty() || rest.starts_with(' ')).then_some(Marker { sign, line: at..at + line.len() })
    };
    lines.filter_map(marker).collect()
}

/// Two sides of what a merge could not bring together.
struct Conflict {
    begins: Range<usize>,
    /// where the first side ends: with what both were made of, where that is written too, or with the second one
    middle: Range<usize>,
    second: Range<usize>,
    ends: Range<usize>,
    /// how many lines of it the merge wrote
    markers: usize,
}

impl Conflict {
    fn of(markers: &[Marker]) -> Option<Self> {
        let signs: Vec<u8> = markers.iter().take(4).map(|m| m.sign).collect();
        let line = |n: usize| markers[n].line.clone();
        let (middle, second, ends) = match signs.as_slice() {
            [b'<', b'=', b'>', ..] => (1, 1, 2),
            [b'<', b'|', b'=', b'>'] => (1, 2, 3),
            _ => return None,
        };
        let (begins, middle, second) = (line(0), line(middle), line(second));
        Some(Self { begins, middle, second, ends: line(ends), markers: ends + 1 })
    }

    fn diagnostic(&self, id: FileId) -> Diagnostic {
        let at = |place: &Range<usize>| Span::new(id, place.clone());
        Diagnostic::new(Code::Unexpected, at(&self.begins), "a merge left a conflict here")
            .about(About::Conflict)
            .label("one side of it")
            .related(at(&self.second), "the other side")
            .related(at(&self.ends), "its end")
            .help("keep one of the two sides, or what is right of both, and remove the lines of `<`, `=` and `>`")
    }

    /// What is not read: one side of the two, with nothing in the other that would be read instead of it.
    fn gone(&self, text: &str) -> Vec<Range<usize>> {
        let first_is_empty = text[self.begins.end..self.middle.start].trim().is_empty();
        if first_is_empty {
            vec![self.begins.start..self.second.end, self.ends.clone()]
        } else {
            vec![self.begins.clone(), self.middle.start..self.ends.end]
        }
    }
}

/// A line of a conflict whose other lines are gone.
fn alone(id: FileId, text: &str, marker: &Marker, is_only: bool) -> Diagnostic {
    let span = Span::new(id, marker.line.clone());
    let d = Diagnostic::new(Code::Unexpected, span, "a merge left this line").label("a part of a conflict");
    let d = d.help("remove it, and what is not to stay of the lines around it");
    // of several, one side may be there that is not to stay
    let end = text[marker.line.end..].find('\n').map_or(text.len(), |n| marker.line.end + n + 1);
    if is_only { d.edit(Span::new(id, marker.line.start..end), "") } else { d }
}

/// The names that a line declares.
fn declared(line: &str) -> Vec<String> {
    let line = line.trim_start();
    match first_word(line) {
        "use" => imports::names(line),
        "step" | "track" => recover::declared_name(line).collect(),
        word if words::DECLARATIONS.contains(&word) => recover::declared_name(line).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Vec<String>, usize) {
        let (mut sink, mut lost) = (Sink::default(), Vec::new());
        let mended = settled(FileId::default(), text, &mut sink, &mut lost).into_owned();
        assert_eq!(mended.len(), text.len());
        let lines: Vec<&str> = mended.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
        (lines.join("\n"), lost, sink.count())
    }

    #[test]
    fn one_side_of_a_conflict_is_read() {
        let two = "a\n<<<<<<< HEAD\nparam b = 1\n=======\nparam c = 1\n>>>>>>> x\nd\n";
        assert_eq!(read(two), ("a\nparam b = 1\nd".to_owned(), vec!["c".to_owned()], 1));
        let three = "<<<<<<< HEAD\nb\n||||||| base\no\n=======\nc\n>>>>>>> x\r\nd\n";
        assert_eq!(read(three), ("b\nd".to_owned(), vec![], 1));
        let removed = "<<<<<<< HEAD\n=======\nc\n>>>>>>> x\n<<<<<<< HEAD\ne\n=======\n>>>>>>> x\n";
        assert_eq!(read(removed), ("c\ne".to_owned(), vec![], 2));
    }

    #[test]
    fn lines_without_the_others_are_told_one_by_one() {
        assert_eq!(read("a\n=======\nc\n>>>>>>> x\n"), ("a\nc".to_owned(), vec![], 2));
        assert_eq!(
            read("<<<<<<<<\n <<<<<<<\n=======x\n"),
            ("<<<<<<<<\n <<<<<<<\n=======x".to_owned(), vec![], 0)
        );
    }
}
