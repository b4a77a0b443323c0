//! What of a launch goes into the journal: that it begins and where, what its loads measured, and that nothing of it is left.

mod moves;

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use super::event::Event;
use super::execution::Execution;
use super::launch::{LaunchEnd, LoadResult};
use super::order::{self, LoadOrder};
use super::provenance::{Names, Stamps, TooMany};
use super::serve_id::serve_id;
use super::task::{Ground, Purpose, Task};
use super::yard::Berth;
use super::{container, cores, provenance, questions};
use crate::engine::lookups::{Lacks, Lookups, Scope};
use crate::journal::{
    Conditions, Contained, Installed, JournalError, Kind, LaunchTimes, Opened, Slot, moved,
};
use crate::judge::neighbours::{self, Sample};
use crate::judge::{Run, Setup, Wanted};
use crate::lang::sema::program::{Engine, Via};
use crate::plan::command;
use crate::plan::config::short_hash;
use moves::Moves;

/// So long after its server is ready what a launch opens still counts: engines read some files with their first requests, and whatever
/// goes through a directory hours later is somebody else.
const SETTLES: Duration = Duration::from_mins(1);

/// Writes down that a launch begins, and says so.
pub fn begin(
    x: &Execution<'_>,
    ground: &Ground<'_>,
    task: &Task,
    (launch, nonce): (&str, &str),
) -> Result<(), JournalError> {
    let (wanted, config) = (&task.wanted, &task.wanted.config);
    x.journal.append(Kind::Launch {
        launch: launch.to_owned(),
        config_id: config.id().to_owned(),
        config: config.shown(),
        profiles: wanted.profiles.clone(),
        label: wanted.label.clone(),
        nonce: nonce.to_owned(),
        command: command::to_copy(config).argv,
        env: variables(x, task),
        container: contained(x, &config.engine),
        model_files: x.models.get(&config.model).map(|m| m.identity.clone()),
        installed: installed(x, &config.engine),
        found: found(x),
        slot: slot(&task.berth, &ground.open.borrow()),
        check: task.purpose != Purpose::Measure,
    })?;
    ground.open.borrow_mut().push(launch.to_owned());
    let of = wanted.done + wanted.missing;
    let turn = if of > 1 { format!(" ({} of {of})", wanted.done + 1) } else { String::new() };
    ground.said.hear(&Event::LaunchBegins {
        launch: launch.to_owned(),
        label: format!("{}{turn}", wanted.label),
        command: command::to_copy(config).argv.join(" "),
        remaining: task.remaining,
        left_s: task.left_s,
    });
    Ok(())
}

/// The libraries of an engine, where no launch before had the same.
fn installed(x: &Execution<'_>, engine: &Engine) -> Option<Installed> {
    let (id, libraries) = x.standing().libraries(engine)?;
    let told = x.journal.history().libraries(&id).is_some();
    (!told).then_some(Installed { id, libraries })
}

/// What it finds of the settings that launches before it left changed.
fn found(x: &Execution<'_>) -> BTreeMap<String, String> {
    let history = x.journal.history();
    let left: BTreeSet<&String> =
        history.launches().iter().flat_map(|l| &l.traces().left).map(|(name, _)| name).collect();
    if left.is_empty() { BTreeMap::new() } else { x.standing().settings(left.into_iter()) }
}

fn slot(berth: &Berth, beside: &[String]) -> Option<Slot> {
    let (number, of) = berth.number?;
    let cpus = Some(cores::listed(&berth.cpus)).filter(|list| !list.is_empty());
    let gpus = berth.gpus.iter().map(|g| g.uuid.clone()).collect();
    Some(Slot { number, of, gpus, cpus, beside: beside.to_vec() })
}

/// Which container a launch stands in, for its record.
fn contained(x: &Execution<'_>, engine: &Engine) -> Option<Contained> {
    let Via::Container(boxed) = &engine.via else { return None };
    let image = container::image(engine, boxed).ok()?;
    let id = x.images.get(&image).cloned();
    Some(Contained { runtime: boxed.runtime.name().to_owned(), image, id })
}

/// Writes down that a launch is over, what of it a kill did not end, and where its time went.
pub fn gone(
    x: &Execution<'_>,
    ground: &Ground<'_>,
    task: &Task,
    launch: &str,
    mut times: LaunchTimes,
    moves: Moves,
    ended: &LaunchEnd,
) -> Result<(), JournalError> {
    let now = x.journal.elapsed_s();
    times.own_s = (now - task.since_s - times.engine_s() - times.drain_s).max(0.0);
    times.wall_s = task.berth.number.map(|_| (now - ground.last_end.get()).max(0.0));
    ground.last_end.set(now);
    let gpus = x.host.held(task.wanted.config.gpus());
    let stuck = match ended {
        LaunchEnd::Unclean(left) => left.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    let (launch, Moves { changed, appeared, came, made, left }) = (launch.to_owned(), moves);
    x.journal.append(Kind::Gone {
        launch,
        times,
        gpus,
        changed,
        appeared,
        came,
        made: made.into_iter().collect(),
        left,
        stuck,
    })
}

/// What of a launch's loads goes into the journal.
pub struct Books<'a> {
    x: &'a Execution<'a>,
    setup: &'a Setup<'a>,
    task: &'a Task,
    launch: &'a str,
    loads: &'a [LoadOrder],
    conditions: Vec<Conditions>,
    /// of the files that its configuration names, before it was started
    stamps: Stamps,
    /// those of them that the engine may write
    perhaps_written: BTreeSet<String>,
    /// what it opens; `None` where nothing can be seen of that
    opened: Option<provenance::Opened>,
    /// what it looks for
    lookups: Option<(Scope, Lookups)>,
    /// of that what counts, once the first load is over
    files: OnceCell<Option<Opened>>,
    /// there are more names than are looked at for those that its texts could spell
    has_many: Cell<bool>,
    /// when its server was ready
    ready: &'a OnceLock<Instant>,
    /// of a check, which has no results
    runs: Vec<(String, Run)>,
}

impl<'a> Books<'a> {
    pub fn new(
        x: &'a Execution<'a>,
        setup: &'a Setup<'a>,
        task: &'a Task,
        launch: &'a str,
        loads: &'a [LoadOrder],
        ready: &'a OnceLock<Instant>,
    ) -> Self {
        let conditions = made(x, setup, &task.wanted);
        let stamps = stamps(x, &task.wanted, &conditions, loads);
        let perhaps_written = x.standing().perhaps_written(&task.wanted.config);
        let ground = ground(x, task, &conditions, loads);
        let lookups = ground.as_ref().filter(|_| are_followed());
        let lookups = lookups.map(|ground| (scope(x, ground), Lookups::default()));
        let opened = ground.map(provenance::Opened::begin);
        let (files, has_many, runs) = (OnceCell::new(), Cell::default(), Vec::new());
        Self {
            x,
            setup,
            task,
            launch,
            loads,
            conditions,
            stamps,
            perhaps_written,
            opened,
            lookups,
            files,
            has_many,
            ready,
            runs,
        }
    }

    /// Why files that the launch opens may change unseen.
    pub fn missed(&self) -> Option<String> {
        let lacks = self.lookups.as_ref().map(|(_, lookups)| lookups.lacks()).unwrap_or_default();
        let why = match lacks {
            Lacks { many: true, .. } => Some("it looked for more names than are kept"),
            Lacks { hidden: true, .. } => {
                Some("not all that it looks for can be seen (another root, io_uring, no rights)")
            }
            _ => None,
        };
        let many = "there are more names than are looked at for those that its scripts may ask for";
        let why = why.or(self.has_many.get().then_some(many));
        self.opened.as_ref()?.missed().or(why.map(str::to_owned))
    }

    /// Where it is seen what the launch looks for, if that is of interest.
    pub fn lookups(&self) -> Option<(Scope, Lookups)> {
        self.lookups.clone()
    }

    /// What the launch opened until the end of its first load, or until a while after its server was ready.
    fn files(&self) -> Option<&Opened> {
        let find = || {
            let (until, made) = (self.ready.get().map(|at| *at + SETTLES), self.conditions.first()?);
            let standing = self.x.standing();
            let looked = self.lookups.as_ref().and_then(|(_, lookups)| lookups.until(until));
            let mut files = self.opened.as_ref()?.files(until);
            let names = Names::of(looked.as_deref(), &self.x.study_dir);
            files.retain(|file| self.is_of_launch(&names, &file.name) && !names.only_writes(&file.name));
            let files = standing.opened(files, made);
            let mut opened = Opened { files, ..Opened::default() };
            if let Some(looked) = looked {
                standing.looked(&looked, made, &mut opened);
            }
            let (listing, others) = self.opened.as_ref()?.lay();
            match standing.spelled(&self.task.wanted.config, (listing, others), made, &opened.files) {
                Ok(spelled) => opened.spelled = spelled,
                Err(TooMany) => self.has_many.set(true),
            }
            let is_some = opened != Opened::default();
            opened.id = short_hash(&serde_json::to_string(&opened).unwrap_or_default());
            is_some.then_some(opened)
        };
        self.files.get_or_init(find).as_ref()
    }

    /// Whether the launch did it, of what somebody did to a file that is called so: the kernel's watches name nobody, its calls do.
    fn is_of_launch(&self, names: &Names<'_>, name: &str) -> bool {
        let is_whole =
            || self.lookups.as_ref().is_some_and(|(_, lookups)| lookups.lacks() == Lacks::default());
        !names.are_seen() || !is_whole() || !self.counts(name) || names.knows(name)
    }

    /// Whether all that a launch does to what is called so is seen.
    fn counts(&self, name: &str) -> bool {
        let path = self.x.study_dir.join(name);
        self.lookups.as_ref().is_some_and(|(scope, _)| scope.counts(&path))
    }

    /// Takes the result of a load: it is on disk when this returns.
    pub fn keep(&mut self, r: LoadResult) -> Result<(), JournalError> {
        let (order, config) = (&self.loads[r.index], &self.task.wanted.config);
        let run = Run {
            n: order.n,
            launch: self.launch.into(),
            outcome: r.outcome,
            metrics: r.metrics,
            notes: r.notes,
            devices: r.devices.map(Box::new),
            confirming: self.task.wanted.confirming,
            simulated: r.simulated,
            log_tail: r.tail,
        };
        if self.task.purpose != Purpose::Measure {
            self.runs.push((order.profile.clone(), run));
            return Ok(());
        }
        let mut made = self.conditions.get(r.index).cloned().map(Box::new);
        let opened = made.as_mut().and_then(|made| {
            let files = self.files()?;
            made.opened = Some(files.id.clone());
            self.x.journal.history().opened(made).is_none().then(|| files.clone())
        });
        if let Some(made) = made.as_mut().filter(|_| !r.infrastructure) {
            made.blamed = self.x.standing().blamed(config, &run.outcome);
        }
        self.x.journal.append(Kind::Run {
            launch: self.launch.to_owned(),
            config_id: config.id().to_owned(),
            profile: order.profile.clone(),
            profile_id: order.profile_id.clone(),
            serve_id: serve_id(&config.engine, &self.x.images),
            host_id: self.x.host.id(),
            infrastructure: r.infrastructure,
            run,
            made,
            seed: Some(order.spec.seed),
            opened,
        })
    }

    /// What a launch of a check comes down to: one number, if nothing cut it short.
    pub fn close(&self, ended: &LaunchEnd) -> Result<(), JournalError> {
        let Purpose::Check { of, round, alone } = &self.task.purpose else { return Ok(()) };
        if !matches!(ended, LaunchEnd::Done) {
            return Ok(());
        }
        let value = neighbours::value(self.setup, &self.task.wanted.config, &self.runs);
        let sample = Sample { round: *round, alone: *alone, value };
        self.x.journal.append(Kind::Checked { launch: self.launch.to_owned(), of: of.clone(), sample })
    }
}

/// Where it is seen what a launch opens.
fn ground(
    x: &Execution<'_>,
    task: &Task,
    conditions: &[Conditions],
    loads: &[LoadOrder],
) -> Option<provenance::Ground> {
    if task.purpose != Purpose::Measure {
        return None;
    }
    let mut ground = x.standing().ground(&task.wanted.config, conditions.first()?)?;
    let data = loads.iter().flat_map(|order| data_places(x, &task.wanted, order));
    ground.spared.extend(data.map(|(_, path)| path).chain([x.dir.clone()]));
    Some(ground)
}

/// Whether it is to be seen what launches look for. Not unless somebody says so: a call that waits can be interrupted, and a program that
/// expects no such thing takes what is there for missing.
fn are_followed() -> bool {
    std::env::var_os("PERFLAB_LOOKUPS").is_some_and(|value| value == "on")
}

/// Where it is seen what a launch looks for.
fn scope(x: &Execution<'_>, ground: &provenance::Ground) -> Scope {
    let both = ground.spared.iter().flat_map(|path| [path.canonicalize().ok(), Some(x.study_dir.join(path))]);
    Scope { study_dir: x.study_dir.clone(), spared: both.flatten().collect() }
}

fn stamps(x: &Execution<'_>, wanted: &Wanted, conditions: &[Conditions], loads: &[LoadOrder]) -> Stamps {
    let words = conditions.iter().take(1).flat_map(|c| c.files.keys());
    let places = conditions.iter().take(1).flat_map(|c| places(x, wanted, c));
    let data = loads.iter().flat_map(|order| data_places(x, wanted, order));
    Stamps::of(words, places.chain(data), &x.study_dir)
}

/// Where the files lie that a load's prompts are made from, by what they are called among what changed.
fn data_places(x: &Execution<'_>, wanted: &Wanted, order: &LoadOrder) -> Vec<(String, PathBuf)> {
    let Some(profile) = x.program.profiles.get(&order.profile) else { return Vec::new() };
    let tokenizer = order::tokenizer_file(profile, &wanted.config.model, &x.study_dir, &x.site);
    let asked = questions::file(profile, &x.site, &x.study_dir);
    let files = tokenizer.into_iter().chain(asked);
    files.map(|file| (moved::data(&order.profile, Some(&file)), file)).collect()
}

/// Where a launch's model and its installation lie, as far as their paths are said: by what they are called among what changed.
fn places(x: &Execution<'_>, wanted: &Wanted, made: &Conditions) -> Vec<(String, PathBuf)> {
    let engine = &wanted.config.engine;
    let at = x.site.models.get(&made.model).unwrap_or(&made.model);
    let mut places = vec![(moved::model(&made.model), x.study_dir.join(at))];
    let first = shell_words::split(&engine.serve).ok().and_then(|words| words.into_iter().next());
    let of_engine = match &engine.via {
        Via::Venv(dir) => Some(dir.clone()),
        Via::Path => first.filter(|word| word.contains('/')),
        // what somebody else started reads files of its own
        Via::Url(_) => return Vec::new(),
        Via::Container(_) => None,
    };
    places.extend(of_engine.map(|dir| (moved::installation(&made.engine), x.study_dir.join(dir))));
    places.retain(|(_, path)| path.exists());
    places
}

/// What each load of a launch is made under.
fn made(x: &Execution<'_>, setup: &Setup<'_>, wanted: &Wanted) -> Vec<Conditions> {
    let standing = x.standing();
    let profiles = wanted.profiles.iter().filter_map(|name| setup.program.profiles.get(name));
    profiles.map(|p| standing.conditions(&wanted.config, p)).collect()
}

/// The variables that a launch is given, as they may be written down.
fn variables(x: &Execution<'_>, task: &Task) -> IndexMap<String, String> {
    let site = x.site.env.iter().map(|e| (e.name.clone(), e.value.clone()));
    let own = task.wanted.config.env().iter().map(|e| (e.name.clone(), e.value.clone()));
    let all: Vec<(String, String)> = site.chain(own).chain(task.berth.variables()).collect();
    provenance::masked_variables(all.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}
