//! The flags that an engine declares: each with its type, its range and its default, among those of its parent.

use std::sync::Arc;

use foldhash::HashSet;

use super::check::Checker;
use super::declares::never_there;
use super::program::Engine;
use super::schema::{FlagSpec, KeySpec, Kind as FlagType, LimitsRequests, Schema, UsesGpus};
use super::typed::AUTO;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::ANY;
use crate::lang::syntax::ast::{self, EngineLineKind as Line, Name, Single, SingleKind};
use crate::lang::units::Dim;

impl Checker<'_> {
    /// The flags that an engine declares: with `versions` they are all that it has, else they come before its parent's.
    pub(super) fn own_flags(&mut self, module: usize, decl: &ast::Engine, engine: &mut Engine) {
        let parent = decl.parent.as_ref();
        let versions =
            decl.lines.iter().find_map(|l| if let Line::Versions(v) = &l.kind { Some(v) } else { None });
        let versions =
            versions.map(|all| all.iter().map(|t| self.inserted(module, t, false)).collect::<Vec<_>>());
        let declared: Vec<_> = decl
            .lines
            .iter()
            .filter_map(|l| if let Line::Flag(f) = &l.kind { Some(&**f) } else { None })
            .collect();
        if declared.is_empty() && versions.is_none() && decl.unread_flags.is_empty() {
            return;
        }
        if parent.is_some() && self.version_meant(decl, &declared) {
            return;
        }
        self.versions_named(decl, &declared);
        let doubled = self.flags_declared(&declared, &decl.unread_flags, &engine.schema);
        let mut schema = Schema::new();
        if doubled {
            schema.add_unread(ANY);
        }
        decl.unread_flags.iter().for_each(|name| schema.add_unread(name));
        // which releases there are is not known where their line could not be read, which has been said
        let unread = decl.unread.contains(&"versions");
        let beyond =
            self.sink.found().filter(|d| matches!(d.about, About::BeyondVersions | About::BeforeVersions));
        let beyond: HashSet<Span> = beyond.map(|d| d.span).collect();
        for flag in declared {
            match self.flag_spec(flag).filter(|_| !never_there(flag)) {
                Some(mut spec) => {
                    // what else is declared of a flag whose `since` or `until` is wrong holds all the same
                    let wrong = |bound: &Option<ast::Text>| {
                        unread || bound.as_ref().is_some_and(|text| beyond.contains(&text.span))
                    };
                    if wrong(&flag.since) {
                        spec.since = None;
                    }
                    if wrong(&flag.until) {
                        spec.until = None;
                    }
                    schema.add(spec);
                }
                None => flag.names.iter().chain(&flag.negated).for_each(|n| schema.add_unread(&n.value)),
            }
        }
        if let Some(versions) = versions {
            schema.set_versions(versions);
        } else {
            schema.set_versions(engine.schema.versions().to_vec());
            engine.schema.specs().iter().for_each(|s| schema.add(s.clone()));
            engine.schema.unread().for_each(|name| schema.add_unread(name));
        }
        engine.schema = Arc::new(schema);
    }

    fn flag_spec(&mut self, decl: &ast::FlagDecl) -> Option<FlagSpec> {
        let text = |name: Option<&Name>| name.map(|n| n.value.clone());
        let texts = |names: &[Name]| names.iter().map(|n| n.value.clone()).collect::<Vec<_>>();
        let mut kind = self.flag_type(&decl.kind)?;
        let mut narrow = None;
        if let Some(default) = &decl.default
            && !self.check_default(&kind, default)
        {
            // the range or the choices may be what is wrong, which was said here: not again at each use
            let wide = kind.clone().widened_to(&default.text);
            narrow = Some(std::mem::replace(&mut kind, wide)).filter(|narrow| *narrow != kind);
        }
        Some(FlagSpec {
            names: texts(&decl.names),
            kind,
            narrow,
            file: matches!(decl.kind, ast::FlagKind::JsonFile),
            repeated: matches!(decl.kind, ast::FlagKind::Repeated),
            default: decl.default.as_ref().map(|d| d.text.clone()),
            auto: decl.default.as_ref().is_some_and(|d| d.kind == SingleKind::Text && d.text == AUTO),
            since: decl.since.as_ref().map(|t| t.value.clone()),
            until: decl.until.as_ref().map(|t| t.value.clone()),
            negated: texts(&decl.negated),
            limits_requests: decl
                .limits_requests
                .as_ref()
                .map(|l| LimitsRequests { per: text(l.per.as_ref()), unless: text(l.unless.as_ref()) }),
            uses_gpus: decl
                .uses_gpus
                .as_ref()
                .map(|u| UsesGpus { adds: u.adds, unless: text(u.unless.as_ref()) }),
            known: decl.known.iter().map(|k| k.text.clone()).collect(),
            keys: decl.keys.iter().map(|k| self.json_key(k)).collect(),
        })
    }

    fn check_default(&mut self, kind: &FlagType, default: &Single) -> bool {
        let fits = match kind {
            FlagType::Switch => matches!(default.text.as_str(), "true" | "false"),
            _ => super::schema::value(kind, &default.text).is_ok(),
        };
        let fits = fits || default.text == AUTO;
        if !fits {
            let message = format!("the default `{}` does not fit the flag's type", default.text);
            let help = format!("the flag takes {}; a default may also be `auto`", kind.expected());
            let d = Diagnostic::new(Code::BadFlagValue, default.span, message).label("this default");
            // `default=8`
            let right = default.text.strip_prefix('=').filter(|t| super::schema::value(kind, t).is_ok());
            let sign = Span { end: default.span.start + 1, ..default.span };
            let switched = Some(default).filter(|_| *kind == FlagType::Switch).and_then(|d| turned(&d.text));
            self.sink.push(match (right, switched) {
                (Some(right), _) => d.help(format!("write `default {right}`")).edit(sign, " "),
                (_, Some(right)) => d.help(format!("write `default {right}`")).edit(default.span, right),
                _ => d.help(help),
            });
        }
        fits
    }

    fn json_key(&mut self, key: &ast::KeyDecl) -> KeySpec {
        let kind = key.kind.as_ref().and_then(|kind| self.flag_type(kind));
        let keys = key.keys.iter().map(|k| self.json_key(k)).collect();
        KeySpec { name: key.name.value.clone(), kind, keys }
    }

    fn flag_type(&mut self, kind: &ast::FlagKind) -> Option<FlagType> {
        Some(match kind {
            ast::FlagKind::Switch => FlagType::Switch,
            ast::FlagKind::Text => FlagType::Text,
            ast::FlagKind::Path => FlagType::Path,
            ast::FlagKind::Json | ast::FlagKind::JsonFile => FlagType::Json,
            ast::FlagKind::Words | ast::FlagKind::Repeated => FlagType::Words,
            ast::FlagKind::Int(range) => {
                let (min, max) = self.flag_range(range.as_ref(), true)?;
                FlagType::Int { min, max }
            }
            ast::FlagKind::Float(range) => {
                let (min, max) = self.flag_range(range.as_ref(), false)?;
                FlagType::Float { min, max }
            }
            ast::FlagKind::OneOf(choices) => {
                FlagType::OneOf(choices.iter().map(|c| c.text.clone()).collect())
            }
        })
    }

    fn flag_range(&mut self, range: Option<&ast::Range>, whole: bool) -> Option<(Option<f64>, Option<f64>)> {
        let Some(r) = range else { return Some((None, None)) };
        let from = self.number_of(&r.from, Dim::PLAIN, "a flag's range")?;
        let to = match &r.to {
            Some(n) => Some(self.number_of(n, Dim::PLAIN, "a flag's range")?),
            None => None,
        };
        let halves = [Some(&r.from), r.to.as_ref()].into_iter().flatten();
        if let Some(half) = halves.filter(|_| whole).find(|n| n.value.fract() != 0.0) {
            let d = Diagnostic::new(Code::BadFlagValue, half.span, "an `int` goes from and to whole numbers");
            self.sink.push(d.label("not whole").help("write whole numbers, or make it a `float`"));
            return None;
        }
        if to.is_some_and(|to| to < from) {
            let d = Diagnostic::new(
                Code::OutOfRange,
                r.span,
                "the range goes from the bigger number to the smaller",
            );
            self.sink.push(d.label("holds nothing").help("write the smaller number first"));
            return None;
        }
        Some((Some(from), to))
    }
}

/// What a switch is set to, in the words of elsewhere.
fn turned(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" | "1" | "enabled" => Some("true"),
        "off" | "no" | "false" | "0" | "disabled" => Some("false"),
        _ => None,
    }
}
