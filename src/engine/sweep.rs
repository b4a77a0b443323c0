//! The second line of defence: engines whose guard was killed too.
//!
//! Every process of a launch inherits the variable [`MARK`] with the launch's nonce. A process may overwrite the
//! memory where its environment stands (vLLM's workers do, to set a title), so the session and the descendants of
//! marked processes count as well, and so does the [`Stamp`] of a process that has emptied its environment and left its
//! session. Nothing is killed whose nonce the caller did not give.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getsid};

use super::mounts::remove_tree;
use super::processes::{self, Process};
use super::scratch;
use super::spec::MARK;
use super::stamp::Stamp;

/// The name that a guard gives itself.
const GUARD: &str = "plab-guard";

/// How long killed processes may take to vanish. What a driver holds in the kernel may take for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often orphans are looked for between two readings of the whole process table.
const QUICK_LOOKS: usize = 64;

/// This process is the reaper of its descendants.
static REAPER: AtomicBool = AtomicBool::new(false);
/// The guards that are alive: the children of this process that live in sessions of their own by right.
static GUARDS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A process that belongs to a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    pub pid: i32,
    pub name: String,
    /// Of the launch that it belongs to.
    pub nonce: String,
}

/// Makes this process the reaper of its descendants, so that the engine of a guard that is killed comes to it
/// and can be told from other processes even without a mark. Call it once, before the first launch, in a
/// process that starts nothing else in sessions of their own.
pub fn adopt_orphans() -> std::io::Result<()> {
    prctl::set_child_subreaper(true)?;
    REAPER.store(true, Ordering::Relaxed);
    Ok(())
}

/// The living processes of all launches whose nonce begins with `prefix`.
pub fn find_marked(prefix: &str) -> Vec<Marked> {
    find(&processes::all(), Wanted::All(prefix)).into_iter().map(Marked::from).collect()
}

/// Another perflab that lives and watches over a launch whose nonce begins with `prefix`, if there is one: what it started is
/// nobody's leftover.
pub fn tended_by(prefix: &str) -> Option<i32> {
    let table = processes::all();
    let parent_of = |p: &Process| table.iter().find(|other| other.pid == p.parent);
    find(&table, Wanted::All(prefix)).into_iter().find_map(|target| {
        let family = std::iter::successors(Some(target.process), |p| parent_of(p));
        let guard = family.take(table.len()).find(|p| p.name == GUARD)?;
        // the guard of one that was killed has come to somebody else
        parent_of(guard).filter(|p| p.name == "perflab" && p.pid != std::process::id() as i32).map(|p| p.pid)
    })
}

/// Kills every process of the launch with exactly this nonce, and removes its `TMPDIR`. Returns those that were
/// met, killed or not; ends when none is left, or after five seconds.
pub fn kill_marked(nonce: &str) -> Vec<Marked> {
    kill_all(|table| find(table, Wanted::Launch(nonce)), || {})
}

/// Kills what earlier runs have left: every process of every launch whose nonce begins with `prefix`, which
/// must not be empty.
pub fn sweep(prefix: &str) -> Vec<Marked> {
    if prefix.is_empty() { Vec::new() } else { kill_all(|table| find(table, Wanted::All(prefix)), || {}) }
}

/// Kills what is left of a launch whose guard was killed: whoever has its mark, its leader's session, and
/// orphans that came to this process.
pub(super) fn kill_launch(nonce: &str, leader: Option<i32>) -> Vec<Marked> {
    // once without a reason: who hops from process to process is in no table
    kill_orphans_at_sight();
    kill_all(
        |table| {
            let session = table.iter().filter(|p| Some(p.session) == leader).map(|p| p.pid);
            let seeds: Vec<i32> = session.chain(orphans(table)).collect();
            let mut found = family(table, &seeds, nonce);
            found.extend(find(table, Wanted::Launch(nonce)));
            found
        },
        kill_orphans_at_sight,
    )
}

/// A process to be killed, and the launch that it belongs to.
struct Target<'a> {
    process: &'a Process,
    nonce: String,
}

impl From<Target<'_>> for Marked {
    fn from(target: Target) -> Self {
        Self { pid: target.process.pid, name: target.process.name.clone(), nonce: target.nonce }
    }
}

/// Which launches are meant.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// The one with this nonce.
    Launch(&'a str),
    /// All whose nonce begins so.
    All(&'a str),
}

impl Wanted<'_> {
    fn is(self, nonce: &str) -> bool {
        match self {
            Self::Launch(one) => nonce == one,
            Self::All(prefix) => nonce.starts_with(prefix),
        }
    }

    /// The launch of a process that has no mark left; of a study the stamp tells no more than that.
    fn stamped(self, pid: i32) -> Option<String> {
        let stamp = Stamp::read(pid)?;
        match self {
            Self::All(prefix) if prefix.ends_with('-') => {
                stamp.is_of_study(prefix).then(|| prefix.to_owned())
            }
            Self::Launch(nonce) | Self::All(nonce) => (stamp == Stamp::of(nonce)).then(|| nonce.to_owned()),
        }
    }
}

/// Marked processes, their sessions and their descendants.
fn find<'a>(table: &'a [Process], wanted: Wanted<'_>) -> Vec<Target<'a>> {
    let mark = |pid: i32| processes::variable(pid, MARK).or_else(|| wanted.stamped(pid));
    let marks: HashMap<i32, String> = table.iter().filter_map(|p| Some((p.pid, mark(p.pid)?))).collect();
    let mut launches: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (pid, nonce) in marks.iter().filter(|(_, nonce)| wanted.is(nonce)) {
        launches.entry(nonce).or_default().push(*pid);
    }
    let living: HashSet<i32> = table.iter().filter(|p| !p.zombie).map(|p| p.pid).collect();
    // a session whose leader lives and has no mark is somebody's terminal, where the mark was set by hand
    let is_ours = |session: &i32| marks.contains_key(session) || !living.contains(session);
    let mut found = Vec::new();
    for (nonce, marked) in launches {
        let marked: HashSet<i32> = marked.into_iter().collect();
        let sessions: HashSet<i32> =
            table.iter().filter(|p| marked.contains(&p.pid)).map(|p| p.session).filter(is_ours).collect();
        let seeds = table.iter().filter(|p| marked.contains(&p.pid) || sessions.contains(&p.session));
        found.extend(family(table, &seeds.map(|p| p.pid).collect::<Vec<_>>(), nonce));
    }
    found
}

/// Processes and their descendants, as far as they live and are not this process.
fn family<'a>(table: &'a [Process], seeds: &[i32], nonce: &str) -> Vec<Target<'a>> {
    let me = std::process::id() as i32;
    let seeds_themselves = table.iter().filter(|p| seeds.contains(&p.pid));
    let all = seeds_themselves.chain(processes::descendants(table, seeds.iter().copied()));
    let killable = all.filter(|p| !p.zombie && p.pid > 1 && p.pid != me && p.session > 0);
    killable.map(|process| Target { process, nonce: nonce.to_owned() }).collect()
}

/// Keeps a guard registered for as long as it lives.
#[derive(Debug)]
pub(super) struct Guarded(i32);

/// Spawns a guard and registers it in one step: nobody takes it for an orphan in between.
pub(super) fn spawn_guard<C>(
    spawn: impl FnOnce() -> std::io::Result<C>,
    pid: impl FnOnce(&C) -> Option<u32>,
) -> std::io::Result<(C, Guarded)> {
    guards(|guards| {
        let child = spawn()?;
        let pid = pid(&child).map_or(0, |pid| pid as i32);
        guards.insert(pid);
        Ok((child, Guarded(pid)))
    })
}

impl Drop for Guarded {
    fn drop(&mut self) {
        guards(|g| g.remove(&self.0));
    }
}

fn guards<T>(f: impl FnOnce(&mut BTreeSet<i32>) -> T) -> T {
    f(&mut GUARDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Children of this process in other sessions that are no guards came here when a guard was killed.
fn orphans<'a>(table: impl IntoIterator<Item = &'a Process>) -> Vec<i32> {
    if !REAPER.load(Ordering::Relaxed) {
        return Vec::new();
    }
    let me = std::process::id() as i32;
    let Ok(session) = getsid(None) else { return Vec::new() };
    let foreign = table.into_iter().filter(|p| p.parent == me && p.session != session.as_raw() && !p.zombie);
    guards(|guards| foreign.map(|p| p.pid).filter(|pid| !guards.contains(pid)).collect())
}

/// A process that forks and ends, over and over, is gone each time the table has been read. Its next incarnation
/// is a child of this process at once, and children are listed quickly.
fn kill_orphans_at_sight() {
    for _ in 0..QUICK_LOOKS {
        // registered guards are asked for last: one that is spawned meanwhile is never taken for an orphan
        let children: Vec<Process> =
            processes::own_children().into_iter().filter_map(processes::read).collect();
        for pid in orphans(&children) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// Kills what `find` finds until it finds nothing, and removes the directories that were made for it.
fn kill_all(find: impl for<'a> Fn(&'a [Process]) -> Vec<Target<'a>>, at_sight: impl Fn()) -> Vec<Marked> {
    let deadline = Instant::now() + PATIENCE;
    let mut met: BTreeMap<i32, Marked> = BTreeMap::new();
    let mut scratch = BTreeSet::new();
    loop {
        let table = processes::all();
        let targets = find(&table);
        scratch.extend(targets.iter().filter_map(|t| scratch_of(t.process.pid)));
        strike(&table, &targets);
        if !targets.is_empty() {
            at_sight();
        }
        let (rest, before) = (targets.len(), met.len());
        met.extend(targets.into_iter().map(|t| (t.process.pid, t.into())));
        reap(met.keys());
        if rest == 0 || Instant::now() > deadline {
            break;
        }
        if met.len() == before {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    for directory in scratch {
        let _ = remove_tree(&directory);
    }
    met.into_values().collect()
}

/// Whole groups first, where nobody else is in them: out of a group that is killed in one step nobody forks.
fn strike(table: &[Process], targets: &[Target<'_>]) {
    let pids: HashSet<i32> = targets.iter().map(|t| t.process.pid).collect();
    let groups: BTreeSet<i32> = targets.iter().map(|t| t.process.group).filter(|group| *group > 1).collect();
    let shared: HashSet<i32> =
        table.iter().filter(|p| !p.zombie && !pids.contains(&p.pid)).map(|p| p.group).collect();
    for group in groups.iter().filter(|group| !shared.contains(group)) {
        let _ = killpg(Pid::from_raw(*group), Signal::SIGKILL);
    }
    for pid in pids {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// The `TMPDIR` of a process, if it was made for a launch.
fn scratch_of(pid: i32) -> Option<PathBuf> {
    let path = PathBuf::from(processes::variable(pid, "TMPDIR")?);
    scratch::is_one(&path).then_some(path)
}

/// Collects those that have become children of this process; others are collected by whoever adopted them.
fn reap<'a>(dead: impl Iterator<Item = &'a i32>) {
    for pid in dead {
        let _ = waitpid(Pid::from_raw(*pid), Some(WaitPidFlag::WNOHANG));
    }
}
