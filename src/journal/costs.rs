//! What launches took so far, for predictions: start and stop with the wait for clean GPUs, perflab's own part, and each load's share of the rest.

use std::collections::HashMap;

use super::history::History;
use crate::judge::forecast::{Costs, Guess};

impl History {
    /// What all launches took whose end was seen, beside what is guessed of the others. A rehearsal with the simulated engine says nothing
    /// of how long real ones take, nor they of it.
    pub fn costs(&self, guess: Guess) -> Costs {
        let costs_of = guess.simulated;
        let mut costs = Costs::guessed(guess);
        let mut loads: HashMap<&str, Vec<(&str, f64)>> = HashMap::new();
        for r in self.runs() {
            let seconds = r.run.metrics.number("duration_s").unwrap_or(0.0);
            loads.entry(&r.run.launch).or_default().push((&r.profile_id, seconds));
        }
        let is_alike = |simulated: bool| costs_of.is_none_or(|of| of == simulated);
        for launch in self.launches().iter().filter(|l| is_alike(l.simulated)) {
            let Some(times) = &launch.times else { continue };
            let own = loads.get(&*launch.id).map_or(&[][..], Vec::as_slice);
            let sum: f64 = own.iter().map(|(_, s)| s).sum();
            let loaded = times.warmup_s + times.load_s;
            // warm-up and repeated loads are shared out by what each load took; a launch that failed taught nothing of loads
            let share = if sum > 0.0 { loaded / sum } else { 0.0 };
            let shares = own.iter().filter(|_| sum > 0.0).map(|(p, s)| (*p, s * share));
            let around_s = times.start_s + times.stop_s + times.drain_s;
            // what failed under a load took that too
            let around_s = if sum > 0.0 { around_s } else { around_s + loaded };
            costs.add((&launch.engine, &launch.config_id), around_s, times.own_s, shares);
        }
        costs
    }
}
