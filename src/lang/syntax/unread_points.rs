//! An axis with points that cannot be read: the others are read without them, so that what is wrong with those is told too.

use std::ops::Range;

use super::ast::Item;
use super::lexical::{self, Piece, Scanner};
use super::points::stands_before_title;
use super::reread::reread;
use super::title_first;
use crate::lang::diag::{Diagnostic, Edit, Sink};
use crate::lang::source::FileId;

/// Points that are explained one by one; whoever has more of them misread the whole.
const MOST: usize = 16;

/// The axis without those of its points that cannot be read, of which the first is known. Each is told.
pub(super) fn other_points(
    id: FileId,
    text: &str,
    base: usize,
    first: Diagnostic,
    sink: &mut Sink,
    broken: &mut Vec<String>,
) -> Option<Item> {
    let (mut found, mut rest) = (first, text.to_owned());
    for _ in 0..MOST {
        let place = (found.span.start as usize).checked_sub(base).and_then(|at| unread_point(&rest, at));
        let beyond = |at: u32| {
            !place.as_ref().is_some_and(|p| (base + p.start..=base + p.end).contains(&(at as usize)))
        };
        let mends_more = found.edits.iter().any(|e| beyond(e.span.start) || beyond(e.span.end));
        let commas =
            !found.edits.is_empty() && found.edits.iter().all(|e| matches!(e.text.as_str(), "," | ""));
        // of points that are all written otherwise one is told
        let whole = found.edits.iter().any(|e| writes_all(e, &rest, base));
        sink.push(found);
        if whole || sink.is_full() {
            return None;
        }
        let signs = if mends_more || commas { with_their_signs(&rest) } else { None };
        rest = match (signs, place) {
            (Some(mended), _) => mended,
            (None, Some(place)) if !mends_more => without_point(&rest, place)?,
            _ => return None,
        };
        if let Some(item) = reread(id, &rest, base, sink, broken) {
            return Some(item);
        }
        found = lexical::mistake(id, base, &rest).unwrap_or_else(|| title_first::or_by_rule(id, &rest, base));
        // what was left out is not to be written
        found.help = found.help.map(|help| without_gaps(&help));
    }
    None
}

/// Whether an edit takes the place of all points.
fn writes_all(edit: &Edit, text: &str, base: usize) -> bool {
    let range = edit.span.range();
    let place = range.start.checked_sub(base).zip(range.end.checked_sub(base));
    place.and_then(|(from, to)| text.get(from..to)).is_some_and(|t| t.starts_with('{') && t.ends_with('}'))
}

fn without_gaps(text: &str) -> String {
    let parts = text.split("   ").map(str::trim).filter(|part| !part.is_empty());
    if text.contains("   ") { parts.collect::<Vec<_>>().join(" … ") } else { text.to_owned() }
}

/// Where the point stands that holds a byte of an axis, with the comma that goes with it; `None` if that is in no point, or there is no
/// other.
fn unread_point(text: &str, at: usize) -> Option<Range<usize>> {
    let points = points(text)?;
    let lost = points.iter().position(|p| p.contains(&at))?;
    let said = |p: &Range<usize>| !text[p.clone()].trim_matches([',', ' ', '\t', '\r', '\n']).is_empty();
    if points.iter().filter(|p| said(p)).count() < 2 {
        return None;
    }
    let mut place = points[lost].clone();
    // the last point goes with the comma before it
    if !text[place.clone()].ends_with(',') && lost > 0 {
        place.start -= 1;
    }
    Some(place)
}

/// The axis with spaces in that place, all else in its own.
fn without_point(text: &str, place: Range<usize>) -> Option<String> {
    let blank = text.get(place.clone())?.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' });
    Some(format!("{}{}{}", &text[..place.start], blank.collect::<String>(), &text[place.end..]))
}

/// The axis with the signs that its points should have, all else in its place: `;` and nothing read as a comma, `=` as a colon.
fn with_their_signs(text: &str) -> Option<String> {
    let points = points(text)?;
    let (start, end) = (points.first()?.start, points.last()?.end);
    let mut bytes = text.as_bytes().to_vec();
    let (mut depth, mut colon, mut gap) = (0_usize, false, None);
    for (at, piece) in Scanner::new(&text[start..end]).map(|(at, piece)| (start + at, piece)) {
        let byte = text.as_bytes()[at];
        match piece {
            Piece::Open(_) => depth += 1,
            Piece::Close(_) => depth = depth.saturating_sub(1),
            Piece::Other if depth > 0 => {}
            Piece::Other if matches!(byte, b',' | b';') => {
                bytes[at] = b',';
                (colon, gap) = (false, None);
            }
            Piece::Other if byte == b'=' && !colon && stands_before_title(&text[at + 1..]) => {
                bytes[at] = b' ';
            }
            Piece::Other if byte == b'=' && !colon => {
                bytes[at] = b':';
                colon = true;
            }
            Piece::Other if byte == b':' && text[at + 1..].starts_with(char::is_whitespace) => {
                if let (true, Some(gap)) = (colon, gap) {
                    bytes[gap] = b',';
                }
                colon = true;
            }
            // before the last word, which may be a name
            Piece::Other if byte.is_ascii_lowercase() && text[..at].ends_with([' ', '\n']) => {
                gap = Some(at - 1);
            }
            _ => {}
        }
    }
    String::from_utf8(bytes).ok().filter(|mended| mended != text)
}

/// Where the points of an axis stand, each with the comma behind it.
fn points(text: &str) -> Option<Vec<Range<usize>>> {
    let sign = |(at, piece): &(usize, Piece)| *piece == Piece::Other && text.as_bytes()[*at] == b'=';
    let open = Scanner::new(text).find(sign)?.0 + 1;
    let open = open
        + text[open..].find(|c: char| !c.is_whitespace()).filter(|n| text[open + n..].starts_with('{'))?;
    let (mut depth, mut start, mut found) = (0_usize, open + 1, Vec::new());
    for (at, piece) in Scanner::new(&text[open..]).map(|(at, piece)| (open + at, piece)) {
        match piece {
            Piece::Open(_) => depth += 1,
            Piece::Close(_) if depth == 1 => {
                found.push(start..at);
                return Some(found);
            }
            Piece::Close(_) => depth -= 1,
            Piece::Other if depth == 1 && text.as_bytes()[at] == b',' => {
                found.push(start..at + 1);
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_put_in_the_place_of_others() {
        let mended = |text: &str| with_their_signs(text).expect("another text");
        assert_eq!(
            mended("axis q = { a = --b=1; c = --d={\"e\": 1} }"),
            "axis q = { a : --b=1, c : --d={\"e\": 1} }"
        );
        assert_eq!(mended("axis q = { a: --b=1 c: --d=2 }"), "axis q = { a: --b=1,c: --d=2 }");
        assert_eq!(with_their_signs("axis q = { a: --b=1, c: --d=e:f }"), None);
    }

    #[test]
    fn a_point_goes_with_one_comma() {
        let without = |text: &str, word: &str| {
            let place = unread_point(text, text.find(word).expect("in the text"))?;
            without_point(text, place)
        };
        let text = "axis q = { a: modl \"x\", b: --c={\"d\": 1, \"e\": 2}, f: --g }";
        let right = |part: &str| Some(text.replacen(part, &" ".repeat(part.len()), 1));
        assert_eq!(without(text, "modl"), right(" a: modl \"x\","));
        assert_eq!(without(text, "\"e\""), right(" b: --c={\"d\": 1, \"e\": 2},"));
        assert_eq!(without(text, "--g"), right(", f: --g "));
        assert_eq!(without(text, "axis"), None);
        assert_eq!(without("axis q = { a: modl \"x\", }", "modl"), None);
        assert_eq!(without("axis q = --a=[1, 2]", "2"), None);
    }
}
