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
}

impl Survivor {
    fn of(process: &Process) -> Self {
        Self::of_pid(process.pid, process.name.clone())
    }

    pub(super) fn of_pid(pid: i32, name: String) -> Self {
        Self { pid, name, user: user(pid).unwrap_or_default(), memory: memory(pid).unwrap_or(0) }
    }
}

impl fmt::Display for Survivor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)?;
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
        let it = Survivor { pid: 7, name: "VLLM::Worker".into(), user: "eve".into(), memory: 70 << 30 };
        let text = "process 7 (VLLM::Worker) of user eve, which holds 71680 MiB of memory";
        assert_eq!(it.to_string(), text);
    }
}
