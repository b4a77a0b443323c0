//! Settings of other tools as the language's: a key with a value as a change, a list of them as an axis.

use indexmap::IndexMap;
use serde_json::Value;

use super::arguments::Argument;
use super::draft::Axis;
use super::known::Engine;
use super::shell::Word;
use super::{reader, value, yaml};
use crate::lang::sema::program;
use crate::lang::sema::schema::{Found, Kind};
use crate::lang::sema::typed::typed;

/// One point: changes to a configuration, as text.
#[derive(Debug, Clone, Default)]
pub struct Point {
    pub name: String,
    pub title: Option<String>,
    pub changes: Vec<String>,
    /// one of them stands as it was typed, though the engine does not take it
    pub as_typed: bool,
}

/// How a tool makes flags of its settings.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    pub engine: Engine,
    pub known: &'a program::Engine,
    /// `false` is `--no-flag`; else the flag is left out
    pub negates: bool,
}

/// What one setting of another tool is here.
#[derive(Debug, Clone)]
pub enum Said {
    Flag(Argument),
    Model(String),
}

/// Changes as text; what the schema knows nothing of is passed on unchecked.
pub fn texts(all: &[Said]) -> Vec<String> {
    let text = |said: &Said| match said {
        Said::Model(name) => format!("model {}", value::text(name)),
        Said::Flag(a) if a.passed_on() => format!("raw {}", a.text()),
        Said::Flag(a) => a.text(),
    };
    all.iter().map(text).collect()
}

/// The flags among settings.
pub fn flags(all: &[Said]) -> impl Iterator<Item = &Argument> {
    all.iter().filter_map(|said| match said {
        Said::Flag(a) => Some(a),
        Said::Model(_) => None,
    })
}

/// Whether one of them stands as it was typed, for the checker to explain.
pub fn as_typed(all: &[Said]) -> bool {
    flags(all).any(Argument::wrong)
}

impl Reading<'_> {
    /// What a setting stands for; `None` where it changes nothing, an error in words where it cannot be said.
    pub fn said(&self, key: &str, setting: &Value) -> Result<Option<Said>, String> {
        let options = self.engine.model_options();
        let names_model = options.contains(&flag_name(key).as_str()) || matches!(key, "model" | "model_path");
        match setting {
            Value::String(name) if names_model && !name.trim().is_empty() => {
                Ok(Some(Said::Model(name.clone())))
            }
            _ => Ok(self.argument(key, setting)?.map(Said::Flag)),
        }
    }

    /// Whether several values of a setting are one: words, or JSON. Of an unknown flag a list is what it is.
    pub fn takes_list(&self, key: &str) -> bool {
        match self.known.schema.find(&flag_name(key), self.known.version.as_deref()) {
            Found::Known(spec, _) => matches!(spec.kind, Kind::Words | Kind::Json),
            _ => true,
        }
    }

    /// What makes two settings the same to the engine: the flag's first spelling, and its value as the schema types it.
    pub fn normal(&self, said: &Said) -> String {
        let Said::Flag(flag) = said else { return format!("{said:?}") };
        let (schema, version) = (&self.known.schema, self.known.version.as_deref());
        match typed(schema, version, &flag.name, flag.written().as_ref()) {
            Ok(setting) => format!("{}={}", setting.canonical, setting.value.normal()),
            Err(_) => flag.text(),
        }
    }

    /// The same as an argument of the command.
    pub fn argument(&self, key: &str, setting: &Value) -> Result<Option<Argument>, String> {
        let flag = flag_name(key);
        let is_key = key.contains('.');
        let words = match setting {
            // a key of a JSON flag has a value, whatever it is
            Value::Bool(is) if is_key => vec![format!("{flag}={is}")],
            Value::Bool(true) => vec![flag],
            Value::Bool(false) if self.negates => vec![format!("--no-{}", flag.trim_start_matches('-'))],
            Value::Bool(false) | Value::Null => return Ok(None),
            Value::Array(all) => {
                let words: Option<Vec<String>> = all.iter().map(yaml::word).collect();
                let words = words.ok_or_else(|| format!("{key}: a list of more than words"))?;
                std::iter::once(flag).chain(words).collect()
            }
            Value::Object(_) => vec![format!("{flag}={setting}")],
            Value::Number(n) => vec![format!("{flag}={}", self.number(&flag, n))],
            _ => vec![format!("{flag}={}", yaml::word(setting).unwrap_or_default())],
        };
        self.read(words).map(Some)
    }

    /// A number as the flag takes it: JSON and YAML may have `32.0` for a count.
    fn number(&self, flag: &str, n: &serde_json::Number) -> String {
        let counts = match self.known.schema.find(flag, self.known.version.as_deref()) {
            Found::Known(spec, _) => matches!(spec.kind, Kind::Int { .. }),
            _ => false,
        };
        match n.as_f64().filter(|f| counts && f.fract() == 0.0 && f.abs() < 9e15) {
            Some(whole) => (whole as i64).to_string(),
            None => n.to_string(),
        }
    }

    /// What words say, as one flag.
    fn read(&self, mut words: Vec<String>) -> Result<Argument, String> {
        let shown = words.join(" ");
        // any model will do: these are flags only
        words.insert(0, "model".to_owned());
        if let Some(option) = self.engine.model_options().first().filter(|_| self.engine.serves_by_option()) {
            words.insert(0, (*option).to_owned());
        }
        let words: Vec<Word> = words.into_iter().map(Word::plain).collect();
        let read = reader::read(self.engine, self.known, &words).map_err(|e| e.to_string())?;
        let mut flags = read.flags.into_iter();
        let why = read.left_out.first().cloned().unwrap_or_else(|| format!("{shown}: it is no flag"));
        flags.next().ok_or(why)
    }
}

/// `max_num_seqs` as `--max-num-seqs`; keys inside of JSON stay as they are.
fn flag_name(key: &str) -> String {
    let (flag, inner) = key.split_once('.').map_or((key, None), |(f, i)| (f, Some(i)));
    let flag = flag.trim_start_matches('-').replace('_', "-");
    inner.map_or_else(|| format!("--{flag}"), |i| format!("--{flag}.{i}"))
}

/// An axis of points; where all set one flag alone, as a list of its values.
pub fn axis(name: &str, points: Vec<Point>) -> Option<Axis> {
    let as_typed = points.iter().any(|p| p.as_typed);
    let single: Option<Vec<(&str, &str)>> = points
        .iter()
        .map(|p| match p.changes.as_slice() {
            [one] if p.title.is_none() && !one.starts_with("raw ") && !one.contains('{') => {
                one.split_once('=')
            }
            _ => None,
        })
        .collect();
    let text = match (single.as_deref(), points.as_slice()) {
        (_, []) => return None,
        (Some([(flag, value)]), _) => format!("{flag}={value}"),
        (Some(all @ [(flag, _), ..]), _) if all.iter().all(|(f, _)| f == flag) => {
            let values: Vec<&str> = all.iter().map(|(_, v)| *v).collect();
            format!("{flag}=[{}]", values.join(", "))
        }
        (_, [one]) if one.title.is_none() => one.changes.join(" "),
        _ => {
            let lines: Vec<String> = unique(points).iter().map(line).collect();
            format!("{{\n{}\n}}", lines.join(",\n"))
        }
    };
    Some(Axis { name: name.to_owned(), text, comment: None, given: true, as_typed })
}

fn line(point: &Point) -> String {
    let title = point.title.as_ref().map(|t| format!(" {}", value::text(t))).unwrap_or_default();
    format!("    {}{title}: {}", point.name, point.changes.join(" "))
}

/// Points with names of their own.
fn unique(points: Vec<Point>) -> Vec<Point> {
    let mut seen: IndexMap<String, usize> = IndexMap::new();
    let mut named = |mut point: Point| {
        let count = seen.entry(point.name.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            point.name = format!("{}_{count}", point.name);
        }
        point
    };
    points.into_iter().map(&mut named).collect()
}

/// A point's name from the values that it sets, as those are called: `lpm`, `on_fa3`; numbers have a word before them, `set_64_2048`.
pub fn point_name<'v>(values: impl Iterator<Item = &'v Value>) -> String {
    let word = |v: &Value| match v {
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        other => yaml::word(other).unwrap_or_else(|| "set".to_owned()),
    };
    let words: Vec<String> = values.map(word).collect();
    let all = words.join("_");
    let begins = all.starts_with(|c: char| c.is_ascii_alphabetic());
    value::name(&if begins { all } else { format!("set_{all}") })
}
