//! A quote or an opening bracket that the JSON of a line lacks: it is put back before any braces are counted, for what stands in a text that
//! does not end closes nothing, and a brace that is not opened ends the block around it.

use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::blocks::first_word;
use super::lexical::{Piece, Scanner};
use super::twice::lines;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Expected, Sink};
use crate::lang::source::{FileId, Span};

/// Nobody writes longer ones on one line, and a machine's need no such help.
const LONGEST_LINE: usize = 400;
/// Lines that are tried.
const MOST: usize = 40;
/// What may be missing.
const SIGNS: [char; 3] = ['"', '{', '['];

/// The text with those signs, each in the room of a space of its line; `None` where none is missing.
pub(super) fn whole(id: FileId, text: &str, sink: &mut Sink) -> Option<String> {
    let (mut right, mut left) = (text.to_owned(), MOST);
    for place in lines(text) {
        let line = &text[place.clone()];
        if line.len() >= LONGEST_LINE || left == 0 {
            continue;
        }
        if let Some((start, at)) = torn_title(line)
            && let Some(mended) = in_room(line, start, at, '"')
        {
            sink.push(told(id, line, place.start, at, '"'));
            right.replace_range(place, &mended);
            left -= 1;
            continue;
        }
        if let Some(at) = lost_brace(line)
            && let Some(mended) = in_room(line, at, at, '{')
        {
            sink.push(told(id, line, place.start, at, '{'));
            right.replace_range(place, &mended);
            left -= 1;
            continue;
        }
        let torn = || begins(line).into_iter().find(|start| object(&line[*start..]).is_none());
        let Some(start) = torn() else { continue };
        left -= 1;
        if let Some(at) = line.find('\'') {
            let mended = format!("{}\"{}", &line[..at], &line[at + 1..]);
            if object(&mended[start..]).is_some() {
                let span = Span::new(id, place.start + at..place.start + at + 1);
                let d =
                    Diagnostic::new(Code::SingleQuotes, span, "a single quote in the place of a double one");
                sink.push(d.label("JSON takes double quotes").help("write `\"`").edit(span, "\""));
                right.replace_range(place, &mended);
            }
            continue;
        }
        let Some((at, sign)) = missing(line, start) else { continue };
        let Some(mended) = in_room(line, start, at, sign) else { continue };
        sink.push(told(id, line, place.start, at, sign));
        right.replace_range(place, &mended);
    }
    (right != text).then_some(right)
}

/// `mtp MTP": --x={"a": 1}`: where the object begins once the quote stands there that the title of the point lacks, and where that is.
fn torn_title(line: &str) -> Option<(usize, usize)> {
    let start = *begins(line).first()?;
    let before = &line[..start];
    let quote = before.find('"').filter(|_| before.matches('"').count() == 1)?;
    let name = before.len() - before.trim_start().len();
    let name = name..name + first_word(&before[name..]).len();
    let title = name.end + (before[name.end..].len() - before[name.end..].trim_start().len());
    let colon = before.find(": ").filter(|colon| *colon > title && title > name.end && !name.is_empty())?;
    if quote + 1 == colon && quote > title {
        return Some((start + 1, title));
    }
    (quote == title && quote + 1 < colon).then_some((start + 1, colon))
}

/// `a: --x="b": 1},`: where the object begins of which a point lacks the `{`.
fn lost_brace(line: &str) -> Option<usize> {
    let at = line.find("=\"")? + 1;
    let is_point = line[..at].contains(": -") && !line.trim_start().starts_with("axis ");
    (is_point && object(&with(line, at, '{')[at..]).is_some()).then_some(at)
}

/// Where objects of a line begin: behind the sign of a flag, and the word of a request's body.
fn begins(line: &str) -> Vec<usize> {
    // single quotes are a mistake of their own, but for one in the place of a double one
    let singles = line.matches('\'').count();
    if singles > 1 || singles == 1 && line.matches('"').count().is_multiple_of(2) {
        return Vec::new();
    }
    let of_flags = line.match_indices("={").map(|(sign, _)| sign + 1);
    let of_body = line.match_indices("body").filter_map(|(at, word)| {
        let (before, behind) = (&line[..at], &line[at + word.len()..]);
        let apart = before.is_empty() || before.ends_with([' ', '\t', '{']);
        let blank = behind.len() - behind.trim_start().len();
        (apart && behind.trim_start().starts_with('{')).then_some(at + word.len() + blank)
    });
    of_flags.chain(of_body).collect()
}

/// How long the object is that a text begins with, if the rest of the text may follow it.
fn object(text: &str) -> Option<usize> {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Json>>();
    objects.next()?.ok().filter(|map| !map.is_empty())?;
    let rest = &text[objects.byte_offset()..];
    let follows = rest.is_empty() || rest.starts_with([' ', '\t', ',', '}']);
    let torn = Scanner::new(rest).any(|(_, piece)| piece == Piece::UnclosedText);
    (follows && !torn).then(|| text.len() - rest.len())
}

/// Where one sign is missing in the object that begins at a place of a line, and which; `None` where several would do.
fn missing(line: &str, start: usize) -> Option<(usize, char)> {
    let mut found: Option<(usize, char)> = None;
    let places = || line[start..].char_indices().map(|(n, _)| start + n).chain([line.len()]).skip(1);
    for (at, sign) in places().flat_map(|at| SIGNS.map(|sign| (at, sign))) {
        if !may_stand(line, at, sign) {
            continue;
        }
        let mended = with(line, at, sign);
        if object(&mended[start..]).is_none() {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some((at, sign));
    }
    found
}

/// Whether a sign may stand at a place of a line: a bracket begins a value, and a quote is no further one of a text that has its own, and
/// takes no space along.
fn may_stand(line: &str, at: usize, sign: char) -> bool {
    let (before, behind) = (&line[..at], &line[at..]);
    if sign == '"' {
        let apart = !before.ends_with('"') && !behind.starts_with('"');
        return apart && !(before.ends_with(' ') && behind.starts_with([' ', ':', ',', '}', ']']));
    }
    before.trim_end().ends_with([':', '[', ',']) && !behind.starts_with(char::is_whitespace)
}

fn with(line: &str, at: usize, sign: char) -> String {
    let (before, behind) = line.split_at(at);
    format!("{before}{sign}{behind}")
}

/// The line with a sign at a place, as long as it is: the nearest space that is no part of a text gives way to it.
fn in_room(line: &str, start: usize, at: usize, sign: char) -> Option<String> {
    let mended = with(line, at, sign);
    let space = |(n, piece): &(usize, Piece)| *piece == Piece::Other && mended.as_bytes()[*n] == b' ';
    // the words before the object keep theirs
    let spaces = Scanner::new(&mended).filter(space).map(|(n, _)| n).filter(|n| *n > start);
    let room = spaces.min_by_key(|n| n.abs_diff(at))?;
    let mut out = mended.clone();
    out.remove(room);
    object(&out[start..]).is_some().then_some(out)
}

fn told(id: FileId, line: &str, base: usize, at: usize, sign: char) -> Diagnostic {
    let span = |place: Range<usize>| Span::new(id, base + place.start..base + place.end);
    let here = span(at..at);
    if sign != '"' {
        let word = at..at + value_len(&line[at..]);
        let written = &line[word.clone()];
        let what = if sign == '{' { "an object" } else { "a list" };
        return Diagnostic::new(Code::Unexpected, span(word), format!("{what} lacks its `{sign}`"))
            .about(About::Expected(Expected::sign(if sign == '{' { "{" } else { "[" })))
            .label(format!("expected `{sign}` before it"))
            .help(format!("write `{sign}{written}`"))
            .edit(here, sign);
    }
    let mended = with(line, at, sign);
    let texts = Scanner::new(&mended).filter_map(|(from, piece)| match piece {
        Piece::Text(end) => Some(from..end),
        _ => None,
    });
    let text = texts.into_iter().find(|t| (t.start..t.end).contains(&at)).unwrap_or(at..at + 1);
    let right = &mended[text.clone()];
    let (place, message, label) = if text.start == at {
        (at..text.end - 1, "a string does not begin with a quote", "ends with one")
    } else {
        (text.start..at, "a string is not closed on its line", "begins here")
    };
    Diagnostic::new(Code::UnclosedString, span(place), message)
        .label(label)
        .help(format!("write `{right}`"))
        .edit(here, sign)
}

/// How long the text, number or word is that a text begins with.
fn value_len(text: &str) -> usize {
    match Scanner::new(text).next() {
        Some((_, Piece::Text(end))) => end,
        _ => text.find(|c: char| c.is_whitespace() || ",:]}".contains(c)).unwrap_or(text.len()).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> Option<String> {
        let mut sink = Sink::default();
        let right = whole(FileId::default(), text, &mut sink);
        assert!(right.as_ref().is_none_or(|r| r.len() == text.len() && sink.found().count() == 1));
        right
    }

    #[test]
    fn one_sign_is_put_back() {
        for (torn, right) in [
            ("body {\"a: {\"b\": 1}}", "body {\"a\":{\"b\": 1}}"),
            ("body {a\": {\"b\": 1}}", "body {\"a\":{\"b\": 1}}"),
            ("body {\"a\": {\"b: 1}}", "body {\"a\": {\"b\":1}}"),
            ("body {\"a\": \"b\": 1}}", "body {\"a\":{\"b\": 1}}"),
            ("--x={\"a\": \"b, \"c\": 2} }", "--x={\"a\": \"b\",\"c\": 2} }"),
            ("--x={\"a\": 1, 2], \"c\": 2}", "--x={\"a\":[1, 2], \"c\": 2}"),
            ("  b B c\": --x={\"a\": 1, \"c\": 2}", "  b \"B c\": --x={\"a\":1, \"c\": 2}"),
            ("  b \"B: --x={\"a\": 1, \"c\": 2}", "  b \"B\": --x={\"a\":1, \"c\": 2}"),
        ] {
            assert_eq!(mended(torn).as_deref(), Some(right));
        }
    }

    #[test]
    fn what_may_be_meant_in_several_ways_stays() {
        for text in [
            "--x={\"a\": 1}",
            "--x={\"a\": {\"b\": 1, \"c\": 2}",
            "--x={\"a\": 'b}",
            "--x=\"a\": 1}",
            "--x={\"a\" 1}",
        ] {
            assert_eq!(mended(text), None, "{text}");
        }
    }
}
