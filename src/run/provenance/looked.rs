//! What a launch looked for, where its calls are seen: names that were not there, and others of which it asked only whether they are. Once
//! something comes to such a name, or goes from it, the launch might find another way.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::named::{path_of, shown};
use super::opened::is_log;
use super::standing::Standing;
use super::states;
use crate::disk;
use crate::engine::lookups::{Looked, Sight};
use crate::journal::{Conditions, Opened};

/// Longer files are not read here: what is as long as that is weights or a library.
const LONGEST: u64 = 64 << 20;
/// Files that are written down of one launch, and bytes that are read of them.
const MOST_READ: usize = 4096;
const MOST_BYTES: u64 = 1 << 30;
/// Entries that say whether a directory has modules.
const MOST_LISTED: usize = 256;

/// What a launch looked for, and what is known of it by other ways.
pub struct Names<'a> {
    study_dir: &'a Path,
    is_seen: bool,
    own: BTreeSet<&'a Path>,
    lists: BTreeMap<&'a Path, Sight>,
    first: BTreeMap<&'a Path, Sight>,
    /// what came or went while it looked
    shifted: BTreeSet<&'a Path>,
    /// where its names lead
    leads: OnceCell<BTreeSet<PathBuf>>,
}

impl<'a> Names<'a> {
    /// `None`: nothing of that is seen.
    pub fn of(looked: Option<&'a [Looked]>, study_dir: &'a Path) -> Self {
        let (is_seen, looked) = (looked.is_some(), looked.unwrap_or_default());
        let own = looked.iter().filter(|l| l.sight == Sight::Own).map(|l| l.path.as_path()).collect();
        let (mut first, mut lists, mut shifted) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        for l in looked.iter().filter(|l| l.sight != Sight::Own) {
            let is_list = matches!(l.sight, Sight::Listed | Sight::Searched);
            let known = if is_list { &mut lists } else { &mut first };
            let first = *known.entry(l.path.as_path()).or_insert(l.sight);
            if first == Sight::There && l.sight == Sight::Read {
                known.insert(&l.path, Sight::Read);
            } else if (first == Sight::Absent) != (l.sight == Sight::Absent) {
                shifted.insert(l.path.as_path());
            }
        }
        Self { study_dir, is_seen, own, lists, first, shifted, leads: OnceCell::new() }
    }

    pub fn are_seen(&self) -> bool {
        self.is_seen
    }

    /// Where a name leads, as texts spell it.
    fn at(&self, name: &str) -> PathBuf {
        let name = states::about(name);
        path_of(name, self.study_dir).unwrap_or_else(|| self.study_dir.join(name))
    }

    /// Whether the launch only wrote what is called so.
    pub fn only_writes(&self, name: &str) -> bool {
        let path = self.study_dir.join(name);
        self.own.contains(path.as_path()) && self.first.get(path.as_path()) != Some(&Sight::Read)
    }

    /// Whether the launch did something with what is called so: a file, or all of a directory.
    pub fn knows(&self, name: &str) -> bool {
        let path = self.study_dir.join(name.trim_end_matches('*'));
        let all = || self.first.keys().chain(self.lists.keys()).chain(&self.own);
        let leads = || self.leads.get_or_init(|| all().filter_map(|path| path.canonicalize().ok()).collect());
        let is_known = self.first.contains_key(path.as_path()) || self.lists.contains_key(path.as_path());
        is_known
            || self.own.contains(path.as_path())
            || path.canonicalize().is_ok_and(|real| leads().contains(&real))
    }

    /// Names that stood for nothing, as results know them.
    pub fn absent(&self) -> impl Iterator<Item = String> {
        self.of_sight(Sight::Absent)
    }

    /// What others made, removed, or made and removed again under the launch, of what it looked for.
    pub fn changed(&self) -> impl Iterator<Item = String> {
        let of = |sight: Sight| self.of_sight(sight).map(move |name| (name, sight));
        let all = [Sight::Absent, Sight::There, Sight::Read].into_iter().flat_map(of);
        let is_other = |name: &str, was: Sight| {
            let path = self.study_dir.join(name);
            path.exists() == (was == Sight::Absent) || self.shifted.contains(path.as_path())
        };
        all.filter(move |(name, was)| is_other(name, *was)).map(|(name, _)| name)
    }

    /// Whether the launch itself made what it had not found there.
    pub fn is_made(&self, name: &str) -> bool {
        let path = self.at(name);
        self.first.get(path.as_path()) == Some(&Sight::Absent) && self.is_own(&path)
    }

    /// Whether it looked for something that was not there, and others made it.
    pub fn came_of_others(&self, name: &str) -> bool {
        let path = self.at(name);
        self.first.get(path.as_path()) == Some(&Sight::Absent) && !self.is_own(&path) && path.exists()
    }

    /// What it made itself of what was not there.
    pub fn made(&self) -> impl Iterator<Item = String> {
        let made =
            self.first.iter().filter(|(path, sight)| **sight == Sight::Absent && self.own.contains(*path));
        made.filter(|(path, _)| counts(path) && path.exists())
            .filter_map(|(path, _)| shown(path, self.study_dir))
    }

    /// Directories that were gone through for what lies in them (`conf.d/*`), and none for modules of Python, in which the launch itself
    /// makes nothing. All and sundry comes to lie in the study's own, and in those above it.
    fn lists(&self) -> impl Iterator<Item = String> {
        let all = self.lists.iter().filter(|(dir, sight)| **sight == Sight::Listed || !has_modules(dir));
        let is_dotted = |part: &OsStr| part.as_encoded_bytes().starts_with(b".");
        let is_hidden =
            move |dir: &Path| dir.strip_prefix(self.study_dir).unwrap_or(dir).iter().any(is_dotted);
        let made_in: BTreeSet<&Path> = self.own.iter().filter_map(|path| path.parent()).collect();
        let own = move |dir: &Path| self.is_own(dir) || made_in.contains(dir);
        all.map(|(dir, _)| *dir)
            .filter(move |dir| !self.study_dir.starts_with(dir) && !is_hidden(dir) && !own(dir))
            .filter_map(|dir| shown(&dir.join("*"), self.study_dir))
    }

    fn of_sight(&self, sight: Sight) -> impl Iterator<Item = String> {
        // whoever goes through a directory asks of all that lies in it
        let is_gone_through =
            |path: &Path| path.parent().and_then(|dir| self.lists.get(dir)) == Some(&Sight::Listed);
        let is_asked = move |path: &Path| sight != Sight::There || !is_gone_through(path);
        let all =
            self.first.iter().filter(move |(path, is)| **is == sight && !self.is_own(path) && is_asked(path));
        all.filter(|(path, _)| counts(path)).filter_map(|(path, _)| shown(path, self.study_dir))
    }

    /// Whether the launch itself did something to what is called so.
    pub fn touches(&self, name: &str) -> bool {
        let path = self.study_dir.join(name);
        let leads_to = || path.canonicalize().is_ok_and(|real| self.own.contains(real.as_path()));
        self.own.contains(path.as_path()) || leads_to()
    }

    /// Whether the launch itself made, moved or removed it. What others put into a directory of its making is theirs.
    fn is_own(&self, path: &Path) -> bool {
        self.own.contains(path)
    }
}

impl Standing<'_> {
    /// Adds what a launch looked for to what it opened; what counts by a name in a text is left out.
    pub fn looked(&self, looked: &[Looked], made: &Conditions, opened: &mut Opened) {
        let names = Names::of(Some(looked), self.study_dir);
        let (mut environments, is_named) = (Environments::default(), self.named_by(made));
        let mut is_news = |name: &String| !is_named(name) && !environments.hold(&self.study_dir.join(name));
        // what came to be meanwhile is told of with what changed under the launch
        let is_gone = |name: &String| !self.study_dir.join(name).exists();
        opened.absent = names.absent().filter(|name| is_gone(name)).filter(&mut is_news).collect();
        let mut left = MOST_BYTES;
        for name in names.of_sight(Sight::Read).filter(&mut is_news) {
            let path = self.study_dir.join(&name);
            let is_known = opened.files.len() >= MOST_READ || opened.files.contains_key(&name);
            let length = path.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
            let is_short = length.is_some_and(|length| length <= LONGEST.min(left));
            if !is_known
                && is_short
                && let Some(held) = self.held(&name)
            {
                opened.files.insert(name, held);
                left -= length.unwrap_or_default();
            }
        }
        for list in names.lists().filter(&mut is_news) {
            // a few names, and what many files hold is data
            match self.held(&list) {
                Some(held) => drop(opened.files.entry(list).or_insert(held)),
                None => drop(opened.absent.insert(list)),
            }
        }
        let there = names.of_sight(Sight::There).filter(|name| !opened.files.contains_key(name));
        // of what leads to the study, and to what counts, it is no news that it is there
        let leads = |name: &String| self.study_dir.starts_with(self.study_dir.join(name));
        opened.there = there.filter(|name| !leads(name) && !is_gone(name)).filter(is_news).collect();
    }
}

/// Whether engines read what is called so.
fn counts(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    disk::Which::All.counts(&name)
        && !disk::is_kept_by_tools(&name)
        && !is_log(path)
        && !is_of_libraries(path)
}

/// Whether it is a library, or a directory of such for some processors: the loader goes through many, and what it finds is known by itself.
fn is_of_libraries(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let of_processors = ["glibc-hwcaps", "tls", "haswell", "avx512_1", "x86_64"];
    name.contains(".so.")
        || name.ends_with(".so")
        || path.iter().any(|part| of_processors.iter().any(|p| part == *p))
}

/// Whether Python may look for modules there.
fn has_modules(dir: &Path) -> bool {
    let entries = dir.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .take(MOST_LISTED)
        .any(|path| path.extension().is_some_and(|end| end == "py") || path.ends_with("__pycache__"))
}

/// Directories with installed programs and modules, which are known by themselves.
#[derive(Default)]
struct Environments(BTreeMap<PathBuf, bool>);

impl Environments {
    fn hold(&mut self, path: &Path) -> bool {
        let is_one = |dir: &Path| *self.0.entry(dir.to_owned()).or_insert_with(|| disk::is_environment(dir));
        path.ancestors().skip(1).any(is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    #[test]
    fn what_a_launch_makes_itself_is_no_name_that_it_looked_for() {
        let dir = folder::of(&[("made.json", ""), ("came.json", "")]);
        let looked = |name: &str, sight| Looked { path: dir.path().join(name), sight };
        let all = [
            looked("slow.flag", Sight::Absent),
            looked("made.json", Sight::Absent),
            looked("made.json", Sight::Own),
            looked("state", Sight::Absent),
            looked("state", Sight::Own),
            looked("state/x.json", Sight::Absent),
            looked("lib/tls/libx.so.1", Sight::Absent),
            looked("came.json", Sight::Absent),
            looked("server.log", Sight::Absent),
            looked("went.json", Sight::There),
            looked("hook.json", Sight::Absent),
            looked("hook.json", Sight::There),
        ];
        let names = Names::of(Some(&all), dir.path());
        assert_eq!(
            names.absent().collect::<Vec<_>>(),
            ["came.json", "hook.json", "slow.flag", "state/x.json"]
        );
        assert_eq!(names.changed().collect::<Vec<_>>(), ["came.json", "hook.json", "went.json"]);
        assert_eq!(names.made().collect::<Vec<_>>(), ["made.json"]);
    }
}
