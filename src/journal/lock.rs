//! One exec owns a state directory: an flock, whose file names its owner.
//!
//! The lock's descriptor is also held by each launch's guard. So it is free only when nothing that the owner started is alive, even
//! if the owner was killed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use thiserror::Error;

/// How long the guards of a killed owner may need to clean up.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long somebody may look at the lock.
const GLANCE: Duration = Duration::from_millis(100);

#[derive(Debug, Error)]
pub enum LockError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("another perflab owns {path}{}", .pid.map(|p| format!(" (pid {p})")).unwrap_or_default())]
    Owned { path: PathBuf, pid: Option<u32> },
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
        loop {
            let error = |source| LockError::Io { path: path.clone(), source };
            let mut file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(&path)
                .map_err(error)?;
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
                    if refused || began.elapsed() > PATIENCE {
                        return Err(LockError::Owned { path: dir.to_owned(), pid });
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err((_, errno)) => return Err(error(errno.into())),
            }
        }
    }

    /// Whether somebody owns a state directory now. It is asked by trying, for an instant.
    pub fn is_held(dir: &Path) -> bool {
        let Ok(file) = File::open(dir.join("lock")) else { return false };
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
        assert!(matches!(Lock::take(dir.path()), Err(LockError::Owned { pid: Some(_), .. })));
        drop(first);
        Lock::take(dir.path()).expect("free again");
    }
}
