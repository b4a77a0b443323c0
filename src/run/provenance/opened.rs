//! The files that a launch opens in the study's directory and in those of the files that it names, whatever leads it there: names that a
//! program puts together, settings that name others, modules that are found at run time. What of them counts is what was there before it
//! began. Where a file is looked for and not found no kernel tells; that is read off the texts.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::before::{Before, stamp};
use super::eyes::{Eyes, joined};
use super::leaves;
use super::listed;
use super::listing::Listing;
use super::named::shown;
use super::quoted::WRITTEN;
use super::uses::{Use, use_of};
use crate::disk;

/// New names that are written down of one launch.
const MOST_NEW: usize = 256;

/// Where a launch is followed.
#[derive(Debug, Default)]
pub struct Ground {
    pub study_dir: PathBuf,
    /// directories beside the study's own
    pub others: BTreeSet<PathBuf>,
    /// what is known by an identity of its own: the model, the data of loads, and what is measured
    pub spared: Vec<PathBuf>,
    /// where Python looks for modules
    pub modules: BTreeSet<PathBuf>,
    /// files that its scripts write
    pub rendered: BTreeSet<PathBuf>,
}

/// What a launch opens, seen from before it begins.
pub struct Opened {
    study_dir: PathBuf,
    others: BTreeSet<PathBuf>,
    modules: BTreeSet<PathBuf>,
    before: Arc<Before>,
    eyes: io::Result<Eyes>,
}

/// A file that was opened, or all files of a directory (`conf.d/*`) that was listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    pub name: String,
    /// it was not there before
    pub is_new: bool,
    /// a hash over what it held as it was opened first; `None` where that was not seen
    pub held: Option<String>,
    /// somebody read it who did not open it for writing, and it is no log by its name, which people look at meanwhile
    pub is_read: bool,
    /// what became of it, where it was there before
    pub since: Since,
}

/// What became of a file that was there before its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Since {
    Same,
    /// it is as it was, and something was done to it that is no change of its rights: moved away and back, or given those that it had
    Touched,
    /// it was written or exchanged
    Other,
}

impl Opened {
    pub fn begin(ground: Ground) -> Self {
        let before = Arc::new(Before::of(&ground));
        let eyes = Eyes::on(before.clone());
        let modules = ground.modules.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
        Self { study_dir: ground.study_dir, others: ground.others, modules, before, eyes }
    }

    /// What was opened until a moment (`None`: until now): files that were there before, new ones, and directories that were listed.
    pub fn files(&self, until: Option<Instant>) -> BTreeSet<File> {
        let seen = self.eyes.as_ref().map(|eyes| eyes.seen(until)).unwrap_or_default();
        let (dirs, opened): (Vec<_>, Vec<_>) = seen.into_iter().partition(|(_, sight)| sight.is_dir);
        let led_now = self.before.led_now();
        let (mut files, mut news) = (BTreeSet::new(), 0);
        // of what was not told nobody knows
        let is_unsure = self.missed().is_some();
        for (path, sight) in opened {
            let Some(path) = of_source(path) else { continue };
            let is_read = (sight.is_read() || is_unsure) && !is_log(&path) || is_database(&path);
            if let Some(name) = self.before.way(&path).and_then(|way| self.shown(&way)) {
                files.insert(File { name, is_new: false, held: sight.held, is_read, since: Since::Same });
                continue;
            }
            let Some(is_new) = self.is_new(&path) else { continue };
            news += usize::from(is_new);
            if is_new && news > MOST_NEW {
                continue;
            }
            // one that is rendered anew is seen half written
            let same = self.before.rendered_same(&path);
            let held = same.or(sight.held.as_ref());
            let was = self.before.files.get(&path).filter(|_| same.is_none());
            let since = was.map_or(Since::Same, |was| was.until(stamp(&path).as_ref()));
            let names = self.names(&path, &led_now);
            files.extend(names.map(|name| File { name, is_new, held: held.cloned(), is_read, since }));
        }
        let listed = dirs.iter().filter(|(dir, _)| self.is_list(dir, &files));
        let all: Vec<String> =
            listed.flat_map(|(dir, _)| self.names(&dir.join("*"), &led_now).collect::<Vec<_>>()).collect();
        let list = |name| File { name, is_new: false, held: None, is_read: false, since: Since::Same };
        files.extend(all.into_iter().map(list));
        // of settings that it made in directories of its own nobody saw whether it read them
        let settings =
            self.came_in(&self.new_dirs()).into_iter().filter(|name| is_of_settings(Path::new(name)));
        let made = |name| File { is_new: true, ..list(name) };
        files.extend(settings.take(MOST_NEW).map(made).collect::<Vec<_>>());
        files
    }

    /// Whether a file that counts was not there before.
    fn is_new(&self, path: &Path) -> Option<bool> {
        if !self.before.counts(path) {
            return None;
        }
        let was_there = self.before.files.contains_key(path);
        (was_there || path.is_file()).then_some(!was_there)
    }

    /// Whether a directory was gone through for the files in it.
    fn is_list(&self, dir: &Path, files: &BTreeSet<File>) -> bool {
        let Some(ways) = self.before.walk.dirs.get(dir) else { return false };
        let shown: Vec<String> = ways.iter().filter_map(|way| self.shown(way)).collect();
        let was_opened = |name: &str| {
            let is_it = |f: &File| {
                let of_dir = f.name.rsplit_once('/').filter(|(_, of)| *of == name);
                !f.is_new && of_dir.is_some_and(|(at, _)| shown.iter().any(|way| way == at))
            };
            files.iter().any(is_it)
        };
        listed::is_gone_through(dir, self.modules.contains(dir), was_opened)
    }

    /// What came to be: of what was opened, and directories, whose names end in `/`.
    pub fn came(&self, seen: &BTreeSet<File>) -> Vec<String> {
        let files = seen.iter().filter(|f| f.is_new).map(|f| f.name.clone());
        let new = self.new_dirs();
        let dirs = new.iter().map(|(_, name)| format!("{name}/"));
        let all: BTreeSet<String> = dirs.chain(files).chain(self.came_in(&new)).collect();
        all.into_iter().take(MOST_NEW).collect()
    }

    /// Directories that came to be, with their names.
    fn new_dirs(&self) -> Vec<(PathBuf, String)> {
        let is_new = |p: &PathBuf| !self.before.all_dirs.contains(p) && !self.before.walk.is_spared(p);
        let dirs = self.before.walk.dirs.keys().flat_map(|dir| directories(dir)).filter(is_new);
        let named = |dir: PathBuf| {
            let name = self.names(&dir, &[]).next();
            Some((dir, name?))
        };
        dirs.filter_map(named).collect()
    }

    /// What lies in such directories: nobody saw it being made, and a person may edit it later.
    fn came_in(&self, new: &[(PathBuf, String)]) -> Vec<String> {
        new.iter().flat_map(|(dir, name)| self.files_in(dir, name)).collect()
    }

    /// The files of a directory that came to be, and of those below it, by their names.
    fn files_in(&self, dir: &Path, name: &str) -> Vec<String> {
        let (mut found, mut open) = (Vec::new(), vec![(dir.to_owned(), name.to_owned())]);
        while let Some((dir, name)) = open.pop().filter(|_| found.len() < MOST_NEW) {
            open.extend(directories(&dir).into_iter().filter_map(|below| {
                let inner = format!("{name}/{}", below.file_name()?.to_str()?);
                Some((below, inner))
            }));
            let entries = fs::read_dir(&dir).into_iter().flatten().flatten().map(|e| e.path());
            let files = entries.filter(|path| path.is_file() && self.before.counts(path) && !is_log(path));
            found.extend(files.filter_map(|path| Some(format!("{name}/{}", path.file_name()?.to_str()?))));
        }
        found
    }

    /// Whether its scripts write what is called so, and it holds what it held when the launch began.
    pub fn is_rendered_same(&self, name: &str) -> bool {
        let path = self.study_dir.join(name).canonicalize();
        path.is_ok_and(|path| self.before.rendered_same(&path).is_some())
    }

    /// What lay there when it began, and in which directories beside the study's own.
    pub fn lay(&self) -> (&Listing, &BTreeSet<PathBuf>) {
        (&self.before.listing, &self.others)
    }

    /// Why not all was seen.
    pub fn missed(&self) -> Option<String> {
        match &self.eyes {
            Ok(eyes) => eyes.missed(),
            Err(e) => Some(format!("what is opened cannot be followed: {e}")),
        }
    }

    /// What a path is called: below the study's directory from there on, and so by every link that led to it before the launch or leads to
    /// it now.
    fn names(&self, path: &Path, led_now: &[(PathBuf, PathBuf)]) -> impl Iterator<Item = String> {
        let dirs = path.parent().and_then(|dir| self.before.walk.dirs.get(dir)).into_iter().flatten();
        let below = dirs.filter_map(|dir| Some(dir.join(path.file_name()?)));
        let links = self.before.links.get(path).into_iter().flatten().cloned();
        let now = led_now.iter().filter_map(|(link, to)| Some(joined(link, path.strip_prefix(to).ok()?)));
        let all: BTreeSet<PathBuf> = below.chain(links).chain(now).collect();
        let names: Vec<String> = all.iter().filter_map(|path| self.shown(path)).collect();
        names.into_iter()
    }

    fn shown(&self, path: &Path) -> Option<String> {
        shown(path, &self.study_dir)
    }
}

/// Whether a file is one of settings, by the ending of its name.
fn is_of_settings(path: &Path) -> bool {
    path.extension().is_some() && leaves::are_in(path)
}

/// Whether a file is a database that may hold settings. Who writes to one reads it through the same opening, which the kernel does not tell.
fn is_database(path: &Path) -> bool {
    let ending = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    ["db", "sqlite", "sqlite3"].contains(&ending) && use_of(name) == Use::Read
}

/// Whether programs write what is called so.
pub(super) fn is_log(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".jsonl") || WRITTEN.iter().any(|end| name.ends_with(end))
}

/// The source that compiled Python is made of, and any other file as it is. `None`: its source is not there.
fn of_source(path: PathBuf) -> Option<PathBuf> {
    let dir = path.parent()?;
    if dir.file_name()? != "__pycache__" {
        return Some(path);
    }
    let module = path.file_name()?.to_str()?.split('.').next()?.to_owned();
    let source = dir.parent()?.join(format!("{module}.py"));
    source.is_file().then_some(source)
}

fn directories(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_own = |e: &fs::DirEntry| !disk::is_kept_by_tools(&e.file_name().to_string_lossy());
    let dirs = entries.filter(|e| is_own(e) && e.file_type().is_ok_and(|kind| kind.is_dir()));
    dirs.map(|e| e.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    #[test]
    fn what_was_there_and_is_opened_counts_and_what_is_known_otherwise_does_not() {
        let dir = folder::of(&[
            ("conf/a.ini", "1"),
            ("conf/b.ini", "1"),
            ("plugins/x.py", "1"),
            ("plugins/__pycache__/x.cpython-312.pyc", "1"),
            ("plugins/__pycache__/gone.cpython-312.pyc", "1"),
            ("venv/pyvenv.cfg", ""),
            ("venv/lib/y.py", ""),
            ("model/config.json", "1"),
            (".git/config", ""),
            ("README.md", ""),
            ("s.plab", ""),
            ("kept/journal.jsonl", ""),
        ]);
        std::os::unix::fs::symlink("conf/a.ini", dir.path().join("now")).expect("linked");
        let study_dir = dir.path().to_owned();
        let spared = vec![study_dir.join("model")];
        let opened = Opened::begin(Ground { study_dir: study_dir.clone(), spared, ..Ground::default() });
        for name in [
            "now",
            "conf/b.ini",
            "plugins/__pycache__/x.cpython-312.pyc",
            "plugins/__pycache__/gone.cpython-312.pyc",
            "venv/lib/y.py",
            "model/config.json",
            ".git/config",
            "README.md",
            "s.plab",
            "kept/journal.jsonl",
        ] {
            let _: String = fs::read_to_string(study_dir.join(name)).expect("read");
        }
        fs::create_dir(study_dir.join("cache")).expect("made");
        fs::write(study_dir.join("made.bin"), "1").expect("written");
        fs::write(study_dir.join("conf/b.ini"), "2").expect("written");
        let files: Vec<_> = opened.files(None).into_iter().map(|f| (f.name, f.is_new)).collect();
        let expected = [
            ("conf/a.ini", false),
            ("conf/b.ini", false),
            ("made.bin", true),
            ("now", false),
            ("plugins/x.py", false),
        ];
        assert_eq!(files, expected.map(|(name, is_new)| (name.to_owned(), is_new)));
        assert_eq!(opened.came(&opened.files(None)), ["cache/", "made.bin"]);
        assert_eq!(opened.missed(), None);
    }
}
