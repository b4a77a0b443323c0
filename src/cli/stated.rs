//! Secrets that a file states by way of its params: the value stands under another name than the one that makes it secret.

use crate::lang::Program;
use crate::lang::sema::program::{Change, Engine};
use crate::secrets;

/// Takes every value that a flag or variable of a secret's name has, wherever it came from, as secret from now on.
pub fn learn(program: &Program) {
    // few files have any, and long ones have thousands of points
    if !secrets::source_names_one() {
        return;
    }
    let engines = program.engines.values().flat_map(|e| of_engine(e));
    let steps = program.studies.iter().flat_map(|s| &s.steps);
    let points = steps.flat_map(|s| s.space.points()).flat_map(|p| &p.changes).filter_map(of_change);
    secrets::learn(engines.chain(points).collect::<Vec<_>>());
}

fn of_engine(engine: &Engine) -> impl Iterator<Item = String> {
    let flags = engine.flags.iter().filter(|f| secrets::is_secret(&f.canonical));
    let flags = flags.filter_map(|f| f.shown.clone());
    let env = engine.env.iter().filter(|e| secrets::is_secret(&e.name)).map(|e| e.value.clone());
    flags.chain(env).chain(engine.publish.iter().filter_map(|p| of_change(&p.change)))
}

fn of_change(change: &Change) -> Option<String> {
    let (name, value) = match change {
        Change::Flag { name, value, .. } | Change::Raw { name, value, .. } => {
            (name, value.as_ref()?.text.clone())
        }
        Change::Env(e) => (&e.name, e.value.clone()),
        _ => return None,
    };
    secrets::is_secret(name).then_some(value)
}
