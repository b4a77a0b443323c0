//! Flag schemas: what an engine's flags are called and take, and what a written value means under them.

use std::borrow::Cow;
use std::cmp::Ordering;

use foldhash::{HashMap, HashSet};

pub use super::kinds::{Kind, Value, sorted, value};
use super::versions::{compare_versions, stand_in};
use crate::lang::diag::did_you_mean;
use crate::lang::syntax::ANY;

/// One declared flag, as it is for a range of versions.
#[derive(Debug, Clone)]
pub struct FlagSpec {
    /// the first spelling is the one that identifies it
    pub names: Vec<String>,
    pub kind: Kind,
    /// the type that it was declared with, where a default that this leaves out makes it a wider one
    pub narrow: Option<Kind>,
    /// its object is handed over in a file, whose path the flag takes
    pub file: bool,
    /// its words stand one by one behind the flag, which is given as often
    pub repeated: bool,
    pub default: Option<String>,
    /// the word `auto` may be written, whatever the type; the engine then decides in another way than without the flag
    pub auto: bool,
    pub since: Option<String>,
    pub until: Option<String>,
    pub negated: Vec<String>,
    pub uses_gpus: Option<UsesGpus>,
    /// its value is the most tokens that one request may have, prompt and output together
    pub limits_requests: Option<LimitsRequests>,
    /// what a text is known to take; a plug-in of the engine may take more. Empty if nobody says
    pub known: Vec<String>,
    /// the keys that an object may have; empty if nobody says
    pub keys: Vec<KeySpec>,
}

impl FlagSpec {
    /// What it takes, in words.
    pub fn expected(&self) -> String {
        if self.file {
            return "an object, such as `{\"key\": \"text\"}`, which each launch writes into a file; or the path of a file"
                .to_owned();
        }
        self.kind.expected()
    }
}

/// A key that a JSON object may have.
#[derive(Debug, Clone, PartialEq)]
pub struct KeySpec {
    pub name: String,
    /// what it holds, where that is known
    pub kind: Option<Kind>,
    /// the keys of an object that it holds; empty if nobody says
    pub keys: Vec<KeySpec>,
}

/// How far a flag's value goes for one request.
#[derive(Debug, Clone)]
pub struct LimitsRequests {
    /// the flag among whose number of requests it is shared out
    pub per: Option<String>,
    /// a switch under which it is not
    pub unless: Option<String>,
}

/// The flag's value multiplies the GPUs that a configuration needs, or adds to those of its like.
#[derive(Debug, Clone)]
pub struct UsesGpus {
    pub adds: bool,
    pub unless: Option<String>,
}

/// How a flag's value becomes arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// it is one
    Whole,
    /// words are separate arguments, never joined by `=`
    Words,
    /// the flag is given once for each word
    Repeated,
}

/// A flag in a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// its first spelling in the schema
    pub canonical: String,
    /// as last written, the way it is printed
    pub spelled: String,
    pub value: Value,
    /// the value as it stands in a command; `None` for a switch
    pub shown: Option<String>,
    pub split: Split,
    /// `shown` inserts what only a launch knows: `{model}`, `{port}`
    pub template: bool,
    /// `shown` is an object that a launch writes into a file, whose path the flag takes
    pub file: bool,
}

/// An engine's flags, all versions.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// the releases that the flags were read from, lowest first; empty if nobody says
    versions: Vec<String>,
    specs: Vec<FlagSpec>,
    by_key: HashMap<String, Vec<usize>>,
    /// the few that mean something to more than their engine: that limit requests, or multiply the GPUs that are needed
    marked: Vec<usize>,
    /// keys of flags whose declarations could not be read, which has been said: nothing is held against their uses
    unread: HashSet<String>,
}

/// What a schema knows of a name under a version.
#[derive(Debug)]
pub enum Found<'a> {
    /// the flag, and whether the name is one of its negated spellings
    Known(&'a FlagSpec, bool),
    /// other versions have it
    Elsewhere(Elsewhere<'a>),
    Unknown,
}

/// A flag of other versions than the one asked for.
#[derive(Debug)]
pub enum Elsewhere<'a> {
    /// as it will be, from its `since` on
    Later(&'a FlagSpec),
    /// as it last was, before its `until`
    Earlier(&'a FlagSpec),
}

/// Spellings that are one name have one key: `_` counts as `-`.
pub fn key(name: &str) -> String {
    name.replace('_', "-")
}

impl Schema {
    pub fn new() -> Self {
        <Self as Default>::default()
    }

    pub fn add(&mut self, spec: FlagSpec) {
        let index = self.specs.len();
        for name in spec.names.iter().chain(&spec.negated) {
            self.by_key.entry(key(name)).or_default().push(index);
        }
        if spec.limits_requests.is_some() || spec.uses_gpus.is_some() {
            self.marked.push(index);
        }
        self.specs.push(spec);
    }

    /// Notes a flag whose declaration could not be read.
    pub fn add_unread(&mut self, name: &str) {
        self.unread.insert(key(name));
    }

    pub fn unread(&self) -> impl Iterator<Item = &str> {
        self.unread.iter().map(String::as_str)
    }

    /// Whether a name is that of a flag whose declaration could not be read, or of a key in it.
    /// Where one lost its name, any may be that one but what is a slip of another.
    pub fn is_unread(&self, name: &str) -> bool {
        let flag = || key(name.split('.').next().unwrap_or(name));
        let slip = || did_you_mean(&flag(), self.by_key.keys().map(String::as_str)).is_some();
        !self.unread.is_empty() && (self.unread.contains(&flag()) || self.unread.contains(ANY) && !slip())
    }

    /// The release that a version surely means and does not say: of which it is the beginning, `0.17` of `0.17.1`, or that it is but for a
    /// letter that looks like a digit, or a dot.
    pub fn full_release(&self, version: &str) -> Option<&str> {
        let longer = |v: &&String| v.strip_prefix(version).is_some_and(|rest| rest.starts_with('.'));
        let found = self.versions.iter().find(longer).filter(|_| version.contains('.'));
        let looks_like = |v: &&String| v.as_str() != version && digits_of(v) == digits_of(version);
        found.or_else(|| self.versions.iter().find(looks_like)).map(String::as_str)
    }

    /// States the releases that the flags were read from.
    pub fn set_versions(&mut self, mut versions: Vec<String>) {
        versions.sort_by(|a, b| compare_versions(a, b));
        self.versions = versions;
    }

    pub fn versions(&self) -> &[String] {
        &self.versions
    }

    pub fn specs(&self) -> &[FlagSpec] {
        &self.specs
    }

    /// What the versions know of a name, lowest first.
    pub fn named<'a>(&'a self, name: &str) -> impl DoubleEndedIterator<Item = &'a FlagSpec> + use<'a> {
        self.by_key.get(&key(name)).into_iter().flatten().map(|i| &self.specs[*i])
    }

    /// The flags of any version that are marked `limits requests` or `uses gpus`.
    pub fn marked(&self) -> impl Iterator<Item = &FlagSpec> {
        self.marked.iter().map(|i| &self.specs[*i])
    }

    /// The flags of one version.
    pub fn of_version<'a>(&'a self, version: Option<&'a str>) -> impl Iterator<Item = &'a FlagSpec> {
        let version = self.nearest(version);
        self.specs.iter().filter(move |s| s.holds_for(version))
    }

    /// Every spelling that a version knows, for did-you-mean.
    pub fn names<'a>(&'a self, version: Option<&'a str>) -> impl Iterator<Item = &'a str> {
        self.of_version(version).flat_map(|s| s.names.iter().chain(&s.negated)).map(String::as_str)
    }

    /// The flags that a name is the beginning of, one spelling each: what `argparse` takes for an abbreviation.
    pub fn longer<'a>(&'a self, name: &str, version: Option<&'a str>) -> Vec<&'a str> {
        let wanted = key(name);
        if wanted.len() < 4 || !wanted.starts_with("--") {
            return Vec::new();
        }
        let spelled =
            |s: &'_ FlagSpec| s.names.iter().chain(&s.negated).position(|n| key(n).starts_with(&wanted));
        let full = self.of_version(version).filter_map(|s| {
            let at = spelled(s)?;
            s.names.iter().chain(&s.negated).nth(at).map(String::as_str)
        });
        full.collect()
    }

    /// The release whose flags stand in for those of a version that the schema was not read from.
    pub fn stand_in(&self, version: Option<&str>) -> Option<&str> {
        stand_in(&self.versions, version?)
    }

    fn nearest<'a>(&'a self, version: Option<&'a str>) -> Option<&'a str> {
        self.stand_in(version).or(version)
    }

    pub fn find(&self, name: &str, version: Option<&str>) -> Found<'_> {
        let wanted = if name.contains('_') { Cow::from(key(name)) } else { Cow::from(name) };
        let Some(indices) = self.by_key.get(&*wanted) else { return Found::Unknown };
        let mut specs = indices.iter().map(|i| &self.specs[*i]);
        // most flags are those of every version: which release stands in for this one is asked for the others only
        let version = if specs.clone().all(FlagSpec::is_timeless) { None } else { self.nearest(version) };
        if let Some(spec) = specs.clone().find(|s| s.holds_for(version)) {
            return Found::Known(spec, spec.is_negated(name));
        }
        let later = |s: &&FlagSpec| match (version, &s.since) {
            (Some(v), Some(since)) => compare_versions(v, since) == Ordering::Less,
            _ => false,
        };
        match (specs.clone().find(later), specs.next_back()) {
            (Some(spec), _) => Found::Elsewhere(Elsewhere::Later(spec)),
            (None, Some(spec)) => Found::Elsewhere(Elsewhere::Earlier(spec)),
            (None, None) => Found::Unknown,
        }
    }

    /// Whether a value of a flag is the word that the schema has for its default: a flag that takes `auto` does by itself what it
    /// does then, whatever that is.
    pub fn is_default_word(&self, name: &str, version: Option<&str>, set: &Value) -> bool {
        let Found::Known(spec, _) = self.find(name, version) else { return false };
        !spec.auto && matches!(set, Value::Text(text) if spec.default.as_ref() == Some(text))
    }

    /// The default that the schema gives for a flag, `auto` counting as none.
    pub fn default(&self, name: &str, version: Option<&str>) -> Option<Value> {
        let Found::Known(spec, _) = self.find(name, version) else { return None };
        let text = spec.default.as_deref();
        match (&spec.kind, text) {
            (_, Some("auto")) => None,
            (Kind::Switch, None) => Some(Value::Switch(false)),
            (Kind::Switch, Some(t)) => Some(Value::Switch(t == "true")),
            (_, None) => None,
            (kind, Some(t)) => value(kind, t).ok(),
        }
    }
}

impl FlagSpec {
    fn is_timeless(&self) -> bool {
        self.since.is_none() && self.until.is_none()
    }

    pub fn holds_for(&self, version: Option<&str>) -> bool {
        let Some(version) = version else { return true };
        let from = self.since.as_deref().is_none_or(|s| compare_versions(version, s) != Ordering::Less);
        from && self.until.as_deref().is_none_or(|u| compare_versions(version, u) == Ordering::Less)
    }

    /// Whether a name is one of its spellings, those that switch it off aside.
    pub fn is_called(&self, name: &str) -> bool {
        let dash = |b: u8| if b == b'_' { b'-' } else { b };
        let same = |n: &String| n.len() == name.len() && n.bytes().map(dash).eq(name.bytes().map(dash));
        self.names.iter().any(same)
    }

    /// A name as the schema spells it: where `_` stands for `-` or the other way round, an engine's own program need not take it.
    pub fn spelling<'a>(&'a self, name: &'a str) -> &'a str {
        let all = self.names.iter().chain(&self.negated);
        all.map(String::as_str).find(|n| key(n) == key(name)).unwrap_or(name)
    }

    /// Whether a name is one of the spellings that switch it off.
    pub fn is_negated(&self, name: &str) -> bool {
        self.negated.iter().any(|n| key(n) == key(name))
    }
}

/// A version without its dots, letters that look like digits as those.
fn digits_of(version: &str) -> String {
    let digit = |c| match c {
        'l' | 'I' => '1',
        'O' => '0',
        c => c,
    };
    version.chars().filter(|c| !matches!(c, '.' | ',')).map(digit).collect()
}
