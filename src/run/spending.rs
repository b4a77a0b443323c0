//! What launches cost so far and what the others may: which of them no budget has room for, and how long the study still takes.

use super::coordinator::Running;
use super::execution::Execution;
use super::sides::Sides;
use crate::journal::{History, LaunchRecord};
use crate::judge::budget::{Purse, Spending};
use crate::judge::forecast::{Costs, forecast, held_by_launch};
use crate::judge::{Setup, Walk, Wanted};

/// Launches that no budget has room for beside those that run, and why. All that are known are asked at once.
pub fn refused(
    x: &Execution<'_>,
    setup: &Setup<'_>,
    walk: &Walk,
    wanted: &[Wanted],
    running: &[Running],
) -> Vec<(Wanted, String)> {
    let of_parts =
        x.study.steps.iter().any(|s| s.budget.is_some()) || x.study.tracks.iter().any(|t| t.budget.is_some());
    if x.budget.is_none() && !of_parts {
        return Vec::new();
    }
    let costs = x.journal.history().costs(x.guess.clone());
    let mut spent = spendings(x);
    spent.extend(running.iter().map(|r| pledged(x, setup, &costs, r)));
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
    recorded(&x.journal.history(), x.site.price_per_s)
}

/// What launches took that a journal holds. `price_per_s` is for those that were made without one, in US dollars a second of a GPU.
pub fn recorded(history: &History, price_per_s: Option<f64>) -> Vec<Spending> {
    let of = |l: &LaunchRecord| {
        let gpu_s = l.gpu_s();
        let price = l.price_per_s.or(price_per_s).unwrap_or(0.0);
        let times = l.times.unwrap_or_default();
        let seconds = times.wall_s.unwrap_or(l.engine_s() + l.drain_s() + times.own_s);
        Spending { config_id: l.config_id.to_string(), seconds, gpu_s, usd: gpu_s * price }
    };
    history.launches().iter().map(of).collect()
}

/// What a launch that runs will have taken: its GPUs' time as predicted; of the study's own time nothing, as it passes anyway.
fn pledged(x: &Execution<'_>, setup: &Setup<'_>, costs: &Costs, running: &Running) -> Spending {
    let held_s = held_by_launch(setup, costs, &running.config, &running.profiles).unwrap_or(0.0);
    let gpu_s = held_s * f64::from(x.host.held(running.config.gpus()));
    let usd = gpu_s * x.site.price_per_s.unwrap_or(0.0);
    Spending { config_id: running.config.id().to_owned(), seconds: 0.0, gpu_s, usd }
}

/// Predicted until the study ends.
pub fn left_s(x: &Execution<'_>, setup: &Setup<'_>, walk: &Walk, sides: &Sides) -> Option<f64> {
    let costs = x.journal.history().costs(x.guess.clone());
    let all = forecast(setup, walk, &costs)?;
    Some(all.seconds * all.share_of_wall(walk, |size| sides.room(x, size)))
}
