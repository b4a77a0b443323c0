//! From a description to a server that answers, or to the reason why there is none.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::course::{Course, LaunchEvent};
use super::error::StartError;
use super::failure::{Evidence, Moment, Uptime, Witness};
use super::keeper::Keeper;
use super::lifecycle::Happening;
use super::mounts::remove_tree;
use super::port;
use super::program;
use super::protocol::{Exit, Launch};
use super::ready::{self, Progress, Readied, Unready};
use super::scratch::{self, Scratch};
use super::server::{self, Server};
use super::spec::{LOG_NAME, LaunchSpec, MARK};
use super::unstarted;

/// Starts an engine and waits until it answers. Whatever goes wrong, nothing of it is left running, or the error names
/// what is; dropping the future kills it too. `on_event` is called in between and must not block.
pub async fn start(
    mut spec: LaunchSpec,
    cancel: &CancellationToken,
    mut on_event: impl FnMut(LaunchEvent),
) -> Result<Server, StartError> {
    let mut course = Course::new(&mut on_event);
    let began = Instant::now();
    let started = Uptime::now();
    let plan = plan(&spec).inspect_err(|e| {
        let taken = matches!(e, StartError::PortTaken { .. });
        course.take(if taken { Happening::PortTaken } else { Happening::NotSpawned });
    })?;
    course.take(Happening::PortFree);
    let log = plan.launch.log.clone();
    let keeper = match launch_guard(&mut spec, plan.launch, plan.scratch) {
        Ok(keeper) => keeper,
        Err(error) => {
            course.take(Happening::NotSpawned);
            course.take(Happening::TreeEmpty);
            return Err(error);
        }
    };
    let mut attempt = Attempt { course, keeper, log, spec, began, started, family: BTreeMap::new() };
    match attempt.until_ready(&plan.client, plan.address, cancel).await {
        Ok(readied) => Ok(attempt.into_server(plan.address, readied)),
        Err(why) => Err(attempt.explain(why).await),
    }
}

/// Everything that can be made, and can go wrong, before a process runs.
struct Plan {
    address: SocketAddr,
    client: reqwest::Client,
    launch: Launch,
    scratch: Scratch,
}

fn plan(spec: &LaunchSpec) -> Result<Plan, StartError> {
    let address = check_port(spec)?;
    let client = ready::client(spec.key.as_ref())
        .map_err(|e| StartError::Impossible(format!("no HTTP client: {e}")))?;
    let (launch, scratch) = prepare(spec)?;
    Ok(Plan { address, client, launch, scratch })
}

/// A start that goes on.
struct Attempt<'t> {
    course: Course<'t>,
    keeper: Keeper,
    log: PathBuf,
    spec: LaunchSpec,
    began: Instant,
    started: Uptime,
    family: BTreeMap<i32, String>,
}

impl Attempt<'_> {
    async fn until_ready(
        &mut self,
        client: &reqwest::Client,
        address: SocketAddr,
        cancel: &CancellationToken,
    ) -> Result<Readied, Unready> {
        let progress = Progress::new(
            &self.spec.ready,
            &self.log,
            &mut self.course,
            &mut self.family,
            self.spec.grows.clone(),
        );
        ready::wait(&self.keeper, client, address, &self.spec.ready.path, cancel, progress).await
    }

    fn into_server(mut self, address: SocketAddr, readied: Readied) -> Server {
        self.course.take(Happening::Answered);
        Server {
            pid: self.keeper.life().borrow().pid.unwrap_or_default(),
            stage: Mutex::new(self.course.stage()),
            keeper: self.keeper,
            address,
            readied,
            stop: self.spec.stop,
            log: self.log,
            failures: self.spec.failures,
            started: self.started,
            family: self.family,
        }
    }

    /// Ends what is left of the launch, and only then reads its log: it is complete now.
    async fn explain(mut self, why: Unready) -> StartError {
        let after = self.began.elapsed();
        let life = self.keeper.life().borrow().clone();
        let elsewhere = match why {
            Unready::Late(..) => self.elsewhere().await,
            _ => None,
        };
        let (_, survivors) = server::kill(&self.keeper, &mut self.course, why.happening(&life)).await;
        if !survivors.is_empty() {
            return StartError::Unclean(survivors);
        }
        let life = self.keeper.life().borrow().clone();
        if let Some((program, why)) = life.refused {
            return StartError::NotRunnable { program, why };
        }
        if let Some(message) = life.failed {
            return StartError::Impossible(message);
        }
        match why {
            Unready::Cancelled => StartError::Cancelled,
            Unready::Stranger { pid, name } => StartError::Stranger { port: self.spec.port, pid, name },
            Unready::Late(limit, last) => {
                let asked = format!("GET {}", self.spec.ready.path);
                let Evidence { mut failure, tail, .. } = self.examine(None).await;
                let answered = last.as_ref().and_then(|l| l.status);
                let last = last.map(|l| format!("{asked} was last answered with {}", l.words));
                let seen = [elsewhere, last, Some(failure.line).filter(|l| !l.is_empty())];
                failure.line = seen.into_iter().flatten().collect::<Vec<_>>().join("; ");
                StartError::NeverReady { after, limit, failure, answered, tail }
            }
            Unready::Ended => {
                let exit = life.exit.unwrap_or(Exit::Unknown);
                let (container, argv) = (self.spec.container.clone(), self.spec.argv.clone());
                let Evidence { mut failure, tail, .. } = self.examine(Some(exit)).await;
                if let Some(container) = container {
                    let blamed = unstarted::by_runtime(&container, &argv, exit, &failure).await;
                    failure = blamed.unwrap_or(failure);
                }
                StartError::Exited { exit, failure, tail }
            }
        }
    }

    /// That it serves, and where, if that is another port or address than it was given.
    async fn elsewhere(&self) -> Option<String> {
        let (guard, container, wanted) =
            (self.keeper.guard(), self.keeper.container().cloned(), self.spec.port);
        let host = self.spec.host.clone();
        let ask = move || {
            let boxed = container.map(|c| c.pids()).unwrap_or_default();
            let ports = port::listening_below(guard, &boxed);
            let other = if ports.contains(&wanted) { port::other_address(&host, wanted) } else { None };
            (ports, other)
        };
        let (ports, other) = tokio::task::spawn_blocking(ask).await.unwrap_or_default();
        if ports.is_empty() || ports.contains(&wanted) {
            return other;
        }
        let listed: Vec<String> = ports.iter().take(4).map(ToString::to_string).collect();
        Some(format!("it listens on port {}, and was given {wanted}", listed.join(", ")))
    }

    async fn examine(self, exit: Option<Exit>) -> Evidence {
        let Self { log, spec, started, family, keeper, .. } = self;
        let originals = keeper.life().borrow().originals.clone();
        // up to 17 MiB and dozens of patterns: too much for the thread that measures
        let work = move || {
            let (log, originals, patterns, family) = (&log, &originals, &spec.failures, &family);
            Witness { log, from: 0, originals, patterns, exit, moment: Moment::Start, started, family }
                .examine()
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_default()
    }
}

/// An engine on a port that is taken may start, and share it, or warm up against the stranger for minutes.
fn check_port(spec: &LaunchSpec) -> Result<SocketAddr, StartError> {
    let unknown = |e: io::Error| StartError::Impossible(format!("cannot listen on {}: {e}", spec.host));
    if !port::is_free(&spec.host, spec.port).map_err(unknown)? {
        return Err(StartError::PortTaken { host: spec.host.clone(), port: spec.port });
    }
    port::reachable(&spec.host, spec.port).map_err(unknown)
}

fn prepare(spec: &LaunchSpec) -> Result<(Launch, Scratch), StartError> {
    if !spec.cwd.is_dir() {
        let message = format!("the working directory {} does not exist", spec.cwd.display());
        return Err(StartError::Impossible(message));
    }
    let program = program::find(spec)?;
    let unusable = |what: &Path| {
        let what = what.display().to_string();
        move |e: io::Error| StartError::Impossible(format!("cannot use {what}: {e}"))
    };
    fs::create_dir_all(&spec.dir).map_err(unusable(&spec.dir))?;
    let dir = spec.dir.canonicalize().map_err(unusable(&spec.dir))?;
    let cwd = spec.cwd.canonicalize().map_err(unusable(&spec.cwd))?;
    let scratch = scratch::make(&spec.env, &spec.nonce).map_err(unusable(Path::new("TMPDIR")))?;
    let mut env: Vec<_> =
        spec.env.iter().filter(|(name, _)| name != "TMPDIR" && name != MARK).cloned().collect();
    env.push(("TMPDIR".into(), scratch.path.to_string_lossy().into_owned()));
    env.push((MARK.into(), spec.nonce.clone()));
    let argv = spec.argv.clone();
    let launch = Launch {
        program,
        argv,
        env,
        cwd,
        cpus: spec.cpus.clone(),
        memory: spec.memory,
        log: dir.join(LOG_NAME),
        scratch: scratch.path.clone(),
        private: spec.private.clone(),
        container: spec.container.clone(),
        // what a container looks for lies in its image
        scope: spec.lookups.as_ref().filter(|_| spec.container.is_none()).map(|(scope, _)| scope.clone()),
        secrets: crate::secrets::known(),
        holds_descriptor: spec.keep_fd.is_some(),
        nonce: spec.nonce.clone(),
    };
    Ok((launch, scratch))
}

fn launch_guard(spec: &mut LaunchSpec, launch: Launch, scratch: Scratch) -> Result<Keeper, StartError> {
    let path = scratch.path.clone();
    let lookups = spec.lookups.take().map(|(_, lookups)| lookups);
    Keeper::launch(&spec.guard, launch, scratch, spec.keep_fd.take(), lookups).map_err(|e| {
        let _ = remove_tree(&path);
        StartError::Impossible(format!("cannot start a guard: {e}"))
    })
}
