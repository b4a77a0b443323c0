//! What an engine does not start with, as its schema tells it.

use std::cmp::Ordering;

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
