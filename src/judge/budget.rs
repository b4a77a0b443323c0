//! Budgets: whether a launch still fits, from what was spent and what it is predicted to take; and the configurations that were left
//! out because one did not. Pure: spendings and predictions arrive from outside.

use std::collections::{HashMap, HashSet};

use super::forecast::{self, Costs};
use super::setup::Setup;
use super::walk::{Need, Role, Walk};
use crate::lang::sema::program::Budget;

/// What one launch took.
#[derive(Debug, Clone, PartialEq)]
pub struct Spending {
    pub config_id: String,
    /// from its beginning to its end, perflab's own part included
    pub seconds: f64,
    /// seconds times GPUs held
    pub gpu_s: f64,
    pub usd: f64,
}

/// What a launch that is wanted would take.
struct Asked<'a> {
    config_id: &'a str,
    seconds: Option<f64>,
    gpu_s: Option<f64>,
    usd: Option<f64>,
}

/// Everything that settles whether a launch fits.
pub struct Purse<'a> {
    pub spent: &'a [Spending],
    pub costs: &'a Costs,
    /// of the whole study: the command line's, else the file's
    pub budget: Option<Budget>,
    /// whether launches hold the GPUs that they need
    pub holds_gpus: bool,
    /// US dollars a second of one GPU
    pub price_per_s: Option<f64>,
}

/// Configurations that no budget had room for, with the reason; confirming launches apart.
#[derive(Debug, Clone, Default)]
pub struct LeftOut {
    configs: HashMap<(String, bool), String>,
    /// what was left out, in words, in order
    named: Vec<String>,
}

impl LeftOut {
    pub fn add(&mut self, need: &Need, step: Option<&str>, why: &str) {
        let key = (need.config.id().to_owned(), need.confirming);
        if self.configs.insert(key, format!("left out: {why}")).is_none() {
            let step = step.map(|s| format!(" ({s})")).unwrap_or_default();
            self.named.push(format!("{}{step}: {why}", need.label));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.configs.is_empty()
    }

    /// Why a configuration is not launched in a step any more.
    pub fn why(&self, config_id: &str) -> Option<&str> {
        self.get(config_id, false)
    }

    pub fn confirms_not(&self, config_id: &str) -> bool {
        self.get(config_id, true).is_some()
    }

    fn get(&self, config_id: &str, confirming: bool) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        self.configs.get(&(config_id.to_owned(), confirming)).map(String::as_str)
    }

    pub fn named(&self) -> &[String] {
        &self.named
    }
}

impl Purse<'_> {
    /// Why a launch does not fit into the budgets that it counts in; `None` where it does, or where nothing is known of what it takes.
    pub fn refuses(&self, setup: &Setup<'_>, walk: &Walk, need: &Need) -> Option<String> {
        let asked = self.asked(setup, need);
        if let Some(budget) = self.budget {
            let all: Vec<&Spending> = self.spent.iter().collect();
            let reserve = if need.confirming { None } else { self.reserve_s(setup, walk) };
            let refused = self.over("the study's", budget, &all, &asked, reserve.unwrap_or_default(), walk);
            if refused.is_some() {
                return refused;
            }
        }
        let step = need.step.and_then(|i| setup.study.steps.get(i)).filter(|_| !need.confirming)?;
        let own = |of: &dyn Fn(usize) -> bool| -> Vec<&Spending> {
            let ids = configs_of(walk, of);
            self.spent.iter().filter(|s| ids.contains(s.config_id.as_str())).collect()
        };
        if let Some(budget) = step.budget {
            let spent = own(&|i| Some(i) == need.step);
            let refused =
                self.over(&format!("step `{}`'s", step.name), budget, &spent, &asked, (0.0, 0.0), walk);
            if refused.is_some() {
                return refused;
            }
        }
        let track = step.track.as_ref()?;
        let declared = setup.study.tracks.iter().position(|t| t.engine == *track)?;
        let in_track = |name: &str| {
            let steps = &setup.study.steps;
            own(&|i| steps.get(i).and_then(|s| s.track.as_deref()) == Some(name))
        };
        let spent = in_track(track);
        if let Some(budget) = setup.study.tracks[declared].budget {
            let refused = self.over(&format!("track `{track}`'s"), budget, &spent, &asked, (0.0, 0.0), walk);
            if refused.is_some() {
                return refused;
            }
        }
        // tracks that are still to come have an equal share of what is left
        let share = self.share(setup, walk, declared, &spent)?;
        self.over(&format!("track `{track}`'s share of the study's"), share, &spent, &asked, (0.0, 0.0), walk)
    }

    fn share(&self, setup: &Setup<'_>, walk: &Walk, track: usize, own: &[&Spending]) -> Option<Budget> {
        let budget = self.budget?;
        let left = setup.study.tracks.len() - track;
        let all: Vec<&Spending> = self.spent.iter().collect();
        let elsewhere = amount(budget, &all) - amount(budget, own);
        let reserve = self.price(budget, self.reserve_s(setup, walk).unwrap_or_default(), walk);
        Some(budget.with((budget.amount() - elsewhere - reserve).max(0.0) / left.max(1) as f64))
    }

    /// Seconds that are set aside for the launches that confirm, and those of them in which GPUs are held.
    fn reserve_s(&self, setup: &Setup<'_>, walk: &Walk) -> Option<(f64, f64)> {
        forecast::confirming_s(setup, self.costs, &walk.baseline.as_ref()?.0)
    }

    fn asked<'n>(&self, setup: &Setup<'_>, need: &'n Need) -> Asked<'n> {
        let seconds = forecast::of_launch(setup, self.costs, &need.config, &need.profiles);
        let held = if self.holds_gpus { f64::from(need.config.gpus()) } else { 0.0 };
        let held_s = forecast::held_by_launch(setup, self.costs, &need.config, &need.profiles);
        let gpu_s = held_s.map(|s| s * held);
        let usd = gpu_s.zip(self.price_per_s).map(|(s, price)| s * price);
        Asked { config_id: need.config.id(), seconds, gpu_s, usd }
    }

    /// Seconds of the baseline, and those in which it holds GPUs, in a budget's own unit.
    fn price(&self, budget: Budget, (seconds, held_s): (f64, f64), walk: &Walk) -> f64 {
        let needed = walk.baseline.as_ref().map_or(1, |(c, _)| c.gpus());
        let gpu_s = if self.holds_gpus { held_s * f64::from(needed) } else { 0.0 };
        match budget {
            Budget::Seconds(_) => seconds,
            Budget::GpuSeconds(_) => gpu_s,
            Budget::Usd(_) => gpu_s * self.price_per_s.unwrap_or(0.0),
            // what is confirmed was tried before
            Budget::Trials(_) => 0.0,
        }
    }

    fn over(
        &self,
        whose: &str,
        budget: Budget,
        spent: &[&Spending],
        asked: &Asked<'_>,
        reserve_s: (f64, f64),
        walk: &Walk,
    ) -> Option<String> {
        let already = amount(budget, spent);
        let more = match budget {
            Budget::Seconds(_) => asked.seconds?,
            Budget::GpuSeconds(_) => asked.gpu_s?,
            Budget::Usd(_) => asked.usd?,
            Budget::Trials(_) => f64::from(u8::from(!spent.iter().any(|s| s.config_id == asked.config_id))),
        };
        let reserve = self.price(budget, reserve_s, walk);
        if already + more + reserve <= budget.amount() + 1e-9 {
            return None;
        }
        let aside = if reserve > 0.0 {
            format!(", {} set aside to confirm", budget.with(reserve))
        } else {
            String::new()
        };
        // trials are counted, and not predicted
        let about = if matches!(budget, Budget::Trials(_)) { "" } else { "about " };
        Some(format!(
            "{whose} budget of {budget} has no room for it ({} spent{aside}; it takes {about}{})",
            budget.with(already),
            budget.with(more)
        ))
    }
}

fn amount(budget: Budget, spent: &[&Spending]) -> f64 {
    // the sum of nothing is -0.0, which is printed so
    let sum = |of: fn(&Spending) -> f64| spent.iter().map(|s| of(s)).sum::<f64>() + 0.0;
    match budget {
        Budget::Seconds(_) => sum(|s| s.seconds),
        Budget::GpuSeconds(_) => sum(|s| s.gpu_s),
        Budget::Usd(_) => sum(|s| s.usd),
        Budget::Trials(_) => spent.iter().map(|s| s.config_id.as_str()).collect::<HashSet<_>>().len() as f64,
    }
}

/// What launches took of a budget, in its unit.
pub fn spent(spent: &[Spending], budget: Budget) -> f64 {
    amount(budget, &spent.iter().collect::<Vec<_>>())
}

/// What the launches of some steps' own configurations took of a budget, in its unit.
pub fn spent_on(walk: &Walk, spent: &[Spending], budget: Budget, of: &dyn Fn(usize) -> bool) -> f64 {
    let ids = configs_of(walk, of);
    let own: Vec<&Spending> = spent.iter().filter(|s| ids.contains(s.config_id.as_str())).collect();
    amount(budget, &own)
}

/// Configurations that steps try, those that stood in an earlier one apart.
fn configs_of<'w>(walk: &'w Walk, of: &dyn Fn(usize) -> bool) -> HashSet<&'w str> {
    let steps = walk.steps.iter().filter(|s| of(s.step));
    let rows = steps.flat_map(|s| &s.rows);
    let own = rows.filter(|r| r.role != Role::Incumbent && r.same_as.is_none());
    own.filter_map(|r| r.config.as_ref().map(crate::plan::Config::id)).collect()
}
