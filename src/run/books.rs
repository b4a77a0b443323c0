//! What of a launch goes into the journal: that it begins and where, what its loads measured, and that nothing of it is left.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use super::event::Event;
use super::execution::Execution;
use super::launch::{LaunchEnd, LoadResult};
use super::order::{self, LoadOrder};
use super::provenance::{File, Stamps};
use super::serve_id::serve_id;
use super::task::{Ground, Purpose, Task};
use super::yard::Berth;
use super::{container, cores, provenance, questions};
use crate::journal::{
    Conditions, Contained, Installed, JournalError, Kind, LaunchTimes, Moved, Opened, PUT_BACK, Slot,
    between, moved,
};
use crate::judge::neighbours::{self, Sample};
use crate::judge::{Run, Setup, Wanted};
use crate::lang::sema::program::{Engine, Via};
use crate::plan::command;
use crate::plan::config::short_hash;

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
        history.launches().iter().flat_map(|l| &l.left).map(|(name, _)| name).collect();
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
    let (launch, Moves { changed, appeared, came, left }) = (launch.to_owned(), moves);
    x.journal.append(Kind::Gone { launch, times, gpus, changed, appeared, came, left, stuck })
}

/// What was not the same at the end of a launch as at its beginning, by name.
#[derive(Debug, Default)]
pub struct Moves {
    pub changed: Vec<String>,
    /// what came to be of what its command names, and what was written of what may be the engine's
    pub appeared: Vec<String>,
    /// what it made where engines read
    pub came: Vec<String>,
    /// hashes over the lines of the settings that changed
    pub left: BTreeMap<String, String>,
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
    /// of that what counts, once the first load is over
    files: OnceCell<Option<Opened>>,
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
        let opened = follow(x, task, &conditions, loads);
        let (files, runs) = (OnceCell::new(), Vec::new());
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
            files,
            ready,
            runs,
        }
    }

    /// Why files that the launch opens may change unseen.
    pub fn missed(&self) -> Option<String> {
        self.opened.as_ref()?.missed()
    }

    /// What the launch opened until the end of its first load, or until a while after its server was ready.
    fn files(&self) -> Option<&Opened> {
        let find = || {
            let files = self.opened.as_ref()?.files(self.ready.get().map(|at| *at + SETTLES));
            let files = self.x.standing().opened(files, self.conditions.first()?);
            let id = short_hash(&serde_json::to_string(&files).unwrap_or_default());
            (!files.is_empty()).then_some(Opened { id, files })
        };
        self.files.get_or_init(find).as_ref()
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

    /// What changed of what its results are made of while it lived, and what of it came to be.
    pub fn moved(&self) -> Moves {
        // before perflab itself reads them again
        let seen = self.opened.as_ref().map(|opened| opened.files(None)).unwrap_or_default();
        let now = made(self.x, self.setup, &self.task.wanted);
        let pairs = self.conditions.iter().zip(&now);
        let (mut changed, mut appeared) =
            pairs.map(|(begin, end)| between(begin, end)).next().unwrap_or_default();
        if let Some((begin, end)) = self.conditions.iter().zip(&now).next() {
            appeared.extend(self.came_unnamed(begin, end));
        }
        let of_data = self.loads.iter().zip(self.conditions.iter().zip(&now));
        let others = of_data.filter(|(_, (begin, end))| begin.data != end.data);
        changed.extend(others.map(|(order, _)| moved::data(&order.profile, None)));
        let stamps = stamps(self.x, &self.task.wanted, &self.conditions, self.loads);
        let touched = self
            .stamps
            .touched(&stamps)
            .filter(|w| !changed.iter().any(|c| c == w || w.starts_with(&format!("{c}: "))));
        // under a name of its own: one that an engine touches at each start is compared all the same
        let back: Vec<(&str, String)> = touched.map(|w| (w, format!("{w}{PUT_BACK}"))).collect();
        // what its name leaves open is the engine's once a launch has written it, and only that
        let history = self.x.journal.history();
        let earlier = Moved::of(&history);
        // what a launch made before is the engine's, also where it is read
        let is_read = |word: &str| {
            !earlier.is_made(word) && seen.iter().any(|f| f.name == word && f.is_read && !f.is_new)
        };
        let is_engines = |word: &str| self.perhaps_written.contains(word) && !is_read(word);
        let (own, mut changed): (Vec<String>, Vec<String>) = changed.into_iter().partition(|w| is_engines(w));
        appeared.extend(own);
        appeared.extend(back.iter().filter(|(w, _)| is_engines(w)).map(|(w, _)| (*w).to_owned()));
        changed.extend(back.into_iter().filter(|(w, _)| !is_engines(w)).map(|(_, told)| told));
        let (read, written): (Vec<String>, Vec<String>) =
            self.written(&seen).into_iter().partition(|name| is_read(name));
        changed.extend(read);
        appeared.extend(written);
        let came = self.opened.as_ref().map(|opened| opened.came(&seen)).unwrap_or_default();
        let left = self.x.standing().settings(changed.iter().chain(&appeared).chain(&came));
        let changed = changed.into_iter().map(|what| self.in_full(what)).collect();
        Moves { changed, appeared, came, left }
    }

    /// What came to be of names that only might be asked for: once something is there they are no names any more.
    fn came_unnamed(&self, begin: &Conditions, end: &Conditions) -> Vec<String> {
        let standing = self.x.standing();
        let is_unnamed = |name: &&String| !end.absent.contains(*name) && !end.files.contains_key(*name);
        let came = begin.absent.iter().filter(is_unnamed).filter(|name| standing.held(name).is_some());
        came.cloned().collect()
    }

    /// What it opened and what is not as it was then. Of what was read, by whomever, a person may have changed it; what was only written is
    /// the engine's own.
    fn written(&self, seen: &BTreeSet<File>) -> Vec<String> {
        let (Some(files), standing) = (self.files(), self.x.standing()) else { return Vec::new() };
        let is_touched = |name: &str| seen.iter().any(|f| f.name == name && f.is_other);
        let is_other =
            |(name, was): &(&String, &String)| is_touched(name) || standing.held(name).as_ref() != Some(*was);
        files.files.iter().filter(is_other).map(|(name, _)| name.clone()).collect()
    }

    /// Says of an installation that changed what of it did.
    fn in_full(&self, what: String) -> String {
        let begin = self.conditions.first().filter(|c| what == moved::installation(&c.engine));
        let which = begin.and_then(|begin| {
            let history = self.x.journal.history();
            let then = history.libraries(begin.libraries.as_ref()?)?;
            provenance::libraries_named(
                then,
                &self.x.standing().libraries(&self.task.wanted.config.engine)?.1,
            )
        });
        match which {
            Some(which) => format!("{what} ({which})"),
            None => what,
        }
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

/// Sees from now on what a launch opens.
fn follow(
    x: &Execution<'_>,
    task: &Task,
    conditions: &[Conditions],
    loads: &[LoadOrder],
) -> Option<provenance::Opened> {
    if task.purpose != Purpose::Measure {
        return None;
    }
    let mut ground = x.standing().ground(&task.wanted.config, conditions.first()?)?;
    let data = loads.iter().flat_map(|order| data_places(x, &task.wanted, order));
    ground.spared.extend(data.map(|(_, path)| path).chain([x.dir.clone()]));
    Some(provenance::Opened::begin(ground))
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
