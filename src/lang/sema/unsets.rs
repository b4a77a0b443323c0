//! An `unset` that takes away nothing, where that is certain: an engine whose parent does not set it, or a point of which neither an
//! engine nor another point here can have set it before.

use serde_json::Value as Json;

use super::check::Checker;
use super::program::{Change, Engine};
use super::schema::{Setting, Value, key};
use super::settings::{flag_target, key_value, target};
use crate::lang::codes::Code;
use crate::lang::diag::{Diagnostic, begun, did_you_mean};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, AxisBody, ChangeKind, EngineLineKind as Line, Item, Study};

impl Checker<'_> {
    /// In an engine: what it inherits is known.
    pub fn engine_unsets(&mut self, decl: &ast::Engine, parent: Option<&Engine>) {
        for line in &decl.lines {
            let Line::Changes(changes) = &line.kind else { continue };
            for change in changes {
                let Some((what, span)) = unset(change) else { continue };
                let torn = |p: &Engine| self.is_torn(p, &[unset_target(p, &change.kind)]);
                let inherits =
                    |p: &Engine| has(p, &change.kind) || torn(p) || self.is_written(change, Some(p));
                if parent.is_some_and(inherits) || is_set_here(decl, change) {
                    continue;
                }
                let whose = match &decl.parent {
                    Some(name) => format!("`{}` does not set {what}", name.value),
                    None => format!("an engine without a parent inherits no {what}"),
                };
                let set = parent.map(|p| settings_of(p, &change.kind)).unwrap_or_default();
                self.takes_nothing(span, &whose, nearly(what, &set).as_deref());
            }
        }
    }

    /// What engines set and is nearly called so: which of the two is misspelt nobody knows.
    fn set_nearly_so(&self, name: &str, unset: &ChangeKind) -> Option<String> {
        let set: Vec<String> = self.engines.values().flatten().flat_map(|e| settings_of(e, unset)).collect();
        nearly(name, &set)
    }

    /// In axes that studies use: what engines and other points set is all that a base can have.
    pub fn axis_unsets(&mut self) {
        let items = &self.modules.root().file.items;
        if !items.iter().any(|i| matches!(i, Item::Study(Study { .. }))) {
            return;
        }
        let axes = items.iter().filter_map(|i| if let Item::Axis(a) = i { Some(a) } else { None });
        let changes: Vec<&ast::Change> = axes.flat_map(|a| changes(&a.body)).collect();
        for change in changes {
            let Some((what, span)) = unset(change) else { continue };
            if !self.is_set_somewhere(change) && !self.may_be_set_by_lost(&change.kind) {
                let near = self.set_nearly_so(what, &change.kind);
                let why = format!("no engine or other point here sets {what}");
                self.takes_nothing(span, &why, near.as_deref());
            }
        }
        self.published_unsets();
    }

    /// What is published comes over what a study found, which any point may have set.
    fn published_unsets(&mut self) {
        let engines = self.modules.root().file.items.iter();
        let engines = engines.filter_map(|i| if let Item::Engine(e) = i { Some(e) } else { None });
        let published = engines.flat_map(|e| &e.lines).filter_map(|l| match &l.kind {
            Line::Publish { changes, .. } => Some(changes),
            _ => None,
        });
        for change in published.flatten() {
            let Some((what, span)) = unset(change) else { continue };
            if !self.is_set_somewhere(change) && !self.may_be_set_by_lost(&change.kind) {
                self.takes_nothing(span, &format!("no engine or point here sets {what}"), None);
            }
        }
    }

    fn is_set_somewhere(&self, change: &ast::Change) -> bool {
        let unset = &change.kind;
        let engines = || self.engines.values().flatten();
        if engines().any(|e| has(e, unset)) || self.is_written(change, None) {
            return true;
        }
        let mut points = self.axes.values().flatten().flat_map(|points| points.iter());
        points.any(|p| {
            p.changes.iter().any(|c| match (c, unset) {
                (Change::Env(v), ChangeKind::UnsetEnv(name)) => v.name == name.value,
                (Change::Flag { .. } | Change::Raw { .. }, ChangeKind::UnsetFlag(name)) => {
                    engines().any(|e| {
                        let under = Some((&*e.schema, e.version.as_deref()));
                        overlaps(&target(c, under), &flag_target(&name.value, under))
                    })
                }
                _ => false,
            })
        })
    }

    /// Whether an engine of this file says it, one of these ancestors, whatever became of its value: `--max-model-len="{ctx}"` of a param
    /// that is lost.
    fn is_written(&self, unset: &ast::Change, ancestors: Option<&Engine>) -> bool {
        let engines = self.modules.root().file.items.iter();
        let engines = engines.filter_map(|i| if let Item::Engine(e) = i { Some(e) } else { None });
        let mut meant = engines.filter(|e| ancestors.is_none_or(|of| of.ancestry.contains(&e.name.value)));
        self.sink.has_errors() && meant.any(|e| is_set_here(e, unset))
    }

    /// Whether what could not be read may set it: an engine that is lost, a flag of that name, or one that may have been meant to be it.
    fn may_be_set_by_lost(&self, unset: &ChangeKind) -> bool {
        if !self.sink.has_errors() {
            return false;
        }
        let (ChangeKind::UnsetFlag(name) | ChangeKind::UnsetEnv(name)) = unset else { return true };
        let is = |word: &str| key(word) == key(&name.value);
        let meant = |d: &Diagnostic| {
            let line = self.modules.slice(d.span.line_in(self.modules.text_of(d.span.file)));
            d.words_said().any(is) || line.split([' ', '\t', ',', ':', '=', '"']).any(is)
        };
        let elsewhere = |d: &Diagnostic| d.span.file != name.span.file;
        // of a torn axis a point may be lost
        let items = self.modules.root().file.items.as_slice();
        let axis = Item::at(items, name.span).filter(|i| matches!(i, Item::Axis(_))).map(Item::span);
        let beside = |d: &Diagnostic| axis.is_some_and(|a| a.start <= d.span.start && d.span.end <= a.end);
        self.engine_lost()
            || self.sink.found().any(|d| d.is_error() && (elsewhere(d) || meant(d) || beside(d)))
    }

    /// `near` is set and nearly called so.
    fn takes_nothing(&mut self, span: Span, why: &str, near: Option<&str>) {
        // a flag that is passed on unknown was probably to be this one
        if self.sink.suggests(self.modules.slice(span)) {
            return;
        }
        let message = format!("this `unset` takes away nothing: {why}");
        let d = Diagnostic::new(Code::UnsetNothing, span, message);
        let d = match near {
            Some(near) => d.suggest(near),
            None => d.label("is not set"),
        };
        self.sink.push(d.help("mend the name, or remove the `unset`"));
    }
}

/// Whether the same engine sets what it unsets: that is the mistake, and it has its diagnostic.
fn is_set_here(decl: &ast::Engine, unset: &ast::Change) -> bool {
    let own = decl.lines.iter().filter_map(|l| if let Line::Changes(c) = &l.kind { Some(c) } else { None });
    own.flatten().any(|c| match (&c.kind, &unset.kind) {
        (ChangeKind::Flag(f) | ChangeKind::Raw(f), ChangeKind::UnsetFlag(name)) => {
            key(&f.name.value) == key(&name.value)
        }
        (ChangeKind::Env { name: set, .. }, ChangeKind::UnsetEnv(name)) => set.value == name.value,
        _ => false,
    })
}

/// What a change takes away, as the targets of an engine's settings are called.
fn unset_target(engine: &Engine, unset: &ChangeKind) -> String {
    match unset {
        ChangeKind::UnsetFlag(name) => {
            flag_target(&name.value, Some((&engine.schema, engine.version.as_deref())))
        }
        ChangeKind::UnsetEnv(name) => format!("env {}", name.value),
        _ => String::new(),
    }
}

/// What a change takes away, if it does, and where its name stands.
fn unset(change: &ast::Change) -> Option<(&str, Span)> {
    match &change.kind {
        ChangeKind::UnsetFlag(name) | ChangeKind::UnsetEnv(name) => Some((&name.value, name.span)),
        _ => None,
    }
}

fn changes(body: &AxisBody) -> Vec<&ast::Change> {
    match body {
        AxisBody::Points(points) => points.iter().flat_map(|p| &p.changes).collect(),
        AxisBody::Bundle(changes) => changes.iter().collect(),
        AxisBody::Algebra(_) => Vec::new(),
    }
}

/// What an engine sets of the kind that would be taken away: variables, or flags and the keys of their objects.
fn settings_of(engine: &Engine, unset: &ChangeKind) -> Vec<String> {
    if matches!(unset, ChangeKind::UnsetEnv(_)) {
        return engine.env.iter().map(|v| v.name.clone()).collect();
    }
    let keys = |s: &Setting| match &s.value {
        Value::Json(Json::Object(map)) => map.keys().map(|k| format!("{}.{k}", s.canonical)).collect(),
        _ => Vec::new(),
    };
    engine.flags.iter().flat_map(|s| std::iter::once(s.canonical.clone()).chain(keys(s))).collect()
}

/// What is called nearly so: of a key that of the same object, as what leads to it says nothing of a slip.
fn nearly(name: &str, set: &[String]) -> Option<String> {
    let object = name.rfind('.').map_or("", |dot| &name[..=dot]);
    let own = || set.iter().filter_map(|s| s.strip_prefix(object)).filter(|s| !s.contains('.'));
    let word = &name[object.len()..];
    did_you_mean(word, own()).or_else(|| begun(word, own())).map(|near| format!("{object}{near}"))
}

/// Whether an engine sets what would be taken away.
fn has(engine: &Engine, unset: &ChangeKind) -> bool {
    match unset {
        ChangeKind::UnsetEnv(name) => engine.env.iter().any(|e| e.name == name.value),
        ChangeKind::UnsetFlag(name) => {
            let (schema, version) = (&*engine.schema, engine.version.as_deref());
            let wanted = flag_target(&name.value, Some((schema, version)));
            engine.flags.iter().any(|s| key(&s.canonical) == wanted)
                || key_value(&engine.flags, &name.value, schema, version).is_some()
        }
        _ => false,
    }
}

/// The same thing, or a JSON flag and a key in it.
pub(super) fn overlaps(a: &str, b: &str) -> bool {
    let within = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|r| r.starts_with('.'));
    a == b || within(a, b) || within(b, a)
}
