//! Why nothing of an edited study counts, although it was measured: its results are of a configuration, or of a load, that the file no
//! longer says.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value as Json;

use crate::journal::History;
use crate::judge::{Setup, Walk};
use crate::plan::Config;

/// Trials of which no result counts (configuration and profile settings), and why.
pub type Again = HashMap<(String, String), String>;

/// What an engine is started and spoken to by, where that is not its root's.
const STARTED: &str = "the serve line, api, args or reset";

/// What the root of an engine is called.
const NAME: &str = "the engine's name";

/// What a configuration consists of: `env CASE` → its value, `--seed` → its value, `model` → its name.
type Parts = BTreeMap<String, String>;

/// Adds the trials that were measured before the file was edited, and what of them was.
pub fn edited(history: &History, setup: &Setup<'_>, walk: &Walk, again: &mut Again) {
    let Some((baseline, _)) = &walk.baseline else { return };
    if history.launches().is_empty() {
        return;
    }
    let measured: HashSet<&str> = history.runs().iter().map(|r| &*r.config_id).collect();
    let typed = LazyCell::new(|| Typed::of(history));
    let before = if measured.contains(baseline.id()) { None } else { Before::of(history, baseline) };
    for need in &walk.needs {
        let id = need.config.id();
        for name in &need.profiles {
            let key = (id.to_owned(), setup.load(name).to_owned());
            let counted = !setup.counted(&need.config, name).is_empty();
            if counted || again.contains_key(&key) {
                continue;
            }
            let why = if measured.contains(id) {
                Some(format!("measured before profile {name} was edited"))
            } else {
                let known = |id: &str| again.get(&(id.to_owned(), key.1.clone()));
                let edited = || before.as_ref().and_then(|b| b.why(&need.config, known));
                typed.why(&need.config).or_else(edited)
            };
            again.extend(why.map(|why| (key, why)));
        }
    }
}

/// The configurations that were launched, without what the baseline has otherwise than then.
struct Before {
    edits: BTreeSet<String>,
    /// with their identities
    rest: HashMap<Parts, String>,
}

impl Before {
    /// Told by the launch that is nearest to the baseline: an edit changes little.
    fn of(history: &History, baseline: &Config) -> Option<Self> {
        let own = parts(&baseline.normal());
        let texts: BTreeMap<&str, &str> =
            history.launches().iter().map(|l| (&*l.config, &*l.config_id)).collect();
        let read = |(text, id)| Some((parts(&serde_json::from_str(text).ok()?), id));
        let all: Vec<(Parts, &str)> = texts.into_iter().filter_map(read).collect();
        let edits = all.iter().map(|(then, _)| differing(then, &own)).min_by_key(BTreeSet::len)?;
        let rest = all.into_iter().map(|(then, id)| (without(then, &edits), id.to_owned())).collect();
        (!edits.is_empty()).then_some(Self { edits, rest })
    }

    /// `known` says why a result of a configuration does not count, by its identity.
    fn why<'k>(&self, config: &Config, known: impl Fn(&str) -> Option<&'k String>) -> Option<String> {
        const NAMED: usize = 4;
        let then = self.rest.get(&without(parts(&config.normal()), &self.edits))?;
        // of how it is started more is known than that it was edited
        let started = self.edits.iter().eq([STARTED]).then(|| known(then)).flatten();
        Some(started.cloned().unwrap_or_else(|| {
            let named: Vec<&str> = self.edits.iter().take(NAMED).map(String::as_str).collect();
            let more = if self.edits.len() > NAMED { " and more" } else { "" };
            let verb = if self.edits.len() == 1 { "was" } else { "were" };
            format!("measured before {}{more} {verb} edited", named.join(", "))
        }))
    }
}

/// The texts of configurations that were launched, by a hash over what they set, however their flags were declared: of many launches
/// little more than that is held.
struct Typed<'h>(HashMap<u64, Vec<&'h str>>);

impl<'h> Typed<'h> {
    fn of(history: &'h History) -> Self {
        let texts: BTreeSet<&str> = history.launches().iter().map(|l| &*l.config).collect();
        let mut all: HashMap<u64, Vec<&str>> = HashMap::new();
        for text in texts {
            if let Ok(config) = serde_json::from_str(text) {
                all.entry(hash(&words(&config))).or_default().push(text);
            }
        }
        Self(all)
    }

    /// That flags were declared otherwise then, so that the same settings were other words of a command.
    fn why(&self, config: &Config) -> Option<String> {
        let own = config.normal();
        let set = words(&own);
        let texts = self.0.get(&hash(&set))?.iter();
        let then = texts.filter_map(|text| serde_json::from_str(text).ok()).filter(|c| words(c) == set);
        let differ = |then: &Json| -> BTreeSet<String> {
            let (then, now) = (flags(then), flags(&own));
            now.filter(|f| !then.clone().any(|t| t == *f)).filter_map(named).collect()
        };
        let fewest = then.map(|c| differ(&c)).filter(|names| !names.is_empty()).min_by_key(BTreeSet::len)?;
        let named = fewest.into_iter().collect::<Vec<_>>().join(", ");
        Some(format!("measured before the declaration of {named} was edited"))
    }
}

fn hash(parts: &Parts) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

fn flags(config: &Json) -> impl Iterator<Item = &Json> + Clone {
    config["flags"].as_array().into_iter().flatten()
}

fn named(flag: &Json) -> Option<String> {
    flag["name"].as_str().map(str::to_owned)
}

/// The parts with each flag's value in the words that were written for it: `4` as a number and as a text.
fn words(config: &Json) -> Parts {
    let mut all = parts(config);
    for flag in flags(config) {
        let value = match &flag["value"] {
            Json::Array(words) => words.iter().map(word).collect::<Vec<_>>().join(" "),
            value => word(value),
        };
        all.extend(named(flag).map(|name| (name, value)));
    }
    all
}

fn word(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn parts(config: &Json) -> Parts {
    let mut parts = Parts::new();
    for (field, value) in config.as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("flags", Json::Array(flags)) => {
                let named = flags.iter().filter_map(|f| Some((f["name"].as_str()?, f["value"].to_string())));
                parts.extend(named.map(|(name, value)| (name.to_owned(), value)));
            }
            ("env", Json::Object(env)) => {
                parts.extend(env.iter().map(|(name, value)| (format!("env {name}"), value.to_string())));
            }
            // it follows from the flags
            ("gpus", _) => {}
            ("serve", _) => drop(parts.insert(STARTED.to_owned(), value.to_string())),
            ("engine", _) => drop(parts.insert(NAME.to_owned(), value.to_string())),
            (field, value) => drop(parts.insert(field.to_owned(), value.to_string())),
        }
    }
    parts
}

fn differing(a: &Parts, b: &Parts) -> BTreeSet<String> {
    a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name)).cloned().collect()
}

fn without(mut parts: Parts, names: &BTreeSet<String>) -> Parts {
    parts.retain(|name, _| !names.contains(name));
    parts
}
