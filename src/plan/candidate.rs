//! Candidates of a step, rendered on demand from their index, and what static rules say of them.

use super::config::Config;
use super::eval::{Before, condition};
use super::prepared::Prepared;
use super::refused::{refusal, refused};
use super::rulings::OpenRules;
use crate::lang::sema::program::{Change, Choice, Refuses, Step};

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
        open: OpenRules,
    },
    /// the rule's reason, and its name if a rule of the file did it
    Pruned { reason: String, rule: Option<String> },
}

/// The candidate with an index in a step's space, over a base.
pub fn candidate<'a>(step: &'a Step, index: usize, base: &Config, prepared: &mut Prepared<'a>) -> Candidate {
    let points = step.space.candidate(index);
    Candidate { label: prepared.label(&points, &step.space), config: base.with(&points, prepared) }
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

/// Settles the rules that name no metric, and what the engine refuses.
pub fn ruling(candidate: &Candidate, prepared: &mut Prepared<'_>) -> Ruling {
    ruling_of(candidate, prepared, true)
}

/// The same with or without what the engine refuses.
pub(super) fn ruling_of(candidate: &Candidate, prepared: &mut Prepared<'_>, refusals: bool) -> Ruling {
    let study = prepared.study();
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
    let open = match prepared.ruled(config) {
        Ok(open) => open,
        Err(rule) => {
            return Ruling::Pruned { reason: rule.reason.clone(), rule: Some(rule.name.clone()) };
        }
    };
    if refusals && let Some(refusal) = refusal(config, Refuses::Surely) {
        return Ruling::Pruned { reason: refused(refusal, &config.engine), rule: None };
    }
    // measuring what cannot be valid would be in vain; what is asked on another profile is asked of offers
    let mut own = study.require.iter().filter(|r| r.on.is_none());
    let broken = own.find(|r| condition(&r.expr, &Before(config)) == Some(false));
    if let Some(require) = broken {
        return Ruling::Pruned { reason: format!("does not meet `require {}`", require.text), rule: None };
    }
    Ruling::Run { open }
}
