//! What an engine does not start with, as its schema tells it.

use std::cmp::Ordering;
use std::ops::Deref;

use foldhash::HashMap;

use super::expr::Expr;
use crate::lang::sema::versions::{compare_versions, stand_in};

/// A combination of flags, and why the engine refuses it.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub reason: String,
    pub since: Option<String>,
    pub until: Option<String>,
    pub when: Expr,
    /// keys of the flags that it reads, under all their spellings
    pub flags: Vec<String>,
    /// the releases that it was read from; empty if nobody says
    pub read_from: Vec<String>,
}

/// The refusals of an engine, those of its parents first.
#[derive(Debug, Clone, Default)]
pub struct Refusals {
    all: Vec<Refusal>,
    /// the places of those that read a flag, by its key: most candidates have few of all flags, and each is asked for
    of: HashMap<String, Vec<usize>>,
}

impl Refusals {
    /// Those that read one of these flags, by their keys.
    pub fn reading<'k>(&self, keys: impl Iterator<Item = &'k str>) -> impl Iterator<Item = &Refusal> {
        let mut places: Vec<usize> = keys.filter_map(|key| self.of.get(key)).flatten().copied().collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| &self.all[place])
    }
}

impl FromIterator<Refusal> for Refusals {
    fn from_iter<I: IntoIterator<Item = Refusal>>(refusals: I) -> Self {
        let all: Vec<Refusal> = refusals.into_iter().collect();
        let mut of: HashMap<String, Vec<usize>> = HashMap::default();
        for (place, flag) in all.iter().enumerate().flat_map(|(i, r)| r.flags.iter().map(move |f| (i, f))) {
            of.entry(flag.clone()).or_default().push(place);
        }
        Self { all, of }
    }
}

impl Deref for Refusals {
    type Target = [Refusal];

    fn deref(&self) -> &[Refusal] {
        &self.all
    }
}

/// Whether a release refuses a combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refuses {
    No,
    /// as the nearest release does from which it was read
    Perhaps,
    Surely,
}

impl Refusal {
    /// Whether it holds for a release; without one it does where it holds for all.
    pub fn holds_for(&self, version: Option<&str>) -> Refuses {
        let Some(version) = version else {
            let timeless = self.since.is_none() && self.until.is_none();
            return if timeless { Refuses::Surely } else { Refuses::No };
        };
        let other = stand_in(&self.read_from, version);
        let taken = other.unwrap_or(version);
        let from = self.since.as_deref().is_none_or(|s| compare_versions(taken, s) != Ordering::Less);
        let before = self.until.as_deref().is_none_or(|u| compare_versions(taken, u) == Ordering::Less);
        match (from && before, other) {
            (false, _) => Refuses::No,
            (true, Some(_)) => Refuses::Perhaps,
            (true, None) => Refuses::Surely,
        }
    }
}
