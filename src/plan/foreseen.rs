//! What checks would say of every result, and follows from the file alone: a percentile far out of a few requests, and a batch limit that
//! the load never reaches.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::limits::{BATCH, FAR_OUT_NEEDS, far_out, most_in_flight, never_binds};
use super::review::place;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Change, Engine, Expr, Point, Profile, Study};
use crate::lang::sema::schema::{Value, key};
use crate::lang::sema::typed::typed;
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
    let objective = study.objective.iter().map(|o| (&o.expr, study.span, steps));
    let required =
        study.require.iter().map(|r| (&r.expr, r.span, r.on.as_ref().map_or(steps, std::slice::from_ref)));
    let rules = study.prune.iter().map(|r| (&r.when, r.span, steps));
    let all = objective.chain(required).chain(rules);
    all.filter_map(|(expr, span, profiles)| of_few(program, study, (expr, span), profiles)).collect()
}

fn of_few(
    program: &Program,
    study: &Study,
    (expr, span): (&Expr, Span),
    profiles: &[String],
) -> Option<Diagnostic> {
    let read = far_out(expr)?;
    let all = profiles.iter().filter_map(|name| program.profiles.get(name));
    let few = all.filter_map(|p| Some((p, p.requests.filter(|n| *n < FAR_OUT_NEEDS)?)));
    let (profile, requests) = few.min_by_key(|(_, requests)| *requests)?;
    let span = if span.file == study.span.file { span } else { study.span };
    let s = if requests == 1 { "" } else { "s" };
    let message = format!(
        "{read} is read of `{}`, which has {requests} request{s}; it takes {FAR_OUT_NEEDS}",
        profile.name
    );
    let d = Diagnostic::new(Code::FewRequests, span, message).label("the maximum under another name");
    let d = if profile.span.file == span.file { d.related(profile.span, "so few") } else { d };
    Some(d.help(format!(
        "every result would be flagged (P_SUPPORT): `requests {}` or more, or a percentile further in, as p90",
        FAR_OUT_NEEDS + 1
    )))
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
    let mut out = Vec::new();
    for step in &study.steps {
        // the points of one axis are told of together
        let mut axes: IndexMap<&str, Diagnostic> = IndexMap::new();
        for point in step.space.points() {
            let Some((flag, batch)) = engines.iter().find_map(|e| batch_above(point, e, cap)) else {
                continue;
            };
            let at = place(point, step);
            let d = match axes.swap_remove(point.axis.as_str()) {
                Some(d) if at == d.span => d,
                Some(d) => d.related(at, "nor here"),
                None => told(at, &flag, batch, (profile, cap)),
            };
            axes.insert(&point.axis, d);
        }
        out.extend(axes.into_values());
    }
    out
}

/// The flag of a point that sets the batch limit above so many requests, and its value; not where the engine serves fewer as it is.
fn batch_above(point: &Point, engine: &Engine, cap: u32) -> Option<(String, i64)> {
    let (schema, version) = (&engine.schema, engine.version.as_deref());
    let own = engine.flags.iter().find(|s| key(&s.canonical) == BATCH).map(|s| s.value.clone());
    match own.or_else(|| schema.default(BATCH, version)) {
        Some(Value::Int(n)) if !never_binds(n, cap) => return None,
        _ => {}
    }
    let set = point.changes.iter().filter_map(|change| match change {
        Change::Flag { name, value, .. } => typed(schema, version, name, value.as_ref()).ok(),
        _ => None,
    });
    let batch = set.into_iter().find(|s| key(&s.canonical) == BATCH)?;
    match batch.value {
        Value::Int(n) if never_binds(n, cap) => Some((batch.spelled, n)),
        _ => None,
    }
}

fn told(at: Span, flag: &str, batch: i64, (profile, cap): (&Profile, u32)) -> Diagnostic {
    let name = &profile.name;
    let message =
        format!("{flag}={batch} cannot bind: the clients of `{name}` keep at most {cap} requests in flight");
    let d = Diagnostic::new(Code::NeverBinds, at, message).label("changes nothing");
    let d = if profile.span.file == at.file { d.related(profile.span, "so few are in flight") } else { d };
    d.help("its results would be flagged (NONBINDING): raise the load, or take the point out")
}
