//! Keys of JSON flags: which of them an object may have, and what they hold.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use super::check::Checker;
use super::doubled;
use super::problem::Problem;
use super::program::{Change, Engine, WrittenValue};
use super::schema::{FlagSpec, Found, KeySpec, Kind, Schema, Setting, Value, value};
use super::typed::of_its_type;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;

/// What speaks against the keys of a JSON flag, or of one of them alone. A schema that lists none knows nothing of them.
pub fn unfit(schema: &Schema, version: Option<&str>, name: &str, setting: &Setting) -> Vec<Problem> {
    let Value::Json(Json::Object(object)) = &setting.value else { return Vec::new() };
    let flag = name.split('.').next().unwrap_or(name);
    let Found::Known(spec, _) = schema.find(flag, version) else { return Vec::new() };
    let of = |spec: &FlagSpec| {
        let mut found = Vec::new();
        let under = Under { flag, above: &[], template: setting.template };
        under.unfit(&spec.keys, object, &mut found);
        found
    };
    // no version is none of them: what one of them takes is right
    if version.is_none() && schema.named(flag).any(|spec| of(spec).is_empty()) {
        return Vec::new();
    }
    of(spec)
}

/// The setting with choices that are names of enumerations as the schema spells them: engines read those in any case, and `full` and
/// `FULL` are one configuration.
pub fn in_capitals(schema: &Schema, version: Option<&str>, name: &str, mut setting: Setting) -> Setting {
    let flag = name.split('.').next().unwrap_or(name);
    let found = schema.find(flag, version);
    if let (Found::Known(spec, _), Value::Json(Json::Object(object))) = (found, &mut setting.value) {
        raised(&spec.keys, object);
    }
    setting
}

fn raised(known: &[KeySpec], object: &mut Map<String, Json>) {
    for spec in known {
        let Some(held) = object.get_mut(&spec.name) else { continue };
        match (held, &spec.kind) {
            (Json::String(text), Some(Kind::OneOf(choices))) if !choices.contains(text) => {
                if let Some(name) = choices.iter().find(|c| **c == text.to_ascii_uppercase()) {
                    text.clone_from(name);
                }
            }
            (Json::Object(inner), _) => raised(&spec.keys, inner),
            _ => {}
        }
    }
}

/// An object of a flag's JSON: which flag, and the keys that lead to it.
struct Under<'a> {
    flag: &'a str,
    above: &'a [String],
    /// a launch inserts something: what it holds is not known yet
    template: bool,
}

impl Under<'_> {
    fn unfit(&self, known: &[KeySpec], object: &Map<String, Json>, found: &mut Vec<Problem>) {
        if known.is_empty() {
            return;
        }
        for (key, held) in object {
            let at = || {
                let path = std::iter::once(self.flag).chain(self.above.iter().map(String::as_str));
                (path.collect::<Vec<_>>().join("."), self.above.into(), key.clone())
            };
            let Some(spec) = known.iter().find(|k| k.name == *key) else {
                let (flag, above, key) = at();
                found.push(Problem::NoKey {
                    flag,
                    above,
                    key,
                    known: known.iter().map(|k| k.name.clone()).collect(),
                });
                continue;
            };
            if let Some(kind) = spec.kind.as_ref().filter(|kind| !self.template && !takes(kind, held)) {
                let (flag, above, key) = at();
                let choices =
                    if let Kind::OneOf(all) = kind { all.as_slice().into() } else { Box::default() };
                let (shown, expected) = (held.to_string().into(), expected(kind));
                found.push(Problem::KeyValue { flag, above, key, shown, expected, choices });
            }
            if let Json::Object(inner) = held {
                let above = [self.above, std::slice::from_ref(key)].concat();
                Under { above: &above, ..*self }.unfit(&spec.keys, inner, found);
            }
        }
    }
}

impl Checker<'_> {
    /// What is wrong with a key stands at the key, or at its value, within the object.
    pub(super) fn at_key(
        &self,
        d: Diagnostic,
        problem: &Problem,
        value: Option<&WrittenValue>,
    ) -> Diagnostic {
        let Some(value) = value.filter(|v| v.json && d.span == v.span) else { return d };
        let Some(place) = place(self.modules.slice(value.span), problem) else { return d };
        let start = value.span.start as usize;
        d.moved(Span::new(value.span.file, start + place.start..start + place.end))
    }

    /// The keys of the same object behind the first that is wrong, each of which is a mistake of its own.
    pub(super) fn other_keys(&mut self, first: &Problem, change: &Change, engine: &Engine) {
        let Change::Flag { name, value, span } = change else { return };
        for problem in all_unfit(first, change, engine).iter().skip(1) {
            let d = problem.diagnostic(name, *span, value.as_ref(), engine);
            let d = self.at_key(d, problem, value.as_ref());
            self.sink.push(d);
        }
    }

    /// The doubts about a flag, of which one about keys may be several.
    pub(super) fn key_doubts(&mut self, first: &Problem, change: &Change, engine: &Engine) {
        let Change::Flag { name, value, span } = change else { return };
        let all = all_unfit(first, change, engine);
        for problem in if all.is_empty() { std::slice::from_ref(first) } else { &all } {
            let d = problem.doubt(name, *span, value.as_ref(), engine);
            let d = self.at_key(d, problem, value.as_ref());
            self.sink.push(d);
        }
    }
}

/// All that is wrong with a flag's keys; none where the first problem is another.
fn all_unfit(first: &Problem, change: &Change, engine: &Engine) -> Vec<Problem> {
    let Change::Flag { name, value, .. } = change else { return Vec::new() };
    if !matches!(first, Problem::NoKey { .. } | Problem::KeyValue { .. }) {
        return Vec::new();
    }
    let (schema, version) = (&engine.schema, engine.version.as_deref());
    let setting = of_its_type(schema, version, name, value.as_ref());
    setting.map_or_else(|_| Vec::new(), |setting| unfit(schema, version, name, &setting))
}

/// Whether a key of this type takes a value. Engines read shares and switches in quotes too, and `null` is as good as none.
fn takes(kind: &Kind, held: &Json) -> bool {
    let text = match held {
        Json::Null => return true,
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    match kind {
        Kind::Switch => {
            matches!(
                text.to_ascii_lowercase().as_str(),
                "true" | "false" | "0" | "1" | "on" | "off" | "yes" | "no"
            )
        }
        // of a whole number nobody knows which engines read it as a text too
        Kind::Int { .. } if held.is_string() => false,
        // units are the language's: in an object they would reach the engine as they stand
        Kind::Int { .. } | Kind::Float { .. } => text.parse::<f64>().is_ok() && value(kind, &text).is_ok(),
        // what is called in capitals is the name of an enumeration, and engines read those in any case
        Kind::OneOf(choices) => choices.iter().any(|c| match held {
            Json::String(_) => *c == text || *c == text.to_ascii_uppercase(),
            _ => *c == text,
        }),
        Kind::Text | Kind::Path => held.is_string(),
        Kind::Json | Kind::Words => true,
    }
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Switch => "true or false".to_owned(),
        other => other.expected(),
    }
}

/// Where in the text of an object a problem's key stands, or the key's value where that is the problem.
fn place(text: &str, problem: &Problem) -> Option<Range<usize>> {
    let (above, key, at_value) = match problem {
        Problem::NoKey { above, key, .. } => (above, key, false),
        Problem::KeyValue { above, key, .. } => (above, key, true),
        _ => return None,
    };
    let mut from = 0;
    for outer in above {
        from = value_of(text, &key_of(text, from, outer)?)?.start;
    }
    let at = key_of(text, from, key)?;
    if at_value { value_of(text, &at) } else { Some(at.start + 1..at.end - 1) }
}

/// Where a key of the object that begins at a place stands, quotes included.
fn key_of(text: &str, from: usize, key: &str) -> Option<Range<usize>> {
    let found = doubled::top_keys(&text[from..]).map(|at| from + at.start..from + at.end);
    let mut found = found.filter(|at| text[at.start + 1..at.end - 1] == *key);
    found.next()
}

/// Where the value of a key stands.
fn value_of(text: &str, key: &Range<usize>) -> Option<Range<usize>> {
    let colon = key.end + text[key.end..].find(':')? + 1;
    let start = colon + (text[colon..].len() - text[colon..].trim_start().len());
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(start..start + values.byte_offset())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_its_value_are_found_where_they_stand() {
        let text = r#"{"deep": {"method": 1}, "method" : "x y", "n": [1, 2]}"#;
        let named = |above: &[&str], key: &str| Problem::NoKey {
            flag: String::new(),
            above: above.iter().map(|a| (*a).to_owned()).collect(),
            key: key.to_owned(),
            known: Vec::new(),
        };
        let valued = |key: &str| Problem::KeyValue {
            flag: String::new(),
            above: Box::default(),
            key: key.to_owned(),
            shown: Box::default(),
            expected: String::new(),
            choices: Box::default(),
        };
        let shown = |problem: &Problem| place(text, problem).map(|at| &text[at]);
        assert_eq!(shown(&named(&[], "method")), Some("method"));
        assert_eq!(place(text, &named(&[], "method")).map(|at| at.start), text.rfind("method"));
        assert_eq!(shown(&valued("method")), Some(r#""x y""#));
        assert_eq!(shown(&valued("n")), Some("[1, 2]"));
        assert_eq!(shown(&named(&[], "absent")), None);
        let inner = named(&["deep"], "method");
        assert_eq!(place(text, &inner).map(|at| at.start), text.find("method"));
        assert_eq!(shown(&named(&["n"], "method")), None);
        let last = Problem::KeyValue {
            flag: String::new(),
            above: Box::new(["deep".to_owned()]),
            key: "method".to_owned(),
            shown: Box::default(),
            expected: String::new(),
            choices: Box::default(),
        };
        assert_eq!(shown(&last), Some("1"));
    }
}
