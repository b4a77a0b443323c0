//! A flag as configurations hold it. Thousands of candidates set the same few flags, so what identity, GPU count and comparison need
//! is worked out once and shared.

use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value as Json, json};

use super::command::setting_words;
use super::shell::quote;
use crate::lang::sema::program::Engine;
use crate::lang::sema::schema::{Found, Setting, Value, key};
use crate::secrets::{mask_leaves, mask_words};

/// One flag of a configuration.
#[derive(Debug)]
pub struct Held {
    pub setting: Setting,
    /// under which it replaces another and by which the normal form is ordered
    pub key: String,
    /// its part of the normal form
    pub normal: Box<RawValue>,
    /// the same as people may see it, where that is something else
    pub shown: Option<Box<RawValue>>,
    /// as it is typed in a command, its secrets masked; what only a launch knows is inserted elsewhere
    pub typed: String,
    /// as a change is printed, its secrets masked
    pub change: String,
    /// where the schema says that it multiplies the GPUs that are needed
    pub gpus: Option<Uses>,
}

/// A flag that `uses gpus`.
#[derive(Debug)]
pub struct Uses {
    pub count: u32,
    /// a switch under which it does not
    pub unless: Option<String>,
}

impl Held {
    pub fn new(setting: Setting, engine: &Engine) -> Arc<Self> {
        let value = match &setting.value {
            // words go word by word
            Value::Text(t) if setting.words => t.split_whitespace().collect::<Vec<_>>().join(" ").into(),
            value => value.normal(),
        };
        let seen = mask_leaves(&setting.canonical, value.clone());
        let shown = (seen != value).then(|| normal(&setting, &seen));
        let normal = normal(&setting, &value);
        let words = mask_words(setting_words(&setting, engine.joined));
        let typed = words.iter().map(|w| quote(w)).collect::<Vec<_>>().join(" ");
        let change = mask_words(setting_words(&setting, true)).join(" ");
        let (key, gpus) = (key(&setting.canonical), uses(&setting, engine));
        Arc::new(Self { setting, key, normal, shown, typed, change, gpus })
    }
}

/// A flag's part of the normal form.
pub fn normal(setting: &Setting, value: &Json) -> Box<RawValue> {
    // what was read as JSON or text is always JSON
    to_raw_value(&json!({"name": setting.canonical, "value": value}))
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn uses(setting: &Setting, engine: &Engine) -> Option<Uses> {
    let Found::Known(spec, _) = engine.schema.find(&setting.canonical, engine.version.as_deref()) else {
        return None;
    };
    let unless = spec.uses_gpus.as_ref()?.unless.clone();
    let Value::Int(n) = setting.value else { return None };
    Some(Uses { count: u32::try_from(n).unwrap_or(1).max(1), unless })
}
