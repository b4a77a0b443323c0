//! One launch: start, one load after another, stop; what it measured and where its time went.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::clean::Held;
use super::devices::{LaunchGpus, Sampled, Sampling};
use super::event::{Event, Listener, Phase};
use super::measured;
use super::order::{LoadOrder, OrderError, Place, failure_patterns, launch_spec};
use super::signals::Signals;
use super::target::Target;
use crate::engine::{self, Server, StartError, Survivor};
use crate::journal::{LaunchTimes, Lock};
use crate::judge::checks::CLIENT_LAG_REFUSED_MS;
use crate::judge::{Devices, Metrics, RunOutcome};
use crate::lang::sema::program::{Reset, Via};
use crate::load::{self, Ended, LoadOutcome, RequestRecord, Summary, Verdict};
use crate::plan::Config;
use crate::secrets;

/// A port that someone takes between our look and the engine's bind is tried again, on another one.
const ATTEMPTS: usize = 3;
/// A load is run at most so often while the client cannot keep up.
const LOADS: usize = 3;
const RESET_WITHIN: Duration = Duration::from_secs(30);

/// Decides, after so many requests, whether a rule ends the load: profile, metrics so far → the rule's name.
pub type Ruler<'a> = dyn Fn(&str, u64, &Metrics) -> Option<String> + Send + Sync + 'a;

/// What carrying out a launch needs beside its loads.
pub struct Crew<'a> {
    pub launch: &'a str,
    pub config: &'a Config,
    pub place: Place<'a>,
    pub lock: &'a Lock,
    pub signals: &'a Signals,
    pub ruler: &'a Ruler<'a>,
    /// `None` where it asks for none
    pub gpus: Option<LaunchGpus>,
}

/// One load's result, for the journal.
pub struct LoadResult {
    pub index: usize,
    pub outcome: RunOutcome,
    pub metrics: Metrics,
    pub notes: Vec<String>,
    pub devices: Option<Devices>,
}

/// How a launch ended.
pub enum LaunchEnd {
    /// all of its loads have a result
    Done,
    /// a signal ended it; loads without a result are to be run again
    Interrupted,
    /// something of it is still there: nothing may start on this machine
    Unclean(Vec<Survivor>),
    /// its GPUs hold more than before the study, and go on holding it
    Held(Vec<Held>),
}

/// Carries a launch out. Each load's result is handed to `keep` as soon as it is there.
pub async fn carry_out(
    crew: &Crew<'_>,
    loads: &[LoadOrder],
    listener: &mut dyn Listener,
    keep: &mut (dyn FnMut(LoadResult) -> Result<(), crate::journal::JournalError> + Send),
    times: &mut LaunchTimes,
) -> Result<LaunchEnd, super::RunError> {
    if let Via::Url(url) = &crew.config.engine.via {
        return carry_out_elsewhere(crew, url, loads, listener, keep, times).await;
    }
    let began = Instant::now();
    let started = start(crew, listener).await?;
    times.start_s = began.elapsed().as_secs_f64();
    let server = match started {
        Ok(server) => server,
        Err(StartError::Cancelled) => return Ok(LaunchEnd::Interrupted),
        // a full disk or a lost network device says nothing about the candidate
        Err(StartError::Impossible(why)) => return Err(super::RunError::Machine(why)),
        Err(error) => {
            gpus_answer(crew).await?;
            listener.hear(&Event::LaunchFails { launch: crew.launch.to_owned(), reason: error.to_string() });
            for index in 0..loads.len() {
                let outcome = failed_start(&error);
                let (metrics, notes) = (Metrics::default(), tail(&error));
                keep(LoadResult { index, outcome, metrics, notes, devices: None })?;
            }
            return Ok(LaunchEnd::Done);
        }
    };
    listener.hear(&Event::LaunchReady { launch: crew.launch.to_owned(), after_s: times.start_s });
    let target = Target::managed(&server, crew.config, crew.place.lies_at(crew.config).as_deref()).await;
    let whole = all_loads(crew, loads, &target, listener, keep, times).await;
    let stopping = Instant::now();
    let report = stop(crew, server).await;
    times.stop_s = stopping.elapsed().as_secs_f64();
    if !report.survivors.is_empty() {
        return Ok(LaunchEnd::Unclean(report.survivors));
    }
    Ok(if whole? { LaunchEnd::Done } else { LaunchEnd::Interrupted })
}

/// The loads alone: a server that the site says runs already is neither started nor stopped.
async fn carry_out_elsewhere(
    crew: &Crew<'_>,
    url: &str,
    loads: &[LoadOrder],
    listener: &mut dyn Listener,
    keep: &mut (dyn FnMut(LoadResult) -> Result<(), crate::journal::JournalError> + Send),
    times: &mut LaunchTimes,
) -> Result<LaunchEnd, super::RunError> {
    let target = match Target::elsewhere(url, crew.config, &crew.signals.first).await {
        Ok(target) => target,
        Err(_) if crew.signals.first.is_cancelled() => return Ok(LaunchEnd::Interrupted),
        // nobody started it here: that it is away says nothing about the candidate
        Err(why) => return Err(super::RunError::Away(why)),
    };
    fs::create_dir_all(&crew.place.launch_dir)
        .map_err(|e| super::RunError::Machine(format!("{}: {e}", crew.place.launch_dir.display())))?;
    listener.hear(&Event::LaunchReady { launch: crew.launch.to_owned(), after_s: 0.0 });
    reset(crew, &target, listener).await;
    let whole = all_loads(crew, loads, &target, listener, keep, times).await?;
    Ok(if whole { LaunchEnd::Done } else { LaunchEnd::Interrupted })
}

async fn start(
    crew: &Crew<'_>,
    listener: &mut dyn Listener,
) -> Result<Result<Server, StartError>, OrderError> {
    let mut attempt = 1;
    loop {
        let mut spec = launch_spec(crew.config, &crew.place)?;
        spec.keep_fd = Some(crew.lock.share().map_err(OrderError::Lock)?);
        let started = engine::start(spec, &crew.signals.first, |_| {}).await;
        match started {
            Err(error) if attempt < ATTEMPTS && port_was_taken(&error) => {
                let text = format!("{error}; trying another port");
                listener.hear(&Event::Warning { text });
                attempt += 1;
            }
            other => return Ok(other),
        }
    }
}

fn port_was_taken(error: &StartError) -> bool {
    match error {
        StartError::PortTaken { .. } | StartError::Stranger { .. } => true,
        StartError::Exited { failure: Some(f), .. } => f.class == "port in use",
        _ => false,
    }
}

/// The reason in the words of the failure's class, and the log line that matters.
fn failed_start(error: &StartError) -> RunOutcome {
    let (class, line) = match error {
        StartError::NotFound { name, .. } => {
            ("engine not found".to_owned(), format!("there is no program `{name}`"))
        }
        StartError::Exited { failure: Some(f), .. } | StartError::NeverReady { failure: Some(f), .. } => {
            (f.class.clone(), f.line.clone())
        }
        StartError::Exited { exit, line, .. } => (exit.to_string(), line.clone().unwrap_or_default()),
        StartError::NeverReady { last_line, .. } => {
            ("never ready".to_owned(), last_line.clone().unwrap_or_default())
        }
        StartError::PortTaken { .. } | StartError::Stranger { .. } => {
            ("port in use".to_owned(), error.to_string())
        }
        // both are handled before
        StartError::Impossible(_) | StartError::Cancelled => (String::new(), error.to_string()),
    };
    RunOutcome::FailedStart { class, line: without_prefix(&line).to_owned() }
}

/// A log line without what loggers put before their message: process, level, date, time, module. Line numbers and times would make
/// equal failures look different.
fn without_prefix(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let word = rest.split_whitespace().next().unwrap_or_default();
        let bracketed = word.starts_with(['[', '(']);
        let level = matches!(
            word.trim_end_matches(':'),
            "ERROR" | "CRITICAL" | "WARNING" | "INFO" | "FATAL" | "E" | "W" | "I"
        );
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let stamp = digits >= 4 && word.chars().all(|c| c.is_ascii_digit() || "-:.,/TZ".contains(c));
        if bracketed {
            let close = if word.starts_with('[') { ']' } else { ')' };
            let Some(end) = rest.find(close).filter(|e| e + 1 < rest.len()) else { return rest };
            rest = rest[end + 1..].trim_start();
        } else if (level || stamp) && word.len() < rest.len() {
            rest = rest[word.len()..].trim_start();
        } else {
            return rest;
        }
    }
}

fn tail(error: &StartError) -> Vec<String> {
    match error {
        StartError::Exited { tail, .. } => tail.clone(),
        _ => Vec::new(),
    }
}

async fn stop(crew: &Crew<'_>, server: Server) -> engine::StopReport {
    if crew.signals.second.is_cancelled() {
        return server.kill().await;
    }
    let patience = crew.signals.second.clone();
    let pids = server.pids();
    let stopping = server.stop();
    tokio::pin!(stopping);
    tokio::select! {
        report = &mut stopping => return report,
        () = patience.cancelled() => {}
    }
    // the guard's children are ours to kill: the guard itself reports when they are gone
    for pid in pids {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
    stopping.await
}

/// Runs the loads; false if a signal ended them.
async fn all_loads(
    crew: &Crew<'_>,
    loads: &[LoadOrder],
    target: &Target<'_>,
    listener: &mut dyn Listener,
    keep: &mut (dyn FnMut(LoadResult) -> Result<(), crate::journal::JournalError> + Send),
    times: &mut LaunchTimes,
) -> Result<bool, super::RunError> {
    let dead = CancellationToken::new();
    let died = target.died();
    let watch = {
        let dead = dead.clone();
        tokio::spawn(async move {
            died.await;
            dead.cancel();
        })
    };
    let mut whole = true;
    for (index, order) in loads.iter().enumerate() {
        if index > 0 {
            reset(crew, target, listener).await;
        }
        let Loaded { outcome, rule, sampled } =
            match one_load(crew, order, target, listener, &dead, times).await {
                Ok(done) => done,
                Err(error) => {
                    let outcome = RunOutcome::FailedLoad {
                        class: "the load cannot be made".to_owned(),
                        line: error.to_string(),
                    };
                    let metrics = Metrics::default();
                    keep(LoadResult { index, outcome, metrics, notes: Vec::new(), devices: None })?;
                    continue;
                }
            };
        // whatever happened on a GPU that is lost says nothing about the candidate
        if let Some(lost) = sampled.lost {
            return Err(super::RunError::GpuLost(lost));
        }
        if outcome.ended == Ended::Cancelled {
            whole = false;
            break;
        }
        let mut result = load_result(index, &outcome, rule, crew, target);
        sampled.measure(&mut result.metrics);
        write_samples(crew, &order.profile, &sampled, listener);
        result.devices = sampled.devices;
        let simulated = crew.config.engine.simulated();
        write_records(&crew.place.launch_dir, &order.profile, simulated, &outcome.records, listener);
        let said = match &result.outcome {
            RunOutcome::Done => {
                format!("{} of {} requests", outcome.summary.completed, outcome.summary.planned)
            }
            RunOutcome::Stopped { rule } => format!("stopped by rule {rule}"),
            RunOutcome::FailedLoad { class, .. } | RunOutcome::FailedStart { class, .. } => class.clone(),
        };
        keep(result)?;
        listener.hear(&Event::LoadEnds {
            launch: crew.launch.to_owned(),
            profile: order.profile.clone(),
            outcome: said,
            objective: Some(outcome.summary.total_tps).filter(|t| t.is_finite()),
        });
    }
    watch.abort();
    Ok(whole)
}

/// A load that is over, the rule that ended it, and what the GPUs did.
struct Loaded {
    outcome: LoadOutcome,
    rule: Option<String>,
    sampled: Sampled,
}

/// One load. A load in which this machine kept the client from its work says nothing about the engine:
/// it is repeated, with prompts of its own, a few times.
async fn one_load(
    crew: &Crew<'_>,
    order: &LoadOrder,
    target: &Target<'_>,
    listener: &mut dyn Listener,
    dead: &CancellationToken,
    times: &mut LaunchTimes,
) -> Result<Loaded, load::LoadError> {
    let mut spec = order.spec.clone();
    spec.base_url.clone_from(&target.base_url);
    if let Some(model) = &target.model {
        spec.model.clone_from(model);
    }
    let mut attempt = 1;
    loop {
        let sampling = crew.gpus.as_ref().map(|g| g.sample(dead.clone()));
        let mut observer = Watcher::new(crew, order, target.startup_s(), listener);
        observer.sampling = sampling.as_ref();
        let outcome = load::run(&spec, &mut observer, &crew.signals.first, dead).await;
        let rule = observer.rule.take();
        let sampled = match sampling {
            Some(sampling) => sampling.end().await,
            None => Sampled::default(),
        };
        let outcome = outcome?;
        times.warmup_s += outcome.warmup.seconds;
        times.load_s += outcome.load_s;
        let lag = outcome.summary.client.loop_lag_p99_ms.unwrap_or(0.0);
        if outcome.ended != Ended::Whole || lag <= CLIENT_LAG_REFUSED_MS || attempt == LOADS {
            return Ok(Loaded { outcome, rule, sampled });
        }
        let text = format!(
            "{}: this machine held the client up for {lag:.0} ms (p99); the load is repeated",
            crew.launch
        );
        listener.hear(&Event::Warning { text });
        reset(crew, target, listener).await;
        attempt += 1;
        spec.seed = spec.seed.wrapping_add(1);
    }
}

fn load_result(
    index: usize,
    outcome: &LoadOutcome,
    rule: Option<String>,
    crew: &Crew<'_>,
    target: &Target<'_>,
) -> LoadResult {
    let mut notes = target.notes.clone();
    notes.extend(outcome.findings.iter().map(ToString::to_string));
    let metrics = measured::metrics(&outcome.summary, &outcome.records, target.startup_s());
    let kind = match (outcome.ended, rule) {
        (Ended::ServerDied, _) => died_under_load(crew, target),
        (Ended::NothingSucceeded, _) | (Ended::Whole, None) if nothing_succeeded(outcome) => {
            let first = outcome.records.iter().find_map(|r| match &r.outcome {
                load::Outcome::Failed(f) => Some(f.message.clone()),
                _ => None,
            });
            RunOutcome::FailedLoad {
                class: "no request succeeded".to_owned(),
                line: first.unwrap_or_default(),
            }
        }
        (_, Some(rule)) => RunOutcome::Stopped { rule },
        _ => RunOutcome::Done,
    };
    LoadResult { index, outcome: kind, metrics, notes, devices: None }
}

/// A load that ends before it is known to be hopeless can be just that.
fn nothing_succeeded(outcome: &LoadOutcome) -> bool {
    let failed = |r: &RequestRecord| matches!(r.outcome, load::Outcome::Failed(_));
    outcome.ended == Ended::NothingSucceeded
        || (!outcome.records.is_empty() && outcome.records.iter().all(failed))
}

/// What the log says about a server that died under load.
fn died_under_load(crew: &Crew<'_>, target: &Target<'_>) -> RunOutcome {
    let log = target.log().and_then(|l| fs::read(l).ok()).unwrap_or_default();
    let patterns = failure_patterns(crew.config);
    if let Some(f) = engine::failure::classify(&String::from_utf8_lossy(&log), &patterns) {
        return RunOutcome::FailedLoad { class: f.class, line: f.line };
    }
    let how = target.exit().map_or_else(String::new, |exit| format!(", {exit}"));
    RunOutcome::FailedLoad { class: format!("the engine died{how}"), line: String::new() }
}

/// Empties the prefix cache between two loads of one launch, where the engine says how.
async fn reset(crew: &Crew<'_>, target: &Target<'_>, listener: &mut dyn Listener) {
    let Some(Reset { post, path }) = &crew.config.engine.reset else { return };
    let client = reqwest::Client::builder().no_proxy().timeout(RESET_WITHIN).build();
    let Ok(client) = client else { return };
    let url = format!("{}{path}", target.base_url);
    let request = if *post { client.post(&url) } else { client.get(&url) };
    let answer = request.send().await;
    let trouble = match answer {
        Ok(a) if a.status().is_success() => return,
        Ok(a) => format!("HTTP {}", a.status().as_u16()),
        Err(e) => e.to_string(),
    };
    let text = format!("{}: the prefix cache was not reset between loads ({trouble})", crew.launch);
    listener.hear(&Event::Warning { text });
}

/// The raw records lie beside the log; they are for people and no decision reads them. Their name says if they are simulated.
fn write_records(
    dir: &Path,
    profile: &str,
    simulated: bool,
    records: &[RequestRecord],
    listener: &mut dyn Listener,
) {
    let simulated = if simulated { "simulated." } else { "" };
    let path = dir.join(format!("{profile}.{simulated}requests.jsonl"));
    let write = || -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(fs::File::create(&path)?);
        for record in records {
            // a server's error may quote what it was sent
            let line = secrets::mask_json(serde_json::to_vec(&record.without_chunks())?);
            file.write_all(&line)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    };
    if let Err(e) = write() {
        let text = format!("{}: the request records cannot be written ({e})", path.display());
        listener.hear(&Event::Warning { text });
    }
}

/// An engine that failed on a GPU that is lost failed for no reason of its own.
async fn gpus_answer(crew: &Crew<'_>) -> Result<(), super::RunError> {
    let Some(gpus) = &crew.gpus else { return Ok(()) };
    let lost = gpus.lost().await;
    lost.map_or(Ok(()), |error| Err(super::RunError::GpuLost(error.to_string())))
}

/// The samples lie beside the request records, and their name says as much as theirs.
fn write_samples(crew: &Crew<'_>, profile: &str, sampled: &Sampled, listener: &mut dyn Listener) {
    let simulated = if crew.config.engine.simulated() { "simulated." } else { "" };
    let scripted = if sampled.devices.as_ref().is_some_and(|d| d.scripted) { "scripted." } else { "" };
    let path = crew.place.launch_dir.join(format!("{profile}.{simulated}{scripted}gpus.jsonl"));
    if let Err(e) = sampled.write(&path) {
        let text = format!("{}: the GPU samples cannot be written ({e})", path.display());
        listener.hear(&Event::Warning { text });
    }
}

/// Passes a load's progress on and asks the rules at its checkpoints.
struct Watcher<'a, 'l> {
    launch: &'a str,
    profile: &'a str,
    startup_s: Option<f64>,
    ruler: &'a Ruler<'a>,
    listener: &'l mut dyn Listener,
    rule: Option<String>,
    sampling: Option<&'l Sampling>,
}

impl<'a, 'l> Watcher<'a, 'l> {
    fn new(
        crew: &Crew<'a>,
        order: &'a LoadOrder,
        startup_s: Option<f64>,
        listener: &'l mut dyn Listener,
    ) -> Self {
        let (launch, ruler) = (crew.launch, crew.ruler);
        Self { launch, profile: &order.profile, startup_s, ruler, listener, rule: None, sampling: None }
    }

    fn say(&mut self, phase: Phase) {
        let event = Event::Phase { launch: self.launch.to_owned(), profile: self.profile.to_owned(), phase };
        self.listener.hear(&event);
    }
}

impl load::Observer for Watcher<'_, '_> {
    fn phase(&mut self, phase: load::Phase) {
        match phase {
            load::Phase::Preparing => self.say(Phase::Preparing),
            load::Phase::WarmupBegun => self.say(Phase::Warmup),
            load::Phase::WarmupDone { .. } => {}
            load::Phase::LoadBegun { .. } => {
                if let Some(sampling) = self.sampling {
                    sampling.load_begins();
                }
                self.say(Phase::Load);
            }
        }
    }

    fn progress(&mut self, p: load::Progress) {
        self.listener.hear(&Event::Load {
            launch: self.launch.to_owned(),
            profile: self.profile.to_owned(),
            done: p.done,
            failed: p.failed,
            planned: p.planned,
            elapsed_s: p.elapsed.as_secs_f64(),
        });
    }

    fn checkpoint(&mut self, done: u64, so_far: &Summary, records: &[RequestRecord]) -> Verdict {
        let metrics = measured::metrics(so_far, records, self.startup_s);
        self.rule = (self.ruler)(self.profile, done, &metrics);
        if self.rule.is_some() { Verdict::Stop } else { Verdict::Continue }
    }
}

#[cfg(test)]
mod tests {
    use super::without_prefix;

    #[test]
    fn loggers_prefixes_are_no_reasons() {
        let line = "(EngineCore pid=12) ERROR 11-21 10:43:02 [core.py:946] ValueError: No available memory";
        assert_eq!(without_prefix(line), "ValueError: No available memory");
        assert_eq!(without_prefix("[2026-01-01 10:00:00] sglang died"), "sglang died");
        assert_eq!(without_prefix("error: invalid argument: --x"), "error: invalid argument: --x");
        assert_eq!(without_prefix("0.00.271.898 E llama_init: no"), "llama_init: no");
        assert_eq!(without_prefix("[Errno 98]"), "[Errno 98]");
    }
}
