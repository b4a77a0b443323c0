//! A flag as configurations hold it. Thousands of candidates set the same few flags, so what identity, GPU count and comparison need
//! is worked out once and shared.

use std::sync::{Arc, OnceLock};

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value as Json, json};

use super::command::{in_file, setting_words};
use super::shell::quote;
use crate::lang::sema::kinds::Value;
use crate::lang::sema::program::Engine;
use crate::lang::sema::schema::{Found, Setting, Split, key};
use crate::secrets::{mask_leaves, mask_words};

/// One flag of a configuration. What a check never asks for is worked out when it is asked for first.
#[derive(Debug)]
pub struct Held {
    pub setting: Setting,
    /// under which it replaces another and by which the normal form is ordered
    pub key: String,
    /// where the schema says that it multiplies the GPUs that are needed
    pub gpus: Option<Uses>,
    /// the engine takes a flag and its value as one word
    joined: bool,
    /// by which the engine is told that it is off
    off: Option<String>,
    normal: OnceLock<Box<RawValue>>,
    seen: OnceLock<Seen>,
}

/// A flag as people may see it.
#[derive(Debug)]
struct Seen {
    /// its part of the normal form, where a secret makes it another
    shown: Option<Box<RawValue>>,
    typed: String,
    change: String,
}

/// A flag that `uses gpus`, those that add to each other apart.
#[derive(Debug)]
pub struct Uses {
    pub count: u32,
    /// a switch under which it does not
    pub unless: Option<String>,
}

impl Held {
    pub fn new(setting: Setting, engine: &Engine) -> Arc<Self> {
        let (key, gpus) = (key(&setting.canonical), uses(&setting, engine));
        let off = turned_off(&setting, engine);
        let (normal, seen) = (OnceLock::new(), OnceLock::new());
        Arc::new(Self { setting, key, gpus, joined: engine.joined, off, normal, seen })
    }

    /// Its part of the normal form.
    pub fn normal(&self) -> &RawValue {
        self.normal.get_or_init(|| normal(&self.setting, &self.setting.value.normal(), self.off.as_deref()))
    }

    /// The same as people may see it.
    pub fn shown(&self) -> &RawValue {
        self.seen().shown.as_deref().unwrap_or_else(|| self.normal())
    }

    /// As it is typed in a command, its secrets masked; what only a launch knows is inserted elsewhere.
    pub fn typed(&self) -> &str {
        &self.seen().typed
    }

    /// As a change is printed, its secrets masked.
    pub fn change(&self) -> &str {
        &self.seen().change
    }

    fn seen(&self) -> &Seen {
        self.seen.get_or_init(|| {
            let value = self.setting.value.normal();
            let masked = mask_leaves(&self.setting.canonical, value.clone());
            let shown = (masked != value).then(|| normal(&self.setting, &masked, self.off.as_deref()));
            let mut words = mask_words(setting_words(&self.setting, self.joined));
            if self.setting.file {
                in_file(&self.setting, &mut words);
            }
            let typed = words.iter().map(|w| quote(w)).collect::<Vec<_>>().join(" ");
            let change = mask_words(setting_words(&self.setting, true)).join(" ");
            Seen { shown, typed, change }
        })
    }
}

/// A flag's part of the normal form; `off` is a word of its own by which it is turned off.
pub fn normal(setting: &Setting, value: &Json, off: Option<&str>) -> Box<RawValue> {
    // the same value in other words is another command
    let written = match setting.split {
        _ if setting.file => Some("file"),
        Split::Words => Some("words"),
        Split::Repeated => Some("repeated"),
        Split::Whole => off,
    };
    let mut document = json!({"name": setting.canonical, "value": value});
    if let (Some(how), Some(fields)) = (written, document.as_object_mut()) {
        fields.insert("as".to_owned(), how.into());
    }
    // what was read as JSON or text is always JSON
    to_raw_value(&document).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The word by which a switch is turned off, the first that its engine has for it, where that is not its own name behind `--no-`.
fn turned_off(setting: &Setting, engine: &Engine) -> Option<String> {
    if setting.value != Value::Switch(false) {
        return None;
    }
    let Found::Known(spec, _) = engine.schema.find(&setting.canonical, engine.version.as_deref()) else {
        return None;
    };
    let word = spec.negated.first()?;
    let usual = word.strip_prefix("--no-") == Some(setting.canonical.trim_start_matches('-'));
    (!usual).then(|| word.clone())
}

fn uses(setting: &Setting, engine: &Engine) -> Option<Uses> {
    let Found::Known(spec, _) = engine.schema.find(&setting.canonical, engine.version.as_deref()) else {
        return None;
    };
    let uses = spec.uses_gpus.as_ref().filter(|u| !u.adds)?;
    Some(Uses { count: setting.value.gpus()?, unless: uses.unless.clone() })
}
