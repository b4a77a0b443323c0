//! Points as a list of YAML, each on a line that a dash begins: the first dash gives way to a space and the others to the commas that stand
//! between points, so that the points are read.

use std::ops::Range;

use super::blocks::first_word;
use super::twice::{blank, lines};
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The text with such points separated by commas, all else in its place; each axis is told once.
pub(super) fn with_commas(id: FileId, text: &mut String, sink: &mut Sink) {
    let lines = lines(text);
    let mut at = 0;
    while at < lines.len() {
        let points = points(text, &lines[at..]);
        if !points.is_empty() {
            sink.push(told(id, &points));
            for (n, point) in points.iter().enumerate() {
                blank(text, point.dash.clone());
                if let Some(brace) = point.brace.clone() {
                    blank(text, brace);
                }
                if let Some((open, close)) = point.brackets {
                    text.replace_range(open..=open, "{");
                    text.replace_range(close..=close, "}");
                }
                if n > 0 && point.lacks_comma {
                    text.replace_range(point.dash.start..=point.dash.start, ",");
                }
            }
        }
        at += points.len() + 1;
    }
}

/// A point behind a dash.
struct Dashed {
    /// the dash and the spaces behind it, and a brace in which the point stands
    dash: Range<usize>,
    /// where that brace is closed, with the space before it
    brace: Option<Range<usize>>,
    /// where the point before it ends
    above: usize,
    /// whether no comma stands there
    lacks_comma: bool,
    /// of the last one: the square brackets that stand around all of them
    brackets: Option<(usize, usize)>,
}

/// The points behind dashes of the axis that begins on the first of some lines, if nothing else stands in it but points.
fn points(text: &str, lines: &[Range<usize>]) -> Vec<Dashed> {
    let code = |line: &Range<usize>| {
        let written = &text[line.clone()];
        written[..start_of_comment(written).unwrap_or(written.len())].trim_end()
    };
    let Some((head, body)) = lines.split_first() else { return Vec::new() };
    let begins = code(head).strip_suffix(['{', '[']).is_some_and(|head| head.trim_end().ends_with('='));
    if !begins || first_word(&text[head.clone()]) != "axis" {
        return Vec::new();
    }
    let mut found: Vec<Dashed> = Vec::new();
    let mut above = head.start + code(head).len();
    for line in body {
        let written = code(line);
        let point = written.trim_start();
        if point.is_empty() {
            continue;
        }
        if let Some(last) = found.last_mut().filter(|_| point.starts_with(['}', ']'])) {
            let open = head.start + code(head).len() - 1;
            last.brackets =
                text[open..].starts_with('[').then_some((open, line.start + written.len() - point.len()));
            return found;
        }
        let start = line.start + written.len() - point.len();
        let Some(rest) = point.strip_prefix("- ").map(str::trim_start) else {
            if !is_point(point) {
                break;
            }
            above = line.start + written.len();
            continue;
        };
        let inner = rest.strip_prefix('{').map_or(rest, str::trim_start);
        if !is_point(inner) {
            break;
        }
        let dash = start..start + point.len() - inner.len();
        let end = line.start + written.len();
        let brace = inner.strip_suffix('}').map(|p| end - inner.len() + p.trim_end().len()..end);
        let brace = brace.filter(|_| inner.len() < rest.len());
        if brace.is_none() && inner.len() < rest.len() {
            break;
        }
        found.push(Dashed { dash, brace, above, lacks_comma: !text[..above].ends_with(','), brackets: None });
        above = line.start + written.len();
    }
    Vec::new()
}

/// `two: --flag=1`, `two "Two": --flag=1`
fn is_point(text: &str) -> bool {
    let name = first_word(text);
    let rest = text[name.len()..].trim_start();
    name.starts_with(|c: char| c.is_ascii_lowercase()) && rest.starts_with([':', '"'])
}

fn told(id: FileId, points: &[Dashed]) -> Diagnostic {
    let span = |place: Range<usize>| Span::new(id, place);
    let first = span(points[0].dash.start..points[0].dash.start + 1);
    let d = Diagnostic::new(Code::Unexpected, first, "`-` was not expected here").label("one too many");
    let d = d.help(match points.len() {
        1 => "a point needs no `-` in front: remove it",
        _ => "points need no `-` in front; commas stand between them",
    });
    points.iter().enumerate().fold(d, |d, (n, point)| {
        let d = d.edit(span(point.dash.clone()), "");
        let d = point.brace.iter().fold(d, |d, end| d.edit(span(end.clone()), ""));
        let d = point
            .brackets
            .into_iter()
            .fold(d, |d, (open, close)| d.edit(span(open..open + 1), "{").edit(span(close..close + 1), "}"));
        if n > 0 && point.lacks_comma { d.edit(span(point.above..point.above), ",") } else { d }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_give_way_to_commas() {
        let right = |text: &str| {
            let (mut mended, mut sink) = (text.to_owned(), Sink::default());
            with_commas(FileId::default(), &mut mended, &mut sink);
            (mended, sink.found().count())
        };
        assert_eq!(
            right("axis a = {\n  - b: --x=1   # one\n  - c \"C\": --x=2,\n  - d: --y\n}\n"),
            ("axis a = {\n    b: --x=1   # one\n  , c \"C\": --x=2,\n    d: --y\n}\n".to_owned(), 1)
        );
        // that a comma is missing too is another mistake
        assert_eq!(
            right("axis a = {\n  - b: --x=1\n  c: --y,\n  - d: --z\n}\n"),
            ("axis a = {\n    b: --x=1\n  c: --y,\n    d: --z\n}\n".to_owned(), 1)
        );
        for text in ["axis a = {\n  - --x\n}\n", "axis a = {\n  - b: --x\n"] {
            assert_eq!(right(text), (text.to_owned(), 0));
        }
    }
}
