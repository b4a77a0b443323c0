//! Steps and products whose flags no single engine here has: each could be in some engine, and all together in none.

use std::sync::Arc;

use crate::lang::codes::Code;
use crate::lang::sema::program::{Change, Engine, From, Point, Space, Step, Study};
use crate::lang::sema::schema::Found;
use crate::lang::{Diagnostic, Program};

/// What is said of a study's steps of which no engine can have a candidate.
pub(super) fn strangers(program: &Program, study: &Study, engines: &[Arc<Engine>]) -> Vec<Diagnostic> {
    let Some(first) = engines.first() else { return Vec::new() };
    let alike = |e: &Arc<Engine>| Arc::ptr_eq(&e.schema, &first.schema) && e.version == first.version;
    if engines.iter().all(alike) {
        // a flag that the only engine lacks is an error of its own
        return Vec::new();
    }
    study.steps.iter().flat_map(|step| of_step(step, &bases(step, program, engines))).collect()
}

/// The engines over which a step may stand.
fn bases<'a>(step: &Step, program: &'a Program, engines: &'a [Arc<Engine>]) -> Vec<&'a Engine> {
    let one = match &step.from {
        From::Engine(name) => Some(name),
        _ => step.track.as_ref(),
    };
    match one {
        Some(name) => program.engines.get(name).map(|e| &**e).into_iter().collect(),
        None => engines.iter().map(|e| &**e).collect(),
    }
}

fn of_step(step: &Step, bases: &[&Engine]) -> Vec<Diagnostic> {
    let brings_engine = |p: &Point| p.changes.iter().any(|c| matches!(c, Change::Engine(_)));
    let nowhere = |space: &Space| {
        !space.is_empty() && !space.any(&brings_engine) && !bases.iter().any(|e| possible(space, e))
    };
    if nowhere(&step.space) {
        let message = format!("no candidate of the step `{}` can be measured", step.name);
        return vec![told(message, step, "remove the step")];
    }
    let Space::Sum(terms) = &step.space else { return Vec::new() };
    let lost = terms.iter().filter(|t| nowhere(t));
    lost.map(|term| {
        let mut axes: Vec<&str> = term.points().into_iter().map(|p| p.axis.as_str()).collect();
        axes.dedup();
        let product = axes.join(" * ");
        let message = format!("no candidate of `{product}` can be measured in the step `{}`", step.name);
        told(message, step, &format!("take `{product}` out"))
    })
    .collect()
}

fn told(message: String, step: &Step, or: &str) -> Diagnostic {
    let d = Diagnostic::new(Code::Unreachable, step.span, message).label("in no engine here");
    d.help(format!("no engine that the step may stand on has all of these flags: vary them in steps or tracks of their own, or {or}"))
}

/// Whether some candidate holds flags only that an engine has.
fn possible(space: &Space, engine: &Engine) -> bool {
    match space {
        Space::Points(points) => points.iter().any(|p| p.changes.iter().all(|c| has(engine, c))),
        Space::Sum(parts) => parts.iter().any(|p| possible(p, engine)),
        Space::Product(parts) => parts.iter().all(|p| possible(p, engine)),
    }
}

fn has(engine: &Engine, change: &Change) -> bool {
    let Change::Flag { name, .. } = change else { return true };
    let flag = name.split('.').next().unwrap_or(name);
    let known = |n: &str| matches!(engine.schema.find(n, engine.version.as_deref()), Found::Known(..));
    // a release without a schema of its own may have what no other has
    known(name)
        || known(flag)
        || engine.version.as_ref().is_some_and(|v| !engine.schema.versions().contains(v))
}
