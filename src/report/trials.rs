//! The trials of the report document: each configuration under each of its loads, with its runs and what became of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::build::Material;
use super::evidence::{Config, ConfigText, Finding, Flag, Level, Outcome, Run, Trial};
use super::metrics::Metrics;
use crate::judge::walk::trial_id;
use crate::judge::{self, Judged, Setup, checks, trial};
use crate::plan::{self, command, profile};

/// The trials in the order in which they are met, each once. A list: a map of ten thousand would be there twice when it becomes one.
pub(super) struct Trials<'a> {
    pub m: &'a Material<'a>,
    /// configurations as launches have them
    pub launched: HashSet<Arc<str>>,
    /// what many trials say, each once
    pub texts: HashSet<Arc<str>>,
    /// where each stands, by its id
    pub places: HashMap<Arc<str>, usize>,
    pub all: Vec<Trial>,
}

impl Trials<'_> {
    /// Adds a configuration's trials on the steps' profiles; its id is that of the first.
    pub fn add(&mut self, config: &plan::Config, label: &Arc<str>, judged: Option<&Judged>) -> Arc<str> {
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

    pub fn add_one(
        &mut self,
        config: &plan::Config,
        label: &Arc<str>,
        name: &str,
        judged: Option<&Judged>,
    ) -> Arc<str> {
        let id: Arc<str> = trial_id(self.m.setup, config, name).into();
        match self.places.get(&id).and_then(|at| self.all.get(*at)) {
            Some(known) if known.outcome != Outcome::Missing && known.outcome != Outcome::Pruned => {
                known.id.clone()
            }
            _ => {
                let trial = self.trial(id.clone(), config, label, name, judged);
                self.put(trial);
                id
            }
        }
    }

    /// All of them; what they were found by is given back.
    pub fn into_all(self) -> Vec<Trial> {
        self.all
    }

    /// Puts a trial in the place of what was said of it before, if anything was.
    fn put(&mut self, trial: Trial) {
        let known = self.places.get(&trial.id).and_then(|at| self.all.get_mut(*at));
        if let Some(known) = known {
            *known = trial;
        } else {
            self.places.insert(trial.id.clone(), self.all.len());
            self.all.push(trial);
        }
    }

    /// A candidate that can have no configuration.
    pub fn add_impossible(&mut self, base: &plan::Config, step: &str, row: &judge::walk::Row) -> Arc<str> {
        let id: Arc<str> = plan::config::short_hash(&format!("{step}/{}/{}", row.label, base.id())).into();
        let profile = self.m.setup.profiles().into_iter().next().unwrap_or_default();
        let mut trial = self.trial(id.clone(), base, &row.label, &profile, Some(&row.judged));
        trial.command = String::new();
        trial.runs.clear();
        trial.metrics = Metrics::default();
        trial.findings.clear();
        trial.objective = None;
        self.put(trial);
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
        let load = setup.program.profiles.get(name).map(|p| profile::load_words(p));
        let (outcome, reason) = match judged {
            Some(j) => (outcome(j.outcome), j.reason.clone()),
            None => (Outcome::Missing, Some("not measured yet".into())),
        };
        let objective = setup.study.objective.as_ref().filter(|o| o.profiles.iter().any(|p| p == name));
        Trial {
            id,
            label: label.clone(),
            config: self.written(config),
            profile: self.once(name),
            load: load.map(|words| self.once(&words)),
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

    /// A text that many trials have, once for all of them.
    pub fn once(&mut self, text: &str) -> Arc<str> {
        if !self.texts.contains(text) {
            self.texts.insert(text.into());
        }
        self.texts.get(text).cloned().unwrap_or_default()
    }

    fn written(&self, config: &plan::Config) -> ConfigText {
        let text = serde_json::to_string(&document_config(config)).unwrap_or_default();
        ConfigText::written(self.launched.get(text.as_str()).cloned().unwrap_or_else(|| text.into()))
    }
}

/// What the checks found under one profile, and what the row found by comparison with its incumbent.
pub(super) fn findings(
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
pub(super) fn shell_words_of(argv: &[String], env: &[(String, String)]) -> String {
    let mut words: Vec<String> =
        env.iter().map(|(k, v)| format!("{k}={}", super::command::quote(v))).collect();
    words.extend(argv.iter().map(|w| super::command::quote(w)));
    words.join(" ")
}

pub(super) fn finding(f: judge::Finding) -> Finding {
    let level = match f.level {
        judge::Level::Flag => Level::Flag,
        judge::Level::Refuse => Level::Refuse,
    };
    Finding { check: f.check.into(), level, text: f.text }
}

pub(super) fn outcome(o: judge::Outcome) -> Outcome {
    match o {
        judge::Outcome::Ok => Outcome::Ok,
        judge::Outcome::Flagged => Outcome::Flagged,
        judge::Outcome::Refused => Outcome::Refused,
        judge::Outcome::Failed => Outcome::Failed,
        judge::Outcome::Pruned => Outcome::Pruned,
        judge::Outcome::Missing => Outcome::Missing,
    }
}

pub(super) fn document_config(config: &plan::Config) -> Config {
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

pub(super) fn first_trial(m: &Material<'_>, config: &plan::Config) -> String {
    let profile = m.setup.profiles().into_iter().next().unwrap_or_default();
    trial_id(m.setup, config, &profile)
}
