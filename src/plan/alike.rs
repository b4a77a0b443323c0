//! Points and candidates that are one configuration: what they set, in normal form, is the same.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::labels::Labels;
use super::review::place;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Change, Engine, Point, Space, Step};
use crate::lang::sema::typed::typed;
use crate::lang::source::Span;
use crate::lang::{Analysis, Diagnostic};

pub(super) fn leaves<'s>(space: &'s Space, visit: &mut dyn FnMut(&'s [Point])) {
    match space {
        Space::Points(points) => visit(points),
        Space::Sum(parts) | Space::Product(parts) => parts.iter().for_each(|p| leaves(p, visit)),
    }
}

/// What a point sets, in normal form and order; `None` if the engine cannot have it.
pub(super) fn sets(point: &Point, engine: &Engine) -> Option<Vec<String>> {
    let mut out = Vec::new();
    for change in &point.changes {
        out.push(match change {
            Change::Engine(name) => format!("engine {name}"),
            Change::Model(model) => format!("model {model}"),
            Change::Env(e) => format!("env {}={}", e.name, e.value),
            Change::UnsetEnv(name) => format!("unset env {name}"),
            Change::UnsetFlag { name, .. } => format!("unset {name}"),
            Change::Raw { name, value, .. } => format!("{name}={:?}", value.as_ref().map(|v| &v.text)),
            Change::Flag { name, value, .. } => {
                let set = typed(&engine.schema, engine.version.as_deref(), name, value.as_ref()).ok()?;
                format!("{}={}", set.canonical, set.value.normal())
            }
        });
    }
    out.sort_unstable();
    Some(out)
}

pub(super) fn same_points(step: &Step, first: &Point, second: &Point) -> Diagnostic {
    let message = format!("`{}` and `{}` are the same configuration", first.name, second.name);
    let d = Diagnostic::new(Code::SameTwice, place(second, step), message).label("the same again");
    let d = if first.span.file == d.span.file { d.related(first.span, "the first one") } else { d };
    d.help("they are one trial, measured once: take one of them out")
}

/// Whether the points of every axis differ as they are written: whole numbers for one flag, as most axes have.
pub(super) fn plainly_different(space: &Space) -> bool {
    let mut different = true;
    leaves(space, &mut |points| {
        let mut seen = HashSet::new();
        let mut flags = points.iter().map(plain_number);
        let first = flags.clone().next().flatten().map(|(flag, _)| flag);
        different &= flags.all(|f| f.is_some_and(|(flag, n)| first == Some(flag) && seen.insert(n)));
    });
    different
}

/// The one flag of a point and its value, if that is a whole number in digits that no other number has.
fn plain_number(point: &Point) -> Option<(&str, &str)> {
    let [Change::Flag { name, value: Some(value), .. }] = point.changes.as_slice() else { return None };
    let digits = value.text.bytes().all(|b| b.is_ascii_digit()) && !value.text.starts_with('0');
    digits.then_some((name, &value.text))
}

/// Whether two candidates of a space could be one: with a point for each factor there is only one.
pub(super) fn may_repeat(space: &Space) -> bool {
    match space {
        Space::Points(points) => points.len() > 1,
        Space::Sum(_) => true,
        Space::Product(factors) => factors.iter().any(may_repeat),
    }
}

/// Factors of a product set different things: where the points of each differ, so do its candidates, unless terms overlap.
pub(super) fn has_sum(space: &Space) -> bool {
    match space {
        Space::Points(_) => false,
        Space::Sum(_) => true,
        Space::Product(factors) => factors.iter().any(has_sum),
    }
}

/// Takes back that a step offers nothing but its base where that was told of what it unsets.
pub(super) fn without_bases_told(analysis: &Analysis, found: &mut Vec<Diagnostic>) {
    let unset = analysis.diagnostics.iter().filter(|d| d.code == Code::UnsetNothing);
    let unset: Vec<Span> = unset.map(|d| d.span).collect();
    let holds =
        |p: &Point, at: &Span| p.span.file == at.file && p.span.start <= at.start && at.start < p.span.end;
    let told = |step: &Step| step.space.any(&|p| unset.iter().any(|at| holds(p, at)));
    let steps = || analysis.program.studies.iter().flat_map(|s| &s.steps);
    found.retain(|d| d.code != Code::OnlyBase || !steps().any(|s| s.span == d.span && told(s)));
}

pub(super) fn same_candidates(step: &Step, sets: &HashMap<*const Point, &Vec<String>>) -> Option<Diagnostic> {
    let labels = Labels::of(&step.space);
    let mut seen: HashMap<Vec<&String>, String> = HashMap::new();
    for i in 0..step.space.len() {
        let points = step.space.candidate(i);
        let label = labels.label(&points);
        let of = |p: &&Point| sets.get(&std::ptr::from_ref::<Point>(p)).copied();
        let mut set: Vec<&String> = points.iter().filter_map(of).flatten().collect();
        set.sort_unstable();
        if let Some(first) = seen.get(&set) {
            let also = if *first == label { String::new() } else { format!(", also as `{first}`") };
            let message = format!("the step `{}` has the candidate `{label}` twice{also}", step.name);
            let d = Diagnostic::new(Code::SameTwice, step.span, message).label("in this step");
            return Some(d.help("they are one configuration, measured once: take one of them out of `vary`"));
        }
        seen.insert(set, label);
    }
    None
}
