//! Which earlier results count no more, and what is told of a trial that has several: why the one does not count that is nearest to it.

use std::collections::{BTreeSet, HashMap};

use indexmap::IndexMap;

use super::standing::{SILENT, Standing};
use crate::journal::{History, Moved};
use crate::judge::{Checks, Results};

/// A result that counted once: its configuration, and why it counts no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outdated {
    pub config_id: String,
    pub profile_id: String,
    pub why: String,
}

/// Why a result does not count.
#[derive(Debug, Clone)]
pub(super) struct Why {
    pub text: String,
    /// how many things are not as they were; `None` where it is nothing of what is asked now as a whole
    things: Option<usize>,
}

impl Why {
    pub fn whole(text: String) -> Self {
        Self { text, things: None }
    }

    /// What is told is the first of several things.
    pub fn of(all: Vec<String>) -> Option<Self> {
        let things = Some(all.len());
        all.into_iter().next().map(|text| Self { text, things })
    }

    /// What is told of this result and an earlier one: of what was put back and is as the earlier one had it nobody wants to hear.
    fn or_nearer(self, earlier: Option<Self>) -> Self {
        let is_nearer = |earlier: &Self| earlier.things.zip(self.things).is_some_and(|(was, is)| was < is);
        earlier.filter(is_nearer).unwrap_or(self)
    }
}

impl Standing<'_> {
    /// The results that still count.
    pub fn results(&self, history: &History, checks: Checks) -> Results {
        let moved = Moved::of(history);
        history.results(checks, |run| self.differs(run, history, &moved).is_none())
    }

    /// Trials of which no result counts (configuration and profile settings), and why the one that is nearest to counting does not.
    pub fn again(&self, history: &History, checks: Checks) -> HashMap<(String, String), String> {
        let moved = Moved::of(history);
        let mut again: HashMap<(String, String), Why> = HashMap::new();
        for run in history.runs() {
            let key = (run.config_id.to_string(), run.profile_id.to_string());
            let spoiled = || Some(format!("the machine spoiled it, {}", history.spoiled(run, checks)?));
            match self.differs(run, history, &moved).or_else(|| spoiled().map(Why::whole)) {
                Some(why) => {
                    let before = again.remove(&key);
                    again.insert(key, why.or_nearer(before));
                }
                None => drop(again.remove(&key)),
            }
        }
        again.into_iter().map(|(key, why)| (key, why.text)).collect()
    }

    /// Results that were made under something else than what holds now. What was told when it happened is not told again: what was put
    /// aside, what changed under a launch, a server that does not answer.
    pub fn outdated(&self, history: &History) -> Vec<Outdated> {
        let moved = Moved::of(history);
        let mut found: IndexMap<(&str, &str), Why> = IndexMap::new();
        // of a load that is none of this file's nothing is measured again
        let wanted = history.runs().iter().filter(|run| self.profiles.contains_key(&*run.profile_id));
        for run in wanted {
            let key = (&*run.config_id, &*run.profile_id);
            let told = run.put_aside.is_some() || moved.doubt(&run.run.launch).is_some();
            match self.differs(run, history, &moved) {
                Some(why) if !told && !why.text.ends_with(SILENT) => {
                    let before = found.get(&key).cloned();
                    found.insert(key, why.or_nearer(before));
                }
                Some(_) => {}
                None => drop(found.shift_remove(&key)),
            }
        }
        let outdated = |((config_id, profile_id), why): ((&str, &str), Why)| Outdated {
            config_id: config_id.to_owned(),
            profile_id: profile_id.to_owned(),
            why: why.text,
        };
        found.into_iter().map(outdated).collect()
    }

    /// Whether the last invocation measured something, of which nothing counts.
    pub fn lacks_all_of_the_last(&self, history: &History) -> bool {
        let moved = Moved::of(history);
        let mut last = history.of_last_session().peekable();
        last.peek().is_some() && last.all(|run| self.differs(run, history, &moved).is_some())
    }

    /// Why results do not count, also those that were measured again since.
    pub fn whys(&self, history: &History) -> BTreeSet<String> {
        let moved = Moved::of(history);
        history.runs().iter().filter_map(|run| Some(self.differs(run, history, &moved)?.text)).collect()
    }
}
