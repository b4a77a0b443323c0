//! What checks would say of every result, and follows from the file alone: a percentile far out of a few requests, and a batch limit that
//! the load never reaches.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::limits::{BATCH, Sent, far_out, most_in_flight, never_binds};
use super::review::{place, setting};
use crate::lang::codes::Code;
use crate::lang::sema::problem::some_of;
use crate::lang::sema::program::{Change, Engine, Expr, Load, Point, Profile, Study};
use crate::lang::sema::schema::{Found, Value, key};
use crate::lang::source::Span;
use crate::lang::{Diagnostic, Program};

/// What is said of a study whose results would be flagged, whatever they are; `engines` are all that it names.
pub(super) fn foreseen(program: &Program, study: &Study, engines: &[Arc<Engine>]) -> Vec<Diagnostic> {
    let mut out = too_few(program, study);
    out.extend(unbound(program, study, engines));
    out
}

/// The profiles that steps measure.
fn measured(study: &Study) -> &[String] {
    study.objective.as_ref().map_or(&study.confirm, |o| &o.profiles)
}

/// Readings of a percentile that the requests of a profile do not hold up.
fn too_few(program: &Program, study: &Study) -> Vec<Diagnostic> {
    let steps = measured(study);
    let is_far_out = |e: &Expr| far_out(e).is_some();
    let objective = study.objective.iter().map(|o| (&o.expr, o.span, steps));
    let required = study
        .require
        .iter()
        .map(|r| (&r.expr, r.place_of(is_far_out), r.on.as_ref().map_or(steps, std::slice::from_ref)));
    let rules = study.prune.iter().map(|r| (&r.when, r.place_of(is_far_out), steps));
    // one load that is too short is one mistake, wherever it is read
    let mut found: IndexMap<&str, Diagnostic> = IndexMap::new();
    for (expr, span, profiles) in objective.chain(required).chain(rules) {
        let Some((profile, d)) = of_few(program, study, (expr, span), profiles) else { continue };
        match found.get_mut(profile) {
            Some(first) if first.span != d.span => first.related.push((d.span, "and read here".to_owned())),
            Some(_) => {}
            None => drop(found.insert(profile, d)),
        }
    }
    found.into_values().collect()
}

/// The profile that has too few, and what is said of it.
fn of_few<'p>(
    program: &'p Program,
    study: &Study,
    (expr, span): (&Expr, Span),
    profiles: &[String],
) -> Option<(&'p str, Diagnostic)> {
    let (read, needs) = far_out(expr)?;
    let all = profiles.iter().filter_map(|name| program.profiles.get(name));
    let few = all.filter_map(|p| Some((p, Sent::by(p).filter(|n| n.count() < needs)?)));
    let (profile, sent) = few.min_by_key(|(_, sent)| sent.count())?;
    let span = if span.file == study.span.file { span } else { study.span };
    let message = format!("{read} is read of `{}`, which has {sent}; it takes {needs}", profile.name);
    let d = Diagnostic::new(Code::FewRequests, span, message).label("the maximum under another name");
    let d = if profile.span.file == span.file { d.related(profile.span, "so few") } else { d };
    let more = match (sent, &profile.load) {
        (Sent::OnAverage(_), Some(Load::Rate { per_s, .. })) => {
            format!("duration {}s", ((needs + 1) as f64 / per_s).ceil())
        }
        _ => format!("requests {}", needs + 1),
    };
    let help = format!(
        "every result would be flagged (P_SUPPORT): `{more}` or more, or a percentile further in, as p90"
    );
    Some((&profile.name, d.help(help)))
}

/// Points that set a batch limit at or above what clients keep in flight, on each of the steps' profiles.
fn unbound(program: &Program, study: &Study, engines: &[Arc<Engine>]) -> Vec<Diagnostic> {
    let profiles: IndexSet<&String> = measured(study).iter().collect();
    let caps = profiles
        .iter()
        .map(|name| program.profiles.get(*name).and_then(|p| Some((&**p, most_in_flight(p)?))));
    let Some(caps) = caps.collect::<Option<Vec<(&Profile, u32)>>>() else { return Vec::new() };
    let Some((profile, cap)) = caps.into_iter().reduce(|most, p| if p.1 > most.1 { p } else { most }) else {
        return Vec::new();
    };
    let engines: Vec<&Engine> = engines.iter().map(|e| &**e).filter(|e| serves(e, cap)).collect();
    let mut out = Vec::new();
    for step in &study.steps {
        let mut axes: IndexMap<&str, Vec<Unbound>> = IndexMap::new();
        for point in step.space.points() {
            let Some((flag, batch)) = engines.iter().find_map(|e| batch_above(point, e, cap)) else {
                continue;
            };
            axes.entry(&point.axis).or_default().push(Unbound { at: place(point, step), flag, batch });
        }
        // a single one is what people take for no limit; of several each is the same experiment
        out.extend(axes.values().filter(|a| a.len() > 1).map(|points| told(points, (profile, cap))));
    }
    out
}

/// Places that are shown beside the first: of a long list, these read as all.
const MARKED: usize = 3;

/// A point whose batch limit decides nothing.
struct Unbound {
    at: Span,
    flag: String,
    batch: i64,
}

/// Whether an engine serves so many requests at once as it is, as far as is known.
fn serves(engine: &Engine, cap: u32) -> bool {
    let own = engine.flags.iter().find(|s| key(&s.canonical) == BATCH).map(|s| s.value.clone());
    match own.or_else(|| engine.schema.default(BATCH, engine.version.as_deref())) {
        Some(Value::Int(n)) => never_binds(n, cap),
        _ => true,
    }
}

/// The flag of a point that sets the batch limit above so many requests, and nothing else by which it differs from others; and its value.
fn batch_above(point: &Point, engine: &Engine, cap: u32) -> Option<(String, i64)> {
    let [change] = point.changes.as_slice() else { return None };
    let batch = sets_batch(change, engine).then(|| setting(change, engine)).flatten()?;
    match batch.value {
        Value::Int(n) if never_binds(n, cap) => Some((batch.spelled, n)),
        _ => None,
    }
}

/// By the name alone: what a flag is set to takes longer to read.
fn sets_batch(change: &Change, engine: &Engine) -> bool {
    let Change::Flag { name, .. } = change else { return false };
    match engine.schema.find(name, engine.version.as_deref()) {
        Found::Known(spec, _) => spec.names.first().is_some_and(|n| key(n) == BATCH),
        _ => false,
    }
}

fn told(points: &[Unbound], (profile, cap): (&Profile, u32)) -> Diagnostic {
    let (first, name) = (&points[0], &profile.name);
    let values: Vec<String> = points.iter().map(|p| p.batch.to_string()).collect();
    let message = format!(
        "{} of {} cannot bind: the clients of `{name}` keep at most {cap} requests in flight",
        first.flag,
        some_of(&values)
    );
    let d = Diagnostic::new(Code::NeverBinds, first.at, message).label("one experiment under several names");
    let others = points.iter().skip(1).filter(|p| p.at != first.at).take(MARKED);
    let d = others.fold(d, |d, p| d.related(p.at, "the same"));
    let d =
        if profile.span.file == first.at.file { d.related(profile.span, "so few are in flight") } else { d };
    d.help("their results would be flagged (NONBINDING): raise the load, or keep one of them")
}
