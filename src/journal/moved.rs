//! What changed while launches ran. A file that somebody edits under a launch makes its result doubtful; a file that the engine itself
//! writes (a log, a state) says nothing of any result. Nobody tells which it is but time: what changes under one launch was edited, what
//! changes under two is written.

use std::collections::{HashMap, HashSet};

use super::made::Conditions;
use super::records::LaunchRecord;

/// Ends the name of what was changed and is as it was.
pub const PUT_BACK: &str = " (written or moved, now as before)";

/// What the launches of a journal tell of that.
#[derive(Debug, Default)]
pub struct Moved<'h> {
    doubtful: HashMap<&'h str, &'h str>,
    appeared: HashSet<(&'h str, &'h str)>,
    times: HashMap<&'h str, usize>,
}

impl<'h> Moved<'h> {
    /// In the order of the journal.
    pub fn of(launches: &'h [LaunchRecord]) -> Self {
        let mut moved = Self::default();
        for launch in launches {
            for name in &launch.changed {
                if !moved.times.contains_key(name.as_str()) {
                    moved.doubtful.insert(&launch.id, name);
                }
            }
            moved.appeared.extend(launch.appeared.iter().map(|name| (&*launch.id, name.as_str())));
            for name in launch.changed.iter().chain(&launch.appeared) {
                *moved.times.entry(name).or_default() += 1;
            }
        }
        moved
    }

    /// What changed under a launch, if that makes its results doubtful.
    pub fn doubt(&self, launch: &str) -> Option<&'h str> {
        self.doubtful.get(launch).copied()
    }

    /// What changed under a launch, so that what holds is to be looked at anew. What was put back counts as long as it makes results
    /// doubtful: an engine may touch its files at each start.
    pub fn unsettled(&self, launch: &'h LaunchRecord) -> Option<&'h str> {
        let other = launch.changed.iter().find(|name| !name.ends_with(PUT_BACK));
        other.map(String::as_str).or_else(|| self.doubt(&launch.id))
    }

    /// Whether engines write what is called so.
    pub fn is_written(&self, name: &str) -> bool {
        self.times.get(name).is_some_and(|times| *times > 1)
    }

    /// Whether it came to be under a launch.
    pub fn appeared(&self, launch: &str, name: &str) -> bool {
        self.appeared.contains(&(launch, name))
    }
}

/// What is not the same at the end of a launch as at its beginning, and what of it is new, by name.
pub fn between(begin: &Conditions, end: &Conditions) -> (Vec<String>, Vec<String>) {
    let other = |(name, was): &(&String, &String)| end.files.get(*name) != Some(*was);
    let mut changed: Vec<String> = begin.files.iter().filter(other).map(|(name, _)| name.clone()).collect();
    if begin.build != end.build || begin.libraries != end.libraries {
        changed.push(format!("the installation of {}", begin.engine));
    }
    if begin.model_files != end.model_files {
        changed.push(format!("the model {}", begin.model));
    }
    // what was told once only is no difference
    let exchanged = begin.running.as_ref().zip(end.running.as_ref()).and_then(|(a, b)| a.differs(b));
    if exchanged.is_some() {
        changed.extend(begin.running.iter().map(|r| format!("the server at {}", r.url)));
    }
    let appeared = begin.absent.iter().filter(|name| end.files.contains_key(*name)).cloned().collect();
    (changed, appeared)
}
