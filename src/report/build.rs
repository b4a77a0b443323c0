//! Builds the report document from a study's walk, its results and its journal. Everything that outputs may say is settled here.

use std::collections::{BTreeMap, HashMap, HashSet};

use indexmap::IndexMap;

use super::document::{
    By, Checks, Confirm, Direction, Gain, Gpus, Objective, Proof, Published, Recommended, Report, Role, Row,
    SCHEMA, Spread, Step, Verdict,
};
use super::trials::{Trials, first_trial, outcome};
use super::{about, costs, resolved};
use crate::journal::{History, Recording};
use crate::judge::spread::{self, Interval};
use crate::judge::walk::{Role as WalkRole, StepView, trial_id};
use crate::judge::{self, Judged, Setup, Walk, scale, trial};
use crate::lang::sema::program::Repeat;
use crate::plan::{self, command};

/// A loss on another profile from this on is called worse.
const WORSE: f64 = -0.02;

/// Everything that a report is made of.
pub struct Material<'a> {
    pub setup: &'a Setup<'a>,
    pub walk: &'a Walk,
    pub history: &'a History,
    pub file: &'a str,
    pub recording: Option<(&'a Recording, &'a [String])>,
    pub warnings: Vec<String>,
    /// which results counted no more when they were last measured, and why: what they were made of is another now
    pub again: Vec<String>,
}

/// The report of a study as far as it has come.
pub fn build(m: &Material<'_>) -> Report {
    let study = m.setup.study;
    let complete = m.setup.replay || m.walk.needs.is_empty() && !lacks_results(m);
    // what it needs meanwhile is given back before the trials are there
    let not_checked = about::not_checked(m);
    let launched = m.history.launches().iter().map(|l| l.config.clone()).collect();
    // as many as there may be: grown step by step, it would have room for half as many again
    let rows: usize = m.walk.steps.iter().map(|s| s.rows.len()).sum();
    let all = Vec::with_capacity((1 + rows) * m.setup.profiles().len());
    let mut trials = Trials { m, launched, texts: HashSet::new(), places: HashMap::new(), all };
    let baseline = m.walk.baseline.as_ref();
    if let Some((config, judged)) = baseline {
        trials.add(config, &config.engine.title.as_str().into(), judged.as_ref());
    }
    let steps: Vec<Step> = m.walk.steps.iter().map(|s| step(m, s, &mut trials)).collect();
    let confirm = confirm(m, &mut trials);
    let recommended = recommended(m);
    let objective = study.objective.as_ref().map(|o| Objective {
        expr: o.text.clone(),
        means: resolved::meaning(&o.text, &o.expr),
        direction: if o.maximize { Direction::Maximize } else { Direction::Minimize },
        profiles: o.profiles.clone(),
        unit: o.dim.base_unit(),
    });
    let trials = trials.into_all();
    Report {
        schema: SCHEMA.to_owned(),
        perflab: env!("CARGO_PKG_VERSION").to_owned(),
        study: study.name.clone(),
        title: study.title.clone(),
        file: m.file.to_owned(),
        set: m.setup.program.given.clone(),
        simulated: about::simulated(m),
        replay: m.recording.map(|(r, differences)| about::replay(r, differences)),
        goes_on: (!complete).then(|| goes_on(m).to_owned()),
        complete,
        checks: match m.setup.checks {
            judge::Checks::Refuse => Checks::Refuse,
            judge::Checks::Warn => Checks::Warn,
        },
        model: study.model.clone(),
        gpus: study.gpus.as_ref().map(|g| Gpus { count: g.count, of: g.of.clone() }),
        engines: about::engines(m),
        profiles: about::profiles(m),
        objective,
        tracks: about::tracks(m),
        require: study.require.iter().map(about::requirement).collect(),
        adopt: study.adopt,
        repeat: match study.repeat {
            Repeat::Auto => None,
            Repeat::Times(n) => Some(n),
        },
        noise: noise(m),
        baseline: baseline.map(|(c, _)| first_trial(m, c)).unwrap_or_default(),
        no_recommendation: no_recommendation(m, recommended.is_some()),
        notes: about::notes(m),
        warnings: about::warnings(m),
        not_checked,
        launches: costs::launches(m),
        cost: costs::cost(m),
        steps,
        trials,
        confirm,
        recommended,
    }
}

fn step(m: &Material<'_>, view: &StepView, trials: &mut Trials<'_>) -> Step {
    let declared = &m.setup.study.steps[view.step];
    let rows: Vec<Row> = view.rows.iter().map(|r| row(m, view, &declared.name, r, trials)).collect();
    let id_of = |i: usize| rows.get(i).map(|r| r.trial.to_string());
    let stays = first_trial(m, &view.incumbent_after);
    Step {
        name: declared.name.clone(),
        title: declared.title.clone(),
        track: declared.track.clone(),
        base: m.setup.study.base_name(view.step).to_owned(),
        guard: declared.when.as_ref().map(|g| g.text.clone()),
        skipped: view.skipped.clone(),
        chosen: view.chosen.and_then(id_of).or_else(|| view.adopted.then_some(stays.clone())),
        adopted: view.adopted,
        by: if view.by_hand { By::Hand } else { By::Rule },
        reason: view.reason.clone(),
        gain: view.gain.map(|g| step_gain(m, view, g)),
        candidates: rows.iter().filter(|r| r.role == Role::Candidate).map(|r| r.trial.clone()).collect(),
        best: view.best.and_then(id_of),
        incumbent_before: first_trial(m, &view.incumbent_before),
        incumbent_after: stays,
        rows,
        notes: declared.notes.clone(),
    }
}

fn row(m: &Material<'_>, view: &StepView, step: &str, r: &judge::walk::Row, trials: &mut Trials<'_>) -> Row {
    let values = r.config.as_ref().map(|c| each(m, c)).unwrap_or_default();
    let interval = r.gain.and(interval(m, &values, &each(m, &view.incumbent_before)));
    let trial = match &r.config {
        Some(config) => trials.add(config, &r.label, Some(&r.judged)),
        None => trials.add_impossible(&view.base, step, r),
    };
    Row {
        role: match r.role {
            WalkRole::Incumbent => Role::Incumbent,
            WalkRole::Base => Role::Base,
            WalkRole::Candidate => Role::Candidate,
        },
        trial,
        label: r.label.clone(),
        changes: view.changes(r).iter().map(|change| trials.once(change)).collect(),
        same_as: r.same_as.clone(),
        outcome: outcome(r.judged.outcome),
        reason: r.judged.reason.clone(),
        objective: r.judged.objective,
        // a row without a value has none to lie around
        spread: r
            .judged
            .objective
            .and_then(|_| spread::spread(&values))
            .map(|s| Box::new(Spread { runs: s.runs as u32, min: s.min, max: s.max, stddev: s.stddev })),
        gain: r.gain.filter(|g| g.is_finite()),
        gain_low: interval.map(|i| i.low),
        gain_high: interval.map(|i| i.high),
    }
}

/// The objective of each launch of a configuration.
fn each(m: &Material<'_>, config: &plan::Config) -> Vec<f64> {
    let objective = m.setup.study.objective.as_ref();
    objective.map(|o| trial::objective_of_each(m.setup, config, o)).unwrap_or_default()
}

fn interval(m: &Material<'_>, ours: &[f64], theirs: &[f64]) -> Option<Interval> {
    spread::interval(m.setup.study.objective.as_ref()?.maximize, ours, theirs)
}

/// The gain of a step's best candidate.
fn step_gain(m: &Material<'_>, view: &StepView, value: f64) -> Gain {
    let best = view.best.and_then(|i| view.rows.get(i)?.config.as_ref());
    best.map_or(gain(value, None, 1), |best| gain_over(m, value, best, &view.incumbent_before))
}

/// The gain of one configuration over another, from the runs that count.
fn gain_over(m: &Material<'_>, value: f64, ours: &plan::Config, theirs: &plan::Config) -> Gain {
    let (ours, theirs) = (each(m, ours), each(m, theirs));
    gain(value, interval(m, &ours, &theirs), ours.len().min(theirs.len()))
}

fn gain(value: f64, interval: Option<Interval>, runs: usize) -> Gain {
    let by = if runs > 1 { Proof::Repeats } else { Proof::SingleRun };
    let value = Some(value).filter(|v| v.is_finite());
    Gain { value, low: interval.map(|i| i.low), high: interval.map(|i| i.high), by }
}

/// How far launches of one configuration lie apart, over all that are valid and ran more than once: what was refused, as for requests
/// that failed, says nothing of how well the others can be told apart.
fn noise(m: &Material<'_>) -> Option<f64> {
    let rows = m.walk.steps.iter().flat_map(|s| &s.rows).filter(|r| r.judged.is_valid());
    let baseline = m.walk.baseline.iter().filter(|b| b.1.as_ref().is_some_and(Judged::is_valid));
    let configs = baseline.map(|b| &b.0).chain(rows.filter_map(|r| r.config.as_ref()));
    let by_id: BTreeMap<&str, &plan::Config> = configs.map(|c| (c.id(), c)).collect();
    let groups: Vec<Vec<f64>> = by_id.into_values().map(|c| each(m, c)).collect();
    spread::noise(groups.iter().map(Vec::as_slice))
}

fn confirm(m: &Material<'_>, trials: &mut Trials<'_>) -> Vec<Confirm> {
    let (Some((baseline, _)), Some(winner)) = (&m.walk.baseline, &m.walk.winner) else { return Vec::new() };
    let same = baseline.id() == winner.id();
    let mut out = Vec::new();
    for view in &m.walk.confirm {
        for (config, label) in [(baseline, "baseline"), (&view.recommended, "recommended")] {
            let peers = trial::Peers { best: None, baseline: Some(baseline), may_be_pruned: false };
            let judged = trial::judge(m.setup, config, std::slice::from_ref(&view.profile), peers);
            trials.add_one(config, &label.into(), &view.profile, judged.as_ref());
        }
        let verdict = match (view.gain, view.interval) {
            _ if view.failed.is_some() => Verdict::Failed,
            _ if same => Verdict::Same,
            (Some(g), _) if g < WORSE => Verdict::Worse,
            (_, Some(i)) if i.low > 0.0 => Verdict::Better,
            _ => Verdict::Unproven,
        };
        let sure = if same { None } else { view.interval };
        let gain = |value| match sure {
            _ if same => Gain { value: Some(value), low: None, high: None, by: Proof::None },
            sure => gain(value, sure, view.runs),
        };
        out.push(Confirm {
            profile: view.profile.clone(),
            baseline: trial_id(m.setup, baseline, &view.profile),
            recommended: trial_id(m.setup, &view.recommended, &view.profile),
            baseline_objective: view.baseline,
            baseline_failed: view.baseline_failed.as_deref().map(str::to_owned),
            recommended_objective: view.winner,
            gain: view.gain.map(gain),
            verdict,
            of_the_steps: view.of_the_steps,
        });
    }
    out
}

fn recommended(m: &Material<'_>) -> Option<Recommended> {
    let o = m.setup.study.objective.as_ref()?;
    let (baseline, judged) = m.walk.baseline.as_ref()?;
    let winner = m.walk.winner.as_ref()?;
    let settled =
        judged.as_ref().is_some_and(Judged::is_valid) && (m.setup.replay || m.walk.needs.is_empty());
    if !settled || m.walk.refused.is_some() {
        return None;
    }
    let value = |c: &plan::Config| trial::objective(m.setup, c, o);
    let (theirs, ours) = (value(baseline)?, value(winner)?);
    if reaches_nothing(m, winner) || failed_afterwards(m).is_some() {
        return None;
    }
    let gain = if baseline.id() == winner.id() {
        Gain { value: Some(0.0), low: None, high: None, by: Proof::None }
    } else {
        gain_over(m, scale::gain(o.maximize, ours, theirs), winner, baseline)
    };
    let published = command::published(winner);
    let env: IndexMap<String, String> = published.command.env.into_iter().collect();
    Some(Recommended {
        trial: first_trial(m, winner),
        command: super::asking::quoted_behind(&env, &published.command.argv).join(" "),
        argv: published.command.argv,
        env,
        published: Published { added: published.added, hidden: published.hidden },
        gain,
        partial: lacks_results(m),
    })
}

/// Whether a configuration has none of what is to be maximized: then nothing tells it from any other that has none.
fn reaches_nothing(m: &Material<'_>, config: &plan::Config) -> bool {
    let goal = m.setup.study.objective.as_ref().filter(|o| o.maximize);
    goal.and_then(|o| trial::objective(m.setup, config, o)).is_some_and(|v| v <= 0.0)
}

/// Whether something was not measured, though nothing more of it is to come in this invocation.
fn lacks_results(m: &Material<'_>) -> bool {
    !m.setup.all_left_out().is_empty() || m.history.machine_failed(m.setup.checks)
}

fn no_recommendation(m: &Material<'_>, there_is_one: bool) -> Option<String> {
    if there_is_one {
        return None;
    }
    if m.setup.study.objective.is_none() {
        return Some("the study has no objective: it prints tables and recommends nothing".to_owned());
    }
    if let Some(why) = &m.walk.refused {
        return Some(format!("{why}{}", baseline_again(m)));
    }
    if let Some(winner) = m.walk.winner.as_ref().filter(|w| m.walk.needs.is_empty() && reaches_nothing(m, w))
    {
        return Some(nothing_reached(m, winner));
    }
    if let Some(failed) = failed_afterwards(m) {
        return Some(format!("what won failed when it was launched afresh to confirm it: {failed}"));
    }
    Some(format!("the study is not complete; {}", goes_on(m)))
}

/// What the winner failed on in a launch of its own behind the steps: what runs only sometimes is not recommended.
fn failed_afterwards<'a>(m: &'a Material<'_>) -> Option<&'a str> {
    m.walk.confirm.iter().find_map(|view| view.failed.as_deref())
}

/// Where everything that is valid has an objective of 0: on which profiles.
fn nothing_reached(m: &Material<'_>, winner: &plan::Config) -> String {
    let Some(o) = &m.setup.study.objective else { return String::new() };
    let nothing = |p: &&String| trial::objective_on(m.setup, winner, o, p).is_some_and(|v| v <= 0.0);
    let on: Vec<&str> = o.profiles.iter().filter(nothing).map(String::as_str).collect();
    format!("no valid configuration has more than 0 of {}: it is 0 on {}", o.text, on.join(", "))
}

/// A baseline that failed ends the next invocation at once too: how it is tried again.
fn baseline_again(m: &Material<'_>) -> &'static str {
    let judged = m.walk.baseline.as_ref().and_then(|(_, judged)| judged.as_ref());
    let failed = judged.is_some_and(|j| j.outcome == judge::Outcome::Failed);
    if failed && m.recording.is_none() { "; `exec --again baseline` measures it again" } else { "" }
}

/// How a study that is not complete goes on.
fn goes_on(m: &Material<'_>) -> &'static str {
    match (m.setup.all_left_out().is_empty(), m.history.machine_failed(m.setup.checks)) {
        (true, _) => "the same command continues it",
        (false, false) => "the budget has no room for what is left out: raise the budget, and it goes on",
        (false, true) => {
            "the same command tries again what the machine cut off; raise the budget for what it has no room for"
        }
    }
}
