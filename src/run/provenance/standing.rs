//! Which earlier results still count: those for which everything that can change them is as it is now. For the others there is a
//! sentence that says what is not.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::{build, files, secrets};
use crate::hub;
use crate::journal::{Conditions, History, RunRecord};
use crate::judge::Results;
use crate::lang::Program;
use crate::lang::sema::program::{Engine, Profile, Site, Via};
use crate::plan::{Config, profile};
use crate::run::serve_id::{serve_id, serve_ids};
use crate::run::{Host, LOAD_GENERATION, container, order};

/// What holds here and now. What is installed is looked at when it is first asked for: most of it never is.
pub struct Standing<'a> {
    program: &'a Program,
    site: &'a Site,
    study_dir: &'a Path,
    /// images of this machine by name, with their own ids
    images: &'a BTreeMap<String, String>,
    serve_ids: Vec<String>,
    host_id: String,
    /// what every result made here has in common
    machine: Conditions,
    /// profiles by their settings
    profiles: HashMap<String, &'a Profile>,
    engines: RefCell<HashMap<(String, String), Option<String>>>,
    models: RefCell<HashMap<String, Option<String>>>,
    data: RefCell<HashMap<(String, String), Option<String>>>,
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
            images,
            host_id: host.id(),
            machine: machine(host, site),
            profiles: program.profiles.values().map(|p| (profile::id(p), &**p)).collect(),
            engines: RefCell::default(),
            models: RefCell::default(),
            data: RefCell::default(),
        }
    }

    /// Learns what a model was resolved to, which may be newer than what lay here.
    pub fn resolved(&self, name: &str, identity: &str) {
        self.models.borrow_mut().insert(name.to_owned(), Some(identity.to_owned()));
    }

    /// What a launch of a configuration under a profile is made under.
    pub fn conditions(&self, config: &Config, p: &Profile) -> Conditions {
        let key = (serve_id(&config.engine, self.images), stated(&config.engine));
        let mut now = self.machine.clone();
        now.build = self.build(&key);
        now.engine = key.1;
        now.container = self.image(&config.engine);
        now.model.clone_from(&config.model);
        if !config.engine.simulated() {
            now.model_files = self.model(&config.model);
            now.cpu = super::machine::cpu().filter(|_| now.gpus.is_empty());
        }
        now.data = self.data_of(p, &config.model);
        now
    }

    /// The results that still count.
    pub fn results(&self, history: &History) -> Results {
        history.results(|run| self.differs(run).is_none())
    }

    /// Trials of which no result counts (configuration and profile settings), and why the last one does not.
    pub fn again(&self, history: &History) -> HashMap<(String, String), String> {
        let mut again = HashMap::new();
        for run in history.runs() {
            let key = (run.config_id.clone(), run.profile_id.clone());
            match self.differs(run) {
                Some(why) => drop(again.insert(key, why)),
                None => drop(again.remove(&key)),
            }
        }
        again
    }

    /// Why a result does not count.
    pub fn differs(&self, run: &RunRecord) -> Option<String> {
        if !self.serve_ids.contains(&run.serve_id) {
            return Some("measured with another serve line, image or way to launch".to_owned());
        }
        let Some(made) = &run.made else {
            let elsewhere = "measured on other GPUs, with another driver or with other variables of the site";
            return (run.host_id != self.host_id).then(|| elsewhere.to_owned());
        };
        let mut now = self.machine.clone();
        now.build = self.build(&(run.serve_id.clone(), made.engine.clone()));
        if made.model_files.is_some() {
            now.model_files = self.model(&made.model);
        }
        if made.cpu.is_some() {
            now.cpu = super::machine::cpu();
        }
        now.data = self.profiles.get(&run.profile_id).and_then(|p| self.data_of(p, &made.model));
        made.differs(&now)
    }

    /// The id of the image that an engine is put into.
    fn image(&self, engine: &Engine) -> Option<String> {
        let Via::Container(boxed) = &engine.via else { return None };
        self.images.get(&container::image(engine, boxed).ok()?).cloned()
    }

    fn build(&self, key: &(String, String)) -> Option<String> {
        if let Some(known) = self.engines.borrow().get(key) {
            return known.clone();
        }
        let engine =
            self.program.engines.values().find(|e| serve_id(e, self.images) == key.0 && stated(e) == key.1);
        let path = self.site.env.iter().find(|e| e.name == "PATH").map(|e| e.value.as_str());
        let found = engine.and_then(|e| build::installed(e, path, self.study_dir));
        self.engines.borrow_mut().insert(key.clone(), found.clone());
        found
    }

    fn model(&self, name: &str) -> Option<String> {
        let mut models = self.models.borrow_mut();
        let at = self.site.models.get(name).map(String::as_str);
        models.entry(name.to_owned()).or_insert_with(|| hub::known(name, at, self.study_dir)).clone()
    }

    fn data_of(&self, p: &Profile, model: &str) -> Option<String> {
        let key = (profile::id(p), model.to_owned());
        if let Some(known) = self.data.borrow().get(&key) {
            return known.clone();
        }
        let file = order::tokenizer_file(p, model, self.study_dir, self.site);
        let found = file.and_then(|f| files::content(std::iter::once(f.as_path())).ok());
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
        site_env,
        load_generator: LOAD_GENERATION,
        ..Conditions::default()
    }
}

/// The results of a journal as it was last measured, wherever it is read: those that still counted when its last run was made.
pub fn as_measured(history: &History, serve_ids: &[String]) -> Results {
    let Some(last) = history.runs().last() else { return Results::default() };
    let mut builds: HashMap<(&str, &str), &Option<String>> = HashMap::new();
    let mut models: HashMap<&str, &Option<String>> = HashMap::new();
    let mut data: HashMap<(&str, &str), &Option<String>> = HashMap::new();
    for run in history.runs() {
        let Some(made) = &run.made else { continue };
        builds.insert((&run.serve_id, &made.engine), &made.build);
        models.insert(&made.model, &made.model_files);
        data.insert((&run.profile_id, &made.model), &made.data);
    }
    let counts = |run: &RunRecord| {
        let (Some(made), Some(now)) = (&run.made, &last.made) else { return run.host_id == last.host_id };
        let build = builds.get(&(run.serve_id.as_str(), made.engine.as_str()));
        let now = Conditions {
            build: build.and_then(|b| (*b).clone()),
            model_files: models.get(made.model.as_str()).and_then(|m| (*m).clone()),
            data: data.get(&(run.profile_id.as_str(), made.model.as_str())).and_then(|d| (*d).clone()),
            ..(**now).clone()
        };
        made.differs(&now).is_none()
    };
    history.results(|run| serve_ids.contains(&run.serve_id) && counts(run))
}
