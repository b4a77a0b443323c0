//! Where a quote or bracket that is missing was to stand: its possible places are tried, until the declaration around it can be read.

use std::borrow::Cow;

use super::brackets::may_group;
use super::lexical::{self, Piece, Scanner};
use super::parser::parse_as_it_is;
use super::words;
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{About, Diagnostic, Edit, Sink};
use crate::lang::source::{FileId, Span};

/// What is read for all tries of a file: some hundred declarations.
const MOST_BYTES: usize = 256 << 10;
/// A line that can be read may show mistakes that it hid, of which few stand in one declaration.
const MOST_HIDDEN: usize = 3;
/// Nobody writes longer lines, and a machine's need no such help.
const LONGEST_LINE: usize = 400;
/// A block is closed near to where its lines end, or not at all.
const MOST_ENDS: usize = 4;

/// Gives each lone quote and bracket the edit after which its line can be read, and as much as possible of the declaration.
pub fn offer(text: &str, found: &mut [Diagnostic]) {
    let text = &*in_order(text, found);
    let mut left = MOST_BYTES;
    let open = |d: &&mut Diagnostic| {
        d.edits.is_empty() && d.span.file == FileId::default() && d.about != About::LacksTrack
    };
    for d in found.iter_mut().filter(open) {
        if left == 0 {
            break;
        }
        if let Some(help) = ended_in_a_comment(text, d) {
            d.help = Some(help);
            continue;
        }
        let Some(place) = Place::of(text, d) else { continue };
        d.edits.extend(place.best(&mut left));
        if d.code == Code::UnclosedString && !is_of_number(text, d) {
            lacks_first_quote(text, d);
        }
        if let (Code::Unopened, [edit]) = (d.code, d.edits.as_slice())
            && matches!(edit.text.trim(), "{" | "[" | "(")
            && d.about != About::LacksObject
        {
            d.help = Some(format!("write `{}` where what it ends begins", edit.text.trim()));
        }
    }
}

/// The text with what is told of already put right where that leaves everything in its place, as words that change places: so what stands
/// around a quote can be read.
fn in_order<'t>(text: &'t str, found: &[Diagnostic]) -> Cow<'t, str> {
    let mut right = Cow::Borrowed(text);
    for edit in found.iter().filter(|d| d.code == Code::Unexpected).flat_map(|d| &d.edits) {
        let place = edit.span.range();
        // an edit before may reach into it
        let here = edit.span.file == FileId::default() && right.get(place.clone()).is_some();
        if here && !place.is_empty() && place.len() == edit.text.len() {
            right.to_mut().replace_range(place, &edit.text);
        }
    }
    right
}

/// `48"`, `"48]`: a lone quote before or behind a number that is a value, which has none. A version is a text.
fn is_of_number(text: &str, d: &mut Diagnostic) -> bool {
    let [edit] = d.edits.as_slice() else { return false };
    let (quote, other) = (d.span.start as usize, edit.span.start as usize);
    let written = if other < quote { text.get(other..quote) } else { text.get(quote + 1..other) };
    let is_number = |w: &str| {
        w.starts_with(|c: char| c.is_ascii_digit())
            && w.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
    };
    let is_value = text[..other.min(quote)].trim_end_matches(' ').ends_with(['[', ',', '=']);
    if edit.text != "\"" || !is_value || !written.is_some_and(is_number) {
        return false;
    }
    d.span.end = d.span.start + 1;
    "begins and ends nothing".clone_into(&mut d.label);
    d.edits[0] = Edit { span: d.span, text: String::new() };
    d.help = Some("take the quote away: numbers have none".to_owned());
    true
}

/// `Qwen/Qwen3-8B"`: a text ends there that did not begin with a quote. In `["3.0, "3.1"]` the one before it does not end.
fn lacks_first_quote(text: &str, d: &mut Diagnostic) {
    let [edit] = d.edits.as_slice() else { return };
    let (from, to) = (edit.span.start, d.span.start + 1);
    if edit.text != "\"" || edit.span.end >= d.span.start {
        return;
    }
    let Some(written) = text.get(from as usize..to as usize) else { return };
    // nothing stands before it that could be the text
    if written.trim_matches(['"', ' ', '\t']).is_empty() {
        d.edits.clear();
        return;
    }
    let line = text[..from as usize].rfind('\n').map_or(0, |n| n + 1);
    if let Some(open) = lexical::unclosed_text(&text[line..from as usize]).map(|at| line + at) {
        d.span = Span { start: open as u32, end: from, ..d.span };
        "begins here".clone_into(&mut d.label);
        d.help = Some(format!("write `{}\"`", &text[d.span.range()]));
        return;
    }
    // `'vLLM"`: it begins with the other one
    if let Some(inner) = written.strip_prefix('\'') {
        d.code = Code::SingleQuotes;
        "a string begins with a single quote".clone_into(&mut d.message);
        "strings take double quotes".clone_into(&mut d.label);
        d.help = Some(format!("write `\"{inner}`"));
        d.span = Span { start: from, end: to, ..d.span };
        d.edits[0].span.end = from + 1;
        return;
    }
    "a string does not begin with a quote".clone_into(&mut d.message);
    "ends with one".clone_into(&mut d.label);
    d.help = Some(format!("write `\"{written}`"));
    d.span = Span { start: from, end: to, ..d.span };
}

/// What is said of a bracket whose other half stands in a comment that was to be a value: `[red, #fff]`.
fn ended_in_a_comment(text: &str, d: &Diagnostic) -> Option<String> {
    let at = d.span.start as usize;
    let close = match text.as_bytes().get(at).filter(|_| d.code == Code::Unclosed)? {
        b'{' => '}',
        b'[' => ']',
        _ => ')',
    };
    let line = text[at..].lines().next()?;
    let is_comment = |(at, piece): (usize, Piece)| matches!(piece, Piece::Comment(_)).then_some(at);
    let comment = &line[Scanner::new(line).find_map(is_comment)?..];
    let value = comment[1..].split([close, ',', ' ', '\t']).next().filter(|v| !v.is_empty())?;
    comment.contains(close).then(|| {
        format!("`#` begins a comment, which takes the `{close}` along: write `\"#{value}\"` where it is part of a value")
    })
}

/// A quote or bracket that has no other half, in the declaration around it.
struct Place<'a> {
    text: &'a str,
    code: Code,
    /// where it stands
    at: usize,
    /// the declaration
    around: std::ops::Range<usize>,
    /// its line, without a comment
    line: std::ops::Range<usize>,
}

impl<'a> Place<'a> {
    fn of(text: &'a str, d: &Diagnostic) -> Option<Self> {
        if !matches!(d.code, Code::UnclosedString | Code::Unclosed | Code::Unopened) {
            return None;
        }
        let at = d.span.start as usize;
        let start = text.get(..at)?.rfind('\n').map_or(0, |n| n + 1);
        let end = text[at..].find(['\n', '\r']).map_or(text.len(), |n| at + n);
        let line = &text[start..end];
        let shown = start_of_comment(line).filter(|c| start + c > at).or_else(|| line.find(" #"));
        let len = line[..shown.filter(|c| start + c > at).unwrap_or(line.len())].trim_end().len();
        (len < LONGEST_LINE).then(|| Self {
            text,
            code: d.code,
            at,
            around: declaration(text, start),
            line: start..start + len,
        })
    }

    /// The first of the edits after which the least is wrong.
    fn best(&self, left: &mut usize) -> Option<Edit> {
        let mut before = mistakes(&self.text[self.around.clone()]);
        let own = (self.code, (self.at - self.around.start) as u32);
        before.retain(|m| *m != own);
        if self.code == Code::Unopened && may_group(self.text, self.at) || self.is_half_typed() {
            return None;
        }
        let mut best: Option<((bool, usize), Edit)> = None;
        let mut unsure = false;
        for edit in self.edits() {
            *left = left.saturating_sub(self.around.len());
            if *left == 0 {
                return None;
            }
            let after = self.after(&edit, &before);
            let Some(after) = after.filter(|(_, n)| *n <= before.len() + MOST_HIDDEN) else { continue };
            if best.as_ref().is_none_or(|(least, _)| after < *least) {
                best = Some((after, edit));
                unsure = false;
            } else if self.is_in_json() {
                // `{"a": {"b": 1, "c": 2}`: it may end before the comma or behind it
                unsure |= best.as_ref().is_some_and(|(least, e)| after == *least && self.differs(e, &edit));
            } else if self.is_open_expression() {
                // `(a + b * c`: of two sums nobody knows which
                return None;
            }
        }
        best.map(|(_, edit)| edit).filter(|_| !unsure)
    }

    /// `[128,` at the end of its line: what was to follow is missing, too.
    fn is_half_typed(&self) -> bool {
        self.code == Code::Unclosed
            && self.text[self.at..].starts_with('[')
            && self.text[self.line.clone()].ends_with(',')
    }

    /// Whether it opens an object or a list of JSON, which may end at any of its values.
    fn is_in_json(&self) -> bool {
        let before = self.text[..self.at].trim_end();
        self.code == Code::Unclosed
            && self.text[self.at..].starts_with(['{', '['])
            && (before.ends_with([':', '[', ','])
                // `keys [method one_of [a, b, tokens int]`: a choice or the next key
                || ["keys [", "one_of ["].iter().all(|w| self.text[self.line.clone()].contains(w))
                || before.ends_with('=') && self.text[self.at..].starts_with("{\""))
    }

    /// Whether two edits make different texts, spaces apart.
    fn differs(&self, a: &Edit, b: &Edit) -> bool {
        let with = |edit: &Edit| {
            let mut text = self.text[self.around.clone()].to_owned();
            let at = edit.span.start as usize - self.around.start..edit.span.end as usize - self.around.start;
            text.replace_range(at, &edit.text);
            text.retain(|c| !c.is_whitespace());
            text
        };
        with(a) != with(b)
    }

    /// Whether the line leaves brackets open after an edit, or closes others', and how many mistakes there are; `None` if one of them
    /// is in the line, or if it hides one of the others.
    fn after(&self, edit: &Edit, others: &[Mistake]) -> Option<(bool, usize)> {
        let mut text = self.text[self.around.clone()].to_owned();
        let from = self.around.start;
        text.replace_range(edit.span.start as usize - from..edit.span.end as usize - from, &edit.text);
        let here = self.line.start - from;
        let end = text[here..].find('\n').map_or(text.len(), |n| here + n);
        let found = mistakes(&text);
        let touched = found.iter().any(|(_, at)| (here..=end).contains(&(*at as usize)));
        let removed = edit.span.end - edit.span.start;
        let moved = |at: u32| {
            let behind = (at as usize + from) >= edit.span.end as usize;
            if behind { at + edit.text.len() as u32 - removed } else { at }
        };
        let stays = |(code, at): &Mistake| found.contains(&(*code, moved(*at)));
        (!touched && others.iter().all(stays)).then(|| (is_lopsided(&text[here..end]), found.len()))
    }

    fn is_open_expression(&self) -> bool {
        self.code == Code::Unclosed
            && self.text[self.at..].starts_with('(')
            && !self.text[..self.at].ends_with(|c: char| c.is_ascii_alphanumeric())
    }

    /// All that may have been meant, what is likelier first.
    fn edits(&self) -> Vec<Edit> {
        match (self.code, self.text.as_bytes()[self.at]) {
            (Code::UnclosedString, _) => self.quotes(),
            (Code::Unopened, b'}') => self.openings('{'),
            (Code::Unopened, b']') => self.openings('['),
            (Code::Unopened, _) => self.openings('('),
            (_, b'{') => self.closings('}'),
            (_, b'[') => self.closings(']'),
            _ => self.closings(')'),
        }
    }

    fn quotes(&self) -> Vec<Edit> {
        let library = self.text[self.at + 1..].starts_with("std/");
        let gone = std::iter::once(self.replaced(""));
        // nothing goes on behind a text: `"Q-{size}-FP8`
        let apart =
            |e: &usize| !self.text[*e..].starts_with(|c: char| c.is_alphanumeric() || "-_./".contains(c));
        let close = self.ends().filter(|e| *e > self.at + 1).filter(apart).map(|e| insert(e, "\""));
        // `"Lim'`: it ends with the other one
        let line = &self.text[self.at..self.line.end.max(self.at)];
        let single =
            line.find('\'').filter(|n| *n > 1 && line.matches('\'').count() == 1).map(|n| self.at + n);
        let other =
            single.map(|at| Edit { span: Span::new(FileId::default(), at..at + 1), text: "\"".to_owned() });
        let close = other.into_iter().chain(close);
        // what separates things is hardly part of a text
        let separates = |p: &usize| self.text[*p..self.at].contains([',', ':', '{', '=', '[']);
        // and none ends with a blank: `"Q-{size}-FP8 because "why"`
        let ends_one = |p: usize| lexical::unclosed_text(&self.text[self.line.start..p]).is_some();
        let blank = |p: usize| self.text[..p].ends_with([' ', '\t']);
        let fits = move |p: &usize| !ends_one(*p) || apart(p) && !blank(*p);
        let before = || self.starts().chain(self.ends()).filter(|p| *p < self.at).filter(fits);
        let plain = before().filter(|p| !separates(p));
        let rest = plain.chain(before().filter(separates)).map(|p| insert(p, "\""));
        if library {
            gone.chain(close).chain(rest).collect()
        } else {
            close.chain(rest).chain(gone).collect()
        }
    }

    fn openings(&self, open: char) -> Vec<Edit> {
        let sign = if open == '{' { "{ ".to_owned() } else { open.to_string() };
        let starts = self.starts().filter(|s| *s < self.at);
        std::iter::once(self.replaced("")).chain(starts.map(|s| insert(s, &sign))).collect()
    }

    fn closings(&self, close: char) -> Vec<Edit> {
        // `{ "serve {model}"` on a line of its own: it was to end a line above
        if close == '}' && self.begins_its_line() {
            return Vec::new();
        }
        let spaced = self.text[self.at + 1..].starts_with([' ', '\t']);
        let sign = if spaced && close == '}' { " }".to_owned() } else { close.to_string() };
        let within = self.ends().filter(|e| *e > self.at + 1).map(|e| insert(e, &sign));
        let below = self.block_ends(close);
        // `axis a = [` above points, `profile p (`
        let other = (close != '}' && self.at + 1 == self.line.end).then(|| self.replaced("{"));
        within.chain(other).chain(below).collect()
    }

    /// Whether it begins a line that goes on.
    fn begins_its_line(&self) -> bool {
        self.text[self.line.start..self.at].trim().is_empty() && self.at + 1 < self.line.end
    }

    /// A bracket on a line of its own, above the lines that stand no further in than the one that it closes.
    fn block_ends(&self, close: char) -> Vec<Edit> {
        if self.at + 1 != self.line.end {
            return Vec::new();
        }
        let line = &self.text[self.line.clone()];
        let indent = &line[..line.len() - line.trim_start().len()];
        let below = self.text[self.line.end..self.around.end.max(self.line.end)].lines().skip(1);
        let next = below.map(|l| &l[..start_of_comment(l).unwrap_or(l.len())]).find(|l| !l.trim().is_empty());
        let of_others = |l: &str| l.starts_with('}') || l.starts_with("step ") || l.starts_with("track ");
        let outside = |l: &str| l.len() - l.trim_start().len() <= indent.len() && of_others(l.trim_start());
        if close == '}' && next.is_none_or(outside) {
            // nothing stands in it yet, and where it ends says nothing of what was to
            return Vec::new();
        }
        let mut at = self.text[self.at..].find('\n').map_or(self.text.len(), |n| self.at + n + 1);
        let mut out = Vec::new();
        while at < self.around.end && out.len() < MOST_ENDS {
            let line = self.text[at..].split_inclusive('\n').next().unwrap_or_default();
            if !line.trim().is_empty() && line.len() - line.trim_start().len() <= indent.len() {
                out.push(insert(at, &format!("{indent}{close}\n")));
            }
            at += line.len();
        }
        let end = self.around.start + self.text[self.around.clone()].trim_end().len();
        out.push(insert(end, &format!("\n{indent}{close}")));
        out
    }

    fn replaced(&self, by: &str) -> Edit {
        Edit { span: Span::new(FileId::default(), self.at..self.at + 1), text: by.to_owned() }
    }

    /// Where words and signs of the line begin.
    fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        self.borders().filter(|p| self.text[*p..].starts_with(|c: char| !c.is_whitespace()))
    }

    /// Where words and signs of the line end.
    fn ends(&self) -> impl Iterator<Item = usize> + '_ {
        self.borders().filter(|p| self.text[..*p].ends_with(|c: char| !c.is_whitespace()))
    }

    fn borders(&self) -> impl Iterator<Item = usize> + '_ {
        let line = &self.text[self.line.clone()];
        let inside = move |at: usize| {
            let word = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace() && !",=:{}[]()\"".contains(c));
            word(line[..at].chars().next_back()) && word(line[at..].chars().next())
        };
        let places = line.char_indices().map(|(at, _)| at).chain([line.len()]);
        places.filter(move |at| !inside(*at)).map(|at| self.line.start + at)
    }
}

fn insert(at: usize, text: &str) -> Edit {
    Edit { span: Span::new(FileId::default(), at..at), text: text.to_owned() }
}

/// The declaration around a line: from the keyword at the margin to the next one.
pub(super) fn declaration(text: &str, line: usize) -> std::ops::Range<usize> {
    let begins = |at: &usize| {
        let word = text[*at..].split([' ', '\t', '\n']).next().unwrap_or_default();
        words::DECLARATIONS.contains(&word)
    };
    let before = std::iter::successors(Some(line), |at| {
        let above = at.checked_sub(1)?;
        Some(text[..above].rfind('\n').map_or(0, |n| n + 1))
    });
    let start = before.take_while(|at| *at > 0).find(begins).unwrap_or(0);
    let behind = text[line..].match_indices('\n').map(|(n, _)| line + n + 1);
    start..behind.into_iter().find(begins).unwrap_or(text.len())
}

/// Whether a line has other brackets without their half than the one at its end that opens a block.
fn is_lopsided(line: &str) -> bool {
    let depth = Scanner::new(line).fold(0, |depth, (_, piece)| match piece {
        Piece::Open(_) => depth + 1,
        Piece::Close(_) => depth - 1,
        _ => depth,
    });
    depth != i32::from(line.trim_end().ends_with(['{', '[', '(']))
}

/// A code, and where it stands.
type Mistake = (Code, u32);

fn mistakes(text: &str) -> Vec<Mistake> {
    let mut sink = Sink::default();
    parse_as_it_is(FileId::default(), text, &mut sink);
    sink.found().filter(|d| d.is_error()).map(|d| (d.code, d.span.start)).collect()
}
