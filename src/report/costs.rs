//! The launches of the report document, and what they cost.

use std::collections::HashSet;

use super::build::Material;
use super::evidence::{ConfigText, Cost, Launch};
use crate::journal::LaunchRecord;

pub(super) fn launches(m: &Material<'_>) -> Vec<Launch> {
    m.history
        .launches()
        .iter()
        .map(|l| {
            let t = l.times.unwrap_or_default();
            Launch {
                id: l.id.clone(),
                config: ConfigText::written(l.config.clone()),
                start_s: t.start_s,
                warmup_s: t.warmup_s,
                load_s: t.load_s,
                stop_s: t.stop_s,
                own_s: t.own_s,
                drain_s: t.drain_s,
                check: l.check,
            }
        })
        .collect()
}

pub(super) fn cost(m: &Material<'_>) -> Cost {
    let launches = m.history.launches();
    // the sum of no floats is -0.0, which nobody wants to read
    let gpu_s = launches.iter().map(LaunchRecord::gpu_s).fold(0.0, |sum, s| sum + s);
    let wall_s = m.history.wall_s();
    let runs = m.history.runs();
    let trials: HashSet<_> = runs.iter().map(|r| (&r.config_id, &r.profile_id)).collect();
    let drain_s = launches.iter().filter_map(|l| l.times.map(|t| t.drain_s)).fold(0.0, |a, b| a + b);
    Cost {
        launches: launches.len() as u32,
        checks: launches.iter().filter(|l| l.check).count() as u32,
        trials: trials.len() as u32,
        runs: runs.len() as u32,
        wall_s,
        gpu_s,
        energy_j: energy_j(launches),
        usd: usd(m, launches),
        own_s: own_s(launches),
        drain_s,
    }
}

/// perflab's own part, as each launch counted it. What else the clock on the wall says is not its own: pauses before a launch is made
/// again, launches side by side, and what a killed invocation left undone.
fn own_s(launches: &[LaunchRecord]) -> f64 {
    launches.iter().filter_map(|l| l.times.as_ref()).map(|t| t.own_s).fold(0.0, |a, b| a + b)
}

/// What the GPUs drew in all launches whose GPUs tell; `None` if there is no such.
pub(super) fn energy_j(launches: &[LaunchRecord]) -> Option<f64> {
    let each = launches.iter().filter_map(|l| l.times?.energy_j);
    each.reduce(|sum, joules| sum + joules)
}

/// What the GPU time cost, each launch at the price that its invocation knew; a site that came later speaks for those before it.
pub(super) fn usd(m: &Material<'_>, launches: &[LaunchRecord]) -> Option<f64> {
    let stated = launches.iter().rev().find_map(|l| l.price_per_s);
    let site = m.setup.program.site.as_ref().and_then(|s| s.price_per_s).or(stated)?;
    let each = launches.iter().map(|l| l.gpu_s() * l.price_per_s.unwrap_or(site));
    Some(each.fold(0.0, |sum, usd| sum + usd))
}
