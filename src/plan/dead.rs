//! Points, products and steps of which nothing can be measured, as rules or the number of GPUs exclude each candidate before anything
//! runs. A rule may read two axes, so each combination that rules can tell apart is looked at, over each base that its step may have.

mod told;

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::bases::{Bases, Excluded};
use super::candidate::{Candidate, Ruling, ruling_of};
use super::config::Config;
use super::prepared::Prepared;
use super::reach::{Offered, Reach};
use super::refused::touched;
use crate::lang::sema::program::{Change, Engine, Expr, From, Point, Space, Step, Study};
use crate::lang::{Diagnostic, Program};
use told::once_for_each_reason;

/// Combinations of one step that are looked at.
const MOST_COMBINATIONS: usize = 2048;
/// Steps that may decide on one's base; of what would have more, nothing is said.
const MOST_DECIDING: usize = 64;

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
