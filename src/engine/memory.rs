//! A launch's part of the machine's memory, where others run beside it: a control group of its own, so that an engine that
//! takes too much is ended by the kernel, and not its neighbours.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Groups of ours go by this; an empty one that is older than a minute was left by a guard that was killed.
const PREFIX: &str = "perflab-";
const STALE: Duration = Duration::from_mins(1);

/// A control group with a limit. It goes when this is dropped, if nobody is in it any more.
#[derive(Debug)]
pub(super) struct Group {
    dir: PathBuf,
    members: File,
}

/// Which generation of control groups, by the file that holds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    One,
    Two,
}

impl Group {
    /// A group that may hold so many bytes. `None` where this user may make none, as in most containers: then nothing is limited.
    pub(super) fn new(name: &str, bytes: u64) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let (generation, mount, below) = place(&mounts, &own)?;
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

/// Where the memory of this process is accounted for: the mount of the hierarchy, and the path of its own group below it.
fn place(mounts: &str, own: &str) -> Option<(Generation, PathBuf, PathBuf)> {
    let group = |wanted: &dyn Fn(&str) -> bool| {
        own.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            wanted(controllers).then_some(path)
        })
    };
    let one = group(&|controllers| controllers.split(',').any(|c| c == "memory"));
    let two = group(&str::is_empty);
    let (generation, path) = one.map(|p| (Generation::One, p)).or(two.map(|p| (Generation::Two, p)))?;
    mounts.lines().find_map(|line| {
        let (fields, rest) = line.split_once(" - ")?;
        let mut rest = rest.split(' ');
        let (kind, options) = (rest.next()?, rest.nth(1)?);
        let fits = match generation {
            Generation::One => kind == "cgroup" && options.split(',').any(|o| o == "memory"),
            Generation::Two => kind == "cgroup2",
        };
        let mut fields = fields.split(' ').skip(3);
        let (root, mount) = (fields.next()?, fields.next()?);
        // a container sees the middle of a hierarchy as its root
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new("")).to_owned();
        fits.then(|| (generation, PathBuf::from(mount), below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_that_accounts_for_memory_is_found() {
        let mounts = "30 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
            31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
            32 30 0:28 /docker/a /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
            33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let one = "4:memory:/docker/a/job\n1:cpu:/\n0::/\n";
        let found = place(mounts, one);
        assert_eq!(found, Some((Generation::One, "/sys/fs/cgroup/memory".into(), "job".into())));
        let found =
            place("1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n", "0::/user.slice/x\n");
        assert_eq!(found, Some((Generation::Two, "/sys/fs/cgroup".into(), "user.slice/x".into())));
        assert_eq!(place("", "0::/\n"), None);
    }

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
