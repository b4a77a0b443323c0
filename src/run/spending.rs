//! What launches cost so far and what the others may: which of them no budget has room for, and how long the study still takes.

use super::coordinator::Execution;
use crate::journal::LaunchRecord;
use crate::judge::budget::{Purse, Spending};
use crate::judge::forecast::forecast;
use crate::judge::{Setup, Walk, Wanted};

/// Launches that no budget has room for, and why. All that are known are asked at once: what does not fit now never will.
pub fn refused(
    x: &Execution<'_>,
    setup: &Setup<'_>,
    walk: &Walk,
    wanted: &[Wanted],
) -> Vec<(Wanted, String)> {
    let of_parts =
        x.study.steps.iter().any(|s| s.budget.is_some()) || x.study.tracks.iter().any(|t| t.budget.is_some());
    if x.budget.is_none() && !of_parts {
        return Vec::new();
    }
    let (spent, costs) = (spendings(x), x.journal.history().costs(x.guess.clone()));
    let purse = Purse {
        spent: &spent,
        costs: &costs,
        budget: x.budget,
        holds_gpus: x.host.held(1) > 0,
        price_per_s: x.site.price_per_s,
    };
    let over = wanted.iter().filter_map(|need| Some((need.clone(), purse.refuses(setup, walk, need)?)));
    over.collect()
}

/// What the launches of all invocations took.
fn spendings(x: &Execution<'_>) -> Vec<Spending> {
    let launches = x.journal.history().launches().iter();
    let of = |l: &LaunchRecord| {
        let gpu_s = l.gpu_s();
        let price = l.price_per_s.or(x.site.price_per_s).unwrap_or(0.0);
        let seconds = l.engine_s() + l.times.unwrap_or_default().own_s;
        Spending { config_id: l.config_id.clone(), seconds, gpu_s, usd: gpu_s * price }
    };
    launches.map(of).collect()
}

/// Predicted until the study ends.
pub fn left_s(x: &Execution<'_>, setup: &Setup<'_>, walk: &Walk) -> Option<f64> {
    let costs = x.journal.history().costs(x.guess.clone());
    Some(forecast(setup, walk, &costs)?.seconds)
}
