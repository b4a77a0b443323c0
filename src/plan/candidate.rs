//! Candidates of a step, rendered on demand from their index, and what static rules say of them.

use super::config::Config;
use super::eval::{Before, condition};
use super::prepared::Prepared;
use crate::lang::sema::program::{Change, Choice, Point, Step, Study};

/// One candidate over a base.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub label: String,
    /// the configuration, or why there can be none
    pub config: Result<Config, String>,
}

/// What the rules that need no measurement say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Run {
        /// rules that may still prune it
        open: Vec<String>,
    },
    /// the rule's reason, and its name if a rule of the file did it
    Pruned { reason: String, rule: Option<String> },
}

/// The candidate with an index in a step's space, over a base.
pub fn candidate<'a>(step: &'a Step, index: usize, base: &Config, prepared: &mut Prepared<'a>) -> Candidate {
    let points = step.space.candidate(index);
    Candidate { label: label(&points), config: base.with(&points, prepared) }
}

fn label(points: &[&Point]) -> String {
    points.iter().map(|p| p.label.as_str()).collect::<Vec<_>>().join(" + ")
}

/// The index of the candidate that a `pick` names; `None` for the base.
pub fn picked(choice: &Choice, step: &Step) -> Option<usize> {
    let Choice::Points(points) = choice else { return None };
    let wanted: Vec<&Vec<Change>> = points.iter().map(|p| &p.changes).collect();
    (0..step.space.len()).find(|i| {
        let c = step.space.candidate(*i);
        c.len() == wanted.len() && wanted.iter().all(|w| c.iter().any(|p| p.changes == **w))
    })
}

/// Settles the rules that name no metric.
pub fn ruling(candidate: &Candidate, study: &Study) -> Ruling {
    let config = match &candidate.config {
        Ok(config) => config,
        Err(reason) => return Ruling::Pruned { reason: reason.clone(), rule: None },
    };
    if let Some(gpus) = &study.gpus {
        let needed = config.gpus();
        if needed > gpus.count {
            let reason = format!("needs {needed} GPUs, the study has {}", gpus.count);
            return Ruling::Pruned { reason, rule: None };
        }
    }
    let mut open = Vec::new();
    for rule in &study.prune {
        match condition(&rule.when, &Before(config)) {
            Some(true) => {
                return Ruling::Pruned { reason: rule.reason.clone(), rule: Some(rule.name.clone()) };
            }
            Some(false) => {}
            None => open.push(rule.name.clone()),
        }
    }
    Ruling::Run { open }
}
