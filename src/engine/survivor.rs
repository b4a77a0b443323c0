//! What a kill did not end: whose it is and what it holds, for the person who has to deal with it.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::unistd::{Uid, User};

use super::processes::{self, Process};

/// A process that a kill did not end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    pub pid: i32,
    pub name: String,
    /// Who it runs as; the number where it has no name, empty where that is not told.
    pub user: String,
    /// Memory of the machine that it holds now, in bytes.
    pub memory: u64,
    /// The container that it is the first process of, and what removes that.
    pub container: Option<Contained>,
}

/// A container that did not go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contained {
    /// As its program shows it, twelve digits long.
    pub id: String,
    /// `docker` or `podman`.
    pub program: String,
}

impl Survivor {
    fn of(process: &Process) -> Self {
        Self::of_pid(process.pid, process.name.clone())
    }

    fn of_pid(pid: i32, name: String) -> Self {
        let (user, memory) = (user(pid).unwrap_or_default(), memory(pid).unwrap_or(0));
        Self { pid, name, user, memory, container: None }
    }

    /// A container, by its id; `pid` is its first process.
    pub(super) fn of_container(pid: i32, id: &str, program: String) -> Self {
        let id = id.chars().take(12).collect();
        Self { container: Some(Contained { id, program }), ..Self::of_pid(pid, String::new()) }
    }

    /// What a person can do about it, where a kill was of no use.
    pub fn remedy(&self) -> String {
        let Self { pid, container, .. } = self;
        match container {
            Some(Contained { id, program }) => {
                format!("`{program} unpause {id}` if it is paused, then `{program} rm --force {id}`")
            }
            None => format!(
                "`kill -CONT {pid}` if it is stopped; if it waits for a driver or a disk (`ps -o stat= -p {pid}` says D), restart \
                 what it waits for, or the machine"
            ),
        }
    }
}

impl fmt::Display for Survivor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.container {
            Some(Contained { id, program }) => write!(f, "container {id} of {program}")?,
            None => write!(f, "process {} ({})", self.pid, self.name)?,
        }
        if !self.user.is_empty() {
            write!(f, " of user {}", self.user)?;
        }
        write!(f, ", which holds {} MiB of memory", self.memory >> 20)
    }
}

/// The living below a guard.
pub(super) fn below(guard: i32) -> Vec<Survivor> {
    let table = processes::all();
    let tree = processes::descendants(&table, [guard]);
    tree.into_iter().filter(|p| !p.zombie).map(Survivor::of).collect()
}

fn user(pid: i32) -> Option<String> {
    let uid = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let named = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    Some(named.map_or_else(|| uid.to_string(), |u| u.name))
}

fn memory(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survivor_says_whose_it_is_and_what_it_holds() {
        let me = std::process::id() as i32;
        assert!(memory(me).unwrap() > 1 << 20);
        assert!(!user(me).unwrap().is_empty());
        let it = Survivor {
            pid: 7,
            name: "VLLM::Worker".into(),
            user: "eve".into(),
            memory: 70 << 30,
            container: None,
        };
        let text = "process 7 (VLLM::Worker) of user eve, which holds 71680 MiB of memory";
        assert_eq!(it.to_string(), text);
        let it = Survivor { user: String::new(), memory: 0, ..it };
        let boxed = Contained { id: "3ff17c5b1eaa".into(), program: "podman".into() };
        let it = Survivor { container: Some(boxed), ..it };
        assert_eq!(it.to_string(), "container 3ff17c5b1eaa of podman, which holds 0 MiB of memory");
        assert!(it.remedy().contains("podman rm --force 3ff17c5b1eaa"), "{}", it.remedy());
    }
}
