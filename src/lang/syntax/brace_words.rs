//! Words and signs that stand for a brace, as blocks begin and end in other languages: `step a begin vary x }`, `profile p do`,
//! `step a { vary x end`. The brace is read in their place.

use std::ops::Range;

use pest::Parser;

use super::blocks::{Block, first_word};
use super::grammar::{Grammar, Rule};
use super::lexical::{depth, opens_brace};
use super::nesting::{code, indent};
use super::tokens::{SEPARATORS, pieces};
use super::twice::lines;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, Expected, Sink};
use crate::lang::source::{FileId, Span};

/// Nobody writes more of them; each is looked at in the whole file.
const MOST: usize = 64;
/// Words that begin a block elsewhere, however they are spelled: another one with a capital letter may be a title without its quotes.
const BEGIN: [&str; 5] = ["begin", "do", "then", "start", "is"];
/// Words that end a block elsewhere.
pub(super) const END: [&str; 10] =
    ["end", "done", "fi", "od", "endif", "endfor", "enddo", "endstep", "finish", "close"];

/// The text with those braces, all else in its place; what stands for them is told.
pub(super) fn as_braces(id: FileId, text: &mut String, sink: &mut Sink) {
    let mut left = MOST;
    // a block that one opens may be closed by what looks like the end of another
    for brace in ["{", "}"] {
        for (n, place) in lines(text).into_iter().enumerate() {
            let line = code(&text[place.clone()]).to_owned();
            let Some(head) = Head::of(&line).filter(|_| left > 0) else { continue };
            let found = match brace {
                "{" => head.begun_within(text).or_else(|| head.begun_below(text, n)),
                _ => head.ended(text, n),
            };
            let Some(at) = found else { continue };
            left -= 1;
            let at = at.start + place.start..at.end + place.start;
            sink.push(told(id, text, &at, brace));
            let spaces = " ".repeat(at.len() - 1);
            text.replace_range(at, &format!("{brace}{spaces}"));
        }
    }
}

fn told(id: FileId, text: &str, at: &Range<usize>, brace: &str) -> Diagnostic {
    let (span, written) = (Span::new(id, at.clone()), &text[at.clone()]);
    let d = Diagnostic::new(Code::Unexpected, span, format!("`{written}` was not expected here"));
    let d = d.about(About::Expected(Expected::sign(brace))).label(format!("expected `{brace}`"));
    let what = if brace == "{" { "begins" } else { "ends" };
    let glued = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
    let before = if glued(text[..at.start].chars().next_back()) { " " } else { "" };
    let behind = if glued(text[at.end..].chars().next()) { " " } else { "" };
    d.help(format!("a block {what} with `{brace}`: write that"))
        .edit(span, format!("{before}{brace}{behind}"))
}

/// A line that begins a block.
struct Head<'a> {
    line: &'a str,
    keyword: &'a str,
    tokens: Vec<Range<usize>>,
}

impl<'a> Head<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let keyword = first_word(line.trim_start());
        let known: &[&str] =
            if indent(line) == 0 { &["study", "engine", "profile", "site"] } else { &["step", "track"] };
        // a quote without its other half hides what is a word
        if !known.contains(&keyword) || line.matches('"').count() % 2 == 1 {
            return None;
        }
        Some(Self { line, keyword, tokens: pieces(line, line.len(), false) })
    }

    fn settings(&self) -> &'static [&'static str] {
        let block = match self.keyword {
            "study" => Block::Study,
            "engine" => Block::Engine,
            "profile" => Block::Profile,
            "site" => Block::Site,
            "track" => Block::Track,
            _ => Block::Step,
        };
        block.settings().1
    }

    /// Whether a text begins a line of the block.
    fn sets(&self, text: &str) -> bool {
        let word = first_word(text);
        self.settings().contains(&word) && text[word.len()..].starts_with([' ', '\t'])
            || self.keyword == "engine" && text.starts_with("--")
    }

    /// Whether a text is the first line of the block, without its brace.
    fn is_head(&self, text: &str) -> bool {
        let rule =
            if matches!(self.keyword, "step" | "track") { Rule::only_study_line } else { Rule::only_item };
        Grammar::parse(rule, &format!("{} {{ }}", text.trim_start())).is_ok()
    }

    /// `step a begin vary x }`: what stands before the first setting of a line that closes a block and opens none before it.
    fn begun_within(&self, text: &str) -> Option<Range<usize>> {
        let first = self.tokens.iter().skip(2).position(|t| self.sets(&self.line[t.start..]))? + 2;
        let before = &self.line[..self.tokens[first].start];
        if opens_brace(before) || depth(self.line) != -1 {
            return None;
        }
        self.sign(text, first)
    }

    /// `profile p begin` above its lines, which a `}` below them ends.
    fn begun_below(&self, text: &str, n: usize) -> Option<Range<usize>> {
        let all = lines(text);
        let column = indent(self.line);
        let mut below = all[n + 1..].iter().map(|l| code(&text[l.clone()])).filter(|l| !l.trim().is_empty());
        let begins = below.next().is_some_and(|l| indent(l) > column && self.sets(l.trim_start()));
        let ends = begins
            && below.find(|l| indent(l) <= column).is_some_and(|l| indent(l) == column && l.trim() == "}");
        // a colon is told of as that of a block in YAML
        let colon = self.line.ends_with(':');
        if !ends || opens_brace(self.line) || colon || self.line.ends_with(['(', '[', ')', ']', '}']) {
            return None;
        }
        self.sign(text, self.tokens.len())
    }

    /// What stands for the brace before a token: a word, or signs side by side, with or without the word that they are glued to. The rest is
    /// the first line of a block, and with it that would be none.
    fn sign(&self, text: &str, end: usize) -> Option<Range<usize>> {
        let last = self.tokens[..end].last()?.clone();
        let is_sign = |t: &Range<usize>| {
            let written = &self.line[t.clone()];
            written.chars().all(|c| SEPARATORS.contains(&c) || !c.is_ascii() && !c.is_alphanumeric())
        };
        let mut found = vec![last.clone()];
        let mut start = last.start;
        for t in self.tokens[..end].iter().rev().skip(1).take_while(|_| is_sign(&last)) {
            if t.end != start {
                break;
            }
            start = t.start;
            found.push(start..last.end);
            if !is_sign(t) {
                break;
            }
        }
        let may_stand = |t: &Range<usize>| {
            let written = &self.line[t.clone()];
            let word = written.trim_end_matches(|c: char| !c.is_alphanumeric());
            // of `engine mine vllm` the sign before what it derives from may be missing too
            let begins = BEGIN.contains(&word.to_ascii_lowercase().as_str());
            let derived = self.derives() && !self.line.contains('=');
            let lower = begins || word.starts_with(|c: char| c.is_ascii_lowercase()) && !derived;
            let named = !word.is_empty() && is_declared(text, word);
            (word.is_empty() && written != "=" || lower && !named || written == "=" && !self.derives())
                && !written.contains(['"', '{', '}'])
        };
        found.into_iter().rev().find(|t| {
            may_stand(t) && self.is_head(&self.line[..t.start]) && !self.is_head(&self.line[..t.end])
        })
    }

    fn derives(&self) -> bool {
        matches!(self.keyword, "engine" | "profile")
    }

    /// `step a { vary x end`: the last word of a line that opens a block, where the lines below are none of it and the brace is missing.
    fn ended(&self, text: &str, n: usize) -> Option<Range<usize>> {
        let last = self.tokens.last()?.clone();
        let word = &self.line[last.clone()];
        let all = lines(text);
        let mut below = all[n + 1..].iter().map(|l| code(&text[l.clone()])).filter(|l| !l.trim().is_empty());
        let goes_on = below.next().is_some_and(|l| indent(l) > indent(self.line));
        let begun = self.line[..last.start]
            .find('{')
            .is_some_and(|at| at + 1 < self.line[..last.start].trim_end().len());
        if !begun || goes_on || depth(self.line) != 1 || depth(text) <= 0 {
            return None;
        }
        let plain = word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.bytes().all(|b| b.is_ascii_alphanumeric());
        let sign = matches!(word, ">" | ";" | ":");
        let known = END.contains(&word.to_ascii_lowercase().as_str());
        let reads = |line: &str| {
            let rule = if matches!(self.keyword, "step" | "track") {
                Rule::only_study_line
            } else {
                Rule::only_item
            };
            Grammar::parse(rule, line.trim_start())
                .is_ok_and(|pairs| pairs.flatten().all(|p| p.as_rule() != Rule::bad_line))
        };
        let meant = known
            || (sign || plain && !is_declared(text, word))
                && reads(&format!("{} }}", &self.line[..last.start]))
                && !reads(&format!("{} }}", self.line));
        meant.then_some(last)
    }
}

/// Whether something of a file is called so: what is declared or imported.
fn is_declared(text: &str, name: &str) -> bool {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.lines().map(str::trim_start).any(|line| {
        let mut words = line.split(|c| !in_name(c)).filter(|w| !w.is_empty());
        match words.next() {
            Some("use") => words.any(|w| w == name),
            Some("engine" | "profile" | "axis" | "step" | "metric" | "param") => words.next() == Some(name),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> (String, usize) {
        let (mut right, mut sink) = (text.to_owned(), Sink::default());
        as_braces(FileId(0), &mut right, &mut sink);
        assert_eq!(right.len(), text.len());
        (right, sink.found().count())
    }

    #[test]
    fn what_stands_for_a_brace_is_one() {
        for (text, right) in [
            ("study s {\n    step a begin vary x }\n}\n", "study s {\n    step a {     vary x }\n}\n"),
            ("study s {\n    step a: vary x }\n}\n", "study s {\n    step a{ vary x }\n}\n"),
            ("study s {\n    step a \"A\" => vary x }\n}\n", "study s {\n    step a \"A\" {  vary x }\n}\n"),
            ("study s {\n    step a { vary x end\n}\n", "study s {\n    step a { vary x }  \n}\n"),
            ("profile p begin\n    data random\n}\n", "profile p {    \n    data random\n}\n"),
            ("engine v = vllm with\n    --x=1\n}\n", "engine v = vllm {   \n    --x=1\n}\n"),
        ] {
            assert_eq!(mended(text), (right.to_owned(), 1), "{text}");
        }
    }

    #[test]
    fn what_may_be_something_else_stays() {
        for text in [
            "study s {\n    step a vary x }\n}\n",
            "study s {\n    step a from b vary x }\n}\n",
            "engine v = vllm {\n}\nengine w v\n    version \"1\"\n}\n",
            "study s Which\n    gpus 1\n}\n",
            "study s {\n    step a { vary x by grid\n}\n",
            "study s {\n    step a when p50(tpot) >\n        1ms { vary x }\n}\n",
        ] {
            assert_eq!(mended(text), (text.to_owned(), 0), "{text}");
        }
    }
}
