//! Flags as an engine's own parser lists them, and the schema that they make. What a parser cannot tell (ranges, which texts are
//! paths, what uses GPUs) is taken from what the standard library knows of the same flag.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::lang::sema::schema::{FlagSpec, Found, KeySpec, Kind, Schema, key, value};

/// One option of a parser.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    pub flag: String,
    /// every other spelling
    #[serde(default)]
    pub aliases: Vec<String>,
    /// `bool` for a switch, else what converts the value: `int`, `str`, `json` …
    #[serde(rename = "type")]
    pub kind: String,
    /// what argparse calls it: `Store` takes a value
    #[serde(default)]
    pub action: String,
    #[serde(default)]
    pub nargs: Json,
    #[serde(default)]
    pub choices: Option<Vec<Json>>,
    #[serde(default)]
    pub default: Json,
    /// the keys that its JSON may have, where the engine says
    #[serde(default)]
    pub keys: Vec<KeyRow>,
    /// the texts that it is known to take, where the engine says
    #[serde(default)]
    pub known: Vec<String>,
    /// help text says less than a parser: what is known of a flag counts for more
    #[serde(default)]
    pub vague: bool,
}

/// A key of an option's JSON.
#[derive(Debug, Clone, Deserialize)]
pub struct KeyRow {
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub choices: Option<Vec<String>>,
    /// the least and the most that a number may be, where the engine says
    #[serde(default)]
    pub min: Option<f64>,
    #[serde(default)]
    pub max: Option<f64>,
    /// the keys of the object that it holds
    #[serde(default)]
    pub keys: Vec<KeyRow>,
}

impl KeyRow {
    fn kind(&self) -> Option<Kind> {
        if let Some(choices) = &self.choices {
            return Some(Kind::OneOf(choices.clone()));
        }
        let (min, max) = (self.min, self.max);
        match self.kind.as_deref()? {
            "bool" => Some(Kind::Switch),
            "int" => Some(Kind::Int { min, max }),
            "float" => Some(Kind::Float { min, max }),
            "str" => Some(Kind::Text),
            "json" => Some(Kind::Json),
            _ => None,
        }
    }

    /// As a class tells it, with the range that is known of it where the class has none: many check one by hand.
    fn spec(&self, known: &[KeySpec]) -> KeySpec {
        let base = known.iter().find(|k| k.name == self.name);
        let kind = match (self.kind(), base.and_then(|b| b.kind.clone())) {
            (Some(Kind::Int { min: None, max: None }), Some(ranged @ Kind::Int { .. }))
            | (Some(Kind::Float { min: None, max: None }), Some(ranged @ Kind::Float { .. })) => Some(ranged),
            (own, _) => own,
        };
        let inner = base.map(|b| b.keys.as_slice()).unwrap_or_default();
        KeySpec { name: self.name.clone(), kind, keys: specs(&self.keys, inner) }
    }
}

fn specs(rows: &[KeyRow], known: &[KeySpec]) -> Vec<KeySpec> {
    rows.iter().filter(|k| !BUILT.contains(&k.name.as_str())).map(|k| k.spec(known)).collect()
}

/// What a serve line says, what names another model, and what prints and leaves.
const LEFT_OUT: &[&str] = &[
    "--host",
    "--port",
    "--uds",
    "--model",
    "--model-path",
    "--model-url",
    "--hf-repo",
    "--hf-file",
    "--docker-repo",
    "--help",
    "--usage",
    "--version",
    "--cache-list",
    "--completion-bash",
    "--list-devices",
];

/// The schema that rows make for one version.
pub fn schema(rows: &[Row], version: &str, known: &Schema) -> Schema {
    let mut out = Schema::new();
    out.set_versions(vec![version.to_owned()]);
    for row in rows.iter().filter(|r| !is_left_out(r)) {
        out.add(spec(row, version, known));
    }
    out
}

fn is_left_out(row: &Row) -> bool {
    // of llama.cpp: models that it downloads under a name of their own
    let preset =
        ["--fim-", "--gpt-oss-", "--vision-", "--embd-gemma-"].iter().any(|p| row.flag.starts_with(p));
    preset && row.vague
        || std::iter::once(&row.flag).chain(&row.aliases).any(|n| LEFT_OUT.contains(&n.as_str()))
}

/// What vLLM calls the type of a number that the word `auto` may stand for.
const OR_AUTO: &str = "human_readable_int_or_auto";

fn spec(row: &Row, version: &str, known: &Schema) -> FlagSpec {
    let base = match known.find(&row.flag, Some(version)) {
        Found::Known(spec, false) => Some(spec),
        _ => None,
    };
    let read = read_kind(row);
    let kind = match base {
        Some(base) if says_more(&base.kind, &read, row) => base.kind.clone(),
        _ => read,
    };
    let is_negated = |name: &&String| kind == Kind::Switch && negates(name, row, base);
    let negated: Vec<String> = row.aliases.iter().filter(is_negated).cloned().collect();
    let others = row.aliases.iter().filter(|n| !negated.contains(n));
    let auto = row.kind == OR_AUTO || base.is_some_and(|b| b.auto);
    FlagSpec {
        auto,
        narrow: None,
        names: std::iter::once(&row.flag).chain(others).cloned().collect(),
        default: default(row, &kind, base).or(auto.then(|| "auto".to_owned())),
        since: None,
        until: None,
        negated,
        limits_requests: base.and_then(|b| b.limits_requests.clone()),
        uses_gpus: base.and_then(|b| b.uses_gpus.clone()),
        known: if kind == Kind::Text { row.known.clone() } else { Vec::new() },
        keys: if kind == Kind::Json { keys(row, base) } else { Vec::new() },
        file: kind == Kind::Json && base.is_some_and(|b| b.file),
        repeated: kind == Kind::Words && base.is_some_and(|b| b.repeated),
        kind,
    }
}

/// Keys that an engine builds itself are no user's to set, though its class has them.
const BUILT: &[&str] =
    &["target_model_config", "target_parallel_config", "draft_model_config", "draft_parallel_config"];

/// What only help tells has no keys: those of the standard library stand.
fn keys(row: &Row, base: Option<&FlagSpec>) -> Vec<KeySpec> {
    let known = base.map(|b| b.keys.as_slice()).unwrap_or_default();
    if row.vague || row.keys.is_empty() { known.to_vec() } else { specs(&row.keys, known) }
}

fn read_kind(row: &Row) -> Kind {
    let many = row.nargs == "+" || row.nargs == "*" || row.nargs.as_u64().is_some_and(|n| n > 1);
    if row.kind == "bool" && row.action == "Store" {
        return Kind::OneOf(vec!["true".to_owned(), "false".to_owned()]);
    }
    if row.kind == "bool" {
        return Kind::Switch;
    }
    if many {
        return Kind::Words;
    }
    if let Some(choices) = &row.choices {
        return Kind::OneOf(choices.iter().filter(|c| !c.is_null()).map(text_of).collect());
    }
    match row.kind.as_str() {
        "int" | "human_readable_int" | OR_AUTO => Kind::Int { min: None, max: None },
        "float" => Kind::Float { min: None, max: None },
        "json" | "json or str" | "json_list_type" => Kind::Json,
        _ => Kind::Text,
    }
}

/// Whether the known type is the one that was read, told more exactly.
fn says_more(known: &Kind, read: &Kind, row: &Row) -> bool {
    match (known, read) {
        (Kind::Switch, Kind::Switch)
        | (Kind::Int { .. }, Kind::Int { .. })
        | (Kind::Float { .. }, Kind::Float { .. }) => true,
        (Kind::Switch, _) | (_, Kind::Switch) | (Kind::OneOf(_), Kind::OneOf(_)) => false,
        (Kind::Words, Kind::OneOf(_)) => row.choices.is_some(),
        // some JSON flags take a plain word as well
        (Kind::Text, Kind::Json) => row.kind == "json or str",
        (Kind::OneOf(_), Kind::Text) => row.vague,
        (_, Kind::Text) => true,
        _ => row.vague,
    }
}

fn negates(name: &str, row: &Row, base: Option<&FlagSpec>) -> bool {
    if let Some(base) = base
        && (base.is_negated(name) || base.names.iter().any(|n| key(n) == key(name)))
    {
        return base.is_negated(name);
    }
    let positive = name.strip_prefix("--no-").map(|rest| format!("--{rest}"));
    let short = name.strip_prefix("-no-").or_else(|| name.strip_prefix("-n")).map(|rest| format!("-{rest}"));
    positive.into_iter().chain(short).any(|p| p == row.flag || row.aliases.contains(&p))
}

fn default(row: &Row, kind: &Kind, base: Option<&FlagSpec>) -> Option<String> {
    let known = base.and_then(|b| b.default.clone());
    let text = match &row.default {
        // null: decided at start, or nothing at all
        Json::Null => return known.filter(|k| k == "auto" || row.vague),
        Json::Array(_) | Json::Object(_) => return None,
        other => text_of(other),
    };
    let text = match (row.vague, text.as_str()) {
        (true, "enabled") => "true".to_owned(),
        (true, "disabled") => "false".to_owned(),
        _ => text,
    };
    let fits = match kind {
        Kind::Switch => matches!(text.as_str(), "true" | "false"),
        Kind::OneOf(_) | Kind::Int { .. } | Kind::Float { .. } => value(kind, &text).is_ok(),
        Kind::Text | Kind::Path | Kind::Words => !text.is_empty() && !row.vague && !text.contains("Enum."),
        Kind::Json => false,
    };
    // the default of a switch that nothing turns off is that it is not there
    let plain = *kind == Kind::Switch && text == "false" && known.is_none();
    if fits && !plain { Some(text) } else { known.filter(|_| row.vague || plain || text.contains("Enum.")) }
}

fn text_of(json: &Json) -> String {
    match json {
        Json::String(s) => s.clone(),
        other => other.to_string(),
    }
}
