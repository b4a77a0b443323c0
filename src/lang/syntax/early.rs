//! Each `}` that is one too many and ends a block before its last lines, below which another one ends it: it is taken away, so that the
//! lines below it are read as what they are. One that only stands too high, with no other below, is moved (`nesting`).

use std::borrow::Cow;
use std::ops::Range;

use super::blocks::first_word;
use super::imports::any_of;
use super::lexical::{Piece, Scanner, depth};
use super::nesting::{code, ends_points, indent, is_line_of, is_nearly_line_of, states_again};
use super::twice::{blank, lines};
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// The text without those braces, everything else in its place; they are told of. Asked of texts in which a `}` closes too much.
pub fn kept_open<'t>(id: FileId, text: &'t str, sink: &mut Sink, broken: &mut Vec<String>) -> Cow<'t, str> {
    let mut mended = with_braces(id, text, sink);
    for at in one_too_many(&mended.clone()) {
        let here = Span::new(id, at..at + 1);
        if let Some(steps) = steps_of_no_track(&mended, at) {
            let first = steps.start + indent(&mended[steps.clone()]);
            let message = "this `}` ends the steps of a track without its first line";
            let place = Span::new(id, first..first + "step".len());
            let d = Diagnostic::new(Code::Unopened, here, message).label("closes nothing");
            let d = d.about(About::LacksTrack).related(place, "steps of a track?");
            sink.push(d.help("write `track ENGINE {` above its steps, or remove the `}`"));
            // which engine it was, nobody knows
            broken.push(any_of("engine"));
            let mended = mended.to_mut();
            blank(mended, steps);
            mended.replace_range(at..=at, " ");
            continue;
        }
        let line = here.line_in(text).range();
        let message = if is_of_a_flag(&text[line.clone()]) || text[line.clone()].contains('{') {
            "this `}` closes nothing on its line"
        } else {
            "this `}` ends the block before its last lines"
        };
        let d = Diagnostic::new(Code::Unopened, here, message).label("one too many");
        let lacks_open = is_of_a_flag(&text[line.clone()]) && !text[line.clone()].contains('{');
        if lacks_open {
            // what the line sets cannot be made out without its `{`
            sink.push(
                d.about(About::LacksObject)
                    .label("nothing is open here")
                    .help("add a `{` where the object begins"),
            );
            mended.to_mut().replace_range(line.clone(), &" ".repeat(line.len()));
        } else {
            sink.push(d.help("remove it").edit(here, ""));
            mended.to_mut().replace_range(at..=at, " ");
        }
    }
    mended
}

/// The lines of steps above a `}` that stands as far in as other lines of its study, and they further in: those of a track whose first line
/// is gone.
fn steps_of_no_track(text: &str, at: usize) -> Option<Range<usize>> {
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let outer = at - start;
    if outer == 0 || !text[start..at].trim().is_empty() {
        return None;
    }
    let mut from = start;
    while let Some(above) = from.checked_sub(1) {
        let line = text[..above].rfind('\n').map_or(0, |n| n + 1);
        let code = code(&text[line..above]);
        if code.is_empty() || indent(code) <= outer {
            // the block that they stand in, or what stands beside it
            let begins = code.ends_with('{') && indent(code) == outer;
            return (from < start && !begins && first_word(text[from..].trim_start()) == "step")
                .then_some(from..start);
        }
        from = line;
    }
    None
}

/// The text without the lines whose JSON only lacks its first brace: what they set is not read, and nothing else is wrong with them.
fn with_braces<'t>(id: FileId, text: &'t str, sink: &mut Sink) -> Cow<'t, str> {
    let mut mended = Cow::Borrowed(text);
    for line in lines(text) {
        let Some(begin) = object_without_brace(&text[line.clone()]).map(|n| line.start + n) else { continue };
        let end = line.start + text[line.clone()].rfind('}').unwrap_or_default();
        let d = Diagnostic::new(
            Code::Unopened,
            Span::new(id, end..end + 1),
            "this `}` closes nothing on its line",
        );
        let d = d.about(About::LacksObject).label("nothing is open here");
        sink.push(d.help("add a `{` where the object begins").edit(Span::new(id, begin..begin), "{"));
        mended.to_mut().replace_range(line.clone(), &" ".repeat(line.len()));
    }
    mended
}

/// Where braces end declarations below which their lines go on, each up to a brace that closes nothing.
fn one_too_many(text: &str) -> Vec<usize> {
    let (mut depth, mut early, mut found) = (0_i64, None, Vec::new());
    // the end of a line within the block that closes more than it opens, `step a { vary x }}`, above others that stand no further out
    let mut doubled = None;
    // where the block begins that is open, and where the last one ended
    let (mut head, mut ended) = (0, None);
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Open(b'{') => {
                if depth == 0 {
                    head = text[..at].rfind('\n').map_or(0, |n| n + 1);
                }
                depth += 1;
            }
            Piece::Close(b'}') => depth -= 1,
            // whatever is wrong with the braces above: a declaration begins outside of all
            Piece::Other if text.as_bytes()[at] == b'\n' && begins(&text[at + 1..]) => {
                (depth, early, doubled, ended) = (0, None, None, None);
            }
            _ => continue,
        }
        if depth < 0 {
            // with the early one taken away this one ends the declaration
            let of_no_track = ended.take().filter(|at| steps_of_no_track(text, *at).is_some());
            found.extend(of_no_track.or(early.take()).or(doubled.take()));
            depth = 0;
        }
        if piece == Piece::Close(b'}') && doubled.is_none() && is_doubled(text, at) {
            doubled = Some(at);
        }
        if depth == 0 && piece == Piece::Close(b'}') {
            ended = Some(at);
        }
        let closes = depth == 0 && early.is_none() && piece == Piece::Close(b'}');
        if closes && (goes_on(&text[head..at], &text[at + 1..]) || is_beyond_its_flag(text, at)) {
            early = Some(surplus(text, head, at));
        }
    }
    found
}

/// The `}` with which a line of the block closes more than it opens, `step a { vary x }}`, above one that ends the block early, or the one
/// on a line of its own that stands as far in as the lines of what it ends, and as the next one; else that one.
fn surplus(text: &str, head: usize, early: usize) -> usize {
    let mut at = head;
    let mut open: Vec<usize> = Vec::new();
    for line in text[head..early].split_inclusive('\n') {
        let code = line[..start_of_comment(line).unwrap_or(line.len())].trim_end();
        if depth(code) < 0 && code.contains('{') && code.ends_with('}') {
            return at + code.len() - 1;
        }
        let is_within = open.last().is_some_and(|around| indent(code) > *around);
        if code.trim_start() == "}" && is_within && goes_on_within(&text[at + line.len()..], indent(code)) {
            return at + code.len() - 1;
        }
        match depth(code) {
            0 => {}
            opened @ 1.. => open.extend(std::iter::repeat_n(indent(code), opened as usize)),
            closed => open.truncate(open.len().saturating_sub(closed.unsigned_abs() as usize)),
        }
        at += line.len();
    }
    early
}

/// Whether the next line stands as far in, and ends nothing.
fn goes_on_within(below: &str, inner: usize) -> bool {
    let next = below.lines().map(code).find(|l| !l.is_empty());
    next.is_some_and(|l| indent(l) >= inner && !l.trim_start().starts_with('}'))
}

/// Whether a `}` is the second one at the end of a line that opens one block, and the next line goes on where that block stands, or ends
/// what that stands in.
fn is_doubled(text: &str, at: usize) -> bool {
    let (start, behind) = (text[..at].rfind('\n').map_or(0, |n| n + 1), &text[at + 1..]);
    let own = &text[start..at];
    if !own.trim_end().ends_with('}') || !matches!(first_word(own.trim_start()), "step" | "track") {
        return false;
    }
    let code = |l: &str| l[..start_of_comment(l).unwrap_or(l.len())].trim_end().len();
    let mut below = behind.split('\n');
    let ends = below.next().is_some_and(|rest| code(rest) == 0);
    let next = below.find(|l| code(l) > 0);
    depth(own) == 0
        && ends
        && next.is_some_and(|l| (indent(l) >= indent(own)) != l.trim_start().starts_with('}'))
}

/// Whether a `}` ends a line of a flag, indented, which opens none for it: `--x={"a": 1}}`.
fn is_beyond_its_flag(text: &str, at: usize) -> bool {
    // asked of each brace, which may be many on one line: of that only the last one is looked at closely
    let behind = text[at + 1..].trim_start_matches([' ', '\t', '\r']);
    if !(behind.is_empty() || behind.starts_with(['\n', '#'])) {
        return false;
    }
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let line = &text[start..=at];
    if !is_of_a_flag(line) || line.len() == line.trim_start().len() {
        return false;
    }
    depth(line) < 0
}

/// `body "a": 1}`, `--flag="a": 1}`: where the JSON begins that only lacks its first brace.
fn object_without_brace(line: &str) -> Option<usize> {
    let code = &line[..start_of_comment(line).unwrap_or(line.len())];
    let begin = match first_word(code.trim_start()) {
        "body" => code.find("body")? + "body".len(),
        _ if is_of_a_flag(code) => code.find('=')? + 1,
        _ => return None,
    };
    let value = code[begin..].trim_start();
    let whole = serde_json::from_str::<serde_json::Value>(&format!("{{{value}"));
    whole.is_ok_and(|v| v.is_object()).then(|| begin + code[begin..].len() - value.len())
}

fn is_of_a_flag(line: &str) -> bool {
    line.trim_start().starts_with("--")
}

/// Whether a line is the first one of a declaration, and of nothing that stands in a block.
pub(super) fn begins(line: &str) -> bool {
    let word = first_word(line);
    matches!(word, "use" | "param" | "axis" | "profile" | "metric" | "study" | "site")
        && line[word.len()..].starts_with(' ')
        || line.starts_with("engine ") && line.lines().next().is_some_and(|l| l.contains('{'))
}

/// Whether nothing else stands on the line, and a line of the block that ends there, indented, is the next one: of a study, that it does not
/// state already.
fn goes_on(block: &str, rest: &str) -> bool {
    let behind = rest.trim_start_matches([' ', '\t', '\r']);
    if !(behind.is_empty() || behind.starts_with(['\n', '#'])) {
        return false;
    }
    let blank = |l: &&str| l[..start_of_comment(l).unwrap_or(l.len())].trim().is_empty();
    // one of a line that was indented lost the block around it
    if block.starts_with([' ', '\t']) {
        return false;
    }
    let (kind, beside) = (first_word(block), rest.split('\n').nth(1).is_some_and(|l| !blank(&l)));
    if ends_points(block) {
        return false;
    }
    rest.split('\n').skip(1).find(|l| !blank(l)).is_some_and(|l| {
        // what stands apart from an engine or a profile need not be of it
        let of_block = (beside || !matches!(kind, "engine" | "profile"))
            && (is_line_of(kind, l) || is_nearly_line_of(kind, l));
        let ends = rest.find("\n}").unwrap_or(rest.len());
        l.starts_with([' ', '\t']) && of_block && !states_again(block, &rest[..ends])
    })
}
