//! Why a flag cannot be set, in words: for a table, and as a diagnostic that says what to write instead.

use super::guess::{Guess, abbreviated};
use super::meant;
use super::program::{Engine, WrittenValue};
use super::schema::{Elsewhere, Found, key};
use super::successors::successor;
use super::typed::{AUTO, typed};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;

/// Why a flag cannot be set.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    Unknown,
    /// the first known release that has it
    NotYet(String),
    /// the first known release that lacks it
    NoLonger(String),
    /// belongs to the serve line
    Reserved,
    NeedsValue(String),
    TakesNone,
    /// what is wrong, what is taken
    BadValue(String, String),
    /// a key of a flag that is not JSON: the flag, and what it takes
    NotJson(String, String),
    /// a key that is no name
    BadKey,
    /// a key that an object of this flag does not have
    NoKey {
        flag: String,
        /// the keys that lead to it
        above: Box<[String]>,
        key: String,
        known: Vec<String>,
    },
    /// a key with a value that it does not take: the value as JSON, what it takes, and the choices if it has such
    KeyValue {
        flag: String,
        above: Box<[String]>,
        key: String,
        shown: Box<str>,
        expected: String,
        choices: Box<[String]>,
    },
    /// a key of something that has none: what, in the JSON that the base has
    NoObject(String),
}

impl From<Elsewhere<'_>> for Problem {
    fn from(elsewhere: Elsewhere<'_>) -> Self {
        match elsewhere {
            Elsewhere::Later(spec) => Self::NotYet(spec.since.clone().unwrap_or_default()),
            Elsewhere::Earlier(spec) => Self::NoLonger(spec.until.clone().unwrap_or_default()),
        }
    }
}

impl Problem {
    /// For a table: why a candidate cannot be.
    pub fn reason(&self, name: &str, engine: &Engine) -> String {
        let version = engine.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
        let title = &engine.title;
        match self {
            Self::Unknown if is_preset(name, engine) => format!("{name} brings a model of its own"),
            Self::Unknown if names_the_model(name, engine) => Self::Reserved.reason(name, engine),
            Self::Unknown => format!("{title} has no flag {name}"),
            Self::NotYet(since) => format!("{title}{version} does not have {name} yet ({since} has it)"),
            Self::NoLonger(until) => format!("{title}{version} no longer has {name} (gone in {until})"),
            Self::Reserved => format!("{name} belongs to the serve line"),
            Self::NeedsValue(_) => format!("{name} needs a value"),
            Self::TakesNone => format!("{name} takes no value"),
            Self::BadValue(why, _) => format!("{name}: {why}"),
            Self::NotJson(flag, _) => format!("{flag} is not JSON and has no keys to set"),
            Self::BadKey => format!("{name} names no key of a JSON flag"),
            Self::NoKey { flag, key, .. } => format!("{flag} of {title}{version} has no key `{key}`"),
            Self::KeyValue { flag, key, shown, .. } => {
                format!("{flag}: the key `{key}` does not take {shown}")
            }
            Self::NoObject(what) => {
                format!("{name}: {what} is not a JSON object here and has no keys to set")
            }
        }
    }

    pub fn diagnostic(
        &self,
        name: &str,
        span: Span,
        value: Option<&WrittenValue>,
        engine: &Engine,
    ) -> Diagnostic {
        let at_value = value.map_or(span, |v| v.span);
        let at_name =
            Span { end: span.end.min(span.start + u32::try_from(name.len()).unwrap_or(u32::MAX)), ..span };
        let message = self.reason(name, engine);
        match self {
            Self::Unknown if is_preset(name, engine) => {
                let d = Diagnostic::new(Code::ReservedFlag, at_name, message);
                d.label("a model and its settings").help(
                    "name the model with `model \"…\"`, and write the settings that it stands for as flags",
                )
            }
            Self::Unknown if names_the_model(name, engine) => {
                Self::Reserved.diagnostic(name, span, value, engine)
            }
            Self::Unknown => Guess::of(name, engine).explain(
                Diagnostic::new(Code::UnknownFlag, at_name, message),
                name,
                at_name,
                engine,
            ),
            Self::NotYet(since) => {
                let d = of_release(at_name, message, name, Some(since)).label("not yet in this version");
                let help = format!(
                    "{since} is the first release known to have it: take another flag, or another version"
                );
                Guess::of(name, engine).or_help(d, at_name, &help)
            }
            Self::NoLonger(until) => match Guess::renamed_for(name, value, engine) {
                Some(now) => short_spelling(Diagnostic::new(Code::FlagVersion, at_name, message), now),
                None => no_longer(of_release(at_name, message, name, None), name, until, engine),
            },
            Self::Reserved => reserved(Diagnostic::new(Code::ReservedFlag, at_name, message), name, value),
            Self::NeedsValue(expected) => Diagnostic::new(Code::FlagNeedsValue, at_name, message)
                .label("without a value")
                .help(format!("write {name}=VALUE; it takes {expected}")),
            // one of several values, `=[true, false]`: the list is the mistake, and it is one
            Self::TakesNone if at_value.start > at_name.end + 1 => {
                let d = Diagnostic::new(Code::FlagNeedsValue, at_name, message);
                let d = d.about(About::TakesNone { right: None });
                let off = match engine.schema.find(name, engine.version.as_deref()) {
                    Found::Known(spec, false) => spec.negated.first().cloned(),
                    _ => None,
                };
                // without the flag a switch may be on by default
                let off = off.unwrap_or_else(|| format!("unset {name}"));
                d.label("a switch is present or not")
                    .help(format!("write a point with it and one without: `{{ on: {name}, off: {off} }}`"))
            }
            Self::TakesNone => {
                let right = meant_switch(name, value, engine);
                let help = right.as_ref().map_or_else(
                    || format!("leave it out, or write `unset {name}` where it is set before"),
                    |right| format!("write {right}"),
                );
                let d = Diagnostic::new(Code::FlagNeedsValue, at_value, message);
                let d = d.about(About::TakesNone { right });
                let d = d.label("a switch is present or not").help(help);
                match meant::switch(name, value, engine) {
                    Some(switch) => d.edit(at_name.to(at_value), switch),
                    None => d,
                }
            }
            Self::BadValue(_, expected) => {
                let d = Diagnostic::new(Code::BadFlagValue, at_value, message);
                bad_value(d, (name, at_name), value, expected, engine)
            }
            Self::NotJson(flag, expected) => Diagnostic::new(Code::UnknownFlag, at_name, message)
                .label("a key of a flag")
                .help(format!("write {flag}=VALUE; it takes {expected}")),
            Self::BadKey => Diagnostic::new(Code::UnknownFlag, at_name, message)
                .label("not a key")
                .help("write `--flag.key=VALUE`, or `--flag.key.inner=VALUE` for a key in a key"),
            Self::NoKey { flag, above, key, known } => {
                let at = key_in_name(name, at_name, above.len()).unwrap_or(at_value);
                let about = About::NoKey { flag: flag.clone(), key: key.clone() };
                no_key(Diagnostic::new(Code::UnknownFlag, at, message).about(about), key, known)
            }
            // `--draft.tokens.max=2`
            Self::KeyValue { above, key, shown, expected, .. }
                if shown.starts_with('{') && key_in_name(name, at_name, above.len() + 1).is_some() =>
            {
                let below = key_in_name(name, at_name, above.len() + 1).unwrap_or(at_name);
                let message = format!("the key `{key}` has no keys of its own");
                let d = Diagnostic::new(Code::BadFlagValue, below, message).label("a key of a value");
                d.help(format!("`{key}` takes {expected}"))
            }
            Self::KeyValue { shown, expected, choices, .. } => {
                let d = Diagnostic::new(Code::BadFlagValue, at_value, message);
                let d = d.help(format!("it takes {expected}"));
                key_value(unquoted_number(d, shown, expected), shown, choices, name.contains('.'))
            }
            Self::NoObject(what) => Diagnostic::new(Code::BadFlagValue, at_name, message)
                .label("a key of a value")
                .help(format!("set {what} as a whole, or a key of something that is an object")),
        }
    }

    /// Whether an unknown flag's diagnostic has something to suggest.
    pub fn suggests(d: &Diagnostic) -> bool {
        d.about != About::LikeNone
    }

    /// The same as a doubt: the engine's version is not one that the schema was read from, so that it may know better.
    pub fn doubt(&self, name: &str, span: Span, value: Option<&WrittenValue>, engine: &Engine) -> Diagnostic {
        let error = self.diagnostic(name, span, value, engine);
        let taken = engine.schema.stand_in(engine.version.as_deref()).unwrap_or_default();
        let title = &engine.title;
        let message = match self {
            Self::Unknown if error.code == Code::UnknownFlag => format!("{title} {taken} has no flag {name}"),
            Self::NotYet(since) => format!("{title} {taken} does not have {name} yet ({since} has it)"),
            Self::NoLonger(until) => format!("{title} {taken} no longer has {name} (gone in {until})"),
            _ => format!("{}, for {title} {taken}", error.message),
        };
        let version = engine.version.as_deref().unwrap_or_default();
        let help = error.help.map(|h| format!("it is passed on, as {version} may know it; {h}"));
        // no edit: a machine should not mend what may be right
        Diagnostic { code: Code::FlagDoubt, message, help, edits: Vec::new(), ..error }
    }
}

/// What the serve line says; a model that is named beside it has a line of its own.
fn reserved(d: Diagnostic, name: &str, value: Option<&WrittenValue>) -> Diagnostic {
    let at_name = d.span;
    let d = d.label("not a flag of a configuration");
    let single = value.filter(|v| v.span.start == at_name.end + 1);
    match single.filter(|v| !v.text.contains(['"', '\\', '{'])) {
        Some(model) if names_a_model_as_written(name) => {
            let right = format!("model \"{}\"", model.text);
            d.help(format!("write `{right}`: perflab inserts it into the serve line"))
                .edit(at_name.to(model.span), right)
        }
        _ if key(name) == "--uds" => {
            d.help("perflab asks every launch at a host and port that it inserts itself")
        }
        _ => d.help("perflab inserts host, port and model; name a model with `model \"…\"`"),
    }
}

fn no_key(d: Diagnostic, key: &str, known: &[String]) -> Diagnostic {
    let dashed: Vec<(String, &str)> = known.iter().map(|k| (k.replace('_', "-"), k.as_str())).collect();
    // `num_spec_tokens` for `num_speculative_tokens`
    let d = d.meant(key, known.iter().map(String::as_str), "not a key of it", str::to_owned);
    let d = match abbreviated(&key.replace('_', "-"), &dashed).as_slice() {
        [one] if d.suggested.is_empty() => d.suggest(one),
        _ => d,
    };
    d.help(format!("it has {}", some_of(known)))
}

/// A value that does not fit its flag's type.
fn bad_value(
    d: Diagnostic,
    (name, at_name): (&str, Span),
    value: Option<&WrittenValue>,
    expected: &str,
    engine: &Engine,
) -> Diagnostic {
    let ranged = value.is_some_and(|v| v.text.contains("..")) && expected.contains("number");
    let auto = value.is_some_and(|v| v.text == AUTO);
    // `{{ ctx }}`, of which a `{` is left
    let templated = value.is_some_and(|v| v.text.starts_with("{ ") && v.text.ends_with(" }"));
    let each = match (ranged, auto) {
        _ if templated => "; a param is inserted by `{name}`, `{{` is a brace",
        (true, _) => "; name each value, `[64, 128, 256]`",
        (_, true) => "; without the flag, the engine decides itself",
        _ => "",
    };
    // the schema takes it, and what refuses it is an installed engine: its choices are not at hand here
    let (schema, version) = (&engine.schema, engine.version.as_deref());
    let taken = schema.stand_in(version).is_none() && typed(schema, version, name, value).is_ok();
    let d =
        if taken { d.label("not what it takes") } else { meant::value(d, (name, at_name), value, engine) };
    match d.help {
        Some(_) => d,
        None => d.help(format!("it takes {expected}{each}")),
    }
}

/// A value that its key does not take; one that stands behind a dotted name stands there without quotes.
/// `"5"`, which without its quotes is what the key takes.
fn unquoted_number(d: Diagnostic, shown: &str, expected: &str) -> Diagnostic {
    let bare = shown.trim_matches('"');
    let number = bare.len() + 2 == shown.len() && !expected.is_empty() && bare.parse::<f64>().is_ok();
    if number {
        d.help(format!("it takes {expected}, which stands without quotes: write `{bare}`"))
    } else {
        d
    }
}

fn key_value(d: Diagnostic, shown: &str, choices: &[String], dotted: bool) -> Diagnostic {
    let quoted = shown.starts_with('"') && !dotted;
    let written = |right: &str| if quoted { format!("\"{right}\"") } else { right.to_owned() };
    d.meant(shown.trim_matches('"'), choices.iter().map(String::as_str), "not what it takes", written)
}

/// Where a key stands in `--flag.key.inner`, if it does.
fn key_in_name(name: &str, at_name: Span, index: usize) -> Option<Span> {
    let before: usize = name.split('.').take(index + 1).map(|part| part.len() + 1).sum();
    let key = name.split('.').nth(index + 1)?;
    let start = at_name.start + u32::try_from(before).ok()?;
    Some(Span { start, end: start + u32::try_from(key.len()).ok()?, ..at_name })
}

/// A list for a help, cut where it would be too long to read.
pub fn some_of(all: &[String]) -> String {
    const MOST: usize = 12;
    let more = if all.len() > MOST { format!(" and {} more", all.len() - MOST) } else { String::new() };
    format!("{}{more}", all[..all.len().min(MOST)].join(", "))
}

/// A flag whose short spelling is gone; `now` is the one it has.
fn short_spelling(d: Diagnostic, now: String) -> Diagnostic {
    let at = d.span;
    d.label("its short spelling").help(format!("write {now}")).edit(at, now)
}

/// A flag that another release has.
fn of_release(at: Span, message: String, flag: &str, since: Option<&String>) -> Diagnostic {
    let about = About::Release { flag: flag.to_owned(), since: since.cloned() };
    Diagnostic::new(Code::FlagVersion, at, message).about(about)
}

/// The switch that a value of it says, if there is one that says it.
fn meant_switch(name: &str, value: Option<&WrittenValue>, engine: &Engine) -> Option<String> {
    let off = value.is_some_and(|v| matches!(v.text.to_lowercase().as_str(), "false" | "0" | "off" | "no"));
    let Found::Known(spec, negated) = engine.schema.find(name, engine.version.as_deref()) else {
        return Some(name.to_owned());
    };
    match (off, negated) {
        (false, _) => Some(name.to_owned()),
        (true, false) => spec.negated.first().cloned(),
        (true, true) => spec.names.first().cloned(),
    }
}

/// A flag that is gone, with what came in its place.
fn no_longer(d: Diagnostic, name: &str, until: &str, engine: &Engine) -> Diagnostic {
    let d = d.label("no longer in this version");
    if let Some(here) = successor(name, engine.root(), &engine.schema, engine.version.as_deref()) {
        return d.help(format!("{here} came in its place: take that, or another version"));
    }
    let help =
        format!("{until} is the first release known to lack it: take another flag, or another version");
    let at = d.span;
    Guess::of(name, engine).or_help(d, at, &help)
}

/// llama.cpp's ways to name a model that is fetched.
const OF_A_HUB: [&str; 9] =
    ["--hf-repo", "-hf", "-hfr", "--hf-file", "-hff", "--model-url", "-mu", "--docker-repo", "-dr"];

/// Beginnings and ends of llama.cpp's words for a model that it fetches, with settings: `--fim-qwen-7b-default`.
const PRESETS: [&str; 4] = ["--fim-", "--gpt-oss-", "--vision-", "--embd-gemma-"];

fn is_preset(name: &str, engine: &Engine) -> bool {
    let one = PRESETS.iter().any(|p| name.starts_with(p))
        && (name.ends_with("-default") || name.ends_with("-spec"));
    engine.root() == "llama_cpp" && one
}

/// Whether a flag that is no engine's says which model is served, as the serve line does.
fn names_the_model(name: &str, engine: &Engine) -> bool {
    let mut before_model = engine.serve.split_whitespace().skip_while(|word| *word != name).skip(1);
    OF_A_HUB.contains(&name) || before_model.next() == Some("{model}")
}

/// Whether the flag's value is what a `model` line takes.
fn names_a_model_as_written(name: &str) -> bool {
    matches!(key(name).as_str(), "--model" | "--model-path" | "-m")
}
