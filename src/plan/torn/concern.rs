//! Which mistakes concern a study: those in it, in what it names, in what that names in its turn, and those of which nobody knows whom they
//! concern. A mistake in another engine's flag takes no doubt from a study that never runs it.

use foldhash::{HashSet, HashSetExt};

use super::extents::holds;
use crate::lang::Analysis;
use crate::lang::Diagnostic;
use crate::lang::codes::Code;
use crate::lang::diag::About;
use crate::lang::sema::program::Study;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, Item, StudyLineKind};

/// A study, or what of it stands outside of all tracks but one; and the words of all that it leads to.
pub(super) struct Concern<'a> {
    items: &'a [Item],
    pub(super) study: &'a ast::Study,
    /// the other tracks
    others: Vec<Span>,
    words: HashSet<&'a str>,
}

impl<'a> Concern<'a> {
    /// `None` of a study that stands in another file.
    pub(super) fn of(analysis: &'a Analysis, study: &Study, track: Option<&str>) -> Option<Self> {
        let items = analysis.modules.root().file.items.as_slice();
        let mut studies = items.iter().filter_map(|i| if let Item::Study(s) = i { Some(s) } else { None });
        let own = studies.find(|s| s.name.span == study.span)?;
        let text = analysis.modules.root_text();
        let is_other = |line: &&ast::StudyLine| match (&line.kind, track) {
            (StudyLineKind::Track(other), Some(track)) => other.engine.value != track,
            _ => false,
        };
        let others: Vec<Span> = own.lines.iter().filter(is_other).map(|l| l.span).collect();
        let mut words = HashSet::new();
        let mut from = own.span.start;
        for other in &others {
            add(&mut words, text.get(from as usize..other.start as usize).unwrap_or_default());
            from = other.end;
        }
        add(&mut words, text.get(from as usize..own.span.end as usize).unwrap_or_default());
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
        Some(Self { items, study: own, others, words })
    }

    /// Whether a place is in another track.
    pub(super) fn is_apart(&self, place: Span) -> bool {
        self.others.iter().any(|o| holds(*o, place))
    }

    pub(super) fn has(&self, error: &Diagnostic) -> bool {
        // one engine that is too large for several studies is told of in the first, a name that is missing where another stands twice
        let elsewhere = matches!(error.code, Code::TooManyGpus | Code::DeclaredTwice);
        let here = |at: &Span| holds(self.study.span, *at) && !self.is_apart(*at);
        if elsewhere && error.related.iter().any(|(at, _)| here(at)) {
            return true;
        }
        // what has no name may be what the study names
        let nameless = error.about.expected().name || error.about == About::NoName;
        match Item::at(self.items, error.span) {
            Some(Item::Study(study)) => study.span == self.study.span && !self.is_apart(error.span),
            Some(item) => nameless || name(item).is_none_or(|n| self.words.contains(n)),
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
