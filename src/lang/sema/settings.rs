//! Changes onto a list of settings: what each one sets, keys of JSON flags merged in, what is taken away.

use foldhash::HashMap;
use serde_json::Value as Json;

use super::problem::Problem;
use super::program::{Change, Engine, EnvSetting, WrittenValue};
use super::schema::{self, Found, KeySpec, Kind, Schema, Setting, Split, Value, key};
use super::template;
use super::typed::typed;
use crate::lang::source::Span;

/// Keys below keys of a JSON flag; no real configuration has more than a few.
const DEEPEST_KEY: usize = 16;

type Under<'a> = Option<(&'a Schema, Option<&'a str>)>;

/// One key of a JSON flag: `--speculative-config.num_speculative_tokens`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonKey {
    /// the flag's first spelling
    canonical: String,
    /// the flag as written
    spelled: String,
    path: Vec<String>,
    file: bool,
    /// it holds a number, says the schema
    number: Option<Kind>,
}

impl JsonKey {
    /// The key that a name stands for, if it begins with a flag of the schema; an error if that flag has no keys.
    pub fn of(schema: &Schema, version: Option<&str>, name: &str) -> Option<Result<Self, Problem>> {
        let (flag, path) = name.split_once('.')?;
        let spec = match schema.find(flag, version) {
            Found::Known(spec, _) => spec,
            Found::Elsewhere(elsewhere) => return Some(Err(elsewhere.into())),
            Found::Unknown => return None,
        };
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        Some(if spec.kind != Kind::Json {
            Err(Problem::NotJson(flag.to_owned(), spec.kind.expected()))
        } else if path.iter().any(String::is_empty) || path.len() > DEEPEST_KEY {
            Err(Problem::BadKey)
        } else {
            Ok(Self {
                canonical: spec.names[0].clone(),
                spelled: spec.spelling(flag).to_owned(),
                number: number_at(&spec.keys, &path).cloned(),
                path,
                file: spec.file,
            })
        })
    }

    fn known(schema: &Schema, version: Option<&str>, name: &str) -> Option<Self> {
        if !matches!(schema.find(name, version), Found::Unknown) {
            return None;
        }
        Self::of(schema, version, name)?.ok()
    }

    /// The flag with this key alone; the value is JSON if it parses, a number with a unit where the key holds one, else text.
    pub fn setting(&self, value: Option<&WrittenValue>) -> Result<Setting, Problem> {
        let Some(value) = value else { return Err(Problem::NeedsValue("JSON, or text".to_owned())) };
        let text = if value.template { template::single_braces(&value.text) } else { value.text.clone() };
        let leaf = serde_json::from_str(&text).ok().or_else(|| self.with_unit(&text));
        // a list is one, or a slip in one
        if leaf.is_none() && !value.template && text.starts_with('[') {
            return Err(Problem::BadValue(
                format!("`{text}` is not JSON"),
                "a list as JSON, such as `[1, 2]`".to_owned(),
            ));
        }
        let leaf = leaf.unwrap_or_else(|| Json::from(text));
        self.with(&Json::Object(serde_json::Map::new()), leaf, value.template)
    }

    /// `32Ki` and `50%` as the numbers that they are, as flags take them.
    fn with_unit(&self, text: &str) -> Option<Json> {
        Some(schema::value(self.number.as_ref()?, text).ok()?.normal())
    }

    /// The flag with this key set over the JSON that it has.
    fn with(&self, base: &Json, leaf: Json, template: bool) -> Result<Setting, Problem> {
        let mut json = base.clone();
        self.place(&mut json, leaf)?;
        Ok(self.holding(json, template))
    }

    /// Puts a value under this key.
    fn place(&self, json: &mut Json, leaf: Json) -> Result<(), Problem> {
        let mut at = json;
        for (depth, name) in self.path.iter().enumerate() {
            let Json::Object(map) = at else {
                let parent = std::iter::once(&self.spelled).chain(&self.path[..depth]);
                return Err(Problem::NoObject(parent.map(String::as_str).collect::<Vec<_>>().join(".")));
            };
            let last = depth + 1 == self.path.len();
            at = map
                .entry(name.clone())
                .or_insert_with(|| if last { Json::Null } else { Json::Object(serde_json::Map::new()) });
        }
        *at = leaf;
        Ok(())
    }

    /// The flag with this JSON; as a `template` it holds names that only a launch inserts.
    fn holding(&self, json: Json, template: bool) -> Setting {
        Setting {
            canonical: self.canonical.clone(),
            spelled: self.spelled.clone(),
            shown: Some(shown_json(&json, template)),
            value: Value::Json(json),
            split: Split::Whole,
            template,
            file: self.file,
        }
    }

    fn joined(&self) -> String {
        format!("{}.{}", key(&self.canonical), self.path.join("."))
    }

    /// The key's value in the settings, if it is there.
    fn find<'s>(&self, settings: impl IntoIterator<Item = &'s Setting>) -> Option<Json> {
        let setting = settings.into_iter().find(|s| key(&s.canonical) == key(&self.canonical))?;
        let Value::Json(json) = &setting.value else { return None };
        self.path.iter().try_fold(json, |at, name| at.get(name)).cloned()
    }
}

/// What a path of keys holds, where that is a number.
fn number_at<'k>(keys: &'k [KeySpec], path: &[String]) -> Option<&'k Kind> {
    let (name, below) = path.split_first()?;
    let spec = keys.iter().find(|k| k.name == *name)?;
    if !below.is_empty() {
        return number_at(&spec.keys, below);
    }
    spec.kind.as_ref().filter(|kind| matches!(kind, Kind::Int { .. } | Kind::Float { .. }))
}

/// The value of one key of a JSON flag among settings; `None` where the name is none, or the key is not there.
pub fn key_value<'s>(
    settings: impl IntoIterator<Item = &'s Setting>,
    name: &str,
    schema: &Schema,
    version: Option<&str>,
) -> Option<Value> {
    Some(match JsonKey::known(schema, version, name)?.find(settings)? {
        Json::Bool(b) => Value::Switch(b),
        Json::Number(n) => {
            n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap_or(f64::NAN)), Value::Int)
        }
        Json::String(s) => Value::Text(s),
        Json::Null => return None,
        other => Value::Json(other),
    })
}

/// Whether the schema has the flag under this version, or the JSON flag whose key this is.
pub fn knows(schema: &Schema, version: Option<&str>, name: &str) -> bool {
    matches!(schema.find(name, version), Found::Known(..))
        || JsonKey::known(schema, version, name).is_some()
        || schema.is_unread(name)
}

/// What a flag's name stands for: its first spelling where the schema is known; the path of a JSON key as written.
pub fn flag_target(name: &str, under: Under<'_>) -> String {
    if let Some((schema, version)) = under {
        if let Found::Known(spec, _) = schema.find(name, version) {
            return key(&spec.names[0]);
        }
        if let Some(key) = JsonKey::known(schema, version, name) {
            return key.joined();
        }
    }
    match name.split_once('.') {
        Some((flag, path)) => format!("{}.{path}", key(flag)),
        None => key(name),
    }
}

/// What a change sets: two factors of a product with the same target clash.
pub fn target(change: &Change, under: Under<'_>) -> String {
    match change {
        Change::Engine(_) => "engine".to_owned(),
        Change::Model(_) => "model".to_owned(),
        Change::Env(EnvSetting { name, .. }) | Change::UnsetEnv(name) => format!("env {name}"),
        Change::Flag { name, .. } | Change::Raw { name, .. } | Change::UnsetFlag { name, .. } => {
            flag_target(name, under)
        }
    }
}

/// What the changes of one engine or point have set so far.
#[derive(Default)]
pub struct Taken {
    /// by target: where, and whether it was taken away
    exact: HashMap<String, (Span, bool)>,
    /// every key that leads to one that is set
    above: HashMap<String, Span>,
}

impl Taken {
    /// Enters a change. If its target is taken: where, in words why not, and the place of this one.
    pub fn take(&mut self, change: &Change, engine: Option<&Engine>) -> Option<(Span, &'static str, Span)> {
        let (Change::Flag { span, .. } | Change::Raw { span, .. } | Change::UnsetFlag { span, .. }) = change
        else {
            return None;
        };
        let gone = matches!(change, Change::UnsetFlag { .. });
        let what = target(change, engine.map(|e| (&*e.schema, e.version.as_deref())));
        let above: Vec<&str> = what.match_indices('.').map(|(i, _)| &what[..i]).take(DEEPEST_KEY).collect();
        let clash = self.exact.get(&what).copied().or_else(|| {
            // the whole flag and a key in it go together; a key and one below it do not
            let below = self.above.get(&what).filter(|_| !above.is_empty()).map(|s| (*s, gone));
            below.or_else(|| above.iter().skip(1).find_map(|a| self.exact.get(*a)).copied())
        });
        if let Some((first, was_gone)) = clash {
            let message = if gone == was_gone {
                "this sets the same flag twice"
            } else {
                "this sets and unsets the same flag"
            };
            return Some((first, message, *span));
        }
        let whole = json_value(change).map(|json| inner_keys(&what, &json)).unwrap_or_default();
        let inner = whole.iter().find_map(|k| self.exact.get(k)).copied();
        for name in above {
            self.above.entry(name.to_owned()).or_insert(*span);
        }
        for name in whole {
            self.exact.entry(name).or_insert((*span, false));
        }
        self.exact.insert(what, (*span, gone));
        inner.map(|(first, _)| (first, "this sets the same key of a JSON flag twice", *span))
    }
}

fn json_value(change: &Change) -> Option<Json> {
    match change {
        Change::Flag { value: Some(v), .. } if v.json => serde_json::from_str(&v.text).ok(),
        _ => None,
    }
}

/// The keys of a whole JSON value, as targets.
fn inner_keys(flag: &str, json: &Json) -> Vec<String> {
    let mut out = Vec::new();
    if let Json::Object(map) = json {
        for (name, inner) in map {
            let target = format!("{flag}.{name}");
            if flag.matches('.').count() < DEEPEST_KEY && inner.is_object() {
                out.extend(inner_keys(&target, inner));
            } else {
                out.push(target);
            }
        }
    }
    out
}

/// Whether a change sets a key of a JSON flag; such changes follow those that set the whole flag, wherever they are written.
pub fn is_key(change: &Change) -> bool {
    matches!(change, Change::Flag { name, .. } if name.contains('.'))
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
            let setting = typed(schema, version, name, value.as_ref())?;
            match JsonKey::known(schema, version, name) {
                Some(key) => merged(settings, &key, setting)?,
                None => setting,
            }
        }
        Change::Raw { name, value, .. } => raw(schema, version, name, value.as_ref()),
        Change::UnsetFlag { name, .. } => {
            unset(settings, name, schema, version);
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

/// Sets keys of JSON flags one after another. What a flag then reads is written once, however many keys it gets.
pub fn set_keys<'c>(
    settings: &mut Vec<Setting>,
    changes: impl IntoIterator<Item = &'c Change>,
    schema: &Schema,
    version: Option<&str>,
) -> Vec<(&'c Change, Problem)> {
    let (mut problems, mut stale) = (Vec::new(), Vec::new());
    for change in changes {
        match set_key(settings, change, schema, version) {
            Some(Ok(at)) => stale.push(at),
            Some(Err(problem)) => problems.push((change, problem)),
            None => problems.extend(set(settings, change, schema, version).err().map(|p| (change, p))),
        }
    }
    stale.sort_unstable();
    stale.dedup();
    for at in stale {
        let setting = &mut settings[at];
        if let Value::Json(json) = &setting.value {
            setting.shown = Some(shown_json(json, setting.template));
        }
    }
    problems
}

/// Sets a key in the JSON that a flag has, without what the flag reads; tells where that flag stands. `None` where there is no such flag.
fn set_key(
    settings: &mut [Setting],
    change: &Change,
    schema: &Schema,
    version: Option<&str>,
) -> Option<Result<usize, Problem>> {
    let Change::Flag { name, value, .. } = change else { return None };
    let json_key = JsonKey::known(schema, version, name)?;
    let at = settings.iter().position(|s| s.canonical == json_key.canonical)?;
    let old = &mut settings[at];
    let Value::Json(base) = &mut old.value else { return None };
    let alone = match typed(schema, version, name, value.as_ref()) {
        Ok(alone) => alone,
        Err(problem) => return Some(Err(problem)),
    };
    let leaf = json_key.find([&alone]).unwrap_or_default();
    if let Err(problem) = json_key.place(base, leaf) {
        return Some(Err(problem));
    }
    old.spelled = alone.spelled;
    old.template |= alone.template;
    Some(Ok(at))
}

fn shown_json(json: &Json, template: bool) -> String {
    let text = json.to_string();
    if template { template::double_braces(&text) } else { text }
}

/// A key joins the JSON that the flag already has.
fn merged(settings: &[Setting], key: &JsonKey, alone: Setting) -> Result<Setting, Problem> {
    let Some(old) = settings.iter().find(|s| s.canonical == key.canonical) else { return Ok(alone) };
    let leaf = key.find([&alone]).unwrap_or_default();
    let template = old.template || alone.template;
    match &old.value {
        Value::Json(base) => key.with(base, leaf, template),
        _ => key.with(&Json::Null, leaf, template),
    }
}

fn unset(settings: &mut Vec<Setting>, name: &str, schema: &Schema, version: Option<&str>) {
    let Some(json_key) = JsonKey::known(schema, version, name) else {
        let gone = flag_target(name, Some((schema, version)));
        settings.retain(|s| key(&s.canonical) != gone);
        return;
    };
    let Some(setting) = settings.iter_mut().find(|s| s.canonical == json_key.canonical) else { return };
    let (Value::Json(json), Some((last, parents))) = (&setting.value, json_key.path.split_last()) else {
        return;
    };
    let mut json = json.clone();
    let parent = parents.iter().try_fold(&mut json, |at, name| at.get_mut(name));
    if let Some(map) = parent.and_then(Json::as_object_mut) {
        map.shift_remove(last);
        let spelled = std::mem::take(&mut setting.spelled);
        *setting = Setting { spelled, ..json_key.holding(json, setting.template) };
    }
}

/// Passed on without being asked for in the schema. Of a flag that the schema has it is the same setting, so that one command is
/// one configuration; a value that the schema would refuse is kept as text.
fn raw(schema: &Schema, version: Option<&str>, name: &str, value: Option<&WrittenValue>) -> Setting {
    if let Ok(known) = typed(schema, version, name, value)
        && JsonKey::known(schema, version, name).is_none()
    {
        return known;
    }
    let canonical = match schema.find(name, version) {
        Found::Known(spec, _) => spec.names[0].clone(),
        _ => key(name),
    };
    untyped(canonical, name, value)
}

/// A flag as it stands: its value is text that nobody has looked into.
pub fn untyped(canonical: String, name: &str, value: Option<&WrittenValue>) -> Setting {
    let (kind, shown) = match value {
        Some(v) => (Value::Text(v.text.clone()), Some(v.text.clone())),
        None => (Value::Switch(true), None),
    };
    Setting {
        canonical,
        spelled: name.to_owned(),
        value: kind,
        shown,
        split: Split::Whole,
        template: value.is_some_and(|v| v.template),
        file: false,
    }
}

/// A setting as another version of the engine understands it. What was passed on `raw` stays as it is.
pub fn under_version(
    setting: &Setting,
    before: (&Schema, Option<&str>),
    schema: &Schema,
    version: Option<&str>,
) -> Result<Setting, Problem> {
    if !knows(before.0, before.1, &setting.canonical) {
        return Ok(setting.clone());
    }
    let span = Span::default();
    let value = setting.shown.as_ref().map(|text| WrittenValue {
        text: text.clone(),
        json: matches!(setting.value, Value::Json(_)),
        template: setting.template,
        span,
    });
    typed(schema, version, &setting.spelled, value.as_ref())
}
