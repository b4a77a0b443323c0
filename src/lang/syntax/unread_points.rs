//! An axis with points that cannot be read: the others are read without them, so that what is wrong with those is told too.

use std::ops::Range;

use super::lexical::{Piece, Scanner};

/// Where the point stands that holds a byte of an axis, with the comma that goes with it; `None` if that is in no point, or there is no
/// other.
pub(super) fn unread_point(text: &str, at: usize) -> Option<Range<usize>> {
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
pub(super) fn without_point(text: &str, place: Range<usize>) -> Option<String> {
    let blank = text.get(place.clone())?.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' });
    Some(format!("{}{}{}", &text[..place.start], blank.collect::<String>(), &text[place.end..]))
}

/// Where the points of an axis stand, each with the comma behind it.
fn points(text: &str) -> Option<Vec<Range<usize>>> {
    let open = text.find('=')? + 1;
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
    fn a_point_goes_with_one_comma() {
        let without = |text: &str, word: &str| {
            let place = unread_point(text, text.find(word).expect("in the text"))?;
            without_point(text, place)
        };
        let text = "axis q = { a: modl \"x\", b: --c={\"d\": 1, \"e\": 2}, f: --g }";
        let right = |s: &str| Some(s.to_owned());
        assert_eq!(
            without(text, "modl"),
            right("axis q = {               b: --c={\"d\": 1, \"e\": 2}, f: --g }")
        );
        assert_eq!(
            without(text, "\"e\""),
            right("axis q = { a: modl \"x\",                            f: --g }")
        );
        assert_eq!(
            without(text, "--g"),
            right("axis q = { a: modl \"x\", b: --c={\"d\": 1, \"e\": 2}        }")
        );
        assert_eq!(without(text, "axis"), None);
        assert_eq!(without("axis q = { a: modl \"x\", }", "modl"), None);
        assert_eq!(without("axis q = --a=[1, 2]", "2"), None);
    }
}
