//! Secrets that a program states: of flags and variables by their names, and those inside of other values, whichever params handed them
//! on. The file's own text was read for them before; this is what came of it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::lang::Program;
use crate::lang::sema::program::{Change, Choice, Engine, Point, Space};
use crate::secrets;

/// Takes every secret of the program as one from now on. Where a point is called by a secret, it gets another label.
pub fn learn(program: &mut Program) {
    let engines = program.engines.values().flat_map(|e| of_engine(e));
    let site = program.site.iter().flat_map(|s| &s.env).flat_map(|e| secrets::inside(&e.name, &e.value));
    secrets::learn(engines.chain(site).collect::<Vec<_>>());
    let steps = || program.studies.iter().flat_map(|s| &s.steps);
    // an axis is varied by many steps
    let mut known = HashSet::new();
    let lists = steps().flat_map(|s| s.space.lists()).filter(|list| known.insert(Arc::as_ptr(list)));
    let points = lists.flat_map(|list| list.iter()).chain(steps().flat_map(|s| match &s.pick {
        Some(pick) => picked(&pick.choice),
        None => Vec::new(),
    }));
    let mut varied: Vec<String> = points.flat_map(|p| &p.changes).flat_map(of_change).collect();
    let mut seen = HashSet::new();
    varied.retain(|value| seen.insert(value.clone()));
    if varied.len() > 1 {
        secrets::learn_alternatives(&varied);
    } else {
        secrets::learn(varied);
    }
    if !seen.is_empty() {
        hide_labels(program);
    }
}

/// Whatever a value says, one that is too short to be masked everywhere is not printed for its point.
fn hide_labels(program: &mut Program) {
    for step in program.studies.iter_mut().flat_map(|s| &mut s.steps) {
        hide_in(&mut step.space);
        if let Some(Choice::Points(points)) = step.pick.as_mut().map(|p| &mut p.choice) {
            points.iter_mut().for_each(hide);
        }
    }
}

fn hide_in(space: &mut Space) {
    match space {
        Space::Points(points) if points.iter().any(holds_one) => {
            Arc::make_mut(points).iter_mut().for_each(hide);
        }
        Space::Points(_) => {}
        Space::Sum(parts) | Space::Product(parts) => parts.iter_mut().for_each(hide_in),
    }
}

fn hide(point: &mut Point) {
    for secret in point.changes.iter().flat_map(of_change).collect::<Vec<_>>() {
        point.label = point.label.replace(&secret, &secrets::shown(&secret));
    }
}

fn holds_one(point: &Point) -> bool {
    point.changes.iter().any(|c| !of_change(c).is_empty())
}

fn picked(choice: &Choice) -> Vec<&Point> {
    match choice {
        Choice::Points(points) => points.iter().collect(),
        Choice::Base => Vec::new(),
    }
}

fn of_engine(engine: &Engine) -> impl Iterator<Item = String> {
    let flags = engine.flags.iter().filter_map(|f| Some(secrets::inside(&f.canonical, f.shown.as_deref()?)));
    let env = engine.env.iter().map(|e| secrets::inside(&e.name, &plain(&e.value)));
    let serve = std::iter::once(secrets::inside("", &engine.serve));
    flags.chain(env).chain(serve).flatten().chain(engine.publish.iter().flat_map(|p| of_change(&p.change)))
}

fn of_change(change: &Change) -> Vec<String> {
    match change {
        Change::Flag { name, value: Some(value), .. } | Change::Raw { name, value: Some(value), .. } => {
            secrets::inside(name, &value.text)
        }
        Change::Env(e) => secrets::inside(&e.name, &plain(&e.value)),
        _ => Vec::new(),
    }
}

/// With the braces that will stand there.
fn plain(template: &str) -> String {
    template.replace("{{", "{").replace("}}", "}")
}
