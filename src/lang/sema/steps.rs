//! Steps in order: which engines can stand under each, and so which flags can be set there.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use indexmap::{IndexMap, IndexSet};

use super::check::Checker;
use super::problem::Problem;
use super::program::{Change, Engine, From, Point, Space, Step, Study};
use super::schema::key;
use super::scope::{declared_again, is_base_word};
use super::tracks::Row;
use super::typed::{doubt, typed};
use super::unexpanded::Of;
use super::unlisted::unlisted;
use super::unplaced::place;
use crate::lang::codes::Code;
use crate::lang::diag::{About, Diagnostic};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{self, StudyLineKind as Line};

/// The engines that can be the incumbent: before anything, and as each step left it.
pub struct Reach {
    /// flags that only some engines here know: engine, steps, flags
    partial: IndexMap<String, (IndexMap<String, Span>, IndexSet<String>)>,
    baseline: Vec<Arc<Engine>>,
    pub now: Vec<Arc<Engine>>,
    /// a step is lost that may leave any engine
    unsure: bool,
    /// that engine may be one that could not be read, whose release nobody knows
    unread: bool,
    pub after: Vec<Vec<Arc<Engine>>>,
    /// the index of each step, by track and name
    places: HashMap<(Option<String>, String), usize>,
    /// where each name of a step stands first, also of those that could not be made out
    named: HashMap<(Option<String>, String), Span>,
    /// steps that could not be made out: naming one is no further mistake
    pub broken: HashSet<String>,
}

impl Reach {
    /// Without a baseline, steps are checked as far as they go without knowing an engine.
    pub fn new(baseline: Option<Arc<Engine>>) -> Self {
        let baseline: Vec<_> = baseline.into_iter().collect();
        Self {
            partial: IndexMap::new(),
            now: baseline.clone(),
            unsure: false,
            unread: false,
            baseline,
            after: Vec::new(),
            places: HashMap::new(),
            named: HashMap::new(),
            broken: HashSet::new(),
        }
    }
}

impl Checker<'_> {
    /// All steps of a study, those of its tracks in their place.
    pub fn steps(&mut self, decl: &ast::Study, study: &mut Study, mut reach: Reach) {
        let mut row = Row::default();
        let named =
            decl.lines.iter().filter_map(|l| if let Line::Step(s) = &l.kind { Some(&**s) } else { None });
        let in_tracks = decl
            .lines
            .iter()
            .filter_map(|l| if let Line::Track(t) = &l.kind { Some(&t.steps) } else { None });
        self.steps_named = named.chain(in_tracks.flatten()).map(|s| s.name.value.clone()).collect();
        for line in &decl.lines {
            match &line.kind {
                Line::Step(s) => {
                    row.close(decl, study, &mut reach);
                    self.add_step(s, None, study, &mut reach);
                }
                Line::Track(t) => self.track(t, study, &mut reach, &mut row),
                _ => {}
            }
        }
        row.close(decl, study, &mut reach);
        self.say_partial(study, &reach);
    }

    /// Where a step will be empty: its flags are not those of every engine that may be the best by then.
    fn say_partial(&mut self, study: &Study, reach: &Reach) {
        if reach.unsure {
            return;
        }
        for (engine, (steps, flags)) in &reach.partial {
            let list = |names: Vec<&str>| names.join(", ");
            let named = list(steps.keys().map(String::as_str).collect());
            let message = format!("if {engine} is the best so far, candidates of {named} cannot be");
            let flags = list(flags.iter().map(String::as_str).collect());
            let help = format!("{engine} does not take {flags}; such candidates are pruned");
            let mut places = steps.values();
            let first = places.next().copied().unwrap_or(study.span);
            let d = Diagnostic::new(Code::PartialFlag, first, message).label("in this step").help(help);
            self.sink.push(places.fold(d, |d, at| d.related(*at, "and in this one")));
        }
    }

    pub fn add_step(&mut self, decl: &ast::Step, track: Option<&str>, study: &mut Study, reach: &mut Reach) {
        if is_base_word(&decl.name.value) {
            self.sink.push(declared_again(&decl.name));
        }
        let place = (track.map(str::to_owned), decl.name.value.clone());
        let first = *reach.named.entry(place.clone()).or_insert(decl.name.span);
        if first != decl.name.span {
            let message = format!("a second step is called `{}`", decl.name.value);
            let d = Diagnostic::new(Code::DeclaredTwice, decl.name.span, message).label("already taken");
            self.sink.push(
                d.about(About::SecondStep)
                    .related(first, "the first one")
                    .help("give one of them another name"),
            );
        }
        let Some(step) = self.one_step(decl, track, &study.steps, &reach.broken) else {
            reach.broken.insert(decl.name.value.clone());
            if self.may_vary_engine(decl.span) {
                reach.now = union(&reach.now, &self.own_engines());
                reach.unsure = true;
                reach.unread |= self.names_what_is_lost(decl.span);
            }
            return;
        };
        let bases = match &step.from {
            From::Best => reach.now.clone(),
            From::Step(i) => reach.after.get(*i).unwrap_or(&reach.baseline).clone(),
            From::Engine(name) => reach_named(self, name),
        };
        let bases = admitted(&step, bases);
        self.step_varies(decl);
        let engines = self.flags_known(&step, &step.space, &bases, &study.steps, reach);
        if let Some(engine) = engines.first() {
            self.products_clash(&step, &step.space, engine);
        }
        self.at_defaults(&step, &bases, &study.steps);
        reach.now = union(&reach.now, &engines);
        reach.after.push(reach.now.clone());
        reach.places.entry(place).or_insert(study.steps.len());
        study.steps.push(step);
    }

    /// Every flag of every point must be possible for some engine that it can stand over; which ones lack it is worth a
    /// note. Yields the engines that candidates of the space can have.
    fn flags_known(
        &mut self,
        step: &Step,
        space: &Space,
        bases: &[Arc<Engine>],
        earlier: &[Step],
        reach: &mut Reach,
    ) -> Vec<Arc<Engine>> {
        match space {
            Space::Points(points) => {
                let engines = self.engines_of(space, bases);
                if self.sound.holds(points, &engines) {
                    return engines;
                }
                let before = self.sink.found().count();
                for point in points.iter() {
                    self.point_known(step, point, &engines, earlier, reach);
                }
                if self.sink.found().count() == before {
                    self.sound.hold(points, &engines);
                }
                engines
            }
            // each term stands over its own engines: `engine[a] * x + engine[b] * y`
            Space::Sum(terms) => {
                let known = |all: Vec<_>, t| union(&all, &self.flags_known(step, t, bases, earlier, reach));
                terms.iter().fold(Vec::new(), known)
            }
            Space::Product(factors) => {
                let engines = self.engines_of(space, bases);
                for factor in factors {
                    self.flags_known(step, factor, &engines, earlier, reach);
                }
                engines
            }
        }
    }

    /// The engines that a space's candidates can have: those that its points set, or the bases'.
    fn engines_of(&mut self, space: &Space, bases: &[Arc<Engine>]) -> Vec<Arc<Engine>> {
        match space {
            Space::Points(points) => {
                let set = points.iter().flat_map(|p| &p.changes);
                let set = set.filter_map(|c| if let Change::Engine(n) = c { Some(n.clone()) } else { None });
                let named: Vec<String> = set.collect();
                if named.is_empty() {
                    return bases.to_vec();
                }
                named.iter().flat_map(|n| reach_named(self, n)).collect()
            }
            Space::Sum(terms) => {
                terms.iter().fold(Vec::new(), |all, t| union(&all, &self.engines_of(t, bases)))
            }
            // one factor at most sets an engine, and it applies first wherever it is written
            Space::Product(factors) => {
                factors.iter().fold(bases.to_vec(), |under, factor| self.engines_of(factor, &under))
            }
        }
    }

    fn point_known(
        &mut self,
        step: &Step,
        point: &Point,
        engines: &[Arc<Engine>],
        earlier: &[Step],
        reach: &mut Reach,
    ) {
        for change in &point.changes {
            if let Some(engine) = engines.first() {
                self.served_name(change, engine);
            }
            self.change_known(step, point, change, engines, earlier, reach);
        }
        if let Some(engine) = engines.first() {
            self.twice(&point.changes, Some(engine));
        }
    }

    /// Factors that set one flag under two of its names.
    fn products_clash(&mut self, step: &Step, space: &Space, engine: &Engine) {
        if let Space::Product(factors) = space
            && self.clashes(step.span, factors, Some(engine)).is_none()
        {
            return;
        }
        if let Space::Product(parts) | Space::Sum(parts) = space {
            for part in parts {
                self.products_clash(step, part, engine);
            }
        }
    }

    /// An `unset` must be able to meet its flag: in a schema, in an engine, or set `raw` by a point before.
    fn unset_known(&mut self, name: &str, span: Span, engines: &[Arc<Engine>], earlier: &[Step]) {
        let raw = |c: &Change| matches!(c, Change::Raw { name: n, .. } if key(n) == key(name));
        let by_point = earlier.iter().flat_map(|s| s.space.points()).flat_map(|p| &p.changes).any(raw);
        if !engines.is_empty() {
            self.placed.push(span);
        }
        if !by_point {
            let engines: Vec<&Engine> = engines.iter().map(|e| &**e).collect();
            self.check_unset(name, span, &engines);
        }
    }

    fn change_known(
        &mut self,
        step: &Step,
        point: &Point,
        change: &Change,
        engines: &[Arc<Engine>],
        earlier: &[Step],
        reach: &mut Reach,
    ) {
        let (name, value, span) = match change {
            Change::Flag { name, value, span } => (name, value, span),
            Change::UnsetFlag { name, span } => return self.unset_known(name, *span, engines, earlier),
            Change::Raw { .. } => {
                if let Some(engine) = engines.first() {
                    self.check_change(change, engine);
                }
                return;
            }
            _ => return,
        };
        let at = place(*span, value.as_ref());
        // where no engine is known, nothing was held against one
        if !engines.is_empty() {
            self.placed.push(at);
        }
        // one of the two is to go, and this may be it
        if self.sink.says(Code::FlagTwice, *span) {
            return;
        }
        let mut refused: Vec<(&Arc<Engine>, Problem)> = Vec::new();
        for engine in engines {
            if let Err(problem) = typed(&engine.schema, engine.version.as_deref(), name, value.as_ref()) {
                refused.push((engine, problem));
            }
        }
        let is_of_release = |p: &Problem| matches!(p, Problem::NotYet(_) | Problem::NoLonger(_));
        if reach.unread && refused.iter().any(|(_, problem)| is_of_release(problem)) {
            return;
        }
        let misread = only_doubted(change, engines, &refused);
        if !misread {
            self.doubted(change, engines, refused.len());
        }
        let Some((engine, problem)) = refused.first() else {
            self.accepted.extend([at, *span]);
            return;
        };
        if misread || refused.len() == engines.len() {
            if self.sink.is_full() {
                return self.sink.unexplained();
            }
            // a wrong value of a known flag says more than an engine that lacks the flag
            let (engine, problem) = refused
                .iter()
                .find(|(_, p)| !matches!(p, Problem::Unknown))
                .map_or((*engine, problem), |(e, p)| (*e, p));
            // of the engines that may stand here, the one that has something to suggest
            let diagnostics = || engines.iter().map(|e| problem.diagnostic(name, *span, value.as_ref(), e));
            let own = problem.diagnostic(name, *span, value.as_ref(), engine);
            let helpful =
                if *problem == Problem::Unknown { diagnostics().find(Problem::suggests) } else { None };
            let own = self.at_key(own, problem, value.as_ref());
            let d = self.param_meant(helpful.unwrap_or(own), value.as_ref());
            self.other_keys(problem, change, engine);
            // a track tunes its engine alone, and a step from an engine begins there
            let alone = step.track.is_some() || matches!(step.from, From::Engine(_));
            let unknown = *problem == Problem::Unknown && !alone;
            self.refuse((at, *span), &point.axis, engine, (name, unknown), d);
            return;
        }
        self.accepted.extend([at, *span]);
        for (engine, _) in &refused {
            // engines that inherit one title are told apart by their names
            let same_title = |e: &&Arc<Engine>| e.title == engine.title && !Arc::ptr_eq(e, engine);
            let shared = engines.iter().any(|e| same_title(&e));
            let called = if shared { &engine.name } else { &engine.title };
            let entry = reach.partial.entry(called.clone()).or_default();
            entry.0.insert(step.name.clone(), step.span);
            entry.1.insert(name.clone());
        }
    }

    /// Says so if every engine that takes the flag takes it only because its version may know more than the schema.
    fn doubted(&mut self, change: &Change, engines: &[Arc<Engine>], refused: usize) {
        let Change::Flag { name, value, .. } = change else { return };
        for engine in engines {
            self.unchecked_keys(change, engine);
        }
        let doubts: Vec<_> = engines
            .iter()
            .filter_map(|e| doubt(&e.schema, e.version.as_deref(), name, value.as_ref()).map(|p| (e, p)))
            .filter(|(e, _)| typed(&e.schema, e.version.as_deref(), name, value.as_ref()).is_ok())
            .collect();
        if let Some((engine, problem)) = doubts.first()
            && doubts.len() + refused == engines.len()
        {
            self.key_doubts(problem, change, engine);
        }
        let unlisted: Vec<_> = engines.iter().filter_map(|e| unlisted(e, name, value.as_ref())).collect();
        let is_taken = doubts.is_empty() && unlisted.is_empty() && refused < engines.len();
        if let Some(value) = value.as_ref().filter(|_| is_taken) {
            self.unexpanded(0, value.span, Of::Flag(name));
        }
        if doubts.is_empty() && unlisted.len() + refused == engines.len() {
            unlisted.into_iter().take(1).for_each(|d| self.sink.push(d));
        }
    }
}

/// The bases over which a step is not left out by its guard; all of them where it leaves none.
fn admitted(step: &Step, bases: Vec<Arc<Engine>>) -> Vec<Arc<Engine>> {
    let Some(guard) = &step.when else { return bases };
    let admits = |e: &&Arc<Engine>| guard.expr.of_engine(&e.ancestry) != Some(false);
    let some: Vec<_> = bases.iter().filter(admits).cloned().collect();
    if some.is_empty() { bases } else { some }
}

fn reach_named(checker: &mut Checker<'_>, name: &str) -> Vec<Arc<Engine>> {
    if let Some(away) = checker.away.get(name) {
        return vec![away.clone()];
    }
    let root = checker.modules.root();
    let at = root.find(super::scope::Kind::Engine, name);
    at.and_then(|at| checker.engine(at)).into_iter().collect()
}

pub fn union(a: &[Arc<Engine>], b: &[Arc<Engine>]) -> Vec<Arc<Engine>> {
    let same = |(x, y): (&Arc<Engine>, &Arc<Engine>)| Arc::ptr_eq(x, y);
    // most steps leave the engines as they are
    if a.len() >= b.len() && a.iter().zip(b).all(same) {
        return a.to_vec();
    }
    let mut seen: HashSet<*const Engine> = a.iter().map(Arc::as_ptr).collect();
    let new = b.iter().filter(|e| seen.insert(Arc::as_ptr(e)));
    a.iter().chain(new).cloned().collect()
}

/// Whether an engine that knows the flag refuses its value, and all others take it only as their releases may know more than their
/// schemas: then the value is the mistake.
fn only_doubted(change: &Change, engines: &[Arc<Engine>], refused: &[(&Arc<Engine>, Problem)]) -> bool {
    let Change::Flag { name, value, .. } = change else { return false };
    let of_value =
        |p: &Problem| matches!(p, Problem::BadValue(..) | Problem::NeedsValue(_) | Problem::TakesNone);
    let unknown = |e: &Arc<Engine>| {
        doubt(&e.schema, e.version.as_deref(), name, value.as_ref()) == Some(Problem::Unknown)
    };
    let mut others = engines.iter().filter(|e| !refused.iter().any(|(r, _)| Arc::ptr_eq(r, e)));
    refused.iter().any(|(_, p)| of_value(p)) && others.all(unknown)
}
