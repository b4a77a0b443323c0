//! A configuration: an engine, a model, flags and environment; what makes two of them the same.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use crate::lang::Program;
use crate::lang::sema::flags::{self, Problem};
use crate::lang::sema::program::{Change, Engine, EnvSetting, Point, Study};
use crate::lang::sema::schema::{Found, Setting, Value, key};

#[derive(Debug, Clone)]
pub struct Config {
    pub engine: Arc<Engine>,
    pub model: String,
    /// set by a point: it stays when another point changes the engine
    model_by_point: bool,
    flags: Vec<Setting>,
    env: Vec<EnvSetting>,
    /// computed when first asked for: a walk asks often
    id: OnceLock<String>,
}

impl Config {
    /// An engine as declared, under a study's model.
    pub fn declared(engine: &Arc<Engine>, study: &Study) -> Self {
        Self {
            engine: engine.clone(),
            model: engine.model.clone().unwrap_or_else(|| study.model.clone()),
            model_by_point: false,
            flags: engine.flags.clone(),
            env: engine.env.clone(),
            id: OnceLock::new(),
        }
    }

    /// An engine without the flags and variables that its declaration has: what a recorded command starts from.
    pub fn bare(engine: &Arc<Engine>, model: &str) -> Self {
        Self {
            engine: engine.clone(),
            model: model.to_owned(),
            model_by_point: false,
            flags: Vec::new(),
            env: Vec::new(),
            id: OnceLock::new(),
        }
    }

    /// In the order in which they first appeared.
    pub fn flags(&self) -> &[Setting] {
        &self.flags
    }

    pub fn env(&self) -> &[EnvSetting] {
        &self.env
    }

    /// This configuration with points set over it; the engine's point applies first. The error says why it cannot be.
    pub fn with(&self, points: &[&Point], program: &Program, study: &Study) -> Result<Self, String> {
        let mut config = self.clone();
        let changes = || points.iter().flat_map(|p| &p.changes);
        for change in changes() {
            if let Change::Engine(name) = change {
                let engine = program.engines.get(name).ok_or_else(|| format!("no engine is called {name}"))?;
                let kept = config.model_by_point.then(|| config.model.clone());
                config = Self::declared(engine, study);
                if let Some(model) = kept {
                    // this one is fresh: its identity has not been asked for yet
                    config.model = model;
                    config.model_by_point = true;
                }
            }
        }
        for change in changes() {
            config.set(change).map_err(|p| p.reason(flag_name(change), &config.engine))?;
        }
        Ok(config)
    }

    /// Sets one change, the engine's excepted.
    pub fn set(&mut self, change: &Change) -> Result<(), Problem> {
        self.id = OnceLock::new();
        match change {
            Change::Engine(_) => Ok(()),
            Change::Model(m) => {
                self.model.clone_from(m);
                self.model_by_point = true;
                Ok(())
            }
            Change::Env { name, value } => {
                flags::set_env(&mut self.env, name, value);
                Ok(())
            }
            Change::UnsetEnv(name) => {
                self.env.retain(|e| e.name != *name);
                Ok(())
            }
            Change::Flag { .. } | Change::Raw { .. } | Change::UnsetFlag { .. } => {
                flags::set(&mut self.flags, change, &self.engine.schema, self.engine.version.as_deref())
            }
        }
    }

    /// The flag's value here, else its default; `None` if it is not there.
    pub fn flag(&self, name: &str) -> Option<Value> {
        let version = self.engine.version.as_deref();
        let canonical = match self.engine.schema.find(name, version) {
            Found::Known(spec, _) => key(&spec.names[0]),
            _ => key(name),
        };
        let set = self.flags.iter().find(|s| key(&s.canonical) == canonical).map(|s| s.value.clone());
        set.or_else(|| self.engine.schema.default(name, version)).filter(|v| *v != Value::Text("auto".to_owned()))
    }

    /// GPUs that it needs: the product of its flags that the schema marks `uses gpus`.
    pub fn gpus(&self) -> u32 {
        let version = self.engine.version.as_deref();
        let mut product = 1u32;
        for setting in &self.flags {
            let Found::Known(spec, _) = self.engine.schema.find(&setting.canonical, version) else { continue };
            let Some(uses) = &spec.uses_gpus else { continue };
            if uses.unless.as_ref().is_some_and(|f| self.flag(f) == Some(Value::Switch(true))) {
                continue;
            }
            if let Value::Int(n) = setting.value {
                product = product.saturating_mul(u32::try_from(n).unwrap_or(1).max(1));
            }
        }
        product
    }

    /// The normal form: what identity is computed from and what documents show. Two spellings of one configuration are equal here.
    pub fn normal(&self) -> Json {
        let mut flags: Vec<(String, Json)> =
            self.flags.iter().map(|s| (s.canonical.clone(), s.value.normal())).collect();
        flags.sort_by_key(|f| key(&f.0));
        let flags: Vec<Json> = flags.into_iter().map(|(n, v)| json!({"name": n, "value": v})).collect();
        let mut env: Vec<_> = self.env.iter().map(|e| (e.name.clone(), Json::from(e.value.as_str()))).collect();
        env.sort_by(|a, b| a.0.cmp(&b.0));
        json!({
            "engine": self.engine.root(),
            "version": self.engine.version,
            "model": self.model,
            "flags": flags,
            "env": env.into_iter().collect::<Map<_, _>>(),
            "gpus": self.gpus(),
        })
    }

    /// Twelve hex digits that are the same for the same configuration, whatever its spelling.
    pub fn id(&self) -> &str {
        self.id.get_or_init(|| short_hash(&self.normal().to_string()))
    }

    /// How far it is from its engine as declared: a flag, a variable, the model or a JSON flag being one each, plus one for an
    /// engine that is not the baseline's. Ties go to the fewest.
    pub fn changes(&self, declared_model: &str, baseline: &Engine) -> usize {
        let own = &self.engine;
        let flags = self.flags.iter().filter(|s| !own.flags.iter().any(|o| same_setting(o, s))).count();
        let gone = own.flags.iter().filter(|o| !self.flags.iter().any(|s| s.canonical == o.canonical)).count();
        let env = self.env.iter().filter(|e| !own.env.contains(e)).count();
        let model = self.model != own.model.as_deref().unwrap_or(declared_model);
        flags + gone + env + usize::from(model) + usize::from(own.name != baseline.name)
    }

    /// What differs from another configuration, as flags are typed: for tables.
    pub fn difference(&self, base: &Config) -> Vec<String> {
        let mut out = Vec::new();
        let same_engine = self.engine.root() == base.engine.root();
        if !same_engine || self.engine.version != base.engine.version {
            let version = self.engine.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
            out.push(format!("{}{version}", self.engine.title));
        }
        if self.model != base.model {
            out.push(format!("model {}", self.model));
        }
        let changed = self.flags.iter().filter(|s| !base.flags.iter().any(|o| same_setting(o, s)));
        out.extend(changed.map(|s| super::command::setting_words(s, true).join(" ")));
        if same_engine {
            let gone = base.flags.iter().filter(|o| !self.flags.iter().any(|s| s.canonical == o.canonical));
            out.extend(gone.map(|o| format!("without {}", o.spelled)));
        }
        out.extend(self.env.iter().filter(|e| !base.env.contains(e)).map(|e| format!("{}={}", e.name, e.value)));
        out
    }
}

fn same_setting(a: &Setting, b: &Setting) -> bool {
    key(&a.canonical) == key(&b.canonical) && a.value.normal() == b.value.normal()
}

fn flag_name(change: &Change) -> &str {
    match change {
        Change::Flag { name, .. } | Change::Raw { name, .. } | Change::UnsetFlag { name, .. } => name,
        _ => "",
    }
}

/// The first twelve hex digits of a SHA-256.
pub fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(6).fold(String::with_capacity(12), |mut out, b| {
        // writing to a string cannot fail
        let _ = write!(out, "{b:02x}");
        out
    })
}
