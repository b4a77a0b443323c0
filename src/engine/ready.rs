//! Waiting until an engine answers: ask often, notice at once that it ended, be patient while it works.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::error::Limit;
use super::keeper::{Keeper, Life};
use super::port::{self, Owner};
use super::processes;
use super::spec::Ready;
use super::start::StartEvent;

/// A server that has not answered by then is asked again.
const TRY: Duration = Duration::from_secs(5);
/// Pauses between two questions.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// Reading this much between two looks is progress: an engine that loads weights may not print a line.
const READING: u64 = 1 << 20;

/// Why waiting ended without an answer.
#[derive(Debug)]
pub(super) enum Unready {
    /// The engine ended, or was never started.
    Ended,
    Late(Limit),
    Stranger {
        pid: i32,
        name: String,
    },
    Cancelled,
}

/// Waits for a 200 from the engine itself; returns how long that took.
pub(super) async fn wait(
    keeper: &Keeper,
    client: &reqwest::Client,
    address: SocketAddr,
    ready: &Ready,
    cancel: &CancellationToken,
    mut on_event: impl FnMut(StartEvent),
) -> Result<Duration, Unready> {
    let mut life = keeper.life();
    let mut progress = Progress::new(ready);
    let mut looks = interval((ready.within / 8).clamp(Duration::from_millis(50), Duration::from_secs(5)));
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let url = format!("http://{address}{}", ready.path);
    let answer = answer(client, &url);
    tokio::pin!(answer);
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Unready::Cancelled),
            changed = life.changed() => {
                let now = life.borrow_and_update().clone();
                if changed.is_err() || now.exit.is_some() || now.gone {
                    return Err(Unready::Ended);
                }
                progress.hear(&now, &mut on_event);
            }
            () = &mut answer => break,
            _ = looks.tick() => progress.look(keeper.guard()),
            () = sleep_until(progress.deadline()) => return Err(Unready::Late(progress.limit())),
        }
    }
    let (guard, container) = (keeper.guard(), keeper.container().cloned());
    let ask = move || {
        let boxed = container.map(|c| c.pids()).unwrap_or_default();
        port::owner(address, guard, &boxed)
    };
    let owner = tokio::task::spawn_blocking(ask).await;
    match owner {
        Ok(Owner::Stranger { pid, name }) => Err(Unready::Stranger { pid, name }),
        // where the kernel does not tell, the port was at least free before
        _ => Ok(progress.began.elapsed()),
    }
}

/// Signs of life, and the deadlines that follow from them.
struct Progress<'a> {
    ready: &'a Ready,
    began: Instant,
    last: Instant,
    pid: Option<i32>,
    log_bytes: u64,
    read_bytes: u64,
}

impl<'a> Progress<'a> {
    fn new(ready: &'a Ready) -> Self {
        let now = Instant::now();
        Self { ready, began: now, last: now, pid: None, log_bytes: 0, read_bytes: 0 }
    }

    fn hear(&mut self, life: &Life, on_event: &mut impl FnMut(StartEvent)) {
        if let (None, Some(pid)) = (self.pid, life.pid) {
            self.pid = life.pid;
            on_event(StartEvent::Spawned { pid });
        }
        if life.log_bytes > self.log_bytes {
            self.log_bytes = life.log_bytes;
            self.last = Instant::now();
            on_event(StartEvent::Log { bytes: life.log_bytes });
        }
    }

    fn look(&mut self, guard: i32) {
        let table = processes::all();
        let tree = processes::descendants(&table, [guard]);
        let read = tree.iter().map(|p| processes::bytes_read(p.pid)).sum::<u64>();
        if read > self.read_bytes + READING {
            self.last = Instant::now();
        }
        self.read_bytes = read;
    }

    fn deadline(&self) -> Instant {
        (self.last + self.ready.within).min(self.began + self.ready.overall)
    }

    fn limit(&self) -> Limit {
        if self.began.elapsed() >= self.ready.overall {
            Limit::Overall
        } else {
            Limit::Silence(self.ready.within)
        }
    }
}

/// Asks until the answer is 200.
async fn answer(client: &reqwest::Client, url: &str) {
    let mut pause = SHORTEST_PAUSE;
    while !is_ok(client, url).await {
        sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

async fn is_ok(client: &reqwest::Client, url: &str) -> bool {
    client.get(url).send().await.is_ok_and(|response| response.status() == reqwest::StatusCode::OK)
}

/// Straight to the engine, and without keeping a connection that it would wait for when it stops.
pub(super) fn client() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .timeout(TRY)
        .build()
}
