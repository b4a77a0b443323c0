//! What the layout of a file says of its braces, where they do not: round or square brackets around a block, a step that is not closed
//! before the next one, a `}` that stands above the last lines of its block. The text is put right, everything else in its place.

use std::ops::Range;

use foldhash::{HashMap, HashMapExt};

use super::blocks::first_word;
use super::brackets::bracket;
use super::headless::is_point;
use super::lexical::{Piece, Scanner, opens_brace, unclosed_text};
use super::twice::{blank, lines};
use super::words;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Expected, Sink, did_you_mean};
use crate::lang::source::{FileId, Span};

/// Puts a text right in these ways, one after another.
pub fn by_layout(id: FileId, text: &mut String, sink: &mut Sink, broken: &mut Vec<String>) {
    other_brackets(id, text, sink);
    never_closed(id, text, sink, broken);
    closed_early(id, text, sink);
}

pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

pub(super) fn code(line: &str) -> &str {
    // other spaces than these are mistakes of their own, and of several bytes
    line[..start_of_comment(line).unwrap_or(line.len())].trim_end_matches([' ', '\t', '\r'])
}

/// `engine v = vllm (` … `)`, `study s "Title" [` … `]`, `step a "Title" }` … `}`, `step a ( vary x )`
fn other_brackets(id: FileId, text: &mut String, sink: &mut Sink) {
    let lines = lines(text);
    let mut found: Vec<(usize, Option<usize>)> = Vec::new();
    for (n, place) in lines.iter().enumerate() {
        let line = code(&text[place.clone()]);
        let heads: &[&str] = if indent(line) == 0 {
            &["study", "engine", "profile", "site", "axis"]
        } else {
            &["step", "track"]
        };
        if !line.ends_with(['(', '[', '}', ')', ']']) || !heads.contains(&first_word(line.trim_start())) {
            continue;
        }
        // a condition goes on over lines
        if opens_brace(line) || line.contains(" when ") {
            continue;
        }
        let open = place.start + line.len() - 1;
        if line.ends_with([')', ']']) {
            found.extend(on_one_line(line).map(|(from, to)| (place.start + from, Some(place.start + to))));
            continue;
        }
        let mut below =
            lines[n + 1..].iter().map(|l| (l.start, code(&text[l.clone()]))).filter(|(_, l)| !l.is_empty());
        let of_points = first_word(line) == "axis";
        let begins =
            |(_, l): (usize, &str)| indent(l) > indent(line) && (!of_points || is_point(l.trim_start()));
        if !below.next().is_some_and(begins) {
            continue;
        }
        match below.find(|(_, l)| indent(l) <= indent(line)) {
            Some((at, l)) if indent(l) == indent(line) && matches!(l.trim(), "}" | ")" | "]") => {
                found.push((open, (l.trim() != "}").then_some(at + indent(l))));
            }
            _ => {}
        }
    }
    for (open, close) in found {
        let sign = text.as_bytes()[open] as char;
        let at = |at: usize| Span::new(id, at..at + 1);
        let d = Diagnostic::new(Code::Unexpected, at(open), format!("`{sign}` was not expected here"));
        let d = d.about(About::Expected(Expected::sign("{")));
        let d = d.label("expected `{`").help("the lines of a block stand in braces").edit(at(open), "{");
        sink.push(close.into_iter().fold(d, |d, close| d.edit(at(close), "}")));
        text.replace_range(open..=open, "{");
        if let Some(close) = close {
            text.replace_range(close..=close, "}");
        }
    }
}

/// `step a ( vary x )`: the brackets.
fn on_one_line(line: &str) -> Option<(usize, usize)> {
    let body = [" vary ", "(vary ", "[vary "].iter().filter_map(|w| line.find(w)).min()?;
    let open = line[..=body].trim_end().len().checked_sub(1)?;
    let pair =
        matches!((line.as_bytes()[open], line.as_bytes()[line.len() - 1]), (b'(', b')') | (b'[', b']'));
    if !pair {
        return None;
    }
    let whole = Scanner::new(&line[open..]).try_fold(0_i32, |depth, (at, piece)| match piece {
        Piece::Open(_) => Some(depth + 1),
        Piece::Close(_) if depth == 1 && open + at + 1 < line.len() => None,
        Piece::Close(_) => Some(depth - 1),
        _ => Some(depth),
    });
    (whole == Some(0)).then_some((open, line.len() - 1))
}

/// A brace of the text that is open: where it stands, and the line that it opens.
struct Open<'t> {
    at: usize,
    start: usize,
    line: &'t str,
}

impl Open<'_> {
    fn is(&self, word: &str) -> bool {
        first_word(self.line.trim_start()) == word
    }
}

/// Whether a word begins lines of a study or of a file, and none of what stands in the study.
fn is_of_a_study(word: &str) -> bool {
    let within = [words::TRACK_SETTINGS, words::STEP_SETTINGS];
    let known = words::STUDY_SETTINGS.contains(&word) || words::DECLARATIONS.contains(&word);
    known && !within.iter().any(|known| known.contains(&word))
}

/// `stpe b {`: where it stands no further in than a step that is open, it is no line of that.
fn is_nearly_a_head(word: &str, behind: &str) -> bool {
    let is_near = || did_you_mean(word, ["step", "track"]).is_some();
    behind.starts_with(' ') && behind.contains('{') && !words::STEP_SETTINGS.contains(&word) && is_near()
}

/// How many more braces are closed than opened from each `}` to the end of its declaration.
fn closed_behind(text: &str) -> HashMap<usize, usize> {
    let declares = |at: usize| words::DECLARATIONS.contains(&first_word(&text[at..]));
    let pieces: Vec<(usize, Piece)> = Scanner::new(text).collect();
    let (mut left, mut behind) = (0_usize, HashMap::new());
    for (at, piece) in pieces.into_iter().rev() {
        match piece {
            Piece::Other if text.as_bytes()[at] == b'\n' && declares(at + 1) => left = 0,
            Piece::Open(b'{') => left = left.saturating_sub(1),
            Piece::Close(b'}') => {
                behind.insert(at, left);
                left += 1;
            }
            _ => {}
        }
    }
    behind
}

/// `step a {` that is open where the next step or track begins, or where the block around it ends: the place before which it was to end.
/// A `}` in the place of the block around ends the step all the same where those below it end all that is open around.
fn unclosed(text: &str) -> Vec<(usize, usize)> {
    let mut behind = None;
    let line_at = |start: usize| text[start..].split(['\n', '\r']).next().unwrap_or_default();
    let (mut stack, mut found): (Vec<Open<'_>>, _) = (Vec::new(), Vec::new());
    // the line, and whether nothing of it was seen yet
    let (mut start, mut line, mut fresh) = (0, line_at(0), true);
    for (at, piece) in Scanner::new(text) {
        match piece {
            Piece::Other => match text.as_bytes()[at] {
                b'\n' => (start, line, fresh) = (at + 1, line_at(at + 1), true),
                b' ' | b'\t' => {}
                _ if std::mem::take(&mut fresh) => {
                    let word = first_word(&line[at - start..]);
                    let behind = &line[at - start + word.len()..];
                    let whole = behind.is_empty() || behind.starts_with(' ');
                    let of_study = whole && is_of_a_study(word);
                    let begins = of_study
                        || whole && matches!(word, "step" | "track")
                        || is_nearly_a_head(word, behind);
                    // neither holds a step or a track of its own, nor what is said of a study
                    let within =
                        |top: &Open<'_>| top.is("step") || (of_study || word == "track") && top.is("track");
                    while let Some(top) =
                        stack.last().filter(|t| begins && within(t) && indent(line) <= indent(t.line))
                    {
                        found.push((top.at, start));
                        stack.pop();
                    }
                }
                _ => {}
            },
            Piece::Open(b'{') => {
                if stack
                    .last()
                    .is_some_and(|top| top.start == start && text[top.at + 1..at].trim().is_empty())
                {
                    // written twice, which is told of as that
                    return Vec::new();
                }
                stack.push(Open { at, start, line });
                fresh = false;
            }
            Piece::Close(b'}') => {
                let around = stack.len().checked_sub(2).map(|n| indent(stack[n].line));
                let of_block_around = |top: &&Open<'_>| {
                    let inner = top.start != start && (top.is("step") || top.is("track"));
                    let dedents = fresh && indent(line) < indent(top.line) && around == Some(indent(line));
                    let closed = |behind: &HashMap<usize, usize>| behind.get(&at) == Some(&(stack.len() - 1));
                    inner && dedents && !closed(behind.get_or_insert_with(|| closed_behind(text)))
                };
                if let Some(top) = stack.last().filter(of_block_around) {
                    found.push((top.at, start));
                    stack.pop();
                }
                stack.pop();
                fresh = false;
            }
            _ => fresh = false,
        }
    }
    found
}

fn never_closed(id: FileId, text: &mut String, sink: &mut Sink, broken: &mut Vec<String>) {
    for (open, place) in unclosed(text) {
        let start = text[..open].rfind('\n').map_or(0, |n| n + 1);
        let head_end = text[start..].find('\n').map_or(text.len(), |n| start + n);
        let typed = |l: &&str| !matches!(l.trim(), "" | "vary" | "pick");
        let inner = text[open + 1..place].lines().map(code).any(|l| typed(&l));
        let d = bracket(id, open, Piece::Open(b'{'));
        if !inner {
            // half-typed: what was to stand in it is not missing
            sink.push(d);
            broken.extend(super::heads::names_of_step(text[start..head_end].trim_start()));
            blank(text, start..place);
            continue;
        }
        let above = text[..place].trim_end_matches([' ', '\t', '\r', '\n']);
        let last = above.rfind('\n').map_or(0, |n| n + 1);
        let end = last + code(&above[last..]).len();
        let d = if head_end == place - 1 && end > open + 1 {
            d.edit(Span::new(id, end..end), " }")
        } else {
            let indent = &text[start..start + indent(&text[start..head_end])];
            d.edit(Span::new(id, place..place), format!("{indent}}}\n"))
        };
        if put_before(text, place, end) {
            sink.push(d);
        }
    }
}

/// Writes a `}` before a line without moving anything: in the place of a comment above, or of the end of the line, which moves into the
/// spaces that follow it. `end` is where the code above ends.
fn put_before(text: &mut String, place: usize, end: usize) -> bool {
    if let Some(at) = text[end..place].find('#') {
        let line = end + at..end + text[end..].find('\n').map_or(at, |n| n);
        blank(text, line);
        text.replace_range(end + at..=end + at, "}");
        return true;
    }
    // a line between, or spaces behind the code
    if text[end..place].len() > 1 {
        text.replace_range(end..=end, "}");
        return true;
    }
    // `pick x because "y"` and, on the next line, the end of the block around it
    let last = &text[text[..end].rfind('\n').map_or(0, |n| n + 1)..end];
    if text[place..].starts_with('}') && text[end..].starts_with('\n') && unclosed_text(last).is_none() {
        text.replace_range(end..=end, "}");
        return true;
    }
    let spaced = text[place..].starts_with([' ', '\t']);
    if spaced && place > 0 {
        text.replace_range(place - 1..=place, "}\n");
    }
    spaced
}

/// A `}` at the margin below which lines of its block go on, up to where the next declaration begins or the file ends.
fn closed_early(id: FileId, text: &mut String, sink: &mut Sink) {
    for (early, from, end) in too_high(text) {
        let d = Diagnostic::new(
            Code::Unopened,
            Span::new(id, early..early + 1),
            "this `}` ends the block before its last lines",
        );
        let line = end + text[end..].find('\n').map_or(text.len() - end, |n| n + 1);
        let lacks = if text[..line].ends_with('\n') { "}\n" } else { "\n}\n" };
        let d = d.label("too early").help("write it below them");
        let d = d.edit(Span::new(id, early..from), "").edit(Span::new(id, line..line), lacks);
        let spare = text[end..].starts_with([' ', '#', '\r']) || text.len() == end + 1;
        if !spare && !text.get(end + 1..).is_some_and(|rest| rest.starts_with('\n')) {
            continue;
        }
        let comment = end..end + text[end..].find('\n').unwrap_or(text.len() - end);
        blank(text, comment);
        text.replace_range(end..=end, "}");
        text.replace_range(early..=early, " ");
        sink.push(d);
    }
}

/// Where such a brace stands, with none below the lines of its block to be one too many, where the next line begins, and where the last line of its block ends.
fn too_high(text: &str) -> Vec<(usize, usize, usize)> {
    let lines = lines(text);
    let mut found = Vec::new();
    let mut head: Option<Range<usize>> = None;
    let mut n = 0;
    while n < lines.len() {
        let line = &text[lines[n].clone()];
        let begins =
            ["study", "engine", "profile", "axis"].contains(&first_word(line)) && code(line).ends_with('{');
        if begins {
            head = Some(lines[n].clone());
        } else if code(line) == "}" {
            let below: Vec<&Range<usize>> = lines[n + 1..]
                .iter()
                .take_while(|l| text[(*l).clone()].is_empty() || text[(*l).clone()].starts_with([' ', '\t']))
                .collect();
            let used = below.iter().rposition(|l| !text[(**l).clone()].trim().is_empty());
            let after = lines.get(n + 1 + below.len()).map(|l| &text[l.clone()]);
            // another brace ends them: one of the two is too many
            let ended = after.is_some_and(|l| !words::DECLARATIONS.contains(&first_word(l)));
            if let (Some(own), Some(last), false) = (head.take(), used, ended)
                && let Some(first) = below.iter().map(|l| code(&text[(**l).clone()])).find(|l| !l.is_empty())
                && (!text[below[0].clone()].is_empty() || text[own.clone()].starts_with("study"))
                && !ends_points(&text[own.start..lines[n].start])
                && can_end(&text[own.start..lines[n].start], first, &text[lines[n].end..below[last].end])
            {
                let end = below[last].start + code(&text[below[last].clone()]).len();
                found.push((lines[n].start, below[0].start, end));
            }
        }
        n += 1;
    }
    found
}

/// Whether a line, and those with it, can be the last ones of a block above, none of which stands in it already.
fn can_end(block: &str, first: &str, rest: &str) -> bool {
    let even = Scanner::new(rest).try_fold(0_i32, |depth, (_, piece)| match piece {
        Piece::Open(b'{') => Some(depth + 1),
        Piece::Close(b'}') => Some(depth - 1).filter(|d| *d >= 0),
        _ => Some(depth),
    });
    is_line_of(first_word(block), first) && even == Some(0) && !states_again(block, rest)
}

/// Whether a line can stand in a block that begins with such a word.
pub(super) fn is_line_of(kind: &str, line: &str) -> bool {
    let (line, word) = (line.trim_start(), first_word(line.trim_start()));
    match kind {
        "axis" => is_point(line),
        _ => kind == "engine" && line.starts_with('-') || settings_of(kind).contains(&word),
    }
}

fn settings_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "engine" => words::ENGINE_SETTINGS,
        "profile" => words::PROFILE_SETTINGS,
        _ => words::STUDY_SETTINGS,
    }
}

/// Whether the first word of a line is nearly one of such a block: `requires success_rate >= 99%`.
pub(super) fn is_nearly_line_of(kind: &str, line: &str) -> bool {
    let word = first_word(line.trim_start());
    !words::DECLARATIONS.contains(&word) && did_you_mean(word, settings_of(kind).iter().copied()).is_some()
}

/// Whether these are the first lines of an axis, of whose points the last one is there: a comma stands behind each of the others.
pub(super) fn ends_points(block: &str) -> bool {
    let last = block.lines().map(code).rfind(|l| !l.trim().is_empty()).unwrap_or_default();
    first_word(block) == "axis" && !last.ends_with([',', '{'])
}

/// What a line states: `"0.17.1"` is a version that lost its keyword.
fn setting(line: &str) -> &str {
    let is_version = line.strip_prefix('"').is_some_and(|l| l.starts_with(|c: char| c.is_ascii_digit()));
    if is_version { "version" } else { first_word(line) }
}

/// Whether some lines state what a block states once and states already: they are those of another one.
pub(super) fn states_again(block: &str, rest: &str) -> bool {
    const ONCE: [&str; 17] = [
        "model",
        "gpus",
        "baseline",
        "maximize",
        "minimize",
        "adopt",
        "repeat",
        "version",
        "serve",
        "ready",
        "data",
        "input",
        "output",
        "rate",
        "concurrency",
        "requests",
        "duration",
    ];
    let said = |text: &str| -> Vec<String> {
        let depths = text.lines().scan(0_i32, |depth, line| {
            let before = *depth;
            *depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
            Some((before, line.trim_start()))
        });
        // `profile a = chat { rate 4/s }` states it on its first line
        let first = |l: &str| l.split_once('{').map(|(_, l)| setting(l.trim_start()).to_owned());
        let words = depths
            .filter(|(d, _)| *d <= 1)
            .flat_map(|(d, l)| [Some(setting(l).to_owned()), first(l).filter(|_| d == 0)])
            .flatten();
        words.filter(|w| ONCE.contains(&w.as_str())).collect()
    };
    let above = said(block);
    said(rest).iter().any(|w| above.contains(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(text: &str) -> (String, Vec<&'static str>) {
        let (mut mended, mut sink) = (text.to_owned(), Sink::default());
        by_layout(FileId(0), &mut mended, &mut sink, &mut Vec::new());
        assert!(mended.len() <= text.len() + 1, "{mended}");
        (mended, sink.found().map(|d| d.code.id()).collect())
    }

    #[test]
    fn brackets_around_a_block_become_braces() {
        assert_eq!(
            right("engine v = vllm (\n    --a\n)\n"),
            ("engine v = vllm {\n    --a\n}\n".to_owned(), vec!["E103"])
        );
        assert_eq!(right("  step a [ vary x[1] ]\n"), ("  step a { vary x[1] }\n".to_owned(), vec!["E103"]));
        assert_eq!(right("  step a (vary x)\n"), ("  step a {vary x}\n".to_owned(), vec!["E103"]));
        for text in ["axis a = b * (\n  c\n)\n", "  step a when (x > 1)\n", "use std/axes (\n  a\n)\n"] {
            assert_eq!(right(text), (text.to_owned(), vec![]));
        }
    }

    #[test]
    fn a_step_ends_where_the_next_one_begins() {
        assert_eq!(
            right("study s {\n  step a {\n    vary x\n  step b { vary y }\n}\n"),
            ("study s {\n  step a {\n    vary x}\n step b { vary y }\n}\n".to_owned(), vec!["E107"])
        );
        assert_eq!(
            right("study s {\n track v {\n  step a {\n   vary x\n }\n}\n").0,
            "study s {\n track v {\n  step a {\n   vary x}\n}\n}\n"
        );
        assert_eq!(
            right("study s {\n  step a { vary x # why\n  step b { vary y }\n}\n").0,
            "study s {\n  step a { vary x }    \n  step b { vary y }\n}\n"
        );
    }

    #[test]
    fn spaces_of_several_bytes_are_left_alone() {
        for space in ["\u{a0}", "\u{3000}"] {
            let text = format!("study s {{\n  step a {{ vary x{space}\n  step b {{ vary y }}\n}}\n");
            assert!(right(&text).0.contains(space));
        }
    }

    #[test]
    fn a_brace_above_the_last_lines_of_its_block_moves() {
        assert_eq!(
            right("engine v = w {\n  --a\n}\n  --b\n\nparam p = 1\n"),
            ("engine v = w {\n  --a\n \n  --b}\nparam p = 1\n".to_owned(), vec!["E108"])
        );
        let other = "study s {\n  model \"a\"\n}\n  model \"b\"\n\nparam p = 1\n";
        assert_eq!(right(other), (other.to_owned(), vec![]));
    }
}
