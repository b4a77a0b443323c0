//! Keys of JSON flags: which of them an object may have, and what they hold.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use super::check::Checker;
use super::doubled;
use super::flags::of_its_type;
use super::problem::Problem;
use super::program::{Change, Engine, WrittenValue};
use super::schema::{FlagSpec, Found, Kind, Schema, Setting, Value, value};
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;

/// What speaks against the keys of a JSON flag, or of one of them alone. A schema that lists none knows nothing of them.
pub fn unfit(schema: &Schema, version: Option<&str>, name: &str, setting: &Setting) -> Vec<Problem> {
    let Value::Json(Json::Object(object)) = &setting.value else { return Vec::new() };
    let flag = name.split('.').next().unwrap_or(name);
    let Found::Known(spec, _) = schema.find(flag, version) else { return Vec::new() };
    let of = |spec| unfit_of(spec, flag, object, setting.template);
    // no version is none of them: what one of them takes is right
    if version.is_none() && schema.named(flag).any(|spec| of(spec).is_empty()) {
        return Vec::new();
    }
    of(spec)
}

fn unfit_of(spec: &FlagSpec, flag: &str, object: &Map<String, Json>, template: bool) -> Vec<Problem> {
    if spec.keys.is_empty() {
        return Vec::new();
    }
    let problem = |(key, held): (&String, &Json)| {
        let (flag, key) = (flag.to_owned(), key.clone());
        let Some((_, kind)) = spec.keys.iter().find(|(known, _)| *known == key) else {
            return Some(Problem::NoKey {
                flag,
                key,
                known: spec.keys.iter().map(|k| k.0.clone()).collect(),
            });
        };
        let kind = kind.as_ref().filter(|kind| !template && !takes(kind, held))?;
        let choices = if let Kind::OneOf(all) = kind { all.clone() } else { Vec::new() };
        Some(Problem::KeyValue { flag, key, shown: held.to_string(), expected: expected(kind), choices })
    };
    object.iter().filter_map(problem).collect()
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

/// Whether a key of this type takes a value. Engines read numbers and switches in quotes too, and `null` is as good as none.
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
        Kind::Int { .. } | Kind::Float { .. } => value(kind, &text).is_ok(),
        Kind::OneOf(choices) => held.is_string() && choices.contains(&text),
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
    let (key, at_value) = match problem {
        Problem::NoKey { key, .. } => (key, false),
        Problem::KeyValue { key, .. } => (key, true),
        _ => return None,
    };
    let at = doubled::top_keys(text).find(|at| text[at.start + 1..at.end - 1] == **key)?;
    if !at_value {
        return Some(at.start + 1..at.end - 1);
    }
    let colon = at.end + text[at.end..].find(':')? + 1;
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
        let named =
            |key: &str| Problem::NoKey { flag: String::new(), key: key.to_owned(), known: Vec::new() };
        let valued = |key: &str| Problem::KeyValue {
            flag: String::new(),
            key: key.to_owned(),
            shown: String::new(),
            expected: String::new(),
            choices: Vec::new(),
        };
        let shown = |problem: &Problem| place(text, problem).map(|at| &text[at]);
        assert_eq!(shown(&named("method")), Some("method"));
        assert_eq!(place(text, &named("method")).map(|at| at.start), text.rfind("method"));
        assert_eq!(shown(&valued("method")), Some(r#""x y""#));
        assert_eq!(shown(&valued("n")), Some("[1, 2]"));
        assert_eq!(shown(&named("absent")), None);
    }
}
