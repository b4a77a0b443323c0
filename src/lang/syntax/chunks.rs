//! The parts of a text that no rule took, each with what it can only have been: whatever else is wrong around a statement, it is judged by
//! itself.

use std::ops::Range;

use pest::Parser;
use pest::iterators::Pair;

use super::blocks::{Block, first_word};
use super::grammar::{Grammar, Rule};
use super::lexical::depth;
use super::twice::lines;
use super::{expected, parts, words};
use crate::lang::comments::start_of_comment;
use crate::lang::source::{FileId, Span};

/// A statement that could not be read.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) place: Range<usize>,
    /// what it may have been
    rules: &'static [Rule],
    /// a first line alone, whose block is read as an empty one
    is_head: bool,
}

/// What a line within a block that is torn may have been; a line of a profile says too little of itself.
const LINES: &[Rule] =
    &[Rule::only_study_line, Rule::only_step_line, Rule::only_engine_line, Rule::only_site_line];

/// All that could not be read.
pub(super) fn unread(text: &str) -> Vec<Chunk> {
    let mut found = Vec::new();
    if let Some(file) = Grammar::parse(Rule::file, text).ok().and_then(|mut pairs| pairs.next()) {
        for pair in file.into_inner() {
            if pair.as_rule() == Rule::bad_item {
                of_item(text, pair.as_span().start()..pair.as_span().end(), &mut found);
            } else {
                of_block(&pair, &mut found);
            }
        }
    }
    found
}

/// The bad lines of a block, and those of the blocks in it.
fn of_block(pair: &Pair<Rule>, found: &mut Vec<Chunk>) {
    let rules: &[Rule] = match pair.as_rule() {
        Rule::engine => &[Rule::only_engine_line],
        Rule::profile => &[Rule::only_word_line],
        Rule::study => &[Rule::only_study_line],
        Rule::track => &[Rule::only_track_line],
        Rule::step => &[Rule::only_step_line],
        Rule::site => &[Rule::only_site_line],
        _ => return,
    };
    for inner in pair.clone().into_inner() {
        if inner.as_rule() == Rule::bad_line {
            let start = inner.as_span().start();
            let place = start..start + inner.as_str().trim_end().len();
            found.push(Chunk { place, rules, is_head: false });
        } else {
            of_block(&inner, found);
        }
    }
}

/// A bad declaration as a whole, and its lines, each of which may be the bad one.
fn of_item(text: &str, place: Range<usize>, found: &mut Vec<Chunk>) {
    for part in parts::parts(text, Span::new(FileId::default(), place)) {
        let (start, part) = (part.range().start, &text[part.range()]);
        // what is white to Unicode alone is no statement
        if part.trim().is_empty() {
            continue;
        }
        let whole = start + part.len() - part.trim_start().len()..start + part.trim_end().len();
        found.push(Chunk { place: whole, rules: &[Rule::only_item], is_head: false });
        for line in lines(part) {
            let line = &part[line.start..line.end];
            let start = start + offset(part, line);
            let code = line[..start_of_comment(line).unwrap_or(line.len())].trim_end();
            let indent = code.len() - code.trim_start().len();
            let rules: &[Rule] = match (indent, first_word(code.trim_start())) {
                (0, _) => &[Rule::only_item],
                (_, word) if words::PROFILE_SETTINGS.contains(&word) => &[Rule::only_word_line],
                _ => LINES,
            };
            if !code.trim().is_empty() {
                let place = start + indent..start + code.len();
                found.push(Chunk { place, rules, is_head: is_head(code) });
            }
        }
    }
}

fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Whether a line ends with the brace of a block that goes on below it.
fn is_head(line: &str) -> bool {
    line.ends_with('{') && depth(line) == 1
}

impl Chunk {
    /// Whether it is a line of one setting, of which nearly any word may be the name.
    pub(super) fn is_of_a_profile(&self) -> bool {
        self.rules == [Block::Profile.rule()]
    }

    /// Whether a text in its place can be read.
    pub(super) fn reads(&self, text: &str) -> bool {
        let whole = self.whole(text);
        self.rules.iter().any(|rule| Grammar::parse(*rule, &whole).is_ok())
    }

    /// The same, where nothing that reaches into a place or begins right behind it is another mistake.
    pub(super) fn reads_at(&self, text: &str, place: &Range<usize>) -> bool {
        let whole = self.whole(text);
        let end = whole.len() - whole[place.end..].trim_start().len();
        // a line that begins with its word may have a mistake of its own
        let own = |line: &str| {
            let word = first_word(line);
            words::STUDY_SETTINGS.contains(&word) || words::STEP_SETTINGS.contains(&word)
        };
        let bad = |pair: &Pair<Rule>| {
            let at = pair.as_span().start();
            let reaches_in = at < place.end && pair.as_span().end() > place.start;
            pair.as_rule() == Rule::bad_line
                && (reaches_in || at >= place.start && at == end && !own(pair.as_str()))
        };
        let read =
            |rule: &Rule| Grammar::parse(*rule, &whole).is_ok_and(|pairs| !pairs.flatten().any(|p| bad(&p)));
        self.rules.iter().any(read)
    }

    /// Whether a text can be read in its place where nothing goes on below it.
    pub(super) fn reads_alone(&self, text: &str) -> bool {
        self.rules.iter().any(|rule| Grammar::parse(*rule, text.trim_end()).is_ok())
    }

    /// How far a text in its place can be read; `None` where all of it can be.
    pub(super) fn stop(&self, text: &str) -> Option<usize> {
        let whole = self.whole(text);
        let stops: Option<Vec<usize>> =
            self.rules.iter().map(|rule| Some(expected::stop(*rule, &whole)?.0)).collect();
        stops?.into_iter().max()
    }

    fn whole(&self, text: &str) -> String {
        if self.is_head { format!("{text}\n}}") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_torn_is_looked_at_line_by_line() {
        let text = "study s {\n    model model \"a\"\n    step a { b\n}\naxis b = --x\n";
        let found: Vec<&str> = unread(text).into_iter().map(|c| &text[c.place]).collect();
        assert_eq!(
            found,
            [
                text[..text.len() - "\naxis b = --x\n".len()].trim_end(),
                "study s {",
                "model model \"a\"",
                "step a { b",
                "}"
            ]
        );
    }

    #[test]
    fn a_line_of_a_block_is_read_by_the_rule_of_the_block() {
        let text = "study s {\n    step a { vary b\n  varies c }\n    note note \"a\"\n}\n";
        let found = unread(text);
        assert_eq!(
            found.iter().map(|c| &text[c.place.clone()]).collect::<Vec<_>>(),
            ["varies c", "note note \"a\""]
        );
        assert!(found[1].reads("note \"a\"") && !found[0].reads("note a"));
        assert_eq!(found[1].stop("note note \"a\""), Some("note ".len()));
    }
}
