//! One launch: start, one load after another, stop; what it measured and where its time went.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use futures_util::future::OptionFuture;

use super::cold;
use super::devices::LaunchGpus;
use super::event::{Event, Listener};
use super::loading::{Keep, Loaded, all_loads};
use super::options::Options;
use super::order::{LoadOrder, OrderError, Place, launch_spec};
use super::provenance;
use super::reset::{self, Emptied};
use super::signals::Signals;
use super::target::{PATIENCE, Target};
use super::unmet::Unmet;
use super::{circumstances, key, served, stages, taken};
use crate::engine::{self, Failure, Nature, Server, StartError, Survivor};
use crate::journal::{JournalError, LaunchTimes, Lock, Says};
use crate::judge::{Devices, Metrics, RunOutcome};
use crate::lang::sema::program::Via;
use crate::plan::Config;
use crate::secrets::Key;

/// A port that someone takes between our look and the engine's bind is tried again, on another one.
const ATTEMPTS: usize = 3;

/// Decides, after so many requests, whether a rule ends the load: profile, metrics so far → the outcome of a load that a rule
/// stopped.
pub type Ruler<'a> = dyn Fn(&str, u64, &Metrics) -> Option<RunOutcome> + Send + Sync + 'a;

/// Writes down that a server answers: after so many seconds, and what it says of itself.
pub type OnReady<'a> = dyn Fn(f64, &Says) -> Result<(), JournalError> + 'a;

/// What carrying out a launch needs beside its loads.
pub struct Crew<'a> {
    pub launch: &'a str,
    pub config: &'a Config,
    pub place: Place<'a>,
    pub lock: &'a Lock,
    pub signals: &'a Signals,
    pub ruler: &'a Ruler<'a>,
    /// the study is about how long starts take
    pub reads_startup: bool,
    /// `None` where it asks for none
    pub gpus: Option<LaunchGpus>,
    /// a failure of the machine is a result too: it was tried often enough
    pub last_try: bool,
    /// results that the machine spoiled are refused
    pub strict: bool,
    pub on_ready: &'a OnReady<'a>,
}

impl Crew<'_> {
    /// What its server asks its clients for.
    fn key(&self) -> Option<Key> {
        key::of(self.config, self.place.site, self.place.study_dir)
    }
}

/// One load's result, for the journal.
pub struct LoadResult {
    pub index: usize,
    pub outcome: RunOutcome,
    pub metrics: Metrics,
    pub notes: Vec<String>,
    pub devices: Option<Devices>,
    /// its server is perflab's own simulator
    pub simulated: bool,
    /// the last lines of the log of a failure
    pub tail: Vec<String>,
    /// the machine's failure, not the configuration's
    pub infrastructure: bool,
}

impl LoadResult {
    pub fn of(index: usize, outcome: RunOutcome) -> Self {
        let (metrics, notes, tail) = (Metrics::default(), Vec::new(), Vec::new());
        Self { index, outcome, metrics, notes, devices: None, simulated: false, tail, infrastructure: false }
    }

    pub fn failed_load(index: usize, failure: Failure, tail: Vec<String>) -> Self {
        let infrastructure = failure.nature == Nature::Infrastructure;
        let outcome = RunOutcome::FailedLoad { class: failure.class, line: failure.line };
        Self { tail, infrastructure, ..Self::of(index, outcome) }
    }

    fn failed_start(index: usize, failure: &Failure, tail: &[String]) -> Self {
        let infrastructure = failure.nature == Nature::Infrastructure;
        let outcome = RunOutcome::FailedStart { class: failure.class.clone(), line: failure.line.clone() };
        Self { tail: tail.to_vec(), infrastructure, ..Self::of(index, outcome) }
    }

    /// The failure of what the launch had still to load when its server was lost under a profile: it would meet nobody, or another server.
    pub fn of_the_rest(&self, profile: &str) -> Option<Failure> {
        match &self.outcome {
            RunOutcome::FailedLoad { class, line } => {
                let line = format!("not loaded, as the server was lost under {profile}: {line}");
                Some(Failure::new(class, line))
            }
            _ => None,
        }
    }

    /// The failure, if it is the machine's.
    pub fn setback(&self) -> Option<Failure> {
        match &self.outcome {
            RunOutcome::FailedLoad { class, line } | RunOutcome::FailedStart { class, line }
                if self.infrastructure =>
            {
                Some(Failure::new(class, line))
            }
            _ => None,
        }
    }
}

/// How a launch ended.
pub enum LaunchEnd {
    /// all of its loads have a result
    Done,
    /// a signal ended it; loads without a result are to be run again
    Interrupted,
    /// the machine's failure kept loads from a result: they are to be run again, after a pause
    Setback(Failure),
    /// something of it is still there: nothing may start on this machine
    Unclean(Vec<Survivor>),
    /// its GPUs are not its own, and stay so: a sentence each
    Held(Vec<String>),
    /// a server that runs already was lost under a load: why that one has no result
    Left(String),
}

/// Carries a launch out. Each load's result is handed to `keep` as soon as it is there.
pub async fn carry_out(
    crew: &Crew<'_>,
    loads: &[LoadOrder],
    listener: &mut dyn Listener,
    keep: &mut Keep<'_>,
    times: &mut LaunchTimes,
) -> Result<LaunchEnd, super::RunError> {
    if let Via::Url(url) = &crew.config.engine.via {
        return carry_out_elsewhere(crew, url, loads, listener, keep, times).await;
    }
    let began = Instant::now();
    // until nothing of it is left, whatever its end
    let _options = Options::of(&crew.place.launch_dir);
    let others = crew.gpus.as_ref().map(taken::Watch::begin);
    let started = start(crew, others.as_ref().map(taken::Watch::held), listener).await?;
    times.start_s = began.elapsed().as_secs_f64();
    let server = match started {
        Ok(server) => server,
        Err(error) => {
            let intruder = OptionFuture::from(others.map(taken::Watch::end)).await.flatten();
            return not_started(crew, loads, (error, intruder), listener, keep).await;
        }
    };
    OptionFuture::from(others.map(taken::Watch::end)).await;
    listener.hear(&Event::LaunchReady { launch: crew.launch.to_owned(), after_s: times.start_s });
    let no_sample = no_sample(crew, &server, times);
    if let (Some(why), true) = (&no_sample, crew.reads_startup) {
        listener.hear(&Event::Warning { text: format!("{}: {why}; it is launched again", crew.launch) });
        return again(crew, server, listener, times).await;
    }
    let at = crew.place.lies_at(crew.config);
    let managed = Target::managed(&server, crew.config, at.as_deref(), crew.key());
    let mut tell = |text| listener.hear(&Event::Warning { text: format!("{}: {text}", crew.launch) });
    let waited = || "its /v1/models, which does not answer".to_owned();
    let mut target = served::telling(managed, waited, &mut tell).await;
    target.startup_s = no_sample.is_none().then(|| server.ready_after().as_secs_f64());
    let introduced = introduce(crew, &mut target, times.start_s, listener).await;
    for note in &target.notes {
        listener.hear(&Event::Warning { text: format!("{}: {note}", crew.launch) });
    }
    // whatever cannot be written down, the server is stopped in order first
    let loaded = match introduced {
        Ok(None) => all_loads(crew, loads, &target, listener, keep, times, Emptied::NotAsked).await,
        Ok(Some(why)) => another_version(crew, &why, loads.len(), listener, keep).map(|()| Loaded::All),
        Err(error) => Err(error.into()),
    };
    let stopping = Instant::now();
    let tell = |event| stages::pass_on(crew.launch, event, listener);
    let report = server.leave(&crew.signals.second, tell).await;
    times.stop_s = stopping.elapsed().as_secs_f64();
    if !report.survivors.is_empty() {
        return Ok(LaunchEnd::Unclean(report.survivors));
    }
    Ok(loaded?.into())
}

/// Why a start says nothing of how long starts take.
fn no_sample(crew: &Crew<'_>, server: &Server, times: &LaunchTimes) -> Option<String> {
    let unseen = server.unseen();
    if !unseen.is_zero() {
        let unseen = unseen.as_secs_f64();
        return Some(format!(
            "perflab did not run for {unseen:.1} s while it started (stopped, or the machine was), so that its startup is not known"
        ));
    }
    let cold = cold::compiled(&crew.place.launch_dir);
    cold.then(|| {
        format!(
            "it was ready after {:.1} s with cold caches, which is no sample of its startup",
            times.start_s
        )
    })
}

/// Ends a launch whose start is no sample: it has no result, and its configuration is launched again.
async fn again(
    crew: &Crew<'_>,
    server: Server,
    listener: &mut dyn Listener,
    times: &mut LaunchTimes,
) -> Result<LaunchEnd, super::RunError> {
    let stopping = Instant::now();
    let tell = |event| stages::pass_on(crew.launch, event, listener);
    let report = server.leave(&crew.signals.second, tell).await;
    times.stop_s = stopping.elapsed().as_secs_f64();
    if !report.survivors.is_empty() {
        return Ok(LaunchEnd::Unclean(report.survivors));
    }
    let cancelled = crew.signals.first.is_cancelled();
    Ok(if cancelled { LaunchEnd::Interrupted } else { LaunchEnd::Done })
}

impl From<Loaded> for LaunchEnd {
    fn from(loaded: Loaded) -> Self {
        match loaded {
            // what has no result is wanted again, in a launch of its own
            Loaded::All | Loaded::Stale => Self::Done,
            Loaded::Interrupted => Self::Interrupted,
            Loaded::Setback(failure) => Self::Setback(failure),
            Loaded::Left(why) => Self::Left(why),
        }
    }
}

/// What a start that failed means: for its loads, for the study, or for the machine.
async fn not_started(
    crew: &Crew<'_>,
    loads: &[LoadOrder],
    (error, intruder): (StartError, Option<String>),
    listener: &mut dyn Listener,
    keep: &mut Keep<'_>,
) -> Result<LaunchEnd, super::RunError> {
    let Some(failure) = error.failure() else {
        return match error {
            StartError::Cancelled => Ok(LaunchEnd::Interrupted),
            StartError::Unclean(survivors) => Ok(LaunchEnd::Unclean(survivors)),
            // a lost network device says nothing about the candidate
            other => Err(super::RunError::Machine(other.to_string())),
        };
    };
    gpus_answer(crew).await?;
    let let_in = match &error {
        StartError::NeverReady { answered: Some(status), .. } => {
            key::refused(*status, crew.config, crew.key().as_ref())
        }
        _ => None,
    };
    let failure = circumstances::of_machine(crew, &error)
        .or(let_in)
        .unwrap_or_else(|| taken::blamed(failure, intruder.as_ref()));
    listener.hear(&Event::LaunchFails { launch: crew.launch.to_owned(), reason: error.to_string() });
    // a port has been tried again, on others
    if failure.nature == Nature::Infrastructure && !error.is_about_the_port() && !crew.last_try {
        return Ok(LaunchEnd::Setback(failure));
    }
    for index in 0..loads.len() {
        keep(LoadResult::failed_start(index, &failure, error.tail()))?;
    }
    Ok(LaunchEnd::Done)
}

/// The loads alone: a server that the site says runs already is neither started nor stopped.
async fn carry_out_elsewhere(
    crew: &Crew<'_>,
    url: &str,
    loads: &[LoadOrder],
    listener: &mut dyn Listener,
    keep: &mut Keep<'_>,
    times: &mut LaunchTimes,
) -> Result<LaunchEnd, super::RunError> {
    let mut tell = |text| listener.hear(&Event::Warning { text: format!("{}: {text}", crew.launch) });
    let mut target =
        match Target::elsewhere(url, crew.config, crew.key(), PATIENCE, &crew.signals.first, &mut tell).await
        {
            Ok(Target { another: Some(why), .. }) => return Err(Unmet::wrong(why).into()),
            Ok(target) => target,
            Err(_) if crew.signals.first.is_cancelled() => return Ok(LaunchEnd::Interrupted),
            // nobody started it here: that it is away says nothing about the candidate
            Err(Unmet { why, may_pass: true }) => {
                let (launch, reason) = (crew.launch.to_owned(), why.clone());
                listener.hear(&Event::LaunchFails { launch, reason });
                return Ok(LaunchEnd::Left(why));
            }
            Err(unmet) => return Err(unmet.into()),
        };
    fs::create_dir_all(&crew.place.launch_dir)
        .map_err(|e| super::RunError::Machine(format!("{}: {e}", crew.place.launch_dir.display())))?;
    listener.hear(&Event::LaunchReady { launch: crew.launch.to_owned(), after_s: 0.0 });
    if let Some(why) = introduce(crew, &mut target, 0.0, listener).await? {
        return Err(Unmet::wrong(why).into());
    }
    let mut emptied = Emptied::NotAsked;
    if let Some(first) = loads.first() {
        emptied = reset::empty(crew, &target, &first.spec, listener).await;
    }
    Ok(all_loads(crew, loads, &target, listener, keep, times, emptied).await?.into())
}

/// Asks a server what it is and writes it down; flags that it changed in silence are said of every result. Why its results
/// may not stand under the configuration, if they may not.
async fn introduce(
    crew: &Crew<'_>,
    target: &mut Target<'_>,
    after_s: f64,
    listener: &mut dyn Listener,
) -> Result<Option<String>, JournalError> {
    let engine = &crew.config.engine;
    let log = crew.place.launch_dir.join("server.log");
    let says = provenance::ask(&target.base_url, target.key.as_ref(), engine.root(), &log).await;
    (crew.on_ready)(after_s, &says)?;
    target.simulated |= says.simulated;
    if target.simulated && !engine.simulated() {
        let text =
            format!("{}: the server is perflab's own simulator: its numbers are of no GPU", crew.launch);
        listener.hear(&Event::Warning { text });
    }
    target.notes.extend(provenance::differences(engine, crew.config.flags(), &says));
    // the simulator stands for servers of any version
    let stated = engine.version.as_deref().filter(|_| !(engine.own_serve && says.simulated));
    Ok(provenance::contradiction(stated, says.version.as_deref()))
}

/// No result is kept under a version that did not produce it.
fn another_version(
    crew: &Crew<'_>,
    why: &str,
    loads: usize,
    listener: &mut dyn Listener,
    keep: &mut dyn FnMut(LoadResult) -> Result<(), JournalError>,
) -> Result<(), super::RunError> {
    listener.hear(&Event::LaunchFails { launch: crew.launch.to_owned(), reason: why.to_owned() });
    for index in 0..loads {
        let outcome = RunOutcome::FailedStart { class: "another version".to_owned(), line: why.to_owned() };
        keep(LoadResult {
            index,
            outcome,
            metrics: Metrics::default(),
            notes: Vec::new(),
            devices: None,
            simulated: false,
            infrastructure: false,
            tail: Vec::new(),
        })?;
    }
    Ok(())
}

async fn start(
    crew: &Crew<'_>,
    grows: Option<Arc<AtomicU64>>,
    listener: &mut dyn Listener,
) -> Result<Result<Server, StartError>, OrderError> {
    let (mut attempt, mut is_seen) = (1, true);
    let lookups = crew.place.lookups.as_ref().map(|(_, lookups)| lookups);
    loop {
        let mut spec = launch_spec(crew.config, &crew.place)?;
        spec.lookups.take_if(|_| !is_seen);
        spec.grows.clone_from(&grows);
        spec.keep_fd = Some(crew.lock.share().map_err(OrderError::Lock)?);
        let tell = |event| stages::pass_on(crew.launch, event, listener);
        let started = engine::start(spec, &crew.signals.first, tell).await;
        match started {
            Err(error) if attempt < ATTEMPTS && error.is_about_the_port() => {
                let text = format!("{error}; trying another port");
                listener.hear(&Event::Warning { text });
                attempt += 1;
            }
            // by hand it would start
            Err(_) if is_seen && lookups.is_some_and(|lookups| lookups.lacks().refused) => {
                let text = "it asks the kernel for calls of its own processes, which one alone may do: started again without seeing what it looks for";
                listener.hear(&Event::Warning { text: format!("{}: {text}", crew.launch) });
                if let Some(lookups) = lookups {
                    lookups.forget();
                }
                is_seen = false;
            }
            other => return Ok(other),
        }
    }
}

/// An engine that failed on a GPU that is lost failed for no reason of its own.
async fn gpus_answer(crew: &Crew<'_>) -> Result<(), super::RunError> {
    let Some(gpus) = &crew.gpus else { return Ok(()) };
    let lost = gpus.lost().await;
    lost.map_or(Ok(()), |error| Err(super::RunError::GpuLost(error.to_string())))
}
