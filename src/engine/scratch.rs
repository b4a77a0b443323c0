//! A launch's `TMPDIR`: made with it, removed with it, and swept when nobody was left to do so.
//!
//! Engines leave sockets there even after a clean stop. It lies with the system's temporary files and not in the launch's
//! directory: the path of a socket may have 107 bytes, and shared file systems take no sockets.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::mounts::{mount_in, remove_tree};
use super::processes;
use super::stamp::Stamp;

/// How the name of a launch's `TMPDIR` begins.
const PREFIX: &str = "plab-";

/// A longer `TMPDIR` leaves no room for a socket that is named by a UUID and some more.
const LONGEST_BASE: usize = 40;

/// A directory that its maker holds locked, so that nobody takes it for a leftover.
#[derive(Debug)]
pub(super) struct Scratch {
    pub path: PathBuf,
    _lock: Option<File>,
}

/// Makes one below the `TMPDIR` of `env`, else below the system's.
pub(super) fn make(env: &[(String, String)]) -> io::Result<Scratch> {
    let given = env.iter().find(|(n, v)| n == "TMPDIR" && !v.is_empty());
    let base = given.map_or_else(std::env::temp_dir, |(_, v)| PathBuf::from(v));
    let base = short_enough(std::path::absolute(base)?);
    let owner = Owner::this();
    for n in 0.. {
        let path = base.join(format!("{PREFIX}{}-{}-{n}", owner.pid, owner.born));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| Scratch { _lock: hold(&path), path }),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Holds the directory as somebody who uses it: a file system without locks cannot say so.
pub(super) fn hold(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    file.try_lock_shared().is_ok().then_some(file)
}

/// The name is that of a launch's directory.
pub(super) fn is_one(path: &Path) -> bool {
    path.is_absolute() && Owner::of(path).is_some()
}

/// Removes the directories of launches of which nothing is left: their makers are gone, nobody holds them, and no
/// process has its temporary files, its working directory, a file or a socket there.
pub fn sweep_scratch() -> Vec<PathBuf> {
    let left: Vec<PathBuf> =
        directories().filter(|(_, owner)| !owner.lives()).map(|(path, _)| path).collect();
    if left.is_empty() {
        return left;
    }
    let Some(used) = Used::now() else { return Vec::new() };
    left.into_iter().filter(|path| !used.has(path) && remove(path)).collect()
}

/// Directories of launches that stay as something is mounted in them, and where: those of this perflab, or those of others that are gone.
pub fn mounted_scratch(own: bool) -> Vec<(PathBuf, PathBuf)> {
    let this = Owner::this();
    let ended = directories().filter(|(_, owner)| if own { *owner == this } else { !owner.lives() });
    let mounted = ended.filter_map(|(path, _)| {
        let mount = mount_in(&path).ok()??;
        Some((path, mount))
    });
    mounted.collect()
}

/// All directories of launches of this user.
fn directories() -> impl Iterator<Item = (PathBuf, Owner)> {
    let bases = BTreeSet::from([short_enough(std::env::temp_dir()), PathBuf::from("/tmp")]);
    let me = nix::unistd::geteuid().as_raw();
    let entries = bases.into_iter().filter_map(|base| fs::read_dir(base).ok()).flatten().flatten();
    // not followed: a link to somewhere else is no directory of ours
    let ours = entries.filter(move |e| e.metadata().is_ok_and(|m| m.is_dir() && m.uid() == me));
    ours.map(|e| e.path()).filter_map(|path| Owner::of(&path).map(|owner| (path, owner)))
}

/// Who may take the whole lock is alone with it.
fn remove(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    match file.try_lock() {
        Ok(()) => remove_tree(path).is_ok(),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

/// The perflab that made a directory: a number alone may be somebody else's by now.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    pid: i32,
    /// Of the time when it began, by the kernel's clock.
    born: String,
}

impl Owner {
    fn this() -> Self {
        let pid = std::process::id() as i32;
        Self { pid, born: born(pid).unwrap_or_else(|| "0".into()) }
    }

    /// As the directory's name says.
    fn of(path: &Path) -> Option<Self> {
        let mut parts = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.split('-');
        let (pid, born, n) = (parts.next()?, parts.next()?, parts.next()?);
        let is_name = n.parse::<u32>().is_ok() && parts.next().is_none() && !born.is_empty();
        let is_born = born.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
        let pid = pid.parse().ok().filter(|pid| *pid > 0)?;
        (is_name && is_born).then(|| Self { pid, born: born.to_owned() })
    }

    fn lives(&self) -> bool {
        born(self.pid).is_some_and(|born| born == self.born)
            && processes::read(self.pid).is_some_and(|p| !p.zombie)
    }
}

/// Four characters of a process's time of birth: with the pid they repeat within four hours of births at a tick.
fn born(pid: i32) -> Option<String> {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let ticks = processes::began(pid)? as usize;
    let digit = |place: u32| char::from(DIGITS[ticks / 36_usize.pow(place) % 36]);
    Some((0..4).rev().map(digit).collect())
}

/// Paths that living processes have to do with.
struct Used(Vec<PathBuf>);

impl Used {
    /// `None` where it cannot be told: an engine that has overwritten its environment may use any of them.
    fn now() -> Option<Self> {
        let mut paths = Vec::new();
        for process in processes::all().into_iter().filter(|p| !p.zombie) {
            let temporary = processes::variable(process.pid, "TMPDIR");
            if temporary.is_none() && Stamp::read(process.pid).is_some() {
                return None;
            }
            paths.extend(temporary.map(PathBuf::from));
            paths.extend(processes::open_paths(process.pid));
        }
        paths.extend(processes::bound_paths());
        Some(Self(paths))
    }

    fn has(&self, directory: &Path) -> bool {
        self.0.iter().any(|path| path.starts_with(directory))
    }
}

/// Where `TMPDIR` leaves no room for sockets, `/tmp` does.
fn short_enough(base: PathBuf) -> PathBuf {
    let tmp = Path::new("/tmp");
    if base.as_os_str().len() > LONGEST_BASE && tmp.is_dir() { tmp.to_owned() } else { base }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_it_is() {
        let of = |name: &str| Owner::of(&Path::new("/tmp").join(name)).map(|o| (o.pid, o.born));
        assert_eq!(of("plab-12-0abc-3"), Some((12, "0abc".into())));
        for other in
            ["plab-12-3", "plab-12-0abc-3-4", "plab-x-0abc-1", "plab-0-0abc-1", "plab-12-0AB/-1", "x-1-2-3"]
        {
            assert_eq!(of(other), None, "{other}");
        }
        let name = format!("{PREFIX}{}-{}-0", Owner::this().pid, Owner::this().born);
        assert!(Owner::of(Path::new(&name)).unwrap().lives());
        assert!(!Owner { born: "zzzz".into(), ..Owner::this() }.lives());
    }

    #[test]
    fn who_holds_a_directory_keeps_it() {
        let dir = tempfile::tempdir().unwrap();
        let (path, env) = (dir.path().join("x"), [("TMPDIR".to_owned(), dir.path().display().to_string())]);
        let scratch = make(&env).unwrap();
        assert!(is_one(&scratch.path));
        assert!(!remove(&scratch.path) && scratch.path.is_dir());
        let path_of_it = scratch.path.clone();
        drop(scratch);
        assert!(remove(&path_of_it) && !path_of_it.exists());
        assert!(!remove(&path));
    }

    #[test]
    fn a_directory_in_use_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let open = File::create(dir.path().join("file")).unwrap();
        let other = tempfile::tempdir().unwrap();
        let socket = std::os::unix::net::UnixListener::bind(other.path().join("s")).unwrap();
        let paths = processes::open_paths(std::process::id() as i32).into_iter();
        let used = Used(paths.chain(processes::bound_paths()).collect());
        assert!(used.has(dir.path()) && used.has(other.path()));
        assert!(!used.has(Path::new("/tmp/nobody-is-here")));
        drop((open, socket));
    }
}
