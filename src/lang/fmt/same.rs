//! Whether two texts are the same file: the same tree, tokens and comments, whatever the spaces between them.

use pest::Parser;
use pest::iterators::Pair;

use crate::lang::syntax::grammar::{Grammar, Rule};

/// Compares; the error says what differs.
pub fn check(before: &str, after: &str) -> Result<(), String> {
    let (before, after) = (Outline::of(before)?, Outline::of(after)?);
    compare(&before.tree, &after.tree)?;
    compare(&before.comments, &after.comments)
}

fn compare(before: &[(Rule, &str)], after: &[(Rule, &str)]) -> Result<(), String> {
    let differs = before.iter().zip(after).find(|(a, b)| a != b).map(|(a, _)| a);
    match differs.or_else(|| before.get(after.len())).or_else(|| after.get(before.len())) {
        Some((_, text)) => Err(format!("it differs at `{}`", text.chars().take(40).collect::<String>())),
        None => Ok(()),
    }
}

/// Every rule and sign in order, and the comments apart, as a comma may move before one.
#[derive(Default)]
struct Outline<'a> {
    tree: Vec<(Rule, &'a str)>,
    comments: Vec<(Rule, &'a str)>,
}

impl<'a> Outline<'a> {
    fn of(text: &'a str) -> Result<Self, String> {
        let pairs = Grammar::parse(Rule::file, text).map_err(|_| "it cannot be read".to_owned())?;
        let mut outline = Self::default();
        for pair in pairs {
            outline.pair(pair);
        }
        Ok(outline)
    }

    fn pair(&mut self, pair: Pair<'a, Rule>) {
        let (rule, span) = (pair.as_rule(), pair.as_span());
        let mut kids = pair.into_inner().peekable();
        if rule == Rule::COMMENT {
            self.comments.push((rule, span.as_str().trim_end()));
        } else if rule == Rule::EOI {
            // where the last line does not end, it is found twice
        } else if kids.peek().is_none() {
            self.tree.push((rule, span.as_str().trim()));
        } else {
            self.tree.push((rule, ""));
            let mut at = span.start();
            for kid in kids {
                self.signs(rule, span.get_input(), at..kid.as_span().start());
                at = kid.as_span().end();
                self.pair(kid);
            }
            self.signs(rule, span.get_input(), at..span.end());
        }
    }

    /// What a rule writes between its parts.
    fn signs(&mut self, rule: Rule, input: &'a str, gap: std::ops::Range<usize>) {
        let gap = &input[gap];
        let signs = gap.char_indices().filter(|(_, c)| !c.is_whitespace());
        self.tree.extend(signs.map(|(at, c)| (rule, &gap[at..at + c.len_utf8()])));
    }
}
