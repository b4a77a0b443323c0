//! What lies in the directories in which a launch is followed: the study's own and those that its texts lead to, each with those below it.
//! Not what is the system's, installed, kept by tools or measured.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use super::build::is_shared_by_all;
use crate::disk;

/// Directories that are followed, the nearest first.
const MOST_DIRS: usize = 1024;
/// Files that are looked at.
const MOST_FILES: usize = 20_000;
/// Directories within one.
const DEEPEST: usize = 8;
/// Ways that links lead to one directory.
const MOST_WAYS: usize = 4;

/// Where a walk leads.
#[derive(Debug, Default)]
pub struct Walk {
    /// directories that were gone through, with the ways that lead to them
    pub dirs: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// what is known by an identity of its own
    pub spared: Vec<PathBuf>,
    /// there was more than is looked at
    pub is_cut: bool,
    files: usize,
    nobodys: Nobodys,
}

/// Something that lies in a directory.
pub struct Entry<'e> {
    pub path: PathBuf,
    /// how it is reached
    pub way: PathBuf,
    /// the directory at which the walk to it began
    pub root: &'e Path,
    pub kind: FileType,
    /// it is a directory, or a link to one
    pub is_dir: bool,
    /// it lies in a directory that is nobody's in particular, of which those below are not gone through
    pub is_closed: bool,
}

/// A directory that is still to be gone through.
struct Open<'r> {
    way: PathBuf,
    root: &'r Path,
    depth: usize,
}

impl Walk {
    /// Goes through the study's directory and others, and shows what lies there.
    pub fn through<'r>(
        study_dir: &'r Path,
        others: impl Iterator<Item = &'r Path>,
        spared: Vec<PathBuf>,
        mut see: impl FnMut(Entry<'_>),
    ) -> Self {
        let mut walk = Self { spared, nobodys: Nobodys::here(), ..Self::default() };
        let mut open: VecDeque<Open<'r>> = VecDeque::new();
        for root in std::iter::once(study_dir).chain(others) {
            let is_wide = root != study_dir && walk.nobodys.or_the_study_are_in(root, study_dir);
            let depth = if is_wide { DEEPEST } else { 0 };
            open.push_back(Open { way: root.to_owned(), root, depth });
        }
        while let Some(next) = open.pop_front() {
            if walk.dirs.len() >= MOST_DIRS || walk.files >= MOST_FILES {
                walk.is_cut = true;
                break;
            }
            walk.enter(&next, &mut open, &mut see);
        }
        walk
    }

    fn enter<'r>(&mut self, at: &Open<'r>, open: &mut VecDeque<Open<'r>>, see: &mut impl FnMut(Entry<'_>)) {
        let Ok(real) = at.way.canonicalize() else { return };
        if is_of_others(&real) || self.is_spared(&real) {
            return;
        }
        let ways = self.dirs.entry(real.clone()).or_default();
        if ways.len() >= MOST_WAYS || ways.contains(&at.way) {
            return;
        }
        ways.push(at.way.clone());
        let is_home = self.nobodys.home == real;
        for entry in fs::read_dir(&real).into_iter().flatten().flatten() {
            let (path, way) = (entry.path(), at.way.join(entry.file_name()));
            let Ok(kind) = entry.file_type() else { continue };
            let is_dir = kind.is_dir() || kind.is_symlink() && way.is_dir();
            if is_dir {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let is_kept = disk::is_kept_by_tools(&name) || is_home && name.starts_with('.');
                if at.depth < DEEPEST && !is_kept {
                    let depth = if self.nobodys.are_in(&path) { DEEPEST } else { at.depth + 1 };
                    open.push_back(Open { way: way.clone(), root: at.root, depth });
                }
            } else if self.files >= MOST_FILES {
                self.is_cut = true;
                continue;
            } else {
                self.files += 1;
            }
            see(Entry { path, way, root: at.root, kind, is_dir, is_closed: at.depth >= DEEPEST });
        }
    }

    pub fn is_spared(&self, path: &Path) -> bool {
        self.spared.iter().any(|spared| path.starts_with(spared))
    }
}

/// Directories that are nobody's in particular: the user's home, and what is temporary.
#[derive(Debug, Default)]
struct Nobodys {
    /// links resolved; empty where none is known
    home: PathBuf,
    temporary: PathBuf,
}

impl Nobodys {
    fn here() -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        Self { home: home.canonicalize().unwrap_or(home), temporary: std::env::temp_dir() }
    }

    /// Whether a directory is one of them, or holds one.
    fn are_in(&self, dir: &Path) -> bool {
        self.home.starts_with(dir) || self.temporary.starts_with(dir)
    }

    /// Whether too much lies below a directory: it is one of them, or holds the study's own and is no repository of it.
    fn or_the_study_are_in(&self, dir: &Path, study_dir: &Path) -> bool {
        let Ok(real) = dir.canonicalize() else { return true };
        let holds_study = !real.join(".git").exists()
            && study_dir.canonicalize().is_ok_and(|study| study.starts_with(&real));
        holds_study || self.are_in(&real)
    }
}

/// Whether a directory is the system's, the kernel's, an environment that is known by what is installed in it, packages of others, a hub's
/// cache, a store of containers, or where studies keep what they measured.
pub fn is_of_others(dir: &Path) -> bool {
    let of_kernel = ["/dev", "/proc", "/sys", "/run", "/usr"].iter().any(|first| dir.starts_with(first));
    // what lies in memory was put there by somebody
    let is_in_memory = dir.parent().is_some_and(|parent| parent.starts_with("/dev/shm"));
    let of_system = of_kernel && !is_in_memory || dir == Path::new("/etc");
    let of_containers = ["vfs-layers", "overlay-layers"].iter().any(|layers| dir.join(layers).is_dir());
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let is_kept = name == "node_modules" || name == "site-packages" || name.starts_with("models--");
    of_system
        || is_shared_by_all(dir)
        || disk::is_environment(dir)
        || of_containers
        || is_kept
        || dir.join(disk::JOURNAL).is_file()
}
