//! Blocks whose lines stand below their first one without a `{`: the brace is put where it was forgotten, so that the rest is read as it was
//! meant.

use std::borrow::Cow;

use super::blocks::first_word;
use super::early::begins;
use super::lexical::{self, Piece, Scanner};
use super::names;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Expected, Sink};
use crate::lang::source::{FileId, Span};

/// The text with those braces, everything else in its place; what was missing is told. Asked where a `}` closes too much, and of
/// steps and tracks, which their layout tells apart.
pub fn opened<'t>(id: FileId, text: &'t str, sink: &mut Sink) -> Cow<'t, str> {
    let mut mended = Cow::Borrowed(text);
    let lines: Vec<(usize, &str)> = text
        .split_inclusive('\n')
        .scan(0, |at, line| Some((std::mem::replace(at, *at + line.len()), line)))
        .collect();
    let mut braces = Braces::of(&lines);
    for (n, &(at, line)) in lines.iter().enumerate() {
        braces.go_to(n, at, &mended);
        if !braces.close_too_much() && !is_a_step_or_track(&lines[n..]) && !is_a_block(&lines[n..]) {
            continue;
        }
        if let Some(body) = body(line) {
            mended.to_mut().replace_range(at + body - 1..at + body, "{");
            sink.push(lacks_brace(id, at, &line[..body], "write `{` before its first word", 0, " {"));
            continue;
        }
        let Some(head) = head(line).filter(|_| is_opened(&lines[n + 1..], indent(line))) else { continue };
        let written = head.trim_end();
        let colon = written.ends_with(':');
        if let Some(quote) = lexical::unclosed_text(written) {
            // the last letter of what is to be a title gives way to its quote, and the end of the line to the brace
            let last = written.char_indices().next_back().map_or(0, |(i, _)| i);
            if last > quote {
                let end = at + line.trim_end_matches(['\n', '\r']).len();
                let tail = format!("\"{}{{", " ".repeat(end - at - last - 1));
                mended.to_mut().replace_range(at + last..=end, &tail);
            }
            sink.push(torn_title(id, at, quote, written));
            continue;
        }
        // what stands behind the head, a colon or a comment, gives way to the brace; else the end of the line does
        let place = at + written.len() - usize::from(colon);
        let end = place + text[place..].find('\n').unwrap_or(text.len() - place);
        let gap = place..end.max(place + 1);
        let spaces = gap.len() - 1;
        mended.to_mut().replace_range(gap, &format!("{{{}", " ".repeat(spaces)));
        if first_word(line.trim_start()) == written.trim_start() {
            // a keyword alone: the name that is missing is told of with what is missing behind it
            continue;
        }
        let colon = usize::from(colon);
        let body = lines[n + 1..].iter().map(|(_, line)| *line).take_while(|l| !l.starts_with('}'));
        let lacks_parent = names::without_parent(written, body);
        sink.push(match lacks_parent.then(|| names::parent_in(text, written)) {
            Some(parent) => {
                let right = format!(" = {} {{", parent.unwrap_or("PARENT"));
                let help = format!("write `{}` at the end of the line", right.trim_start());
                let mut d = lacks_brace(id, at, written, &help, colon, &right)
                    .label("expected `= PARENT {`")
                    .about(About::ParentExpected);
                if parent.is_none() {
                    d.edits.clear();
                }
                d
            }
            None => lacks_brace(id, at, written, "write `{` at the end of the line", colon, " {"),
        });
    }
    mended
}

/// What is said of a head without its brace, of which `spare` bytes at its end give way to it.
pub(super) fn lacks_brace(
    id: FileId,
    at: usize,
    head: &str,
    help: &str,
    spare: usize,
    right: &str,
) -> Diagnostic {
    let written = head.trim_end();
    let last = written.char_indices().next_back().map_or(0, |(i, _)| i);
    let end = at + written.len();
    Diagnostic::new(
        Code::Unexpected,
        Span::new(id, at + last..end),
        "the block that begins here lacks its `{`",
    )
    .about(About::Expected(Expected::sign("{")))
    .label("expected `{`")
    .help(help)
    .edit(Span::new(id, end - spare..end), right)
}

/// A head whose title is not closed, so that its brace, if it has one, is part of the title.
pub(super) fn torn_title(id: FileId, at: usize, quote: usize, head: &str) -> Diagnostic {
    let end = at + head.len();
    Diagnostic::new(
        Code::UnclosedString,
        Span::new(id, at + quote..end),
        "a string is not closed on its line",
    )
    .label("begins here")
    .help("end it with `\"` on the same line, and write `{` behind it")
}

/// Where the lines of a step begin that stands on one line, or in its track's, and closes a brace that it did not open.
fn body(line: &str) -> Option<usize> {
    let bare = line[..start_of_comment(line).unwrap_or(line.len())].trim_end();
    let step = match first_word(bare.trim_start()) {
        "step" => 0,
        "track" => bare.rfind(" step ").filter(|at| bare[..*at].contains('{'))?,
        _ => return None,
    };
    if indent(line) == 0 || !bare.ends_with('}') || lexical::opens_brace(&bare[step..]) {
        return None;
    }
    let begins = |w: &str| Some(step + bare[step..].find(w)? + 1);
    begins(" vary ").or_else(|| begins(" pick "))
}

/// The part of a line that begins a block, if no brace follows it; up to where the brace belongs.
fn head(line: &str) -> Option<&str> {
    let heads: &[&str] = match indent(line) {
        0 => &["study", "engine", "profile", "site", "axis"],
        _ => &["step", "track"],
    };
    if !heads.contains(&first_word(line.trim_start())) {
        return None;
    }
    let line = line.trim_end_matches(['\n', '\r']);
    let bare = &line[..start_of_comment(line).unwrap_or(line.len())];
    let written = bare.trim_end();
    // of an axis the points stand in braces, behind its sign
    let goes_on = if line.starts_with("axis") {
        !written.ends_with('=') || written.ends_with("==")
    } else {
        written.ends_with([',', '=', '*', '+', '>', '<'])
    };
    (!lexical::opens_brace(bare) && !goes_on).then_some(bare)
}

/// Whether lines further in follow, and then a `}` as far to the left as the head.
fn is_opened(rest: &[(usize, &str)], column: usize) -> bool {
    let mut said = rest.iter().map(|(_, line)| *line).filter(|l| {
        let line = l.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let first = said.next().is_some_and(|l| indent(l) > column && !l.trim_start().starts_with('{'));
    first
        && said
            .find(|l| indent(l) <= column)
            .is_some_and(|l| indent(l) == column && l.trim_start().starts_with('}'))
}

/// Whether the first of some lines begins a step or a track whose lines stand below it, further in, whatever other braces say.
fn is_a_step_or_track(lines: &[(usize, &str)]) -> bool {
    let Some(((_, first), rest)) = lines.split_first() else { return false };
    let word = first_word(first.trim_start());
    if !matches!(word, "step" | "track") || indent(first) == 0 {
        return false;
    }
    let below = rest
        .iter()
        .map(|(_, l)| *l)
        .find(|l| !matches!(l.trim_start().as_bytes().first(), None | Some(b'#')));
    below.is_some_and(|l| match (word, first_word(l.trim_start())) {
        ("step", "vary" | "pick" | "note") => true,
        ("track", "step" | "note" | "budget") => indent(l) > indent(first),
        _ => false,
    })
}

/// Whether the first of some lines, at the margin, begins a block of settings that stand below it, whatever their own braces say. What
/// begins with a sign or opens a block itself is the rest of a torn first line.
fn is_a_block(lines: &[(usize, &str)]) -> bool {
    let Some(((_, first), rest)) = lines.split_first() else { return false };
    let mut said = rest.iter().map(|(_, line)| line.trim()).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let sets =
        |line: &str| line.starts_with(|c: char| c == '-' || c.is_ascii_lowercase()) && !line.ends_with('{');
    matches!(first_word(first), "engine" | "profile" | "study" | "site")
        && said.next().is_some_and(sets)
        && is_opened(rest, 0)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// How deep braces nest where a line begins, and how little in the lines from there on.
struct Braces {
    /// how much less deep than at its beginning the text gets from a line on, where nothing is mended
    least: Vec<i64>,
    /// the line that is looked at, and where it begins
    line: (usize, usize),
    depth: i64,
    /// a brace above it closes nothing
    closed_too_much: bool,
}

impl Braces {
    fn of(lines: &[(usize, &str)]) -> Self {
        let (mut least, mut rest) = (vec![0; lines.len()], 0);
        for (n, (_, line)) in lines.iter().enumerate().rev() {
            let (change, within) = changes(line);
            rest = within.min(change + rest);
            least[n] = rest;
            // what a declaration below lacks is not this one's
            if begins(line) {
                rest = 0;
            }
        }
        Self { least, line: (0, 0), depth: 0, closed_too_much: false }
    }

    /// Goes on to a line, over the one before it as it was mended.
    fn go_to(&mut self, line: usize, at: usize, mended: &str) {
        let (change, least) = changes(&mended[self.line.1..at]);
        self.closed_too_much |= self.depth + least < 0;
        self.depth += change;
        if begins(&mended[at..]) {
            (self.depth, self.closed_too_much) = (0, false);
        }
        self.line = (line, at);
    }

    /// Whether more braces close than open, with those lines mended that are above.
    fn close_too_much(&self) -> bool {
        self.closed_too_much || self.depth + self.least[self.line.0] < 0
    }
}

/// How many more braces a text opens than it closes, and the least that were open on the way.
fn changes(text: &str) -> (i64, i64) {
    let (mut depth, mut least) = (0, 0);
    for (_, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(b'{') => depth += 1,
            Piece::Close(b'}') => depth -= 1,
            _ => {}
        }
        least = least.min(depth);
    }
    (depth, least)
}
