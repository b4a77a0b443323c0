//! One exec owns a state directory: an flock, whose file names its owner.
//!
//! The lock's descriptor is also held by each launch's guard. So it is free only when nothing that the owner started is alive, even
//! if the owner was killed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use thiserror::Error;

use super::plain;

/// How long the guards of a killed owner may need to clean up.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long somebody may look at the lock.
const GLANCE: Duration = Duration::from_millis(100);

/// How often a guard that cleans up is looked at: one that was stopped never ends.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Error)]
pub enum LockError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{} owns {path}{}", .owner.who(), .owner.pid.map(|p| format!(" (pid {p}{})", .owner.state())).unwrap_or_default())]
    Owned { path: PathBuf, owner: Owner },
}

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub pid: Option<u32>,
    /// the guard of a launch whose perflab is dead
    pub guard: bool,
    /// it was stopped, by a signal or a debugger, and does nothing until it is continued
    pub stopped: bool,
}

impl Owner {
    fn who(&self) -> &'static str {
        if self.guard { "a guard that outlived its perflab" } else { "another perflab" }
    }

    fn state(&self) -> &'static str {
        if self.stopped { ", stopped" } else { "" }
    }

    /// The process that the lock's file names, if it lives; else whoever holds the file open.
    fn of(path: &Path, named: Option<u32>) -> Self {
        let guard = named.is_none_or(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        let pid = if guard { holder(path) } else { named };
        let stopped = pid.is_some_and(is_stopped);
        Self { pid, guard: guard && pid.is_some(), stopped }
    }
}

/// A process that holds a file open, this one excepted.
fn holder(path: &Path) -> Option<u32> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    let wanted = identity(path)?;
    let own = std::process::id();
    let pids =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.into_iter().any(|fd| identity(&fd.path()) == Some(wanted))
    };
    pids.filter(|pid| *pid != own).find(holds)
}

fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

pub struct Lock {
    file: Flock<File>,
}

impl Lock {
    /// Takes the lock of a state directory. An owner that is alive keeps it; one that was killed is waited for until its guards
    /// have cleaned up.
    pub fn take(dir: &Path) -> Result<Self, LockError> {
        let path = dir.join("lock");
        let began = Instant::now();
        let mut look = LOOK;
        loop {
            let error = |source| LockError::Io { path: path.clone(), source };
            let mut file = OpenOptions::new();
            file.create(true).truncate(false).read(true).write(true);
            let mut file = plain::open(&mut file, &path).map_err(error)?;
            let mut owner = String::new();
            file.read_to_string(&mut owner).map_err(error)?;
            let pid: Option<u32> = owner.trim().parse().ok();
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(mut file) => {
                    let written = file.set_len(0).and_then(|()| file.rewind());
                    written.and_then(|()| writeln!(file, "{}", std::process::id())).map_err(error)?;
                    return Ok(Self { file });
                }
                Err((_, nix::errno::Errno::EWOULDBLOCK)) => {
                    let alive = pid.is_some_and(|p| Path::new(&format!("/proc/{p}")).exists());
                    // who only looks whether there is an owner holds it for an instant
                    let refused = alive && began.elapsed() > GLANCE;
                    if refused || began.elapsed() > look {
                        let owner = Owner::of(&path, pid);
                        if refused || owner.stopped || began.elapsed() > PATIENCE {
                            return Err(LockError::Owned { path: dir.to_owned(), owner });
                        }
                        look += LOOK;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err((_, errno)) => return Err(error(errno.into())),
            }
        }
    }

    /// Whether somebody owns a state directory now. It is asked by trying, for an instant.
    pub fn is_held(dir: &Path) -> bool {
        let Ok(file) = plain::open(OpenOptions::new().read(true), &dir.join("lock")) else { return false };
        match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Ok(_) => false,
            Err((_, errno)) => errno == nix::errno::Errno::EWOULDBLOCK,
        }
    }

    /// The lock's descriptor for a guard to hold.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(OwnedFd::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_a_time() {
        let dir = tempfile::tempdir().expect("temp dir");
        let first = Lock::take(dir.path()).expect("free");
        assert!(matches!(
            Lock::take(dir.path()),
            Err(LockError::Owned { owner: Owner { pid: Some(_), guard: false, .. }, .. })
        ));
        drop(first);
        Lock::take(dir.path()).expect("free again");
    }

    #[test]
    fn a_guard_that_outlives_its_owner_is_named() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("lock");
        fs::write(&path, "").expect("writes");
        let mut guard = std::process::Command::new("sleep")
            .arg("60")
            .stdin(File::open(&path).expect("opens"))
            .spawn()
            .expect("starts");
        let pid = Some(guard.id());
        // no process has this number
        let gone = Some(u32::MAX);
        assert_eq!(Owner::of(&path, gone), Owner { pid, guard: true, stopped: false });
        let number = nix::unistd::Pid::from_raw(guard.id() as i32);
        nix::sys::signal::kill(number, nix::sys::signal::Signal::SIGSTOP).expect("lives");
        while !is_stopped(guard.id()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let stopped = LockError::Owned { path: "st".into(), owner: Owner::of(&path, gone) };
        let said = format!("a guard that outlived its perflab owns st (pid {}, stopped)", guard.id());
        assert_eq!(stopped.to_string(), said);
        let _ = guard.kill().and_then(|()| guard.wait());
        assert_eq!(Owner::of(&path, gone), Owner { pid: None, guard: false, stopped: false });
    }
}
