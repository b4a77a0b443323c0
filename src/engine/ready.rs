//! Waiting until an engine answers: ask often, notice at once that it ended, be patient while it works.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::course::{Course, LaunchEvent};
use super::error::Limit;
use super::keeper::{Keeper, Life};
use super::lifecycle::Happening;
use super::port::{self, Owner};
use super::processes;
use super::progress::{Follower, News};
use super::spec::Ready;
use crate::secrets::Key;
use crate::trust;

/// A server that has not answered by then is asked again.
const TRY: Duration = Duration::from_secs(5);
/// Pauses between two questions.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// Reading this much between two looks is progress: an engine that loads weights may not print a line.
const READING: u64 = 1 << 20;
/// So much more on the GPUs is: weights and caches come by gigabytes, what is less is noise.
const GROWING: u64 = 64 << 20;
/// Output that says nothing new lengthens the patience by at most so many times itself.
const GRACE: u32 = 2;
/// Output that says new things, and nothing of what is known to be progress, lengthens it by at most so many times itself.
const AIMLESS: u32 = 10;

/// How often it is seen whether we ran at all: who is stopped, or lies in a machine that is, sees nothing become ready.
const PULSE: Duration = Duration::from_millis(250);
/// A pulse that is later by more was held up; a machine that compiles may well be late by less.
const HELD_UP: Duration = Duration::from_secs(1);

/// How long an engine took to answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readied {
    pub after: Duration,
    /// For how long of that we did not run, and saw nothing: it may have been ready before.
    pub blind: Duration,
}

/// Why waiting ended without an answer.
#[derive(Debug)]
pub(super) enum Unready {
    /// The engine ended, or was never started.
    Ended,
    Late(Limit, Option<LastAnswer>),
    Stranger {
        pid: i32,
        name: String,
    },
    Cancelled,
}

impl Unready {
    pub fn happening(&self, life: &Life) -> Happening {
        match self {
            Self::Ended if life.pid.is_none() => Happening::NotSpawned,
            Self::Ended => Happening::LeaderEnded,
            Self::Late(..) => Happening::TooLate,
            Self::Stranger { .. } => Happening::StrangerAnswered,
            Self::Cancelled => Happening::KillWanted,
        }
    }
}

/// Waits for a 200 from the engine itself at `path`.
pub(super) async fn wait(
    keeper: &Keeper,
    client: &reqwest::Client,
    address: SocketAddr,
    path: &str,
    cancel: &CancellationToken,
    mut progress: Progress<'_, '_>,
) -> Result<Readied, Unready> {
    let mut life = keeper.life();
    let pause = (progress.ready.within / 8).clamp(Duration::from_millis(50), Duration::from_secs(5));
    let mut looks = interval(pause);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut pulse, mut sight) = (interval(PULSE), Sight::new());
    let url = format!("http://{address}{path}");
    let last = Mutex::default();
    let answer = answer(client, &url, &last);
    tokio::pin!(answer);
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Unready::Cancelled),
            changed = life.changed() => {
                let now = life.borrow_and_update().clone();
                progress.hear(&now);
                if changed.is_err() || now.exit.is_some() || now.gone {
                    return Err(Unready::Ended);
                }
            }
            () = &mut answer => break,
            _ = pulse.tick() => sight.note(),
            _ = looks.tick() => progress.look(keeper.guard()),
            () = sleep_until(progress.deadline() + sight.blind) => return Err(Unready::Late(progress.limit(), taken(&last))),
        }
    }
    sight.note();
    // what was printed before the answer is told before it, and that it runs before that it answers: its guard may be slower
    loop {
        let now = life.borrow_and_update().clone();
        progress.hear(&now);
        if progress.pid.is_some() || now.gone || life.changed().await.is_err() {
            break;
        }
    }
    progress.follow();
    progress.look(keeper.guard());
    let owner = owner(keeper, address).await;
    match owner {
        Owner::Stranger { pid, name } => Err(Unready::Stranger { pid, name }),
        // where the kernel does not tell, the port was at least free before
        _ => Ok(Readied { after: progress.began.elapsed(), blind: sight.blind }),
    }
}

/// Whether we ran, as pulses tell.
struct Sight {
    last: Instant,
    blind: Duration,
}

impl Sight {
    fn new() -> Self {
        Self { last: Instant::now(), blind: Duration::ZERO }
    }

    fn note(&mut self) {
        let since = std::mem::replace(&mut self.last, Instant::now()).elapsed();
        if since > PULSE + HELD_UP {
            self.blind += since;
        }
    }
}

/// Whose sockets listen where we connect to: the tree's, with its container's, or also somebody else's.
pub(super) async fn owner(keeper: &Keeper, address: SocketAddr) -> Owner {
    let (guard, container) = (keeper.guard(), keeper.container().cloned());
    let ask = move || {
        let boxed = container.map(|c| c.pids()).unwrap_or_default();
        port::owner(address, guard, &boxed)
    };
    tokio::task::spawn_blocking(ask).await.unwrap_or(Owner::Unknown)
}

/// Signs of life, what they tell, and the deadlines that follow from them.
pub(super) struct Progress<'a, 't> {
    ready: &'a Ready,
    course: &'a mut Course<'t>,
    /// Processes of the tree that were seen: pid → name.
    family: &'a mut BTreeMap<i32, String>,
    log: Follower,
    began: Instant,
    /// When it last came further.
    last: Instant,
    /// When it last came further by what a start is known to do: a part of it done, a share that grew, bytes read, memory taken.
    surely: Instant,
    /// When it last printed anything at all.
    printed: Instant,
    pid: Option<i32>,
    log_bytes: u64,
    read_bytes: u64,
    grows: Option<Arc<AtomicU64>>,
    grown: u64,
}

impl<'a, 't> Progress<'a, 't> {
    pub fn new(
        ready: &'a Ready,
        log: &Path,
        course: &'a mut Course<'t>,
        family: &'a mut BTreeMap<i32, String>,
        grows: Option<Arc<AtomicU64>>,
    ) -> Self {
        let (now, log) = (Instant::now(), Follower::new(log));
        Self {
            ready,
            course,
            family,
            log,
            began: now,
            last: now,
            surely: now,
            printed: now,
            pid: None,
            log_bytes: 0,
            read_bytes: 0,
            grows,
            grown: 0,
        }
    }

    fn hear(&mut self, life: &Life) {
        if let (None, Some(pid)) = (self.pid, life.pid) {
            self.pid = life.pid;
            self.course.tell(LaunchEvent::Spawned { pid });
            self.course.take(Happening::Spawned);
        }
        if life.log_bytes > self.log_bytes {
            self.log_bytes = life.log_bytes;
            self.printed = Instant::now();
            self.course.tell(LaunchEvent::Log { bytes: life.log_bytes });
            self.follow();
        }
    }

    fn follow(&mut self) {
        if let Some(progress) = self.log.look() {
            self.course.tell(LaunchEvent::Progress(progress));
        }
        match self.log.take_news() {
            Some(News::Progress) => self.moves(),
            Some(News::Words) => self.last = Instant::now(),
            None => {}
        }
    }

    fn look(&mut self, guard: i32) {
        self.follow();
        let table = processes::all();
        let tree = processes::descendants(&table, [guard]);
        let read = tree.iter().map(|p| processes::bytes_read(p.pid)).sum::<u64>();
        if read > self.read_bytes + READING {
            self.moves();
        }
        self.read_bytes = read;
        let grown = self.grows.as_ref().map_or(0, |g| g.load(Ordering::Relaxed));
        if grown >= self.grown + GROWING {
            // the first look finds what others hold
            if self.grown > 0 {
                self.moves();
            }
            self.grown = grown;
        }
        self.family.extend(tree.into_iter().map(|p| (p.pid, p.name.clone())));
    }

    fn moves(&mut self) {
        self.last = Instant::now();
        self.surely = self.last;
    }

    fn deadline(&self) -> Instant {
        let within = self.ready.within;
        let patience = (self.printed + within).min(self.last + within * (1 + GRACE)).max(self.last + within);
        patience.min(self.surely + within * AIMLESS).min(self.began + self.ready.overall)
    }

    fn limit(&self) -> Limit {
        let within = self.ready.within;
        if self.began.elapsed() >= self.ready.overall {
            Limit::Overall
        } else if self.surely.elapsed() >= within * AIMLESS {
            Limit::Idle(within * AIMLESS)
        } else if self.printed.elapsed() < within {
            Limit::Idle(within * (1 + GRACE))
        } else {
            Limit::Silence(within)
        }
    }
}

/// What a server said when it was last asked whether it is ready, if that was not that it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastAnswer {
    pub status: Option<u16>,
    /// As a sentence says it: `503 Service Unavailable: model is loading`.
    pub words: String,
}

fn taken(last: &Mutex<Option<LastAnswer>>) -> Option<LastAnswer> {
    last.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Asks until the answer is 200, and keeps the last one that was not.
async fn answer(client: &reqwest::Client, url: &str, last: &Mutex<Option<LastAnswer>>) {
    let mut pause = SHORTEST_PAUSE;
    loop {
        let said = match client.get(url).send().await {
            Ok(response) if response.status() == reqwest::StatusCode::OK => return,
            Ok(response) => Some(told(response).await),
            Err(e) if e.is_connect() => None,
            Err(e) if e.is_timeout() => Some(unsaid(format!("nothing within {} s", TRY.as_secs()))),
            Err(_) => Some(unsaid("something that is no HTTP".to_owned())),
        };
        // nobody listens yet, or no more: what was said before still is the last word
        if said.is_some() {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = said;
        }
        sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

fn unsaid(words: String) -> LastAnswer {
    LastAnswer { status: None, words }
}

/// Status and first words of an answer.
async fn told(mut response: reqwest::Response) -> LastAnswer {
    const WORDS: usize = 120;
    let status = response.status();
    let mut body = Vec::new();
    while body.len() < 4 * WORDS
        && let Ok(Some(bytes)) = response.chunk().await
    {
        body.extend_from_slice(&bytes);
    }
    let text = String::from_utf8_lossy(&body);
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(WORDS).collect();
    let text = if text.is_empty() { text } else { format!(": {text}") };
    LastAnswer { status: Some(status.as_u16()), words: format!("{status}{text}") }
}

/// Straight to the engine, and without keeping a connection that it would wait for when it stops.
pub(super) fn client(key: Option<&Key>) -> reqwest::Result<reqwest::Client> {
    let value = key.and_then(|key| HeaderValue::from_bytes(key.authorization().as_bytes()).ok());
    let header = value.map(|mut value| {
        value.set_sensitive(true);
        (AUTHORIZATION, value)
    });
    trust::client_for("http://")
        .no_proxy()
        .default_headers(header.into_iter().collect())
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .timeout(TRY)
        .build()
}
