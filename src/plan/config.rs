//! A configuration: an engine, a model, flags and environment; what makes two of them the same.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::held::Held;
use super::identity::Id;
use super::prepared::Prepared;
use crate::lang::sema::flags;
use crate::lang::sema::problem::Problem;
use crate::lang::sema::program::{Change, Engine, EnvSetting, Point, Study};
use crate::lang::sema::schema::{Found, Setting, Value, key};
use crate::lang::sema::settings;
use crate::secrets::mask_value;

pub use super::identity::short_hash;

#[derive(Debug, Clone)]
pub struct Config {
    pub engine: Arc<Engine>,
    pub model: String,
    /// set by a point: it stays when another point changes the engine
    model_by_point: bool,
    pub(super) flags: Vec<Arc<Held>>,
    env: Vec<EnvSetting>,
    /// the serve words as people copy them, shared by all that have this engine and model
    serve: Arc<OnceLock<String>>,
    /// computed when first asked for: a walk asks often
    id: OnceLock<Id>,
}

impl Config {
    /// An engine as declared, under a study's model.
    pub fn declared(engine: &Arc<Engine>, study: &Study) -> Self {
        Self {
            engine: engine.clone(),
            model: engine.model.clone().unwrap_or_else(|| study.model.clone()),
            model_by_point: false,
            flags: engine.flags.iter().map(|s| Held::new(s.clone(), engine)).collect(),
            env: engine.env.clone(),
            serve: Arc::default(),
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
            serve: Arc::default(),
            id: OnceLock::new(),
        }
    }

    /// In the order in which they first appeared.
    pub fn flags(&self) -> impl Iterator<Item = &Setting> {
        self.flags.iter().map(|h| &h.setting)
    }

    pub(super) fn held(&self) -> &[Arc<Held>] {
        &self.flags
    }

    pub(super) fn serve_line(&self) -> &str {
        self.serve.get_or_init(|| super::command::serve_line(self))
    }

    pub fn env(&self) -> &[EnvSetting] {
        &self.env
    }

    /// This configuration with points set over it; the engine's point applies first. The error says why it cannot be.
    pub fn with<'a>(&self, points: &[&'a Point], prepared: &mut Prepared<'a>) -> Result<Self, String> {
        let mut config = self.clone();
        let changes = || points.iter().flat_map(|p| &p.changes);
        for change in changes() {
            if let Change::Engine(name) = change {
                let kept = config.model_by_point.then(|| config.model.clone());
                config = prepared.declared(name)?.clone();
                if let Some(model) = kept {
                    config.set_model(&model);
                }
            }
        }
        // a key of a JSON flag joins the flag wherever it is written
        let keys_last =
            changes().filter(|c| !settings::is_key(c)).chain(changes().filter(|c| settings::is_key(c)));
        for change in keys_last {
            match prepared.held(change, &config.engine) {
                Some(Ok(held)) => config.hold(held),
                Some(Err(reason)) => return Err(reason.clone()),
                None => config.set(change).map_err(|p| p.reason(flag_name(change), &config.engine))?,
            }
        }
        Ok(config)
    }

    /// Sets one change, the engine's excepted.
    pub fn set(&mut self, change: &Change) -> Result<(), Problem> {
        self.id = OnceLock::new();
        match change {
            Change::Engine(_) => Ok(()),
            Change::Model(m) => {
                self.set_model(m);
                Ok(())
            }
            Change::Env(variable) => {
                flags::set_env(&mut self.env, variable);
                Ok(())
            }
            Change::UnsetEnv(name) => {
                self.env.retain(|e| e.name != *name);
                Ok(())
            }
            Change::Flag { .. } | Change::Raw { .. } | Change::UnsetFlag { .. } => {
                let mut settings: Vec<Setting> = self.flags().cloned().collect();
                settings::set(&mut settings, change, &self.engine.schema, self.engine.version.as_deref())?;
                self.flags = settings.into_iter().map(|s| self.shared(s)).collect();
                Ok(())
            }
        }
    }

    fn set_model(&mut self, model: &str) {
        (self.id, self.serve) = (OnceLock::new(), Arc::default());
        model.clone_into(&mut self.model);
        self.model_by_point = true;
    }

    /// The setting as it is held already, if it is.
    fn shared(&self, setting: Setting) -> Arc<Held> {
        let old = self.flags.iter().find(|h| h.setting == setting);
        old.cloned().unwrap_or_else(|| Held::new(setting, &self.engine))
    }

    /// Takes a flag in the place where it first appeared.
    fn hold(&mut self, held: &Arc<Held>) {
        self.id = OnceLock::new();
        match self.flags.iter_mut().find(|h| h.key == held.key) {
            Some(old) => old.clone_from(held),
            None => self.flags.push(held.clone()),
        }
    }

    /// The flag's value here, else its default; `None` if it is not there. Asked by a negated spelling, a switch says the opposite.
    pub fn flag(&self, name: &str) -> Option<Value> {
        let version = self.engine.version.as_deref();
        let canonical = match self.engine.schema.find(name, version) {
            Found::Known(spec, true) => {
                return self.flag(&spec.names[0]).map(|value| match value {
                    Value::Switch(on) => Value::Switch(!on),
                    other => other,
                });
            }
            Found::Known(spec, false) => key(&spec.names[0]),
            _ if name.contains('.') => {
                return settings::key_value(self.flags(), name, &self.engine.schema, version);
            }
            _ => key(name),
        };
        let set = self.flags.iter().find(|h| h.key == canonical).map(|h| h.setting.value.clone());
        set.or_else(|| self.engine.schema.default(name, version))
            .filter(|v| !matches!(v, Value::Text(t) if t == "auto"))
    }

    /// Whether it sets a flag, or a key of one, whatever the flag's default is.
    pub fn sets(&self, name: &str) -> bool {
        let version = self.engine.version.as_deref();
        match self.engine.schema.find(name, version) {
            Found::Known(spec, _) => self.flags.iter().any(|h| h.key == key(&spec.names[0])),
            _ if name.contains('.') => {
                settings::key_value(self.flags(), name, &self.engine.schema, version).is_some()
            }
            _ => self.flags.iter().any(|h| h.key == key(name)),
        }
    }

    /// GPUs that it needs: the product of its flags that the schema marks `uses gpus`.
    pub fn gpus(&self) -> u32 {
        let counted = self.flags.iter().filter_map(|h| h.gpus.as_ref());
        let counted =
            counted.filter(|u| !u.unless.as_ref().is_some_and(|f| self.flag(f).is_some_and(|v| v.stands())));
        counted.fold(1, |product: u32, u| product.saturating_mul(u.count))
    }

    /// Twelve hex digits that are the same for the same configuration, whatever its spelling.
    pub fn id(&self) -> &str {
        self.id.get_or_init(|| Id::of_json(&self.normal_form())).as_str()
    }

    /// The identity of its trial under a load.
    pub fn trial(&self, load: &str) -> Id {
        let mut text = Vec::with_capacity(32);
        text.extend_from_slice(self.id().as_bytes());
        text.push(b'/');
        text.extend_from_slice(load.as_bytes());
        Id::of(&text)
    }

    /// The identity as a value of its own, for maps.
    pub fn key(&self) -> Id {
        *self.id.get_or_init(|| Id::of_json(&self.normal_form()))
    }

    /// How far it is from its engine as declared: a flag, a variable, the model or a JSON flag being one each, plus one for an
    /// engine that is not the baseline's. Ties go to the fewest.
    pub fn changes(&self, declared_model: &str, baseline: &Engine) -> usize {
        let own = &self.engine;
        let flags = self.flags().filter(|s| !own.flags.iter().any(|o| same_setting(o, s))).count();
        let gone = own.flags.iter().filter(|o| !self.flags().any(|s| s.canonical == o.canonical)).count();
        let has = |all: &[EnvSetting], e: &EnvSetting| all.iter().any(|o| o.name == e.name);
        let env = self.env.iter().filter(|e| !own.env.contains(e)).count()
            + own.env.iter().filter(|e| !has(&self.env, e)).count();
        let model = self.model != own.model.as_deref().unwrap_or(declared_model);
        flags + gone + env + usize::from(model) + usize::from(own.name != baseline.name)
    }

    /// Whether some flag shows at a glance that another configuration is not the same one: most need no look at their keys.
    pub fn plainly_differs(&self, other: &Config) -> bool {
        let differs = |h: &Arc<Held>| {
            let there = other.flags.iter().find(|o| o.key == h.key);
            there.is_some_and(|o| plainly_differ(&o.setting.value, &h.setting.value))
        };
        self.flags.iter().any(differs)
    }

    /// What differs from another configuration, as flags are typed: for tables.
    pub fn difference(&self, base: &Config) -> Vec<String> {
        self.differences(base).into_iter().map(Cow::into_owned).collect()
    }

    /// The same, borrowed where it can be.
    pub fn differences(&self, base: &Config) -> Vec<Cow<'_, str>> {
        let mut out = Vec::new();
        let same_engine = self.engine.root() == base.engine.root();
        if !same_engine || self.engine.version != base.engine.version {
            let version = self.engine.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
            out.push(format!("{}{version}", self.engine.title).into());
        }
        if self.model != base.model {
            out.push(format!("model {}", self.model).into());
        }
        let same = |a: &Arc<Held>, b: &Arc<Held>| {
            Arc::ptr_eq(a, b) || (a.key == b.key && a.setting.value.normal() == b.setting.value.normal())
        };
        let changed = self.flags.iter().filter(|h| !base.flags.iter().any(|o| same(o, h)));
        out.extend(changed.map(|h| Cow::from(h.change())));
        if same_engine {
            let gone = base.flags().filter(|o| !self.flags().any(|s| s.canonical == o.canonical));
            out.extend(gone.map(|o| format!("without {}", o.spelled).into()));
            let gone = base.env.iter().filter(|o| !self.env.iter().any(|e| e.name == o.name));
            out.extend(gone.map(|o| format!("without env {}", o.name).into()));
        }
        let new = self.env.iter().filter(|e| !base.env.contains(e));
        out.extend(new.map(|e| format!("{}={}", e.name, mask_value(&e.name, &e.value)).into()));
        out
    }
}

/// Whole numbers and switches that are not the same, however they are spelt.
fn plainly_differ(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a != b,
        (Value::Switch(a), Value::Switch(b)) => a != b,
        _ => false,
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

#[cfg(test)]
mod tests;
