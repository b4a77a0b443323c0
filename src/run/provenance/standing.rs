//! Which earlier results still count: those for which everything that can change them is as it is now. For the others there is a
//! sentence that says what is not.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::build::Installed;
use super::followed::other_opened;
use super::outdated::Why;
use super::spelled::Spelling;
use super::words::Words;
use super::{blamed, build, inherited, libraries, limits, memory_policy, secrets};
use crate::journal::{Conditions, History, Moved, RunRecord, Running};
use crate::judge::RunOutcome;
use crate::judge::rules::definition;
use crate::lang::Program;
use crate::lang::sema::program::{Engine, Profile, Site, Via};
use crate::plan::{Config, profile};
use crate::run::cold::reads_startup;
use crate::run::elsewhere::Elsewhere;
use crate::run::serve_id::{judged_by, judgements, otherwise, plain, serve_id, serve_ids};
use crate::run::{Host, LOAD_GENERATION, container, order, questions};
use crate::{disk, hub};

/// Under this name a failure keeps what its engine's declaration says of waiting, keys and failures.
const DECLARATION: &str = "the declaration of its engine";
/// Ends why a result of a server that runs already does not count.
pub(super) const SILENT: &str = "which does not answer now";

/// What holds here and now. What is installed is looked at when it is first asked for: most of it never is.
pub struct Standing<'a> {
    pub(super) program: &'a Program,
    pub(super) site: &'a Site,
    pub(super) study_dir: &'a Path,
    /// images of this machine by name, with their own ids
    pub(super) images: &'a BTreeMap<String, String>,
    /// addresses of servers that run already, by the ids of their configurations
    addresses: BTreeMap<String, String>,
    /// those that answer, by address
    running: BTreeMap<String, Running>,
    serve_ids: Vec<String>,
    /// those of roots as they are declared, by how their configurations begin
    plain: Vec<(String, String)>,
    /// beside each of them, what engines are waited for and judged by
    judgements: Vec<(String, String)>,
    /// a study is about how long starts take
    asks_startup: bool,
    host_id: String,
    /// what every result made here has in common
    machine: Conditions,
    /// profiles by their settings
    pub(super) profiles: HashMap<String, &'a Profile>,
    /// what configurations name
    pub(super) words: Words<'a>,
    engines: RefCell<HashMap<(String, String), Installed>>,
    data: RefCell<HashMap<(String, String), Option<String>>>,
    pub(super) spelling: Spelling,
}

impl<'a> Standing<'a> {
    pub fn new(
        program: &'a Program,
        host: &'a Host,
        site: &'a Site,
        study_dir: &'a Path,
        images: &'a BTreeMap<String, String>,
    ) -> Self {
        Self {
            program,
            site,
            study_dir,
            serve_ids: serve_ids(program, images),
            plain: plain(program, images),
            judgements: judgements(program, images),
            asks_startup: program.studies.iter().any(reads_startup),
            images,
            addresses: BTreeMap::new(),
            running: BTreeMap::new(),
            host_id: host.id(),
            machine: machine(host, site),
            profiles: program.profiles.values().map(|p| (profile::id(p), &**p)).collect(),
            words: Words::new(program, site, study_dir),
            engines: RefCell::default(),
            data: RefCell::default(),
            spelling: Spelling::default(),
        }
    }

    /// With what runs already at the addresses that a study's engines have.
    #[must_use]
    pub fn with_servers(mut self, of: &Elsewhere<'_>, running: BTreeMap<String, Running>) -> Self {
        (self.addresses, self.running) = (of.addresses(), running);
        self
    }

    /// What a launch of a configuration under a profile is made under.
    pub fn conditions(&self, config: &Config, p: &Profile) -> Conditions {
        let key = (serve_id(&config.engine, self.images), stated(&config.engine));
        let mut now = self.machine.clone();
        let found = self.installed(&key);
        (now.build, now.libraries) = (found.build, found.libraries.as_ref().map(libraries::id));
        now.engine = key.1;
        let names_user = self.words.say_variable(config, inherited::USER);
        now.inherited = inherited::inherited(config, self.site, !now.gpus.is_empty(), names_user);
        self.name(config, &mut now);
        now.container = self.image(&config.engine);
        if let Via::Url(url) = &config.engine.via {
            // it has processors of its own
            (now.running, now.cpus, now.scheduling) = (self.running.get(url).cloned(), None, None);
            now.limits.clear();
        }
        now.model.clone_from(&config.model);
        if config.engine.simulated() {
            (now.cpu, now.cpus, now.scheduling) = (None, None, None);
            now.limits.clear();
        } else {
            now.model_files = self.words.model(&config.model);
            let started = !matches!(config.engine.via, Via::Url(_));
            now.model_placed = started.then(|| self.site.models.contains_key(&config.model));
        }
        if matches!(config.engine.via, Via::Container(_)) {
            // whoever starts containers gives them theirs
            now.scheduling = None;
            now.limits.clear();
        }
        now.data = self.data_of(p, &config.model);
        now
    }

    /// What a run failed on, as it is now.
    pub fn blamed(&self, config: &Config, outcome: &RunOutcome) -> BTreeMap<String, String> {
        // what somebody else started failed on files of its own
        if matches!(config.engine.via, Via::Url(_)) {
            return BTreeMap::new();
        }
        let search = self.words.search();
        let ground = blamed::Ground { study_dir: self.study_dir, search: &search };
        let mut blamed = blamed::blamed(outcome, &config.model, self.site, &ground);
        if matches!(outcome, RunOutcome::FailedStart { .. } | RunOutcome::FailedLoad { .. }) {
            blamed.insert(DECLARATION.to_owned(), judged_by(&config.engine));
        }
        blamed
    }

    /// The libraries of an engine under the hash that results know them by.
    pub fn libraries(&self, engine: &Engine) -> Option<(String, BTreeMap<String, String>)> {
        let found = self.installed(&(serve_id(engine, self.images), stated(engine))).libraries?;
        Some((libraries::id(&found), found))
    }

    /// Why a result does not count.
    pub(super) fn differs(&self, run: &RunRecord, history: &History, moved: &Moved<'_>) -> Option<Why> {
        let of_another = self.of_another(run, moved, history);
        if of_another.is_some() {
            return of_another.map(Why::whole);
        }
        let Some(made) = &run.made else {
            let elsewhere = "measured on other GPUs, with another driver or with other variables of the site";
            return (*run.host_id != *self.host_id).then(|| Why::whole(elsewhere.to_owned()));
        };
        Why::of(self.differences(run, made, history, moved))
    }

    /// What a result is of that is nothing of this study's any more, whatever it was made under.
    fn of_another(&self, run: &RunRecord, moved: &Moved<'_>, history: &History) -> Option<String> {
        if let Some(aside) = run.put_aside {
            return Some(format!("asked for with `{}`", aside.option()));
        }
        if !self.serve_ids.iter().any(|id| **id == *run.serve_id) {
            let then = history.launch_of(&run.run.launch).and_then(|l| l.container.as_deref());
            return Some(otherwise(self.program, self.images, &run.serve_id, then));
        }
        if self.of_another_root(run, history) {
            return Some("measured with another serve line, `ready` or `reset`".to_owned());
        }
        let made = run.made.as_ref()?;
        if let Some(name) = moved.doubt(&run.run.launch) {
            return Some(format!("{name} changed while it was measured"));
        }
        if let Some(why) = self.other_server(run, made) {
            return Some(why);
        }
        if let Some(why) = self.other_rule(&run.run.outcome) {
            return Some(why);
        }
        self.lacks_startup(run, made).then(|| "its start was no sample of how long starts take".to_owned())
    }

    /// What a result was made under that is not so now.
    fn differences(
        &self,
        run: &RunRecord,
        made: &Conditions,
        history: &History,
        moved: &Moved<'_>,
    ) -> Vec<String> {
        let mut now = self.machine.clone();
        let found = self.installed(&(run.serve_id.to_string(), made.engine.clone()));
        now.build = found.build;
        if made.model_files.is_some() {
            now.model_files = self.words.model(&made.model);
        }
        now.model_placed = made.model_placed.map(|_| self.site.models.contains_key(&made.model));
        self.named_then(&run.run.launch, made, moved, &mut now);
        if !made.blamed.is_empty() {
            let search = self.words.search();
            let ground = blamed::Ground { study_dir: self.study_dir, search: &search };
            let is = |name: &String| Some((name.clone(), blamed::state(name, &ground)?));
            now.blamed = made.blamed.keys().filter_map(is).collect();
            now.blamed.extend(self.declared(&run.serve_id, made));
        }
        now.data = self.profiles.get(&*run.profile_id).and_then(|p| self.data_of(p, &made.model));
        let other_libraries = || {
            let (then, now) = (made.libraries.as_ref()?, found.libraries?);
            (*then != libraries::id(&now)).then(|| libraries::difference(history.libraries(then), &now))
        };
        let (held, launch) = (|name: &str| self.words.held(name), &run.run.launch);
        let is_own = |name: &str| moved.is_own_since(launch, name, || self.words.lines(name));
        let is_there = |name: &str| Some(self.is_there(name));
        let mut all = Vec::from_iter(self.other_revision(made, now.model_files.as_deref()));
        all.extend(made.differences(&now));
        all.extend(other_libraries());
        all.extend(other_opened(run, history, moved, held, is_there, is_own));
        all.extend(self.respelled((run, made), history, moved));
        all
    }

    /// What a failure's engine is waited for and judged by now; as then, if any engine that is started like it still is.
    fn declared(&self, serve_id: &str, made: &Conditions) -> Option<(String, String)> {
        let then = made.blamed.get(DECLARATION)?;
        let mut now = self.judgements.iter().filter(|(id, _)| id == serve_id).map(|(_, by)| by);
        let by = now.clone().find(|by| *by == then).or_else(|| now.next())?;
        Some((DECLARATION.to_owned(), by.clone()))
    }

    /// Why a load that a rule stopped is none any more: part of a load is a result for that rule alone.
    fn other_rule(&self, outcome: &RunOutcome) -> Option<String> {
        let RunOutcome::Stopped { rule, when } = outcome else { return None };
        let mut same = self.program.studies.iter().flat_map(|s| &s.prune).filter(|p| p.name == *rule);
        match same.clone().next() {
            None => Some(format!("the rule `{rule}` ended its load, and is gone")),
            Some(_) if when.is_empty() || same.any(|p| definition(p) == *when) => None,
            Some(_) => Some(format!("the rule `{rule}` ended its load, and is another now")),
        }
    }

    /// Whether a result of an engine as its root declares it was measured with a serve line that another engine of that root has now.
    fn of_another_root(&self, run: &RunRecord, history: &History) -> bool {
        let Some(launch) = history.launch_of(&run.run.launch) else { return false };
        // one that is started otherwise says so next
        let is_plain =
            |begins: &str| launch.config.strip_prefix(begins).is_some_and(|c| !c.starts_with("\"serve\":"));
        let mut own = self.plain.iter().filter(|(begins, _)| is_plain(begins)).peekable();
        own.peek().is_some() && !own.any(|(_, id)| **id == *run.serve_id)
    }

    /// Whether a study asks how long starts take, and the one of this result is not known: it was cold, or not seen.
    fn lacks_startup(&self, run: &RunRecord, made: &Conditions) -> bool {
        let is_whole = made.running.is_none() && run.run.outcome == RunOutcome::Done;
        is_whole && run.run.metrics.number("startup_s").is_none() && self.asks_startup
    }

    /// Why a result of a server that somebody else runs is none of the one that answers now.
    fn other_server(&self, run: &RunRecord, made: &Conditions) -> Option<String> {
        let then = made.running.as_ref();
        let url = match (self.addresses.get(&*run.config_id), then) {
            (Some(url), _) => url,
            (None, then) => &then?.url,
        };
        let Some(then) = then else {
            return Some(format!("measured at an address that was not written down, now {url}"));
        };
        if then.url != *url {
            return Some(format!("measured at {}, now {url}", then.url));
        }
        match self.running.get(url) {
            Some(now) => then.differs(now),
            None => Some(format!("measured at {url}, {SILENT}")),
        }
    }

    /// What the hub's branch was then, and is now. Models that lie elsewhere have no revisions.
    fn other_revision(&self, made: &Conditions, now: Option<&str>) -> Option<String> {
        let name = &made.model;
        let of_hub =
            hub::is_name(name) && !self.site.models.contains_key(name) && !self.study_dir.join(name).exists();
        let (then, now) = (made.model_files.as_deref()?, now?);
        (of_hub && then != now)
            .then(|| format!("model {name} was revision {then} when it was measured, and is {now} now"))
    }

    /// What a configuration names, into the conditions of its results.
    fn name(&self, config: &Config, now: &mut Conditions) {
        // what somebody else started reads files of its own
        if matches!(config.engine.via, Via::Url(_)) {
            return;
        }
        let found = self.words.of(config);
        // a pattern is no file, and may stand for some
        for word in found.there.into_iter().chain(found.absent) {
            match self.words.held(&word) {
                Some(id) => drop(now.files.insert(word, id)),
                // what may not be read is not there for the engine either
                None => drop(now.absent.insert(word)),
            }
        }
    }

    /// The files of a configuration of which it is known only behind a launch whether its engine reads or writes them.
    pub fn perhaps_written(&self, config: &Config) -> BTreeSet<String> {
        if matches!(config.engine.via, Via::Url(_)) {
            BTreeSet::new()
        } else {
            self.words.of(config).perhaps_written
        }
    }

    /// What a result's own configuration named, as it is now. Of what engines write nothing is compared.
    fn named_then(&self, launch: &str, made: &Conditions, moved: &Moved<'_>, now: &mut Conditions) {
        let held = |word: &String| self.words.held(word);
        let is_own = |word: &String| moved.is_own_since(launch, word, || self.words.lines(word));
        for (word, was) in &made.files {
            match if is_own(word) { Some(was.clone()) } else { held(word) } {
                Some(is) => drop(now.files.insert(word.clone(), is)),
                // a launch makes it again
                None if self.is_made(moved, word) => drop(now.files.insert(word.clone(), was.clone())),
                None => drop(now.absent.insert(word.clone())),
            }
        }
        let came = made.absent.iter().filter(|word| !is_own(word) && !self.is_made(moved, word));
        now.files.extend(came.filter_map(|word| Some((word.clone(), held(word)?))));
    }

    /// The id of the image that an engine is put into.
    fn image(&self, engine: &Engine) -> Option<String> {
        let Via::Container(boxed) = &engine.via else { return None };
        self.images.get(&container::image(engine, boxed).ok()?).cloned()
    }

    fn installed(&self, key: &(String, String)) -> Installed {
        if let Some(known) = self.engines.borrow().get(key) {
            return known.clone();
        }
        let engine =
            self.program.engines.values().find(|e| serve_id(e, self.images) == key.0 && stated(e) == key.1);
        let found =
            engine.map(|e| build::installed(e, &self.words.search(), self.study_dir)).unwrap_or_default();
        self.engines.borrow_mut().insert(key.clone(), found.clone());
        found
    }

    fn data_of(&self, p: &Profile, model: &str) -> Option<String> {
        let key = (profile::id(p), model.to_owned());
        if let Some(known) = self.data.borrow().get(&key) {
            return known.clone();
        }
        let hashed = |file: PathBuf| Some(disk::of_file(&file).ok()?[..16].to_owned());
        let tokenizer = order::tokenizer_file(p, model, self.study_dir, self.site).and_then(hashed);
        let asked = questions::file(p, self.site, self.study_dir).and_then(hashed);
        let found = match (tokenizer, asked) {
            (Some(tokenizer), Some(asked)) => Some(format!("{tokenizer}+{asked}")),
            (tokenizer, asked) => tokenizer.or(asked),
        };
        self.data.borrow_mut().insert(key, found.clone());
        found
    }
}

/// An engine as the file states it.
fn stated(engine: &Engine) -> String {
    match &engine.version {
        Some(version) => format!("{} {version}", engine.root()),
        None => engine.root().to_owned(),
    }
}

fn machine(host: &Host, site: &Site) -> Conditions {
    let env = site.env.iter().map(|e| (e.name.as_str(), e.value.as_str()));
    let site_env: BTreeMap<String, String> = secrets::masked_variables(env).into_iter().collect();
    Conditions {
        gpus: host.gpu_names(),
        driver: host.driver(),
        gpu_setup: host.gpu_setup(),
        cpu: super::machine::cpu(),
        cpus: Some(super::machine::cpus()),
        scheduling: super::machine::scheduling(),
        limits: limits::here().into_iter().chain(memory_policy::here()).collect(),
        site_env,
        load_generator: LOAD_GENERATION,
        inherited: inherited::here(),
        ..Conditions::default()
    }
}
