//! Keys of servers: the flags and variables that hold what a server asks its clients for, so that whoever measures it can answer.

use super::check::Checker;
use super::program::Engine;
use super::schema::{Kind, key};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, did_you_mean};
use crate::lang::syntax::ast::{self, Name};

/// One place where a key may be stated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// a flag, by its first spelling, and what it holds
    Flag { name: String, holds: Holds },
    /// a variable of the engine's environment
    Env(String),
}

/// What the value of such a flag is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Key,
    /// several, apart by spaces
    Keys,
    /// a file with a key on each line
    File,
}

impl KeySource {
    /// As it is typed.
    pub fn name(&self) -> &str {
        match self {
            Self::Flag { name, .. } | Self::Env(name) => name,
        }
    }
}

impl Checker<'_> {
    pub(super) fn key_sources(&mut self, sources: &[ast::KeySource], engine: &Engine) -> Vec<KeySource> {
        let mut out: Vec<KeySource> = Vec::new();
        for source in sources {
            let (name, found) = match source {
                ast::KeySource::Env(name) => {
                    self.unread(name);
                    (name, Some(KeySource::Env(name.value.clone())))
                }
                ast::KeySource::Flag(name) => (name, self.key_flag(name, engine)),
            };
            let Some(found) = found else { continue };
            if out.contains(&found) {
                let message = format!("`{}` stands twice in one line", name.value);
                let d = Diagnostic::new(Code::SettingTwice, name.span, message).label("the second one");
                self.sink.push(d.help("keep one of them"));
            } else {
                out.push(found);
            }
        }
        out
    }

    fn key_flag(&mut self, name: &Name, engine: &Engine) -> Option<KeySource> {
        let schema = &engine.schema;
        if schema.is_unread(&name.value) {
            return None;
        }
        let wanted = key(&name.value);
        let spec = schema.specs().iter().find(|s| s.names.iter().any(|n| key(n) == wanted));
        let Some(spec) = spec else {
            let names = schema.specs().iter().flat_map(|s| &s.names).map(String::as_str);
            let help = match did_you_mean(&name.value, names) {
                Some(other) => format!("did you mean `{other}`?"),
                None => format!("declare it: `flag {} text`", name.value),
            };
            let message = format!("the engine declares no flag `{}`", name.value);
            let d = Diagnostic::new(Code::EngineSetting, name.span, message).label("unknown").help(help);
            self.sink.push(d);
            return None;
        };
        let holds = match &spec.kind {
            Kind::Text => Holds::Key,
            Kind::Words => Holds::Keys,
            Kind::Path => Holds::File,
            other => {
                let message = format!("`{}` takes {}, and no key", name.value, other.expected());
                let d = Diagnostic::new(Code::EngineSetting, name.span, message).label("holds no key");
                let help = "name a flag of type `text`, `words` or, for a file of keys, `path`";
                self.sink.push(d.help(help));
                return None;
            }
        };
        Some(KeySource::Flag { name: spec.names.first()?.clone(), holds })
    }
}
