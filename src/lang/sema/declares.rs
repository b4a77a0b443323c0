//! The flags that an engine declares, held against each other: no two may answer to one name, and each attribute needs a type that it
//! means something for.

use foldhash::{HashMap, HashMapExt};

use super::check::Checker;
use super::flags::is_reserved;
use super::schema::{Found, Schema, key};
use super::versions::compare_versions;
use crate::lang::codes::Code;
use crate::lang::diag::Diagnostic;
use crate::lang::source::Span;
use crate::lang::syntax::ANY;
use crate::lang::syntax::ast::{FlagDecl, FlagKind, KeyDecl, Name, Single};

impl Checker<'_> {
    /// The declarations of one engine, over the schema that it inherits.
    /// Flags whose declarations could not be read are `unread` and may be named all the same.
    /// Whether one is declared twice: which flag one of the two was to declare is not known.
    pub fn flags_declared(&mut self, declared: &[&FlagDecl], unread: &[String], inherited: &Schema) -> bool {
        let mut doubled = false;
        let mut seen: HashMap<String, Vec<(&Name, &FlagDecl)>> = HashMap::new();
        for flag in declared {
            self.attributes_fit(flag);
            self.names_flags(flag, declared, unread, inherited);
            let mut told = false;
            for name in flag.names.iter().chain(&flag.negated) {
                if is_reserved(&name.value) {
                    let message = format!("{} belongs to the serve line", name.value);
                    let d = Diagnostic::new(Code::ReservedFlag, name.span, message)
                        .label("not a flag to declare");
                    self.sink.push(
                        d.help("write it there: `serve \"COMMAND {model} --host {host} --port {port}\"`"),
                    );
                }
                let same = seen.entry(key(&name.value)).or_default();
                // a line that stands twice is one mistake, however many names it declares
                if let Some((first, _)) = same.iter().find(|(_, f)| overlap(f, flag)).filter(|_| !told) {
                    (told, doubled) = (true, true);
                    let message = format!("{} is declared twice for the same versions", name.value);
                    let d = Diagnostic::new(Code::DeclaredTwice, name.span, message).label("already taken");
                    let help = "keep one of them, or say from when to when each holds: `since`, `until`";
                    self.sink.push(d.related(first.span, "the first one").help(help));
                }
                same.push((name, flag));
            }
        }
        doubled
    }

    fn attributes_fit(&mut self, flag: &FlagDecl) {
        if let Some(span) = flag.twice {
            let d = Diagnostic::new(Code::SettingTwice, span, "the flag says this twice")
                .label("the second time");
            self.sink.push(d.help("keep one of them"));
        }
        let mut wrong = |span: Span, message: &str, help: &str| {
            self.sink.push(
                Diagnostic::new(Code::EngineSetting, span, message).label("of another type").help(help),
            );
        };
        if let (Some(no), false) = (flag.negated.first(), matches!(flag.kind, FlagKind::Switch)) {
            wrong(no.span, "only a switch can be negated", "make it a `switch`, or remove `negated`");
        }
        let name = flag.names.first().map_or(flag.span, |n| n.span);
        let adds = flag.uses_gpus.as_ref().is_some_and(|u| u.adds);
        if flag.uses_gpus.is_some() && !matches!(flag.kind, FlagKind::Int(_) | FlagKind::Text) {
            wrong(
                name,
                "only whole numbers count GPUs, and texts that list them",
                &format!(
                    "make it an `int` or a `text`, or remove `{} gpus`",
                    if adds { "adds" } else { "uses" }
                ),
            );
        }
        if flag.limits_requests.is_some() && !matches!(flag.kind, FlagKind::Int(_)) {
            wrong(name, "only whole numbers count tokens", "make it an `int`, or remove `limits requests`");
        }
        if let (Some(first), false) = (flag.known.first(), matches!(flag.kind, FlagKind::Text)) {
            wrong(
                first.span,
                "only texts have values that are known among others",
                "make it a `text`, or list all that it takes as `one_of [...]`",
            );
        }
        for first in keys_of_none(Some(&flag.kind), &flag.keys) {
            wrong(first.name.span, "only a JSON object has keys", "make it `json`, or remove `keys`");
        }
        if let Some(until) = flag.until.as_ref().filter(|_| never_there(flag)) {
            let d = Diagnostic::new(Code::EngineSetting, until.span, "the flag is gone before it is there");
            self.sink.push(
                d.label("not after `since`").help("`until` names the first release that lacks the flag"),
            );
        }
        let choices = |all: &[Single]| all.iter().map(|c| (c.text.clone(), c.span)).collect::<Vec<_>>();
        if let FlagKind::OneOf(all) = &flag.kind {
            self.listed_once("choice", &choices(all));
        }
        self.listed_once("value", &choices(&flag.known));
        self.keys_once(&flag.keys);
    }

    fn keys_once(&mut self, keys: &[KeyDecl]) {
        let names: Vec<_> = keys.iter().map(|k| (k.name.value.clone(), k.name.span)).collect();
        self.listed_once("key", &names);
        for key in keys {
            if let Some(FlagKind::OneOf(all)) = &key.kind {
                let choices: Vec<_> = all.iter().map(|c| (c.text.clone(), c.span)).collect();
                self.listed_once("choice", &choices);
            }
            self.keys_once(&key.keys);
        }
    }

    fn listed_once(&mut self, what: &str, listed: &[(String, Span)]) {
        for (i, (text, span)) in listed.iter().enumerate() {
            if let Some((_, first)) = listed[..i].iter().find(|(other, _)| other == text) {
                let message = format!("the {what} `{text}` stands twice");
                let d = Diagnostic::new(Code::SettingTwice, *span, message).label("the second one");
                self.sink.push(d.related(*first, "the first one").help(format!("name each {what} once")));
            }
        }
    }

    /// `uses gpus unless --flag`, `adds`, and `limits requests per --flag unless --other` ask flags of the same engine.
    fn names_flags(
        &mut self,
        flag: &FlagDecl,
        declared: &[&FlagDecl],
        unread: &[String],
        inherited: &Schema,
    ) {
        const SWITCH: &str = "name a switch that the engine declares";
        let unless = flag.uses_gpus.as_ref().and_then(|u| u.unless.as_ref());
        let limits = flag.limits_requests.as_ref();
        let per = limits.and_then(|l| l.per.as_ref());
        let spared = limits.and_then(|l| l.unless.as_ref());
        let named = [
            (unless, SWITCH),
            (per, "name the flag that says how many requests share it, which the engine declares"),
            (spared, SWITCH),
        ];
        for (name, help) in named {
            let Some(name) = name else { continue };
            let own =
                |f: &&FlagDecl| f.names.iter().chain(&f.negated).any(|n| key(&n.value) == key(&name.value));
            if declared.iter().any(own)
                || unread.iter().any(|n| n == ANY || key(n) == key(&name.value))
                || !matches!(inherited.find(&name.value, None), Found::Unknown)
                || inherited.is_unread(&name.value)
            {
                continue;
            }
            let message = format!("the engine declares no flag {}", name.value);
            let d = Diagnostic::new(Code::UnknownFlag, name.span, message);
            let known = declared.iter().flat_map(|f| &f.names).map(|n| n.value.as_str());
            let d = d.meant(&name.value, known, "unknown", str::to_owned);
            self.sink.push(d.help(help));
        }
    }
}

/// The first of each list of keys that stands behind another type than `json`.
fn keys_of_none<'d>(kind: Option<&FlagKind>, keys: &'d [KeyDecl]) -> Vec<&'d KeyDecl> {
    let own = keys.first().filter(|_| !matches!(kind, Some(FlagKind::Json | FlagKind::JsonFile)));
    own.into_iter().chain(keys.iter().flat_map(|k| keys_of_none(k.kind.as_ref(), &k.keys))).collect()
}

/// Whether a flag is gone before it is there, so that no version has it.
pub(super) fn never_there(flag: &FlagDecl) -> bool {
    let (Some(since), Some(until)) = (&flag.since, &flag.until) else { return false };
    compare_versions(&since.value, &until.value).is_ge()
}

/// Whether two declarations hold for some version both.
fn overlap(a: &FlagDecl, b: &FlagDecl) -> bool {
    let ends_before = |a: &FlagDecl, b: &FlagDecl| match (&a.until, &b.since) {
        (Some(until), Some(since)) => compare_versions(&until.value, &since.value).is_le(),
        _ => false,
    };
    !ends_before(a, b) && !ends_before(b, a)
}
