//! Points that no step could place: their step has another mistake, or no step takes them. Their values are checked all the same,
//! against the engines of the file, so that one mistake does not hide another until the next look.

use std::sync::Arc;

use foldhash::HashSet;

use super::check::Checker;
use super::problem::Problem;
use super::program::{Change, Engine, Point, WrittenValue};
use super::schema::key;
use super::scope::{ItemRef, Kind};
use super::typed::typed;
use super::unlisted::unlisted;
use crate::lang::source::Span;
use crate::lang::syntax::ast::Item;

/// Where a change stands: at its value, or at its flag where it has none.
pub fn place(span: Span, value: Option<&WrittenValue>) -> Span {
    value.map_or(span, |v| v.span)
}

impl Checker<'_> {
    /// Checks what `change_known` never saw.
    pub fn unplaced(&mut self) {
        let axes = self.modules.root().file.items.iter().enumerate();
        let axes = axes.filter(|(_, i)| matches!(i, Item::Axis(_)));
        let axes: Vec<ItemRef> = axes.map(|(item, _)| ItemRef { module: 0, item }).collect();
        if axes.is_empty() {
            return;
        }
        let mut own = self.own_engines();
        own.extend(self.studied_imports(&own));
        // what is lost may be, or derive from, an engine that it imports
        let others = if self.engine_lost() { self.imported_engines() } else { Vec::new() };
        let placed: HashSet<Span> = std::mem::take(&mut self.placed).into_iter().collect();
        let lists = axes.iter().filter_map(|at| Some((*at, self.axes.get(at).cloned().flatten()?)));
        let lists: Vec<(ItemRef, Arc<Vec<Point>>)> = lists.collect();
        let raw = lists.iter().flat_map(|(_, l)| l.iter()).flat_map(|p| &p.changes);
        let raw = raw.filter_map(|c| if let Change::Raw { name, .. } = c { Some(key(name)) } else { None });
        let raw: HashSet<String> = raw.collect();
        // of an axis that a step varies which has another mistake, all engines that there are say what is wrong
        let known = self.sink.has_errors() && !self.engine_lost();
        for (axis, points) in &lists {
            let sure = known && self.used.contains(axis);
            for change in points.iter().flat_map(|p| &p.changes) {
                if let Change::UnsetFlag { name, span } = change
                    && !placed.contains(span)
                    && !raw.contains(&key(name))
                {
                    let engines: Vec<&Engine> = own.iter().chain(&others).map(|e| &**e).collect();
                    let problem = Self::unset_problem(name, *span, &engines);
                    let sure = problem.and_then(|d| self.unless_lost(name, d));
                    if let Some(d) = sure {
                        self.sink.push(d);
                    }
                }
                if let Change::Flag { name, value, span } = change
                    && !placed.contains(&place(*span, value.as_ref()))
                {
                    self.unplaced_flag((name, *span), value.as_ref(), (&own, &others), sure);
                    // `vary attn[FLASH_ATTN]`: the points beside it are looked at too
                    if self.used.contains(axis) {
                        self.unplaced_text(name, value.as_ref(), &own);
                    }
                }
            }
        }
    }

    /// A text that none of the engines which take the flag is known to take.
    fn unplaced_text(&mut self, name: &str, value: Option<&WrittenValue>, own: &[Arc<Engine>]) {
        let takes = |e: &&Arc<Engine>| typed(&e.schema, e.version.as_deref(), name, value).is_ok();
        let all: Option<Vec<_>> = own.iter().filter(takes).map(|e| unlisted(e, name, value)).collect();
        if let Some(first) = all.and_then(|all| all.into_iter().next()) {
            self.sink.push(first);
        }
    }

    /// The file's own engines; where it declares none, those that it imports.
    pub(super) fn own_engines(&mut self) -> Vec<Arc<Engine>> {
        let root = self.modules.root();
        let items = root.file.items.iter().enumerate();
        let declared = items.filter(|(_, i)| matches!(i, Item::Engine(_)));
        let all: Vec<ItemRef> = declared.map(|(item, _)| ItemRef { module: 0, item }).collect();
        if all.is_empty() {
            return self.imported_engines();
        }
        all.into_iter().filter_map(|at| self.engine(at)).collect()
    }

    /// What a file that cannot be read as a whole may derive its own from.
    fn imported_engines(&mut self) -> Vec<Arc<Engine>> {
        let root = self.modules.root();
        let all = root.names(Kind::Engine).into_iter().filter_map(|n| root.find(Kind::Engine, n));
        let away: Vec<ItemRef> = all.filter(|at| at.module != 0).collect();
        away.into_iter().filter_map(|at| self.engine(at)).collect()
    }

    /// Imported engines that a study names, and not only an engine of the file that derives from one.
    fn studied_imports(&mut self, own: &[Arc<Engine>]) -> Vec<Arc<Engine>> {
        let root = self.modules.root();
        let used = root.names(Kind::Engine).into_iter().filter_map(|n| root.find(Kind::Engine, n));
        let away: Vec<ItemRef> = used.filter(|at| at.module != 0 && self.used.contains(at)).collect();
        let mut away: Vec<Arc<Engine>> = away.into_iter().filter_map(|at| self.engine(at)).collect();
        away.retain(|e| !own.iter().any(|o| o.ancestry.contains(&e.name)));
        away
    }

    fn unplaced_flag(
        &mut self,
        (name, span): (&str, Span),
        value: Option<&WrittenValue>,
        (own, others): (&[Arc<Engine>], &[Arc<Engine>]),
        of_no_other: bool,
    ) {
        let mut problems: Vec<(&Arc<Engine>, Problem)> = Vec::new();
        for engine in own.iter().chain(others) {
            match typed(&engine.schema, engine.version.as_deref(), name, value) {
                Ok(_) => return,
                Err(problem) => problems.push((engine, problem)),
            }
        }
        let of_release = |p: &Problem| matches!(p, Problem::NotYet(_) | Problem::NoLonger(_));
        if problems.iter().any(|(_, p)| of_release(p)) && self.may_be_anothers(name) {
            return;
        }
        let has_it = |(_, p): &&(&Arc<Engine>, Problem)| !matches!(p, Problem::Unknown);
        let known = problems[..own.len()].iter().find(has_it);
        if let Some((engine, problem)) = known {
            let d = problem.diagnostic(name, span, value, engine);
            return self.sink.push(self.at_key(d, problem, value));
        }
        if problems.iter().any(|p| has_it(&p)) {
            // the engine that is lost may take that value
            return;
        }
        // an engine that could not be read may have it: only a name that is nearly one is a mistake for certain
        let mut each = problems.iter().map(|(engine, p)| p.diagnostic(name, span, value, engine));
        let near = each.find(Problem::suggests);
        let any =
            || problems.first().map(|(e, p)| p.diagnostic(name, span, value, e)).filter(|_| of_no_other);
        if let Some(d) = near.or_else(any).and_then(|d| self.unless_lost(name, d)) {
            self.sink.push(d);
        }
    }
}
