//! Doubts that only candidates show: rules that never or always fire, points and steps that cannot matter, candidates that are one
//! configuration. They are warnings, found before anything runs, with a bounded amount of work: where a space is too big to be sure,
//! nothing is said.

mod only_base;

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use indexmap::IndexSet;

use super::alike::{
    has_sum, leaves, may_repeat, plainly_different, same_candidates, same_points, sets, without_bases_told,
};
use super::certain::certain;
use super::config::Config;
use super::dead::unreachable;
use super::eval::{Before, condition};
use super::foreseen::foreseen;
use super::idle::{Rules, Verdict, idle, join, without_unused_axes};
use super::left_open::without_what_errors_leave_open;
use super::lone::lone;
use super::overruled::overruled;
use super::overwritten::overwritten;
use super::prepared::Prepared;
use super::reach::{Offered, Reach, engines, incumbents};
use super::refused::refused_engines;
use super::refused_sizes::with_their_gpus;
use super::required::{excludes, unmet};
use super::room::too_long;
use super::strangers::strangers;
use super::undrafted::undrafted;
use super::unstated::unstated;
use crate::lang::codes::Code;
use crate::lang::diag::sort;
use crate::lang::sema::bounds::simplified;
use crate::lang::sema::in_place_of_another;
use crate::lang::sema::program::{Change, Engine, Expr, Point, Prune, Step, Study};
use crate::lang::sema::schema::{Schema, Setting};
use crate::lang::sema::typed::typed;
use crate::lang::source::Span;
use crate::lang::{Analysis, Diagnostic, Program};

/// A file with so many studies is looked at by two threads.
const MANY_STUDIES: usize = 16;
/// What a main thread has, in bytes.
const STACK: usize = 8 << 20;
/// Configurations that each of them looks at.
const MOST_LOOKED_AT: usize = 20_000;
/// Candidates of a step that are compared with each other.
const MOST_COMPARED: usize = 4096;
/// Candidates of a step that are compared with its base.
const MOST_OVER_BASE: usize = 64;

/// Adds the doubts of a program to what its analysis found; of a file with errors those that its errors cannot have brought about.
pub fn reviewed(mut analysis: Analysis) -> Analysis {
    let mut found = if analysis.has_errors() { certain(&analysis) } else { review(&analysis.program) };
    without_bases_told(&analysis, &mut found);
    without_unused_axes(&analysis, &mut found);
    without_what_errors_leave_open(&mut analysis, &mut found);
    with_their_gpus(&mut analysis, &mut found);
    without_signs_told(&analysis, &mut found);
    if !found.is_empty() {
        analysis.diagnostics.extend(found);
        in_place_of_another(&mut analysis.diagnostics, &analysis.modules);
        sort(&mut analysis.diagnostics);
    }
    analysis
}

/// `require total_tps <= 0.9 * baseline.total_tps`: that the sign is turned says more than that the baseline does not meet it.
fn without_signs_told(analysis: &Analysis, found: &mut Vec<Diagnostic>) {
    let turned =
        |d: &Diagnostic| analysis.diagnostics.iter().any(|o| o.code == Code::WrongWay && o.span == d.span);
    found.retain(|d| d.code != Code::Impossible || !turned(d));
}

pub(super) fn review(program: &Program) -> Vec<Diagnostic> {
    let studies = program.studies.as_slice();
    let looked = if studies.len() < MANY_STUDIES {
        vec![Looked::at(program, studies)]
    } else {
        // two halves wherever it runs: what is found, within bounds for each, must not hang on the number of processors
        let (first, second) = studies.split_at(studies.len() / 2);
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(STACK);
            let thread = thread.spawn_scoped(scope, || Looked::at(program, second));
            let first = Looked::at(program, first);
            // a machine may be out of threads
            let second = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => Looked::at(program, second),
            };
            vec![first, second]
        })
    };
    let (mut found, mut rules) = (Vec::new(), Rules::new());
    for half in looked {
        found.extend(half.found);
        half.rules.into_values().for_each(|(verdict, rule, place)| join(&mut rules, rule, verdict, place));
    }
    found.extend(rules.into_values().filter_map(|(verdict, rule, place)| idle(verdict, rule, place)));
    let mut seen = HashSet::new();
    found.retain(|d| seen.insert((d.code, d.span)));
    once_a_rule(&mut found, program);
    found
}

/// What one rule excludes in several studies is one mistake.
fn once_a_rule(found: &mut Vec<Diagnostic>, program: &Program) {
    let rules: HashSet<Span> = program.studies.iter().flat_map(|s| &s.prune).map(|r| r.span).collect();
    let by = |d: &Diagnostic| {
        let mut places = std::iter::once(d.span).chain(d.related.iter().map(|(at, _)| *at));
        places.find(|at| d.code == Code::Unreachable && rules.contains(at))
    };
    let mut firsts: HashMap<Span, usize> = HashMap::new();
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(found.len());
    for d in found.drain(..) {
        let rule = by(&d);
        if let Some(first) = rule.and_then(|rule| firsts.get(&rule)) {
            let other =
                if Some(d.span) == rule { d.related.first().map(|(at, _)| *at) } else { Some(d.span) };
            kept[*first].related.extend(other.map(|at| (at, "and this".to_owned())));
        } else {
            firsts.extend(rule.map(|rule| (rule, kept.len())));
            kept.push(d);
        }
    }
    *found = kept;
}

/// What was found in some studies of a file.
#[derive(Default)]
pub(super) struct Looked<'a> {
    pub(super) found: Vec<Diagnostic>,
    pub(super) rules: Rules<'a>,
}

impl<'a> Looked<'a> {
    pub(super) fn at(program: &'a Program, studies: &'a [Study]) -> Self {
        let mut looked = Self::default();
        let mut budget = MOST_LOOKED_AT;
        let (mut different, mut all_kinds) = (HashSet::new(), IndexSet::new());
        let Some(first) = studies.first() else { return looked };
        // studies of one file share axes, whose points are worked out once
        let mut prepared = Prepared::new(program, first);
        for study in studies {
            prepared.turn_to(study);
            let (engines, offered) = (engines(program, study), Offered::of(study));
            let (kinds, _) = all_kinds.insert_full(kinds(&engines));
            looked.at_one(Review {
                program,
                study,
                engines,
                offered,
                kinds,
                different: &mut different,
                prepared: &mut prepared,
                budget: &mut budget,
                idle: Vec::new(),
            });
        }
        looked
    }

    fn at_one(&mut self, mut review: Review<'a, '_>) {
        let (program, study, found) = (review.program, review.study, &mut self.found);
        let mut certain = false;
        for rule in &study.prune {
            let verdict = review.verdict(&rule.when);
            certain |= verdict == Verdict::Always;
            let place = review.never_met(rule, verdict);
            join(&mut self.rules, rule, verdict, place);
        }
        for step in &study.steps {
            found.extend(review.guard(step));
            found.extend(review.only_base(step));
            found.extend(review.same_twice(step));
        }
        let refused = refused_engines(program, study);
        let lost = strangers(program, study, &review.engines);
        // what excludes everything has been said
        if !certain && refused.is_empty() && !excludes(program, study) {
            let dead = unreachable(program, study, &review.engines, review.prepared, review.budget);
            let is_told = |at: Span| lost.iter().any(|l| l.span == at);
            let of_lost = |d: &Diagnostic| is_told(d.span) || d.related.iter().any(|(at, _)| is_told(*at));
            found.extend(dead.into_iter().filter(|d| !of_lost(d)));
        }
        found.extend(unmet(program, study));
        found.extend(refused);
        found.extend(lost);
        found.extend(overwritten(study, &review.engines));
        found.extend(overruled(study));
        found.extend(undrafted(program, study));
        found.extend(unstated(program.site.as_deref(), study, &review.engines, review.prepared));
        found.extend(lone(study, &review.engines));
        found.extend(foreseen(program, study, &review.engines));
        found.extend(too_long(program, study, &review.engines));
    }
}

/// The points of an axis, and what they are held against: the place of the study's [`Kinds`] among those of the file.
type Leaf = (*const Vec<Point>, usize);

/// The schemas and versions of a study's engines, which decide what its points set.
type Kinds = Vec<(*const Schema, Option<String>)>;

fn kinds(engines: &[Arc<Engine>]) -> Kinds {
    engines.iter().map(|e| (Arc::as_ptr(&e.schema), e.version.clone())).collect()
}

/// One study under review.
struct Review<'a, 'b> {
    program: &'a Program,
    study: &'a Study,
    engines: Vec<Arc<Engine>>,
    offered: Offered<'a>,
    kinds: usize,
    /// lists whose points were seen to differ, also in another study
    different: &'b mut HashSet<Leaf>,
    prepared: &'b mut Prepared<'a>,
    budget: &'b mut usize,
    /// steps that were seen to offer nothing but their base
    idle: Vec<&'a Step>,
}

impl<'a> Review<'a, '_> {
    /// What a rule comes to, which never excludes the baseline.
    fn verdict(&mut self, when: &Expr) -> Verdict {
        self.verdict_among(when, u32::MAX, true, None)
    }

    /// Where the part of a rule stands that is never met, if one alone is.
    fn never_met(&mut self, rule: &Prune, verdict: Verdict) -> Span {
        if verdict != Verdict::Never || rule.parts.len() < 2 {
            return rule.span;
        }
        let review = RefCell::new(self);
        let never = |part: &Expr| review.borrow_mut().verdict(part) == Verdict::Never;
        rule.when.place_of(&rule.parts, rule.span, never)
    }

    /// The same among configurations that need so many GPUs at most, or that only some points make of some engines; without the baseline
    /// where that is never asked.
    fn verdict_among(
        &mut self,
        when: &Expr,
        gpus: u32,
        spares_baseline: bool,
        incumbent: Option<(&Offered<'a>, &[Arc<Engine>])>,
    ) -> Verdict {
        let when = simplified(when);
        if let Expr::Bool(truth) = when {
            return if truth { Verdict::Always } else { Verdict::Never };
        }
        let is = |review: &mut Self, truth: bool| {
            let holds = |c: &Config| c.gpus() > gpus || condition(&when, &Before(c)) == Some(truth);
            let all = review.engines.clone();
            let engines = incumbent.map_or(all.as_slice(), |(_, engines)| engines);
            engines.iter().all(|e| {
                let Ok(base) = review.prepared.declared(&e.name) else { return false };
                let offered = incumbent.map_or(&review.offered, |(offered, _)| offered);
                // where GPUs bound what may be, what they hang on is part of it
                let reach = Reach::over(base.clone(), offered, &[&when], gpus < u32::MAX);
                let spared = (spares_baseline && e.name == review.study.baseline)
                    .then(|| reach.only_base(review.study))
                    .flatten();
                let mut holds = |c: &Config| spared.as_ref().is_some_and(|b| *b == c.key()) || holds(c);
                reach.all(review.budget, &mut holds) == Some(true)
            })
        };
        // of an incumbent that nobody knows, as its baseline is missing, nothing is certain
        if incumbent.map_or(self.engines.as_slice(), |(_, engines)| engines).is_empty() {
            Verdict::Depends
        } else if is(self, false) {
            Verdict::Never
        } else if when.is_static() && is(self, true) {
            Verdict::Always
        } else {
            Verdict::Depends
        }
    }

    fn guard(&mut self, step: &'a Step) -> Option<Diagnostic> {
        // what a param decides is there to be set otherwise
        let guard = step.when.as_ref().filter(|guard| !guard.by_params)?;
        // an incumbent is made of what came before
        let before = self.study.steps.iter().take_while(|s| !std::ptr::eq(*s, step));
        let own = |s: &&Step| step.track.is_none() || s.track.is_none() || s.track == step.track;
        let offered = Offered::by(self.study, before.filter(own));
        let engines = incumbents(self.program, self.study, step);
        // what needs more GPUs than the study has is never the incumbent
        let gpus = self.study.gpus.as_ref().map_or(u32::MAX, |g| g.count);
        let (what, then) = match self.verdict_among(&guard.expr, gpus, false, Some((&offered, &engines))) {
            Verdict::Never => ("can never hold", "the step is never run"),
            Verdict::Always => ("always holds", "the step is run whatever comes out"),
            Verdict::Depends => return None,
        };
        let message = format!("the guard of the step `{}` {what}", step.name);
        let d = Diagnostic::new(Code::SettledGuard, guard.span, message).label(then);
        if let Some(flag) = guard.expr.is_static().then(|| self.never_there(&guard.expr)).flatten() {
            return Some(d.help(format!(
                "a flag that is not set, or is `auto`, counts as not there and meets no comparison, `!=` neither; `not given {flag}` \
                 holds where it is left to the engine"
            )));
        }
        Some(d.help("a guard reads the incumbent's metrics, such as `when p50(tpot) > 15ms`"))
    }

    /// A flag of a condition that no engine sets and none has a default for.
    fn never_there(&self, when: &Expr) -> Option<String> {
        let mut compared = None;
        when.walk(&mut |e| {
            if let Expr::Binary { op, left, right } = e
                && op.is_comparison()
                && let (Expr::Flag(flag), _) | (_, Expr::Flag(flag)) = (&**left, &**right)
            {
                compared.get_or_insert_with(|| flag.clone());
            }
        });
        let absent = |e: &Arc<Engine>, flag: &str| Config::declared(e, self.study).flag(flag).is_none();
        compared.filter(|flag| self.engines.iter().all(|e| absent(e, flag)))
    }

    fn same_twice(&mut self, step: &Step) -> Vec<Diagnostic> {
        let mut out = Vec::new();
        let sum = has_sum(&step.space);
        if !may_repeat(&step.space) || !sum && plainly_different(&step.space) {
            return out;
        }
        let lists: Vec<Leaf> = step.space.lists().into_iter().map(|l| (Arc::as_ptr(l), self.kinds)).collect();
        if !sum && lists.iter().all(|l| self.different.contains(l)) {
            return out;
        }
        let points = step.space.points();
        let of = |e: &Arc<Engine>| points.iter().map(|p| sets(p, e)).collect::<Option<Vec<_>>>();
        let Some(all) = self.engines.iter().find_map(of) else { return out };
        let mut rest = all.iter();
        leaves(&step.space, &mut |points| {
            let mut seen: HashMap<&[String], &Point> = HashMap::new();
            for (point, set) in points.iter().zip(rest.by_ref()) {
                if let Some(first) = seen.get(set.as_slice()) {
                    out.push(same_points(step, first, point));
                } else {
                    seen.insert(set, point);
                }
            }
        });
        if out.is_empty() {
            self.different.extend(lists);
        }
        if out.is_empty() && sum && step.space.len() <= MOST_COMPARED {
            let sets = points.iter().map(|p| std::ptr::from_ref::<Point>(p)).zip(&all).collect();
            out.extend(same_candidates(step, &sets));
        }
        out
    }
}

/// What a point's flags set under an engine, as far as its schema takes them.
pub(super) fn settings<'p>(point: &'p Point, engine: &'p Engine) -> impl Iterator<Item = Setting> + 'p {
    point.changes.iter().filter_map(|change| setting(change, engine))
}

/// What one of its changes sets, if it is a flag that the engine's schema takes.
pub(super) fn setting(change: &Change, engine: &Engine) -> Option<Setting> {
    match change {
        Change::Flag { name, value, .. } => {
            typed(&engine.schema, engine.version.as_deref(), name, value.as_ref()).ok()
        }
        _ => None,
    }
}

/// Where a point is written, if that is in the study's file.
pub(super) fn place(point: &Point, step: &Step) -> Span {
    if point.span.file == step.span.file { point.span } else { step.span }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::analyze;
    use crate::lang::source::NoFiles;

    #[test]
    fn what_a_rule_excludes_in_two_studies_is_told_once() {
        let study = |name: &str, axis: &str| {
            format!(
                "study {name} {{\n model \"m\"\n baseline here\n maximize total_tps on load\n step a {{ vary {axis} }}\n}}\n"
            )
        };
        let text = format!(
            "use std/engines {{ sim }}\nengine here = sim {{ version \"1\" }}\n\
             profile load {{\n data random\n input 8\n output 8\n rate 1/s\n requests 400\n}}\n\
             axis few = --max-num-seqs=[4, 256]\naxis fewer = --max-num-seqs=[2, 128]\n\
             prune small \"too small\" when --max-num-seqs < 16\n{}{}",
            study("one", "few"),
            study("two", "fewer")
        );
        let analysis = reviewed(analyze(&NoFiles, "test.plab", &text));
        assert!(!analysis.has_errors(), "{:?}", analysis.diagnostics);
        let told: Vec<_> = analysis.diagnostics.iter().filter(|d| d.code == Code::Unreachable).collect();
        let [told] = told.as_slice() else { panic!("{told:?}") };
        let places = std::iter::once(told.span).chain(told.related.iter().map(|(at, _)| *at));
        let texts: Vec<&str> = places.map(|at| &text[at.range()]).collect();
        assert!(texts.contains(&"4") && texts.contains(&"2"), "{texts:?}");
    }
}
