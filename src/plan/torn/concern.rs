//! Which mistakes concern a study: those in it, in what it names, in what that names in its turn, and those of which nobody knows whom they
//! concern. A mistake in another engine's flag takes no doubt from a study that never runs it.

use foldhash::{HashSet, HashSetExt};

use super::extents::holds;
use crate::lang::Analysis;
use crate::lang::Diagnostic;
use crate::lang::sema::program::Study;
use crate::lang::syntax::ast::{self, Item};

/// A study, and the words of all that it leads to.
pub(super) struct Concern<'a> {
    items: &'a [Item],
    pub(super) study: &'a ast::Study,
    words: HashSet<&'a str>,
}

impl<'a> Concern<'a> {
    /// `None` of a study that stands in another file.
    pub(super) fn of(analysis: &'a Analysis, study: &Study) -> Option<Self> {
        let items = analysis.modules.root().file.items.as_slice();
        let mut studies = items.iter().filter_map(|i| if let Item::Study(s) = i { Some(s) } else { None });
        let own = studies.find(|s| s.name.span == study.span)?;
        let text = analysis.modules.root_text();
        let mut words = HashSet::new();
        add(&mut words, text.get(own.span.range()).unwrap_or_default());
        let mut left: Vec<&Item> = items.iter().filter(|i| name(i).is_some()).collect();
        loop {
            let (named, others): (Vec<&Item>, Vec<&Item>) =
                left.into_iter().partition(|i| name(i).is_some_and(|n| words.contains(n)));
            if named.is_empty() {
                break;
            }
            for item in named {
                add(&mut words, text.get(item.span().range()).unwrap_or_default());
            }
            left = others;
        }
        Some(Self { items, study: own, words })
    }

    pub(super) fn has(&self, error: &Diagnostic) -> bool {
        match self.items.iter().find(|i| holds(i.span(), error.span)) {
            Some(Item::Study(study)) => study.span == self.study.span,
            Some(item) => name(item).is_none_or(|n| self.words.contains(n)),
            None => true,
        }
    }
}

fn add<'a>(words: &mut HashSet<&'a str>, text: &'a str) {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    words.extend(text.split(|c| !in_word(c)).filter(|w| !w.is_empty()));
}

/// The name of an item that concerns those alone who name it. Rules, imports and sites concern each study.
fn name(item: &Item) -> Option<&str> {
    match item {
        Item::Engine(i) => Some(&i.name.value),
        Item::Axis(i) => Some(&i.name.value),
        Item::Profile(i) => Some(&i.name.value),
        Item::Metric(i) => Some(&i.name.value),
        _ => None,
    }
}
