//! Reservations: two perflabs that look at one GPU at the same moment both find it clean. A launch reserves its GPUs before it looks,
//! among all perflabs of the machine, and keeps them until they are clean again.
//!
//! A reservation is a lock of a file named by the GPU, which the kernel takes back however its holder ends. What a killed perflab's
//! engine still holds then, the look at the memory shows.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::O_NOFOLLOW;

use crate::gpu::{Gpu, Gpus, Pace};

/// One directory for all users: they share the GPUs too. Not `TMPDIR`, which is each user's own.
const DIR: &str = "/tmp/perflab-gpus";

/// Where this machine's perflabs reserve GPUs.
#[derive(Debug)]
pub struct Reservations {
    dir: PathBuf,
    pub pace: Pace,
}

/// GPUs that no other perflab launches on as long as this is there.
#[derive(Debug)]
pub struct Reserved {
    _locks: Vec<Flock<File>>,
}

/// A GPU that another launch has reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    gpu: Gpu,
    /// as it wrote itself down
    pid: Option<u32>,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU {} ({}) is reserved by another perflab", self.gpu.index, self.gpu.name)?;
        self.pid.map_or(Ok(()), |pid| write!(f, ", process {pid}"))
    }
}

impl Reservations {
    /// Of the machine that `source` tells of; GPUs that a script plays are reserved beside the script.
    pub fn new(source: &dyn Gpus) -> Self {
        let dir = source.script().map_or_else(|| PathBuf::from(DIR), |script| script.with_extension("locks"));
        Self { dir, pace: source.pace() }
    }

    /// All of them or none; else those that others have.
    pub fn take(&self, gpus: &[Gpu]) -> io::Result<Result<Reserved, Vec<Taken>>> {
        let error = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", self.dir.display()));
        self.make_dir().map_err(error)?;
        let (mut locks, mut taken) = (Vec::new(), Vec::new());
        for gpu in gpus {
            match lock(&self.dir.join(&gpu.uuid)).map_err(error)? {
                Ok(lock) => locks.push(lock),
                Err(pid) => taken.push(Taken { gpu: gpu.clone(), pid }),
            }
        }
        Ok(if taken.is_empty() { Ok(Reserved { _locks: locks }) } else { Err(taken) })
    }

    /// Everybody may reserve, and remove only their own files.
    fn make_dir(&self) -> io::Result<()> {
        match fs::create_dir(&self.dir) {
            Ok(()) => fs::set_permissions(&self.dir, Permissions::from_mode(0o1777)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                let is_dir = fs::symlink_metadata(&self.dir)?.is_dir();
                if is_dir { Ok(()) } else { Err(ErrorKind::NotADirectory.into()) }
            }
            Err(e) => Err(e),
        }
    }
}

/// The lock of a file, or the process that has it.
fn lock(path: &Path) -> io::Result<Result<Flock<File>, Option<u32>>> {
    match Flock::lock(open(path)?, FlockArg::LockExclusiveNonblock) {
        Ok(mut file) => {
            // who has it is for people: that it cannot be written takes nothing from the lock
            let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
            Ok(Ok(file))
        }
        Err((mut file, Errno::EWOULDBLOCK)) => {
            let mut owner = String::new();
            let _ = file.read_to_string(&mut owner);
            Ok(Err(owner.trim().parse().ok()))
        }
        Err((_, errno)) => Err(errno.into()),
    }
}

/// Opens a file that every user may lock, and makes it where it is missing. One that is there is not opened for making: in a directory
/// of all users the kernel refuses that for another's file.
fn open(path: &Path) -> io::Result<File> {
    let mut there = OpenOptions::new();
    there.read(true).write(true).custom_flags(O_NOFOLLOW);
    match there.open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    match there.clone().create_new(true).open(path) {
        // another was faster
        Err(e) if e.kind() == ErrorKind::AlreadyExists => there.open(path),
        made => {
            let file = made?;
            file.set_permissions(Permissions::from_mode(0o666))?;
            Ok(file)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(index: u32) -> Gpu {
        let (uuid, name) = (format!("GPU-{index}"), "A".to_owned());
        Gpu { index, uuid, name, memory_total: None, memory_used: None }
    }

    #[test]
    fn a_gpu_is_reserved_once_and_all_of_them_or_none() {
        let home = tempfile::tempdir().expect("a directory");
        let here = Reservations { dir: home.path().join("locks"), pace: Pace::default() };
        let first = here.take(&[gpu(0)]).expect("a lock").expect("free");
        let taken = here.take(&[gpu(1), gpu(0)]).expect("a lock").expect_err("one is taken");
        let pid = std::process::id();
        let said: Vec<String> = taken.iter().map(ToString::to_string).collect();
        assert_eq!(said, [format!("GPU 0 (A) is reserved by another perflab, process {pid}")]);
        let other = here.take(&[gpu(1)]).expect("a lock").expect("it was given back");
        drop(first);
        assert!(here.take(&[gpu(0)]).expect("a lock").is_ok());
        drop(other);
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let home = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink(home.path(), home.path().join("locks")).expect("a link");
        let here = Reservations { dir: home.path().join("locks"), pace: Pace::default() };
        assert!(here.take(&[gpu(0)]).is_err());
    }
}
