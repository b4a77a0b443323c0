//! Builds the report document from a study's walk, its results and its journal. Everything that outputs may say is settled here.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::document::{
    By, Checks, Confirm, Direction, Engine, Gain, Gpus, Objective, Profile, Proof, Published, Recommended,
    Replay, Report, Role, Row, SCHEMA, Spread, Step, Track, Verdict,
};
use super::evidence::{Config, ConfigText, Cost, Finding, Flag, Launch, Level, Outcome, Run, Trial};
use super::metrics::Metrics;
use crate::journal::{History, LaunchRecord, Recording};
use crate::judge::spread::{self, Interval};
use crate::judge::walk::{Role as WalkRole, StepView, trial_id};
use crate::judge::{self, Judged, RunOutcome, Setup, Walk, checks, trial};
use crate::lang::sema::program::{Repeat, Require};
use crate::plan::{self, command, profile};

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
}

/// The report of a study as far as it has come.
pub fn build(m: &Material<'_>) -> Report {
    let study = m.setup.study;
    let launched = m.history.launches().iter().map(|l| l.config.clone()).collect();
    // as many as there may be: grown step by step, it would have room for half as many again
    let rows: usize = m.walk.steps.iter().map(|s| s.rows.len()).sum();
    let all = IndexMap::with_capacity((1 + rows) * m.setup.profiles().len());
    let mut trials = Trials { m, launched, names: HashSet::new(), all };
    let baseline = m.walk.baseline.as_ref();
    if let Some((config, judged)) = baseline {
        trials.add(config, &config.engine.title.as_str().into(), judged.as_ref());
    }
    let steps: Vec<Step> = m.walk.steps.iter().map(|s| step(m, s, &mut trials)).collect();
    let confirm = confirm(m, &mut trials);
    let recommended = recommended(m);
    let objective = study.objective.as_ref().map(|o| Objective {
        expr: o.text.clone(),
        direction: if o.maximize { Direction::Maximize } else { Direction::Minimize },
        profiles: o.profiles.clone(),
        unit: o.dim.base_unit(),
    });
    let trials: Vec<Trial> = trials.all.into_values().collect();
    Report {
        schema: SCHEMA.to_owned(),
        perflab: env!("CARGO_PKG_VERSION").to_owned(),
        study: study.name.clone(),
        title: study.title.clone(),
        file: m.file.to_owned(),
        set: m.setup.program.given.clone(),
        simulated: simulated(m),
        replay: m.recording.map(|(r, differences)| replay(r, differences)),
        complete: m.setup.replay || m.walk.needs.is_empty() && !lacks_results(m),
        checks: match m.setup.checks {
            judge::Checks::Refuse => Checks::Refuse,
            judge::Checks::Warn => Checks::Warn,
        },
        model: study.model.clone(),
        gpus: study.gpus.as_ref().map(|g| Gpus { count: g.count, of: g.of.clone() }),
        engines: engines(m),
        profiles: profiles(m),
        objective,
        tracks: tracks(m),
        require: study.require.iter().map(requirement).collect(),
        adopt: study.adopt,
        repeat: match study.repeat {
            Repeat::Auto => None,
            Repeat::Times(n) => Some(n),
        },
        noise: noise(m),
        baseline: baseline.map(|(c, _)| first_trial(m, c)).unwrap_or_default(),
        no_recommendation: no_recommendation(m, recommended.is_some()),
        notes: notes(m),
        warnings: warnings(m),
        not_checked: not_checked(m),
        launches: launches(m),
        cost: cost(m),
        steps,
        trials,
        confirm,
        recommended,
    }
}

/// "p99(ttft) <= 500ms on chat"
fn requirement(r: &Require) -> String {
    r.on.as_ref().map_or_else(|| r.text.clone(), |on| format!("{} on {on}", r.text))
}

/// The trials by id, in the order in which they are met.
struct Trials<'a> {
    m: &'a Material<'a>,
    /// configurations as launches have them
    launched: HashSet<Arc<str>>,
    names: HashSet<Arc<str>>,
    all: IndexMap<Arc<str>, Trial>,
}

impl Trials<'_> {
    /// Adds a configuration's trials on the steps' profiles; its id is that of the first.
    fn add(&mut self, config: &plan::Config, label: &Arc<str>, judged: Option<&Judged>) -> Arc<str> {
        let profiles = self.m.setup.profiles();
        let ids: Vec<Arc<str>> =
            profiles.iter().map(|name| self.add_one(config, label, name, judged)).collect();
        self.add_elsewhere(config, label);
        ids.into_iter().next().unwrap_or_else(|| first_trial(self.m, config).into())
    }

    /// Adds what a configuration was measured on for the sake of `require … on` alone.
    fn add_elsewhere(&mut self, config: &plan::Config, label: &Arc<str>) {
        let setup = self.m.setup;
        let baseline = self.m.walk.baseline.as_ref().map(|b| &b.0);
        for name in setup.elsewhere().filter(|p| !setup.counted(config, p).is_empty()) {
            let peers = trial::Peers { best: None, baseline, may_be_pruned: false };
            let judged = trial::judge(setup, config, &[name.to_owned()], peers);
            self.add_one(config, label, name, judged.as_ref());
        }
    }

    fn add_one(
        &mut self,
        config: &plan::Config,
        label: &Arc<str>,
        name: &str,
        judged: Option<&Judged>,
    ) -> Arc<str> {
        let id: Arc<str> = trial_id(self.m.setup, config, name).into();
        match self.all.get(&id) {
            Some(known) if known.outcome != Outcome::Missing && known.outcome != Outcome::Pruned => {
                known.id.clone()
            }
            _ => {
                let trial = self.trial(id.clone(), config, label, name, judged);
                self.all.insert(id.clone(), trial);
                id
            }
        }
    }

    /// A candidate that can have no configuration.
    fn add_impossible(&mut self, base: &plan::Config, step: &str, row: &judge::walk::Row) -> Arc<str> {
        let id: Arc<str> = plan::config::short_hash(&format!("{step}/{}/{}", row.label, base.id())).into();
        let profile = self.m.setup.profiles().into_iter().next().unwrap_or_default();
        let mut trial = self.trial(id.clone(), base, &row.label, &profile, Some(&row.judged));
        trial.command = String::new();
        trial.runs.clear();
        trial.metrics = Metrics::default();
        trial.findings.clear();
        trial.objective = None;
        self.all.insert(id.clone(), trial);
        id
    }

    fn trial(
        &mut self,
        id: Arc<str>,
        config: &plan::Config,
        label: &Arc<str>,
        name: &str,
        judged: Option<&Judged>,
    ) -> Trial {
        let setup = self.m.setup;
        let runs = setup.all(config, name);
        let command = command::to_copy(config);
        let (outcome, reason) = match judged {
            Some(j) => (outcome(j.outcome), j.reason.clone()),
            None => (Outcome::Missing, Some("not measured yet".into())),
        };
        let objective = setup.study.objective.as_ref().filter(|o| o.profiles.iter().any(|p| p == name));
        Trial {
            id,
            label: label.clone(),
            config: self.written(config),
            profile: self.name(name),
            load: setup.program.profiles.get(name).map(|p| profile::load_words(p)),
            command: shell_words_of(&command.argv, &command.env),
            outcome,
            reason,
            findings: findings(setup, config, name, judged).into_iter().map(finding).collect(),
            runs: runs
                .iter()
                .map(|r| Run {
                    n: r.n,
                    launch: (!r.launch.is_empty()).then(|| r.launch.clone()),
                    metrics: Metrics::of(&r.metrics),
                    log_tail: r.log_tail.clone(),
                })
                .collect(),
            metrics: Metrics::of(&judge::Metrics::mean(
                setup.counted(config, name).iter().map(|r| &r.metrics),
            )),
            objective: objective.and_then(|o| trial::objective_on(setup, config, o, name)),
        }
    }

    /// The name of a profile, once for all of its trials.
    fn name(&mut self, profile: &str) -> Arc<str> {
        if !self.names.contains(profile) {
            self.names.insert(profile.into());
        }
        self.names.get(profile).cloned().unwrap_or_default()
    }

    fn written(&self, config: &plan::Config) -> ConfigText {
        let text = serde_json::to_string(&document_config(config)).unwrap_or_default();
        ConfigText::written(self.launched.get(text.as_str()).cloned().unwrap_or_else(|| text.into()))
    }
}

/// What the checks found under one profile, and what the row found by comparison with its incumbent.
fn findings(
    setup: &Setup<'_>,
    config: &plan::Config,
    name: &str,
    judged: Option<&Judged>,
) -> Vec<checks::Finding> {
    let mut found = trial::findings(setup, config, name, None);
    let compared = judged.iter().flat_map(|j| &j.findings).filter(|f| f.check == checks::COMPARED);
    for finding in compared {
        if !found.iter().any(|f| f.check == finding.check) {
            found.push(finding.clone());
        }
    }
    // most are what was found already, and are kept once
    let known = |f: checks::Finding| {
        let judged = judged.iter().flat_map(|j| &j.findings);
        judged.into_iter().find(|known| **known == f).cloned().unwrap_or(f)
    };
    found.into_iter().map(known).collect()
}

/// A command as people paste it: variables first.
fn shell_words_of(argv: &[String], env: &[(String, String)]) -> String {
    let mut words: Vec<String> =
        env.iter().map(|(k, v)| format!("{k}={}", super::command::quote(v))).collect();
    words.extend(argv.iter().map(|w| super::command::quote(w)));
    words.join(" ")
}

fn finding(f: judge::Finding) -> Finding {
    let level = match f.level {
        judge::Level::Flag => Level::Flag,
        judge::Level::Refuse => Level::Refuse,
    };
    Finding { check: f.check.to_owned(), level, text: f.text }
}

fn outcome(o: judge::Outcome) -> Outcome {
    match o {
        judge::Outcome::Ok => Outcome::Ok,
        judge::Outcome::Flagged => Outcome::Flagged,
        judge::Outcome::Refused => Outcome::Refused,
        judge::Outcome::Failed => Outcome::Failed,
        judge::Outcome::Pruned => Outcome::Pruned,
        judge::Outcome::Missing => Outcome::Missing,
    }
}

fn document_config(config: &plan::Config) -> Config {
    let normal = config.shown();
    let flags = normal["flags"].as_array().into_iter().flatten();
    Config {
        engine: config.engine.root().to_owned(),
        version: config.engine.version.clone(),
        model: config.model.clone(),
        flags: flags
            .map(|f| Flag {
                name: f["name"].as_str().unwrap_or_default().to_owned(),
                value: f["value"].clone(),
            })
            .collect(),
        env: plan::command::env(config, None).into_iter().collect(),
        gpus: config.gpus(),
    }
}

fn first_trial(m: &Material<'_>, config: &plan::Config) -> String {
    let profile = m.setup.profiles().into_iter().next().unwrap_or_default();
    trial_id(m.setup, config, &profile)
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
        changes: view.changes(r),
        same_as: r.same_as.clone(),
        outcome: outcome(r.judged.outcome),
        reason: r.judged.reason.clone(),
        objective: r.judged.objective,
        // a row without a value has none to lie around
        spread: r.judged.objective.and_then(|_| spread::spread(&values)).map(|s| Spread {
            runs: s.runs as u32,
            min: s.min,
            max: s.max,
            stddev: s.stddev,
        }),
        gain: r.gain,
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
    Gain { value, low: interval.map(|i| i.low), high: interval.map(|i| i.high), by }
}

/// How far launches of one configuration lie apart, over all that ran more than once.
fn noise(m: &Material<'_>) -> Option<f64> {
    let rows = m.walk.steps.iter().flat_map(|s| &s.rows).filter_map(|r| r.config.as_ref());
    let configs = m.walk.baseline.iter().map(|b| &b.0).chain(rows);
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
            _ if same => Verdict::Same,
            (Some(g), _) if g < WORSE => Verdict::Worse,
            (_, Some(i)) if i.low > 0.0 => Verdict::Better,
            _ => Verdict::Unproven,
        };
        let sure = if same { None } else { view.interval };
        let gain = |value| match sure {
            _ if same => Gain { value, low: None, high: None, by: Proof::None },
            sure => gain(value, sure, if sure.is_some() { m.setup.repeat() } else { 1 }),
        };
        out.push(Confirm {
            profile: view.profile.clone(),
            baseline: trial_id(m.setup, baseline, &view.profile),
            recommended: trial_id(m.setup, &view.recommended, &view.profile),
            baseline_objective: view.baseline,
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
    let ratio = if o.maximize { ours / theirs } else { theirs / ours };
    let same = baseline.id() == winner.id();
    let gain = if same {
        Gain { value: 0.0, low: None, high: None, by: Proof::None }
    } else {
        gain_over(m, ratio - 1.0, winner, baseline)
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
        return Some(why.clone());
    }
    Some("the study is not complete; the same command continues it".to_owned())
}

fn simulated(m: &Material<'_>) -> bool {
    m.recording.is_none() && (measured(m).any(|c| c.engine.simulated()) || scripted_gpus(m))
}

/// The configurations of baseline and rows.
fn measured<'a>(m: &'a Material<'_>) -> impl Iterator<Item = &'a plan::Config> {
    let rows = m.walk.steps.iter().flat_map(|s| &s.rows).filter_map(|r| r.config.as_ref());
    m.walk.baseline.iter().map(|b| &b.0).chain(rows)
}

/// Whether any run was made on GPUs that a script plays, as tests do.
fn scripted_gpus(m: &Material<'_>) -> bool {
    let profiles = m.setup.profiles();
    let scripted = |c: &plan::Config| {
        let runs = profiles.iter().flat_map(|p| m.setup.counted(c, p));
        runs.filter_map(|r| r.devices.as_ref()).any(|d| d.scripted)
    };
    measured(m).any(scripted)
}

fn replay(r: &Recording, differences: &[String]) -> Replay {
    Replay {
        recording: r.recording.clone(),
        title: r.title.clone().unwrap_or_default(),
        hardware: r.hardware.clone().unwrap_or_default(),
        measured_with: r.measured_with.clone(),
        differences: differences.to_vec(),
    }
}

fn engines(m: &Material<'_>) -> Vec<Engine> {
    let mut out: Vec<Engine> = Vec::new();
    let rows = m.walk.steps.iter().flat_map(|s| &s.rows).filter_map(|r| r.config.as_ref());
    for config in m.walk.baseline.iter().map(|b| &b.0).chain(rows) {
        let e = &config.engine;
        if !out.iter().any(|o| o.name == e.name) {
            out.push(Engine {
                name: e.name.clone(),
                title: e.title.clone(),
                root: e.root().to_owned(),
                version: e.version.clone(),
            });
        }
    }
    out
}

fn profiles(m: &Material<'_>) -> Vec<Profile> {
    let mut names = m.setup.baseline_profiles();
    names.extend(m.setup.study.confirm.iter().filter(|p| !m.setup.baseline_profiles().contains(p)).cloned());
    let known = names.iter().filter_map(|n| m.setup.program.profiles.get(n));
    known
        .map(|p| Profile { name: p.name.clone(), title: p.title.clone(), load: profile::describe(p) })
        .collect()
}

fn notes(m: &Material<'_>) -> Vec<String> {
    let given = m.setup.program.given.iter();
    let mut out: Vec<String> = given.map(|(n, v)| format!("set on the command line: {n}={v}")).collect();
    out.extend(m.setup.study.notes.iter().cloned());
    if let Some(winner) = &m.walk.winner {
        let because: BTreeSet<&str> = winner.engine.publish.iter().map(|p| p.because.as_str()).collect();
        out.extend(
            because.into_iter().map(|b| format!("the published command differs from the measured one: {b}")),
        );
    }
    out
}

fn warnings(m: &Material<'_>) -> Vec<String> {
    let mut out = m.warnings.clone();
    out.extend(super::said::of_runs(m));
    out.extend(super::said::of_the_machine(m));
    out.extend(super::said::of_what_changed(m));
    // what a budget left out is named, one by one
    out.extend(m.setup.all_left_out().iter().map(|what| format!("left out: {what}")));
    if scripted_gpus(m) {
        out.push("the GPUs were played by a script: their figures are of no real GPU".to_owned());
    }
    out
}

/// Which checks could not be made on what there is, and of whose results, and which this version does not make. What failed has no
/// results to check.
fn not_checked(m: &Material<'_>) -> Vec<String> {
    let mut lacking: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut checked: BTreeSet<&str> = BTreeSet::new();
    let rows = m.walk.steps.iter().flat_map(|s| &s.rows);
    let candidates = rows.filter_map(|r| Some((r.config.as_ref()?, &*r.label)));
    for (config, label) in m.walk.baseline.iter().map(|b| (&b.0, "the baseline")).chain(candidates) {
        for name in m.setup.profiles() {
            let Some(profile) = m.setup.program.profiles.get(&name) else { continue };
            for run in m.setup.counted(config, &name) {
                let claims = m.setup.claims(&name);
                let subject = checks::Subject { run, profile, config, against: None, claims, caps: &[] };
                let failed =
                    matches!(run.outcome, RunOutcome::FailedLoad { .. } | RunOutcome::FailedStart { .. });
                if failed || run.metrics.number("completed").is_none() {
                    continue;
                }
                let without = checks::check(&subject).1;
                checked.extend(checks::CHECKS.iter().map(|c| c.name).filter(|c| !without.contains(c)));
                for check in without {
                    lacking.entry(check).or_default().insert(label);
                }
            }
        }
    }
    let about = checks::CHECKS.iter().filter_map(|c| Some((c, lacking.get(c.name)?)));
    let (some, none): (Vec<_>, Vec<_>) = about.partition(|(c, _)| checked.contains(c.name));
    let of_some = |(c, of): &(&checks::Check, &BTreeSet<&str>)| {
        format!("{}: {} ({}the results do not hold what it reads)", c.name, c.about, some_of(of))
    };
    let mut out: Vec<String> = some.iter().map(of_some).collect();
    if let [(c, _)] = none.as_slice() {
        out.push(format!("{}: {} (the results do not hold what it reads)", c.name, c.about));
    } else if !none.is_empty() {
        let all: Vec<String> = none.iter().map(|(c, _)| format!("{} ({})", c.name, c.about)).collect();
        out.push(format!("the results do not hold what these read: {}", all.join(", ")));
    }
    out.extend(checks::NOT_MADE.iter().map(|s| (*s).to_owned()));
    out
}

fn launches(m: &Material<'_>) -> Vec<Launch> {
    m.history
        .launches()
        .iter()
        .map(|l| {
            let t = l.times.unwrap_or_default();
            Launch {
                id: l.id.clone(),
                config: ConfigText::written(l.config.clone()),
                start_s: t.start_s,
                warmup_s: t.warmup_s,
                load_s: t.load_s,
                stop_s: t.stop_s,
                own_s: t.own_s,
                drain_s: t.drain_s,
                check: l.check,
            }
        })
        .collect()
}

/// `not of a, b, c and 4 more: `
fn some_of(labels: &BTreeSet<&str>) -> String {
    const NAMED: usize = 3;
    let named: Vec<&str> = labels.iter().take(NAMED).copied().collect();
    let more = labels.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("not of {}{more}: ", named.join(", "))
}

fn cost(m: &Material<'_>) -> Cost {
    let launches = m.history.launches();
    // the sum of no floats is -0.0, which nobody wants to read
    let engine_s = launches.iter().map(LaunchRecord::engine_s).fold(0.0, |a, b| a + b);
    let gpu_s = launches.iter().map(LaunchRecord::gpu_s).fold(0.0, |sum, s| sum + s);
    let wall_s = m.history.wall_s();
    let drain_s = launches.iter().filter_map(|l| l.times.map(|t| t.drain_s)).fold(0.0, |a, b| a + b);
    Cost {
        launches: launches.len() as u32,
        checks: launches.iter().filter(|l| l.check).count() as u32,
        trials: m.history.runs().len() as u32,
        wall_s,
        gpu_s,
        energy_j: energy_j(launches),
        usd: usd(m, launches),
        own_s: own_s(launches).unwrap_or((wall_s - engine_s - drain_s).max(0.0)),
        drain_s,
    }
}

/// perflab's own part of launches that ran side by side, as each counted it: their sum has little to do with the clock on the wall.
fn own_s(launches: &[LaunchRecord]) -> Option<f64> {
    let times = || launches.iter().filter_map(|l| l.times.as_ref());
    times().any(|t| t.wall_s.is_some()).then(|| times().map(|t| t.own_s).fold(0.0, |a, b| a + b))
}

/// What the GPUs drew in all launches whose GPUs tell; `None` if there is no such.
fn energy_j(launches: &[LaunchRecord]) -> Option<f64> {
    let each = launches.iter().filter_map(|l| l.times?.energy_j);
    each.reduce(|sum, joules| sum + joules)
}

/// What the GPU time cost, each launch at the price that its invocation knew; a site that came later speaks for those before it.
fn usd(m: &Material<'_>, launches: &[LaunchRecord]) -> Option<f64> {
    let stated = launches.iter().rev().find_map(|l| l.price_per_s);
    let site = m.setup.program.site.as_ref().and_then(|s| s.price_per_s).or(stated)?;
    let each = launches.iter().map(|l| l.gpu_s() * l.price_per_s.unwrap_or(site));
    Some(each.fold(0.0, |sum, usd| sum + usd))
}

fn tracks(m: &Material<'_>) -> Vec<Track> {
    let tracks = m.setup.study.tracks.iter();
    let title = |t: &crate::lang::sema::program::Track| m.setup.track_label(&t.engine).to_owned();
    tracks.map(|t| Track { name: t.engine.clone(), title: title(t), notes: t.notes.clone() }).collect()
}
