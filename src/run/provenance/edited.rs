//! Why nothing of an edited study counts, although it was measured: its results are of a configuration, or of a load, that the file no
//! longer says.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value as Json;

use crate::journal::History;
use crate::judge::{Setup, Walk};
use crate::plan::Config;

/// Trials of which no result counts (configuration and profile settings), and why.
pub type Again = HashMap<(String, String), String>;

/// What a configuration consists of: `env CASE` → its value, `--seed` → its value, `model` → its name.
type Parts = BTreeMap<String, String>;

/// Adds the trials that were measured before the file was edited, and what of them was.
pub fn edited(history: &History, setup: &Setup<'_>, walk: &Walk, again: &mut Again) {
    let Some((baseline, _)) = &walk.baseline else { return };
    if history.launches().is_empty() {
        return;
    }
    let measured: HashSet<&str> = history.runs().iter().map(|r| &*r.config_id).collect();
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
                before.as_ref().and_then(|b| b.why(&need.config))
            };
            again.extend(why.map(|why| (key, why)));
        }
    }
}

/// The configurations that were launched, without what the baseline has otherwise than then.
struct Before {
    edits: BTreeSet<String>,
    rest: HashSet<Parts>,
}

impl Before {
    /// Told by the launch that is nearest to the baseline: an edit changes little.
    fn of(history: &History, baseline: &Config) -> Option<Self> {
        let own = parts(&baseline.normal());
        let texts: BTreeSet<&str> = history.launches().iter().map(|l| &*l.config).collect();
        let all: Vec<Parts> =
            texts.into_iter().filter_map(|text| Some(parts(&serde_json::from_str(text).ok()?))).collect();
        let edits = all.iter().map(|then| differing(then, &own)).min_by_key(BTreeSet::len)?;
        let rest = all.into_iter().map(|then| without(then, &edits)).collect();
        (!edits.is_empty()).then_some(Self { edits, rest })
    }

    fn why(&self, config: &Config) -> Option<String> {
        const NAMED: usize = 4;
        self.rest.contains(&without(parts(&config.normal()), &self.edits)).then(|| {
            let named: Vec<&str> = self.edits.iter().take(NAMED).map(String::as_str).collect();
            let more = if self.edits.len() > NAMED { " and more" } else { "" };
            let verb = if self.edits.len() == 1 { "was" } else { "were" };
            format!("measured before {}{more} {verb} edited", named.join(", "))
        })
    }
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
            ("serve", _) => {
                drop(parts.insert("the serve line, api, args or reset".to_owned(), value.to_string()));
            }
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
