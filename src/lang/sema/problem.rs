//! Why a flag cannot be set, in words: for a table, and as a diagnostic that says what to write instead.

use super::equivalents::{Equivalent, equivalent};
use super::flags::{AUTO, typed};
use super::meant;
use super::program::{Engine, WrittenValue};
use super::schema::{Elsewhere, Found, key};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, did_you_mean, one_of};
use crate::lang::source::Span;

const UNKNOWN: &str = "unknown";

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
            Self::Unknown => format!("{title} has no flag {name}"),
            Self::NotYet(since) => format!("{title}{version} does not have {name} yet ({since} has it)"),
            Self::NoLonger(until) => format!("{title}{version} no longer has {name} (gone in {until})"),
            Self::Reserved => format!("{name} belongs to the serve line"),
            Self::NeedsValue(_) => format!("{name} needs a value"),
            Self::TakesNone => format!("{name} takes no value"),
            Self::BadValue(why, _) => format!("{name}: {why}"),
            Self::NotJson(flag, _) => format!("{flag} is not JSON and has no keys to set"),
            Self::BadKey => format!("{name} names no key of a JSON flag"),
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
            Self::Unknown => Guess::of(name, engine).explain(
                Diagnostic::new(Code::UnknownFlag, at_name, message),
                name,
                at_name,
                engine,
            ),
            Self::NotYet(since) => {
                let d = Diagnostic::new(Code::FlagVersion, at_name, message).label("not yet in this version");
                let help = format!(
                    "{since} is the first release known to have it: take another flag, or another version"
                );
                Guess::of(name, engine).or_help(d, at_name, &help)
            }
            Self::NoLonger(until) => {
                let d =
                    Diagnostic::new(Code::FlagVersion, at_name, message).label("no longer in this version");
                let help = format!(
                    "{until} is the first release known to lack it: take another flag, or another version"
                );
                Guess::of(name, engine).or_help(d, at_name, &help)
            }
            Self::Reserved => {
                let d = Diagnostic::new(Code::ReservedFlag, at_name, message);
                let d = d.label("not a flag of a configuration");
                let single = value.filter(|_| at_value.start == at_name.end + 1);
                match single.filter(|v| !v.text.contains(['"', '\\', '{'])) {
                    Some(model) if matches!(key(name).as_str(), "--model" | "--model-path") => {
                        let right = format!("model \"{}\"", model.text);
                        d.help(format!("write `{right}`: perflab inserts it into the serve line"))
                            .edit(at_name.to(at_value), right)
                    }
                    _ => d.help("perflab inserts host, port and model; name a model with `model \"…\"`"),
                }
            }
            Self::NeedsValue(expected) => Diagnostic::new(Code::FlagNeedsValue, at_name, message)
                .label("without a value")
                .help(format!("write {name}=VALUE; it takes {expected}")),
            // one of several values, `=[true, false]`: the list is the mistake, and it is one
            Self::TakesNone if at_value.start > at_name.end + 1 => {
                let d = Diagnostic::new(Code::FlagNeedsValue, at_name, message);
                d.label("a switch is present or not").help(format!(
                    "write a point with it and one without: `{{ on: {name}, off: unset {name} }}`"
                ))
            }
            Self::TakesNone => {
                let d = Diagnostic::new(Code::FlagNeedsValue, at_value, message);
                let d = d.label("a switch is present or not").help(switch_help(name, value, engine));
                match meant::switch(name, value, engine) {
                    Some(switch) => d.edit(at_name.to(at_value), switch),
                    None => d,
                }
            }
            Self::BadValue(_, expected) => {
                let d = Diagnostic::new(Code::BadFlagValue, at_value, message);
                let ranged = value.is_some_and(|v| v.text.contains("..")) && expected.contains("number");
                let auto = value.is_some_and(|v| v.text == AUTO);
                let each = match (ranged, auto) {
                    (true, _) => "; name each value, `[64, 128, 256]`",
                    (_, true) => "; without the flag, the engine decides itself",
                    _ => "",
                };
                // the schema takes it, and what refuses it is an installed engine: its choices are not at hand here
                let (schema, version) = (&engine.schema, engine.version.as_deref());
                let taken = schema.stand_in(version).is_none() && typed(schema, version, name, value).is_ok();
                let d =
                    if taken { d.label("not what it takes") } else { meant::value(d, name, value, engine) };
                d.help(format!("it takes {expected}{each}"))
            }
            Self::NotJson(flag, expected) => Diagnostic::new(Code::UnknownFlag, at_name, message)
                .label("a key of a flag")
                .help(format!("write {flag}=VALUE; it takes {expected}")),
            Self::BadKey => Diagnostic::new(Code::UnknownFlag, at_name, message)
                .label("not a key")
                .help("write `--flag.key=VALUE`, or `--flag.key.inner=VALUE` for a key in a key"),
            Self::NoObject(what) => Diagnostic::new(Code::BadFlagValue, at_name, message)
                .label("a key of a value")
                .help(format!("set {what} as a whole, or a key of something that is an object")),
        }
    }

    /// Whether an unknown flag's diagnostic has something to suggest.
    pub fn suggests(d: &Diagnostic) -> bool {
        d.label != UNKNOWN
    }

    /// The same as a doubt: the engine's version is not one that the schema was read from, so that it may know better.
    pub fn doubt(&self, name: &str, span: Span, value: Option<&WrittenValue>, engine: &Engine) -> Diagnostic {
        let error = self.diagnostic(name, span, value, engine);
        let taken = engine.schema.stand_in(engine.version.as_deref()).unwrap_or_default();
        let title = &engine.title;
        let message = match self {
            Self::Unknown => format!("{title} {taken} has no flag {name}"),
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

/// What an unknown flag was probably meant to be.
enum Guess {
    /// what another engine calls it
    Elsewhere(Equivalent),
    /// the one flag that it is the beginning of
    Short(String),
    /// the flags that it is the beginning of
    ShortForMany(Vec<String>),
    Near(String),
    /// several that are as near
    NearMany(Vec<String>),
    /// what it is called now
    Renamed(String),
    Nothing,
}

impl Guess {
    fn of(name: &str, engine: &Engine) -> Self {
        let (schema, version) = (&engine.schema, engine.version.as_deref());
        if let Some(found) = equivalent(name, engine.root(), schema, version) {
            return Self::Elsewhere(found);
        }
        if let Some(level) = name.strip_prefix("-O")
            && level.chars().all(|c| c.is_ascii_digit())
            && matches!(schema.find(OPTIMIZATION, version), Found::Known(..))
        {
            let sign = if level.is_empty() { "" } else { "=" };
            return Self::Renamed(format!("{OPTIMIZATION}{sign}{level}"));
        }
        if let Some((_, now)) = RENAMED
            .iter()
            .find(|(old, now)| *old == key(name) && matches!(schema.find(now, version), Found::Known(..)))
        {
            return Self::Renamed((*now).to_owned());
        }
        if let Some(enable) = enabling(name).filter(|n| matches!(schema.find(n, version), Found::Known(..))) {
            return Self::Near(enable);
        }
        match schema.longer(name, version).as_slice() {
            [] => {}
            [one] => return Self::Short((*one).to_owned()),
            many => return Self::ShortForMany(many.iter().map(|m| (*m).to_owned()).collect()),
        }
        if let Some((flag, path)) = name.split_once('.') {
            // a key of a flag that is misspelled
            return match Self::of(flag, engine) {
                Self::Near(near) => Self::Near(format!("{near}.{path}")),
                Self::Short(full) => Self::Short(format!("{full}.{path}")),
                _ => Self::Nothing,
            };
        }
        let known: Vec<(String, &str)> = schema.names(version).map(|n| (key(n), n)).collect();
        let wanted = key(name);
        // dashes are alike in all of them, and say nothing of what was meant
        let bare = |k: &str| k.trim_start_matches('-').to_owned();
        let bares: Vec<String> = known.iter().map(|(k, _)| bare(k)).collect();
        let near = did_you_mean(&bare(&wanted), bares.iter().map(String::as_str));
        let near = near.and_then(|n| bares.iter().position(|b| b == n)).map(|i| known[i].0.as_str());
        let slip = near.is_some_and(|n| strsim::damerau_levenshtein(n, &wanted) == 1);
        // `--seqs` for `--max-num-seqs`: what one flag alone ends with is more than a word that looks alike
        let ending = wanted.strip_prefix("--").filter(|w| w.len() > 3).map(|w| format!("-{w}"));
        let mut longer =
            known.iter().filter(|(k, _)| !slip && ending.as_ref().is_some_and(|e| k.ends_with(e.as_str())));
        if let (Some((_, full)), None) = (longer.next(), longer.next()) {
            return Self::Near((*full).to_owned());
        }
        let spelled = near.and_then(|near| known.iter().find(|(k, _)| k == near));
        if let Some((_, near)) = spelled {
            return Self::Near((*near).to_owned());
        }
        match (with_words(&wanted, &known, 1).as_slice(), with_words(&wanted, &known, 2).as_slice()) {
            ([], []) => Self::Nothing,
            ([one], _) => Self::Near((*one).to_owned()),
            ([], many) | (many, _) => Self::NearMany(many.iter().map(|m| (*m).to_owned()).collect()),
        }
    }

    /// An unknown flag's diagnostic, with what to write instead.
    fn explain(self, d: Diagnostic, name: &str, at: Span, engine: &Engine) -> Diagnostic {
        let title = &engine.title;
        match self {
            Self::Elsewhere(Equivalent { of, here, nearest: false }) => {
                let label = format!("that is {} spelling; {title} calls it {here}", owners(&of));
                d.label(label).help(format!("write {here}")).edit(at, here)
            }
            Self::Elsewhere(Equivalent { of, here, nearest: true }) => {
                let label = format!("that is {} flag; the nearest of {title} is {here}", owners(&of));
                d.label(label)
                    .help(format!("look whether {here} does what you mean: the two are not the same"))
            }
            Self::Short(full) => d
                .label(format!("did you mean `{full}`?"))
                .help(format!("write {full}: a study spells flags out in full"))
                .edit(at, full),
            Self::ShortForMany(many) => {
                const SHOWN: usize = 6;
                let more = if many.len() > SHOWN { " …" } else { "" };
                let list = many.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>();
                let list = if more.is_empty() { one_of(&list) } else { list.join(", ") + more };
                d.label("short for several flags").help(format!("a study spells flags out in full: {list}"))
            }
            Self::Near(near) => {
                let d = d
                    .label(format!("did you mean `{near}`?"))
                    .help(format!("write {near}, or `raw {name}` to pass it on unchecked"));
                if another_word(name, &near) { d } else { d.edit(at, near) }
            }
            Self::NearMany(many) => {
                let all: Vec<String> = many.iter().map(|m| format!("`{m}`")).collect();
                d.label(format!("did you mean {}?", one_of(&all)))
                    .help(format!("write {}, or `raw {name}` to pass it on unchecked", one_of(&many)))
            }
            Self::Renamed(now) if RENAMED.iter().any(|(old, _)| *old == key(name)) => {
                d.label("its old name").help(format!("write {now}")).edit(at, now)
            }
            Self::Renamed(now) => d.label("its short spelling").help(format!("write {now}")).edit(at, now),
            Self::Nothing => d.label(UNKNOWN).help(format!("`raw {name}` passes it on unchecked")),
        }
    }

    /// A guess where there is another explanation already: only one that is sure is better.
    fn or_help(self, d: Diagnostic, at: Span, otherwise: &str) -> Diagnostic {
        match self {
            Self::Elsewhere(Equivalent { here, nearest: false, .. }) => {
                d.help(format!("write {here}")).edit(at, here)
            }
            Self::Elsewhere(Equivalent { here, nearest: true, .. }) => {
                d.help(format!("{otherwise}; the nearest here is {here}"))
            }
            Self::Renamed(now) => d.help(format!("write {now}")).edit(at, now),
            _ => d.help(otherwise),
        }
    }
}

/// vLLM's `-O3`, spelled out.
const OPTIMIZATION: &str = "--optimization-level";

/// Flags that went, and what does the same since.
const RENAMED: [(&str, &str); 1] = [("--disable-log-requests", "--no-enable-log-requests")];

/// `--max-total-len` for `--max-total-tokens`: as many words, one of which is another one, not a slip of it. What was meant is then
/// no more than a guess.
fn another_word(name: &str, near: &str) -> bool {
    let (ours, theirs) = (key(name), key(near));
    let pairs = || ours.trim_start_matches('-').split('-').zip(theirs.trim_start_matches('-').split('-'));
    let other = |(a, b): (&str, &str)| {
        let longest = a.len().max(b.len());
        let begins_alike = a.get(..3).is_some_and(|start| b.starts_with(start));
        !begins_alike && strsim::damerau_levenshtein(a, b) * 2 > longest
    };
    ours.matches('-').count() == theirs.matches('-').count() && pairs().any(other)
}

/// The flag that switches on what a name says.
fn enabling(name: &str) -> Option<String> {
    name.strip_prefix("--").filter(|n| n.len() > 3).map(|n| format!("--enable-{n}"))
}

/// `--max-len` for `--max-model-len`: the flags that have its words and so many more. Of many flags, which was meant is not known.
fn with_words<'a>(wanted: &str, known: &[(String, &'a str)], more: usize) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let words: Vec<&str> = wanted.trim_start_matches('-').split('-').collect();
    if words.len() < 2 {
        return Vec::new();
    }
    let has_them = |flag: &str| {
        let mut own = flag.trim_start_matches('-').split('-');
        flag.matches('-').count() == words.len() + 1 + more && words.iter().all(|w| own.any(|o| o == *w))
    };
    let found: Vec<&str> = known.iter().filter(|(k, _)| has_them(k)).map(|(_, n)| *n).collect();
    if found.len() <= SHOWN { found } else { Vec::new() }
}

/// `SGLang's`, `SGLang's and llama.cpp's`
fn owners(engines: &[&str]) -> String {
    engines.iter().map(|e| format!("{e}'s")).collect::<Vec<_>>().join(" and ")
}

/// `--switch=false` is the negated spelling where there is one.
fn switch_help(name: &str, value: Option<&WrittenValue>, engine: &Engine) -> String {
    let off = value.is_some_and(|v| matches!(v.text.to_lowercase().as_str(), "false" | "0" | "off" | "no"));
    let Found::Known(spec, negated) = engine.schema.find(name, engine.version.as_deref()) else {
        return format!("write {name}");
    };
    match (off, negated, spec.negated.first()) {
        (false, ..) => format!("write {name}"),
        (true, false, Some(no)) => format!("write {no}"),
        (true, true, _) => format!("write {}", spec.names[0]),
        (true, false, None) => format!("leave it out, or write `unset {name}` where it is set before"),
    }
}
