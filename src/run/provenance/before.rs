//! What lay where a launch is followed, before it began: files with what the kernel notes of them, links with where they lead, and what
//! files held that its scripts write.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::contents;
use super::eyes::{self, joined};
use super::listing::Listing;
use super::opened::{Ground, Since};
use super::walk::{Entry, Walk, is_of_others};
use crate::disk;

/// Longer files are not read as they are opened: of libraries and weights their stamps tell what was written.
const LONGEST_READ: u64 = 1 << 20;

/// What was there before.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub walk: Walk,
    /// what lay there, by name
    pub listing: Listing,
    /// all that were seen
    pub all_dirs: HashSet<PathBuf>,
    pub files: HashMap<PathBuf, Stamp>,
    /// links to files, by where they lead
    pub links: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// all links, each as it is reached
    pub ways: BTreeMap<PathBuf, PathBuf>,
    /// hashes over files that its scripts write
    rendered: HashMap<PathBuf, String>,
}

/// What the kernel notes of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    /// inode, size and time of the last change of what it holds
    held: (u64, u64, i64, i64),
    /// time of the last change of anything
    changed: (i64, i64),
    /// mode, owner, group, names
    rights: (u32, u32, u32, u64),
}

impl Stamp {
    pub fn until(&self, now: Option<&Self>) -> Since {
        match now {
            Some(now) if self.held != now.held => Since::Other,
            Some(now) if self.changed != now.changed && self.rights == now.rights => Since::Touched,
            Some(_) => Since::Same,
            None => Since::Other,
        }
    }
}

impl eyes::Ground for Arc<Before> {
    fn counts(&self, path: &Path) -> bool {
        let is_known = self.files.contains_key(path) || self.way(path).is_some();
        is_known && Before::counts(self, path) && fs::metadata(path).is_ok_and(|m| m.len() <= LONGEST_READ)
    }

    fn was_dir(&self, path: &Path) -> bool {
        self.walk.dirs.contains_key(path)
    }

    fn was_link(&self, path: &Path) -> bool {
        self.ways.contains_key(path)
    }

    fn is_followed(&self, to: &Path) -> bool {
        !is_of_others(to) && !self.walk.is_spared(to)
    }

    fn dirs(&self) -> Vec<&PathBuf> {
        self.walk.dirs.keys().collect()
    }

    fn files(&self) -> Vec<&PathBuf> {
        // what lies in a directory that is followed would be told twice
        let is_apart = |to: &&PathBuf| to.parent().is_none_or(|dir| !self.walk.dirs.contains_key(dir));
        self.links.keys().filter(is_apart).collect()
    }
}

impl Before {
    pub fn of(ground: &Ground) -> Self {
        // perflab's own events and output, which people look at meanwhile
        let own = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten().map(|e| e.path());
        let own = own.filter_map(|fd| fs::read_link(fd).ok()).filter(|path| path.is_file());
        let named = ground.spared.iter().filter_map(|path| path.canonicalize().ok());
        let spared = named.chain(own).collect();
        let (mut before, mut listing) = (Self::default(), Listing::of(&ground.study_dir));
        let others = ground.others.iter().map(PathBuf::as_path);
        let walk = Walk::through(&ground.study_dir, others, spared, |entry| {
            listing.add(&entry);
            before.see(entry);
        });
        listing.is_cut = walk.is_cut;
        let hash = |path: &PathBuf| Some((path.clone(), disk::of_file(path).ok()?));
        let rendered = ground.rendered.iter().filter_map(hash).collect();
        Self { walk, listing, rendered, ..before }
    }

    /// What a file holds that the launch's scripts write, if it held that before.
    pub fn rendered_same(&self, path: &Path) -> Option<&String> {
        let is = || eyes::unseen(path, |path| disk::afresh(path, || ())).ok();
        self.rendered.get(path).filter(|was| is().as_ref() == Some(*was))
    }

    fn see(&mut self, Entry { path, way, kind, is_dir, .. }: Entry<'_>) {
        if kind.is_dir() {
            self.all_dirs.insert(path.clone());
        }
        if kind.is_symlink() {
            self.ways.insert(path, way.clone());
            if !is_dir {
                self.link(way);
            }
        } else if kind.is_file() {
            self.files.extend(stamp(&path).map(|stamp| (path, stamp)));
        }
    }

    fn link(&mut self, way: PathBuf) {
        let Ok(to) = way.canonicalize() else { return };
        let of_kernel = ["/dev", "/proc", "/sys"].iter().any(|first| to.starts_with(first));
        if to.is_file() && !of_kernel {
            self.files.extend(stamp(&to).map(|stamp| (to.clone(), stamp)));
            self.links.entry(to).or_default().push(way);
        }
    }

    /// Where links lead now.
    pub fn led_now(&self) -> Vec<(PathBuf, PathBuf)> {
        self.ways.values().filter_map(|way| Some((way.clone(), way.canonicalize().ok()?))).collect()
    }

    /// How what was opened by a link, which led elsewhere before, is reached.
    pub fn way(&self, path: &Path) -> Option<PathBuf> {
        path.ancestors().find_map(|at| Some(joined(self.ways.get(at)?, path.strip_prefix(at).ok()?)))
    }

    /// Whether a file is one that engines read, as far as its name tells.
    pub fn counts(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_cache = path.parent().is_some_and(|dir| dir.ends_with("__pycache__"));
        let is_read = disk::Which::All.counts(&name) || disk::is_sourceless(path) && !is_cache;
        is_read && !self.walk.is_spared(path) && !contents::is_secret(path)
    }
}

pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some(Stamp {
        held: (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()),
        changed: (meta.ctime(), meta.ctime_nsec()),
        rights: (meta.mode(), meta.uid(), meta.gid(), meta.nlink()),
    })
}
