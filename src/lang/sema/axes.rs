//! Axes: points, and the algebra over them. `a * b` is every pair, `a + b` one or the other, `a[x]` a pick.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use super::check::Checker;
use super::program::{Change, Engine, Point, Space};
use super::scope::{ItemRef, Kind, declared_again, is_base_word};
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic, did_you_mean};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, AxisBody, ChangeKind, Factor, Item, Name, Single, Value};

impl Checker<'_> {
    /// The space that a declared axis stands for.
    pub fn axis_space(&mut self, at: ItemRef) -> Option<Space> {
        let Item::Axis(axis) = self.modules.item(at) else { return None };
        let AxisBody::Algebra(algebra) = &axis.body else {
            return self.axis_points(at, axis).map(Space::Points);
        };
        if let Some(known) = self.groups.get(&at) {
            return known.clone();
        }
        let space = self.guarded(at, axis.name.span, |c| c.space(at.module, algebra));
        self.groups.insert(at, space.clone());
        space
    }

    fn axis_points(&mut self, at: ItemRef, axis: &ast::Axis) -> Option<Arc<Vec<Point>>> {
        if let Some(known) = self.axes.get(&at) {
            return known.clone();
        }
        let title = axis.title.as_ref().map(|t| self.titled(at.module, Some(t), &axis.name.value));
        let points = match &axis.body {
            AxisBody::Points(points) => Some(self.named_points(at.module, axis, points)),
            AxisBody::Bundle(changes) => self.bundle(at.module, axis, changes, title.as_deref()),
            AxisBody::Algebra(_) => None,
        };
        for point in points.iter().flatten() {
            self.twice(&point.changes, None);
        }
        match &axis.body {
            AxisBody::Points(points) => points.iter().for_each(|p| self.variables_twice(&p.changes)),
            AxisBody::Bundle(changes) => self.variables_twice(changes),
            AxisBody::Algebra(_) => {}
        }
        let points = points.map(Arc::new);
        self.axes.insert(at, points.clone());
        points
    }

    fn named_points(&mut self, module: usize, axis: &ast::Axis, points: &[ast::Point]) -> Vec<Point> {
        let mut out: Vec<Point> = Vec::new();
        self.points_differ(
            axis,
            points.iter().map(|p| (p.name.value.clone(), p.name.span)),
            "give one of them another name",
        );
        for point in points {
            if is_base_word(&point.name.value) {
                self.sink.push(declared_again(&point.name));
            }
            let mut changes = Vec::new();
            for change in &point.changes {
                changes.extend(self.one_change(module, change, None));
            }
            let label = self.titled(module, point.title.as_ref(), &point.name.value);
            let (axis, name) = (axis.name.value.clone(), point.name.value.clone());
            out.push(Point { axis, name, label, changes, span: point.name.span });
        }
        out
    }

    /// Points of one name cannot be told apart.
    fn points_differ(&mut self, axis: &ast::Axis, names: impl Iterator<Item = (String, Span)>, help: &str) {
        let mut seen: HashMap<String, Span> = HashMap::new();
        for (name, span) in names {
            if let Some(first) = seen.get(&name) {
                let message = format!("the axis `{}` has two points called `{name}`", axis.name.value);
                let d = Diagnostic::new(Code::DeclaredTwice, span, message).label("already taken");
                self.sink.push(d.related(*first, "the first one").help(help));
            } else {
                seen.insert(name, span);
            }
        }
    }

    /// Changes written together: one point, or one for each value of the one list among them.
    fn bundle(
        &mut self,
        module: usize,
        axis: &ast::Axis,
        written: &[ast::Change],
        title: Option<&str>,
    ) -> Option<Vec<Point>> {
        let lists: Vec<&ast::Change> = written.iter().filter(|c| has_list(c)).collect();
        if let [_, second, ..] = lists.as_slice() {
            let message = "an axis holds one list at most";
            let d = Diagnostic::new(Code::ListOutsideAxis, second.span, message).label("the second list");
            self.sink.push(d.help("make two axes and vary their product: `vary a * b`"));
            return None;
        }
        if let Some(values) = lists.first().and_then(|c| list_of(c)) {
            if self.sets_thousands_apart(values) {
                return None;
            }
            self.points_differ(
                axis,
                values.iter().map(|v| (normal_pick(&v.text), v.span)),
                "name each value once",
            );
            self.at_most(values.len(), (values.len() as f64).log10(), axis.name.span)?;
        }
        let spread: Vec<Vec<Change>> = written.iter().map(|c| self.spread(module, c, None)).collect();
        let points = lists.first().and_then(|c| list_of(c)).map_or(1, <[Single]>::len);
        let listed = written.iter().position(has_list);
        // a value that could not be made out, which has been said, is no point, and no other one stands for it
        let made = listed.map(|l| spread[l].len()).filter(|made| (1..points).contains(made));
        let mut out: Vec<Point> = Vec::new();
        for i in 0..made.unwrap_or(points) {
            let changes: Vec<Change> =
                spread.iter().filter_map(|s| s.get(i).or_else(|| s.first()).cloned()).collect();
            let value = listed.and_then(|l| spread[l].get(i)).and_then(value_text);
            let single = if let [only] = changes.as_slice() { value_text(only) } else { None };
            let name = value.clone().or(single).unwrap_or_else(|| axis.name.value.clone());
            let label = match (&value, title) {
                (Some(v), Some(t)) => format!("{t} {v}"),
                (Some(v), None) => v.clone(),
                (None, Some(t)) => t.to_owned(),
                (None, None) => axis.name.value.clone(),
            };
            let own = listed.filter(|_| made.is_some()).and_then(|l| value_place(spread[l].get(i)?));
            let span = lists.first().and_then(|c| list_of(c)).and_then(|all| all.get(i)).map(|v| v.span);
            let span = own.or(span);
            let span = span.or_else(|| written.first().map(|c| c.span)).unwrap_or(axis.name.span);
            out.push(Point { axis: axis.name.value.clone(), name, label, changes, span });
        }
        Some(out)
    }

    /// The space of an algebra over axes, clashes reported.
    pub fn space(&mut self, module: usize, axes: &ast::Axes) -> Option<Space> {
        if self.engines_as_axes(module, axes) {
            return None;
        }
        // each part is looked at, whatever is wrong with another
        let products: Vec<Vec<_>> =
            axes.sum.iter().map(|product| product.iter().map(|f| self.factor(module, f)).collect()).collect();
        let mut sum = Vec::new();
        for factors in products {
            let factors = factors.into_iter().collect::<Option<Vec<_>>>()?;
            if self.clashes(axes.span, &factors, None).is_none() {
                // what else is wrong with them is told all the same, of each once
                let mut each: Vec<Space> = Vec::new();
                for factor in factors {
                    if each.iter().all(|f| f.points() != factor.points()) {
                        each.push(factor);
                    }
                }
                sum.extend(each);
                continue;
            }
            sum.push(one_or(factors, Space::Product));
        }
        let space = one_or(sum, Space::Sum);
        self.at_most(space.len(), space.magnitude(), axes.span)?;
        Some(space)
    }

    /// A plan has a row for every candidate. Of so many that nobody reads their number, it is told how many digits it has.
    fn at_most(&mut self, count: usize, magnitude: f64, span: Span) -> Option<()> {
        if count <= MOST_CANDIDATES {
            return Some(());
        }
        let many = if count < MOST_COUNTED { count.to_string() } else { format!("about 10^{magnitude:.0}") };
        let message =
            format!("{many} candidates are more than the {MOST_CANDIDATES} that this version plans");
        let d = Diagnostic::new(Code::TooManyPoints, span, message).label("too many");
        self.sink.push(d.help(
            "pick fewer points, `a[1, 2] * b`, or tune the axes one after another, each in a step of its own",
        ));
        None
    }

    fn factor(&mut self, module: usize, factor: &Factor) -> Option<Space> {
        match factor {
            Factor::Group(axes) => self.space(module, axes),
            Factor::Axis { name, picks, span } if name.value == "engine" => {
                self.engine_axis(module, picks.as_deref(), *span)
            }
            Factor::Axis { name, picks, .. } => self.named_axis(module, name, picks.as_deref()),
        }
    }

    fn named_axis(&mut self, module: usize, name: &Name, picks: Option<&[Single]>) -> Option<Space> {
        let known = self.module(module).find(Kind::Axis, &name.value);
        let at = known.or_else(|| self.axis_meant(module, name, picks))?;
        self.used.insert(at);
        let space = self.axis_space(at)?;
        let Some(picks) = picks else { return Some(space) };
        self.picked(name, &space, picks)
    }

    /// What an unknown name of an axis surely stands for; it is told of in any case.
    fn axis_meant(&mut self, module: usize, name: &Name, picks: Option<&[Single]>) -> Option<ItemRef> {
        if let ("model", Some(models)) = (name.value.as_str(), picks) {
            self.listed_models(name, models);
            return None;
        }
        // `raw =[2, 8]`, `env =[…]`: the word of a change that could not be read, which was said
        let line = name.span.line_in(self.modules.text_of(name.span.file));
        let change = matches!(name.value.as_str(), "raw" | "env" | "unset" | "model");
        if change && self.sink.in_span(line).any(|d| d.code == Code::Unexpected) {
            return None;
        }
        // with a slip in `engine` nobody knows which engines there are
        self.lost_engine |= did_you_mean(&name.value, ["engine"]).is_some();
        let is_point = picks.is_none() && self.point_as_axis(module, name);
        if !is_point && !self.load_as_axis(module, name) && !self.env_as_axis(name, picks) {
            let taken = self.not_meant(name.span);
            self.module(module).unknown((Kind::Axis, name), &["engine"], &taken, false, self.sink);
        }
        self.meant(module, Kind::Axis, name)
    }

    fn engine_axis(&mut self, module: usize, picks: Option<&[Single]>, span: Span) -> Option<Space> {
        let Some(picks) = picks else {
            self.unpicked = true;
            let message = "the built-in axis `engine` is always picked from";
            let m = self.module(module);
            let known = m.names(Kind::Engine);
            // which were meant is not known: none of them is to be called unused
            self.used.extend(known.iter().filter_map(|n| m.find(Kind::Engine, n)));
            let known = self.to_pick(module, &known).join(", ");
            let d = Diagnostic::new(Code::EnginePicked, span, message).label("which ones?");
            self.sink.push(d.help(format!("write `engine[{known}]` with the engines that you mean")));
            return None;
        };
        let mut points: Vec<Point> = Vec::new();
        let mut lost = false;
        for pick in picks {
            if points.iter().any(|p| p.name == pick.text) {
                self.picked_twice("engine", pick);
                return None;
            }
            let name = Name { value: pick.text.clone(), span: pick.span };
            let Some(engine) = self.engine_named(module, &name) else {
                // what is wrong with others is told all the same
                lost = true;
                continue;
            };
            self.needs_version(&engine, pick.span);
            // of a misspelt one what is meant
            let known = self.module(module).find(Kind::Engine, &name.value).is_some();
            let called = if known { name.value } else { engine.name.clone() };
            points.push(Point {
                axis: "engine".to_owned(),
                name: pick.text.clone(),
                label: engine.title.clone(),
                changes: vec![Change::Engine(self.name_from_root(module, &called, &engine))],
                span: pick.span,
            });
        }
        (!lost).then(|| Space::Points(Arc::new(points)))
    }

    /// The engines that a file would pick from: its own where it declares some, else what it imports.
    fn to_pick<'n>(&self, module: usize, known: &[&'n str]) -> Vec<&'n str> {
        let m = self.module(module);
        let own = |n: &&&str| m.find(Kind::Engine, n).is_some_and(|at| at.module == module);
        let declared: Vec<&str> = known.iter().filter(own).copied().collect();
        if declared.is_empty() { known.to_vec() } else { declared }
    }

    /// What the root file calls an engine of a module; one that it cannot name goes by its file too.
    fn name_from_root(&mut self, module: usize, name: &str, engine: &Arc<Engine>) -> String {
        let (home, root) = (self.module(module), self.modules.root());
        if home.find(Kind::Engine, name) == root.find(Kind::Engine, name) {
            return name.to_owned();
        }
        let away = format!("{name} of {}", home.path);
        self.away.insert(away.clone(), engine.clone());
        away
    }

    /// An engine that is studied should say which version it is.
    /// One of the library is told of where it is used.
    pub fn needs_version(&mut self, engine: &Engine, used: Span) {
        // a version that could not be read, or a parent's, has had its error
        if engine.version.is_some() || engine.simulated() || self.may_state_version(engine) {
            return;
        }
        let in_library = self.modules.all.iter().any(|m| m.id == engine.span.file && m.library);
        let name = &engine.name;
        // what a name was guessed for is not judged as if it stood there
        if in_library && self.sink.says(Code::UnknownName, used) {
            return;
        }
        let (at, what) = if in_library {
            (used, format!("derive one that does, `engine {name}_base = {name} {{ version \"…\" }}`"))
        } else {
            (engine.span, "add `version \"…\"`".to_owned())
        };
        let message = format!("the engine `{name}` states no version");
        let about = About::Engine(name.clone());
        // once, however often it is used; what an engine inherits is missing there
        let lacks = |name: &String| {
            let about = About::Engine(name.clone());
            self.sink.found().any(|o| o.code == Code::VersionMissing && o.about == about)
        };
        if engine.ancestry.iter().any(lacks) {
            return;
        }
        let heirs = self.engines.values().flatten().filter(|e| e.name != *name && e.ancestry.contains(name));
        let heirs: Vec<About> = heirs.map(|e| About::Engine(e.name.clone())).collect();
        self.sink.forget(|o| o.code == Code::VersionMissing && heirs.contains(&o.about));
        let d = Diagnostic::new(Code::VersionMissing, at, message).about(about);
        let why = "without one, results of different versions cannot be told apart";
        self.sink.push(match self.derived_with_version(name).filter(|_| in_library) {
            Some(own) => {
                d.suggest(&own).help(format!("write `{own}`, which derives from it and states one: {why}"))
            }
            None => d.label("this engine").help(format!("{what}: {why}")),
        });
    }

    /// The one engine of the file that derives from an engine and states its version.
    fn derived_with_version(&self, parent: &str) -> Option<String> {
        let engines = self.modules.root().file.items.iter().filter_map(|item| match item {
            ast::Item::Engine(e) => Some(e),
            _ => None,
        });
        let states =
            |e: &&ast::Engine| e.lines.iter().any(|l| matches!(l.kind, ast::EngineLineKind::Version(_)));
        let mut own = engines.filter(|e| e.parent.as_ref().is_some_and(|p| p.value == parent)).filter(states);
        let first = own.next()?;
        own.next().is_none().then(|| first.name.value.clone())
    }

    /// Factors of a product that set the same thing; flags go by their first spelling where the engine is known.
    pub fn clashes(&mut self, span: Span, factors: &[Space], engine: Option<&Engine>) -> Option<()> {
        if factors.len() < 2 {
            return Some(());
        }
        let under = engine.map(|e| (&*e.schema, e.version.as_deref()));
        let mut seen: Vec<(usize, String)> = Vec::new();
        for (i, factor) in factors.iter().enumerate() {
            // in the order of the text: what is told is the same each time
            let targets: indexmap::IndexSet<String> = factor
                .points()
                .into_iter()
                .flat_map(|p| p.changes.iter().map(|c| super::settings::target(c, under)))
                .collect();
            let clash = |(j, w): &&(usize, String)| *j != i && targets.iter().any(|t| overlap(t, w));
            if let Some((_, what)) = seen.iter().find(clash) {
                let message = format!("two factors of this product set `{what}`");
                let d = Diagnostic::new(Code::FlagClash, span, message).label("this product");
                // a flag as a whole in one factor, and a key of it in another
                let whole = seen.iter().any(|(_, w)| targets.iter().any(|t| t != w && overlap(t, w)));
                if whole && !targets.contains(what) {
                    self.sink.push(d.help(format!(
                        "set single keys in both, `{}.KEY=value`: two factors may set two keys of one flag; or vary the two in \
                         steps one after the other",
                        what.split('.').next().unwrap_or(what)
                    )));
                    return None;
                }
                self.sink.push(d.help("use `+` for one or the other, or take one factor out"));
                return None;
            }
            seen.extend(targets.into_iter().map(|t| (i, t)));
        }
        Some(())
    }
}

/// More than this nobody measures, and more than this no step should write out; searched spaces have some ten thousands.
const MOST_CANDIDATES: usize = 100_000;
/// From here on only the power of ten is told.
const MOST_COUNTED: usize = 1_000_000_000_000;

/// The same thing, or a JSON flag and a key in it.
fn overlap(a: &str, b: &str) -> bool {
    a == b
        || a.strip_prefix(b).is_some_and(|r| r.starts_with('.'))
        || b.strip_prefix(a).is_some_and(|r| r.starts_with('.'))
}

fn one_or(mut parts: Vec<Space>, many: fn(Vec<Space>) -> Space) -> Space {
    if parts.len() == 1 { parts.remove(0) } else { many(parts) }
}

pub(super) fn value_of(change: &ast::Change) -> Option<&Value> {
    match &change.kind {
        ChangeKind::Flag(f) | ChangeKind::Raw(f) => f.value.as_ref(),
        ChangeKind::Env { value, .. } => Some(value),
        _ => None,
    }
}

fn has_list(change: &ast::Change) -> bool {
    matches!(value_of(change), Some(Value::List(..)))
}

fn list_of(change: &ast::Change) -> Option<&[Single]> {
    match value_of(change) {
        Some(Value::List(all, _)) => Some(all),
        _ => None,
    }
}

/// The first of many, for messages.
pub(super) fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 24;
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!("{}{more}", names[..names.len().min(SHOWN)].join(", "))
}

/// The value by which a point is called, params inserted.
fn value_text(change: &Change) -> Option<String> {
    match change {
        Change::Flag { value, .. } | Change::Raw { value, .. } => value.as_ref().map(|v| v.text.clone()),
        Change::Env(variable) => Some(variable.value.clone()),
        _ => None,
    }
}

/// Where that value stands.
fn value_place(change: &Change) -> Option<Span> {
    match change {
        Change::Flag { value, .. } | Change::Raw { value, .. } => value.as_ref().map(|v| v.span),
        _ => None,
    }
}

/// A pick matches by normal form: `32Ki` picks 32768, `0.90` picks 0.9.
pub(super) fn normal_pick(text: &str) -> String {
    // a float has no room for the last digits of a big one
    let digits = text.trim_start_matches(['-', '+']).trim_start_matches('0');
    if digits.len() > f64::DIGITS as usize && digits.bytes().all(|b| b.is_ascii_digit()) {
        return format!("{}{digits}", if text.starts_with('-') { "-" } else { "" });
    }
    let float = super::schema::Kind::Float { min: None, max: None };
    if let Ok(v) = super::schema::value(&float, text) {
        return v.normal().to_string();
    }
    if text.starts_with('{')
        && let Ok(v) = super::schema::value(&super::schema::Kind::Json, text)
    {
        return v.normal().to_string();
    }
    text.to_owned()
}
