//! A block under the keyword of another one: `engine lab { baseline v … }` is a study. It is told once, at the keyword, and read as what it is.

use pest::iterators::Pair;

use super::{Builder, kids};
use crate::lang::syntax::ast::Item;
use crate::lang::syntax::blocks::{Block, first_word};
use crate::lang::syntax::grammar::Rule;
use crate::lang::syntax::headless::{kind_of, of_another_kind};
use crate::lang::syntax::reread::{renamed, reread_within};
use crate::lang::syntax::words;

impl Builder<'_, '_> {
    /// The declaration that was meant, if most of what stands in a block is of another kind, and nothing of its own.
    pub(super) fn miscalled(&mut self, pair: &Pair<'_, Rule>) -> Option<Item> {
        let own = match pair.as_rule() {
            Rule::engine => Block::Engine,
            Rule::profile => Block::Profile,
            Rule::study => Block::Study,
            Rule::site => Block::Site,
            _ => return None,
        };
        let (bad, good): (Vec<_>, Vec<_>) =
            kids(pair.clone()).filter(is_line).partition(|line| line.as_rule() == Rule::bad_line);
        if bad.len() < 2 {
            return None;
        }
        let text = pair.as_str();
        let head = &text[..text.find('{')?];
        let kind = kind_of(&text[head.len() + 1..])?;
        let meant = match kind {
            "study" if !head.contains('=') => Block::Study,
            "engine" => Block::Engine,
            "profile" => Block::Profile,
            _ => return None,
        };
        let known = |line: &Pair<'_, Rule>| {
            let word = first_word(line.as_str());
            line.as_str().starts_with('-') && meant == Block::Engine || meant.settings().1.contains(&word)
        };
        if own == meant || !bad.iter().chain(&good).all(known) {
            return None;
        }
        let at = self.base + pair.as_span().start();
        let found = of_another_kind(self.id, at, text, kind)?;
        let (mended, base) = renamed(&found, at, text, words::DECLARATIONS)?;
        self.sink.push(found);
        let mut broken = Vec::new();
        let item = reread_within(at..usize::MAX, self.id, &mended, base, self.sink, &mut broken);
        self.broken.extend(broken);
        item
    }
}

/// Whether a part of a block is one of its lines.
fn is_line(pair: &Pair<'_, Rule>) -> bool {
    let head = [Rule::k_engine, Rule::k_profile, Rule::k_study, Rule::k_site, Rule::name, Rule::string];
    !head.contains(&pair.as_rule())
}
