//! A launch's `TMPDIR`: made with it, removed with it, and swept when nobody was left to do so.
//!
//! Engines leave sockets there even after a clean stop. It lies with the system's temporary files and not in the launch's
//! directory: the path of a socket may have 107 bytes, and shared file systems take no sockets.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::mounts::{mount_in, remove_tree};
use super::processes;
use super::stamp::Stamp;

/// How the name of a launch's `TMPDIR` begins.
const PREFIX: &str = "plab-";

/// A longer `TMPDIR` leaves no room for a socket that is named by a UUID and some more.
const LONGEST_BASE: usize = 40;

/// Of a launch in the name.
const DIGITS_OF_A_MARK: usize = 4;

/// How long another perflab is waited for that is removing the same directory.
const OTHERS_PATIENCE: Duration = Duration::from_secs(2);

/// How long a forked process is waited for that has not run its program yet.
const FORKED: Duration = Duration::from_millis(50);

/// A directory that its maker holds locked, so that nobody takes it for a leftover.
#[derive(Debug)]
pub(super) struct Scratch {
    pub path: PathBuf,
    _lock: Option<File>,
}

/// Makes one for the launch with that nonce, below the `TMPDIR` of `env`, else below the system's.
pub(super) fn make(env: &[(String, String)], nonce: &str) -> io::Result<Scratch> {
    let given = env.iter().find(|(n, v)| n == "TMPDIR" && !v.is_empty());
    let base = given.map_or_else(system, |(_, v)| PathBuf::from(v));
    let base = short_enough(std::path::absolute(base)?);
    let (owner, launch) = (Owner::this(), mark(Stamp::of(nonce)));
    for n in 0.. {
        let again = if n == 0 { String::new() } else { format!("-{n}") };
        let path = base.join(format!("{PREFIX}{}-{}-{launch}{again}", owner.pid, owner.born));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(io::Error::new(e.kind(), format!("{}: {e}", base.display()))),
            Ok(()) => return Ok(Scratch { _lock: hold(&path), path }),
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
    path.is_absolute() && Name::of(path).is_some()
}

/// Removes the directories of launches of which nothing is left: their makers are gone, nobody holds them, and no
/// process has its temporary files, its working directory, a file or a socket there.
pub fn sweep_scratch() -> Vec<PathBuf> {
    let left: Vec<(PathBuf, Name)> = directories().filter(|(_, name)| !name.owner.lives()).collect();
    if left.is_empty() {
        return Vec::new();
    }
    let used = Used::now();
    let free = left.into_iter().filter(|(path, name)| !used.has(path, name));
    free.map(|(path, _)| path).filter(|path| remove(path)).collect()
}

/// Directories of launches that stay, and why: those of this perflab, of whose launches none runs any more, or those of others that are gone
/// in which something is mounted.
pub fn kept_scratch(own: bool) -> Vec<(PathBuf, Kept)> {
    let this = Owner::this();
    let ended = directories().filter(|(_, name)| if own { name.owner == this } else { !name.owner.lives() });
    let kept = |path: &Path| match mount_in(path).ok()? {
        Some(mount) => Some(Kept::Mounted(mount)),
        None if own => remove_tree(path).err().map(|e| Kept::Refused(e.to_string())),
        None => None,
    };
    ended.filter_map(|(path, _)| kept(&path).map(|why| (path, why))).collect()
}

/// Why a directory of a launch stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// something is mounted there
    Mounted(PathBuf),
    /// what the kernel says: a file in it may be immutable
    Refused(String),
}

/// All directories of launches of this user.
fn directories() -> impl Iterator<Item = (PathBuf, Name)> {
    let bases = BTreeSet::from([short_enough(system()), PathBuf::from("/tmp")]);
    let me = nix::unistd::geteuid().as_raw();
    let entries = bases.into_iter().filter_map(|base| fs::read_dir(base).ok()).flatten().flatten();
    // not followed: a link to somewhere else is no directory of ours
    let ours = entries.filter(move |e| e.metadata().is_ok_and(|m| m.is_dir() && m.uid() == me));
    ours.map(|e| e.path()).filter_map(|path| Name::of(&path).map(|name| (path, name)))
}

/// Who may take the whole lock is alone with it. Where another perflab has it whole, that one is removing the directory, and is waited
/// for; a process that was just forked holds what its parent has let go of, until it runs another program.
fn remove(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let began = Instant::now();
    while path.exists() {
        match file.try_lock() {
            Ok(()) => return remove_tree(path).is_ok(),
            Err(TryLockError::Error(_)) => return false,
            Err(TryLockError::WouldBlock) => {}
        }
        let shared = file.try_lock_shared().is_ok();
        // who only looks may not keep another one from removing it
        let _ = file.unlock();
        if began.elapsed() >= if shared { FORKED } else { OTHERS_PATIENCE } {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// What a directory's name says.
#[derive(Debug)]
struct Name {
    owner: Owner,
    /// of the launch that it was made for; `None` where an older perflab made it
    launch: Option<String>,
}

impl Name {
    fn of(path: &Path) -> Option<Self> {
        let mut parts = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.split('-');
        let (pid, born, last) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        let is_mark = last.len() == DIGITS_OF_A_MARK && is_of_digits(last);
        let is_again = parts.next().is_none_or(is_number);
        let is_name = (is_mark || is_number(last)) && is_again && parts.next().is_none();
        let is_born = !born.is_empty() && is_of_digits(born);
        let pid = pid.parse().ok().filter(|pid| *pid > 0)?;
        let owner = Owner { pid, born: born.to_owned() };
        (is_name && is_born).then(|| Self { owner, launch: is_mark.then(|| last.to_owned()) })
    }
}

/// A launch in a directory's name: short, as it leaves room for sockets. Two launches that share one are both careful.
fn mark(stamp: Stamp) -> String {
    in_base_36(stamp.number(), DIGITS_OF_A_MARK as u32)
}

fn is_of_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
}

/// The last digits of a number.
fn in_base_36(number: u64, digits: u32) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let digit = |place: u32| char::from(DIGITS[(number / 36_u64.pow(place) % 36) as usize]);
    (0..digits).rev().map(digit).collect()
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

    fn lives(&self) -> bool {
        born(self.pid).is_some_and(|born| born == self.born)
            && processes::read(self.pid).is_some_and(|p| !p.zombie)
    }
}

/// Four characters of a process's time of birth: with the pid they repeat within four hours of births at a tick.
fn born(pid: i32) -> Option<String> {
    processes::began(pid).map(|ticks| in_base_36(ticks, 4))
}

/// What living processes have to do with.
struct Used {
    paths: Vec<PathBuf>,
    /// launches of which a process lives that has overwritten its environment: it may use the launch's directory
    silent: BTreeSet<String>,
}

impl Used {
    fn now() -> Self {
        let mut used = Self { paths: processes::bound_paths(), silent: BTreeSet::new() };
        for process in processes::all().into_iter().filter(|p| !p.zombie) {
            match processes::variable(process.pid, "TMPDIR") {
                Some(temporary) => used.paths.push(temporary.into()),
                None => used.silent.extend(Stamp::read(process.pid).map(mark)),
            }
            used.paths.extend(processes::open_paths(process.pid));
        }
        used
    }

    fn has(&self, directory: &Path, name: &Name) -> bool {
        let silent =
            name.launch.as_ref().map_or(!self.silent.is_empty(), |launch| self.silent.contains(launch));
        silent || self.holds(directory)
    }

    fn holds(&self, directory: &Path) -> bool {
        self.paths.iter().any(|path| path.starts_with(directory))
    }
}

/// The system's; a variable that is set to nothing says nothing.
fn system() -> PathBuf {
    Some(std::env::temp_dir()).filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| "/tmp".into())
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
        let of = |name: &str| {
            Name::of(&Path::new("/tmp").join(name)).map(|n| (n.owner.pid, n.owner.born, n.launch))
        };
        assert_eq!(of("plab-12-0abc-3"), Some((12, "0abc".into(), None)));
        let named = Some((12, "0abc".to_owned(), Some("x0yz".to_owned())));
        assert_eq!(of("plab-12-0abc-x0yz"), named);
        assert_eq!(of("plab-12-0abc-x0yz-1"), named);
        for other in [
            "plab-12-3",
            "plab-12-0abc-x0yz-y",
            "plab-12-0abc-x0yz-1-2",
            "plab-12-0abc-x0y",
            "plab-x-0abc-1",
            "plab-0-0abc-1",
            "plab-12-0AB/-1",
            "x-1-2-3",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        let name = format!("{PREFIX}{}-{}-0", Owner::this().pid, Owner::this().born);
        assert!(Name::of(Path::new(&name)).unwrap().owner.lives());
        assert!(!Owner { born: "zzzz".into(), ..Owner::this() }.lives());
    }

    #[test]
    fn who_holds_a_directory_keeps_it() {
        let dir = tempfile::tempdir().unwrap();
        let (path, env) = (dir.path().join("x"), [("TMPDIR".to_owned(), dir.path().display().to_string())]);
        let scratch = make(&env, "plab-aa-L001").unwrap();
        assert!(is_one(&scratch.path));
        let other = make(&env, "plab-aa-L001").unwrap();
        assert!(is_one(&other.path) && other.path != scratch.path);
        assert!(!remove(&scratch.path) && scratch.path.is_dir());
        let path_of_it = scratch.path.clone();
        drop(scratch);
        assert!(remove(&path_of_it) && !path_of_it.exists());
        assert!(!remove(&path));
    }

    #[test]
    fn who_cannot_be_asked_keeps_the_directory_of_its_own_launch() {
        let silent = BTreeSet::from([mark(Stamp::of("plab-aa-L001"))]);
        let used = |silent| Used { paths: Vec::new(), silent };
        let path = |nonce: &str| PathBuf::from(format!("/tmp/{PREFIX}12-0abc-{}", mark(Stamp::of(nonce))));
        let has = |used: &Used, path: &Path| used.has(path, &Name::of(path).unwrap());
        let (own, other) = (path("plab-aa-L001"), path("plab-aa-L002"));
        let older = Path::new("/tmp/plab-12-0abc-0");
        let one = used(silent);
        assert!(has(&one, &own) && !has(&one, &other) && has(&one, older));
        assert!(!has(&used(BTreeSet::new()), older));
    }

    #[test]
    fn a_directory_in_use_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let open = File::create(dir.path().join("file")).unwrap();
        let other = tempfile::tempdir().unwrap();
        let socket = std::os::unix::net::UnixListener::bind(other.path().join("s")).unwrap();
        let paths = processes::open_paths(std::process::id() as i32).into_iter();
        let used = Used { paths: paths.chain(processes::bound_paths()).collect(), silent: BTreeSet::new() };
        assert!(used.holds(dir.path()) && used.holds(other.path()));
        assert!(!used.holds(Path::new("/tmp/nobody-is-here")));
        drop((open, socket));
    }
}
