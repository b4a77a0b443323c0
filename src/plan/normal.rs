//! The normal form of a configuration: what its identity is computed from and what documents show of it.

use std::borrow::Cow;

use foldhash::HashSet;
use serde::Serialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::config::Config;
use super::held::{self, Held};
use super::identity::short_hash;
use crate::lang::sema::schema::Value;
use crate::secrets::{mask_leaves, mask_value};

/// The fields of the normal form, in the order in which they are written.
#[derive(Debug, Serialize)]
pub struct Normal<'a> {
    engine: &'a str,
    /// a hash over how it is started, where that is not as the root of that name is
    #[serde(skip_serializing_if = "Option::is_none")]
    serve: Option<String>,
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

impl Config {
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
            self.env().iter().map(|e| (&*e.name, super::command::normal_variable(e, self))).collect();
        env.sort_unstable();
        if masked {
            for (name, value) in &mut env {
                *value = mask_value(name, value).into_owned().into();
            }
        }
        Normal {
            engine: self.engine.root(),
            serve: self.engine.apart.as_deref().map(short_hash),
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
                Cow::Owned(held::normal(&held.setting, &seen(super::command::normal_template(t, self)), None))
            }
            Value::Json(_) if held.setting.template => {
                let shown = held.setting.shown.as_deref().unwrap_or_default();
                Cow::Owned(held::normal(&held.setting, &seen(super::command::normal_json(shown, self)), None))
            }
            _ if masked => Cow::Borrowed(held.shown()),
            _ => Cow::Borrowed(held.normal()),
        }
    }
}
