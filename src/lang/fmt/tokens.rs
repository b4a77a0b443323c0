//! A file as a flat list: every token and comment in its order, with what spacing must know of the rule it stands in.
//!
//! The parser's tree leaves signs and spaces between its pairs unnamed; here they are named. JSON is one token, as its spelling is kept.

use pest::iterators::Pair;

use super::spacing::{self, Glue};
use crate::lang::syntax::grammar::Rule;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Word,
    Sign,
    Json,
    Comment,
}

/// One token.
#[derive(Debug, Clone)]
pub struct Token<'a> {
    pub text: &'a str,
    /// the byte at which it begins; a comma that moved before comments has their place
    pub start: usize,
    pub what: What,
    /// how many line ends stand before it
    pub breaks: usize,
    pub glue: Glue,
    /// a line may end after it; the lower, the better
    pub end: Option<u8>,
}

struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    input: &'a str,
    /// the end of the last token, as written
    at: usize,
    /// open parentheses and square brackets: inside them a line ends less gladly
    depth: u8,
}

/// All tokens of a file; nothing if it holds what no rule took.
pub fn tokens<'a>(root: &Pair<'a, Rule>) -> Option<Vec<Token<'a>>> {
    let mut reader = Reader { tokens: Vec::new(), input: root.get_input(), at: 0, depth: 0 };
    reader.pair(root.clone(), Rule::file)?;
    Some(reader.tokens)
}

impl<'a> Reader<'a> {
    fn pair(&mut self, pair: Pair<'a, Rule>, parent: Rule) -> Option<()> {
        let (rule, span) = (pair.as_rule(), pair.as_span());
        match rule {
            Rule::bad_item | Rule::bad_line => return None,
            Rule::EOI => return Some(()),
            Rule::COMMENT => self.push(span.as_str().trim_end(), span.start(), What::Comment, rule, parent),
            Rule::json => self.push(span.as_str(), span.start(), What::Json, rule, parent),
            _ => {
                let mut kids = pair.into_inner().peekable();
                if kids.peek().is_none() && rule != Rule::file {
                    self.push(span.as_str().trim_end(), span.start(), What::Word, rule, parent);
                } else {
                    for kid in kids {
                        self.signs(kid.as_span().start(), rule, parent);
                        self.may_end_before(kid.as_rule(), rule);
                        self.pair(kid, rule)?;
                    }
                    self.signs(span.end(), rule, parent);
                }
            }
        }
        Some(())
    }

    /// The signs up to a place, which belong to `rule`.
    fn signs(&mut self, to: usize, rule: Rule, parent: Rule) {
        while self.at < to {
            let gap = &self.input[self.at..to];
            let sign = gap.trim_start();
            let Some(first) = sign.chars().next() else { break };
            let start = to - sign.len();
            let len = if sign.starts_with("..") || sign.starts_with(">=") { 2 } else { first.len_utf8() };
            self.push(&sign[..len], start, What::Sign, rule, parent);
        }
    }

    fn push(&mut self, text: &'a str, start: usize, what: What, rule: Rule, parent: Rule) {
        let breaks = line_ends(&self.input[self.at.min(start)..start]);
        self.at = start + text.len();
        if what == What::Sign && matches!(text, ")" | "]") {
            self.depth = self.depth.saturating_sub(1);
        }
        let glue = spacing::glue(text, what, rule, parent);
        let end =
            spacing::line_end(text, what, rule, parent).map(|level| level.saturating_add(self.depth * 4));
        if what == What::Sign && matches!(text, "(" | "[") {
            self.depth = self.depth.saturating_add(1).min(50);
        }
        let token = Token { text, start, what, breaks, glue, end };
        if text == "," && what == What::Sign {
            self.push_comma(token);
        } else {
            self.tokens.push(token);
        }
    }

    /// A point's changes may stand on lines of their own.
    fn may_end_before(&mut self, kid: Rule, rule: Rule) {
        if (kid, rule) != (Rule::point_change, Rule::point) {
            return;
        }
        if let Some(last) = self.tokens.iter_mut().rfind(|t| t.what != What::Comment) {
            last.end = Some(spacing::BEFORE_CHANGE);
        }
    }

    /// A comma stands before the comments that parted it from what it ends.
    fn push_comma(&mut self, mut comma: Token<'a>) {
        let comments = self.tokens.iter().rev().take_while(|t| t.what == What::Comment).count();
        let at = self.tokens.len() - comments;
        if let Some(first) = self.tokens.get(at) {
            comma.start = first.start;
            comma.breaks = 0;
        }
        self.tokens.insert(at, comma);
    }
}

/// Line ends in a gap: `\n`, `\r\n` or a lone `\r`.
fn line_ends(gap: &str) -> usize {
    gap.matches('\n').count() + gap.matches('\r').count() - gap.matches("\r\n").count()
}
