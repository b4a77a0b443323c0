//! Steps whose candidates all are their base, in what they set, over every engine that the base can have.

use std::sync::Arc;

use foldhash::HashSet;

use super::super::config::Config;
use super::super::reach::incumbents;
use super::{MOST_OVER_BASE, Review};
use crate::lang::Diagnostic;
use crate::lang::codes::Code;
use crate::lang::sema::program::{Change, Engine, From, Point, Step};
use crate::lang::sema::schema::{Found, key};

impl<'a> Review<'a, '_> {
    /// What is said of a step that offers nothing but its base.
    pub(super) fn only_base(&mut self, step: &'a Step) -> Option<Diagnostic> {
        let engines = self.bases(step)?;
        let count = step.space.len();
        if engines.is_empty() || count == 0 || count > MOST_OVER_BASE {
            return None;
        }
        let first = *step.space.candidate(0).first()?;
        let stated = engines.iter().all(|e| states(e, first));
        if !stated || !engines.iter().all(|e| self.stays(step, e)) || self.changed_before(step, &engines) {
            return None;
        }
        self.idle.push(step);
        let message = format!("the step `{}` offers nothing but its base", step.name);
        let d = Diagnostic::new(Code::OnlyBase, step.span, message).label("changes nothing");
        Some(d.help("its base has all of this already: vary something else, or remove the step"))
    }

    /// Whether each candidate of a step is an engine as it is declared.
    fn stays(&mut self, step: &'a Step, engine: &Engine) -> bool {
        let Ok(base) = self.prepared.declared(&engine.name).cloned() else { return false };
        let same = |i| {
            let candidate = base.with(&step.space.candidate(i), self.prepared);
            candidate.is_ok_and(|c: Config| !c.plainly_differs(&base) && c.key() == base.key())
        };
        (0..step.space.len()).all(same)
    }

    /// The engines from whose declarations a step's base can come, if that is certain.
    fn bases(&self, step: &'a Step) -> Option<Vec<Arc<Engine>>> {
        match &step.from {
            From::Engine(name) => Some(vec![self.program.engines.get(name)?.clone()]),
            From::Best => {
                // what stands before a step outside of tracks may be a track's winner
                let alone = step.track.is_some() || self.study.steps.iter().all(|s| s.track.is_none());
                alone.then(|| incumbents(self.program, self.study, step))
            }
            From::Step(_) => None,
        }
    }

    /// Whether a step before this one may have changed what this one sets, other than by the engines that it may leave.
    fn changed_before(&self, step: &'a Step, engines: &[Arc<Engine>]) -> bool {
        let before = self.study.steps.iter().take_while(|s| !std::ptr::eq(*s, step));
        let idle = |s: &Step| self.idle.iter().any(|i| std::ptr::eq(*i, s));
        let before: Vec<&Step> =
            before.filter(|s| s.track == step.track && matches!(step.from, From::Best) && !idle(s)).collect();
        engines.iter().any(|engine| {
            // one that replaces the engine replaces everything
            if changes(step).any(|c| matches!(c, Change::Engine(_))) {
                return !before.is_empty();
            }
            let own: HashSet<String> = changes(step).filter_map(|c| thing(c, engine)).collect();
            let mut others = before.iter().flat_map(|s| changes(s)).filter_map(|c| thing(c, engine));
            others.any(|other| own.contains(&other))
        })
    }
}

fn changes(step: &Step) -> impl Iterator<Item = &Change> {
    step.space.points().into_iter().flat_map(|p| &p.changes)
}

/// Whether an engine's own lines set what a point sets first: else it is no part of the engine as declared.
fn states(engine: &Engine, point: &Point) -> bool {
    let Some(first) = point.changes.first() else { return true };
    let Change::Flag { .. } = first else { return true };
    let thing = thing(first, engine);
    engine.flags.iter().any(|set| thing.as_ref() == Some(&key(&set.canonical)))
}

/// The flag, variable or other thing that a change is about; `None` of an engine.
fn thing(change: &Change, engine: &Engine) -> Option<String> {
    Some(match change {
        Change::Engine(_) => return None,
        Change::Model(_) => "model".to_owned(),
        Change::Env(e) => format!("env {}", e.name),
        Change::UnsetEnv(name) => format!("env {name}"),
        Change::Flag { name, .. } | Change::Raw { name, .. } | Change::UnsetFlag { name, .. } => {
            let flag = name.split('.').next().unwrap_or(name);
            match engine.schema.find(flag, engine.version.as_deref()) {
                Found::Known(spec, _) => key(&spec.names[0]),
                _ => key(flag),
            }
        }
    })
}
