//! What the rules of a study say of a configuration before it is measured. The parts that `and` joins are put together by what they ask a
//! configuration for, and each such group is asked once for all configurations that answer alike: thousands of rules need not be held
//! against each of ten thousands of candidates one by one.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use super::config::Config;
use super::eval::{Before, condition};
use super::reach::{Asked, flag_key};
use crate::lang::sema::program::{Expr, Prune};
use crate::lang::sema::schema::key;
use crate::lang::syntax::ast::BinaryOp;

/// So few parts are asked sooner than they are looked up.
const FEW: usize = 8;
/// Answers that a group remembers; beyond them it begins anew.
const MOST_KEPT: usize = 4096;

/// Rules that are settled by a measurement, as their places among those of the study; shared by the candidates that they are the same for.
pub type OpenRules = Arc<[usize]>;

/// The rules of a study, and what was found of them already.
pub(super) struct Rulings<'a> {
    rules: &'a [Prune],
    groups: Vec<Group<'a>>,
    open: HashMap<Vec<u64>, OpenRules>,
}

/// Parts of rules that ask for the same.
struct Group<'a> {
    parts: Vec<(usize, &'a Expr)>,
    /// what a configuration answers with, by the name of its engine
    asked: HashMap<String, Asked>,
    said: HashMap<String, Said>,
}

/// Of each rule, a bit where it holds and one where it may.
#[derive(Clone)]
struct Said {
    holds: Vec<u64>,
    may: Vec<u64>,
}

impl<'a> Rulings<'a> {
    pub(super) fn new(rules: &'a [Prune]) -> Self {
        let mut groups: HashMap<BTreeSet<String>, Vec<(usize, &'a Expr)>> = HashMap::new();
        for (at, rule) in rules.iter().enumerate() {
            parts(&rule.when, &mut |part| groups.entry(names(part)).or_default().push((at, part)));
        }
        let group = |parts| Group { parts, asked: HashMap::new(), said: HashMap::new() };
        Self { rules, groups: groups.into_values().map(group).collect(), open: HashMap::new() }
    }

    /// The first rule that holds for a configuration, else those that are still open.
    pub(super) fn of(&mut self, config: &Config) -> Result<OpenRules, &'a Prune> {
        let mut all = Said::everything(self.rules.len());
        for group in &mut self.groups {
            group.ask(config, &mut all);
        }
        if let Some(first) = bits(&all.holds).next() {
            return Err(&self.rules[first]);
        }
        let open = self.open.get(&all.may).cloned().unwrap_or_else(|| {
            let open: OpenRules = bits(&all.may).collect();
            self.open.insert(all.may, open.clone());
            open
        });
        Ok(open)
    }
}

impl Group<'_> {
    /// Takes from what holds, and from what may, all that this group speaks against.
    fn ask(&mut self, config: &Config, all: &mut Said) {
        if self.parts.len() < FEW {
            return self.settle(config, all);
        }
        let answers = self.answers(config);
        if let Some(said) = self.said.get(&answers) {
            return all.and(said);
        }
        let mut said = Said { holds: vec![u64::MAX; all.holds.len()], may: vec![u64::MAX; all.may.len()] };
        self.settle(config, &mut said);
        all.and(&said);
        if self.said.len() >= MOST_KEPT {
            self.said.clear();
        }
        self.said.insert(answers, said);
    }

    fn settle(&self, config: &Config, all: &mut Said) {
        for (rule, part) in &self.parts {
            let truth = condition(part, &Before(config));
            if truth != Some(true) {
                clear(&mut all.holds, *rule);
            }
            if truth == Some(false) {
                clear(&mut all.may, *rule);
            }
        }
    }

    /// What a configuration has of that which is asked for.
    fn answers(&mut self, config: &Config) -> String {
        let engine = &config.engine;
        if !self.asked.contains_key(&engine.name) {
            let asked: Vec<&Expr> = self.parts.iter().map(|(_, part)| *part).collect();
            self.asked.insert(engine.name.clone(), Asked::of(&asked, false, engine));
        }
        let asked = &self.asked[&engine.name];
        let mut out = engine.name.clone();
        for held in config.held().iter().filter(|h| asked.flags.contains(&*flag_key(&h.key))) {
            // writing to a text does not fail
            let _ = write!(out, "\n{} {:?}", held.key, held.setting.value);
        }
        for variable in config.env().iter().filter(|v| asked.env.contains(&v.name)) {
            let _ = write!(out, "\n{}={:?}", variable.name, variable.value);
        }
        if asked.model {
            let _ = write!(out, "\n{:?}", config.model);
        }
        out
    }
}

impl Said {
    /// Nothing speaks against any rule yet.
    fn everything(rules: usize) -> Self {
        let mut all = vec![u64::MAX; rules.div_ceil(64)];
        if let Some(last) = all.last_mut().filter(|_| !rules.is_multiple_of(64)) {
            *last = (1 << (rules % 64)) - 1;
        }
        Self { holds: all.clone(), may: all }
    }

    fn and(&mut self, other: &Self) {
        let both = |own: &mut [u64], other: &[u64]| own.iter_mut().zip(other).for_each(|(a, b)| *a &= b);
        both(&mut self.holds, &other.holds);
        both(&mut self.may, &other.may);
    }
}

fn clear(all: &mut [u64], at: usize) {
    all[at / 64] &= !(1 << (at % 64));
}

/// The places of the bits that are set, in order.
fn bits(all: &[u64]) -> impl Iterator<Item = usize> + '_ {
    let word = |(at, word): (usize, &u64)| {
        let first = |w: u64| (w != 0).then(|| (w.trailing_zeros() as usize, w & (w - 1)));
        let places = std::iter::successors(first(*word), move |(_, rest)| first(*rest));
        places.map(move |(bit, _)| at * 64 + bit)
    };
    all.iter().enumerate().flat_map(word)
}

/// The parts of a condition that `and` joins.
fn parts<'e>(e: &'e Expr, each: &mut dyn FnMut(&'e Expr)) {
    match e {
        Expr::Binary { op: BinaryOp::And, left, right } => {
            parts(left, each);
            parts(right, each);
        }
        other => each(other),
    }
}

/// What a condition asks a configuration for, whichever its engine.
fn names(e: &Expr) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    e.walk(&mut |e| {
        names.extend(match e {
            Expr::Flag(name) | Expr::Given(name) => Some(key(name)),
            Expr::Env(name) => Some(format!("env {name}")),
            Expr::Model => Some("model".to_owned()),
            Expr::Gpus { .. } => Some("gpus".to_owned()),
            _ => None,
        });
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::analyze;
    use crate::lang::source::NoFiles;
    use crate::plan::Prepared;

    /// A study over two axes under these rules.
    fn study(rules: &[String]) -> String {
        format!(
            "use std/engines {{ sim }}\nengine here = sim {{\n version \"1\"\n --max-num-seqs=8\n}}\n\
             profile load {{\n data random\n input 8\n output 8\n rate 1/s\n duration 10s\n}}\n\
             axis seqs = --max-num-seqs=[1, 2, 3, 4]\naxis batched = --max-num-batched-tokens=[64, 65, 66]\n{}\n\
             study s {{\n model \"m\"\n baseline here\n maximize total_tps on load\n step a {{ vary seqs * batched }}\n}}\n",
            rules.join("\n")
        )
    }

    #[test]
    fn groups_say_what_each_rule_says_alone() {
        let rule = |i: usize| {
            let (seqs, batched) = (1 + i % 5, 60 + i % 9);
            let when = match i % 4 {
                0 => format!(
                    "--max-num-seqs == {seqs} and --max-num-batched-tokens < {batched} and gain < -20%"
                ),
                1 => format!("not (--max-num-seqs > {seqs}) and total_tps < {batched}tok/s"),
                2 => format!("p90(ttft) > {batched}s or --max-num-seqs == {seqs} and gpus > 1"),
                _ => format!("--max-num-seqs == {seqs} and --max-num-batched-tokens == {batched}"),
            };
            format!("prune r{i} \"no {i}\" when {when}")
        };
        for count in [0, 1, 5, 64, 65, 200] {
            let text = study(&(0..count).map(rule).collect::<Vec<_>>());
            let analysis = analyze(&NoFiles, "test.plab", &text);
            assert!(!analysis.has_errors(), "{:?}", analysis.diagnostics);
            let study = &analysis.program.studies[0];
            let mut prepared = Prepared::new(&analysis.program, study);
            let base = prepared.declared("here").unwrap().clone();
            let mut rulings = Rulings::new(&study.prune);
            for i in 0..study.steps[0].space.len() {
                let config = base.with(&study.steps[0].space.candidate(i), &mut prepared).unwrap();
                let said = |rule: &Prune| condition(&rule.when, &Before(&config));
                let open = || (0..count).filter(|r| said(&study.prune[*r]).is_none()).collect::<Vec<_>>();
                let alone = study
                    .prune
                    .iter()
                    .find(|r| said(r) == Some(true))
                    .map_or_else(|| Ok(open()), |r| Err(&r.name));
                let found = rulings.of(&config).map(|open| open.to_vec()).map_err(|r| &r.name);
                assert_eq!(found, alone, "{count} rules, candidate {i}");
            }
        }
    }
}
