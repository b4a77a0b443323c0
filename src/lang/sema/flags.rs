//! Changes to a configuration: from the tree, against a schema, and onto a list of settings.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::check::Checker;
use super::program::{Change, Engine, EnvSetting, WrittenValue};
use super::schema::{self, Found, Kind, Schema, Setting, Value, key};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, did_you_mean};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, ChangeKind, Single, SingleKind};

impl Checker<'_> {
    /// The changes that one written change stands for: a list stands for one each, the index of the point.
    pub fn one_change(&mut self, module: usize, change: &ast::Change, in_engine: bool) -> Vec<Change> {
        let values = self.spread(module, change, in_engine);
        if values.len() > 1 {
            let message = "a list of values stands for the points of an axis";
            let d = Diagnostic::new(Code::ListOutsideAxis, change.span, message).label("a list here");
            self.sink.push(d.help("write `axis NAME = --flag=[…]` and vary it in a step"));
        }
        values.into_iter().next().into_iter().collect()
    }

    /// One change for each value of a list, or the one.
    pub fn spread(&mut self, module: usize, change: &ast::Change, launch: bool) -> Vec<Change> {
        let span = change.span;
        match &change.kind {
            ChangeKind::Flag(f) => {
                self.flag_values(module, f, launch, |name, value| Change::Flag { name, value, span })
            }
            ChangeKind::Raw(f) => {
                self.later(format!("`raw {}`", f.name.value), span, false);
                self.flag_values(module, f, launch, |name, value| Change::Raw { name, value, span })
            }
            ChangeKind::Env { name, value } => {
                let values = singles(value);
                let all = values.iter().filter_map(|s| self.written(module, s, false)).collect::<Vec<_>>();
                all.into_iter().map(|v| Change::Env { name: name.value.clone(), value: v.text }).collect()
            }
            ChangeKind::Model(text) => vec![Change::Model(self.inserted(module, text, false))],
            ChangeKind::UnsetFlag(name) => {
                self.later(format!("`unset {}`", name.value), span, false);
                vec![Change::UnsetFlag { name: name.value.clone(), span: name.span }]
            }
            ChangeKind::UnsetEnv(name) => {
                self.later(format!("`unset env {}`", name.value), span, false);
                vec![Change::UnsetEnv(name.value.clone())]
            }
        }
    }

    fn flag_values(
        &mut self,
        module: usize,
        flag: &ast::Flag,
        launch: bool,
        make: impl Fn(String, Option<WrittenValue>) -> Change,
    ) -> Vec<Change> {
        let name = flag.name.value.clone();
        match &flag.value {
            None => vec![make(name, None)],
            Some(value) => {
                let written: Vec<_> =
                    singles(value).iter().filter_map(|s| self.written(module, s, launch)).collect();
                written.into_iter().map(|v| make(name.clone(), Some(v))).collect()
            }
        }
    }

    /// A value with its params inserted; `None` where one cannot be, which has been said.
    fn written(&mut self, module: usize, single: &Single, launch: bool) -> Option<WrittenValue> {
        let text = match single.kind {
            SingleKind::Text => {
                let inserted = self.inserted_text(module, &single.text, single.span, launch);
                inserted.whole.then_some(inserted.text)?
            }
            SingleKind::Word | SingleKind::Json => single.text.clone(),
        };
        let template = launch && single.kind == SingleKind::Text && text.contains(['{', '}']);
        Some(WrittenValue { text, json: single.kind == SingleKind::Json, template, span: single.span })
    }

    /// Whether a change is possible for an engine; what is not is reported at the change.
    pub fn check_change(&mut self, change: &Change, engine: &Engine) -> bool {
        let Change::Flag { name, value, span } = change else {
            return match change {
                Change::UnsetFlag { name, span } => self.check_unset(name, *span, engine),
                _ => true,
            };
        };
        match typed(&engine.schema, engine.version.as_deref(), name, value.as_ref()) {
            Ok(setting) => {
                self.at_default(&setting, value.as_ref().map_or(*span, |v| v.span), engine);
                if dotted(&engine.schema, engine.version.as_deref(), name).is_some() {
                    self.later(format!("the JSON key `{name}`"), *span, false);
                }
                true
            }
            Err(problem) => {
                self.sink.push(problem.diagnostic(name, *span, value.as_ref(), engine));
                false
            }
        }
    }

    /// A flag set to its default is its own trial: the command differs, the engine need not.
    pub fn at_default(&mut self, setting: &Setting, span: Span, engine: &Engine) {
        let default = engine.schema.default(&setting.canonical, engine.version.as_deref());
        if default.is_none_or(|d| d.normal() != setting.value.normal()) {
            return;
        }
        let value = setting.shown.as_ref().map(|v| format!("={v}")).unwrap_or_default();
        let message = format!("{}{value} is what {} does by default", setting.spelled, engine.title);
        let help = "leave it out, unless the default is to be measured against itself";
        self.sink.push(Diagnostic::new(Code::AaPair, span, message).label("changes nothing").help(help));
    }

    fn check_unset(&mut self, name: &str, span: Span, engine: &Engine) -> bool {
        if !matches!(engine.schema.find(name, engine.version.as_deref()), Found::Unknown) {
            return true;
        }
        self.sink.push(Problem::Unknown.diagnostic(name, span, None, engine));
        false
    }

    /// The same flag set twice in one engine or point; without an engine, under one spelling.
    pub fn twice(&mut self, changes: &[Change], engine: Option<&Engine>) {
        let schema = engine.map(|e| (&*e.schema, e.version.as_deref()));
        let mut seen: HashMap<String, Span> = HashMap::new();
        for change in changes {
            let (Change::Flag { span, .. } | Change::Raw { span, .. }) = change else { continue };
            let Some(what) = target(change, schema) else { continue };
            if let Some(first) = seen.get(&what) {
                let message = "this sets the same flag twice";
                let d = Diagnostic::new(Code::FlagTwice, *span, message).label("the second one");
                self.sink.push(d.related(*first, "the first one").help("keep one of them"));
            } else {
                seen.insert(what, *span);
            }
        }
    }
}

fn singles(value: &ast::Value) -> Vec<Single> {
    match value {
        ast::Value::Single(s) => vec![s.clone()],
        ast::Value::List(all, _) => all.clone(),
    }
}

/// What a change sets: two changes with the same target clash. Flags go by their first spelling where the schema is known.
pub fn target(change: &Change, schema: Option<(&Schema, Option<&str>)>) -> Option<String> {
    Some(match change {
        Change::Engine(_) => "engine".to_owned(),
        Change::Model(_) => "model".to_owned(),
        Change::Env { name, .. } | Change::UnsetEnv(name) => format!("env {name}"),
        Change::Flag { name, .. } | Change::Raw { name, .. } | Change::UnsetFlag { name, .. } => {
            match schema.map(|(s, v)| s.find(name, v)) {
                Some(Found::Known(spec, _)) => key(&spec.names[0]),
                _ => key(name),
            }
        }
    })
}

/// Why a flag cannot be set.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    Unknown,
    OtherVersion(String),
    /// belongs to the serve line
    Reserved,
    NeedsValue(String),
    TakesNone,
    /// what is wrong, what is taken
    BadValue(String, String),
}

impl Problem {
    /// For a table: why a candidate cannot be.
    pub fn reason(&self, name: &str, engine: &Engine) -> String {
        let version = engine.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
        match self {
            Self::Unknown => format!("{} has no flag {name}", engine.title),
            Self::OtherVersion(v) => format!("{}{version} has no flag {name} ({v})", engine.title),
            Self::Reserved => format!("{name} belongs to the serve line"),
            Self::NeedsValue(_) => format!("{name} needs a value"),
            Self::TakesNone => format!("{name} takes no value"),
            Self::BadValue(why, _) => format!("{name}: {why}"),
        }
    }

    pub fn diagnostic(
        &self,
        name: &str,
        span: Span,
        value: Option<&WrittenValue>,
        engine: &Engine,
    ) -> Diagnostic {
        let at_value = value.map_or(span, |v| v.span);
        let message = self.reason(name, engine);
        match self {
            Self::Unknown => {
                let d = Diagnostic::new(Code::UnknownFlag, span, message);
                let wanted = key(name);
                let known: Vec<String> = engine.schema.names().map(key).collect();
                match did_you_mean(&wanted, known.iter().map(String::as_str)) {
                    Some(near) => d
                        .label(format!("did you mean `{near}`?"))
                        .help(format!("write {near}, or `raw {name}` to pass it on unchecked")),
                    None => d.label("unknown").help(format!("`raw {name}` passes it on unchecked")),
                }
            }
            Self::OtherVersion(_) => Diagnostic::new(Code::FlagVersion, span, message)
                .label("not in this version")
                .help("use another flag, or another version of the engine"),
            Self::Reserved => Diagnostic::new(Code::ReservedFlag, span, message)
                .label("not a flag of a configuration")
                .help("perflab inserts host, port and model; name a model with `model \"…\"`"),
            Self::NeedsValue(expected) => Diagnostic::new(Code::FlagNeedsValue, span, message)
                .label("without a value")
                .help(format!("write {name}=VALUE; it takes {expected}")),
            Self::TakesNone => Diagnostic::new(Code::FlagNeedsValue, at_value, message)
                .label("a switch is present or not")
                .help(format!("write {name}")),
            Self::BadValue(_, expected) => Diagnostic::new(Code::BadFlagValue, at_value, message)
                .label("does not fit")
                .help(format!("it takes {expected}")),
        }
    }
}

/// What a schema says of a default that the engine decides at start, and what may be written for it whatever the flag's type;
/// a switch takes no value, not this one either.
const AUTO: &str = "auto";

/// A flag and its value under a schema: the setting that it makes.
pub fn typed(
    schema: &Schema,
    version: Option<&str>,
    name: &str,
    value: Option<&WrittenValue>,
) -> Result<Setting, Problem> {
    if matches!(key(name).as_str(), "--host" | "--port") {
        return Err(Problem::Reserved);
    }
    let (spec, negated) = match schema.find(name, version) {
        Found::Known(spec, negated) => (spec, negated),
        Found::OtherVersion(v) => return Err(Problem::OtherVersion(v)),
        Found::Unknown => {
            return match dotted(schema, version, name) {
                Some((canonical, _)) => Ok(dotted_setting(&canonical, name, value)),
                None => Err(Problem::Unknown),
            };
        }
    };
    let canonical = spec.names[0].clone();
    let spelled = name.to_owned();
    let words = spec.kind == Kind::Words;
    if spec.kind == Kind::Switch {
        return match value {
            Some(_) => Err(Problem::TakesNone),
            None => Ok(Setting {
                canonical,
                spelled,
                value: Value::Switch(!negated),
                shown: None,
                words,
                template: false,
            }),
        };
    }
    let Some(written) = value else { return Err(Problem::NeedsValue(spec.kind.expected())) };
    // where the engine itself decides by default, it can be told to: `--max-model-len=auto`
    if written.text == AUTO && spec.default.as_deref() == Some(AUTO) {
        let (value, shown) = (Value::Text(AUTO.to_owned()), Some(AUTO.to_owned()));
        return Ok(Setting { canonical, spelled, value, shown, words, template: false });
    }
    let value =
        schema::value(&spec.kind, &written.text).map_err(|e| Problem::BadValue(e, spec.kind.expected()))?;
    let shown = Some(shown(&value, &written.text));
    Ok(Setting { canonical, spelled, value, shown, words, template: written.template })
}

fn shown(value: &Value, written: &str) -> String {
    match value {
        Value::Int(i) => i.to_string(),
        Value::Json(j) => j.to_string(),
        Value::Float(f) if written.parse::<f64>().is_err() => f.to_string(),
        _ => written.to_owned(),
    }
}

/// `--speculative-config.num_speculative_tokens`: the JSON flag and the path in it.
pub fn dotted(schema: &Schema, version: Option<&str>, name: &str) -> Option<(String, Vec<String>)> {
    let (flag, path) = name.split_once('.')?;
    match schema.find(flag, version) {
        Found::Known(spec, _) if spec.kind == Kind::Json => {
            Some((spec.names[0].clone(), path.split('.').map(str::to_owned).collect()))
        }
        _ => None,
    }
}

fn dotted_setting(canonical: &str, name: &str, value: Option<&WrittenValue>) -> Setting {
    let text = value.map_or("true", |v| v.text.as_str());
    let leaf = serde_json::from_str::<Json>(text).unwrap_or_else(|_| Json::from(text));
    let (flag, path) = name.split_once('.').unwrap_or((name, ""));
    let nested = path
        .split('.')
        .rev()
        .fold(leaf, |inner, k| Json::Object(std::iter::once((k.to_owned(), inner)).collect()));
    let shown = Some(nested.to_string());
    Setting {
        canonical: canonical.to_owned(),
        spelled: flag.to_owned(),
        value: Value::Json(nested),
        shown,
        words: false,
        template: false,
    }
}

/// Sets or unsets a flag in a list of settings: it keeps the place where it first appeared and the spelling that it last had.
pub fn set(
    settings: &mut Vec<Setting>,
    change: &Change,
    schema: &Schema,
    version: Option<&str>,
) -> Result<(), Problem> {
    let setting = match change {
        Change::Flag { name, value, .. } => {
            let mut setting = typed(schema, version, name, value.as_ref())?;
            if matches!(schema.find(name, version), Found::Unknown) {
                merge_into(settings, &mut setting);
            }
            setting
        }
        Change::Raw { name, value, .. } => raw(name, value.as_ref()),
        Change::UnsetFlag { name, .. } => {
            let canonical = match schema.find(name, version) {
                Found::Known(spec, _) => key(&spec.names[0]),
                _ => key(name),
            };
            settings.retain(|s| key(&s.canonical) != canonical);
            return Ok(());
        }
        _ => return Ok(()),
    };
    match settings.iter_mut().find(|s| key(&s.canonical) == key(&setting.canonical)) {
        Some(old) => *old = setting,
        None => settings.push(setting),
    }
    Ok(())
}

fn raw(name: &str, value: Option<&WrittenValue>) -> Setting {
    let (kind, shown) = match value {
        Some(v) => (Value::Text(v.text.clone()), Some(v.text.clone())),
        None => (Value::Switch(true), None),
    };
    Setting {
        canonical: key(name),
        spelled: name.to_owned(),
        value: kind,
        shown,
        words: false,
        template: value.is_some_and(|v| v.template),
    }
}

/// A dotted key joins the JSON that the flag already has.
fn merge_into(settings: &[Setting], setting: &mut Setting) {
    let Some(old) = settings.iter().find(|s| s.canonical == setting.canonical) else { return };
    let (Value::Json(base), Value::Json(new)) = (&old.value, &setting.value) else { return };
    let mut merged = base.clone();
    deep_merge(&mut merged, new);
    setting.spelled.clone_from(&old.spelled);
    setting.shown = Some(merged.to_string());
    setting.value = Value::Json(merged);
}

fn deep_merge(base: &mut Json, new: &Json) {
    match (base, new) {
        (Json::Object(base), Json::Object(new)) => {
            for (k, v) in new {
                deep_merge(base.entry(k.clone()).or_insert(Json::Null), v);
            }
        }
        (base, new) => *base = new.clone(),
    }
}

pub fn set_env(env: &mut Vec<EnvSetting>, name: &str, value: &str) {
    match env.iter_mut().find(|e| e.name == name) {
        Some(old) => value.clone_into(&mut old.value),
        None => env.push(EnvSetting { name: name.to_owned(), value: value.to_owned() }),
    }
}
