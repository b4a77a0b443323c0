//! The parameter sets of a sweep, and which of them the others are compared with: what the tool measures itself.

use super::arguments::Argument;
use super::params::{self, Point, Said};
use super::study::{self, Base};
use super::value;

/// A parameter set.
#[derive(Debug, Clone)]
pub struct Set {
    pub name: String,
    pub title: Option<String>,
    pub said: Vec<Said>,
}

/// Those of a file, in its order.
#[derive(Debug, Clone, Default)]
pub struct Sets {
    pub all: Vec<Set>,
    /// one of them is the command alone
    pub bare: bool,
}

impl Sets {
    /// The points over a baseline. A sweep that never runs the command alone has its first set for that, which is then named: the
    /// command may not even start.
    pub fn over(self, base: &mut Base) -> (Vec<Point>, Option<String>) {
        // what nobody can check cannot be taken away again
        let sound = |set: &Set| params::flags(&set.said).all(|flag| !flag.refused());
        let first = self.all.iter().position(sound).filter(|_| !self.bare);
        let Some(at) = first else {
            return (self.all.iter().map(|set| point(set, params::texts(&set.said))).collect(), None);
        };
        let mut others = self.all;
        let first = others.remove(at);
        let alone = (base.arguments.model.clone(), base.arguments.flags.clone());
        let points = others.iter().map(|set| point(set, instead(set, &first, &alone))).collect();
        for said in &first.said {
            take(base, said);
        }
        let named = first.title.unwrap_or(first.name);
        let title = base.draft.title.replace(" as it is", "");
        base.draft.title = format!("{title}, {}", study::shown(&named));
        let named = study::shown(&named);
        let which = if at == 0 {
            format!("the first parameter set, {named}")
        } else {
            format!("the parameter set {named}, the first that can be checked")
        };
        (points, Some(which))
    }
}

fn point(set: &Set, changes: Vec<String>) -> Point {
    let as_typed = params::as_typed(&set.said);
    Point { name: set.name.clone(), title: set.title.clone(), changes, as_typed }
}

/// A set over another one: what only the other has goes back to what the command says.
fn instead(set: &Set, first: &Set, (model, flags): &(String, Vec<Argument>)) -> Vec<String> {
    let theirs = params::texts(&first.said);
    let mut out: Vec<String> = params::texts(&set.said).into_iter().filter(|t| !theirs.contains(t)).collect();
    let models = |all: &[Said]| all.iter().any(|s| matches!(s, Said::Model(_)));
    if models(&first.said) && !models(&set.said) {
        out.push(format!("model {}", value::text(model)));
    }
    for gone in params::flags(&first.said) {
        let root = gone.canonical.split('.').next().unwrap_or_default();
        if params::flags(&set.said).any(|f| f.canonical == gone.canonical || f.canonical == root) {
            continue;
        }
        match flags.iter().find(|f| f.canonical == gone.canonical) {
            Some(bare) if bare.passed_on() => out.push(format!("raw {}", bare.text())),
            Some(bare) => out.push(bare.text()),
            // a key keeps its spelling, a switch loses its `no-`
            None if gone.canonical.contains('.') => out.push(format!("unset {}", gone.name)),
            None => out.push(format!("unset {}", gone.canonical)),
        }
    }
    out
}

/// Has the command say what a set says.
fn take(base: &mut Base, said: &Said) {
    let argument = match said {
        Said::Model(name) => {
            base.arguments.model.clone_from(name);
            return;
        }
        Said::Flag(argument) => argument.clone(),
    };
    let (flags, changes) = (&mut base.arguments.flags, &mut base.draft.changes);
    let change = study::flag(&argument);
    if let Some(at) = flags.iter().position(|f| f.canonical == argument.canonical) {
        let old = std::mem::replace(&mut flags[at], argument).text();
        if let Some(at) = changes.iter().position(|c| c.text == old) {
            changes[at] = change;
        }
        return;
    }
    let at = changes.iter().position(|c| c.published.is_some()).unwrap_or(changes.len());
    changes.insert(at, change);
    flags.push(argument);
}
