//! The loads of a launch, one after another on one server: each ends in a result, or in what kept it from one.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::devices::{Sampled, Sampling};
use super::event::{Event, Listener, Phase};
use super::hits::{Counters, Hits};
use super::launch::{Crew, LoadResult, Ruler};
use super::order::LoadOrder;
use super::pulse::Pulse;
use super::reset::{self, Emptied};
use super::target::Target;
use super::unmet::Unmet;
use super::{elsewhere, key, measured, records, served, stages, taken, undone, vanished};
use crate::engine::Failure;
use crate::engine::failure::LOAD_NOT_MADE;
use crate::engine::lifecycle::Happening;
use crate::journal::{JournalError, LaunchTimes};
use crate::judge::checks::held_up;
use crate::judge::{Metrics, RunOutcome};
use crate::judge::{machine, prefix};
use crate::load::{self, Ended, Header, LoadOutcome, RequestRecord, Sent, Summary, Verdict};

/// A load is run at most so often while the client cannot keep up.
const LOADS: usize = 3;

/// Takes a result; it is on disk when this returns.
pub type Keep<'k> = dyn FnMut(LoadResult) -> Result<(), JournalError> + 'k;

/// How a launch's loads ended.
pub enum Loaded {
    /// each has a result
    All,
    /// a signal ended them
    Interrupted,
    /// the machine's failure kept one, and those after it, from a result
    Setback(Failure),
    /// one had prompts that an earlier load had left in the cache: it, and those after it, are for a fresh launch
    Stale,
    /// a server that runs already does not answer after one: it, and those after it, are for when it does again
    Left(String),
}

/// Runs the loads of a launch and hands their results to `keep`.
pub async fn all_loads(
    crew: &Crew<'_>,
    loads: &[LoadOrder],
    target: &Target<'_>,
    listener: &mut dyn Listener,
    keep: &mut Keep<'_>,
    times: &mut LaunchTimes,
    mut emptied: Emptied,
) -> Result<Loaded, super::RunError> {
    let dead = CancellationToken::new();
    let died = target.died();
    let watch = {
        let dead = dead.clone();
        tokio::spawn(async move {
            died.await;
            dead.cancel();
        })
    };
    let (mut loaded, sent) = (Loaded::All, Sent::default());
    for (index, order) in loads.iter().enumerate() {
        // what ends an engine between two loads is told before the second one begins
        let log_before = target.log_length();
        if index > 0 {
            emptied = reset::again(crew, target, &order.spec, listener, &emptied).await;
        }
        let OneLoad { mut outcome, ruled, sampled, lost, hits, repeated } =
            match one_load(crew, (order, &sent), target, listener, &dead, times).await {
                Ok(done) => done,
                Err(error) => {
                    let failure = Failure::new(LOAD_NOT_MADE, error.to_string());
                    // a file that is away may be back
                    if error.may_pass() && !crew.last_try {
                        loaded = Loaded::Setback(failure);
                        break;
                    }
                    // every launch would load the same file
                    if error.is_of_all() {
                        return Err(super::RunError::Machine(error.to_string()));
                    }
                    keep(LoadResult::failed_load(index, failure, Vec::new()))?;
                    continue;
                }
            };
        let died = lost.is_none() && outcome.ended == Ended::ServerDied;
        let is_lost = died || lost.is_some();
        // whatever happened on a GPU that is lost says nothing about the candidate
        if let Some(lost) = sampled.lost {
            return Err(super::RunError::GpuLost(lost));
        }
        if died {
            target.note(Happening::LeaderEnded, |event| stages::pass_on(crew.launch, event, listener));
        }
        if outcome.ended == Ended::Cancelled {
            loaded = Loaded::Interrupted;
            break;
        }
        let mut tell = |text| listener.hear(&Event::Warning { text: format!("{}: {text}", crew.launch) });
        let waited = || target.waited_for(crew);
        if let Some(why) = served::telling(elsewhere::lost(&outcome, crew, target), waited, &mut tell).await {
            listener.hear(&Event::LaunchFails { launch: crew.launch.to_owned(), reason: why.clone() });
            loaded = Loaded::Left(why);
            break;
        }
        let lost = (lost, sampled.intruder.as_ref());
        let mut result = load_result(index, &outcome, ruled, lost, (crew, target), log_before).await;
        if let Some(why) = turned_away(target, &result) {
            return Err(Unmet::wrong(why).into());
        }
        result.notes.extend(emptied.note());
        if let Some(tokens) = hits {
            result.metrics.set("prefix_hit_tokens", tokens);
        }
        // what a first load hits is its own, and after the last try it is shown as what it is
        let stands = index == 0 && (!repeated || crew.last_try);
        if let Some(text) = stale(order, &result.metrics).filter(|_| !stands) {
            listener.hear(&Event::Warning { text: format!("{}: {text}", crew.launch) });
            // a first load was repeated because this machine held the client up: that is bounded
            loaded =
                if index == 0 { Loaded::Setback(Failure::new(machine::CLIENT, text)) } else { Loaded::Stale };
            break;
        }
        sampled.measure(&mut result.metrics);
        records::write_samples(crew, (&order.profile, target.simulated), &sampled, listener);
        result.devices = sampled.devices;
        let (simulated, raw) = (target.simulated, std::mem::take(&mut outcome.records));
        let dir = &crew.place.launch_dir;
        if let Some(failure) = result.setback().or_else(|| spoiled(crew, &result)).filter(|_| !crew.last_try)
        {
            records::keep(dir, &order.profile, simulated, raw, listener).await;
            loaded = Loaded::Setback(failure);
            break;
        }
        listener.hear(&Event::LoadEnds {
            launch: crew.launch.to_owned(),
            profile: order.profile.clone(),
            outcome: said(&result.outcome, &outcome),
            objective: Some(outcome.summary.total_tps).filter(|t| t.is_finite()),
        });
        let server_lost = is_lost.then(|| result.of_the_rest(&order.profile)).flatten();
        // kept with the result
        target.hear_lookups().await;
        keep(result)?;
        // the result first: these may be what fills a disk
        records::keep(dir, &order.profile, simulated, raw, listener).await;
        if let Some(failure) = server_lost {
            for rest in index + 1..loads.len() {
                keep(LoadResult::failed_load(rest, failure.clone(), Vec::new()))?;
            }
            break;
        }
    }
    watch.abort();
    Ok(loaded)
}

/// What the machine did to a load that went through, where another launch may find it well. A load that the client could not keep up with
/// has been repeated already.
fn spoiled(crew: &Crew<'_>, result: &LoadResult) -> Option<Failure> {
    let fault = machine::fault(&result.outcome, &result.metrics, result.devices.as_ref());
    fault
        .filter(|f| crew.strict && !f.lasting && f.check != machine::CLIENT)
        .map(|f| Failure::new(f.check, f.text))
}

fn said(result: &RunOutcome, outcome: &LoadOutcome) -> String {
    match result {
        RunOutcome::Done => {
            format!("{} of {} requests", outcome.summary.completed, outcome.summary.planned)
        }
        RunOutcome::Stopped { rule, .. } => format!("stopped by rule {rule}"),
        RunOutcome::FailedLoad { class, .. } | RunOutcome::FailedStart { class, .. } => class.clone(),
    }
}

/// What makes a load one for a fresh launch. A first load has nobody's prompts but its own, unless it was repeated: what it finds is for
/// the checks.
fn stale(order: &LoadOrder, metrics: &Metrics) -> Option<String> {
    if !order.alone {
        return None;
    }
    let prompts = &order.spec.prompts;
    let input = (*prompts.input.start(), *prompts.input.end());
    let share = prefix::unplanned_share_of(metrics, input, prompts.tokenizer.is_some())?;
    (share > prefix::TOLERATED).then(|| {
        let percent = share * 100.0;
        format!(
            "{percent:.1} % of the prompt tokens of {} came from what earlier loads had left in the prefix cache; \
             it is repeated in a fresh launch",
            order.profile
        )
    })
}

/// A load that is over, its outcome where a rule ended it, what the GPUs did, why it was given up, and its prompts' tokens from the cache.
struct OneLoad {
    outcome: LoadOutcome,
    ruled: Option<RunOutcome>,
    sampled: Sampled,
    lost: Option<Failure>,
    hits: Option<f64>,
    /// it was made before in this launch, and what it sent then may be in the cache
    repeated: bool,
}

/// One load. A load in which this machine kept the client from its work says nothing about the engine:
/// it is repeated, with prompts of its own, a few times.
async fn one_load(
    crew: &Crew<'_>,
    (order, sent): (&LoadOrder, &Sent),
    target: &Target<'_>,
    listener: &mut dyn Listener,
    dead: &CancellationToken,
    times: &mut LaunchTimes,
) -> Result<OneLoad, load::LoadError> {
    let mut spec = order.spec.clone();
    spec.sent = sent.clone();
    spec.base_url.clone_from(&target.base_url);
    if let Some(model) = &target.model {
        spec.model.clone_from(model);
    }
    spec.metrics = crew.config.engine.metrics.as_deref().map(str::to_owned);
    spec.headers.extend(target.key.as_ref().map(|key| Header::authorization(key.authorization())));
    let counters = Counters::of(crew.config, target);
    let mut attempt = 1;
    loop {
        let sampling = crew.gpus.as_ref().map(|g| g.sample(dead.clone()));
        let mut observer = Watcher::new(crew, order, target, listener);
        observer.counters = counters.as_ref();
        observer.sampling = sampling.as_ref();
        let pulse = observer.pulse.clone();
        let run = load::run(&spec, &mut observer, &crew.signals.first, dead);
        let (outcome, lost) = unless_lost(run, &pulse, crew, target, dead).await;
        let ruled = observer.ruled.take();
        let before = observer.hits_before.take();
        observer.note(Happening::LoadEnded);
        let counted = hits_since(counters.as_ref(), before).await;
        let sampled = match sampling {
            Some(sampling) => sampling.end().await,
            None => Sampled::default(),
        };
        let mut outcome = outcome?;
        times.warmup_s += outcome.warmup.seconds;
        times.load_s += outcome.load_s;
        let client = outcome.summary.client;
        let over = outcome.ended != Ended::Whole || undone::nothing_succeeded(&outcome);
        let held = held_up(client.loop_lag_p99_ms, client.stall_ms);
        // a client that is held up for moments waits through no silence of seconds
        let lost = match lost {
            Some(lost) => Some(undone::told_whole(lost, &outcome)),
            None if outcome.ended == Ended::Cancelled => None,
            None => undone::lost_at_last(&mut outcome, crew, target).await,
        };
        let over = over || lost.is_some() || outcome.ended != Ended::Whole;
        let Some(held) = held.filter(|_| !over && attempt < LOADS) else {
            // a server's answers tell of their own requests alone; its counters of all
            let told = outcome.summary.cached_tokens.map(|n| n as f64);
            let hits = told.or(counted);
            return Ok(OneLoad { outcome, ruled, sampled, lost, hits, repeated: attempt > 1 });
        };
        let text = format!("{}: this machine held the client up {held}; the load is repeated", crew.launch);
        listener.hear(&Event::Warning { text });
        reset::empty(crew, target, &spec, listener).await;
        attempt += 1;
        spec.seed = spec.seed.wrapping_add(1);
        spec.data = spec.data.map(|data| Arc::new(data.again()));
    }
}

/// Tokens that were counted as hits since the load began.
async fn hits_since(counters: Option<&Counters>, before: Option<JoinHandle<Option<Hits>>>) -> Option<f64> {
    let before = before?.await.ok().flatten()?;
    Some((counters?.read().await?.hits - before.hits).max(0.0))
}

/// A load, ended at once where the server is found to be lost: what it leaves is then no result.
async fn unless_lost<R>(
    run: impl Future<Output = R>,
    pulse: &Pulse,
    crew: &Crew<'_>,
    target: &Target<'_>,
    dead: &CancellationToken,
) -> (R, Option<Failure>) {
    let mut run = std::pin::pin!(run);
    tokio::select! {
        outcome = &mut run => (outcome, None),
        lost = pulse.lost(target, &crew.config.engine.ready.path) => {
            dead.cancel();
            (run.await, Some(lost))
        }
        // why is found out when the load is over
        () = vanished::deserted(target) => {
            dead.cancel();
            (run.await, None)
        }
        stranger = target.shared() => {
            dead.cancel();
            (run.await, Some(undone::not_alone(stranger)))
        }
    }
}

async fn load_result(
    index: usize,
    outcome: &LoadOutcome,
    ruled: Option<RunOutcome>,
    (lost, intruder): (Option<Failure>, Option<&String>),
    (crew, target): (&Crew<'_>, &Target<'_>),
    log_before: u64,
) -> LoadResult {
    let mut notes = target.notes.clone();
    notes.extend(outcome.findings.iter().map(ToString::to_string));
    let mut metrics = measured::metrics(&outcome.summary, &outcome.records, target.startup_s);
    measured::other_tools(&mut metrics, &outcome.columns);
    if let Some(server) = &outcome.server {
        measured::server(&mut metrics, server);
    }
    if let Some(prompts) = outcome.prompts.filter(|prompts| prompts.from_cache > 0) {
        metrics.set("prompts_from_cache", prompts.from_cache as f64);
    }
    let failure = undone::failure(outcome, lost, (crew, target), log_before).await;
    // that none succeeded so far is what the rule went by
    let failure = failure.filter(|(f, _)| ruled.is_none() || f.class != undone::NO_SUCCESS);
    let mut result = match (failure, ruled) {
        (Some((failure, tail)), _) => LoadResult::failed_load(index, taken::blamed(failure, intruder), tail),
        (None, Some(ruled)) => LoadResult::of(index, ruled),
        (None, None) => LoadResult::of(index, RunOutcome::Done),
    };
    if matches!(result.outcome, RunOutcome::Done) {
        notes.extend(undone::of_requests(outcome));
    }
    result.metrics = metrics;
    result.notes = notes;
    result.simulated = target.simulated;
    result
}

/// Why a server that runs already cannot be measured, although it was found ready: that is its keeper's affair, and no result.
fn turned_away(target: &Target<'_>, result: &LoadResult) -> Option<String> {
    match &result.outcome {
        RunOutcome::FailedLoad { class, line } if class == key::REFUSED && !target.is_ours() => {
            Some(line.clone())
        }
        _ => None,
    }
}

/// Passes a load's progress on and asks the rules at its checkpoints.
struct Watcher<'a, 'l> {
    launch: &'a str,
    target: &'a Target<'a>,
    profile: &'a str,
    startup_s: Option<f64>,
    ruler: &'a Ruler<'a>,
    listener: &'l mut dyn Listener,
    ruled: Option<RunOutcome>,
    sampling: Option<&'l Sampling>,
    pulse: Pulse,
    counters: Option<&'l Counters>,
    /// asked for when the load begins, after its warm-up
    hits_before: Option<JoinHandle<Option<Hits>>>,
}

impl<'a, 'l> Watcher<'a, 'l> {
    fn new(
        crew: &Crew<'a>,
        order: &'a LoadOrder,
        target: &'a Target<'a>,
        listener: &'l mut dyn Listener,
    ) -> Self {
        let (launch, ruler, startup_s) = (crew.launch, crew.ruler, target.startup_s);
        Self {
            launch,
            target,
            profile: &order.profile,
            startup_s,
            ruler,
            listener,
            ruled: None,
            sampling: None,
            pulse: Pulse::new(),
            counters: None,
            hits_before: None,
        }
    }

    fn note(&mut self, happening: Happening) {
        self.target.note(happening, |event| stages::pass_on(self.launch, event, self.listener));
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
            load::Phase::WarmupBegun => {
                self.note(Happening::WarmupBegan);
                self.say(Phase::Warmup);
            }
            load::Phase::WarmupDone { .. } => {}
            load::Phase::LoadBegun { .. } => {
                if let Some(sampling) = self.sampling {
                    sampling.load_begins();
                }
                if let Some(counters) = self.counters.cloned() {
                    self.hits_before = Some(tokio::spawn(async move { counters.read().await }));
                }
                self.note(Happening::LoadBegan);
                self.say(Phase::Load);
            }
        }
    }

    fn progress(&mut self, p: load::Progress) {
        self.pulse.hear(p);
        if let Some(text) = self.pulse.told_silence() {
            self.listener.hear(&Event::Warning { text: format!("{}: {text}", self.launch) });
        }
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
        self.ruled = (self.ruler)(self.profile, done, &metrics);
        if self.ruled.is_some() { Verdict::Stop } else { Verdict::Continue }
    }
}
