//! One launch as the coordinator gives it away: everything that it decided about it, and carrying it out to the last line of the journal.
//!
//! Launches side by side know nothing of each other; what they share is the journal, the listener and the clock.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::books::{Books, begin, gone};
use super::circumstances;
use super::clean::{Cleanness, Held, Waited};
use super::cold;
use super::devices::LaunchGpus;
use super::elsewhere;
use super::event::{Event, Listener};
use super::execution::{Execution, RunError};
use super::launch::{Crew, LaunchEnd, LoadResult, Ruler, carry_out};
use super::order::{Around, LoadOrder, OrderError, Place, load_order, seed};
use super::questions;
use super::reservation::{Reservations, Reserved};
use super::setbacks::Retry;
use super::signals::Signals;
use super::yard::Berth;
use crate::data::Random;
use crate::engine::Failure;
use crate::engine::lookups::{Lookups, Scope};
use crate::gpu::Gpu;
use crate::journal::{Kind, LaunchTimes, Moved, Neighbourhood, Says};
use crate::judge::walk::trial_id;
use crate::judge::{Checks, Metrics, Results, Setup, Wanted, rules};
use crate::lang::sema::program::Via;
use crate::plan::{Config, profile};

/// The stage that all launches speak from: one listener, and one word at a time.
pub struct Said<'l>(Mutex<&'l mut dyn Listener>);

impl<'l> Said<'l> {
    pub fn new(listener: &'l mut dyn Listener) -> Self {
        Self(Mutex::new(listener))
    }

    pub fn hear(&self, event: &Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).hear(event);
    }
}

impl Listener for &Said<'_> {
    fn hear(&mut self, event: &Event) {
        Said::hear(self, event);
    }
}

/// What the launches of an invocation have in common.
pub struct Ground<'a> {
    pub clean: Option<Cleanness>,
    /// of GPUs, among all perflabs of this machine
    pub reservations: Option<Reservations>,
    /// those of the user, and the coordinator's own order to stop
    pub signals: Signals,
    pub said: Said<'a>,
    /// when the last launch ended, in seconds since the invocation began
    pub last_end: Cell<f64>,
    /// launches that have begun and not ended
    pub open: RefCell<Vec<String>>,
}

/// What a launch is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// results of its configuration
    Measure,
    /// to learn whether neighbours leave each other alone; it has no results
    Check { of: Neighbourhood, round: u32, alone: bool },
}

/// One launch, decided upon.
pub struct Task {
    pub wanted: Wanted,
    pub purpose: Purpose,
    pub berth: Berth,
    /// the results that it was decided from
    pub results: Arc<Results>,
    /// whom the rules compare it with
    pub best: Option<Config>,
    pub baseline: Option<Config>,
    /// what follows if the machine fails; `None`: the failure counts
    pub retry: Option<Retry>,
    /// from when on its time is counted, in seconds since the invocation began
    pub since_s: f64,
    /// launches still to come, at most, and what they are predicted to take
    pub remaining: usize,
    pub left_s: Option<f64>,
}

/// A launch that is over.
pub struct Done {
    pub task: Task,
    /// its name in the journal, if it came so far
    pub launch: Option<String>,
    pub ended: Result<LaunchEnd, RunError>,
}

/// Carries a launch out.
pub async fn perform(x: &Execution<'_>, ground: &Ground<'_>, task: Task) -> Done {
    let mut launch = None;
    // one launch is much to hold in place beside all else
    let mut ended = Box::pin(launched(x, ground, &task, &mut launch)).await;
    if let (Ok(LaunchEnd::Setback(failure)), Some(launch), Some(retry)) = (&ended, &launch, task.retry)
        && let Err(e) = set_back(x, ground, launch, failure, retry).await
    {
        ended = Err(e);
    }
    if let Some(launch) = &launch {
        ground.open.borrow_mut().retain(|open| open != launch);
    }
    Done { task, launch, ended }
}

/// Writes down that the machine failed, and waits before the launch is made again.
async fn set_back(
    x: &Execution<'_>,
    ground: &Ground<'_>,
    launch: &str,
    failure: &Failure,
    retry: Retry,
) -> Result<(), RunError> {
    let launch = launch.to_owned();
    let (class, line) = (failure.class.clone(), failure.line.clone());
    x.journal.append(Kind::Setback { launch: launch.clone(), class, line })?;
    let reason = format!("{}: {}", failure.class, failure.line);
    ground.said.hear(&Event::Setback {
        launch,
        reason,
        retry: retry.n,
        of: retry.of,
        pause_s: retry.pause.as_secs_f64(),
    });
    tokio::select! {
        () = ground.signals.first.cancelled() => {}
        () = tokio::time::sleep(retry.pause) => {}
    }
    // the pause is nobody's time
    ground.last_end.set(x.journal.elapsed_s());
    Ok(())
}

async fn launched(
    x: &Execution<'_>,
    ground: &Ground<'_>,
    task: &Task,
    named: &mut Option<String>,
) -> Result<LaunchEnd, RunError> {
    let (wanted, gpus) = (&task.wanted, &task.berth.gpus);
    let config = &wanted.config;
    let setup = Setup::new(x.program, x.study, &task.results, x.checks, false);
    let waiting = Instant::now();
    // until this launch has ended, whatever its end
    let _reserved = match reserve(ground, gpus).await {
        Ok(reserved) => reserved,
        Err(end) => return Ok(end),
    };
    if let Some(not_clean) = wait_for_gpus(ground, gpus).await? {
        return Ok(not_clean);
    }
    let before = waiting.elapsed();
    let said = &ground.said;
    let mut tell = |text| said.hear(&Event::Warning { text });
    match elsewhere::before(x, config, &ground.signals.first, &mut tell).await {
        Err(_) if ground.signals.first.is_cancelled() => return Ok(LaunchEnd::Interrupted),
        // nobody started it here: that it is away says nothing about the candidate
        Err(unmet) => return Err(unmet.into()),
        Ok(()) => {}
    }
    let loads = orders(x, &setup, task)?;
    // nothing is awaited between the number and its line in the journal
    let launch = format!("L{:03}", x.journal.history().launches().len() + 1);
    let nonce = format!("{}{launch}", x.mark());
    *named = Some(launch.clone());
    begin(x, ground, task, (&launch, &nonce))?;
    let trial = trial_id(&setup, config, wanted.profiles.first().map_or("", String::as_str));
    let dir = x.dir.join("trials").join(trial).join(&launch);
    let ruler = ruler(&setup, task);
    let ready = OnceLock::new();
    let on_ready = |after_s: f64, says: &Says| {
        ready.get_or_init(Instant::now);
        x.journal.append(Kind::Ready { launch: launch.clone(), after_s, says: says.clone() })
    };
    let began = Instant::now();
    let mut books = Books::new(x, &setup, task, &launch, &loads, &ready);
    let crew = Crew {
        launch: &launch,
        config,
        place: place(x, task, dir, &nonce, books.lookups()),
        lock: &x.lock,
        signals: &ground.signals,
        ruler: &*ruler,
        reads_startup: matches!(task.purpose, Purpose::Measure) && cold::reads_startup(x.study),
        gpus: launch_gpus(x, ground, gpus, config, &nonce).await,
        last_try: task.retry.is_none(),
        strict: x.checks == Checks::Refuse,
        on_ready: &on_ready,
    };
    let energy_before = energy_j(&crew).await;
    let mut times = LaunchTimes::default();
    let mut keep = |r: LoadResult| books.keep(r);
    let mut ended = carry_out(&crew, &loads, &mut &ground.said, &mut keep, &mut times).await?;
    let energy_after = energy_j(&crew).await;
    times.energy_j =
        energy_after.zip(energy_before).map(|(after, before)| after - before).filter(|j| *j >= 0.0);
    books.close(&ended)?;
    if let LaunchEnd::Left(why) = &ended {
        let class = "server away".to_owned();
        x.journal.append(Kind::Setback { launch: launch.clone(), class, line: why.clone() })?;
    }
    elsewhere::after(x, config, &ground.signals.first, &mut tell).await;
    let waiting = Instant::now();
    if matches!(ended, LaunchEnd::Done)
        && let Some(not_clean) = wait_for_gpus(ground, gpus).await?
    {
        ended = not_clean;
    }
    // nobody waits for GPUs that were not asked for
    times.drain_s = if gpus.is_empty() { 0.0 } else { (before + waiting.elapsed()).as_secs_f64() };
    let moved = books.moved();
    let what = moved.changed.clone();
    if let Some(text) = books.missed() {
        said.hear(&Event::Warning {
            text: format!("{launch}: {text}: an edit of what it read may be seen by its name alone"),
        });
    }
    gone(x, ground, task, &launch, times, moved, &ended)?;
    say_changed(x, ground, &launch, what);
    ground.said.hear(&Event::LaunchEnds { launch, took_s: began.elapsed().as_secs_f64() });
    Ok(ended)
}

/// Says what changed under a launch, and what follows from it.
fn say_changed(x: &Execution<'_>, ground: &Ground<'_>, launch: &str, what: Vec<String>) {
    let history = x.journal.history();
    let (now, before) = (Moved::of(&history), Moved::before(&history, launch));
    if !what.is_empty() {
        let doubtful = now.doubt(launch).is_some();
        ground.said.hear(&Event::Changed { launch: launch.to_owned(), what, doubtful });
    }
    for earlier in now.doubtful().filter(|l| *l != launch && before.doubt(l).is_none()) {
        let what = now.doubt(earlier).unwrap_or_default();
        let text = format!(
            "{earlier}: {what} changed under it and not under {launch}, so no engine writes it at each launch: its results do not count"
        );
        ground.said.hear(&Event::Warning { text });
    }
    let known: Vec<String> = before.not_compared().collect();
    for text in now.not_compared().filter(|text| !known.contains(text)) {
        ground.said.hear(&Event::Warning { text });
    }
}

/// Waits until no other perflab launches on the GPUs of a launch. `None`: it has none, or nothing can be reserved here.
async fn reserve(ground: &Ground<'_>, gpus: &[Gpu]) -> Result<Option<Reserved>, LaunchEnd> {
    let Some(here) = ground.reservations.as_ref().filter(|_| !gpus.is_empty()) else { return Ok(None) };
    let (began, mut told) = (Instant::now(), false);
    loop {
        let taken: Vec<String> = match here.take(gpus) {
            Ok(Ok(reserved)) => return Ok(Some(reserved)),
            Ok(Err(taken)) => taken.iter().map(ToString::to_string).collect(),
            Err(e) => {
                let text = format!("GPUs cannot be reserved ({e}): another perflab may launch on them too");
                ground.said.hear(&Event::Warning { text });
                return Ok(None);
            }
        };
        if began.elapsed() >= here.pace.patience {
            return Err(LaunchEnd::Held(taken));
        }
        if !std::mem::replace(&mut told, true) {
            ground.said.hear(&Event::GpuWait { held: taken });
        }
        tokio::select! {
            () = ground.signals.first.cancelled() => return Err(LaunchEnd::Interrupted),
            () = tokio::time::sleep(here.pace.every) => {}
        }
    }
}

/// Waits until the GPUs of a launch are clean. `None`: they are, or it has none.
async fn wait_for_gpus(ground: &Ground<'_>, gpus: &[Gpu]) -> Result<Option<LaunchEnd>, RunError> {
    let Some(clean) = ground.clean.as_ref().filter(|_| !gpus.is_empty()) else { return Ok(None) };
    let tell = |held: &[Held]| {
        ground.said.hear(&Event::GpuWait { held: held.iter().map(ToString::to_string).collect() });
    };
    Ok(match clean.wait(gpus, &ground.signals.first, tell).await? {
        Waited::Clean => None,
        Waited::Interrupted => Some(LaunchEnd::Interrupted),
        Waited::Held(held) => Some(LaunchEnd::Held(held.iter().map(ToString::to_string).collect())),
    })
}

fn place<'a>(
    x: &'a Execution<'_>,
    task: &'a Task,
    launch_dir: PathBuf,
    nonce: &str,
    lookups: Option<(Scope, Lookups)>,
) -> Place<'a> {
    Place {
        study_dir: &x.study_dir,
        launch_dir,
        env: task.berth.variables(),
        cpus: &task.berth.cpus,
        part: task.berth.part,
        site: &x.site,
        nonce: nonce.to_owned(),
        device: x.host.device(),
        images: &x.images,
        models: &x.models,
        confirming: task.wanted.confirming,
        lookups,
        served_before: circumstances::served_before(x, &task.wanted.config),
    }
}

async fn energy_j(crew: &Crew<'_>) -> Option<f64> {
    crew.gpus.as_ref()?.energy_j().await
}

async fn launch_gpus(
    x: &Execution<'_>,
    ground: &Ground<'_>,
    gpus: &[Gpu],
    config: &Config,
    nonce: &str,
) -> Option<LaunchGpus> {
    let (source, _) = x.host.gpus(0).filter(|_| !gpus.is_empty())?;
    let levels = ground.clean.as_ref().map(|c| c.levels().clone()).unwrap_or_default();
    let contained = matches!(config.engine.via, Via::Container(_));
    Some(LaunchGpus::new(source, gpus.to_vec(), levels, nonce.to_owned(), contained).await)
}

/// Where the model's own files lie, its tokenizer among them.
fn model_at(x: &Execution<'_>, config: &Config) -> Option<PathBuf> {
    let stated = x.site.models.get(&config.model).map(PathBuf::from);
    stated.or_else(|| x.models.get(&config.model).map(|m| m.dir.clone()))
}

fn orders(x: &Execution<'_>, setup: &Setup<'_>, task: &Task) -> Result<Vec<LoadOrder>, OrderError> {
    let (mut out, wanted) = (Vec::new(), &task.wanted);
    let at = model_at(x, &wanted.config);
    for name in &wanted.profiles {
        let p = setup.program.profiles.get(name).ok_or_else(|| OrderError::Profile(name.clone()))?;
        // all launches of a check send the same requests
        let n = match task.purpose {
            Purpose::Measure => setup.all(&wanted.config, name).len() as u32 + 1,
            Purpose::Check { .. } => 1,
        };
        let around = Around {
            study_dir: &x.study_dir,
            site: &x.site,
            at: at.as_deref(),
            before: before(setup, name, n),
        };
        let mut order = load_order(p, &wanted.config, n, setup.place(name), around)?;
        // rules are about the objective's profiles, and settled by the first run
        let ruled = task.purpose == Purpose::Measure && !wanted.confirming;
        if n == 1 && ruled && setup.profiles().contains(name) {
            order.spec.checkpoints = setup.study.prune.iter().filter_map(|r| r.after).collect();
        }
        out.push(order);
    }
    Ok(out)
}

/// The study's loads before one whose prompts are drawn by recipes: each load's are drawn apart from theirs, whichever of them are
/// still to be measured.
fn before(setup: &Setup<'_>, name: &str, n: u32) -> Vec<Random> {
    let profiles = setup.loads().into_iter().take(setup.place(name)).enumerate();
    let drawn = profiles.filter_map(|(place, name)| {
        let p = setup.program.profiles.get(&name)?;
        questions::random(p, seed(p.seed, &profile::id(p), n, place))
    });
    drawn.collect()
}

/// The rules that end a load early. The baseline is never pruned.
fn ruler<'a>(setup: &'a Setup<'a>, task: &'a Task) -> Box<Ruler<'a>> {
    let (config, baseline) = (&task.wanted.config, task.baseline.as_ref());
    let is_baseline = baseline.is_some_and(|b| b.id() == config.id());
    let best = task.best.as_ref().or(baseline);
    Box::new(move |profile: &str, done: u64, so_far: &Metrics| {
        if is_baseline {
            return None;
        }
        rules::rule_that_ends(setup, config, profile, done, so_far, best, baseline)
    })
}
