//! Two tokens of a statement that are the same, or stand the wrong way round, or one that was left out: where a statement can be read once that is put right, it was
//! the mistake, however many others there are in the file.

use std::ops::Range;

use super::blocks::first_word;
use super::chunks::{Chunk, unread};
use super::lacking::lacks_flag;
use super::signs::is_function;
use super::tokens::{SEPARATORS, pieces};
use super::twice::{blank, lines};
use super::{
    another_sign, another_word, flags_taken_away, left_out, lexical, round_lists, title_first, words,
};
use crate::lang::codes::Code;
use crate::lang::comments::start_of_comment;
use crate::lang::diag::{Diagnostic, Sink, Swap, short};
use crate::lang::source::{FileId, Span};

/// What is read for all tries of a file.
const MOST_BYTES: usize = 128 << 10;
/// Nobody writes longer statements with such a slip.
const LONGEST: usize = 2 << 10;
/// One statement may have several.
const MOST_ROUNDS: usize = 4;
/// How far from the place where a statement could not be read on two tokens are looked at.
const NEAR: usize = 2;

/// The text with such tokens put right, all else in its place; `None` where there are none. `told` is what is said of the text otherwise.
pub(super) fn in_place(id: FileId, text: &str, told: &Sink, sink: &mut Sink) -> Option<String> {
    if text.len() > MOST_BYTES || lexical::survey(id, text).problem.is_some() {
        return None;
    }
    let told: Vec<&Diagnostic> = told.found().filter(|d| d.is_error() && d.span.file == id).collect();
    let (mut right, mut left) = (text.to_owned(), MOST_BYTES);
    for _ in 0..MOST_ROUNDS {
        let mut last = 0..0;
        let mut found = false;
        for chunk in unread(&right) {
            // the lines of a declaration that was mended as a whole are looked at in the next round
            if chunk.place.start < last.end || chunk.place.len() > LONGEST {
                continue;
            }
            left = left.saturating_sub(chunk.place.len());
            if left == 0 {
                break;
            }
            let statement = Statement { id, text: &right, told: &told, chunk: &chunk };
            if let Some((mended, d, swap)) = statement.mended() {
                sink.push(d);
                if let Some(swap) = swap {
                    sink.swapped(swap);
                }
                last = chunk.place.clone();
                right.replace_range(chunk.place, &mended);
                found = true;
            }
        }
        if !found {
            break;
        }
    }
    (right != text).then_some(right)
}

/// A statement of a text, and what is said of the text.
pub(super) struct Statement<'a> {
    pub(super) id: FileId,
    pub(super) text: &'a str,
    told: &'a [&'a Diagnostic],
    pub(super) chunk: &'a Chunk,
}

impl Statement<'_> {
    pub(super) fn written(&self) -> &str {
        &self.text[self.chunk.place.clone()]
    }

    pub(super) fn span(&self, place: Range<usize>) -> Span {
        let base = self.chunk.place.start;
        Span::new(self.id, base + place.start..base + place.end)
    }

    /// The statement with its tokens put right, what is said of them, and which of them change places.
    fn mended(&self) -> Option<(String, Diagnostic, Option<Swap>)> {
        let stop = self.chunk.stop(self.written())?;
        let in_place = |(mended, d): (String, Diagnostic)| (mended, d, None);
        let one_token = || {
            let sign = || another_sign::mended(self, stop).or_else(|| round_lists::mended(self, stop));
            left_out::mended(self, stop).or_else(sign)
        };
        let doubled = self.doubled(stop);
        // what is read further only may be another slip, which one token mends
        if doubled.as_ref().is_some_and(|(mended, _)| !self.chunk.reads(mended))
            && let Some(whole) = one_token()
        {
            return Some(in_place(whole));
        }
        let one_word = || another_word::mended(self, stop).map(in_place);
        let by_order = || doubled.map(in_place).or_else(one_word).or_else(|| self.swapped(stop));
        by_order().or_else(|| one_token().map(in_place))
    }

    /// `model model "org/M"`, `gpus 8 8`: it is read, or read further, without one of them.
    fn doubled(&self, stop: usize) -> Option<(String, Diagnostic)> {
        let text = self.written();
        let units = units(text);
        units.windows(2).enumerate().find_map(|(n, pair)| {
            let (first, second) = (pair[0].clone(), pair[1].clone());
            if !is_again(text, &first, &second) || is_of_bare_title(text, &second) {
                return None;
            }
            let mended = without(text, &first, &second);
            let next = units.get(n + 2).map_or(text.len(), |u| u.start);
            // `axis env env X=1`: a sign between the two may be missing
            let apart = || [&text[..first.end], " = ", &text[second.start..]].concat();
            let further = || {
                (first.start..=next).contains(&stop)
                    && self.chunk.stop(&mended) >= Some(next)
                    && !self.chunk.reads(&apart())
            };
            (self.chunk.reads(&mended) || further())
                .then(|| (mended.clone(), self.told_twice(&first, second)))
        })
    }

    fn told_twice(&self, first: &Range<usize>, second: Range<usize>) -> Diagnostic {
        let text = self.written();
        let word = &text[second.clone()];
        let shown = if word.starts_with('"') { word.to_owned() } else { format!("`{}`", short(word)) };
        let span = self.span(second.clone());
        let d = Diagnostic::new(Code::Unexpected, span, format!("{shown} stands here twice"));
        let d = d.label("the second one");
        // of `q * eager eager` the sign between the two may be missing
        let factor =
            text[..first.start].trim_end().ends_with('*') || text[second.end..].trim_start().starts_with('*');
        if factor {
            return d.help(format!("remove it, or write the sign between the two: `{word} + {word}`"));
        }
        // of a flag's value both may be meant
        if text[..first.start].ends_with('=') {
            return d.help(format!("remove it, or put both into quotes: `\"{word} {word}\"`"));
        }
        d.help("remove it").edit(self.span(first.end..second.end), "")
    }

    /// `confirm chat on`: it is read with two of them the other way round, and what was said of it does not mend it.
    fn swapped(&self, stop: usize) -> Option<(String, Diagnostic, Option<Swap>)> {
        let text = self.written();
        let units = units(text);
        let near = units.partition_point(|u| u.end <= stop);
        let mut found: Vec<(String, &[Range<usize>])> = Vec::new();
        for pair in units.windows(2).skip(near.saturating_sub(NEAR)).take(2 * NEAR) {
            let (first, second) = (pair[0].clone(), pair[1].clone());
            let right = self.turned(&first, &second);
            let mut mended = text.to_owned();
            mended.replace_range(first.start..second.end, &right);
            let place = first.start..second.end;
            let alone = !text[place.clone()].contains('\n')
                && stands_alone(&mended, &place)
                && !lacks_a_value(&mended, &place)
                && !lacks_a_word(text, &first, &second)
                && !makes_a_call(text, &first, &second)
                && !flags_taken_away::any(&mended, &place)
                && ![&first, &second].into_iter().any(|token| self.is_spare(token));
            if alone && self.may_be_meant(&mended) && self.chunk.reads_at(&mended, &place) {
                found.push((mended, pair));
            }
        }
        // which of several was meant, nobody knows
        let (mended, pair) = found.pop().filter(|_| found.is_empty())?;
        if self.is_told(&mended) {
            return None;
        }
        let place = pair[0].start..pair[1].end;
        let right = &mended[place.clone()];
        let d = self.told_swapped(&text[place.clone()], right, self.span(place));
        let in_file = |token: &Range<usize>| self.span(token.clone()).range();
        let swap = Swap { file: self.id, first: in_file(&pair[0]), second: in_file(&pair[1]) };
        Some((mended, d, Some(swap)))
    }

    /// Whether a token is a sign, bracket or quote that is one too many, which is the lesser mistake.
    fn is_spare(&self, token: &Range<usize>) -> bool {
        let text = self.written();
        let sign = text[token.clone()].chars().all(|c| SEPARATORS.contains(&c) || "{}[]()\"'".contains(c));
        let mut mended = text.to_owned();
        blank(&mut mended, token.clone());
        sign && (self.chunk.reads(&mended)
            || self.chunk.reads_alone(&mended)
            || self.chunk.reads(&[&text[..token.start], &text[token.end..]].concat()))
    }

    /// Two tokens the other way round, as far apart as they are. Line ends stay where they are.
    fn turned(&self, first: &Range<usize>, second: &Range<usize>) -> String {
        let text = self.written();
        let (one, gap, other) = (&text[first.clone()], &text[first.end..second.start], &text[second.clone()]);
        [other, gap, one].concat()
    }

    /// In a profile nearly all can be read: only its own words begin its lines.
    fn may_be_meant(&self, mended: &str) -> bool {
        let known = |text: &str| words::PROFILE_SETTINGS.contains(&first_word(text));
        !self.chunk.is_of_a_profile() || known(mended) && !self.written().starts_with(char::is_alphabetic)
    }

    fn told_swapped(&self, written: &str, right: &str, span: Span) -> Diagnostic {
        let once = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let right =
            if right.starts_with(',') || written.starts_with(',') { right.to_owned() } else { once(right) };
        let keyword = first_word(self.written());
        if let Some(len) = title_first::len(written).filter(|_| words::HAVE_TITLES.contains(&keyword)) {
            let title = Span { end: span.start + len as u32, ..span };
            let before = self.text[self.chunk.place.start..span.range().start].trim();
            // a point has no keyword
            let shown = if before == keyword { format!("{keyword} {right}") } else { right.clone() };
            return title_first::told(title).help(format!("write `{shown}`")).edit(span, right);
        }
        let d = wrong_way_round(span, &once(written));
        let derives = matches!(first_word(self.written()), "engine" | "profile") && right.starts_with('=');
        if derives {
            // a title may have been meant, and the parent left out
            return d
                .help(format!("write `{right}`, or put a title in quotes and name what it derives from"));
        }
        d.help(format!("write `{right}`")).edit(span, right)
    }

    /// Whether what is said of it already mends it: in the same way, or as the one mistake that it has.
    pub(super) fn is_told(&self, right: &str) -> bool {
        let place = &self.chunk.place;
        let here: Vec<&&Diagnostic> =
            self.told.iter().filter(|d| place.contains(&(d.span.start as usize))).collect();
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        here.iter()
            .filter_map(|d| self.after(d))
            .any(|mended| bare(&mended) == bare(right) || here.len() == 1 && self.chunk.reads(&mended))
    }

    /// What was said that changes what stands in a place.
    pub(super) fn said_at(&self, place: Span) -> Option<&&Diagnostic> {
        let changes = |d: &&&Diagnostic| {
            d.edits.iter().any(|e| e.span.start <= place.start && place.start < e.span.end)
        };
        self.told.iter().find(changes)
    }

    /// The statement after the fix of what was said of it.
    fn after(&self, told: &Diagnostic) -> Option<String> {
        let base = self.chunk.place.start;
        let mut edits: Vec<_> = told.edits.iter().collect();
        edits.sort_by_key(|e| std::cmp::Reverse(e.span.start));
        let mut mended = self.written().to_owned();
        for edit in &edits {
            let (from, to) =
                (edit.span.range().start.checked_sub(base)?, edit.span.range().end.checked_sub(base)?);
            mended.get(from..to)?;
            mended.replace_range(from..to, &edit.text);
        }
        (!edits.is_empty()).then_some(mended)
    }
}

/// The text without the second of two tokens, all else in its place but what is glued to the two.
fn without(text: &str, first: &Range<usize>, second: &Range<usize>) -> String {
    let glued = |c: char| !c.is_whitespace();
    let sign = !text[second.clone()].contains(|c: char| c.is_alphanumeric() || c == '"');
    let end = second.end + text[second.end..].find(char::is_whitespace).unwrap_or(text.len() - second.end);
    if !sign && text[second.end..].starts_with('=') {
        // `env A_B A_B=1`
        let mut mended = text.to_owned();
        blank(&mut mended, first.clone());
        return mended;
    }
    if sign && text[..first.start].ends_with(glued) && end > second.end {
        // `--x= =1`
        let room = " ".repeat(second.end - first.end);
        return [&text[..first.end], &text[second.end..end], &room, &text[end..]].concat();
    }
    let mut mended = text.to_owned();
    blank(&mut mended, second.clone());
    mended
}

/// Whether what stands in a place makes no longer word of what stands beside it.
fn stands_alone(text: &str, place: &Range<usize>) -> bool {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"');
    let joined = |at: usize| text[..at].ends_with(word) && text[at..].starts_with(word);
    !joined(place.start) && !joined(place.end)
}

/// Whether a comma in a place stands before nothing: what was to stand before it, where it stood, may be missing.
fn lacks_a_value(text: &str, place: &Range<usize>) -> bool {
    let ends = text[place.end..].trim_start().starts_with([']', '}', ',', ')']);
    ends && text[place.clone()].ends_with(',')
}

/// Whether what may be wrong with two tokens is that a word before, between or behind them is missing: each of them stands where it should.
fn lacks_a_word(text: &str, first: &Range<usize>, second: &Range<usize>) -> bool {
    let (one, other) = (&text[first.clone()], &text[second.clone()]);
    let number = |w: &str| w.starts_with(|c: char| c.is_ascii_digit());
    // `given --x and > 3`, `not --x divides`: what stands beside them
    let joins = |w: &str| matches!(w, "and" | "or" | "divides");
    if joins(one) || joins(other) {
        return true;
    }
    match first_word(text) {
        // `"why" "2.0" when`, `since when`: of a release or of its word
        "refuses" => other == "when" && (one.starts_with('"') || matches!(one, "since" | "until")),
        // `switch --no-graphs`, `int 1..64 default`, `[kind text, int 1..8]`
        "flag" => {
            one == "switch" && other.starts_with("--no")
                || words::TYPES.contains(&one) && number(other)
                || other == "default" && (one.contains("..") || words::TYPES.contains(&one))
                // what stands behind the value is one too many
                || one == "default"
        }
        // `step x "X" when { … }`: a condition
        "step" => one.starts_with('"') && other == "when",
        // `metric speed "Speed" =`: a quantity
        "metric" => one.starts_with('"') && other == "=",
        // `axis = raw --fork=[2, 8]`: a name
        "axis" => one == "=" && matches!(other, "raw" | "env" | "unset" | "model"),
        // `baseline.(ttft)`
        _ => one.ends_with('.') && other.starts_with('('),
    }
}

/// Whether the second of two tokens says the first one again: a word or a text, or a sign that stands apart.
fn is_again(text: &str, first: &Range<usize>, second: &Range<usize>) -> bool {
    let (one, other) = (&text[first.clone()], &text[second.clone()]);
    let apart = first.end < second.start && !text[first.end..second.start].contains('\n');
    if one == "=" && lacks_flag(&text[..second.start], &text[second.end..]) {
        return false;
    }
    let sign = one.chars().all(|c| SEPARATORS.contains(&c) || "{}[]()\"'".contains(c));
    // between two commas a value may be missing, and two dashes begin a flag
    let may = !sign || one.chars().all(|c| SEPARATORS.contains(&c) && !matches!(c, ',' | '-'));
    one == other && apart && may
}

/// The tokens of a statement, with its calls and comparisons whole.
pub(super) fn units(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for line in lines(text) {
        let whole = &text[line.clone()];
        let end = start_of_comment(whole).unwrap_or(whole.len());
        let odd = whole[..end].matches('"').count() % 2 == 1;
        let mut call_to = 0;
        for piece in pieces(whole, end, odd) {
            let (start, stop) = (line.start + piece.start, line.start + piece.end);
            if start < call_to {
                // a text that is not closed goes on behind the call
                if let Some(call) = found.last_mut() {
                    call.end = call.end.max(stop);
                }
                continue;
            }
            let glued = found.last_mut().filter(|last| last.end == start);
            let sign = |t: &str| matches!(t, "<" | ">" | "=" | "!");
            match glued {
                Some(last) if sign(&text[last.clone()]) && &whole[piece.clone()] == "=" => last.end = stop,
                Some(last)
                    if &whole[piece.clone()] == "("
                        && text[last.clone()].ends_with(char::is_alphanumeric)
                        && !matches!(&text[last.clone()], "when" | "and" | "or" | "not" | "on") =>
                {
                    if let Some(close) = closing(&whole[piece.start..end]) {
                        call_to = start + close + 1;
                        last.end = call_to;
                    } else {
                        found.push(start..stop);
                    }
                }
                _ => found.push(start..stop),
            }
        }
    }
    found
}

/// Where the round bracket that a text begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().position(|b| {
        match b {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// `prune far far behind when …`: the first word of a reason without its quotes, or `prune late late" when …`: without the first of them.
fn is_of_bare_title(text: &str, word: &Range<usize>) -> bool {
    if text[word.end..].lines().next().unwrap_or_default().matches('"').count() % 2 == 1 {
        return true;
    }
    let title = text[word.end..].split_once(" when ").map(|(title, _)| title.trim());
    let quoted = text[word.clone()].starts_with('"');
    text.starts_with("prune ") && !quoted && title.is_some_and(|title| !title.contains('"'))
}

/// What is said of two words, or signs, that change places.
pub(super) fn wrong_way_round(span: Span, written: &str) -> Diagnostic {
    let message = format!("`{}` stands the wrong way round", short(written));
    Diagnostic::new(Code::Unexpected, span, message).label("these two change places")
}

/// `(gpus` as `gpus(`, where no function is called so.
fn makes_a_call(text: &str, first: &Range<usize>, second: &Range<usize>) -> bool {
    let name = &text[second.clone()];
    let is_function = is_function(name) || name == "goodput";
    &text[first.clone()] == "(" && name.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_function
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> (Option<String>, Vec<String>) {
        let mut sink = Sink::default();
        let right = in_place(FileId::default(), text, &Sink::default(), &mut sink);
        assert!(right.as_ref().is_none_or(|r| r.len() == text.len()));
        (right, sink.found().map(|d| d.message.clone()).collect())
    }

    #[test]
    fn tokens_are_whole() {
        let of = |text: &'static str| units(text).into_iter().map(|u| &text[u]).collect::<Vec<_>>();
        assert_eq!(of("adopt >= gain 1%"), ["adopt", ">=", "gain", "1%"]);
        assert_eq!(of("minimize on p99(a(b)) c # d d"), ["minimize", "on", "p99(a(b))", "c"]);
        assert_eq!(of("p50(a\"b) > 40h\""), ["p50(a\"b) > 40h\""]);
        assert_eq!(of("use std/a { ,b }"), ["use", "std/a", "{", ",", "b", "}"]);
    }

    #[test]
    fn each_statement_is_judged_by_itself() {
        let text =
            "study a {\n    model model \"x\"\n    repeats 1\n    confirm chat on\n    gpus 8 8 8\n}\n";
        let (right, messages) = mended(text);
        let right = right.expect("three are mended");
        let lines: Vec<String> =
            right.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines, ["study a {", "model \"x\"", "repeats 1", "confirm on chat", "gpus 8", "}"]);
        assert_eq!(messages.len(), 4);
    }

    #[test]
    fn what_may_be_missing_something_stays() {
        for text in
            ["axis a = --x=[1, , 2]\n", "study a {\n    confirm chat\n}\n", "study a {\n    gpus of 2\n}\n"]
        {
            assert_eq!(mended(text).0, None, "{text}");
        }
    }
}
