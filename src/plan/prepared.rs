//! What a study's points become under each engine, worked out once for all the candidates that combine them.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use super::config::Config;
use super::held::Held;
use super::labels::Labels;
use super::rulings::{OpenRules, Rulings};
use crate::lang::Program;
use crate::lang::sema::program::{Change, Engine, Point, Prune, Space, Study};
use crate::lang::sema::schema::Found;
use crate::lang::sema::typed::typed;

/// A memory for rendering candidates. It holds no results, only what follows from the file.
pub struct Prepared<'a> {
    program: &'a Program,
    study: &'a Study,
    engines: HashMap<String, Config>,
    /// by the places of change and engine, which stay as long as this does
    flags: HashMap<Places, (Arc<Engine>, Option<Made>)>,
    /// by the place of the space
    labels: HashMap<*const Space, Labels<'a>>,
    rulings: Rulings<'a>,
}

type Places = (*const Change, *const Engine);

/// A flag, or why it cannot be.
type Made = Result<Arc<Held>, String>;

impl<'a> Prepared<'a> {
    pub fn new(program: &'a Program, study: &'a Study) -> Self {
        Self {
            program,
            study,
            engines: HashMap::new(),
            flags: HashMap::new(),
            labels: HashMap::new(),
            rulings: Rulings::new(&study.prune),
        }
    }

    /// What is printed for points of a step that stand together.
    pub fn label(&mut self, points: &[&Point], space: &'a Space) -> String {
        self.labels.entry(std::ptr::from_ref(space)).or_insert_with(|| Labels::of(space)).label(points)
    }

    /// Keeps what holds for another study of the file too: what points make of an engine, and under the same model what engines declare.
    pub fn turn_to(&mut self, study: &'a Study) {
        if study.model != self.study.model {
            self.engines.clear();
        }
        self.study = study;
        self.rulings = Rulings::new(&study.prune);
    }

    pub(super) fn study(&self) -> &'a Study {
        self.study
    }

    /// The first of the study's rules that excludes a configuration before it is measured, else those that are still open.
    pub(super) fn ruled(&mut self, config: &Config) -> Result<OpenRules, &'a Prune> {
        self.rulings.of(config)
    }

    /// An engine as declared.
    pub fn declared(&mut self, name: &str) -> Result<&Config, String> {
        if !self.engines.contains_key(name) {
            let engine = self.program.engines.get(name);
            let engine = engine.ok_or_else(|| format!("no engine is called {name}"))?;
            self.engines.insert(name.to_owned(), Config::declared(engine, self.study));
        }
        Ok(&self.engines[name])
    }

    /// What a change makes of any configuration of an engine: a flag, or why it cannot be. `None` where that depends on what the
    /// configuration has already.
    pub fn held(&mut self, change: &'a Change, engine: &Arc<Engine>) -> Option<&Made> {
        let place = (std::ptr::from_ref(change), Arc::as_ptr(engine));
        self.flags.entry(place).or_insert_with(|| (engine.clone(), held(change, engine))).1.as_ref()
    }
}

fn held(change: &Change, engine: &Engine) -> Option<Made> {
    let Change::Flag { name, value, .. } = change else { return None };
    let (schema, version) = (&engine.schema, engine.version.as_deref());
    // a dotted key joins what is there
    if matches!(schema.find(name, version), Found::Unknown) {
        return None;
    }
    let setting = typed(schema, version, name, value.as_ref()).map_err(|p| p.reason(name, engine));
    Some(setting.map(|s| Held::new(s, engine)))
}
