//! What an unknown flag was probably meant to be. A guess becomes a fix only where nothing else can have been meant.

use super::equivalents::{Equivalent, equivalent};
use super::program::{Engine, WrittenValue};
use super::schema::{self, Found, Kind, key};
use super::switch;
use super::typed::typed;
use super::unchecked::as_option;
use crate::lang::diag::{About, Diagnostic, nearest, one_of, same_digits};
use crate::lang::source::Span;

/// A name with its dash, of which every slip is as near to several others: `-tq` is one of `-tp` and of `-q`.
const SHORTEST: usize = 3;

/// What an unknown flag was probably meant to be.
pub(super) enum Guess {
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
    /// `-tp4`: the flag, and the number that is glued to it
    Glued(String, String),
    /// the one that switches the same thing the other way
    Opposite(String),
    /// another spelling of the same switch
    Same(String),
    /// `--version`: what an engine states on a line of its own
    Release,
    Nothing,
}

impl Guess {
    pub(super) fn of(name: &str, engine: &Engine) -> Self {
        let (schema, version) = (&engine.schema, engine.version.as_deref());
        if key(name) == "--version" {
            return Self::Release;
        }
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
        if let Some((flag, number)) = glued(name)
            && matches!(schema.find(flag, version), Found::Known(spec, _) if spec.kind != Kind::Switch)
        {
            return Self::Glued(flag.to_owned(), number.to_owned());
        }
        if let Some((flag, value)) = with_its_value(name, engine) {
            return Self::Glued(flag.to_owned(), value.to_owned());
        }
        if let Some((_, now)) = RENAMED
            .iter()
            .find(|(old, now)| *old == key(name) && matches!(schema.find(now, version), Found::Known(..)))
        {
            return Self::Renamed((*now).to_owned());
        }
        if let Some(guess) = switched(name, engine) {
            return guess;
        }
        if let Some(enable) = enabling(name).and_then(|n| spelled(&n, engine)) {
            return Self::Near(enable);
        }
        let mut longer = schema.longer(name, version);
        longer.dedup();
        match longer.as_slice() {
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
        if let [one] = abbreviated(&wanted, &known).as_slice() {
            return Self::Near((*one).to_owned());
        }
        let alike = |b: &&str| switch::alike(&wanted, b);
        let alike: Vec<&str> = nearest(&bare(&wanted), bares.iter().map(String::as_str).filter(alike));
        let short = !wanted.starts_with("--");
        // `-ppp` is `-pp` with a letter too many
        let run = |flag: &str| -> String {
            let mut last = None;
            flag.chars().filter(|c| last.replace(*c) != Some(*c)).collect()
        };
        let same: Vec<&str> =
            alike.iter().copied().filter(|b| short && run(b) == run(&bare(&wanted))).collect();
        let alike = if same.is_empty() { alike } else { same };
        if alike.len() > 1 && (wanted.len() <= SHORTEST || short) {
            let of = |b: &&str| bares.iter().position(|k| k == b).map(|i| known[i].1.to_owned());
            return Self::NearMany(alike.iter().filter_map(of).collect());
        }
        let near = alike.first().copied();
        let near = near.and_then(|n| bares.iter().position(|b| b == n)).map(|i| known[i].0.as_str());
        let slip = near.is_some_and(|n| strsim::damerau_levenshtein(n, &wanted) == 1);
        // `--seqs` for `--max-num-seqs`: what one flag alone ends with is more than a word that looks alike
        let ending = wanted.strip_prefix("--").filter(|w| w.len() > 3).map(|w| format!("-{w}"));
        let mut longer =
            known.iter().filter(|(k, _)| !slip && ending.as_ref().is_some_and(|e| k.ends_with(e.as_str())));
        if let (Some((_, full)), None) = (longer.next(), longer.next()) {
            let mut many = with_words(&wanted, &known, 1);
            many.retain(|m| m != full);
            many.insert(0, full);
            return match many.as_slice() {
                [one] => Self::Near((*one).to_owned()),
                many => Self::NearMany(many.iter().map(|m| (*m).to_owned()).collect()),
            };
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
    pub(super) fn explain(self, d: Diagnostic, name: &str, at: Span, engine: &Engine) -> Diagnostic {
        let title = &engine.title;
        match self {
            Self::Elsewhere(Equivalent { of, here, nearest: false }) => {
                let label = format!("that is {} spelling; {title} calls it {here}", owners(&of));
                let d = d.label(label).help(format!("write {here}")).edit(at, here);
                d.about(About::Elsewhere { here: here.to_owned(), nearest: false })
            }
            Self::Elsewhere(Equivalent { of, here, nearest: true }) => {
                let label = format!("that is {} flag; the nearest of {title} is {here}", owners(&of));
                d.label(label)
                    .help(format!("look whether {here} does what you mean: the two are not the same"))
                    .about(About::Elsewhere { here: here.to_owned(), nearest: true })
            }
            // what it is the beginning of need not be what was meant: `--enable-ep` of `--enable-eplb`
            Self::Short(full) => {
                let d = d.suggest(&full).help(format!("write {full}: a study spells flags out in full"));
                // `--tp` of `--tp-size`: a size is all that it can be of
                let size = full.strip_prefix(name) == Some("-size");
                if size || is_slip(name, &full) { d.edit(at, full) } else { d }
            }
            Self::ShortForMany(many) => {
                const SHOWN: usize = 6;
                let more = if many.len() > SHOWN { " …" } else { "" };
                let list = many.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>();
                let list = if more.is_empty() { one_of(&list) } else { list.join(", ") + more };
                d.label("short for several flags").help(format!("a study spells flags out in full: {list}"))
            }
            Self::Near(near) => {
                let d =
                    d.suggest(&near).help(format!("write {near}, or `raw {name}` to pass it on unchecked"));
                // `-max-num-seqs`: no short flag has so many letters
                let dash = near.strip_prefix('-') == Some(name) && name.len() > SHORTEST;
                if dash || sure(name) && is_slip(name, &near) && same_digits(name, &near) {
                    d.edit(at, near)
                } else {
                    d
                }
            }
            Self::Same(same) => {
                let d = d.suggest(&same);
                d.help(format!("write {same}, or `raw {name}` to pass it on unchecked")).edit(at, same)
            }
            Self::NearMany(many) => d
                .suggest_one_of(&many)
                .help(format!("write {}, or `raw {name}` to pass it on unchecked", one_of(&many))),
            Self::Renamed(now) if RENAMED.iter().any(|(old, _)| *old == key(name)) => {
                d.label("its old name").help(format!("write {now}")).edit(at, now)
            }
            Self::Glued(flag, number) => {
                let right = format!("{flag}={number}");
                d.label("a flag and its value are joined by `=`")
                    .help(format!("write {right}"))
                    .edit(at, right)
            }
            // `-O` alone may have had JSON for a value, which is another flag's now
            Self::Renamed(now) if now == OPTIMIZATION => {
                d.label("its short spelling").help(format!("write {now}{OR_JSON}"))
            }
            Self::Renamed(now) => d.label("its short spelling").help(format!("write {now}")).edit(at, now),
            Self::Release => d
                .label("no flag of a server")
                .help("the release that is started is a setting of the engine: `version \"…\"`"),
            Self::Opposite(other) => {
                let state = if switch::Sense::of(&other).on { "off" } else { "on" };
                d.label(format!("it is {state} unless `{other}` is given"))
                    .help(format!("leave it out, or write `unset {other}` where that is set before"))
                    .about(About::Opposite(other))
            }
            Self::Nothing => {
                let raw = format!("`raw {name}` passes it on unchecked");
                let unlike = |d: Diagnostic| d.label("unknown").about(About::LikeNone);
                match as_option(name, engine) {
                    Some((option, true)) => d
                        .label("an option of the engine's file")
                        .help(format!("write {option}=VALUE, a switch as {option}=true")),
                    Some((option, false)) => unlike(d).help(format!(
                        "{raw}; an option of the engine's file is written {option}=VALUE, a switch as {option}=true"
                    )),
                    None => unlike(d).help(raw),
                }
            }
        }
    }

    /// What a flag that went is called now, where that takes the value that stands here.
    pub(super) fn renamed_for(name: &str, value: Option<&WrittenValue>, engine: &Engine) -> Option<String> {
        let Self::Renamed(now) = Self::of(name, engine) else { return None };
        let taken = typed(&engine.schema, engine.version.as_deref(), &now, value).is_ok();
        (value.is_some_and(|v| !v.json) && taken).then_some(now)
    }

    /// A guess where there is another explanation already: only one that is sure is better.
    pub(super) fn or_help(self, d: Diagnostic, at: Span, otherwise: &str) -> Diagnostic {
        match self {
            Self::Elsewhere(Equivalent { here, nearest: false, .. }) => {
                d.help(format!("write {here}")).edit(at, here)
            }
            Self::Elsewhere(Equivalent { here, nearest: true, .. }) => {
                d.help(format!("{otherwise}; the nearest here is {here}"))
            }
            Self::Renamed(now) if now == OPTIMIZATION => d.help(format!("write {now}{OR_JSON}")),
            Self::Renamed(now) => d.help(format!("write {now}")).edit(at, now),
            _ => d.help(otherwise),
        }
    }
}

/// vLLM's `-O3`, spelled out.
const OPTIMIZATION: &str = "--optimization-level";
const OR_JSON: &str = "; JSON, which `-O` took before, goes to the flag that takes it";

/// Flags that went, and what does the same since.
const RENAMED: [(&str, &str); 1] = [("--disable-log-requests", "--no-enable-log-requests")];

/// Of the few letters of a short flag each is another one: `-tpp` is as near to `-dpp` as to `-tp`.
fn sure(name: &str) -> bool {
    name.starts_with("--") || name.contains('.')
}

/// Whether a name is a flag's with a letter or two wrong, or with words cut short: as many words, each of which is one of its own.
/// `--max-total-len` for `--max-total-tokens`, `--enable-hicache` for `--enable-lmcache` and a word more or less are no more than a guess.
fn is_slip(name: &str, near: &str) -> bool {
    let (ours, theirs) = (key(name), key(near));
    let letters = |flag: &str| flag.replace('-', "");
    // `--max-numseqs`
    if enabling(&ours).is_some_and(|n| n == theirs) || letters(&ours) == letters(&theirs) {
        return true;
    }
    let pairs = || ours.trim_start_matches('-').split('-').zip(theirs.trim_start_matches('-').split('-'));
    let slips = |(a, b): (&str, &str)| {
        let begins_alike = a.get(..3).is_some_and(|start| b.starts_with(start));
        let wrong = strsim::damerau_levenshtein(a, b);
        begins_alike || wrong <= 1 || wrong == 2 && a.len().min(b.len()) > LONG_WORD
    };
    ours.matches('-').count() == theirs.matches('-').count() && pairs().all(slips)
}

/// Of longer words two letters may be wrong.
const LONG_WORD: usize = 7;

/// A flag as the schema spells it.
fn spelled(name: &str, engine: &Engine) -> Option<String> {
    match engine.schema.find(name, engine.version.as_deref()) {
        Found::Known(spec, _) => {
            spec.names.iter().chain(&spec.negated).find(|n| key(n) == key(name)).cloned()
        }
        _ => None,
    }
}

/// What a switch of another sense is here: the same under another spelling, or only its opposite.
fn switched(name: &str, engine: &Engine) -> Option<Guess> {
    let (schema, version) = (&engine.schema, engine.version.as_deref());
    let sense = switch::Sense::of(name);
    let find = |spelling: &String| match schema.find(spelling, version) {
        Found::Known(spec, _) if matches!(spec.kind, Kind::Switch) => {
            spec.names.iter().chain(&spec.negated).find(|n| key(n) == *spelling).cloned()
        }
        _ => None,
    };
    if let Some(same) = sense.spellings(sense.on).iter().find_map(find) {
        return sense.said.then_some(Guess::Same(same));
    }
    let here =
        |spelling: &String| equivalent(spelling, engine.root(), schema, version).filter(|e| !e.nearest);
    let opposite = sense.spellings(!sense.on);
    let other =
        opposite.iter().find_map(find).or_else(|| opposite.iter().find_map(here).map(|e| e.here.to_owned()));
    other.map(Guess::Opposite)
}

/// `--attn-backend` for `--attention-backend`: the flags whose words begin alike and have all letters of the name's, in order.
pub(super) fn abbreviated<'a>(wanted: &str, known: &[(String, &'a str)]) -> Vec<&'a str> {
    let of = |word: &str, full: &str| {
        let mut letters = full.chars();
        word.chars().next() == full.chars().next() && word.chars().all(|c| letters.any(|l| l == c))
    };
    // `--context-size` for `--ctx-size`: one of few letters may be written out
    let short = |word: &str, full: &str| of(word, full) || full.len() > 2 && of(full, word);
    let words =
        |flag: &str| -> Vec<String> { flag.trim_start_matches('-').split('-').map(str::to_owned).collect() };
    let ours = words(wanted);
    let fits = |flag: &str| {
        let theirs = words(flag);
        theirs.len() == ours.len() && ours.iter().zip(&theirs).all(|(o, t)| short(o, t))
    };
    if ours.len() < 2 { Vec::new() } else { known.iter().filter(|(k, _)| fits(k)).map(|(_, n)| *n).collect() }
}

/// A short flag with its number behind it, as many programs take it: `-tp4`.
fn glued(name: &str) -> Option<(&str, &str)> {
    let flag = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let short = name.starts_with('-') && !name.starts_with("--") && flag.len() > 1;
    (short && flag.len() < name.len()).then(|| name.split_at(flag.len()))
}

/// `--kv-cache-dtypefp8`: a flag, and one of the values that it takes, without the sign between them.
fn with_its_value<'n>(name: &'n str, engine: &'n Engine) -> Option<(&'n str, &'n str)> {
    let (schema, version) = (&engine.schema, engine.version.as_deref());
    let long = schema.names(version).filter(|flag| flag.starts_with("--") && name.len() > flag.len());
    let flag = long.filter(|flag| name.starts_with(*flag)).max_by_key(|flag| flag.len())?;
    let value = &name[flag.len()..];
    let Found::Known(spec, _) = schema.find(flag, version) else { return None };
    let takes = match &spec.kind {
        kind @ (Kind::Int { .. } | Kind::Float { .. } | Kind::OneOf(_)) => schema::value(kind, value).is_ok(),
        Kind::Text => spec.known.iter().any(|k| k == value),
        _ => false,
    };
    takes.then_some((flag, value))
}

/// The flag that switches on what a name says.
fn enabling(name: &str) -> Option<String> {
    name.strip_prefix("--").filter(|n| n.len() > 3).map(|n| format!("--enable-{n}"))
}

/// `--max-len` for `--max-model-len`: the flags that have its words and so many more. Of many flags, which was meant is not known.
pub(super) fn with_words<'a>(wanted: &str, known: &[(String, &'a str)], more: usize) -> Vec<&'a str> {
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
