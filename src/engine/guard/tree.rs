//! The engine's tree of processes: ask it to leave, kill it, know when none is left.
//!
//! The guard is the reaper of its descendants: whoever loses its parent becomes the guard's child. So as long
//! as anything lives, the guard has a child, and when the kernel says that it has none, everything is gone.

use std::collections::BTreeSet;
use std::process::Child;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp, getpid};

use super::super::processes::{self, Process};
use super::super::protocol::Exit;

/// How often a round of killing looks again at its own children, before it reads the whole table again.
const QUICK_LOOKS: usize = 64;

pub(super) struct Tree {
    leader: Child,
    exit: Option<Exit>,
    killed: BTreeSet<i32>,
    empty: bool,
}

impl Tree {
    /// The leader has a process group of its own.
    pub fn new(leader: Child) -> Self {
        Self { leader, exit: None, killed: BTreeSet::new(), empty: false }
    }

    pub fn leader(&self) -> i32 {
        self.leader.id() as i32
    }

    /// How the leader ended, once it has.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// Processes that were killed so far.
    pub fn killed(&self) -> usize {
        self.killed.len()
    }

    /// Collects the dead. [`Tree::exit`] and [`Tree::is_empty`] are up to date afterwards.
    pub fn reap(&mut self) {
        self.ask_leader();
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return,
                Err(Errno::ECHILD) => {
                    self.exit.get_or_insert(Exit::Unknown);
                    self.empty = true;
                    return;
                }
                Ok(status) => self.note(status),
                // collected, with a signal that has no name
                Err(Errno::EINVAL | Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    /// `std` knows every signal, where `nix` knows only those with a name.
    fn ask_leader(&mut self) {
        if self.exit.is_none()
            && let Ok(Some(status)) = self.leader.try_wait()
        {
            use std::os::unix::process::ExitStatusExt;
            self.exit = status.code().map(Exit::Code).or(status.signal().map(Exit::Signal));
        }
    }

    /// The leader may have died between the two questions.
    fn note(&mut self, status: WaitStatus) {
        let (pid, exit) = match status {
            WaitStatus::Exited(pid, code) => (pid, Exit::Code(code)),
            WaitStatus::Signaled(pid, signal, _) => (pid, Exit::Signal(signal as i32)),
            _ => return,
        };
        if pid.as_raw() == self.leader() {
            self.exit.get_or_insert(exit);
        }
    }

    /// Signals the leader's process group, unless nobody is left in it: its number may be somebody else's now.
    pub fn signal_group(&self, signal: i32) {
        if !self.group_is_empty() {
            send(signal, |s| killpg(Pid::from_raw(self.leader()), s));
        }
    }

    /// Everybody has left the leader's process group.
    pub fn group_is_empty(&self) -> bool {
        living().iter().all(|p| p.group != self.leader())
    }

    /// Signals every process that is left, in whatever group.
    pub fn signal_rest(signal: i32) {
        for process in living() {
            send(signal, |s| kill(Pid::from_raw(process.pid), s));
        }
    }

    /// Kills all that can be seen. What is born meanwhile is for the next round; returns whether it met any
    /// process that no earlier round had.
    pub fn kill_round(&mut self) -> bool {
        let before = self.killed.len();
        // most engines live in their leader's group alone: hit it before the table is read. As long as the
        // leader is not collected, its number is nobody else's.
        if self.exit.is_none() {
            let _ = killpg(Pid::from_raw(self.leader()), Signal::SIGKILL);
        }
        let living = living();
        // A group is killed in one step, out of which nobody forks. No stranger is in it: a group lies within
        // a session, and these sessions began below the guard.
        let groups: BTreeSet<i32> =
            living.iter().map(|p| p.group).filter(|g| *g > 1 && *g != own_group()).collect();
        for group in groups {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        for process in &living {
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
            self.killed.insert(process.pid);
        }
        self.kill_children();
        self.reap();
        self.killed.len() > before
    }

    /// A process that forks and ends, over and over, is gone each time the table has been read. Its next
    /// incarnation is a child of the guard at once, and children are listed quickly.
    fn kill_children(&mut self) {
        for _ in 0..QUICK_LOOKS {
            let children: Vec<i32> =
                processes::own_children().into_iter().filter(|pid| !self.killed.contains(pid)).collect();
            if children.is_empty() {
                return;
            }
            for pid in children {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                self.killed.insert(pid);
            }
        }
    }
}

/// The guard's descendants that run.
fn living() -> Vec<Process> {
    let table = processes::all();
    let tree = processes::descendants(&table, [getpid().as_raw()]);
    tree.into_iter().filter(|p| !p.zombie).cloned().collect()
}

fn own_group() -> i32 {
    getpgrp().as_raw()
}

/// A signal that this system does not know is one that nobody can receive.
fn send(signal: i32, how: impl FnOnce(Signal) -> nix::Result<()>) {
    if let Ok(signal) = Signal::try_from(signal) {
        let _ = how(signal);
    }
}
