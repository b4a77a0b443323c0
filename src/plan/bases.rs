//! What a step's candidates may come to stand on while earlier steps are not decided: what excludes a candidate over the base as it is
//! now need not exclude it over the base that there will be.

use super::candidate::{Candidate, Ruling, ruling_of};
use super::config::Config;
use super::eval::{Before, condition};
use super::prepared::Prepared;
use super::reach::{Offered, Reach, named};
use super::refused::{refusal, refused, touched};
use crate::lang::Program;
use crate::lang::sema::program::{Expr, Point, Refuses, Step, Study};

/// Bases that are looked at for one step. Of what would need more, nothing is certain.
const MOST_LOOKED_AT: usize = 20_000;

/// Why something is excluded.
#[derive(Debug, Clone)]
pub struct Excluded {
    /// the one thing that does it, whatever is excluded: a rule by its name, or what an engine refuses
    pub by: Option<String>,
    /// in words
    pub why: String,
}

/// The bases that a step may have.
pub struct Bases<'a> {
    prepared: Prepared<'a>,
    reaches: Vec<Reach<'a>>,
    /// what engines refuse counts too, which are many more bases to tell apart
    refusals: bool,
    budget: usize,
}

impl<'a> Bases<'a> {
    /// Of a step whose base is this one now, and on which some steps before it may still decide.
    pub fn new(
        program: &'a Program,
        study: &'a Study,
        now: &Config,
        open: &[&'a Step],
        refusals: bool,
    ) -> Self {
        let offered = Offered::by(study, open.iter().copied());
        // also those that name metrics: one may be settled by what else it names
        let rules: Vec<&Expr> = study.prune.iter().map(|r| &r.when).collect();
        let others =
            named(program, [], open.iter().copied()).into_iter().map(|e| Config::declared(&e, study));
        let reaches = std::iter::once(now.clone()).chain(others);
        let over = |base: Config| {
            // what an earlier step sets may be what an engine does not refuse
            let engine = [base.engine.clone()];
            let refused = if refusals { touched(study, &engine) } else { Vec::new() };
            let rules: Vec<&Expr> = rules.iter().copied().chain(refused.iter().map(|r| &r.when)).collect();
            Reach::over(base, &offered, &rules, true)
        };
        let reaches = reaches.map(over).collect();
        Self { prepared: Prepared::new(program, study), reaches, refusals, budget: MOST_LOOKED_AT }
    }

    /// The same with another bound on what may be looked at.
    #[must_use]
    pub fn within(self, budget: usize) -> Self {
        Self { budget, ..self }
    }

    /// How much may still be looked at.
    pub fn left(&self) -> usize {
        self.budget
    }

    /// Whether a step's candidate is excluded over each of them.
    pub fn exclude(&mut self, step: &'a Step, index: usize) -> bool {
        self.rulings(&step.space.candidate(index), &mut |_, _| ())
    }

    /// Why points are excluded over each of them, if a rule or the study's GPUs have a part in it. What no engine has is told of elsewhere.
    pub fn excluded(&mut self, points: &[&'a Point]) -> Option<Excluded> {
        let mut why = None;
        let all = self.rulings(points, &mut |made, ruling| {
            if let (Ok(config), Ruling::Pruned { reason, rule }) = (&made.config, ruling) {
                let refusal = refusal(config, Refuses::Surely).map(|r| refused(r, &config.engine));
                why.get_or_insert(match rule {
                    Some(rule) => {
                        let why = format!("the rule `{rule}` excludes it: {reason}");
                        Excluded { by: Some(rule), why }
                    }
                    // which has its engine for a subject
                    None if refusal.as_ref() == Some(&reason) => Excluded { by: refusal, why: reason },
                    None => Excluded { by: None, why: format!("it {reason}") },
                });
            }
        });
        why.filter(|_| all)
    }

    /// Whether points are excluded over each of them; `heard` is told of each ruling.
    fn rulings(&mut self, points: &[&'a Point], heard: &mut dyn FnMut(&Candidate, Ruling)) -> bool {
        let Self { prepared, reaches, refusals, budget } = self;
        let mut excluded = |base: &Config| {
            let made = Candidate { label: String::new(), config: base.with(points, prepared) };
            let ruling = ruling_of(&made, prepared, *refusals);
            let pruned = matches!(ruling, Ruling::Pruned { .. });
            heard(&made, ruling);
            pruned
        };
        reaches.iter().all(|r| r.all(budget, &mut excluded) == Some(true))
    }
}

/// Whether a guard holds for no incumbent that there may be: it is this one now, and some steps may still decide on it.
pub fn never_holds(program: &Program, study: &Study, guard: &Expr, now: &Config, open: &[&Step]) -> bool {
    let offered = Offered::by(study, open.iter().copied());
    // what needs more GPUs than the study has is never the incumbent
    let gpus = study.gpus.as_ref().map_or(u32::MAX, |g| g.count);
    let mut cannot = |c: &Config| c.gpus() > gpus || condition(guard, &Before(c)) == Some(false);
    let others = named(program, [], open.iter().copied()).into_iter().map(|e| Config::declared(&e, study));
    let mut budget = MOST_LOOKED_AT;
    std::iter::once(now.clone())
        .chain(others)
        .all(|base| Reach::over(base, &offered, &[guard], true).all(&mut budget, &mut cannot) == Some(true))
}
