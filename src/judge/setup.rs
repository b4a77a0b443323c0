//! Everything that a decision follows from, and the questions that every part of the judge asks of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::budget::LeftOut;
use super::checks::Claims;
use super::results::{Results, Run};
use super::scale;
use crate::lang::Program;
use crate::lang::sema::program::{Engine, Expr, Repeat, Study};
use crate::plan::limits::{far_out_needs, most_in_flight};
use crate::plan::{Config, named_engines, profile};

/// What the validity checks do with a result that breaks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    Refuse,
    Warn,
}

/// Everything that a decision follows from.
pub struct Setup<'a> {
    pub program: &'a Program,
    pub study: &'a Study,
    pub results: &'a Results,
    pub checks: Checks,
    /// what is not in the results is missing for good
    pub replay: bool,
    /// what no budget had room for: it counts with what there is of it
    left_out: Option<&'a LeftOut>,
    /// the identities of the program's profiles, asked for with every candidate
    loads: HashMap<String, String>,
    /// engines of the study that have the title of another
    namesakes: HashSet<String>,
}

impl<'a> Setup<'a> {
    pub fn new(
        program: &'a Program,
        study: &'a Study,
        results: &'a Results,
        checks: Checks,
        replay: bool,
    ) -> Self {
        let loads = program.profiles.iter().map(|(name, p)| (name.clone(), profile::id(p))).collect();
        let engines = named_engines(program, study);
        let alike = |a: &Arc<Engine>, b: &Arc<Engine>| a.title == b.title && a.name != b.name;
        let namesake = |e: &&Arc<Engine>| engines.iter().any(|o| alike(e, o));
        let namesakes = engines.iter().filter(namesake).map(|e| e.name.clone()).collect();
        Self { program, study, results, checks, replay, left_out: None, loads, namesakes }
    }

    /// What an engine is called: its title, or where another of the study has the same, its name.
    pub fn engine_label<'e>(&self, engine: &'e Engine) -> &'e str {
        if self.namesakes.contains(&engine.name) { &engine.name } else { &engine.title }
    }

    /// What a track is called, in the same way.
    pub fn track_label<'n>(&'n self, engine: &'n str) -> &'n str {
        let tracks = &self.study.tracks;
        let Some(own) = tracks.iter().find(|t| t.engine == engine) else { return engine };
        let namesake = tracks.iter().any(|t| t.title == own.title && t.engine != own.engine);
        if namesake { engine } else { &own.title }
    }

    /// How many requests clients keep in flight at most, on each of the profiles that a result of one of them is judged with; `None`
    /// where nothing bounds them.
    pub fn caps(&self, profile: &str) -> Vec<(String, Option<u32>)> {
        let mut names = self.profiles();
        if !names.iter().any(|n| n == profile) {
            names = vec![profile.to_owned()];
        }
        let cap = |name: &String| self.program.profiles.get(name).and_then(|p| most_in_flight(p));
        names.into_iter().map(|name| (name.clone(), cap(&name))).collect()
    }

    /// The same without configurations that are not to be launched any more.
    #[must_use]
    pub fn leaving(self, left_out: &'a LeftOut) -> Self {
        Self { left_out: Some(left_out), ..self }
    }

    /// Why a configuration is not to be launched in a step any more.
    pub fn left_out(&self, config: &Config) -> Option<&'a str> {
        self.left_out?.why(config.id())
    }

    /// Whether a configuration is not to be launched to confirm.
    pub fn confirms_not(&self, config: &Config) -> bool {
        self.left_out.is_some_and(|l| l.confirms_not(config.id()))
    }

    /// What was left out, in words.
    pub fn all_left_out(&self) -> &'a [String] {
        self.left_out.map_or(&[], LeftOut::named)
    }

    /// The identity of a profile, under which its results are kept.
    pub fn load(&self, profile: &str) -> &str {
        self.loads.get(profile).map_or("", String::as_str)
    }

    /// Runs that count: the first ones, as many as `repeat` says. On a profile that only `confirm on` names they are those of the
    /// confirming launches.
    pub fn counted(&self, config: &Config, profile: &str) -> &[Arc<Run>] {
        if !self.in_steps(profile) {
            return self.confirming(config, profile);
        }
        self.first(self.results.of(config.id(), self.load(profile)))
    }

    /// Runs of confirming launches, as many as `repeat` says. A recording does not say what a run was made for: there they are those
    /// that the steps left.
    pub fn confirming(&self, config: &Config, profile: &str) -> &[Arc<Run>] {
        let (config, key) = (config.id(), self.load(profile));
        if !self.replay {
            return self.first(self.results.confirming(config, key));
        }
        let all = self.results.of(config, key);
        self.first(&all[if self.in_steps(profile) { all.len().min(self.repeat()) } else { 0 }..])
    }

    /// Every run of a configuration under a profile, the steps' before the confirming ones.
    pub fn all(&self, config: &Config, profile: &str) -> Vec<&Run> {
        let (config, key) = (config.id(), self.load(profile));
        self.results
            .of(config, key)
            .iter()
            .chain(self.results.confirming(config, key))
            .map(|r| &**r)
            .collect()
    }

    fn first<'r>(&self, runs: &'r [Arc<Run>]) -> &'r [Arc<Run>] {
        &runs[..runs.len().min(self.repeat())]
    }

    /// Whether runs of the profile are the steps' own, not only `confirm`'s.
    fn in_steps(&self, profile: &str) -> bool {
        let measured = self.study.objective.as_ref().map_or(&self.study.confirm, |o| &o.profiles);
        measured.iter().any(|p| p == profile) || self.elsewhere().any(|p| p == profile)
    }

    /// The profiles of `require … on` that are not the objective's: measured for the baseline and for each offer.
    pub fn elsewhere(&self) -> impl Iterator<Item = &str> {
        let measured = self.study.objective.as_ref().map_or(&self.study.confirm, |o| &o.profiles);
        let named = self.study.require.iter().filter_map(|r| r.on.as_deref());
        let mut seen: Vec<&str> = Vec::new();
        named.filter(move |p| {
            let new = !measured.iter().any(|m| m == p) && !seen.contains(p);
            seen.push(*p);
            new
        })
    }

    /// The place of a rule among those of the study.
    pub fn rule(&self, name: &str) -> Option<usize> {
        self.study.prune.iter().position(|p| p.name == name)
    }

    /// What the baseline is measured on: the steps' profiles, and those of requirements on others.
    pub fn baseline_profiles(&self) -> Vec<String> {
        self.profiles().into_iter().chain(self.elsewhere().map(str::to_owned)).collect()
    }

    /// A profile's place among all loads of the study: the n-th launch of every configuration sends the same requests, whichever of its
    /// loads are still missing.
    pub fn place(&self, profile: &str) -> usize {
        self.loads().iter().position(|p| p == profile).unwrap_or(0)
    }

    /// The profiles of all loads of the study, each in its place.
    pub fn loads(&self) -> Vec<String> {
        self.baseline_profiles().into_iter().chain(self.study.confirm.iter().cloned()).collect()
    }

    pub fn repeat(&self) -> usize {
        match self.study.repeat {
            Repeat::Auto => 1,
            Repeat::Times(n) => n as usize,
        }
    }

    /// The profiles that steps measure: the objective's; without an objective, those of `confirm on`.
    pub fn profiles(&self) -> Vec<String> {
        match &self.study.objective {
            Some(o) => o.profiles.clone(),
            None => self.study.confirm.clone(),
        }
    }

    pub fn baseline(&self) -> Option<Config> {
        self.program.engines.get(&self.study.baseline).map(|e| Config::declared(e, self.study))
    }

    /// What rules, requirements and the objective read of a profile.
    pub fn claims(&self, profile: &str) -> Claims {
        let elsewhere = self.elsewhere().any(|p| p == profile);
        let rules = self.study.prune.iter().map(|p| &p.when).filter(|_| !elsewhere);
        let about = |on: Option<&str>| on.map_or(!elsewhere, |on| on == profile);
        let requirements = self.study.require.iter().filter(|r| about(r.on.as_deref())).map(|r| &r.expr);
        let objective = self.study.objective.iter().map(|o| &o.expr).filter(|_| !elsewhere);
        let mut claims = Claims::default();
        for e in rules.chain(requirements).chain(objective) {
            e.walk(&mut |e| {
                let Expr::Metric { name, stat, .. } = e else { return };
                let read = [claims.far_out, *stat].into_iter().flatten();
                let far_out = read.filter(|stat| far_out_needs(*stat).is_some());
                claims.far_out = far_out.max_by_key(|stat| far_out_needs(*stat));
                claims.gaps |= matches!(name.as_str(), "itl" | "tpot");
            });
        }
        claims
    }

    /// How much better a candidate's objective is than the incumbent's, where both are known.
    pub fn gain(&self, candidate: Option<f64>, incumbent: Option<f64>) -> Option<f64> {
        let o = self.study.objective.as_ref()?;
        Some(scale::gain(o.maximize, candidate?, incumbent?))
    }
}
