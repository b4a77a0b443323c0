//! Names that nothing declares beside declarations that lost theirs: each of those accounts for one name, and not for all that are unknown.

use foldhash::{HashSet, HashSetExt};

use super::check::Checker;
use super::scope::Kind;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::FileId;
use crate::lang::syntax::{DECLARATIONS, any_of};

/// A name that nothing declares, and all that was told of it.
struct Unknown {
    file: FileId,
    /// which declarations may have lost it
    of: String,
    name: String,
    told: Vec<Diagnostic>,
}

impl Unknown {
    /// How many slips make it the name that it is nearest to.
    fn slips(&self) -> Option<usize> {
        let suggested = self.told.iter().flat_map(|d| &d.suggested);
        suggested.map(|known| strsim::damerau_levenshtein(known, &self.name)).min()
    }

    /// Whether it is one letter from a name. Of two or three letters another one makes another name.
    fn is_near(&self) -> bool {
        self.name.len() > 3 && self.slips() == Some(1)
    }

    /// The same of a name that stands nowhere but where it is declared.
    fn is_slip(&self, idle: &HashSet<&str>) -> bool {
        let mut suggested = self.told.iter().flat_map(|d| &d.suggested);
        self.is_near() && suggested.any(|known| idle.contains(known.as_str()))
    }
}

impl Checker<'_> {
    /// Tells of names that no declaration without a name accounts for: those that are nearest to known ones, where there are more of them
    /// than such declarations.
    pub(super) fn names_beyond_lost_ones(&mut self) {
        let mut all: Vec<Unknown> = Vec::new();
        for d in self.sink.take_supposed() {
            let (kind, name) = match &d.about {
                About::Missing { kind, name, .. } => (*kind, name),
                About::MissingBase { name } => (Kind::Engine, name),
                _ => continue,
            };
            let (file, of) = (d.span.file, any_of(kind.word()));
            match all.iter_mut().find(|u| u.file == file && u.of == of && u.name == *name) {
                Some(known) => known.told.push(d),
                None => all.push(Unknown { file, of, name: name.clone(), told: vec![d] }),
            }
        }
        while let Some(first) = all.first() {
            let (file, of) = (first.file, first.of.clone());
            let (mut group, rest): (Vec<Unknown>, Vec<Unknown>) =
                all.into_iter().partition(|u| u.file == file && u.of == of);
            all = rest;
            let beyond = group.len().saturating_sub(self.nameless(file, &of));
            let order = |u: &Unknown| u.slips().unwrap_or(usize::MAX);
            group.sort_by_key(order);
            let idle = group.iter().any(Unknown::is_near).then(|| words_once(self.modules.text_of(file)));
            // of two that are as near nobody knows which
            let limit = group.get(beyond).map_or(usize::MAX, order);
            let told = group.into_iter().enumerate().filter(|(n, u)| {
                *n < beyond && order(u) < limit || idle.as_ref().is_some_and(|idle| u.is_slip(idle))
            });
            let told: Vec<Unknown> = told.map(|(_, u)| u).collect();
            told.into_iter().flat_map(|u| u.told).for_each(|d| self.sink.push(d));
        }
    }

    /// How many declarations of such a kind may have lost their names: one at least.
    fn nameless(&self, file: FileId, of: &str) -> usize {
        let text = self.modules.text_of(file);
        let lost_its_name = |line: &str| {
            let word = line.split([' ', '\t']).next().unwrap_or_default();
            let named = line[word.len()..].trim_start().starts_with(|c: char| c.is_ascii_lowercase());
            let may_be_of = !DECLARATIONS.contains(&word) || any_of(word) == of && !named;
            may_be_of && !line.starts_with([' ', '\t'])
        };
        let unread = |d: &&Diagnostic| d.span.file == file && d.code.id().starts_with("E1");
        let lines = self.sink.found().filter(unread).map(|d| &text[d.span.line_in(text).range()]);
        lines.filter(|line| lost_its_name(line)).count().max(1)
    }
}

/// The words that stand in a text once.
fn words_once(text: &str) -> HashSet<&str> {
    let (mut once, mut seen) = (HashSet::new(), HashSet::new());
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        if seen.insert(word) {
            once.insert(word);
        } else {
            once.remove(word);
        }
    }
    once
}
