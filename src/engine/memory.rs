//! A launch's part of the machine's memory, where others run beside it: a control group of its own, so that an engine that
//! takes too much is ended by the kernel, and not its neighbours.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::control_groups::{Generation, own_group};

/// Groups of ours go by this; an empty one that is older than a minute was left by a guard that was killed.
const PREFIX: &str = "perflab-";
const STALE: Duration = Duration::from_mins(1);

/// A control group with a limit. It goes when this is dropped, if nobody is in it any more.
#[derive(Debug)]
pub(super) struct Group {
    dir: PathBuf,
    members: File,
}

impl Group {
    /// A group that may hold so many bytes. `None` where this user may make none, as in most containers: then nothing is limited.
    pub(super) fn new(name: &str, bytes: u64) -> Option<Self> {
        let (generation, mount, below) = own_group("memory")?;
        // a group that has processes may have no others below it in the second generation, so its parents are asked too
        let mut at = mount.join(&below);
        loop {
            if let Some(group) = Self::below(&at, generation, name, bytes) {
                return Some(group);
            }
            if at == mount || !at.pop() {
                return None;
            }
        }
    }

    fn below(parent: &Path, generation: Generation, name: &str, bytes: u64) -> Option<Self> {
        remove_stale(parent);
        let dir = parent.join(format!("{PREFIX}{name}"));
        // a name is used again when its number is
        let _ = fs::remove_dir(&dir);
        fs::create_dir(&dir).ok()?;
        let limit = match generation {
            Generation::One => "memory.limit_in_bytes",
            Generation::Two => "memory.max",
        };
        let limited = set(&dir.join(limit), bytes);
        let members = limited.and_then(|()| OpenOptions::new().write(true).open(dir.join("cgroup.procs")));
        if members.is_err() {
            let _ = fs::remove_dir(&dir);
        }
        Some(Self { dir, members: members.ok()? })
    }

    /// What a process writes to be in the group, with all that it starts: only one system call, for between fork and exec.
    pub(super) fn door(&self) -> io::Result<File> {
        self.members.try_clone()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

/// Puts the calling process into the group behind a [`Group::door`].
pub(super) fn enter(mut door: &File) -> io::Result<()> {
    door.write_all(b"0")
}

/// The files of a control group are not made, but there.
fn set(file: &Path, bytes: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(bytes.to_string().as_bytes())
}

fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|at| at.elapsed().ok());
        if ours && age.is_some_and(|age| age > STALE) {
            // fails, as it should, while anybody is in it
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_made_entered_and_gone_where_that_is_allowed() {
        let name = format!("test-{}", std::process::id());
        let Some(group) = Group::new(&name, 64 << 20) else { return };
        let mut shell = std::process::Command::new("sh");
        let door = group.door().unwrap();
        // SAFETY: one system call.
        unsafe {
            use std::os::unix::process::CommandExt;
            shell.args(["-c", "cat /proc/self/cgroup"]).pre_exec(move || enter(&door));
        }
        let said = shell.output().unwrap();
        assert!(String::from_utf8_lossy(&said.stdout).contains(&format!("{PREFIX}{name}")), "{said:?}");
        let dir = group.dir.clone();
        drop(group);
        assert!(!dir.exists());
    }
}
