//! What changed while launches ran. A file that somebody edits under a launch makes its result doubtful; a file that the engine itself
//! writes (a log, a state) says nothing of any result. Nobody tells which it is but what all launches do: an engine that writes a file
//! does so under every launch, a person who edits one under a few. What one launch leaves alone is nobody's but the person's.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::edits::Edits;
use super::history::History;
use super::made::Conditions;
use super::records::LaunchRecord;
use crate::judge::RunOutcome;

/// Ends the name of what was changed and is as it was.
pub const PUT_BACK: &str = " (written or moved, now as before)";

/// Begin the names of what no engine writes.
const INSTALLATION: &str = "the installation of ";
const MODEL: &str = "the model ";
const SERVER: &str = "the server at ";
const DATA: &str = "the data of ";

/// One after another, so many launches that find a file and change it are needed before it is the engine's: a person edits a file under
/// one launch, and under the next one again.
const ENOUGH: usize = 3;
/// Of a file that came to be under a launch it is known already that launches write it.
const ENOUGH_OF_NEW: usize = 1;

/// What the launches of a journal tell of that.
#[derive(Debug, Default)]
pub struct Moved<'h> {
    doubtful: BTreeMap<&'h str, &'h str>,
    written: BTreeSet<&'h str>,
    /// those of them that were there before they were written
    told: BTreeSet<&'h str>,
    /// what launches made where engines read, and how many did: files, and directories, whose names end in `/`
    came: BTreeMap<&'h str, usize>,
    /// what they made for certain
    made: BTreeSet<&'h str>,
    /// launches whose own configuration writes a file at each start, and the file
    own: BTreeSet<(&'h str, &'h str)>,
    edits: Edits<'h>,
}

/// What a launch did to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Did {
    Change,
    /// it holds at the end what it held at the beginning, and was written or moved meanwhile
    Touch,
    Make,
    /// the same, and its own calls tell that nobody else did
    Made,
    /// it changed a file that it opened and that no text names: an engine may do so at some launches only
    Rewrite,
    /// it changed a file whose name leaves open whether it is read or written
    Own,
    Nothing,
}

/// The launches that knew a file, in order, by their place in the journal.
type Known = BTreeMap<usize, Did>;

impl<'h> Moved<'h> {
    /// After the last launch.
    pub fn of(history: &'h History) -> Self {
        Self::until(history, history.launches().len())
    }

    /// As it looked before a launch.
    pub fn before(history: &'h History, launch: &str) -> Self {
        let place = history.launches().iter().position(|l| &*l.id == launch);
        Self::until(history, place.unwrap_or(history.launches().len()))
    }

    fn until(history: &'h History, count: usize) -> Self {
        let launches = &history.launches()[..count];
        let mut files: HashMap<&str, Known> = HashMap::new();
        let mut moved = Self { edits: Edits::of(launches), ..Self::default() };
        for (at, launch) in launches.iter().enumerate() {
            let traces = launch.traces();
            for name in &traces.changed {
                if is_no_file(name) {
                    moved.doubtful.insert(&launch.id, name);
                } else {
                    let is_own = moved.is_made(name);
                    let known = files.entry(base(name)).or_default();
                    // of what its command names a person may have made what a launch seems to have
                    let is_named = known.values().any(|did| matches!(did, Did::Make | Did::Made));
                    let did = match name.ends_with(PUT_BACK) {
                        true => Did::Touch,
                        false if is_own && !is_named => Did::Own,
                        false => Did::Change,
                    };
                    known.insert(at, did);
                }
            }
            for name in &traces.appeared {
                let is_certain = traces.made.contains(name);
                files.entry(name).or_default().insert(at, if is_certain { Did::Made } else { Did::Make });
            }
            for name in &traces.made {
                moved.made.insert(name);
                let is_counted = traces.came.contains(name);
                *moved.came.entry(name).or_default() += usize::from(!is_counted);
                files.entry(name).or_default().entry(at).or_insert(Did::Own);
            }
            for name in &traces.came {
                *moved.came.entry(name).or_default() += 1;
                files.entry(name).or_default().entry(at).or_insert(Did::Own);
            }
        }
        if !files.is_empty() {
            left_alone(history, launches, &mut files);
        }
        for (name, known) in &files {
            moved.settle(launches, name, known);
        }
        moved
    }

    /// Whose a file is, and which launches are doubtful if it is a person's.
    fn settle(&mut self, launches: &'h [LaunchRecord], name: &'h str, known: &Known) {
        let is_written = |until: usize| is_written(launches, known.range(..=until), 0);
        let finally = is_written(usize::MAX);
        let has = |what: Did| known.values().any(|did| *did == what);
        // one that is only touched at each start is compared all the same
        if finally && [Did::Change, Did::Rewrite, Did::Make, Did::Made, Did::Own].into_iter().any(has) {
            self.written.insert(name);
            if has(Did::Change) || has(Did::Rewrite) || has(Did::Own) && has(Did::Nothing) {
                self.told.insert(name);
            }
        }
        for (at, did) in known {
            let doubtful = matches!(did, Did::Change | Did::Rewrite | Did::Touch | Did::Make)
                && !(finally && is_written(*at))
                && !self.is_of_configuration(launches, name, known, *at);
            let Some(launch) = launches.get(*at).filter(|_| doubtful) else { continue };
            let as_said = launch.traces().changed.iter().map(String::as_str).find(|said| base(said) == name);
            self.doubtful.entry(&launch.id).or_insert(as_said.unwrap_or(name));
        }
    }

    /// Whether a configuration makes a file that others do without, as a script does under one flag: its first launch made it, and each
    /// one wrote it, of enough. One that was there a person may have edited under all of them.
    fn is_of_configuration(
        &mut self,
        launches: &'h [LaunchRecord],
        name: &'h str,
        known: &Known,
        at: usize,
    ) -> bool {
        let Some(launch) = launches.get(at) else { return false };
        let is_same = |(of, _): &(&usize, &Did)| {
            launches.get(**of).is_some_and(|other| other.config_id == launch.config_id)
        };
        let of_it = |last: usize| known.range(..=last).filter(is_same);
        let is_made = of_it(at).next().is_some_and(|(_, did)| matches!(did, Did::Make | Did::Made));
        let until = |last: usize| is_written(launches, of_it(last), ENOUGH);
        let is_own = is_made && until(at) && until(usize::MAX);
        if is_own {
            self.own.insert((&launch.id, name));
            self.told.insert(name);
        }
        is_own
    }

    /// What changed under a launch, if that makes its results doubtful.
    pub fn doubt(&self, launch: &str) -> Option<&'h str> {
        self.doubtful.get(launch).copied()
    }

    /// The launches whose results are doubtful.
    pub fn doubtful(&self) -> impl Iterator<Item = &'h str> {
        self.doubtful.keys().copied()
    }

    /// Whether what counts is other than what this one says.
    pub fn differs(&self, before: &Self) -> bool {
        self.doubtful != before.doubtful || self.written != before.written || self.own != before.own
    }

    /// Whether engines write what is called so, and nobody else changed it since a launch, if its lines are these now.
    pub fn is_own_since(&self, launch: &str, name: &str, now: impl FnOnce() -> Option<String>) -> bool {
        self.writes(launch, name) && self.edits.is_kept(name, launch, now)
    }

    /// Whether engines write what is called so, and nobody else changed it between two launches.
    pub fn is_own_between(&self, one: &str, other: &str, name: &str) -> bool {
        self.writes(one, name) && self.edits.are_alike(name, one, other)
    }

    /// Whether it came to be under a launch, by its own name.
    pub fn has_come(&self, name: &str) -> bool {
        self.came.contains_key(name)
    }

    /// Whether launches write what is called so.
    pub fn may_write(&self, name: &str) -> bool {
        self.written.contains(name) || self.own.iter().any(|(_, own)| *own == name)
    }

    fn writes(&self, launch: &str, name: &str) -> bool {
        self.written.contains(name) || self.own.contains(&(launch, name))
    }

    /// The files that launches write.
    pub fn written(&self) -> impl Iterator<Item = &'h str> {
        self.written.iter().copied()
    }

    /// Whether a launch made the file that is called so, or a directory that it lies in: it may be gone as well.
    pub fn is_made(&self, name: &str) -> bool {
        self.times_made(name) > 0
    }

    /// Whether a launch made the file itself that is called so, as its calls tell.
    pub fn is_made_itself(&self, name: &str) -> bool {
        self.made.contains(name)
    }

    /// Whether several did: it is made anew where it is not there, and need not hold the same.
    pub fn is_remade(&self, name: &str) -> bool {
        self.times_made(name) > 1
    }

    fn times_made(&self, name: &str) -> usize {
        let dirs = name.match_indices('/').map(|(at, _)| &name[..=at]);
        dirs.chain([name]).filter_map(|name| self.came.get(name)).copied().max().unwrap_or(0)
    }

    /// A sentence for each file that was there, and is compared no more, or between launches alone, because they change it.
    pub fn not_compared(&self) -> impl Iterator<Item = String> {
        self.told.iter().map(|name| {
            let how = if self.edits.knows(name) {
                "what somebody changes in it between two launches counts, and what changes under them does not"
            } else {
                "what it holds is compared no more"
            };
            format!("{name} changes under the launches that name it: it is taken for the engine's own, and {how}")
        })
    }
}

/// Adds the launches that measured, named a file and left it as it was.
fn left_alone(history: &History, launches: &[LaunchRecord], files: &mut HashMap<&str, Known>) {
    let places: HashMap<&str, usize> =
        launches.iter().enumerate().filter(|(_, l)| l.times.is_some()).map(|(at, l)| (&*l.id, at)).collect();
    for run in history.runs() {
        let (Some(at), Some(made)) = (places.get(&*run.run.launch), &run.made) else { continue };
        let measured = matches!(run.run.outcome, RunOutcome::Done | RunOutcome::Stopped { .. });
        for (name, known) in &mut *files {
            let is_opened = || history.opened(made).is_some_and(|files| files.contains_key(*name));
            let is_missed = || {
                made.absent.contains(*name) || history.looked(made).is_some_and(|l| l.absent.contains(*name))
            };
            let is_asked = || history.looked(made).is_some_and(|l| l.there.contains(*name));
            let was_there = made.files.contains_key(*name) || is_opened() || is_asked();
            match known.get_mut(at) {
                Some(did @ (Did::Make | Did::Made)) if was_there => *did = Did::Own,
                Some(did @ Did::Change) if is_opened() => *did = Did::Rewrite,
                None if measured && (was_there || is_missed()) => {
                    known.insert(*at, Did::Nothing);
                }
                _ => {}
            }
        }
    }
}

/// Whether launches write a file, as far as some of them tell. One edit is seen by all that run at that moment, so only such count as
/// follow on one another, of which there are `least`.
fn is_written<'k>(
    launches: &[LaunchRecord],
    known: impl Iterator<Item = (&'k usize, &'k Did)>,
    least: usize,
) -> bool {
    let (mut enough, mut count, mut over) = (None, 0, 0);
    let (mut all, mut own) = (true, false);
    for (at, did) in known {
        let Some(launch) = launches.get(*at) else { continue };
        if *did == Did::Nothing {
            all = false;
            continue;
        }
        own |= matches!(did, Did::Own | Did::Rewrite);
        enough.get_or_insert(if matches!(did, Did::Change | Did::Rewrite | Did::Touch) {
            ENOUGH
        } else {
            ENOUGH_OF_NEW
        });
        if launch.span.0 > over || count == 0 {
            (count, over) = (count + 1, launch.span.1);
        }
    }
    // where the name says already that it may be, not all have to
    (all || (own && count > 1)) && enough.is_some_and(|enough| count >= enough.max(least))
}

fn base(name: &str) -> &str {
    name.strip_suffix(PUT_BACK).unwrap_or(name)
}

fn is_no_file(name: &str) -> bool {
    [INSTALLATION, MODEL, SERVER, DATA].iter().any(|first| name.starts_with(first))
}

/// What is not the same at the end of a launch as at its beginning, and what of it is new, by name.
pub fn between(begin: &Conditions, end: &Conditions) -> (Vec<String>, Vec<String>) {
    let other = |(name, was): &(&String, &String)| end.files.get(*name) != Some(*was);
    let mut changed: Vec<String> = begin.files.iter().filter(other).map(|(name, _)| name.clone()).collect();
    if begin.build != end.build || begin.libraries != end.libraries {
        changed.push(installation(&begin.engine));
    }
    if begin.model_files != end.model_files {
        changed.push(model(&begin.model));
    }
    // what was told once only is no difference
    let running = begin.running.as_ref().zip(end.running.as_ref());
    if running.is_some_and(|(begin, end)| begin.exchanged(end)) {
        changed.extend(begin.running.iter().map(|r| format!("{SERVER}{}", r.url)));
    }
    let appeared = begin.absent.iter().filter(|name| end.files.contains_key(*name)).cloned().collect();
    (changed, appeared)
}

/// What an engine's installation is called among what changed.
pub fn installation(engine: &str) -> String {
    format!("{INSTALLATION}{engine}")
}

/// What the files are called there that a profile's prompts are made from, or one of them.
pub fn data(profile: &str, file: Option<&Path>) -> String {
    let file = file.map(|f| format!(": {}", f.display())).unwrap_or_default();
    format!("{DATA}{profile}{file}")
}

/// What a model is called there.
pub fn model(name: &str) -> String {
    format!("{MODEL}{name}")
}

#[cfg(test)]
#[path = "moved_tests.rs"]
mod tests;
