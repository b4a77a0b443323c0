//! One sign too many, or one bracket for another: where a declaration can be read once a single token is taken out of it, that token is
//! the mistake, and what else was found there followed from it.

use std::ops::Range;

use pest::Parser;

use super::blocks::first_word;
use super::brackets::may_group;
use super::grammar::{Grammar, Rule};
use super::lacking::{
    is_between_changes, is_in_object, joins, lacks_flag, lacks_flag_behind, lacks_name, lacks_operand,
    lacks_value, separates_from_nothing, splits,
};
use super::lexical::{Piece, Scanner};
use super::parts::begins_with_a_sign;
use super::recover::declared_name;
use super::surplus::{Stray, as_alternatives};
use super::tokens::{SEPARATORS, Token, tokens};
use super::twice::lines;
use super::{flags_taken_away, quoted_parents, torn_texts, words};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Sink};
use crate::lang::source::{FileId, Span};

/// What is read for all tries of a file.
const MOST_BYTES: usize = 128 << 10;
/// A sign that is too many stands where the first mistakes are told.
const MOST_LINES: usize = 3;
/// Many mistakes may stand in one line.
const MOST_LOOKED_AT: usize = 12;
/// Nobody writes longer lines, and a machine's need no such help.
const LONGEST_LINE: usize = 400;
/// A brace that ends a block inside of a declaration is seen to be one too many where the declaration ends.
const LINES_ABOVE: usize = 3;
/// Declarations that each have one.
const MOST_TOLD: usize = 40;

/// The text without such signs, all else as near to its place as can be, and the names of the declarations that they stood in; `None` where
/// there are none.
pub(super) fn without(id: FileId, text: &str, told: &Sink, sink: &mut Sink) -> Option<(String, Vec<String>)> {
    let mut errors: Vec<&Diagnostic> = told.found().filter(|d| d.is_error() && d.span.file == id).collect();
    errors.sort_by_key(|d| (d.span.start, d.span.end));
    let mut right = text.to_owned();
    let (mut left, mut names) = (MOST_BYTES, Vec::new());
    for around in declarations(text, &errors) {
        let here: Vec<&Diagnostic> = errors
            .iter()
            .copied()
            .skip(errors.partition_point(|d| (d.span.start as usize) < around.start))
            .take_while(|d| (d.span.start as usize) < around.end)
            .collect();
        if left == 0 || names.len() == MOST_TOLD {
            break;
        }
        if here.iter().any(|d| d.about == About::LacksTrack) {
            continue;
        }
        let Some(found) =
            (Declaration { file: text, text: &text[around.clone()], base: around.start, errors: &here })
                .stray(&mut left)
        else {
            continue;
        };
        right.replace_range(around.clone(), &found.after);
        // what is said of a sign already may say what it was meant for
        let said = here.first().filter(|d| {
            let same = d.span.range().start == found.token.place.start + around.start;
            let explained = d.help.is_some() && !d.about.expected().by_example;
            let alone = same && here.len() == 1 && explained;
            alone && d.code == Code::Unexpected && d.edits.is_empty() && !found.token.twice
        });
        let d = said.map_or_else(|| found.diagnostic(id, text, around.start), |d| (*d).clone());
        match found.swap(id, text, around.start) {
            Some(swap) => {
                sink.push(swap.foretold(d));
                sink.swapped(swap);
            }
            None => sink.push(d),
        }
        names.extend(declared_name(&text[around]).next());
    }
    (right != text).then_some((right, names))
}

/// The declarations in which errors stand: each from its keyword at the margin to the next one.
fn declarations(text: &str, errors: &[&Diagnostic]) -> Vec<Range<usize>> {
    let begins = |line: &Range<usize>| {
        let line = &text[line.clone()];
        let word = line.split([' ', '\t']).next().unwrap_or_default();
        word.len() < line.len() && words::DECLARATIONS.contains(&word) || begins_with_a_sign(line)
    };
    let mut starts: Vec<usize> = lines(text).iter().filter(|l| begins(l)).map(|l| l.start).collect();
    starts.insert(0, 0);
    starts.push(text.len());
    let mut found: Vec<Range<usize>> = Vec::new();
    for d in errors {
        let at = d.span.start as usize;
        let next = starts.partition_point(|s| *s <= at);
        let Some(place) = next.checked_sub(1).and_then(|n| Some(*starts.get(n)?..*starts.get(next)?)) else {
            continue;
        };
        if found.last() != Some(&place) {
            found.push(place);
        }
    }
    found
}

/// A declaration, and what was found in it.
struct Declaration<'a> {
    file: &'a str,
    text: &'a str,
    base: usize,
    errors: &'a [&'a Diagnostic],
}

impl Declaration<'_> {
    fn stray(&self, left: &mut usize) -> Option<Stray> {
        if let Some(kind) = self.other_kind() {
            return self.first(&kind.iter().collect::<Vec<_>>(), left);
        }
        if !self.is_suspicious(left) {
            return None;
        }
        let tokens = self.tokens();
        let (gone, other): (Vec<&Token>, Vec<&Token>) = tokens.iter().partition(|t| t.right.is_empty());
        self.glued(left).or_else(|| self.first(&gone, left)).or_else(|| self.first(&other, left))
    }

    /// `[16, 48}`: of a bracket that lacks its other half, the closing ones of other kinds behind it.
    fn other_kind(&self) -> Option<Vec<Token>> {
        let [only] = self.errors else { return None };
        let at = self.at(only);
        let (open, right) = match self.text.as_bytes().get(at).filter(|_| only.code == Code::Unclosed)? {
            b'[' => ("[", "]"),
            b'(' => ("(", ")"),
            _ => return None,
        };
        let closes = |t: &Token| {
            let written = &self.text[t.place.clone()];
            t.right == right && t.place.start > at && written != open && "}])".contains(written)
        };
        let all: Vec<Token> = self.tokens().into_iter().filter(closes).collect();
        let plain = !self.text[at + 1..].starts_with('-');
        (plain && !all.is_empty()).then_some(all)
    }

    /// Whether a word stands twice directly before what was found.
    fn is_behind_a_second(&self, found: &Diagnostic) -> bool {
        let before = self.text[..self.at(found)].trim_end().len();
        self.tokens().iter().any(|t| t.twice && t.place.end == before)
    }

    /// `seqs16]`, `engineone, two]`: a `[` is missing between the name of an axis and the points that are picked from it.
    fn glued(&self, left: &mut usize) -> Option<Stray> {
        let lone = |d: &&&Diagnostic| d.code == Code::Unopened && self.text[self.at(d)..].starts_with(']');
        let close = self.at(self.errors.iter().find(lone)?);
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let list = self.text[..close].trim_end_matches(|c: char| in_name(c) || ", .-".contains(c)).len();
        let first = self.text[list..close].split(',').next()?;
        let start = list + first.rfind(' ').map_or(0, |n| n + 1);
        let word = &self.text[start..list + first.len()];
        *left = left.saturating_sub(self.file.len() + self.text.len());
        if *left == 0 {
            return None;
        }
        let axes = self.file.lines().filter_map(|l| l.strip_prefix("axis ")?.split(' ').next());
        let imports = self.file.lines().filter_map(|l| l.strip_prefix("use ")?.split('{').nth(1));
        let imports = imports.flat_map(|l| l.split(|c| !in_name(c))).filter(|n| !n.is_empty());
        let name =
            axes.chain(imports).chain(["engine"]).filter(|n| word.starts_with(n)).max_by_key(|n| n.len())?;
        let at = start + name.len();
        // the space behind it makes room
        let room = self.text[close..].split('\n').next()?.find(' ').map(|n| close + n);
        let (before, behind) = (&self.text[..at], &self.text[at..]);
        let after = match room {
            Some(room) => [before, "[", &self.text[at..room], &self.text[room + 1..]].concat(),
            None => [before, "[", behind].concat(),
        };
        let token = Token { place: close..close + 1, right: "", twice: false };
        let place = Span::new(FileId::default(), start..start).line_in(&after).range();
        // what else is wrong with the declaration says nothing of a line that is right then
        let is_right = || torn_texts::reads(&after[place], first_word(self.text));
        (name != word && (self.reads(&after, &token.place) || is_right())).then_some(Stray {
            token,
            after,
            opens: Some(at),
            unsure: false,
        })
    }

    /// Whether what was found may follow from one sign: more than one mistake, one of a bracket or quote without its other half, or one that
    /// its own fix does not mend.
    fn is_suspicious(&self, left: &mut usize) -> bool {
        let [only] = self.errors else { return true };
        let (before, behind) = self.text.split_at(self.text.floor_char_boundary(self.at(only)));
        match only.code {
            // `flag [--len`
            Code::Unclosed if behind.get(1..).is_some_and(|b| b.starts_with('-')) => true,
            Code::Unclosed => behind.starts_with('{') && !self.is_mended(only, left),
            // a sign before a setting
            Code::UnknownSetting => {
                let sign = |c: char| c != '-' && SEPARATORS.contains(&c) || "{}[]()'".contains(c);
                behind.starts_with(sign)
            }
            // a word that a quote begins lacks the other one
            Code::UnclosedString => {
                !behind.chars().nth(1).is_some_and(|c| c.is_alphabetic() || matches!(c, '/' | '{' | '.'))
            }
            // a text may be meant behind a sign
            Code::SingleQuotes => {
                !before.trim_end().ends_with('=') || before.ends_with('=') || !self.is_mended(only, left)
            }
            Code::Unexpected if only.edits.is_empty() => {
                let len = (only.span.range().len()).min(behind.len());
                let is_sign =
                    len > 0 && behind.get(..len).is_some_and(|t| t.chars().all(|c| SEPARATORS.contains(&c)));
                is_sign || self.tokens().iter().any(|t| t.twice)
            }
            Code::Unexpected if self.is_behind_a_second(only) => true,
            Code::Unexpected | Code::Unopened => !self.is_mended(only, left),
            _ => false,
        }
    }

    /// Where something was found.
    fn at(&self, found: &Diagnostic) -> usize {
        (found.span.start as usize - self.base).min(self.text.len())
    }

    /// Whether the declaration can be read after the fix of what was found.
    fn is_mended(&self, found: &Diagnostic, left: &mut usize) -> bool {
        let mut text = self.text.to_owned();
        let mut edits: Vec<_> = found.edits.iter().collect();
        edits.sort_by_key(|e| std::cmp::Reverse(e.span.start));
        for edit in &edits {
            let place = edit.span.range();
            let within = place.start.checked_sub(self.base).zip(place.end.checked_sub(self.base));
            let Some((from, to)) = within.filter(|(from, to)| text.get(*from..*to).is_some()) else {
                return true;
            };
            text.replace_range(from..to, &edit.text);
        }
        *left = left.saturating_sub(text.len());
        *left == 0 || !edits.is_empty() && bad_lines(&text).is_some_and(|bad| bad.is_empty())
    }

    /// The first token without which the declaration can be read; where several would do, that of which something was told.
    fn first(&self, tokens: &[&Token], left: &mut usize) -> Option<Stray> {
        let mut found: Vec<Stray> = Vec::new();
        let told = |t: &Token| self.errors.iter().any(|d| self.at(d) == t.place.start);
        for token in tokens {
            *left = left.saturating_sub(self.text.len());
            if *left == 0 {
                return None;
            }
            let place = &token.place;
            let (before, behind) = (&self.text[..place.start], &self.text[place.end..]);
            let written = &self.text[place.clone()];
            // `256,512` may be one value or two
            let separates = token.right.is_empty() || SEPARATORS.iter().any(|s| written.starts_with(*s));
            if separates && written.len() == 1 && splits(before, behind)
                || written == "=" && (lacks_value(before, behind) || lacks_name(before))
                || written == "=" && (lacks_flag(before, behind) || lacks_flag_behind(before, behind))
                || written == "\"" && (is_in_object(before) || self.lacks_a_quote(place.start, left))
                || is_between_changes(before, written, behind)
                || lacks_operand(before, written, behind)
                || written == "," && separates_from_nothing(before, behind)
                || written == "=" && quoted_parents::derives_from_a_text(self.file, before, behind)
                // `:=` is one sign, and stands for `=`
                || written == ":" && behind.starts_with('=')
            {
                continue;
            }
            let after = self.after(token);
            if flags_taken_away::any(&after, &token.place) || !self.reads(&after, &token.place) {
                continue;
            }
            let same = |s: &Stray| bare(&s.after) == bare(&after);
            if let Some(known) = found.iter_mut().find(|s| same(s)) {
                // of two that are the same the second one is too many
                if padded(&after) <= padded(&known.after) {
                    known.token = (*token).clone();
                    known.after = after;
                }
                continue;
            }
            found.push(Stray { token: (*token).clone(), after, opens: None, unsure: false });
        }
        let best = found.iter().position(|s| told(&s.token)).unwrap_or_default();
        let doubtful = |token: &Token| {
            let (at, behind) = (token.place.start, &self.text[token.place.end..]);
            // `={"name"` was to be an object
            let begins_json = self.text[token.place.clone()] == *"{"
                && self.text[..at].ends_with('=')
                && behind.trim_start().starts_with('"');
            token.right.is_empty() && (begins_json || may_group(self.text, at))
        };
        if let Some(apart) = as_alternatives(self.text, &found, best) {
            found[best].after = apart;
        }
        let unsure = found.len() > 1 || found.get(best).is_some_and(|s| doubtful(&s.token));
        (!found.is_empty()).then(|| Stray { unsure, ..found.swap_remove(best) })
    }

    /// `["3.0, "3.1"]`: whether the line of a quote can be read with another one at the end or the beginning of a word, so that none is too
    /// many.
    fn lacks_a_quote(&self, at: usize, left: &mut usize) -> bool {
        let line = Span::new(FileId::default(), at..at).line_in(self.text).range();
        let ends = |c: char| c.is_whitespace() || ",:]})".contains(c);
        let begins = |c: char| c.is_whitespace() || ",:[{(=".contains(c);
        let border = |at: &usize| {
            let (before, behind) = (&self.text[line.start..*at], &self.text[*at..line.end]);
            let ended = (behind.is_empty() || behind.starts_with(ends)) && !before.ends_with(begins);
            let begun = before.ends_with(begins) && behind.starts_with(char::is_alphanumeric);
            (ended || begun) && !before.ends_with('"') && !behind.starts_with('"')
        };
        let places = self.text[line.clone()].char_indices().map(|(n, _)| line.start + n).chain([line.end]);
        // in a long declaration nobody looks for all places: then it may lack one
        places.filter(border).any(|border| {
            *left = left.saturating_sub(self.text.len());
            let after = [&self.text[..border], "\"", &self.text[border..]].concat();
            *left == 0 || self.reads(&after, &line)
        })
    }

    /// The text with a token taken out or written otherwise. A space stands in its place, or before the word that it was part of.
    fn after(&self, token: &Token) -> String {
        let place = token.place.clone();
        let (before, behind) = (&self.text[..place.start], &self.text[place.end..]);
        if !token.right.is_empty() {
            return [before, token.right, behind].concat();
        }
        let room = " ".repeat(place.len());
        let start = before.trim_end_matches(|c: char| !c.is_whitespace()).len();
        if joins(before, behind) && !before[..start].is_empty() {
            return [&before[..start], &room, &before[start..], behind].concat();
        }
        [before, &room, behind].concat()
    }

    /// Whether a text is a declaration, and all else that is wrong with it stands in other lines and is less than was told.
    fn reads(&self, text: &str, place: &Range<usize>) -> bool {
        let Some(bad) = bad_lines(text) else { return false };
        let line = Span::new(FileId::default(), place.clone()).line_in(self.text).range();
        let beside = |l: &Range<usize>| l.start <= line.end && line.start <= l.end;
        !bad.iter().any(beside) && (bad.is_empty() || bad.len() + 1 < self.errors.len())
    }

    /// Where braces first close all that is open.
    fn first_end(&self) -> Option<usize> {
        let mut depth = 0_i64;
        Scanner::new(self.text).find_map(|(at, piece)| {
            match piece {
                Piece::Open(b'{') => depth += 1,
                Piece::Close(b'}') => depth -= 1,
                _ => return None,
            }
            (depth <= 0).then_some(at)
        })
    }

    /// What may be too many in the lines of the first mistakes, and in those above the place where braces first close all that is open.
    fn tokens(&self) -> Vec<Token> {
        let mut places: Vec<Range<usize>> = Vec::new();
        let ends = self.errors.iter().any(|d| d.code == Code::Unopened).then(|| self.first_end()).flatten();
        let told = self.errors.iter().take(MOST_LOOKED_AT).map(|d| self.at(d));
        for at in ends.into_iter().chain(told) {
            let line = Span::new(FileId::default(), at..at).line_in(self.text).range();
            if !places.contains(&line) && line.len() < LONGEST_LINE {
                places.push(line);
            }
            if places.len() == MOST_LINES {
                break;
            }
        }
        if let Some(at) = ends {
            let above = lines(&self.text[..at]).into_iter().rev().filter(|l| !l.is_empty()).skip(1);
            places.extend(above.filter(|l| l.len() < LONGEST_LINE).take(LINES_ABOVE));
        }
        let within = |l: &Range<usize>| {
            let mut tokens = tokens(&self.text[l.clone()]);
            for t in &mut tokens {
                t.place = t.place.start + l.start..t.place.end + l.start;
            }
            tokens
        };
        places.iter().flat_map(within).collect()
    }
}

/// The lines of declarations that cannot be read, if all declarations can.
fn bad_lines(text: &str) -> Option<Vec<Range<usize>>> {
    let mut bad = Vec::new();
    for pair in Grammar::parse(Rule::file, text).ok()?.flatten() {
        match pair.as_rule() {
            Rule::bad_item => return None,
            Rule::bad_line => bad.push(pair.as_span().start()..pair.as_span().end()),
            _ => {}
        }
    }
    Some(bad)
}

/// How many texts begin or end with a blank: nobody means one.
fn padded(text: &str) -> usize {
    let blank = |inner: &str| inner.starts_with(' ') || inner.ends_with(' ');
    let inner = |(at, piece): (usize, Piece)| match piece {
        Piece::Text(end) => text.get(at + 1..end - 1),
        _ => None,
    };
    Scanner::new(text).filter_map(inner).filter(|t| blank(t)).count()
}

/// A text without spaces.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
