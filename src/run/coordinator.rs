//! The coordinator: asks the strategy what is wanted, carries out one launch after another, and writes down intent and result.
//!
//! It decides nothing itself and remembers nothing that is not in the journal: killed at any moment, it goes on from there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use indexmap::IndexMap;
use thiserror::Error;

use super::clean::{self, Cleanness, Held, Waited};
use super::container;
use super::devices::LaunchGpus;
use super::event::{Event, Listener};
use super::host::Host;
use super::launch::{Crew, LaunchEnd, LoadResult, Ruler, carry_out};
use super::lost;
use super::order::{LoadOrder, OrderError, Place, load_order};
use super::provenance::{self, Standing};
use super::setbacks::{Retry, Setbacks};
use super::signals::Signals;
use super::spending::{left_s, refused};
use super::surroundings;
use crate::engine::container::Runtime;
use crate::engine::{self, Failure, Survivor};
use crate::gpu::Gpu;
use crate::hub::Resolved;
use crate::journal::{Conditions, Contained, History, JournalError, Kind, LaunchTimes, Lock, Says, Writer};
use crate::judge::budget::LeftOut;
use crate::judge::forecast::Guess;
use crate::judge::walk::{Role, trial_id};
use crate::judge::{
    Checks, Grid, Metrics, Next, Outcome, Results, Run, Setup, Strategy, Walk, Wanted, trial,
};
use crate::lang::Program;
use crate::lang::sema::program::{Budget, Engine, Repeat, Site, Study, Via};
use crate::plan::config::short_hash;
use crate::plan::{Config, command};

/// Why an execution could not go on. What was measured until then is in the journal.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Order(#[from] OrderError),
    /// no finding about the engine: this machine or its disk does not let a launch be made
    #[error("no launch can be made here: {0}")]
    Machine(String),
    /// this machine's too, and not to be mended by another command
    #[error("{0}; nothing that ran on it counts")]
    GpuLost(String),
    #[error("the GPUs cannot be looked at: {0}")]
    Gpus(#[from] crate::gpu::GpuError),
    /// a server that the site says runs already
    #[error("a server that should run already cannot be measured: {0}")]
    Away(String),
}

/// How an execution ended.
#[derive(Debug)]
pub enum Ended {
    /// the study is decided
    Decided,
    /// a signal ended it
    Interrupted,
    /// a launch left something behind
    Unclean(Vec<Survivor>),
    /// GPUs hold more than before the study, by whomever
    Held(Vec<Held>),
}

/// Everything that an execution needs.
pub struct Execution<'a> {
    pub program: &'a Program,
    pub study: &'a Study,
    pub checks: Checks,
    /// the study file, as given, and its text's hash
    pub file: &'a str,
    pub file_hash: String,
    /// where engines run: the study file's directory
    pub study_dir: PathBuf,
    /// where the state lies
    pub dir: PathBuf,
    pub host: Host,
    /// the facts of this machine, with absolute paths
    pub site: Site,
    /// the hub's models and local directories that engines load, by name
    pub models: BTreeMap<String, Resolved>,
    /// images of this machine by name, with their own ids
    pub images: BTreeMap<String, String>,
    pub lock: Lock,
    pub journal: Writer,
    pub signals: Signals,
    /// what launches may take, before any was made
    pub guess: Guess,
    /// what the study may cost
    pub budget: Option<Budget>,
    /// what it had no room for, in this invocation
    pub left_out: LeftOut,
}

impl Execution<'_> {
    /// The results that the journal holds and that still count.
    pub fn results(&self) -> Results {
        self.standing().results(self.journal.history())
    }

    /// What everything is measured under now.
    fn standing(&self) -> Standing<'_> {
        let standing = Standing::new(self.program, &self.host, &self.site, &self.study_dir, &self.images);
        for (name, resolved) in &self.models {
            standing.resolved(name, &resolved.identity);
        }
        standing
    }

    /// Names this study's launches among all of this machine, so that leftovers of an earlier run are known as ours.
    fn mark(&self) -> String {
        let dir = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        format!("plab-{}-", short_hash(&dir.to_string_lossy()))
    }
}

/// How an engine is started and spoken to. What somebody else started is no run of ours, wherever it answers, and another image
/// is another engine, whatever it is called.
pub(super) fn serve_id(engine: &Engine, images: &BTreeMap<String, String>) -> String {
    let how = match &engine.via {
        Via::Url(_) => NOT_MANAGED.to_owned(),
        Via::Container(boxed) => {
            let image = container::image(engine, boxed).unwrap_or_default();
            contained_in(images.get(&image).unwrap_or(&image))
        }
        Via::Path | Via::Venv(_) => String::new(),
    };
    serve_id_of(engine, &how)
}

const NOT_MANAGED: &str = "\nnot managed";

fn contained_in(image: &str) -> String {
    format!("\nin {image}")
}

fn serve_id_of(engine: &Engine, how: &str) -> String {
    short_hash(&format!("{}\n{:?}{how}", engine.serve, engine.api))
}

/// Identities of all serve lines: a result counts as long as its engine is started the same way.
pub fn serve_ids(program: &Program, images: &BTreeMap<String, String>) -> Vec<String> {
    program.engines.values().map(|e| serve_id(e, images)).collect()
}

/// The same however a site launches the engines: for a report, which is made without one.
pub fn serve_ids_anywhere(program: &Program, history: &History) -> Vec<String> {
    let images: BTreeSet<String> =
        containers(history).map(|c| contained_in(c.id.as_ref().unwrap_or(&c.image))).collect();
    let hows: Vec<&str> = ["", NOT_MANAGED].into_iter().chain(images.iter().map(String::as_str)).collect();
    program.engines.values().flat_map(|e| hows.iter().map(|how| serve_id_of(e, how))).collect()
}

/// What launches stood in.
fn containers(history: &History) -> impl Iterator<Item = &Contained> {
    history.launches().iter().filter_map(|l| l.container.as_ref())
}

/// Carries a study out, until it is decided or something ends it.
pub async fn execute(x: &mut Execution<'_>, listener: &mut dyn Listener) -> Result<Ended, RunError> {
    clean_up(x, listener)?;
    let mut clean = cleanness(x);
    let mut opened = false;
    let mut last_end = 0.0;
    let mut shown_step = None;
    let mut setbacks = Setbacks::default();
    let mut results = x.results();
    let mut left_out = LeftOut::default();
    loop {
        let setup = Setup::new(x.program, x.study, &results, x.checks, false).leaving(&left_out);
        let (walk, next) = Grid.next(&setup);
        let Next::Run(wanted) = next else { break };
        if x.signals.first.is_cancelled() {
            return end(x, opened, false, Ended::Interrupted);
        }
        let Some(first) = wanted.first() else { break };
        let refused = refused(x, &setup, &walk, &wanted);
        if !refused.is_empty() {
            for (need, why) in refused {
                let step = need.step.and_then(|i| x.study.steps.get(i)).map(|s| s.title.as_str());
                left_out.add(&need, step, &why);
            }
            continue;
        }
        if !opened {
            open(x, &walk, clean.as_ref(), listener)?;
            opened = true;
        }
        say_step(x.study, first, &mut shown_step, listener);
        let before = x.journal.history().runs().len();
        let launched = Launched { wanted: first, last_try: setbacks.is_last_try(first.config.id()) };
        let ended = one_launch(x, &setup, &walk, launched, clean.as_mut(), &mut last_end, listener).await?;
        // what was just measured was measured under what holds now
        for r in &x.journal.history().runs()[before..] {
            results.add(&r.config_id, &r.profile_id, r.run.clone());
        }
        match ended {
            LaunchEnd::Done => setbacks.forget(first.config.id()),
            LaunchEnd::Setback(failure) => {
                set_back(x, &failure, setbacks.add(first.config.id()), listener).await?;
                // the pause is nobody's time
                last_end = x.journal.elapsed_s();
            }
            LaunchEnd::Interrupted => return end(x, opened, false, Ended::Interrupted),
            LaunchEnd::Unclean(left) => return end(x, opened, false, Ended::Unclean(left)),
            LaunchEnd::Held(held) => return end(x, opened, false, Ended::Held(held)),
        }
    }
    let complete = left_out.is_empty();
    x.left_out = left_out;
    listener.hear(&Event::Ends { complete });
    end(x, opened, complete, Ended::Decided)
}

fn end(x: &mut Execution<'_>, opened: bool, complete: bool, ended: Ended) -> Result<Ended, RunError> {
    // an invocation that measured nothing leaves no trace: the report stays the same
    if opened {
        x.journal.append(Kind::End { complete })?;
    }
    Ok(ended)
}

/// Leftovers of an invocation that was killed together with its guards, and launches whose end nobody saw.
fn clean_up(x: &mut Execution<'_>, listener: &mut dyn Listener) -> Result<(), RunError> {
    let lived_on_s = lost::lived_on_s(&x.dir, x.journal.last_word());
    let left = engine::sweep(&x.mark());
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(|m| format!("{} ({})", m.pid, m.name)).collect();
        let text =
            format!("processes of an earlier run were still there and were killed: {}", names.join(", "));
        listener.hear(&Event::Warning { text });
    }
    sweep_containers(x, listener)?;
    for end in lost::ends(x.journal.history(), lived_on_s, |needed| x.host.held(needed)) {
        x.journal.append(end)?;
    }
    Ok(())
}

/// Containers outlive guards and this machine's crashes: those of earlier runs, under whatever started them.
fn sweep_containers(x: &Execution<'_>, listener: &mut dyn Listener) -> Result<(), RunError> {
    // those that this study uses, and those that a launch stood in whose end nobody saw: no other service needs to answer
    let used = x.program.engines.values().filter_map(|engine| match &engine.via {
        Via::Container(b) => container::image(engine, b).ok().filter(|i| x.images.contains_key(i)).map(|_| b),
        _ => None,
    });
    let history = x.journal.history();
    let open: BTreeSet<String> = history.unfinished().into_iter().map(|(launch, _)| launch).collect();
    let before = history
        .launches()
        .iter()
        .filter(|l| open.contains(&l.id))
        .filter_map(|l| Some(l.container.as_ref()?.runtime.as_str()));
    let names: BTreeSet<&str> = used.map(|b| b.runtime.name()).chain(before).collect();
    for runtime in names.into_iter().filter_map(Runtime::find) {
        let left = runtime.sweep(&x.mark()).map_err(|e| RunError::Machine(e.to_string()))?;
        if !left.is_empty() {
            let ids: Vec<&str> = left.iter().map(|id| &id[..id.len().min(12)]).collect();
            let text =
                format!("containers of an earlier run were still there and were removed: {}", ids.join(", "));
            listener.hear(&Event::Warning { text });
        }
    }
    Ok(())
}

/// Which container a launch stands in, for its record.
fn contained(x: &Execution<'_>, engine: &Engine) -> Option<Contained> {
    let Via::Container(boxed) = &engine.via else { return None };
    let image = container::image(engine, boxed).ok()?;
    let id = x.images.get(&image).cloned();
    Some(Contained { runtime: boxed.runtime.name().to_owned(), image, id })
}

/// The wait for clean GPUs, where the study has any: leftovers of an earlier run are gone, what is held now is the level.
fn cleanness(x: &Execution<'_>) -> Option<Cleanness> {
    let (source, gpus) = x.host.gpus(u32::MAX)?;
    let now = clean::levels(&*source, &gpus);
    let levels = clean::lower(now, x.journal.history().gpu_levels());
    Some(Cleanness::new(source, levels))
}

/// Waits until the GPUs of a configuration are clean. `None`: they are, or it asks for none.
async fn wait_for_gpus(
    clean: Option<&mut Cleanness>,
    gpus: &[Gpu],
    signals: &Signals,
    listener: &mut dyn Listener,
) -> Result<Option<LaunchEnd>, RunError> {
    let Some(clean) = clean.filter(|_| !gpus.is_empty()) else { return Ok(None) };
    let tell = |held: &[Held]| {
        listener.hear(&Event::GpuWait { held: held.iter().map(ToString::to_string).collect() });
    };
    Ok(match clean.wait(gpus, &signals.first, tell).await? {
        Waited::Clean => None,
        Waited::Interrupted => Some(LaunchEnd::Interrupted),
        Waited::Held(held) => Some(LaunchEnd::Held(held)),
    })
}

fn open(
    x: &mut Execution<'_>,
    walk: &Walk,
    clean: Option<&Cleanness>,
    listener: &mut dyn Listener,
) -> Result<(), RunError> {
    let host = x.host.shown();
    let scripted = x.host.script().map(Path::display).map(|s| s.to_string());
    if let Some(script) = &scripted {
        let text =
            format!("the GPUs are played by the script {script}: nothing here is measured on a real one");
        listener.hear(&Event::Warning { text });
    }
    let engine = walk.baseline.as_ref().is_some_and(|(c, _)| c.engine.simulated());
    let simulated = engine || scripted.is_some();
    x.journal.append(Kind::Session {
        perflab: env!("CARGO_PKG_VERSION").to_owned(),
        file: x.file.to_owned(),
        file_hash: x.file_hash.clone(),
        pid: std::process::id(),
        set: x.program.given.clone(),
        site: x.program.site.as_ref().map(|s| s.name.clone()),
        price_per_s: x.program.site.as_ref().and_then(|s| s.price_per_s),
        simulated,
        host,
        gpu_levels: clean.into_iter().flat_map(Cleanness::levels).map(|(u, l)| (u.clone(), *l)).collect(),
        machine: Some(provenance::machine()),
    })?;
    let dropped = surroundings::dropped(&x.site);
    if !dropped.is_empty() {
        let text = format!(
            "not passed on to engines: {}; state in the site's or the study's `env` what they need",
            dropped.join(", ")
        );
        listener.hear(&Event::Warning { text });
    }
    listener.hear(&Event::Study {
        study: x.study.title.clone(),
        simulated,
        measured: x.journal.history().launches().len(),
        remaining: remaining(walk, x.study),
        steps: x.study.steps.len(),
    });
    Ok(())
}

fn say_step(study: &Study, wanted: &Wanted, shown: &mut Option<usize>, listener: &mut dyn Listener) {
    let index = if wanted.confirming { study.steps.len() + 1 } else { wanted.step.map_or(0, |i| i + 1) };
    if *shown == Some(index) {
        return;
    }
    *shown = Some(index);
    let title = match index {
        0 => "Baseline".to_owned(),
        i => study.steps.get(i - 1).map_or_else(|| "Other profiles".to_owned(), |s| s.title.clone()),
    };
    listener.hear(&Event::Step { index, title });
}

/// Launches that may still come, at most: what is known to be missing, and the confirming ones.
pub fn remaining(walk: &Walk, study: &Study) -> usize {
    let confirming = if study.confirm.is_empty() || study.objective.is_none() { 0 } else { 2 };
    // those of `confirm` are counted as needs once they are known
    let already = walk.needs.iter().any(|n| n.confirming);
    let known: usize = walk.needs.iter().map(|n| n.missing).sum();
    let later = if already || walk.needs.is_empty() { 0 } else { confirming + offers(walk, study) };
    known + later * repeats(study)
}

/// Candidates that may still be offered, and are then measured on the profiles of `require … on`.
fn offers(walk: &Walk, study: &Study) -> usize {
    if study.objective.is_none() || study.require.iter().all(|r| r.on.is_none()) {
        return 0;
    }
    let open = walk.needs.first().and_then(|n| n.step).unwrap_or(0);
    let rows = walk.steps.iter().skip(open).flat_map(|s| &s.rows);
    rows.filter(|r| r.role == Role::Candidate && r.judged.outcome == Outcome::Missing && r.same_as.is_none())
        .count()
}

fn repeats(study: &Study) -> usize {
    match study.repeat {
        Repeat::Auto => 1,
        Repeat::Times(n) => n as usize,
    }
}

/// Writes down that the machine failed, and waits before the launch is made again.
async fn set_back(
    x: &mut Execution<'_>,
    failure: &Failure,
    retry: Retry,
    listener: &mut dyn Listener,
) -> Result<(), RunError> {
    let launch = x.journal.history().launches().last().map(|l| l.id.clone()).unwrap_or_default();
    let (class, line) = (failure.class.clone(), failure.line.clone());
    x.journal.append(Kind::Setback { launch: launch.clone(), class, line })?;
    let reason = format!("{}: {}", failure.class, failure.line);
    listener.hear(&Event::Setback {
        launch,
        reason,
        retry: retry.n,
        of: retry.of,
        pause_s: retry.pause.as_secs_f64(),
    });
    tokio::select! {
        () = x.signals.first.cancelled() => {}
        () = tokio::time::sleep(retry.pause) => {}
    }
    Ok(())
}

/// What is launched, and whether a failure of the machine would be its last.
#[derive(Clone, Copy)]
struct Launched<'a> {
    wanted: &'a Wanted,
    last_try: bool,
}

async fn one_launch(
    x: &mut Execution<'_>,
    setup: &Setup<'_>,
    walk: &Walk,
    Launched { wanted, last_try }: Launched<'_>,
    mut clean: Option<&mut Cleanness>,
    last_end: &mut f64,
    listener: &mut dyn Listener,
) -> Result<LaunchEnd, RunError> {
    let config = &wanted.config;
    let waiting = Instant::now();
    let gpus = gpus_of(x, config);
    if let Some(not_clean) = wait_for_gpus(clean.as_deref_mut(), &gpus, &x.signals, listener).await? {
        return Ok(not_clean);
    }
    let before = waiting.elapsed();
    let number = x.journal.history().launches().len() + 1;
    let launch = format!("L{number:03}");
    let nonce = format!("{}{launch}", x.mark());
    let loads = orders(setup, wanted, &x.study_dir, model_at(x, config).as_deref())?;
    let trial = trial_id(setup, config, wanted.profiles.first().map_or("", String::as_str));
    let dir = x.dir.join("trials").join(trial).join(&launch);
    begin(x, setup, walk, wanted, (&launch, &nonce), listener)?;
    let ruler = ruler(setup, walk, wanted);
    let host_id = x.host.id();
    let conditions = made(x, setup, wanted);
    let held = launch_gpus(x, clean.as_deref(), &gpus, config, &nonce).await;
    let journal = Mutex::new(&mut x.journal);
    let append = |kind| journal.lock().unwrap_or_else(PoisonError::into_inner).append(kind);
    let on_ready = |after_s: f64, says: &Says| {
        append(Kind::Ready { launch: launch.clone(), after_s, says: says.clone() })
    };
    let crew = Crew {
        launch: &launch,
        config,
        place: Place {
            study_dir: &x.study_dir,
            launch_dir: dir,
            env: x.host.variables(config.gpus()),
            site: &x.site,
            nonce: nonce.clone(),
            device: x.host.device(),
            images: &x.images,
            models: &x.models,
            confirming: wanted.confirming,
        },
        lock: &x.lock,
        signals: &x.signals,
        ruler: &*ruler,
        gpus: held,
        last_try,
        on_ready: &on_ready,
    };
    let energy_before = energy_j(&crew).await;
    let began = Instant::now();
    let mut times = LaunchTimes::default();
    let images = x.images.clone();
    let mut keep = |r: LoadResult| {
        let order = &loads[r.index];
        let run = Run {
            n: order.n,
            launch: launch.clone(),
            outcome: r.outcome,
            metrics: r.metrics,
            notes: r.notes,
            devices: r.devices,
            confirming: wanted.confirming,
            log_tail: r.tail,
        };
        append(Kind::Run {
            launch: launch.clone(),
            config_id: config.id().to_owned(),
            profile: order.profile.clone(),
            profile_id: order.profile_id.clone(),
            serve_id: serve_id(&config.engine, &images),
            host_id: host_id.clone(),
            infrastructure: r.infrastructure,
            run,
            made: conditions.get(r.index).cloned().map(Box::new),
            seed: Some(order.spec.seed),
        })
    };
    let mut ended = carry_out(&crew, &loads, listener, &mut keep, &mut times).await?;
    let energy_after = energy_j(&crew).await;
    times.energy_j =
        energy_after.zip(energy_before).map(|(after, before)| after - before).filter(|j| *j >= 0.0);
    let waiting = Instant::now();
    if matches!(ended, LaunchEnd::Done)
        && let Some(not_clean) = wait_for_gpus(clean, &gpus, &x.signals, listener).await?
    {
        ended = not_clean;
    }
    times.drain_s = (before + waiting.elapsed()).as_secs_f64();
    drop(crew);
    let now = x.journal.elapsed_s();
    times.own_s = (now - *last_end - times.engine_s() - times.drain_s).max(0.0);
    *last_end = now;
    x.journal.append(Kind::Gone { launch: launch.clone(), times, gpus: x.host.held(config.gpus()) })?;
    listener.hear(&Event::LaunchEnds { launch, took_s: began.elapsed().as_secs_f64() });
    Ok(ended)
}

/// The GPUs that a launch of the configuration takes; a server that runs already has its own.
fn gpus_of(x: &Execution<'_>, config: &Config) -> Vec<Gpu> {
    let managed = !matches!(config.engine.via, Via::Url(_));
    x.host.gpus(config.gpus()).filter(|_| managed).map(|(_, gpus)| gpus).unwrap_or_default()
}

async fn energy_j(crew: &Crew<'_>) -> Option<f64> {
    crew.gpus.as_ref()?.energy_j().await
}

async fn launch_gpus(
    x: &Execution<'_>,
    clean: Option<&Cleanness>,
    gpus: &[Gpu],
    config: &Config,
    nonce: &str,
) -> Option<LaunchGpus> {
    let (source, _) = x.host.gpus(0).filter(|_| !gpus.is_empty())?;
    let levels = clean.map(|c| c.levels().clone()).unwrap_or_default();
    let contained = matches!(config.engine.via, Via::Container(_));
    Some(LaunchGpus::new(source, gpus.to_vec(), levels, nonce.to_owned(), contained).await)
}

/// Where the model's own files lie, its tokenizer among them.
fn model_at(x: &Execution<'_>, config: &Config) -> Option<PathBuf> {
    let stated = x.site.models.get(&config.model).map(PathBuf::from);
    stated.or_else(|| x.models.get(&config.model).map(|m| m.dir.clone()))
}

/// Writes down that a launch begins, and says so.
fn begin(
    x: &mut Execution<'_>,
    setup: &Setup<'_>,
    walk: &Walk,
    wanted: &Wanted,
    (launch, nonce): (&str, &str),
    listener: &mut dyn Listener,
) -> Result<(), JournalError> {
    let config = &wanted.config;
    x.journal.append(Kind::Launch {
        launch: launch.to_owned(),
        config_id: config.id().to_owned(),
        config: config.normal(),
        profiles: wanted.profiles.clone(),
        label: wanted.label.clone(),
        nonce: nonce.to_owned(),
        command: command::to_copy(config).argv,
        env: variables(x, config),
        container: contained(x, &config.engine),
        model_files: x.models.get(&config.model).map(|m| m.identity.clone()),
    })?;
    let of = wanted.done + wanted.missing;
    let turn = if of > 1 { format!(" ({} of {of})", wanted.done + 1) } else { String::new() };
    listener.hear(&Event::LaunchBegins {
        launch: launch.to_owned(),
        label: format!("{}{turn}", wanted.label),
        command: command::to_copy(config).argv.join(" "),
        remaining: remaining(walk, x.study),
        left_s: left_s(x, setup, walk),
    });
    Ok(())
}

/// What each load of a launch is made under.
fn made(x: &Execution<'_>, setup: &Setup<'_>, wanted: &Wanted) -> Vec<Conditions> {
    let standing = x.standing();
    let profiles = wanted.profiles.iter().filter_map(|name| setup.program.profiles.get(name));
    profiles.map(|p| standing.conditions(&wanted.config, p)).collect()
}

/// The variables that a launch is given, as they may be written down.
fn variables(x: &Execution<'_>, config: &Config) -> IndexMap<String, String> {
    let site = x.site.env.iter().map(|e| (e.name.clone(), e.value.clone()));
    let own = config.env().iter().map(|e| (e.name.clone(), e.value.clone()));
    let gpus = x.host.variables(config.gpus());
    let all: Vec<(String, String)> = site.chain(own).chain(gpus).collect();
    provenance::masked_variables(all.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

fn orders(
    setup: &Setup<'_>,
    wanted: &Wanted,
    study_dir: &Path,
    at: Option<&Path>,
) -> Result<Vec<LoadOrder>, OrderError> {
    let mut out = Vec::new();
    for name in &wanted.profiles {
        let p = setup.program.profiles.get(name).ok_or_else(|| OrderError::Profile(name.clone()))?;
        let n = setup.all(&wanted.config, name).len() as u32 + 1;
        let mut order = load_order(p, &wanted.config, n, setup.place(name), study_dir, at)?;
        // rules are about the objective's profiles, and settled by the first run
        if n == 1 && !wanted.confirming && setup.profiles().contains(name) {
            order.spec.checkpoints = setup.study.prune.iter().filter_map(|r| r.after).collect();
        }
        out.push(order);
    }
    Ok(out)
}

/// The rules that end a load early. The baseline is never pruned.
fn ruler<'a>(setup: &'a Setup<'a>, walk: &'a Walk, wanted: &'a Wanted) -> Box<Ruler<'a>> {
    let config = &wanted.config;
    let baseline = walk.baseline.as_ref().map(|(c, _)| c);
    let is_baseline = baseline.is_some_and(|b| b.id() == config.id());
    // a track compares with its own incumbent
    let best = wanted.step.and_then(|i| walk.steps.get(i)).map(|s| &s.incumbent_before).or(baseline);
    Box::new(move |profile: &str, done: u64, so_far: &Metrics| {
        if is_baseline {
            return None;
        }
        trial::rule_that_ends(setup, config, profile, done, so_far, best, baseline)
    })
}
