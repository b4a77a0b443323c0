//! The coordinator: asks the strategy what is wanted, gives launches away, one or several at a time, and takes their results in.
//!
//! It decides nothing itself and remembers nothing that is not in the journal: killed at any moment, it goes on from there. Launches
//! side by side are of one front: candidates of one step, in the same round of repeats, whose results no rule reads from each other.
//! So what is decided does not hang on which of them ends first.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::clean::{self, Cleanness};
use super::event::{Event, Listener};
use super::execution::{Ended, Execution, RunError};
use super::launch::LaunchEnd;
use super::leftovers;
use super::opening::{measured_again, open, remaining, say_step};
use super::provenance::Outdated;
use super::reservation::Reservations;
use super::setbacks::Setbacks;
use super::sides::{Sides, check_ahead, front, uses};
use super::signals::Signals;
use super::spending::{left_s, refused};
use super::task::{Done, Ground, Purpose, Said, Task, perform};
use super::yard::Berth;
use super::{elsewhere, shifted};
use crate::gpu::Gpu;
use crate::journal::{History, JournalError, Kind, LaunchRecord, Moved, PUT_BACK};
use crate::judge::budget::LeftOut;
use crate::judge::{Grid, Next, Results, Setup, Strategy, Walk, Wanted};
use crate::plan::Config;

/// Carries a study out, until it is decided or something ends it.
pub async fn execute(x: &mut Execution<'_>, listener: &mut dyn Listener) -> Result<Ended, RunError> {
    leftovers::clean_up(x, listener)?;
    let (ended, left_out) = {
        let silent = elsewhere::ask(x, &mut |text| listener.hear(&Event::Warning { text })).await;
        for text in silent {
            listener.hear(&Event::Warning { text });
        }
        let ground = ground(x, listener);
        let mut coordinator = Coordinator::new(x, &ground);
        let ended = coordinator.run().await;
        (ended, coordinator.left_out)
    };
    x.left_out = left_out;
    leftovers::name_kept(true, listener);
    ended
}

fn ground<'a>(x: &Execution<'_>, listener: &'a mut dyn Listener) -> Ground<'a> {
    let signals = Signals { first: x.signals.first.child_token(), second: x.signals.second.clone() };
    Ground {
        clean: cleanness(x),
        reservations: x.host.gpus(u32::MAX).map(|(source, _)| Reservations::new(&*source)),
        signals,
        said: Said::new(listener),
        last_end: Cell::new(0.0),
        open: RefCell::default(),
    }
}

/// The wait for clean GPUs, where the study has any: leftovers of an earlier run are gone, what is held now is the level.
fn cleanness(x: &Execution<'_>) -> Option<Cleanness> {
    let (source, gpus) = x.host.gpus(u32::MAX)?;
    let now = clean::levels(&*source, &gpus);
    let levels = clean::lower(now, x.journal.history().gpu_levels());
    Some(Cleanness::new(source, levels))
}

/// A launch that goes on, as far as the next ones hang on it.
pub struct Running {
    pub config: Config,
    pub profiles: Vec<String>,
    pub gpus: Vec<Gpu>,
    pub purpose: Purpose,
    /// what it belongs to: see [`front`]
    pub front: (Option<usize>, bool, usize),
}

/// What comes next.
enum Ahead {
    /// these begin; none, where those that run have to end first
    Launches(Vec<Task>),
    Over(Ended),
}

struct Coordinator<'a, 'x> {
    x: &'a Execution<'x>,
    ground: &'a Ground<'a>,
    sides: Sides,
    results: Arc<Results>,
    /// those that counted once
    outdated: Vec<Outdated>,
    left_out: LeftOut,
    setbacks: Setbacks,
    /// how often results of this invocation stopped to count
    shifts: usize,
    running: Vec<Running>,
    opened: bool,
    shown_step: Option<usize>,
}

impl<'a, 'x> Coordinator<'a, 'x> {
    fn new(x: &'a Execution<'x>, ground: &'a Ground<'a>) -> Self {
        let (standing, history) = (x.standing(), x.journal.history());
        Self {
            x,
            ground,
            sides: Sides::default(),
            results: Arc::new(standing.results(&history, x.checks)),
            outdated: standing.outdated(&history),
            left_out: LeftOut::default(),
            setbacks: Setbacks::default(),
            shifts: 0,
            running: Vec::new(),
            opened: false,
            shown_step: None,
        }
    }

    /// Gives launches away and takes them in, until nothing is wanted any more or something ends the study. What runs then is waited
    /// for: a launch has to be over before perflab is, and what it measured on GPUs of its own counts.
    async fn run(&mut self) -> Result<Ended, RunError> {
        // they borrow what is the coordinator's, and so cannot be spawned
        let mut launches = FuturesUnordered::new();
        let mut ending = None;
        loop {
            if ending.is_none() {
                match self.ahead() {
                    Ok(Ahead::Launches(tasks)) => {
                        for task in tasks {
                            launches.push(perform(self.x, self.ground, task));
                        }
                    }
                    Ok(Ahead::Over(ended)) => match self.counts_no_more(&ended) {
                        Ok(true) => continue,
                        Ok(false) => ending = Some(Ok(ended)),
                        Err(error) => ending = Some(Err(error)),
                    },
                    Err(error) => ending = Some(Err(error)),
                }
                // what still runs then is of no use to anybody
                if ending.is_some() {
                    self.ground.signals.first.cancel();
                }
            }
            match launches.next().await {
                Some(done) => ending = ending.or(self.take_in(done)),
                None => return self.end(ending.unwrap_or(Ok(Ended::Interrupted))),
            }
        }
    }

    /// Whether something that was no launch's changed meanwhile, so that a study which looks decided is not: somebody gave perflab another
    /// priority, or other processors.
    fn counts_no_more(&mut self, ended: &Ended) -> Result<bool, RunError> {
        let over = self.opened && self.running.is_empty() && matches!(ended, Ended::Decided);
        Ok(over && self.look_anew()?)
    }

    fn end(&self, ended: Result<Ended, RunError>) -> Result<Ended, RunError> {
        let ended = ended?;
        let machine_failed = self.x.journal.history().machine_failed(self.x.checks);
        let whole = self.x.whole.is_none() && self.left_out.is_empty();
        let complete = matches!(ended, Ended::Decided) && whole && !machine_failed;
        if matches!(ended, Ended::Decided) {
            self.ground.said.hear(&Event::Ends { complete });
        }
        // an invocation that measured nothing leaves no trace: the report stays the same
        if self.opened {
            self.x.journal.append(Kind::End { complete })?;
        }
        Ok(ended)
    }

    fn setup<'s>(&'s self, results: &'s Results) -> Setup<'s> {
        Setup::new(self.x.program, self.x.study, results, self.x.checks, false).leaving(&self.left_out)
    }

    /// The launches that begin now, beside those that go on.
    fn ahead(&mut self) -> Result<Ahead, RunError> {
        let results = self.results.clone();
        loop {
            let (walk, next) = Grid.next(&self.setup(&results));
            let Next::Run(wanted) = next else { return Ok(Ahead::Over(Ended::Decided)) };
            if self.x.signals.first.is_cancelled() {
                return Ok(Ahead::Over(Ended::Interrupted));
            }
            let refused = refused(self.x, &self.setup(&results), &walk, &wanted, &self.running);
            if !refused.is_empty() && self.running.is_empty() {
                self.leave_out(&refused);
                continue;
            }
            if !self.opened {
                let levels = self.ground.clean.as_ref().map(|c| c.levels().clone()).unwrap_or_default();
                let checks = check_ahead(self.x, &self.setup(&results), &walk);
                open(self.x, &walk, &levels, (checks, &self.outdated), &mut &self.ground.said)?;
                self.opened = true;
            }
            // what has no room now is asked again when those that run are over, and what they took is known
            let fits = |n: &&Wanted| !refused.iter().any(|(r, _)| r.config.id() == n.config.id());
            let fitting: Vec<Wanted> = wanted.iter().filter(fits).cloned().collect();
            return Ok(Ahead::Launches(self.chosen(&walk, &results, &fitting)?));
        }
    }

    fn leave_out(&mut self, refused: &[(Wanted, String)]) {
        for (need, why) in refused {
            let step = need.step.and_then(|i| self.x.study.steps.get(i)).map(|s| s.title.as_str());
            self.left_out.add(need, step, why);
        }
    }

    /// The first that is wanted, where nothing runs; and whatever may run beside it.
    fn chosen(
        &mut self,
        walk: &Walk,
        results: &Arc<Results>,
        wanted: &[Wanted],
    ) -> Result<Vec<Task>, JournalError> {
        let mut tasks = Vec::new();
        if self.running.iter().any(|r| r.purpose != Purpose::Measure) {
            return Ok(tasks);
        }
        let Some(leader) = self.running.first().map(|r| r.front).or(wanted.first().map(front)) else {
            return Ok(tasks);
        };
        let ready =
            |n: &&Wanted| front(n) == leader && !self.running.iter().any(|r| r.config.id() == n.config.id());
        let ready: Vec<Wanted> = wanted.iter().filter(ready).cloned().collect();
        if self.running.is_empty() {
            let setup = Setup::new(self.x.program, self.x.study, results, self.x.checks, false);
            let checks = self.sides.check(self.x, self.ground, &setup, walk, &ready)?;
            for (need, berth, purpose) in checks {
                tasks.push(self.task(walk, results, need, berth, purpose));
            }
            if !tasks.is_empty() {
                return Ok(tasks);
            }
        }
        for need in ready {
            if !self.running.is_empty() && !self.sides.allow(self.x, &self.running, &need) {
                continue;
            }
            let busy: Vec<&Gpu> = self.running.iter().flat_map(|r| &r.gpus).collect();
            let Some(berth) = self.berth(&need.config, &busy) else { continue };
            say_step(self.x.study, &need, &mut self.shown_step, &mut &self.ground.said);
            tasks.push(self.task(walk, results, need, berth, Purpose::Measure));
        }
        Ok(tasks)
    }

    /// A place for a configuration; a server that runs already has its own.
    fn berth(&self, config: &Config, busy: &[&Gpu]) -> Option<Berth> {
        if !super::sides::is_managed(config) {
            return self.running.is_empty().then(Berth::default);
        }
        let used = uses(&self.x.journal.history(), config);
        self.x.yard.berth(config.gpus(), busy, |number| used.get(&number).copied().unwrap_or(0))
    }

    fn task(
        &mut self,
        walk: &Walk,
        results: &Arc<Results>,
        wanted: Wanted,
        berth: Berth,
        purpose: Purpose,
    ) -> Task {
        let x = self.x;
        let now = x.journal.elapsed_s();
        let since_s = if self.running.is_empty() { self.ground.last_end.get() } else { now };
        let measured = purpose == Purpose::Measure;
        let retry = self.setbacks.next(wanted.config.id()).filter(|_| measured);
        self.running.push(Running {
            config: wanted.config.clone(),
            profiles: wanted.profiles.clone(),
            gpus: berth.gpus.clone(),
            purpose: purpose.clone(),
            front: front(&wanted),
        });
        Task {
            // a track compares with its own incumbent
            best: wanted.step.and_then(|i| walk.steps.get(i)).map(|s| s.incumbent_before.clone()),
            baseline: walk.baseline.as_ref().map(|(config, _)| config.clone()),
            remaining: remaining(walk, x.study),
            left_s: left_s(x, &self.setup(results), walk, &self.sides),
            results: results.clone(),
            wanted,
            berth,
            purpose,
            retry,
            since_s,
        }
    }

    /// Takes a launch's results in. Returns how the study ends, if it does.
    fn take_in(&mut self, done: Done) -> Option<Result<Ended, RunError>> {
        let Done { task, launch, ended } = done;
        let config = task.wanted.config.id().to_owned();
        let own = |r: &Running| r.config.id() == config && r.gpus == task.berth.gpus;
        if let Some(at) = self.running.iter().position(own) {
            self.running.remove(at);
        }
        drop(task);
        // what was just measured was measured under what holds now
        let history = self.x.journal.history();
        for r in history.runs().iter().filter(|r| Some(&*r.run.launch) == launch.as_deref()) {
            Arc::make_mut(&mut self.results).add(&r.config_id, &r.profile_id, r.run.clone());
        }
        let under = launch.as_ref().and_then(|l| history.launch_of(l));
        let doubt =
            under.and_then(|l| Moved::of(&history).doubt(&l.id).map(|_| l.traces().changed.join(", ")));
        // or something changed meanwhile, and what holds now is looked at anew
        let anew = under.is_some_and(|l| stirred(&history, l) || shifted::since_the_last(&history, &l.id));
        drop(history);
        let looked = if anew { self.look_anew() } else { Ok(false) };
        if let Err(error) = looked {
            return Some(Err(error));
        }
        match ended {
            Ok(LaunchEnd::Done) => match doubt {
                None => self.setbacks.forget(&config),
                // an engine that writes to a file of its own command would be launched for ever
                Some(name) if self.setbacks.next(&config).is_none() => {
                    return Some(Err(RunError::Unsettled(name)));
                }
                Some(_) => self.setbacks.add(&config),
            },
            Ok(LaunchEnd::Setback(_)) => self.setbacks.add(&config),
            Ok(LaunchEnd::Interrupted) if self.x.signals.first.is_cancelled() => {
                return Some(Ok(Ended::Interrupted));
            }
            Ok(LaunchEnd::Interrupted) => {}
            Ok(LaunchEnd::Unclean(left)) => return Some(Ok(Ended::Unclean(left))),
            Ok(LaunchEnd::Held(held)) => return Some(Ok(Ended::Held(held))),
            Ok(LaunchEnd::Left(why)) => return Some(Ok(Ended::Left(why))),
            Err(error) => return Some(Err(error)),
        }
        None
    }
}

impl Coordinator<'_, '_> {
    /// Takes those results alone that count now, and tells of those that counted until now. Returns whether there were any; fails where
    /// there were others too often.
    fn look_anew(&mut self) -> Result<bool, RunError> {
        let (standing, history) = (self.x.standing(), self.x.journal.history());
        self.results = Arc::new(standing.results(&history, self.x.checks));
        let outdated = standing.outdated(&history);
        drop(history);
        let fresh: Vec<Outdated> = outdated.iter().filter(|o| !self.outdated.contains(o)).cloned().collect();
        self.outdated = outdated;
        let Some(why) = fresh.first().map(|o| o.why.clone()) else { return Ok(false) };
        let (walk, _) = Grid.next(&self.setup(&self.results));
        for text in measured_again(&fresh, &walk) {
            self.ground.said.hear(&Event::Warning { text });
        }
        self.shifts += 1;
        if self.shifts > shifted::MOST { Err(RunError::Shifting(why)) } else { Ok(true) }
    }
}

/// Whether something changed under a launch, or it tells that what changed under another was no engine's.
fn stirred(history: &History, launch: &LaunchRecord) -> bool {
    let changed = launch.traces().changed.iter().any(|name| !name.ends_with(PUT_BACK));
    changed || Moved::of(history).differs(&Moved::before(history, &launch.id))
}
