//! Points, products and steps of which nothing can be measured, as rules or the number of GPUs exclude each candidate before anything
//! runs. A rule may read two axes, so each combination that rules can tell apart is looked at, over each base that its step may have.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::bases::{Bases, Excluded};
use super::candidate::{Candidate, Ruling, ruling_of};
use super::config::Config;
use super::prepared::Prepared;
use super::reach::{Offered, Reach};
use super::refused::touched;
use super::review::place;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Change, Engine, Expr, From, Point, Space, Step, Study};
use crate::lang::source::Span;
use crate::lang::{Diagnostic, Program};

/// Combinations of one step that are looked at.
const MOST_COMBINATIONS: usize = 2048;
/// Steps that may decide on one's base; of what would have more, nothing is said.
const MOST_DECIDING: usize = 64;
/// What is added to a message and a help where a step behind changes what excludes something.
const BY_ORDER: (&str, &str) = (" where it stands", "move the step behind the one that changes this");

/// What is said of a study's points that cannot be; `budget` counts the configurations that may still be looked at.
pub(super) fn unreachable<'a>(
    program: &'a Program,
    study: &'a Study,
    engines: &[Arc<Engine>],
    prepared: &mut Prepared<'a>,
    budget: &mut usize,
) -> Vec<Diagnostic> {
    let own = study.require.iter().filter(|r| r.on.is_none()).map(|r| &r.expr);
    // a rule that waits for a measurement excludes nothing before there is one
    let own = own.filter(|e| e.may_settle(false));
    let rules = study.prune.iter().map(|r| &r.when).filter(|e| e.may_settle(true)).chain(own);
    let rules: Vec<&Expr> = rules.filter(|e| e.reads_configuration()).collect();
    let refused = touched(study, engines);
    let refused: Vec<&Expr> = refused.iter().map(|r| &r.when).collect();
    if rules.is_empty() && refused.is_empty() && study.gpus.is_none() {
        return Vec::new();
    }
    let nothing = Offered::by(study, []);
    let mut look = |rules: &[&Expr], refusals: bool| {
        let asking = engines.iter().map(|e| Reach::new(e, &nothing, rules, true)).collect();
        let idle_alive = HashSet::default();
        let mut search = Search {
            program,
            study,
            prepared: &mut *prepared,
            asking,
            refusals,
            budget: &mut *budget,
            idle_alive,
        };
        (0..study.steps.len()).map(|i| search.look(i)).collect::<Vec<Option<Found>>>()
    };
    // what engines refuse reads many flags, so that far more is to be told apart: of a big space that may say nothing
    let mut found = look(&rules, false);
    if !refused.is_empty() {
        let with = look(&[rules.as_slice(), &refused].concat(), true);
        found = found.into_iter().zip(with).map(|(alone, with)| with.or(alone)).collect();
    }
    if found.iter().all(Option::is_none) {
        return Vec::new();
    }
    // what can be measured in another step is there for that one
    let alive: HashSet<Place> =
        study.steps.iter().zip(&found).flat_map(|(s, f)| alive(s, f.as_ref())).collect();
    let told = study.steps.iter().zip(&found).filter_map(|(s, f)| Some((s, f.as_ref()?)));
    once_for_each_reason(told.flat_map(|(step, found)| found.told(study, step, &alive)))
}

/// What one rule excludes, or an engine refuses for one reason, is one mistake, in however many points and steps.
fn once_for_each_reason(found: impl Iterator<Item = Told>) -> Vec<Diagnostic> {
    let mut out: Vec<Told> = Vec::new();
    for Told { by, diagnostic } in found {
        match out.iter_mut().find(|o| by.is_some() && o.by == by) {
            Some(Told { diagnostic: first, .. }) => {
                // of a step that the same rule excludes, the step
                let places =
                    std::iter::once(diagnostic.span).chain(diagnostic.related.iter().map(|(at, _)| *at));
                let is_new =
                    |at: &Span| *at != first.span && first.related.iter().all(|(known, _)| known != at);
                if let Some(at) = places.into_iter().find(is_new) {
                    first.related.push((at, "and this".to_owned()));
                }
            }
            None => out.push(Told { by, diagnostic }),
        }
    }
    out.into_iter().map(|told| told.diagnostic).collect()
}

/// A diagnostic, and the one thing that excludes what it is told of.
struct Told {
    by: Option<String>,
    diagnostic: Diagnostic,
}

/// Whether a point changes what rules ask.
fn tells(asking: &[Reach<'_>], point: &Point) -> bool {
    point.changes.iter().any(|c| matches!(c, Change::Engine(_))) || asking.iter().any(|r| r.tells(point))
}

/// What a point is known by in a study.
type Place<'a> = (&'a str, &'a str);

fn named(point: &Point) -> Place<'_> {
    (&point.axis, &point.name)
}

/// Points of a step of which no candidate can be, each with the reason.
type Dead<'a> = HashMap<Place<'a>, Excluded>;

/// The same of a step where it stands, in which nothing changes what excludes them before it.
struct Found<'a> {
    dead: Dead<'a>,
    /// those that a step behind it would not bring back
    anywhere: HashSet<Place<'a>>,
}

struct Search<'a, 'b> {
    program: &'a Program,
    study: &'a Study,
    prepared: &'b mut Prepared<'a>,
    /// what rules ask of each engine
    asking: Vec<Reach<'a>>,
    /// what engines refuse is asked too
    refusals: bool,
    budget: &'b mut usize,
    /// tracks, or the study, of which a base is not excluded as it is
    idle_alive: HashSet<Option<&'a str>>,
}

impl<'a> Search<'a, '_> {
    fn tells(&self, point: &Point) -> bool {
        tells(&self.asking, point)
    }

    /// Looks at a step; `None` where nothing is certain, or nothing is to be said.
    fn look(&mut self, index: usize) -> Option<Found<'a>> {
        let step = &self.study.steps[index];
        let idle = !step.space.any(&|p| self.tells(p));
        let scope = step.track.as_deref();
        let best = matches!(step.from, From::Best);
        if step.space.is_empty() || idle && best && self.idle_alive.contains(&scope) {
            return None;
        }
        let combinations = self.combinations(&step.space)?;
        // the engine as declared is a base too: what it excludes nothing of needs no look at the others, which costs much more
        if !self.excludes_some(step, &combinations)? {
            if idle && best {
                self.idle_alive.insert(scope);
            }
            return None;
        }
        let dead = self.dead(step, &combinations, self.bases(index, &[])?);
        if dead.is_empty() {
            if idle && best {
                self.idle_alive.insert(scope);
            }
            return None;
        }
        let later = self.later_that_tell(index);
        let anywhere = if later.is_empty() {
            dead.keys().copied().collect()
        } else {
            self.dead(step, &combinations, self.bases(index, &later)?).into_keys().collect()
        };
        Some(Found { dead, anywhere })
    }

    /// Whether some combination is excluded over the declaration of the engine that a step starts from.
    fn excludes_some(&mut self, step: &'a Step, combinations: &[Vec<&'a Point>]) -> Option<bool> {
        let base = self.prepared.declared(self.start(step)).ok()?.clone();
        Some(combinations.iter().any(|points| {
            let told: Vec<&Point> = points.iter().copied().filter(|p| tells(&self.asking, p)).collect();
            let made = Candidate { label: String::new(), config: base.with(&told, self.prepared) };
            matches!(ruling_of(&made, self.prepared, self.refusals), Ruling::Pruned { .. })
        }))
    }

    /// The engine from whose declaration a step's bases come.
    fn start(&self, step: &'a Step) -> &'a str {
        match &step.from {
            From::Engine(name) => name.as_str(),
            From::Best | From::Step(_) => step.track.as_deref().unwrap_or(&self.study.baseline),
        }
    }

    /// The steps behind this one that change what rules ask, in the same track.
    fn later_that_tell(&self, index: usize) -> Vec<&'a Step> {
        let step = &self.study.steps[index];
        let later = if matches!(step.from, From::Best) { &self.study.steps[index + 1..] } else { &[] };
        later.iter().filter(|s| s.track == step.track && s.space.any(&|p| self.tells(p))).collect()
    }

    /// The points that are in no combination which some base can take.
    fn dead(&mut self, step: &'a Step, combinations: &[Vec<&'a Point>], bases: Bases<'a>) -> Dead<'a> {
        let mut bases = bases.within(*self.budget);
        let (mut alive, mut dead) = (HashSet::default(), HashMap::new());
        for points in combinations {
            let told: Vec<&Point> = points.iter().copied().filter(|p| self.tells(p)).collect();
            // the baseline is measured whatever rules say
            let mut spared = || told.len() == points.len() && self.makes_baseline(step, &told);
            match bases.excluded(&told).filter(|_| !spared()) {
                Some(why) => points.iter().for_each(|p| {
                    dead.entry(named(p)).or_insert_with(|| why.clone());
                }),
                None => alive.extend(points.iter().map(|p| named(p))),
            }
        }
        *self.budget = bases.left();
        dead.retain(|place, _| !alive.contains(place));
        self.others(&step.space, &mut dead);
        dead
    }

    /// Whether points make the baseline of the engine that a step starts from.
    fn makes_baseline(&mut self, step: &'a Step, points: &[&'a Point]) -> bool {
        let declared = |search: &mut Self, name: &'a str| search.prepared.declared(name).cloned();
        let (Ok(base), Ok(baseline)) =
            (declared(self, self.start(step)), declared(self, &self.study.baseline))
        else {
            return false;
        };
        base.with(points, self.prepared).is_ok_and(|c| c.key() == baseline.key())
    }

    /// The candidates that rules can tell apart: of a list's points of which they read nothing, the first stands for all.
    fn combinations(&self, space: &'a Space) -> Option<Vec<Vec<&'a Point>>> {
        let all = match space {
            Space::Points(points) => {
                let mut idle = false;
                let first = |p: &&Point| self.tells(p) || !std::mem::replace(&mut idle, true);
                points.iter().filter(first).map(|p| vec![p]).collect()
            }
            Space::Sum(parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(|p| self.combinations(p)).collect();
                parts?.concat()
            }
            Space::Product(factors) => {
                let mut all = vec![Vec::new()];
                for factor in factors {
                    let of = self.combinations(factor)?;
                    if all.len() * of.len() > MOST_COMBINATIONS {
                        return None;
                    }
                    let with = |points: &Vec<&'a Point>| -> Vec<Vec<&'a Point>> {
                        of.iter().map(|more| [points.as_slice(), more].concat()).collect()
                    };
                    all = all.iter().flat_map(with).collect();
                }
                all
            }
        };
        (all.len() <= MOST_COMBINATIONS).then_some(all)
    }

    /// The points for which a dead one stood are dead too.
    fn others(&self, space: &'a Space, dead: &mut Dead<'a>) {
        for list in space.lists() {
            let mut idle = list.iter().filter(|p| !self.tells(p));
            let Some(why) = idle.next().and_then(|first| dead.get(&named(first)).cloned()) else { continue };
            dead.extend(idle.map(|p| (named(p), why.clone())));
        }
    }

    /// The bases that a step may have where it stands, which the steps before it leave; or if `moved` stood before it too.
    fn bases(&self, index: usize, moved: &[&'a Step]) -> Option<Bases<'a>> {
        let study = self.study;
        let step = &study.steps[index];
        let (start, decided) = (self.start(step), !matches!(step.from, From::Engine(_)));
        let before = study.steps[..index].iter();
        let before = before.filter(|s| decided && (step.track.is_none() || s.track == step.track));
        // a track leaves its engine, whatever its steps set, and so does a step from an engine
        let of_engine = |s: &Step| s.track.is_some() || matches!(s.from, From::Engine(_));
        let settles = |s: &&Step| of_engine(s) || s.space.any(&|p| self.tells(p));
        let open: Vec<&Step> = before.filter(settles).chain(moved.iter().copied()).collect();
        let start = self.program.engines.get(start)?;
        (open.len() <= MOST_DECIDING)
            .then(|| Bases::new(self.program, study, &Config::declared(start, study), &open, self.refusals))
    }
}

/// The points of a step that can be measured there, as far as is known.
fn alive<'a>(step: &'a Step, found: Option<&Found<'a>>) -> Vec<Place<'a>> {
    let dead = |p: &Place| found.is_some_and(|f| f.dead.contains_key(p));
    step.space.points().into_iter().map(named).filter(|p| !dead(p)).collect()
}

/// The condition of the rule of this file that has such a name.
fn excluding(study: &Study, by: Option<&str>) -> Option<Span> {
    let rule = study.prune.iter().find(|r| Some(r.name.as_str()) == by)?;
    (rule.span.file == study.span.file).then_some(rule.span)
}

impl Found<'_> {
    fn told(&self, study: &Study, step: &Step, alive: &HashSet<Place>) -> Vec<Told> {
        if self.nothing_of(&step.space) {
            let (place, or) =
                if self.nothing_anywhere(&step.space) { ("", "remove the step") } else { BY_ORDER };
            let message = format!("no candidate of the step `{}` can be measured{place}", step.name);
            return vec![self.all_excluded(message, &step.space, (study, step), or)];
        }
        let mut out = Vec::new();
        self.terms(&step.space, (study, step), alive, &mut out);
        out
    }

    /// Products that are dead as a whole are told of once, else each point.
    fn terms(
        &self,
        space: &Space,
        (study, step): (&Study, &Step),
        alive: &HashSet<Place>,
        out: &mut Vec<Told>,
    ) {
        match space {
            Space::Product(factors) if factors.len() > 1 && self.nothing_of(space) => {
                let mut axes: Vec<&str> = space.points().into_iter().map(|p| p.axis.as_str()).collect();
                axes.dedup();
                let product = axes.join(" * ");
                let message =
                    format!("no candidate of `{product}` can be measured in the step `{}`", step.name);
                out.push(self.all_excluded(message, space, (study, step), &format!("take `{product}` out")));
            }
            Space::Sum(parts) | Space::Product(parts) => {
                for part in parts {
                    self.terms(part, (study, step), alive, out);
                }
            }
            Space::Points(points) => {
                let dead = points.iter().filter(|p| !alive.contains(&named(p)));
                out.extend(dead.filter_map(|p| Some((p, self.dead.get(&named(p))?))).map(
                    |(p, Excluded { by, why })| {
                        let (standing, or) = if self.anywhere.contains(&named(p)) {
                            ("", "mend what excludes it")
                        } else {
                            BY_ORDER
                        };
                        let message =
                            format!("the point `{}` of `{}` can never be measured{standing}", p.name, p.axis);
                        let d = Diagnostic::new(Code::Unreachable, place(p, step), message)
                            .label(if standing.is_empty() { "always excluded" } else { "excluded" });
                        let d = match excluding(study, by.as_deref()) {
                            Some(rule) => d.related(rule, "by this rule"),
                            None => d,
                        };
                        let d = d.help(format!("{why}; take the point out, or {or}"));
                        Told { by: by.clone(), diagnostic: d }
                    },
                ));
            }
        }
    }

    /// Where what excludes them stands: a rule, else the first point of them.
    fn all_excluded(&self, message: String, space: &Space, (study, step): (&Study, &Step), or: &str) -> Told {
        let first = space.points().into_iter().find_map(|p| Some((p, self.dead.get(&named(p))?)));
        let why = first.map(|(_, e)| format!(" ({})", e.why)).unwrap_or_default();
        let by = first.and_then(|(_, e)| e.by.clone());
        let at = match excluding(study, by.as_deref()) {
            Some(rule) => (rule, "excludes all of them"),
            None => first
                .map_or((step.span, "all are excluded"), |(p, _)| (place(p, step), "excluded, as all are")),
        };
        let d = Diagnostic::new(Code::Unreachable, at.0, message).label(at.1);
        let d = if at.0 == step.span { d } else { d.related(step.span, "in this step") };
        Told { by, diagnostic: d.help(format!("mend what excludes them{why}, or {or}")) }
    }

    fn nothing_of(&self, space: &Space) -> bool {
        nothing(space, &|place| self.dead.contains_key(place))
    }

    fn nothing_anywhere(&self, space: &Space) -> bool {
        nothing(space, &|place| self.anywhere.contains(place))
    }
}

/// Whether a space has no candidate where some points are dead.
fn nothing(space: &Space, is_dead: &dyn Fn(&Place<'_>) -> bool) -> bool {
    match space {
        Space::Points(points) => points.iter().all(|p| is_dead(&named(p))),
        Space::Sum(parts) => parts.iter().all(|p| nothing(p, is_dead)),
        Space::Product(parts) => parts.iter().any(|p| nothing(p, is_dead)),
    }
}
