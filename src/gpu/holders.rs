//! Who a process is that computes on a GPU: its name and user, as far as this machine's process table shows it.

use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::unistd::{Uid, User};

/// The inode of the process table that the machine itself has; containers have others.
const FIRST_TABLE: &str = "pid:[4026531836]";
/// Longer chains of parents are cycles of a torn reading.
const DEEPEST: usize = 64;

/// The name and the user of a process; `None` each where it cannot be seen.
pub fn who(pid: u32) -> (Option<String>, Option<String>) {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|n| n.trim_end().to_owned());
    let uid = fs::metadata(format!("/proc/{pid}")).ok().map(|m| m.uid());
    let user = uid.map(|uid| {
        let known = User::from_uid(Uid::from_raw(uid)).ok().flatten();
        known.map_or_else(|| uid.to_string(), |u| u.name)
    });
    (name, user)
}

/// Whether the driver may count processes that this process cannot see: in a container with a process table of its own.
pub fn hidden_here() -> bool {
    // where there is no such file nothing is known, and nothing is claimed
    fs::read_link("/proc/self/ns/pid").is_ok_and(|table| table.as_os_str() != FIRST_TABLE)
}

/// Whether a process descends from `ancestor`, or from one that was started with `variable` set to `value`: the second holds for
/// what runs in a container, whose parent is no process of ours.
pub fn belongs(pid: u32, ancestor: u32, mark: (&str, &str)) -> bool {
    let mut here = pid;
    for _ in 0..DEEPEST {
        if here == ancestor || is_marked(here, mark) {
            return true;
        }
        match parent(here) {
            Some(next) if next > 1 => here = next,
            _ => return false,
        }
    }
    false
}

/// Whether a process runs in a container of docker, podman or Kubernetes.
pub fn in_container(pid: u32) -> bool {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    ["docker", "libpod", "kubepods", "containerd"].iter().any(|word| groups.contains(word))
}

fn is_marked(pid: u32, (variable, value): (&str, &str)) -> bool {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let wanted = format!("{variable}={value}");
    environ.split(|b| *b == 0).any(|entry| entry == wanted.as_bytes())
}

/// The parent of a process; its name may hold anything, so fields count from the last parenthesis.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, tail) = stat.rsplit_once(')')?;
    tail.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_known_and_descends_from_its_parent() {
        let me = std::process::id();
        let (name, user) = who(me);
        assert!(name.is_some() && user.is_some());
        let mark = ("PERFLAB_NO_SUCH_MARK", "x");
        assert!(belongs(me, std::os::unix::process::parent_id(), mark));
        assert!(!belongs(std::os::unix::process::parent_id(), me, mark));
        assert_eq!(who(u32::MAX), (None, None));
    }
}
