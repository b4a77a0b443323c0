//! How the engine draws tokens, and what else each request's body says.

use serde_json::{Map, Value};

use super::check::Checker;
use super::program::Profile;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ast::{Number, Text, WordLine, WordValue};
use crate::lang::units::Dim;

/// A sampling parameter: its name here and in a request's body, the least and the most that it may be, how it is written, and what is
/// said of another value.
struct Parameter {
    name: &'static str,
    least: f64,
    most: f64,
    whole: bool,
    example: &'static str,
    takes: &'static str,
}

const PARAMETERS: [Parameter; 6] = [
    Parameter {
        name: "top_p",
        least: f64::MIN_POSITIVE,
        most: 1.0,
        whole: false,
        example: "top_p 0.95",
        takes: "is more than 0 and at most 1",
    },
    Parameter {
        name: "top_k",
        least: 1.0,
        most: u32::MAX as f64,
        whole: true,
        example: "top_k 20",
        takes: "is a whole number from 1",
    },
    Parameter {
        name: "min_p",
        least: 0.0,
        most: 1.0,
        whole: false,
        example: "min_p 0.05",
        takes: "is between 0 and 1",
    },
    Parameter {
        name: "repetition_penalty",
        least: f64::MIN_POSITIVE,
        most: 2.0,
        whole: false,
        example: "repetition_penalty 1.05",
        takes: "is more than 0 and at most 2",
    },
    Parameter {
        name: "presence_penalty",
        least: -2.0,
        most: 2.0,
        whole: false,
        example: "presence_penalty 0.5",
        takes: "is between -2 and 2",
    },
    Parameter {
        name: "frequency_penalty",
        least: -2.0,
        most: 2.0,
        whole: false,
        example: "frequency_penalty 0.5",
        takes: "is between -2 and 2",
    },
];

/// What a request's body says anyway, and what settles it.
const SENT: [(&str, &str); 12] = [
    ("messages", "`data` says what is asked"),
    ("prompt", "`data` says what is asked"),
    ("text", "`data` says what is asked"),
    ("input_ids", "`data` says what is asked"),
    ("max_tokens", "`output` is sent as that"),
    ("max_completion_tokens", "`output` is sent as `max_tokens`"),
    ("max_new_tokens", "`output` is sent as `max_tokens`"),
    ("temperature", "write `temperature 0.7` as a setting of its own"),
    ("ignore_eos", "write `ignore_eos true` as a setting of its own"),
    ("stream", "write `stream false` as a setting of its own"),
    ("stream_options", "the usage is always asked for"),
    ("n", "one answer is measured for each request"),
];

/// A sampling parameter as it may be written.
pub(super) fn example(setting: &str) -> &'static str {
    PARAMETERS.iter().find(|p| p.name == setting).map_or("seed 42", |p| p.example)
}

/// What settles a field of a request's body, if something does.
fn settled(name: &str) -> Option<String> {
    let fixed = SENT.iter().find(|(n, _)| *n == name).map(|(_, why)| (*why).to_owned());
    let parameter = || PARAMETERS.iter().find(|p| p.name == name);
    fixed.or_else(|| Some(format!("write `{}` as a setting of its own", parameter()?.example)))
}

impl Checker<'_> {
    pub(super) fn temperature(&mut self, n: &Number) -> Option<f64> {
        let value = self.number_of(n, Dim::PLAIN, "`temperature`")?;
        if value < 0.0 {
            let d = Diagnostic::new(Code::OutOfRange, n.span, "`temperature` is not below zero");
            self.sink.push(
                d.label("out of range").help("write `temperature 0` for the likeliest token each time"),
            );
            return None;
        }
        Some(value)
    }

    /// A setting that is a sampling parameter; whether it is one.
    pub(super) fn sampling(&mut self, line: &WordLine, p: &mut Profile) -> bool {
        let Some(parameter) = PARAMETERS.iter().find(|s| s.name == line.word.value) else { return false };
        let value = self.one(line).and_then(|n| self.drawn(&n, parameter));
        p.sampling.extend(value.map(|v| (parameter.name, v)));
        true
    }

    fn drawn(&mut self, n: &Number, parameter: &Parameter) -> Option<f64> {
        let quoted = format!("`{}`", parameter.name);
        let value = self.number_of(n, Dim::PLAIN, &quoted)?;
        let fits = (parameter.least..=parameter.most).contains(&value);
        if fits && (!parameter.whole || value.fract() == 0.0) {
            return Some(value);
        }
        let d = Diagnostic::new(Code::OutOfRange, n.span, format!("{quoted} {}", parameter.takes));
        self.sink.push(d.label("out of range").help(format!("write for example `{}`", parameter.example)));
        None
    }

    /// Further fields of a request's body; what a load says itself is not said a second time.
    pub(super) fn body(&mut self, line: &WordLine) -> Map<String, Value> {
        let WordValue::Json(written) = &line.value else {
            self.wrong(line, "a JSON object");
            return Map::new();
        };
        let Ok(mut fields) = serde_json::from_str::<Map<String, Value>>(&written.value) else {
            self.wrong(line, "a JSON object");
            return Map::new();
        };
        let named: Vec<String> = fields.keys().cloned().collect();
        for name in named {
            let Some(why) = settled(&name) else { continue };
            let key = format!("\"{name}\"");
            let at = written.value.find(&key).unwrap_or_default();
            let start = written.span.start + at as u32;
            let span = Span { start, end: start + key.len() as u32, ..written.span };
            let d = Diagnostic::new(Code::ProfileSetting, span, format!("`{name}` is said without `body`"));
            self.sink.push(d.label("once more").help(format!("{why}: take `{name}` out of `body`")));
            fields.shift_remove(&name);
        }
        self.named_in_body(&mut fields, written);
        fields
    }

    /// `"model"` in a body, which asks for another of those that the server has: an adapter.
    fn named_in_body(&mut self, fields: &mut Map<String, Value>, written: &Text) {
        let name = |v: &Value| v.as_str().is_some_and(|name| !name.trim().is_empty());
        if fields.get("model").is_none_or(name) {
            return;
        }
        let d = Diagnostic::new(Code::ProfileSetting, written.span, "`model` in a body is a name");
        self.sink.push(d.label("no name").help(
            "write the name under which the server has the adapter, `body {\"model\": \"sql\"}`; without it the study's own is sent",
        ));
        fields.shift_remove("model");
    }
}
