//! A server that is ready: where it is, whether it still lives, and how it ends.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::keeper::{Keeper, settle};
use super::processes;
use super::protocol::{Exit, Order};
use super::spec::Stop;

/// How long killed processes may take to vanish before they are reported as survivors.
const KILL_PATIENCE: Duration = Duration::from_secs(20);

/// A running engine. Dropping it kills every process of its tree.
#[derive(Debug)]
pub struct Server {
    pub(super) keeper: Keeper,
    pub(super) pid: i32,
    pub(super) address: SocketAddr,
    pub(super) ready_after: Duration,
    pub(super) stop: Stop,
    pub(super) log: PathBuf,
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

/// A process that a kill did not end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    pub pid: i32,
    pub name: String,
}

impl Server {
    /// The leader of the engine's tree.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// All processes of the engine that live now.
    pub fn pids(&self) -> Vec<i32> {
        self.living().into_iter().map(|p| p.pid).collect()
    }

    /// Where it answers, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From the start to the first good answer.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// The file that its output goes to.
    pub fn log(&self) -> &Path {
        &self.log
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

    /// Asks it to leave and waits until nothing of it is left; kills what is left at the deadline.
    pub async fn stop(self) -> StopReport {
        let began = Instant::now();
        self.keeper.order(Order::Term { signal: self.stop.signal as i32 });
        match tokio::time::timeout(self.stop.within, self.keeper.gone()).await {
            Ok(life) => report(began, false, life.exit, Vec::new()),
            Err(_) => self.kill_since(began).await,
        }
    }

    /// Kills all of it at once.
    pub async fn kill(self) -> StopReport {
        self.kill_since(Instant::now()).await
    }

    async fn kill_since(self, began: Instant) -> StopReport {
        let (exit, survivors) = kill(&self.keeper).await;
        report(began, true, exit, survivors)
    }

    fn living(&self) -> Vec<Survivor> {
        living(&self.keeper)
    }
}

/// Kills a tree and waits until it is gone; returns how its leader ended, and who did not.
pub(super) async fn kill(keeper: &Keeper) -> (Option<Exit>, Vec<Survivor>) {
    keeper.order(Order::Kill);
    match tokio::time::timeout(KILL_PATIENCE, keeper.gone()).await {
        Ok(life) => (life.exit, Vec::new()),
        // the lesser evil: to go on with survivors named, rather than never
        Err(_) => (keeper.life().borrow().exit, left(keeper).await),
    }
}

/// What no kill ended: processes of the tree, and containers by their ids.
async fn left(keeper: &Keeper) -> Vec<Survivor> {
    let mut all = living(keeper);
    if let Some(container) = keeper.container().cloned() {
        let ids = tokio::task::spawn_blocking(move || (container.left(), container.pids())).await;
        let (ids, pids) = ids.unwrap_or_default();
        let pid = pids.first().copied().unwrap_or_default();
        all.extend(ids.into_iter().map(|id| Survivor { pid, name: format!("container {id}") }));
    }
    all
}

fn living(keeper: &Keeper) -> Vec<Survivor> {
    let table = processes::all();
    let tree = processes::descendants(&table, [keeper.guard()]);
    tree.into_iter().filter(|p| !p.zombie).map(|p| Survivor { pid: p.pid, name: p.name.clone() }).collect()
}

fn report(began: Instant, killed: bool, exit: Option<Exit>, survivors: Vec<Survivor>) -> StopReport {
    let stop_s = began.elapsed().as_secs_f64();
    StopReport { stop_s, killed, exit: exit.unwrap_or(Exit::Unknown), survivors }
}
