//! The plan as a document and as a tree: what a study would run, from the same walk that runs it.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde::Serialize;

use super::command::quote;
use super::format::duration;
use super::style::Style;
use crate::journal::{History, LaunchTimes};
use crate::judge::track::base_is_settled;
use crate::judge::walk::{Role, Row, StepView, trial_id};
use crate::judge::{Next, Outcome, Setup, Walk};
use crate::lang::sema::program::{self, From, Prune, Repeat};
use crate::plan::{Config, command};

/// The `perflab.plan/1` document.
#[derive(Debug, Serialize)]
pub struct Plan {
    pub schema: &'static str,
    pub study: String,
    pub title: String,
    /// params that the command line set, as given there
    pub set: IndexMap<String, String>,
    /// whether the baseline is the simulated engine
    pub simulated: bool,
    pub launches: Launches,
    pub trials: Counts,
    pub gpu_time_s: Prediction,
    pub baseline: Candidate,
    pub steps: Vec<Step>,
    /// profiles that baseline and winner are launched on afterwards
    pub confirm: Vec<String>,
    pub rules: Vec<Rule>,
    #[serde(skip)]
    about: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Launches {
    /// still to come, at most
    pub max: usize,
}

#[derive(Debug, Serialize)]
pub struct Counts {
    pub max: usize,
    pub to_measure: usize,
    pub measured: usize,
    pub pruned: usize,
}

#[derive(Debug, Serialize)]
pub struct Prediction {
    /// `None` where nothing is known to predict from
    pub predicted: Option<f64>,
    pub by: &'static str,
}

#[derive(Debug, Serialize)]
pub struct Step {
    pub name: String,
    pub title: String,
    /// the name of the track that it belongs to
    pub track: Option<String>,
    #[serde(skip)]
    heading: String,
    pub base: String,
    pub guard: Option<String>,
    pub candidates: Vec<Candidate>,
}

#[derive(Debug, Serialize)]
pub struct Candidate {
    pub id: String,
    pub label: String,
    pub config: serde_json::Value,
    pub command: String,
    /// the flags that it changes over its base
    pub changes: Vec<String>,
    pub state: State,
    pub reason: Option<String>,
    /// rules that may still prune it once it has run
    pub rules: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    ToMeasure,
    Measured,
    Pruned,
    SameAs,
    /// its base is not known before an earlier step is decided
    Later,
}

#[derive(Debug, Serialize)]
pub struct Rule {
    pub name: String,
    pub reason: String,
    pub when: String,
    /// when it is settled
    pub settled: &'static str,
}

/// The plan of a study over what its journal holds.
pub fn plan(setup: &Setup<'_>, walk: &Walk, next: &Next, history: &History, remaining: usize) -> Plan {
    let study = setup.study;
    let decided = matches!(next, Next::Decided);
    let steps: Vec<Step> = walk.steps.iter().map(|s| step(setup, walk, s)).collect();
    let baseline = baseline(setup, walk);
    let counts = counts(setup, &baseline, &steps);
    Plan {
        schema: "perflab.plan/1",
        study: study.name.clone(),
        title: study.title.clone(),
        set: setup.program.given.clone(),
        simulated: walk.baseline.as_ref().is_some_and(|(c, _)| c.engine.simulated()),
        launches: Launches { max: if decided { 0 } else { remaining } },
        trials: counts,
        gpu_time_s: prediction(history, if decided { 0 } else { remaining }),
        baseline,
        steps,
        confirm: if study.objective.is_some() { study.confirm.clone() } else { Vec::new() },
        rules: study.prune.iter().map(rule).collect(),
        about: about(setup),
    }
}

fn about(setup: &Setup<'_>) -> Vec<String> {
    let study = setup.study;
    let mut out = vec![format!("model     {}", study.model)];
    out.extend(setup.program.given.iter().map(|(name, value)| format!("set       {name}={value}")));
    if let Some(g) = &study.gpus {
        out.push(format!(
            "gpus      {}{}",
            g.count,
            g.of.as_ref().map(|o| format!(" of {o}")).unwrap_or_default()
        ));
    }
    match &study.objective {
        Some(o) => {
            let way = if o.maximize { "maximize" } else { "minimize" };
            out.push(format!("objective {way} {} on {}", o.text, o.profiles.join(", ")));
            out.push(format!(
                "adopt     from a gain of {} % on",
                super::format::fixed(study.adopt * 100.0, 1)
            ));
        }
        None => out.push("objective none: tables only, nothing is recommended".to_owned()),
    }
    for r in &study.require {
        let how = match &r.on {
            _ if r.implied => " (unless a study says otherwise)".to_owned(),
            Some(on) => format!(" on {on}: measured for the baseline and each offer"),
            None => String::new(),
        };
        out.push(format!("require   {}{how}", r.text));
    }
    if let Repeat::Times(n @ 2..) = study.repeat {
        out.push(format!("repeat    {n} launches of every candidate"));
    }
    out
}

fn rule(p: &Prune) -> Rule {
    let settled = match (p.when.is_static(), p.after, p.when.compares()) {
        (true, _, _) => "before anything starts",
        (false, Some(_), _) => "during a candidate's load",
        (false, None, true) => "against the incumbent, after a candidate's run",
        (false, None, false) => "after a candidate's run",
    };
    Rule { name: p.name.clone(), reason: p.reason.clone(), when: p.text.clone(), settled }
}

fn baseline(setup: &Setup<'_>, walk: &Walk) -> Candidate {
    let Some((config, judged)) = &walk.baseline else {
        return Candidate {
            id: String::new(),
            label: "baseline".to_owned(),
            config: serde_json::Value::Null,
            command: String::new(),
            changes: Vec::new(),
            state: State::Pruned,
            reason: walk.refused.clone(),
            rules: Vec::new(),
        };
    };
    let state = if judged.is_some() { State::Measured } else { State::ToMeasure };
    let mut c = rendered(setup, config, "baseline", state);
    c.reason = judged.as_ref().and_then(|j| j.reason.clone());
    c
}

fn rendered(setup: &Setup<'_>, config: &Config, label: &str, state: State) -> Candidate {
    let profile = setup.profiles().into_iter().next().unwrap_or_default();
    let command = command::to_copy(config);
    let mut words: Vec<String> = command.env.iter().map(|(k, v)| format!("{k}={}", quote(v))).collect();
    words.extend(command.argv.iter().map(|w| quote(w)));
    Candidate {
        id: trial_id(setup, config, &profile),
        label: label.to_owned(),
        config: config.normal(),
        command: words.join(" "),
        changes: Vec::new(),
        state,
        reason: None,
        rules: Vec::new(),
    }
}

fn step(setup: &Setup<'_>, walk: &Walk, view: &StepView) -> Step {
    let declared = &setup.study.steps[view.step];
    let settled = base_is_settled(setup.study, &walk.steps, view.step);
    let rows = view.rows.iter().filter(|r| r.role != Role::Incumbent);
    Step {
        name: declared.name.clone(),
        title: declared.title.clone(),
        track: declared.track.clone(),
        heading: heading(setup, declared),
        base: match &declared.from {
            From::Best => "best".to_owned(),
            From::Step(i) => setup.study.steps[*i].name.clone(),
            From::Engine(name) => name.clone(),
        },
        guard: declared.when.as_ref().map(|g| g.text.clone()),
        candidates: rows.map(|r| candidate(setup, r, settled, view)).collect(),
    }
}

/// A step's title, under its track's.
fn heading(setup: &Setup<'_>, step: &program::Step) -> String {
    let of = |name: &String| setup.study.tracks.iter().find(|t| t.engine == *name);
    let track = step.track.as_ref().and_then(of);
    track.map_or_else(|| step.title.clone(), |t| format!("{}: {}", t.title, step.title))
}

fn candidate(setup: &Setup<'_>, row: &Row, settled: bool, view: &StepView) -> Candidate {
    let base = &view.base;
    let config = row.config.as_ref();
    // with repeats some runs may be there and others still to come
    let measured = row.judged.outcome != Outcome::Missing
        && config.is_some_and(|c| setup.profiles().iter().all(|p| !setup.counted(c, p).is_empty()));
    let state = match row.judged.outcome {
        _ if measured => State::Measured,
        Outcome::Pruned => State::Pruned,
        _ if row.same_as.is_some() => State::SameAs,
        _ if !settled || view.skipped.is_some() => State::Later,
        _ => State::ToMeasure,
    };
    let mut c = rendered(setup, config.unwrap_or(base), &row.label, state);
    if config.is_none() {
        c.command = String::new();
    }
    c.changes = view.changes(row);
    c.rules.clone_from(&row.open_rules);
    c.reason = match state {
        State::SameAs => row.same_as.as_ref().map(|l| format!("the same configuration as {l}")),
        State::Later if view.skipped.is_some() => view.skipped.clone(),
        State::Later => Some("its base is known when the steps before are decided".to_owned()),
        State::ToMeasure => None,
        State::Measured | State::Pruned => row.judged.reason.clone(),
    };
    c
}

fn counts(setup: &Setup<'_>, baseline: &Candidate, steps: &[Step]) -> Counts {
    let per = setup.profiles().len();
    let mut seen = HashSet::new();
    let mut c = Counts { max: 0, to_measure: 0, measured: 0, pruned: 0 };
    for candidate in std::iter::once(baseline).chain(steps.iter().flat_map(|s| &s.candidates)) {
        if candidate.state == State::Pruned {
            c.pruned += per;
        } else if seen.insert(candidate.id.clone()) {
            c.max += per;
            match candidate.state {
                State::Measured => c.measured += per,
                State::ToMeasure | State::Later => c.to_measure += per,
                State::SameAs | State::Pruned => {}
            }
        }
    }
    let confirming = setup.study.confirm.iter().filter(|p| !setup.profiles().contains(p)).count();
    if setup.study.objective.is_some() && !setup.study.confirm.is_empty() {
        c.max += 2 * confirming;
    }
    c
}

/// From the mean of the launches that the journal holds, where there are any.
fn prediction(history: &History, remaining: usize) -> Prediction {
    let times: Vec<f64> =
        history.launches().iter().filter_map(|l| l.times.as_ref().map(LaunchTimes::engine_s)).collect();
    if remaining == 0 {
        return Prediction { predicted: Some(0.0), by: "journal" };
    }
    if times.is_empty() {
        return Prediction { predicted: None, by: "none" };
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    Prediction { predicted: Some(mean * remaining as f64), by: "journal" }
}

/// The plan for a terminal.
pub fn tree(plan: &Plan, style: Style) -> String {
    let simulated = if plan.simulated { ", simulated" } else { "" };
    let mut out = vec![format!("{}  (study {}{simulated})", plan.title, plan.study)];
    out.extend(plan.about.iter().map(|l| format!("  {l}")));
    out.push(format!("  launches  at most {} to come", plan.launches.max));
    let t = &plan.trials;
    out.push(format!(
        "  trials    at most {}: {} to measure, {} measured, {} pruned before they start",
        t.max, t.to_measure, t.measured, t.pruned
    ));
    out.push(match (plan.gpu_time_s.predicted, plan.gpu_time_s.by) {
        (Some(s), by) => format!("  time      about {} at most, predicted by the {by}", duration(s)),
        (None, _) => "  time      not predicted: nothing has been measured yet".to_owned(),
    });
    out.push(String::new());
    out.push(format!("baseline  {}", mark(plan.baseline.state)));
    push_wrapped(&mut out, "  ", &plan.baseline.command, style);
    for (i, step) in plan.steps.iter().enumerate() {
        out.push(String::new());
        let guard = step.guard.as_ref().map(|g| format!(", only when {g}")).unwrap_or_default();
        out.push(format!("{}. {}  (step {}, over {}{guard})", i + 1, step.heading, step.name, step.base));
        step.candidates.iter().for_each(|c| push_candidate(&mut out, c, style));
    }
    if !plan.confirm.is_empty() {
        out.push(String::new());
        out.push(format!("afterwards baseline and winner on {} too", plan.confirm.join(", ")));
    }
    if !plan.rules.is_empty() {
        out.push(String::new());
        out.push("rules".to_owned());
        for r in &plan.rules {
            let text = format!("{}: prunes \"{}\" when {}; settled {}", r.name, r.reason, r.when, r.settled);
            push_wrapped(&mut out, "  ", &text, style);
        }
    }
    out.join("\n") + "\n"
}

fn mark(state: State) -> &'static str {
    match state {
        State::ToMeasure => "to measure",
        State::Measured => "measured",
        State::Pruned => "pruned",
        State::SameAs => "known",
        State::Later => "later",
    }
}

fn push_candidate(out: &mut Vec<String>, c: &Candidate, style: Style) {
    let reason = match (&c.reason, c.state) {
        (Some(r), State::Pruned | State::SameAs | State::Measured) => format!(": {r}"),
        _ => String::new(),
    };
    push_wrapped(out, "  ", &format!("• {}  {}{reason}", c.label, mark(c.state)), style);
    if !c.changes.is_empty() {
        push_wrapped(out, "      ", &c.changes.join(" "), style);
    }
    if !c.command.is_empty() && c.state != State::SameAs {
        push_wrapped(out, "      $ ", &c.command, style);
    }
    if !c.rules.is_empty() {
        push_wrapped(out, "      ", &format!("may be pruned later by {}", c.rules.join(", ")), style);
    }
}

/// Breaks at spaces; what does not fit on the first line is indented further.
fn push_wrapped(out: &mut Vec<String>, indent: &str, text: &str, style: Style) {
    let mut line = indent.to_owned();
    let mut fresh = true;
    for word in text.split(' ') {
        let len = line.chars().count() + word.chars().count() + usize::from(!fresh);
        if !fresh && len > style.width() {
            out.push(std::mem::replace(&mut line, " ".repeat(indent.chars().count() + 2)));
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(word);
        fresh = false;
    }
    out.push(line);
}
