//! What engines are in two revisions of a study: a version, a variable or a serve line is seen in no flag of a candidate.

use super::against::{Decides, Side};
use crate::lang::sema::program::{Change, Engine};
use crate::plan::{Config, named_engines};
use crate::secrets::{mask_value, mask_words};

/// What differs of the baseline: where it has kept its name, what of it.
pub(super) fn baseline(old: Side<'_>, new: Side<'_>, out: &mut Vec<Decides>) {
    let of = |side: Side<'_>| side.walk.baseline.as_ref().map(|(c, _)| same_as(c));
    if of(old) == of(new) {
        return;
    }
    let told = |side: Side<'_>, other: Side<'_>| {
        let what = match (&side.walk.baseline, &other.walk.baseline) {
            (Some((own, _)), Some((theirs, _))) => differs(own, theirs),
            _ => String::new(),
        };
        Some(named(&side.setup.study.baseline, &what))
    };
    out.push(Decides { what: "baseline".to_owned(), before: told(old, new), after: told(new, old) });
}

/// The other engines that both revisions may launch under one name, and what each engine publishes.
pub(super) fn others(old: Side<'_>, new: Side<'_>, out: &mut Vec<Decides>) {
    let all = |side: Side<'_>| named_engines(side.setup.program, side.setup.study);
    let (before, now) = (all(old), all(new));
    for engine in &now {
        // the baseline goes by its part in the study
        let is_baseline = engine.name == new.setup.study.baseline;
        let was = if is_baseline { &old.setup.study.baseline } else { &engine.name };
        let Some(was) = before.iter().find(|e| e.name == *was) else { continue };
        let (a, b) = (Config::declared(was, old.setup.study), Config::declared(engine, new.setup.study));
        if !is_baseline && same_as(&a) != same_as(&b) {
            let told = |own: &Config, other: &Config| Some(named(&own.engine.name, &differs(own, other)));
            let what = format!("engine {}", engine.name);
            out.push(Decides { what, before: told(&a, &b), after: told(&b, &a) });
        }
        let (before, after) = (published(was), published(engine));
        if before != after {
            out.push(Decides { what: format!("publish of {}", engine.name), before, after });
        }
    }
}

/// Whether an engine of one revision is that of the other, whatever the two are called.
pub(super) fn alike((old, before): (Side<'_>, &str), (new, now): (Side<'_>, &str)) -> bool {
    let declared = |side: Side<'_>, name: &str| {
        let engine = side.setup.program.engines.get(name)?;
        Some(same_as(&Config::declared(engine, side.setup.study)))
    };
    before == now || declared(old, before).is_some_and(|was| Some(was) == declared(new, now))
}

/// What two revisions must have in common for an engine to be the same.
fn same_as(config: &Config) -> String {
    format!("{} {} {}", config.id(), config.engine.api.name(), config.engine.serve)
}

fn named(name: &str, what: &str) -> String {
    if what.is_empty() { name.to_owned() } else { format!("{name}: {what}") }
}

/// What a configuration has that another has not.
fn differs(own: &Config, other: &Config) -> String {
    let (mine, theirs) = (&own.engine, &other.engine);
    let mut out = Vec::new();
    if mine.version != theirs.version {
        out.push(format!("version {}", mine.version.as_deref().unwrap_or("not stated")));
    }
    // an engine of another kind, or of another version, is told of by its title
    let same_kind = mine.root() == theirs.root();
    let title = same_kind && mine.version != theirs.version;
    out.extend(own.difference(other).into_iter().skip(usize::from(title)));
    if mine.serve != theirs.serve {
        out.push(format!("serve \"{}\"", mine.serve));
    }
    if mine.api != theirs.api {
        out.push(format!("api {}", mine.api.name()));
    }
    out.join(", ")
}

/// What an engine's `publish` lines add to a recommended command and take from it.
fn published(engine: &Engine) -> Option<String> {
    let all = engine.publish.iter().map(|p| match &p.change {
        Change::Flag { name, value, .. } | Change::Raw { name, value, .. } => {
            let word = value.as_ref().map_or_else(|| name.clone(), |v| format!("{name}={}", v.text));
            mask_words(vec![word]).join(" ")
        }
        Change::Env(e) => format!("{}={}", e.name, mask_value(&e.name, &e.value)),
        Change::UnsetFlag { name, .. } => format!("without {name}"),
        Change::UnsetEnv(name) => format!("without env {name}"),
        Change::Model(model) => format!("model {model}"),
        Change::Engine(name) => name.clone(),
    });
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| all.join(", "))
}
