//! The budgets of a study in its plan: what each allows, what was spent of it, and whether all that is still to come may fit.

use serde::Serialize;

use super::build::Material;
use crate::judge::budget::{Spending, spent_on};
use crate::judge::{Setup, Walk, forecast};
use crate::lang::sema::program::Budget;

/// What launches cost so far, and by what others are priced.
pub struct Account<'a> {
    pub spent: &'a [Spending],
    /// whether launches hold the GPUs that they need
    pub holds_gpus: bool,
    /// US dollars a second of one GPU
    pub price_per_s: Option<f64>,
}

/// One budget. Amounts are in its unit.
#[derive(Debug, Serialize)]
pub struct Limit {
    /// `study`, or the track or step that it stands in
    pub of: String,
    /// `seconds`, `gpu_seconds`, `usd` or `trials`
    pub unit: &'static str,
    pub allows: f64,
    pub spent: f64,
    /// what is still to come takes, at most; `None` where nothing is known to predict from
    pub to_come: Option<f64>,
    /// whether all of that fits
    pub fits: Option<bool>,
    #[serde(skip)]
    budget: Budget,
    /// what was assumed for want of knowing it
    #[serde(skip)]
    assumed: Option<String>,
}

/// What launches that are still to come take, at most.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ahead {
    pub wall_s: Option<f64>,
    pub gpu_s: Option<f64>,
    pub trials: usize,
}

/// Launches, GPUs times launches, and configurations that a step still needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needs {
    pub launches: usize,
    pub gpu_launches: f64,
    pub trials: usize,
}

impl Account<'_> {
    fn limit(&self, of: String, budget: Budget, spent: f64, ahead: Ahead) -> Limit {
        let gpu_s = ahead.gpu_s.map(|s| if self.holds_gpus { s } else { 0.0 });
        let (unit, to_come) = match budget {
            Budget::Seconds(_) => ("seconds", ahead.wall_s),
            Budget::GpuSeconds(_) => ("gpu_seconds", gpu_s),
            Budget::Usd(_) => ("usd", gpu_s.zip(self.price_per_s).map(|(s, price)| s * price)),
            Budget::Trials(_) => ("trials", Some(ahead.trials as f64)),
        };
        let fits = to_come.map(|n| spent + n <= budget.amount() + 1e-9);
        Limit { of, unit, allows: budget.amount(), spent, to_come, fits, budget, assumed: None }
    }
}

/// Every budget of a study, in the order in which they are written.
pub(super) fn limits(m: &Material<'_>, whole: Ahead) -> Vec<Limit> {
    let (Some(account), study) = (m.account(), m.setup.study) else { return Vec::new() };
    let spent = |budget, of: &dyn Fn(usize) -> bool| spent_on(m.walk, account.spent, budget, of);
    let mut out = Vec::new();
    if let Some(budget) = study.budget {
        let all = crate::judge::budget::spent(account.spent, budget);
        out.push(account.limit("study".to_owned(), budget, all, whole));
    }
    let ahead = |of: &dyn Fn(usize) -> bool| of_steps(m.setup, m.walk, m, of);
    for track in &study.tracks {
        let mine = |i: usize| study.steps[i].track.as_deref() == Some(&track.engine);
        let name = format!("track {}", track.engine);
        out.extend(track.budget.map(|b| account.limit(name, b, spent(b, &mine), ahead(&mine))));
    }
    for (i, step) in study.steps.iter().enumerate() {
        let mine = |other: usize| other == i;
        let name = format!("step {}", step.name);
        out.extend(step.budget.map(|b| account.limit(name, b, spent(b, &mine), ahead(&mine))));
    }
    // how many trials there are hangs on no guess
    for limit in out.iter_mut().filter(|l| l.unit != "trials") {
        limit.assumed = m.costs().note().map(str::to_owned);
    }
    out
}

/// What the launches of some steps take.
fn of_steps(setup: &Setup<'_>, walk: &Walk, m: &Material<'_>, of: &dyn Fn(usize) -> bool) -> Ahead {
    let views = walk.steps.iter().zip(m.needs()).filter(|(view, _)| of(view.step));
    let mut sum = Needs::default();
    for (_, needs) in views {
        sum.launches += needs.launches;
        sum.gpu_launches += needs.gpu_launches;
        sum.trials += needs.trials;
    }
    let baseline = walk.baseline.as_ref().map(|(config, _)| config);
    let one = baseline.and_then(|b| forecast::of_launch(setup, m.costs(), b, &setup.profiles()));
    Ahead {
        wall_s: one.map(|s| s * sum.launches as f64),
        gpu_s: one.map(|s| s * sum.gpu_launches),
        trials: sum.trials,
    }
}

impl Limit {
    /// "6h; about 8.5h to come at most: not all of it fits"
    pub fn sentence(&self) -> String {
        let amount = |n: f64| self.budget.with(n);
        let of = if self.of == "study" { String::new() } else { format!("{}: ", self.of) };
        let spent = if self.spent > 0.0 { format!(", {} spent", amount(self.spent)) } else { String::new() };
        let about = if self.unit == "trials" { "" } else { "about " };
        let to_come = |n: f64| {
            let assumed = self.assumed.as_ref().map_or_else(String::new, |what| format!(" ({what})"));
            format!("{about}{} to come at most{assumed}", amount(n))
        };
        let rest = match (self.to_come, self.fits) {
            (Some(n), Some(true)) => format!("{}, which fits", to_come(n)),
            (Some(n), _) => format!("{}: what does not fit will be missing", to_come(n)),
            (None, _) => "what is to come is not predicted".to_owned(),
        };
        format!("{of}{}{spent}; {rest}", self.budget)
    }
}
