//! A server that is ready: where it is, whether it still lives, and how it ends.

use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::course::{Course, LaunchEvent};
use super::failure::{Evidence, FailurePattern, Moment, Uptime, Witness};
use super::keeper::{Keeper, settle};
use super::lifecycle::{Duty, Happening, Stage};
use super::port::{self, Owner};
use super::protocol::{Exit, Order};
use super::ready::{self, Readied};
use super::spec::Stop;
use super::survivor::{self, Survivor};
use super::vigil::Vigil;

/// How long killed processes may take to vanish before they are reported as survivors.
const KILL_PATIENCE: Duration = Duration::from_secs(20);

/// A running engine. Dropping it kills every process of its tree.
#[derive(Debug)]
pub struct Server {
    pub(super) keeper: Keeper,
    pub(super) stage: Mutex<Stage>,
    pub(super) pid: i32,
    pub(super) address: SocketAddr,
    pub(super) readied: Readied,
    pub(super) stop: Stop,
    pub(super) log: PathBuf,
    pub(super) failures: Vec<FailurePattern>,
    pub(super) started: Uptime,
    /// Processes of its tree as they were seen while it started: pid → name.
    pub(super) family: BTreeMap<i32, String>,
}

/// How an engine was ended.
#[derive(Debug, Clone, PartialEq)]
pub struct StopReport {
    /// From the request until nothing was left, in seconds.
    pub stop_s: f64,
    /// It did not leave when asked, or was not asked.
    pub killed: bool,
    /// How its leader ended. Says nothing of health: some engines leave with 0 after a crash, and others kill
    /// themselves to stop.
    pub exit: Exit,
    /// Processes that not even a kill ended, as when a driver holds them. Empty unless something is wrong with
    /// the machine; their guard goes on trying.
    pub survivors: Vec<Survivor>,
}

impl Server {
    /// The leader of the engine's tree.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// All processes of the engine that live now.
    pub fn pids(&self) -> Vec<i32> {
        survivor::below(self.keeper.guard()).into_iter().map(|p| p.pid).collect()
    }

    /// The same with their names.
    pub fn members(&self) -> Vec<(i32, String)> {
        survivor::below(self.keeper.guard()).into_iter().map(|p| (p.pid, p.name)).collect()
    }

    /// Where it answers, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From the start to the first good answer.
    pub fn ready_after(&self) -> Duration {
        self.readied.after
    }

    /// For how long of that perflab itself did not run, as one that is stopped: it may have been ready before.
    pub fn unseen(&self) -> Duration {
        self.readied.blind
    }

    /// The file that its output goes to.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How much of the log there is now, in bytes. What follows was printed later.
    pub fn log_length(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |m| m.len())
    }

    /// How the engine's leader ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        self.keeper.life().borrow().exit
    }

    /// Resolves when the engine's leader has ended, whatever the reason.
    pub fn died(&self) -> impl Future<Output = Exit> + Send + 'static {
        let life = self.keeper.life();
        async move { settle(life, |l| l.exit.is_some()).await.exit.unwrap_or(Exit::Unknown) }
    }

    /// Somebody else who listens where this engine does, and takes some of its connections: pid and name. A port can be
    /// shared at any time, so an answer counts only if this is asked after it.
    pub async fn stranger(&self) -> Option<(i32, String)> {
        match ready::owner(&self.keeper, self.address).await {
            Owner::Stranger { pid, name } => Some((pid, name)),
            _ => None,
        }
    }

    /// The sockets that would take a connection to it, by their inodes; `None` where that is not to be known now.
    pub async fn listeners(&self) -> Option<HashSet<u64>> {
        let address = self.address;
        tokio::task::spawn_blocking(move || port::listeners_if_told(address)).await.ok().flatten()
    }

    /// Waits until all is kept that it looked for so far, where that is seen.
    pub async fn hear_lookups(&self) {
        self.keeper.hear_lookups().await;
    }

    /// Watches its port for others until the vigil is dropped.
    pub fn watch_port(&self) -> Vigil {
        Vigil::begin(self.address, self.keeper.guard(), self.keeper.container().cloned())
    }

    /// Why it failed under load, from its log behind the first `from` bytes, how it ended and what the kernel said.
    pub async fn examine(&self, from: u64) -> Evidence {
        let (log, patterns, family) = (self.log.clone(), self.failures.clone(), self.family.clone());
        let contained = self.keeper.container().is_some();
        let exit = self.exit().map(|exit| if contained { exit.in_container() } else { exit });
        let started = self.started;
        let originals = self.keeper.life().borrow().originals.clone();
        let work = move || {
            let (log, originals, patterns, family) = (&log, &originals, &patterns, &family);
            Witness { log, from, originals, patterns, exit, moment: Moment::Load, started, family }.examine()
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_default()
    }

    /// Notes what its user does with it, or what happened to it.
    pub fn note(&self, happening: Happening, mut tell: impl FnMut(LaunchEvent)) {
        let mut stage = self.stage();
        let mut course = Course::from(*stage, &mut tell);
        course.take(happening);
        *stage = course.stage();
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks it to leave and waits until nothing of it is left; kills what is left at the deadline, or at once when
    /// `hurry` is cancelled. The caller has closed its own streams: some engines wait for their clients to hang up.
    pub async fn leave(self, hurry: &CancellationToken, mut tell: impl FnMut(LaunchEvent)) -> StopReport {
        let began = Instant::now();
        let mut course = Course::from(*self.stage(), &mut tell);
        let mut happening = Happening::KillWanted;
        if !hurry.is_cancelled() {
            course.take(Happening::StopWanted);
            if course.take(Happening::StreamsClosed) == Some(Duty::Ask) {
                self.keeper.order(Order::Term { signal: self.stop.signal as i32 });
            }
            happening = tokio::select! {
                life = self.keeper.gone() => {
                    course.take(Happening::TreeEmpty);
                    return report(began, false, life.exit, Vec::new());
                }
                () = hurry.cancelled() => Happening::KillWanted,
                () = tokio::time::sleep(self.stop.within) => Happening::StopOverdue,
            };
        }
        let (exit, survivors) = kill(&self.keeper, &mut course, happening).await;
        report(began, true, exit, survivors)
    }

    /// [`Server::leave`], in no hurry and untold.
    pub async fn stop(self) -> StopReport {
        self.leave(&CancellationToken::new(), |_| {}).await
    }

    /// Kills all of it at once.
    pub async fn kill(self) -> StopReport {
        let now = CancellationToken::new();
        now.cancel();
        self.leave(&now, |_| {}).await
    }
}

/// Takes the happening that calls for it, kills a tree and waits until it is gone; returns how its leader ended, and who
/// did not.
pub(super) async fn kill(
    keeper: &Keeper,
    course: &mut Course<'_>,
    because: Happening,
) -> (Option<Exit>, Vec<Survivor>) {
    if course.take(because) == Some(Duty::Kill) {
        keeper.order(Order::Kill);
    }
    if let Ok(life) = tokio::time::timeout(KILL_PATIENCE, keeper.gone()).await {
        course.take(Happening::TreeEmpty);
        return (life.exit, Vec::new());
    }
    // the lesser evil: to end with survivors named, rather than never
    course.take(Happening::KillOverdue);
    (keeper.life().borrow().exit, left(keeper).await)
}

/// What no kill ended: processes of the tree, and containers by their ids.
async fn left(keeper: &Keeper) -> Vec<Survivor> {
    let mut all = survivor::below(keeper.guard());
    if let Some(container) = keeper.container().cloned() {
        let program = container.runtime.name();
        let ids = tokio::task::spawn_blocking(move || (container.left(), container.pids())).await;
        let (ids, pids) = ids.unwrap_or_default();
        let pid = pids.first().copied().unwrap_or_default();
        // removed with it, and not by themselves
        all.retain(|p| ids.is_empty() || !pids.contains(&p.pid));
        all.extend(ids.iter().map(|id| Survivor::of_container(pid, id, program.clone())));
    }
    all
}

fn report(began: Instant, killed: bool, exit: Option<Exit>, survivors: Vec<Survivor>) -> StopReport {
    let stop_s = began.elapsed().as_secs_f64();
    StopReport { stop_s, killed, exit: exit.unwrap_or(Exit::Unknown), survivors }
}
