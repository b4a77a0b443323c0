//! A schema as a file of the language that a study can use.

use std::fmt::Write as _;

use crate::lang::sema::program::Engine;
use crate::lang::sema::schema::{FlagSpec, KeySpec, Kind, Schema};

/// The file: an engine that derives from the standard library's and has these flags alone.
pub fn written(name: &str, engine: &Engine, version: &str, schema: &Schema, from: &str) -> String {
    let (root, title) = (engine.root(), &engine.title);
    let mut out = format!(
        "# {title} {version}: every flag that it lists itself, as read from\n# {from}.\n\
         # `use` this file with {{ {name} }}, and derive from it: `engine mine = {name} {{ … }}`.\n\
         use std/engines {{ {root} }}\n\n\
         engine {name} \"{title}\" = {root} {{\n    version  \"{version}\"\n    versions \"{version}\"\n\n"
    );
    let heads: Vec<String> = schema.specs().iter().map(|s| s.names.join(" ")).collect();
    let width = heads.iter().map(String::len).filter(|l| *l <= WIDEST).max().unwrap_or(0);
    for (head, spec) in heads.iter().zip(schema.specs()) {
        let line = format!("    flag {head:width$}  {}{}", typed(spec), attributes(spec));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push_str("}\n");
    out
}

/// Names longer than this do not move the column of the types.
const WIDEST: usize = 44;

/// A flag's type; its object may stand in a file, and it may be given several times.
fn typed(spec: &FlagSpec) -> String {
    if spec.file {
        "json_file".to_owned()
    } else if spec.repeated {
        "repeated".to_owned()
    } else {
        kind(&spec.kind)
    }
}

fn kind(kind: &Kind) -> String {
    let range = |what: &str, min: &Option<f64>, max: &Option<f64>| match (min, max) {
        (Some(a), Some(b)) => format!("{what} {a}..{b}"),
        (Some(a), None) => format!("{what} {a}.."),
        _ => what.to_owned(),
    };
    match kind {
        Kind::Switch => "switch".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Path => "path".to_owned(),
        Kind::Json => "json".to_owned(),
        Kind::Words => "words".to_owned(),
        Kind::Int { min, max } => range("int", min, max),
        Kind::Float { min, max } => range("float", min, max),
        Kind::OneOf(choices) => {
            let all: Vec<String> = choices.iter().map(|c| word(c)).collect();
            format!("one_of [{}]", all.join(", "))
        }
    }
}

fn attributes(spec: &FlagSpec) -> String {
    let mut out = String::new();
    if !spec.negated.is_empty() {
        let _ = write!(out, " negated {}", spec.negated.join(" "));
    }
    if let Some(uses) = &spec.uses_gpus {
        out.push_str(if uses.adds { " adds gpus" } else { " uses gpus" });
        if let Some(unless) = &uses.unless {
            let _ = write!(out, " unless {unless}");
        }
    }
    if let Some(limits) = &spec.limits_requests {
        out.push_str(" limits requests");
        if let Some(per) = &limits.per {
            let _ = write!(out, " per {per}");
        }
        if let Some(unless) = &limits.unless {
            let _ = write!(out, " unless {unless}");
        }
    }
    if let Some(default) = &spec.default {
        let default = if spec.auto && default == "auto" { "\"auto\"".to_owned() } else { word(default) };
        let _ = write!(out, " default {default}");
    }
    if !spec.known.is_empty() {
        let all: Vec<String> = spec.known.iter().map(|k| word(k)).collect();
        let _ = write!(out, " known [{}]", all.join(", "));
    }
    if !spec.keys.is_empty() {
        out.push_str(&keys(&spec.keys));
    }
    out
}

fn keys(all: &[KeySpec]) -> String {
    let key = |spec: &KeySpec| {
        let of = spec.kind.as_ref().map(|of| format!(" {}", kind(of))).unwrap_or_default();
        let inner = if spec.keys.is_empty() { String::new() } else { keys(&spec.keys) };
        format!("{}{of}{inner}", spec.name)
    };
    format!(" keys [{}]", all.iter().map(key).collect::<Vec<_>>().join(", "))
}

/// A bare word where it can be one.
fn word(text: &str) -> String {
    let bare = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || "\"',[]{}()#".contains(c));
    if bare { text.to_owned() } else { format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")) }
}
