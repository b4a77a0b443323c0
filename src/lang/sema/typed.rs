//! A flag and its value as written, held against the flag's type: the setting that it makes, or what is wrong with it.

use std::borrow::Cow;

use super::flags::is_reserved;
use super::json_keys;
use super::problem::Problem;
use super::program::WrittenValue;
use super::schema::{self, Elsewhere, FlagSpec, Found, Kind, Schema, Setting, Split, Value, key};
use super::settings::{self, JsonKey};
use super::template;

/// What a schema says of a default that the engine decides at start. Flags take the word only where it is of their type, or where the
/// schema quotes it.
pub const AUTO: &str = "auto";

/// A flag and its value under a schema: the setting that it makes. A version that the schema was not read from may know
/// better: what speaks against the flag is then no more than a [`doubt`].
pub fn typed(
    schema: &Schema,
    version: Option<&str>,
    name: &str,
    value: Option<&WrittenValue>,
) -> Result<Setting, Problem> {
    strict(schema, version, name, value).or_else(|problem| {
        if schema.stand_in(version).is_none() {
            return Err(problem);
        }
        match (&problem, schema.find(name, version)) {
            (Problem::Unknown, _) => Ok(settings::untyped(key(name), name, value)),
            (Problem::NoKey { .. } | Problem::KeyValue { .. }, _) => {
                of_its_type(schema, version, name, value)
            }
            (_, Found::Elsewhere(Elsewhere::Later(spec) | Elsewhere::Earlier(spec))) => {
                setting(spec, name, value).or_else(|p| choice_of_its_own(spec, name, value).ok_or(p))
            }
            (_, Found::Known(spec, _)) => choice_of_its_own(spec, name, value).ok_or(problem),
            _ => Err(problem),
        }
    })
}

/// What speaks against a flag that is passed on all the same, as its engine's version may know better than the schema.
pub fn doubt(
    schema: &Schema,
    version: Option<&str>,
    name: &str,
    value: Option<&WrittenValue>,
) -> Option<Problem> {
    schema.stand_in(version)?;
    let problem = strict(schema, version, name, value).err()?;
    // the number of a release that was cut short is told of where it stands
    let full = version.and_then(|v| schema.full_release(v));
    full.is_none_or(|full| strict(schema, Some(full), name, value).is_err()).then_some(problem)
}

/// A choice that the schema does not list.
fn choice_of_its_own(spec: &FlagSpec, name: &str, value: Option<&WrittenValue>) -> Option<Setting> {
    let written = value.filter(|_| matches!(spec.kind, Kind::OneOf(_)))?;
    Some(settings::untyped(spec.names[0].clone(), name, Some(written)))
}

fn strict(
    schema: &Schema,
    version: Option<&str>,
    name: &str,
    value: Option<&WrittenValue>,
) -> Result<Setting, Problem> {
    let setting = of_its_type(schema, version, name, value)?;
    match json_keys::unfit(schema, version, name, &setting).into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(json_keys::in_capitals(schema, version, name, setting)),
    }
}

/// A flag and its value, whatever keys that has.
pub(super) fn of_its_type(
    schema: &Schema,
    version: Option<&str>,
    name: &str,
    value: Option<&WrittenValue>,
) -> Result<Setting, Problem> {
    if is_reserved(name) {
        return Err(Problem::Reserved);
    }
    match schema.find(name, version) {
        // no version is none of them: what one of them takes is right
        Found::Known(..) if version.is_none() => {
            let mut of_each = schema.named(name).rev().map(|spec| setting(spec, name, value));
            let newest = of_each.next().unwrap_or(Err(Problem::Unknown));
            newest.or_else(|problem| of_each.find_map(Result::ok).ok_or(problem))
        }
        Found::Known(spec, _) => setting(spec, name, value),
        Found::Elsewhere(elsewhere) => Err(elsewhere.into()),
        Found::Unknown if schema.is_unread(name) => Ok(settings::untyped(key(name), name, value)),
        Found::Unknown => match JsonKey::of(schema, version, name) {
            Some(found) => found.and_then(|k| k.setting(value)),
            None => Err(Problem::Unknown),
        },
    }
}

fn setting(spec: &FlagSpec, name: &str, value: Option<&WrittenValue>) -> Result<Setting, Problem> {
    let canonical = spec.names[0].clone();
    let spelled = spec.spelling(name).to_owned();
    let split = match spec.kind {
        Kind::Words if spec.repeated => Split::Repeated,
        Kind::Words => Split::Words,
        _ => Split::Whole,
    };
    if spec.kind == Kind::Switch {
        return match value {
            Some(_) => Err(Problem::TakesNone),
            None => Ok(Setting {
                canonical,
                spelled,
                value: Value::Switch(!spec.is_negated(name)),
                shown: None,
                split,
                template: false,
                file: false,
            }),
        };
    }
    let Some(written) = value else { return Err(Problem::NeedsValue(spec.expected())) };
    // a number, or told to decide: `--max-model-len=auto`
    if written.text == AUTO && spec.auto {
        let (value, shown) = (Value::Text(AUTO.to_owned()), Some(AUTO.to_owned()));
        return Ok(Setting { canonical, spelled, value, shown, split, template: false, file: false });
    }
    // a file that the user has written
    let path = spec.file && !written.text.trim_start().starts_with(['{', '[']);
    let kind = if path { &Kind::Path } else { &spec.kind };
    let json_of_launch = written.template && *kind == Kind::Json;
    // JSON into which a launch inserts something is read with the names standing there
    let text = if json_of_launch {
        Cow::Owned(template::single_braces(&written.text))
    } else {
        Cow::Borrowed(&*written.text)
    };
    let value = schema::value(kind, &text).map_err(|e| Problem::BadValue(e, spec.expected()))?;
    let value = if written.template { value } else { as_named(spec, value) };
    let shown = Some(if json_of_launch { written.text.clone() } else { shown(&value, &text) });
    let file = spec.file && !path;
    Ok(Setting { canonical, spelled, value, shown, split, template: written.template, file })
}

/// A text as the schema spells it, where that lists it in capitals: the name of an enumeration, which engines read in any case.
pub fn named<'t>(spec: &'t FlagSpec, text: &'t str) -> &'t str {
    if spec.kind != Kind::Text || spec.known.iter().any(|k| k == text) {
        return text;
    }
    let raised = text.to_ascii_uppercase();
    spec.known.iter().find(|k| **k == raised).map_or(text, String::as_str)
}

/// The value that counts; what is shown stays as written.
fn as_named(spec: &FlagSpec, value: Value) -> Value {
    match value {
        Value::Text(text) => Value::Text(named(spec, &text).to_owned()),
        other => other,
    }
}

fn shown(value: &Value, written: &str) -> String {
    match value {
        Value::Int(i) => i.to_string(),
        Value::Json(j) => j.to_string(),
        Value::Float(f) if written.parse::<f64>().is_err() => f.to_string(),
        _ => written.to_owned(),
    }
}
