//! A configuration: an engine, a model, flags and environment; what makes two of them the same.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use foldhash::HashSet;
use serde::Serialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::held::{self, Held};
use super::identity::Id;
use super::prepared::Prepared;
use crate::lang::sema::counted;
use crate::lang::sema::flags;
use crate::lang::sema::problem::Problem;
use crate::lang::sema::program::{Change, Engine, EnvSetting, Point, Study};
use crate::lang::sema::schema::{FlagSpec, Found, Setting, Value, key};
use crate::lang::sema::settings;
use crate::secrets::{mask_leaves, mask_value};

pub use super::identity::short_hash;

#[derive(Debug, Clone)]
pub struct Config {
    pub engine: Arc<Engine>,
    pub model: String,
    /// set by a point: it stays when another point changes the engine
    model_by_point: bool,
    flags: Vec<Arc<Held>>,
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

    /// GPUs that it needs: the product of its flags that the schema marks `uses gpus`, each times what those come to that it marks
    /// `adds gpus`.
    pub fn gpus(&self) -> u32 {
        let on = |flag: &str| self.flag(flag).is_some_and(|v| v.stands());
        let counted = self.flags.iter().filter_map(|h| h.gpus.as_ref());
        let counted = counted.filter(|u| !u.unless.as_deref().is_some_and(on));
        let set = |spec: &FlagSpec| {
            let held = self.flags.iter().find(|h| h.key == key(&spec.names[0]))?;
            Some(held.setting.value.clone())
        };
        counted.fold(counted::added(&self.engine, set, on), |product, u| product.saturating_mul(u.count))
    }

    /// The normal form: what identity is computed from and what documents show. Two spellings of one configuration are equal here.
    pub fn normal(&self) -> Json {
        serde_json::to_value(self.normal_form()).unwrap_or_default()
    }

    /// The same as people may see it: its secrets masked. It identifies nothing.
    pub fn shown(&self) -> Json {
        serde_json::to_value(self.shown_form()).unwrap_or_default()
    }

    /// The normal form, written out where it is needed.
    pub fn normal_form(&self) -> Normal<'_> {
        self.form(false)
    }

    /// The same with its secrets masked.
    pub fn shown_form(&self) -> Normal<'_> {
        self.form(true)
    }

    fn form(&self, masked: bool) -> Normal<'_> {
        let mut flags: Vec<&Held> = self.flags.iter().map(|h| &**h).collect();
        flags.sort_by(|a, b| a.key.cmp(&b.key));
        let mut env: Vec<(&str, Cow<str>)> =
            self.env.iter().map(|e| (&*e.name, super::command::normal_variable(e, self))).collect();
        env.sort_unstable();
        if masked {
            for (name, value) in &mut env {
                *value = mask_value(name, value).into_owned().into();
            }
        }
        Normal {
            engine: self.engine.root(),
            version: self.engine.version.as_deref(),
            model: &self.model,
            flags: flags.into_iter().map(|h| self.normal_flag(h, masked)).collect(),
            env,
            gpus: self.gpus(),
        }
    }

    /// The normal form without some flags, by their keys.
    pub(super) fn normal_without(&self, left_out: &HashSet<String>) -> Json {
        let mut rest = self.clone();
        rest.flags.retain(|h| !left_out.contains(&h.key));
        rest.normal()
    }

    /// A flag's part of the normal form; what a launch inserts counts as it will read.
    fn normal_flag<'h>(&self, held: &'h Held, masked: bool) -> Cow<'h, RawValue> {
        let seen = |value| if masked { mask_leaves(&held.setting.canonical, value) } else { value };
        match &held.setting.value {
            Value::Text(t) if held.setting.template => {
                Cow::Owned(held::normal(&held.setting, &seen(super::command::normal_template(t, self))))
            }
            Value::Json(_) if held.setting.template => {
                let shown = held.setting.shown.as_deref().unwrap_or_default();
                Cow::Owned(held::normal(&held.setting, &seen(super::command::normal_json(shown, self))))
            }
            _ if masked => Cow::Borrowed(held.shown()),
            _ => Cow::Borrowed(held.normal()),
        }
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

/// The fields of the normal form, in the order in which they are written.
#[derive(Debug, Serialize)]
pub struct Normal<'a> {
    engine: &'a str,
    version: Option<&'a str>,
    model: &'a str,
    flags: Vec<Cow<'a, RawValue>>,
    #[serde(serialize_with = "as_map")]
    env: Vec<(&'a str, Cow<'a, str>)>,
    gpus: u32,
}

fn as_map<S: serde::Serializer>(env: &[(&str, Cow<str>)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(env.iter().map(|(name, value)| (name, value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::analyze;
    use crate::lang::source::NoFiles;
    use crate::plan::command;
    use std::path::Path;

    const ENGINE: &str = r#"
        engine own "Our own" {
            serve "own serve {model} --host {host} --port={port} --url http://{host}:{port} -v --serve={model}"
            ready get "/health"
            version "1.0"
            flag --tensor-parallel-size -tp int 1..  default 1 uses gpus
            flag --max-num-seqs             int 1..  default 256
            flag --max-model-len            int 1..  default "auto"
            flag --memory                   float 0..1
            flag --config                   json
            flag --prefix-caching           switch   negated --no-prefix-caching default true
            flag --name                     text
            flag --words                    words
        }
    "#;

    /// The configuration of an engine with these lines, under a study.
    fn config(lines: &str) -> Config {
        let text = format!(
            "{ENGINE}\nengine mine = own {{\n{lines}\n}}\nprofile p {{\n data random\n input 1\n output 1\n rate max\n}}\n\
             study s {{\n model \"org/m\"\n baseline mine\n maximize total_tps on p\n step a {{ vary a }}\n}}\naxis a = --name=x\n"
        );
        let analysis = analyze(&NoFiles, "test.plab", &text);
        assert!(!analysis.has_errors(), "{lines}: {:?}", analysis.diagnostics);
        let program = analysis.program;
        Config::declared(&program.engines["mine"], &program.studies[0])
    }

    fn same(a: &str, b: &str) {
        assert_eq!(config(a).id(), config(b).id(), "{a} and {b}");
    }

    fn different(a: &str, b: &str) {
        assert_ne!(config(a).id(), config(b).id(), "{a} and {b}");
    }

    #[test]
    fn spellings_of_one_configuration_are_one() {
        same("--max-num-seqs=512", "--max_num_seqs=512");
        same("-tp=2", "--tensor-parallel-size=2");
        same("--max-model-len=32Ki", "--max-model-len=32768");
        same("--memory=0.90", "--memory=0.9");
        same("--memory=1", "--memory=1.0");
        same("--max-num-seqs=512 -tp=2", "-tp=2\n--max-num-seqs=512");
        same("--no-prefix-caching", "--no_prefix_caching");
        same(
            r#"--config={"a": 1, "b": {"d": 2.0, "c": [1]}}"#,
            r#"--config={"b":{"c":[1.0],"d":2},"a":1.0}"#,
        );
        same("env A=1 env B=2", "env B=2 env A=1");
        same(r#"--name="x""#, "--name=x");
        same(r#"--name="{model}""#, r#"--name="{model}""#);
    }

    #[test]
    fn what_differs_is_another_configuration() {
        different("--max-num-seqs=512", "--max-num-seqs=513");
        different("", "--max-num-seqs=512");
        // a flag set to its default is not the flag left out
        different("", "--max-num-seqs=256");
        different("", "--max-model-len=auto");
        different("--prefix-caching", "--no-prefix-caching");
        different("", "--prefix-caching");
        different("--name=x", "--name=X");
        different("--name=0.90", "--name=0.9");
        different(r#"--config={"a": [1, 2]}"#, r#"--config={"a": [2, 1]}"#);
        different("env A=1", "env A=01");
        different("", r#"model "org/other""#);
        different("env A=1", "env B=1");
    }

    #[test]
    fn the_version_and_the_root_engine_count_and_names_do_not() {
        let (a, mut b, mut c) = (config("-tp=2"), config("-tp=2"), config("-tp=2"));
        let mut engine = (*b.engine).clone();
        "another".clone_into(&mut engine.name);
        "Another title".clone_into(&mut engine.title);
        engine.ancestry.insert(0, "another".to_owned());
        b.engine = Arc::new(engine.clone());
        assert_eq!(a.id(), b.id());
        engine.version = Some("1.1".to_owned());
        c.engine = Arc::new(engine);
        assert_ne!(a.id(), c.id());
    }

    #[test]
    fn flags_keep_the_order_of_their_first_appearance_and_their_last_spelling() {
        let mut config = config("--max-num-seqs=512 -tp=2 --name=a");
        for (name, value) in [("--tensor_parallel_size", "4"), ("--max_num_seqs", "1Ki")] {
            let value = crate::lang::sema::program::WrittenValue {
                text: value.to_owned(),
                json: false,
                template: false,
                span: crate::lang::source::Span::default(),
            };
            let change = Change::Flag {
                name: name.to_owned(),
                value: Some(value),
                span: crate::lang::source::Span::default(),
            };
            assert_eq!(config.set(&change), Ok(()));
        }
        let argv = command::to_copy(&config).argv;
        let flags = &argv[argv.len() - 3..];
        assert_eq!(flags, ["--max-num-seqs=1024", "--tensor-parallel-size=4", "--name=a"]);
        assert_eq!(config.gpus(), 4);
    }

    #[test]
    fn variables_say_what_a_launch_inserts() {
        let variable =
            |value: &str| EnvSetting { name: "A".to_owned(), value: value.to_owned(), template: true };
        let with = |value: &str| {
            let mut config = config("");
            assert_eq!(config.set(&Change::Env(variable(value))), Ok(()));
            config
        };
        let launched = |config: &Config| {
            let address = command::Address {
                host: "127.0.0.1",
                port: 8000,
                model: "/models/m",
                files: Path::new("launch"),
            };
            command::to_launch(config, address).env[0].1.clone()
        };
        let (model, address) = (with("{model} of {{}}"), with("http://{host}:{port}"));
        assert_eq!(launched(&model), "org/m of {}");
        assert_eq!(command::to_copy(&model).env[0].1, "org/m of {}");
        assert_eq!(launched(&address), "http://127.0.0.1:8000");
        assert_eq!(command::to_copy(&address).env[0].1, "http://<host>:<port>");
        let typed = |value: &str| {
            let mut config = config("");
            let plain = EnvSetting { template: false, ..variable(value) };
            assert_eq!(config.set(&Change::Env(plain)), Ok(()));
            config
        };
        assert_eq!(model.id(), typed("org/m of {}").id());
        assert_ne!(address.id(), typed("http://{host}:0").id());
    }

    #[test]
    fn words_that_hold_the_address_are_not_for_copying() {
        let config = config("--name=x");
        assert_eq!(
            command::to_copy(&config).argv,
            ["own", "serve", "org/m", "-v", "--serve=org/m", "--name=x"]
        );
        let launched = command::to_launch(
            &config,
            command::Address { host: "127.0.0.1", port: 8000, model: "org/m", files: Path::new("launch") },
        )
        .argv;
        assert_eq!(
            launched,
            [
                "own",
                "serve",
                "org/m",
                "--host",
                "127.0.0.1",
                "--port=8000",
                "--url",
                "http://127.0.0.1:8000",
                "-v",
                "--serve=org/m",
                "--name=x"
            ]
        );
    }

    #[test]
    fn publish_adds_and_hides() {
        let config = config(
            "--max-num-seqs=512 -tp=2\npublish --name=shown env A=1 because \"asked\"\npublish unset --max_num_seqs because \"noise\"",
        );
        let published = command::published(&config);
        assert_eq!(published.added, ["--name=shown", "A=1"]);
        assert_eq!(published.hidden, ["--max-num-seqs=512"]);
        let argv = published.command.argv;
        assert_eq!(&argv[argv.len() - 2..], ["-tp=2", "--name=shown"]);
        assert_eq!(published.command.env, [("A".to_owned(), "1".to_owned())]);
        // what is published was not measured: the configuration is the same
        assert_eq!(config.id(), self::config("--max-num-seqs=512 -tp=2").id());
    }

    #[test]
    fn a_flag_reads_as_its_value_else_its_default() {
        let config = config("-tp=2");
        assert_eq!(config.flag("--tensor_parallel_size"), Some(Value::Int(2)));
        assert_eq!(config.flag("--max-num-seqs"), Some(Value::Int(256)));
        assert_eq!(config.flag("--max-model-len"), None);
        assert_eq!(config.flag("--prefix-caching"), Some(Value::Switch(true)));
        assert_eq!(config.flag("--no-prefix-caching"), Some(Value::Switch(false)));
        assert_eq!(
            self::config("--no-prefix-caching").flag("--no_prefix_caching"),
            Some(Value::Switch(true))
        );
        assert_eq!(self::config("--max-model-len=auto").flag("--max-model-len"), None);
    }
}
