//! Candidates of a step, rendered on demand from their index, and what static rules say of them.

use super::config::Config;
use super::eval::{Before, condition};
use super::prepared::Prepared;
use super::refused::{refusal, refused};
use crate::lang::sema::program::{Change, Choice, Point, Refuses, Space, Step, Study};

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
    Candidate { label: label(&points, &step.space), config: base.with(&points, prepared) }
}

/// What is printed for points that stand together. A label that says nothing without its axis, or that another axis of the step has too,
/// is printed behind the axis' name: `tp 2 + dp 4`, `async on + mode`. Points of one axis that are called alike, as versions of one
/// engine are, go by their names.
pub fn label(points: &[&Point], space: &Space) -> String {
    let part = |p: &&Point| {
        let number = is_number(&p.label);
        let confusing = |other: &Point| {
            let bare = is_switch(&other.label) || is_number(&other.label);
            other.axis != p.axis
                && p.axis != p.label
                && (other.label == p.label || is_switch(&p.label) || number && bare)
        };
        let alike = |other: &Point| other.axis == p.axis && other.label == p.label && other.name != p.name;
        if space.any(&alike) {
            return p.name.clone();
        }
        if space.any(&confusing) { format!("{} {}", p.axis, p.label) } else { p.label.clone() }
    };
    points.iter().map(part).collect::<Vec<_>>().join(" + ")
}

/// A value of one axis, as another may have it: `512`, `24Ki`, `0.9`. One number says which axis it is of, two do not.
fn is_number(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_digit()) && !label.contains(' ')
}

/// Words that any axis may have for what it sets.
fn is_switch(label: &str) -> bool {
    let words = ["on", "off", "true", "false", "yes", "no", "none", "auto", "default", "with", "without"];
    words.contains(&label.to_ascii_lowercase().as_str())
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
pub fn ruling(candidate: &Candidate, study: &Study) -> Ruling {
    ruling_of(candidate, study, true)
}

/// The same with or without what the engine refuses.
pub(super) fn ruling_of(candidate: &Candidate, study: &Study, refusals: bool) -> Ruling {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::lang::source::Span;

    fn axis(name: &str, labels: &[&str]) -> Space {
        let point = |label: &&str| Point {
            axis: name.to_owned(),
            name: (*label).to_owned(),
            label: (*label).to_owned(),
            changes: Vec::new(),
            span: Span::default(),
        };
        Space::Points(Arc::new(labels.iter().map(point).collect()))
    }

    fn labels(space: &Space) -> Vec<String> {
        (0..space.len()).map(|i| label(&space.candidate(i), space)).collect()
    }

    #[test]
    fn a_label_names_its_axis_where_it_says_nothing_alone() {
        let seqs = || axis("seqs", &["256", "512"]);
        assert_eq!(labels(&seqs()), ["256", "512"]);
        let product = Space::Product(vec![axis("mode", &["mode"]), seqs()]);
        assert_eq!(labels(&product), ["mode + 256", "mode + 512"]);
        let sizes = Space::Product(vec![axis("tp", &["1", "2"]), axis("dp", &["4"])]);
        assert_eq!(labels(&sizes), ["tp 1 + dp 4", "tp 2 + dp 4"]);
        let switches = Space::Product(vec![axis("async", &["on"]), axis("chunk", &["on", "off"])]);
        assert_eq!(labels(&switches), ["async on + chunk on", "async on + chunk off"]);
        let sum = Space::Sum(vec![seqs(), axis("quant", &["FP8"])]);
        assert_eq!(labels(&sum), ["256", "512", "FP8"]);
        let switch = Space::Product(vec![axis("async", &["on", "off"]), axis("mode", &["mode"])]);
        assert_eq!(labels(&switch), ["async on + mode", "async off + mode"]);
        let mut same = vec![];
        for name in ["a", "b", "c"] {
            let label = if name == "c" { "C" } else { "vLLM" }.to_owned();
            let (axis, name) = ("engine".to_owned(), name.to_owned());
            same.push(Point { axis, name, label, changes: Vec::new(), span: Span::default() });
        }
        assert_eq!(labels(&Space::Points(Arc::new(same))), ["a", "b", "C"]);
        let alike = Space::Product(vec![axis("prefill", &["fa3"]), axis("decode", &["fa3", "flashinfer"])]);
        assert_eq!(labels(&alike), ["prefill fa3 + decode fa3", "prefill fa3 + flashinfer"]);
    }
}
