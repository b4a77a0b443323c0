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
    edits: Edits<'h>,
}

/// What a launch did to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Did {
    Change,
    /// it holds at the end what it held at the beginning, and was written or moved meanwhile
    Touch,
    Make,
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
            for name in &launch.changed {
                if is_no_file(name) {
                    moved.doubtful.insert(&launch.id, name);
                } else {
                    let is_own = moved.is_made(name);
                    let known = files.entry(base(name)).or_default();
                    // of what its command names a person may have made what a launch seems to have
                    let is_named = known.values().any(|did| *did == Did::Make);
                    let did = match name.ends_with(PUT_BACK) {
                        true => Did::Touch,
                        false if is_own && !is_named => Did::Own,
                        false => Did::Change,
                    };
                    known.insert(at, did);
                }
            }
            for name in &launch.appeared {
                files.entry(name).or_default().insert(at, Did::Make);
            }
            for name in &launch.came {
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
        let is_written = |until: usize| is_written(launches, known.range(..=until));
        let finally = is_written(usize::MAX);
        let has = |what: Did| known.values().any(|did| *did == what);
        // one that is only touched at each start is compared all the same
        if finally && [Did::Change, Did::Rewrite, Did::Make, Did::Own].into_iter().any(has) {
            self.written.insert(name);
            if has(Did::Change) || has(Did::Rewrite) || has(Did::Own) && has(Did::Nothing) {
                self.told.insert(name);
            }
        }
        for (at, did) in known {
            let doubtful = matches!(did, Did::Change | Did::Rewrite | Did::Touch | Did::Make)
                && !(finally && is_written(*at));
            let Some(launch) = launches.get(*at).filter(|_| doubtful) else { continue };
            let as_said = launch.changed.iter().map(String::as_str).find(|said| base(said) == name);
            self.doubtful.entry(&launch.id).or_insert(as_said.unwrap_or(name));
        }
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
        self.doubtful != before.doubtful || self.written != before.written
    }

    /// Whether engines write what is called so, and nobody else changed it since a launch, if its lines are these now.
    pub fn is_own_since(&self, launch: &str, name: &str, now: impl FnOnce() -> Option<String>) -> bool {
        self.written.contains(name) && self.edits.is_kept(name, launch, now)
    }

    /// Whether engines write what is called so, and nobody else changed it between two launches.
    pub fn is_own_between(&self, one: &str, other: &str, name: &str) -> bool {
        self.written.contains(name) && self.edits.are_alike(name, one, other)
    }

    /// The files that launches write.
    pub fn written(&self) -> impl Iterator<Item = &'h str> {
        self.written.iter().copied()
    }

    /// Whether a launch made the file that is called so, or a directory that it lies in: it may be gone as well.
    pub fn is_made(&self, name: &str) -> bool {
        self.times_made(name) > 0
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
            let was_there = made.files.contains_key(*name) || is_opened();
            match known.get_mut(at) {
                Some(did @ Did::Make) if was_there => *did = Did::Own,
                Some(did @ Did::Change) if is_opened() => *did = Did::Rewrite,
                None if measured && (was_there || made.absent.contains(*name)) => {
                    known.insert(*at, Did::Nothing);
                }
                _ => {}
            }
        }
    }
}

/// Whether launches write a file, as far as some of them tell. One edit is seen by all that run at that moment, so only such count as
/// follow on one another.
fn is_written<'k>(launches: &[LaunchRecord], known: impl Iterator<Item = (&'k usize, &'k Did)>) -> bool {
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
    (all || (own && count > 1)) && enough.is_some_and(|enough| count >= enough)
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
mod tests {
    use serde_json::json;

    use super::super::event::{Event, Kind, LaunchTimes, VERSION};
    use super::*;
    use crate::judge::{Metrics, Run};

    /// What a launch does: to a file that was there, or that was not.
    #[derive(Clone, Copy)]
    enum Does {
        Changes,
        PutsBack,
        Makes,
        Fails,
        Nothing,
    }
    use Does::{Changes, Fails, Makes, Nothing, PutsBack};

    fn push(history: &mut History, kind: Kind) {
        let seq = history.last_seq() + 1;
        history.push(Event { v: VERSION, seq, at: String::new(), session: 1, session_s: 0.0, kind });
    }

    fn begins(history: &mut History, launch: &str) {
        let told = json!({
            "launch": launch, "config_id": "c", "config": {}, "profiles": [], "label": "", "nonce": launch
        });
        push(history, serde_json::from_value(json!({ "launch": told })).expect("an event"));
    }

    fn ends(history: &mut History, launch: &str, does: Does, was_there: bool) {
        let mut made = Conditions::default();
        if was_there {
            made.files.insert("f".to_owned(), "1".to_owned());
        } else {
            made.absent.insert("f".to_owned());
        }
        let failed = RunOutcome::FailedStart { class: "x".to_owned(), line: String::new() };
        let run = Run {
            n: 1,
            launch: launch.into(),
            outcome: if matches!(does, Fails) { failed } else { RunOutcome::Done },
            metrics: Metrics::default(),
            notes: Vec::new(),
            devices: None,
            confirming: false,
            simulated: false,
            log_tail: Vec::new(),
        };
        let text = || "c".to_owned();
        let (infrastructure, made, seed) = (false, Some(Box::new(made)), None);
        let (launch, config_id, profile, profile_id) = (launch.to_owned(), text(), text(), text());
        let kind = Kind::Run {
            launch: launch.clone(),
            config_id,
            profile,
            profile_id,
            serve_id: text(),
            host_id: text(),
            infrastructure,
            run,
            made,
            seed,
            opened: None,
        };
        push(history, kind);
        let changed = match does {
            Changes => vec!["f".to_owned()],
            PutsBack => vec![format!("f{PUT_BACK}")],
            _ => Vec::new(),
        };
        let appeared = if matches!(does, Makes) { vec!["f".to_owned()] } else { Vec::new() };
        let (times, stuck) = (LaunchTimes::default(), Vec::new());
        let came = Vec::new();
        let left = BTreeMap::new();
        push(history, Kind::Gone { launch, times, gpus: 0, changed, appeared, came, left, stuck });
    }

    /// Which of launches one after another are doubtful, and whether the file is the engine's.
    fn told(launches: &[Does]) -> (Vec<usize>, bool) {
        let mut history = History::default();
        let mut was_there = !matches!(launches.first(), Some(Makes));
        for (at, does) in launches.iter().enumerate() {
            begins(&mut history, &format!("L{at}"));
            ends(&mut history, &format!("L{at}"), *does, was_there);
            was_there |= matches!(does, Makes);
        }
        let moved = Moved::of(&history);
        let doubtful = moved.doubtful().map(|l| l[1..].parse().expect("a number")).collect();
        (doubtful, moved.written().any(|name| name == "f"))
    }

    #[test]
    fn only_what_changes_under_every_launch_is_the_engine_s() {
        assert_eq!(told(&[Changes]), (vec![0], false));
        assert_eq!(told(&[Changes, Changes]), (vec![0, 1], false), "a person edits twice");
        assert_eq!(told(&[Changes, Changes, Changes, Changes]), (vec![0, 1], true));
        assert_eq!(told(&[Changes, Fails, Changes, Changes]), (vec![0, 2], true), "it came not so far");
        assert_eq!(told(&[Changes, Changes, Changes, Nothing]), (vec![0, 1, 2], false), "it was a person");
        assert_eq!(told(&[Nothing, Changes, Changes, Changes]), (vec![1, 2, 3], false));
        assert_eq!(told(&[PutsBack, PutsBack, PutsBack]), (vec![0, 1], false));
        assert_eq!(told(&[Makes, Changes, Changes]), (vec![], true));
        assert_eq!(told(&[Makes, Changes, Nothing]), (vec![0, 1], false));
        assert_eq!(told(&[Makes]), (vec![], true));
        assert_eq!(told(&[Makes, Nothing]), (vec![0], false), "a person made it");
    }

    #[test]
    fn one_edit_under_launches_side_by_side_is_one_edit() {
        let mut history = History::default();
        let names = ["L0", "L1", "L2", "L3"];
        for name in names {
            begins(&mut history, name);
        }
        for name in names {
            ends(&mut history, name, Changes, true);
        }
        let moved = Moved::of(&history);
        assert_eq!(moved.doubtful().collect::<Vec<_>>(), names);
        assert_eq!(moved.written().next(), None);
    }
}
