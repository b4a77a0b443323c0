//! Profiles, metrics and rules.

use pest::iterators::Pair;

use super::{Builder, kids, skip};
use crate::lang::source::Spanned;
use crate::lang::syntax::ast::{Metric, Profile, Prune, WordLine, WordValue};
use crate::lang::syntax::blocks::Block;
use crate::lang::syntax::grammar::Rule;

impl<'a> Builder<'a, '_> {
    pub(super) fn profile(&mut self, pair: Pair<'a, Rule>) -> Option<Profile> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_profile);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        let parent = self.maybe_name(&mut k);
        let (lines, unread) = self.lines(k, Block::Profile, |b, line| b.word_line(line));
        Some(Profile { name, title, parent, lines, unread, span })
    }

    pub(super) fn word_line(&self, pair: Pair<'a, Rule>) -> Option<WordLine> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        let word = self.maybe_name(&mut k)?;
        let first = k.next()?;
        let value = match first.as_rule() {
            Rule::range => WordValue::Range(self.range(first)?),
            Rule::number => {
                let mut all = vec![self.number(&first)];
                all.extend(k.map(|p| self.number(&p)));
                WordValue::Numbers(all)
            }
            Rule::bool => {
                WordValue::Bool(Spanned { value: first.as_str() == "true", span: self.span(&first) })
            }
            Rule::string => WordValue::Text(self.text(&first)),
            Rule::json => {
                WordValue::Json(Spanned { value: first.as_str().to_owned(), span: self.span(&first) })
            }
            _ => {
                WordValue::Word { word: self.name(&first), argument: k.next().and_then(|p| self.literal(&p)) }
            }
        };
        Some(WordLine { word, value, span })
    }

    pub(super) fn metric(&mut self, pair: Pair<'a, Rule>) -> Option<Metric> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_metric);
        let name = self.maybe_name(&mut k)?;
        let title = self.maybe_text(&mut k);
        Some(Metric { name, title, expr: self.whole_expr(k.next()?)?, span })
    }

    pub(super) fn prune(&mut self, pair: Pair<'a, Rule>) -> Option<Prune> {
        let span = self.span(&pair);
        let mut k = kids(pair);
        skip(&mut k, Rule::k_prune);
        let name = self.maybe_name(&mut k)?;
        let reason = self.maybe_text(&mut k)?;
        skip(&mut k, Rule::k_when);
        let when = self.whole_expr(k.next()?)?;
        let after =
            k.next().and_then(|a| kids(a).find(|p| p.as_rule() == Rule::number)).map(|p| self.number(&p));
        Some(Prune { name, reason, when, after, span })
    }
}
