//! The flags of a serve command, one by one: how the language writes them, and which have no place in a measurement.

use super::programs::base_name;
use super::value;
use crate::lang::sema::program::WrittenValue;
use crate::lang::sema::schema::{self, Kind};
use crate::lang::source::Span;

/// Why a flag is raw that says what the engine does anyway.
pub const DEFAULT: &str = "the default, kept because it was pasted";

/// Why a flag has a comment that the engine itself would refuse.
pub const WRONG: &str = "not what the engine takes: `perflab check` says more";

/// One flag of the command.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// as it was written
    pub name: String,
    /// its first spelling in the schema, or its own
    pub canonical: String,
    pub value: Option<String>,
    /// the value is JSON, and an object stands as it is
    pub json: bool,
    /// why it is passed on unchecked; `None` where the schema takes it
    pub raw: Option<String>,
    /// the flag that was probably meant, as far as that is certain; with its value where the two were glued
    pub meant: Option<String>,
}

impl Argument {
    /// The flag as the language writes it, `raw` apart.
    pub fn text(&self) -> String {
        match &self.value {
            None => self.name.clone(),
            Some(v) if self.json => format!("{}={}", self.name, value::json(v)),
            Some(v) => format!("{}={}", self.name, value::single(v)),
        }
    }

    /// Its value as the checker reads it.
    pub fn written(&self) -> Option<WrittenValue> {
        let text = self.value.clone()?;
        Some(WrittenValue { text, json: self.json, template: false, span: Span::default() })
    }

    /// The schema does not have it like this, or not at all.
    pub fn refused(&self) -> bool {
        self.raw.as_deref().is_some_and(|why| why != DEFAULT)
    }

    /// The schema has the flag, and not with such a value, or one that resembles it: no engine starts with it.
    pub fn wrong(&self) -> bool {
        self.raw.as_deref() == Some(WRONG)
    }

    /// The schema cannot check it, and it is passed on unchecked.
    pub fn passed_on(&self) -> bool {
        self.refused() && !self.wrong()
    }

    /// Whether the language has a way to write it: a flag's name is ASCII and begins with a letter, and no string holds a
    /// carriage return.
    pub fn expressible(&self) -> bool {
        let name = self.name.strip_prefix("--").or_else(|| self.name.strip_prefix('-')).unwrap_or("");
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let named = begins && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        named
            && !self
                .value
                .as_ref()
                .is_some_and(|v| v.contains(|c: char| c.is_control() && !"\n\t".contains(c)))
    }

    /// Flags that change how clients talk to the server, not how fast it is.
    pub fn in_the_way(&self) -> Option<&'static str> {
        match self.canonical.replace('_', "-").as_str() {
            "--served-model-name" | "--alias" => {
                Some("clients ask for this name, perflab for the model's own")
            }
            "--ssl-keyfile"
            | "--ssl-certfile"
            | "--ssl-ca-certs"
            | "--ssl-key-file"
            | "--ssl-cert-file"
            | "--ssl-keyfile-password"
            | "--ssl-cert-reqs" => Some("perflab measures over plain HTTP"),
            "--root-path" | "--fastapi-root-path" | "--api-prefix" => Some("perflab asks at the root"),
            _ => None,
        }
    }

    /// Its value as a whole number.
    pub fn number(&self) -> Option<u64> {
        match schema::value(&Kind::Int { min: None, max: None }, self.value.as_deref()?).ok()? {
            schema::Value::Int(n) => u64::try_from(n).ok(),
            _ => None,
        }
    }
}

/// What the arguments say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arguments {
    pub model: String,
    /// the option that named the model; `None` where it stood alone
    pub model_option: Option<String>,
    pub flags: Vec<Argument>,
    /// part of what is published, and in the way of measuring: the flags, and why
    pub published: Vec<(Argument, &'static str)>,
    pub left_out: Vec<String>,
    /// what `--host` and `--port` said
    pub place: Vec<String>,
}

impl Arguments {
    /// The flag that the schema knows by this first spelling.
    pub fn flag(&self, canonical: &str) -> Option<&Argument> {
        self.flags.iter().find(|f| f.canonical == canonical)
    }
}

/// The last part of a model's name or path, as people call it.
pub fn short_name(model: &str) -> &str {
    let name = base_name(model.trim_end_matches('/'));
    let name = name.strip_suffix(".gguf").unwrap_or(name);
    if name.is_empty() { model } else { name }
}
