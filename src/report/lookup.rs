//! Finding trials by their id and configurations across profiles, once per rendering.

use std::collections::HashMap;

use super::document::{Report, Role, Row, Step, Track};
use super::evidence::{ConfigText, Trial};
use super::metrics::Distribution;

/// A report with its trials at hand.
#[derive(Debug)]
pub struct Lookup<'a> {
    pub report: &'a Report,
    trials: HashMap<&'a str, &'a Trial>,
    /// the trials of each configuration by profile, where there are several
    elsewhere: HashMap<(&'a ConfigText, &'a str), &'a Trial>,
}

impl<'a> Lookup<'a> {
    pub fn new(report: &'a Report) -> Self {
        let mut elsewhere = HashMap::new();
        for trial in report.trials.iter().filter(|_| report.profiles.len() > 1) {
            elsewhere.entry((&trial.config, &*trial.profile)).or_insert(trial);
        }
        Self { report, trials: report.trials.iter().map(|trial| (&*trial.id, trial)).collect(), elsewhere }
    }

    /// The trial of that id; none in a document that contradicts itself.
    pub fn trial(&self, id: &str) -> Option<&'a Trial> {
        self.trials.get(id).copied()
    }

    /// The trial's label, else its id.
    pub fn label(&self, id: &'a str) -> &'a str {
        self.trial(id).map_or(id, |trial| &*trial.label)
    }

    /// The label under which a step shows a trial, else the trial's own.
    pub fn label_in(&self, step: &'a Step, id: &'a str) -> &'a str {
        row(step, id).map_or_else(|| self.label(id), |row| &*row.label)
    }

    /// What a step's table calls the incumbent that it began with: a candidate may be the same trial under another name.
    pub fn label_before(&self, step: &'a Step) -> &'a str {
        let incumbent = step.rows.iter().find(|row| row.role == Role::Incumbent);
        incumbent.map_or_else(|| self.label_in(step, &step.incumbent_before), |row| &*row.label)
    }

    /// The trials of the same configuration on every profile of the objective, else of the study, the given one first.
    pub fn on_objective(&self, id: &str) -> Vec<&'a Trial> {
        let Some(first) = self.trial(id) else { return Vec::new() };
        let profiles: Vec<&str> = match &self.report.objective {
            Some(objective) => objective.profiles.iter().map(AsRef::as_ref).collect(),
            None => self.report.profiles.iter().map(|p| p.name.as_str()).collect(),
        };
        let others = profiles.into_iter().filter(|profile| **profile != *first.profile);
        let others = others.filter_map(|profile| self.same_config(first, profile));
        std::iter::once(first).chain(others).collect()
    }

    /// The profiles of an objective over several; none of another, whose value is that of its one profile.
    pub fn each_profile(&self) -> impl Iterator<Item = &'a str> {
        let all = self.report.objective.as_ref().map(|o| o.profiles.as_slice()).filter(|all| all.len() > 1);
        all.unwrap_or_default().iter().map(String::as_str)
    }

    /// A row's objective on each of these profiles.
    pub fn each_value(&self, row: &Row) -> impl Iterator<Item = Option<f64>> {
        let first = self.trial(&row.trial);
        self.each_profile().map(move |profile| {
            let first = first?;
            let trial =
                if *first.profile == *profile { Some(first) } else { self.same_config(first, profile) };
            trial.and_then(|trial| trial.objective)
        })
    }

    /// Whether there are tables for each of several loads: without an objective none of them stands for the others.
    pub fn compares_loads(&self) -> bool {
        self.report.objective.is_none() && self.report.profiles.len() > 1
    }

    /// The track that a step belongs to.
    pub fn track(&self, step: &Step) -> Option<&'a Track> {
        let name = step.track.as_ref()?;
        self.report.tracks.iter().find(|t| t.name == *name)
    }

    /// A step's title, with its track's: steps of several tracks may have the same.
    pub fn step_title(&self, step: &Step) -> String {
        self.track(step).map_or_else(|| step.title.clone(), |t| format!("{}: {}", t.title, step.title))
    }

    /// The title of a profile, else its name.
    pub fn profile_title(&self, name: &'a str) -> &'a str {
        self.report.profiles.iter().find(|p| p.name == name).map_or(name, |p| p.title.as_str())
    }

    /// The trial of the same configuration on another profile.
    pub fn same_config(&self, trial: &'a Trial, profile: &'a str) -> Option<&'a Trial> {
        self.elsewhere.get(&(&trial.config, profile)).copied()
    }
}

/// The candidate's row of that trial, else another row of it.
pub fn row<'a>(step: &'a Step, id: &str) -> Option<&'a Row> {
    let of_trial = || step.rows.iter().filter(|row| *row.trial == *id);
    of_trial().find(|row| row.role == Role::Candidate).or_else(|| of_trial().next())
}

/// The mean of a distribution.
pub fn mean(trial: &Trial, metric: &str) -> Option<f64> {
    trial.metrics.get_distribution(metric).and_then(|d: Distribution| d.mean)
}
