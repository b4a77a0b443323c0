//! Everything that a decision follows from, and the questions that every part of the judge asks of it.

use std::collections::HashMap;

use super::checks::Claims;
use super::results::{Results, Run};
use super::scale;
use crate::lang::Program;
use crate::lang::sema::Stat;
use crate::lang::sema::program::{Expr, Repeat, Study};
use crate::plan::{Config, profile};

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
    /// the identities of the program's profiles, asked for with every candidate
    loads: HashMap<String, String>,
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
        Self { program, study, results, checks, replay, loads }
    }

    /// The identity of a profile, under which its results are kept.
    pub fn load(&self, profile: &str) -> &str {
        self.loads.get(profile).map_or("", String::as_str)
    }

    /// Runs that a step reads: the first of each configuration, as many as `repeat` says.
    pub fn counted(&self, config: &Config, profile: &str) -> &[Run] {
        let all = self.all(config, profile);
        &all[..all.len().min(self.repeat())]
    }

    /// All runs, those of confirming launches included.
    pub fn all(&self, config: &Config, profile: &str) -> &[Run] {
        self.results.of(config.id(), self.load(profile))
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

    /// What rules, requirements and the objective read.
    pub fn claims(&self) -> Claims {
        let rules = self.study.prune.iter().map(|p| &p.when);
        let requirements = self.study.require.iter().map(|r| &r.expr);
        let objective = self.study.objective.iter().map(|o| &o.expr);
        let mut claims = Claims::default();
        for e in rules.chain(requirements).chain(objective) {
            e.walk(&mut |e| {
                let Expr::Metric { name, stat, .. } = e else { return };
                claims.p99 |= matches!(stat, Some(Stat::P99 | Stat::P999));
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
