//! What each launch that is to come will take. Of a configuration that was measured that is what it took; of others it follows from those
//! that were: from how somebody (the simulator) says that they compare, where that has held so far, else from their mean. A candidate that
//! will fail as others did costs what those did.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use super::forecast::{Costs, Mean, Own, engine_name};
use super::walk::Walk;
use crate::plan::Config;

/// A study as far as it was measured.
pub struct Foresight<'a> {
    costs: &'a Costs,
    /// configurations that were launched
    known: Vec<(&'a Config, &'a Own)>,
    blamed: OnceCell<HashSet<Setting>>,
    /// by the profile's settings
    profiles: RefCell<HashMap<String, Learned>>,
}

type Setting = (String, Option<String>);

/// What was learned of a load.
#[derive(Clone, Copy)]
struct Learned {
    /// over configurations, each once
    mean: Option<f64>,
    /// measured over foreseen, where what is foreseen says more than the mean does
    scale: Option<f64>,
}

impl<'a> Foresight<'a> {
    pub fn of(walk: &'a Walk, costs: &'a Costs) -> Self {
        let rows = walk.steps.iter().flat_map(|s| &s.rows).filter_map(|r| r.config.as_ref());
        let all = walk.baseline.iter().map(|(config, _)| config).chain(rows);
        let mut known: HashMap<&str, (&Config, &Own)> = HashMap::new();
        for config in all {
            if let Some(own) = costs.of.get(config.id()) {
                known.entry(config.id()).or_insert((config, own));
            }
        }
        let known = known.into_values().collect();
        Self { costs, known, blamed: OnceCell::new(), profiles: RefCell::default() }
    }

    /// How long a launch has its GPUs.
    pub fn held_s<'p>(&self, config: &Config, profiles: impl Iterator<Item = &'p str>) -> f64 {
        let profiles: Vec<&str> = profiles.collect();
        let own = self.costs.of.get(config.id());
        if let Some(own) = own.filter(|own| own.loads.is_empty()) {
            return own.failed.get().unwrap_or(0.0);
        }
        let start = self.costs.start_s(&engine_name(config));
        if own.is_none() && self.will_fail(config) {
            return self.costs.failed.get().unwrap_or(start);
        }
        let load = |p: &&str| {
            let measured = own.and_then(|own| own.loads.get(*p)).copied().and_then(Mean::get);
            measured.unwrap_or_else(|| self.load_s(config, p))
        };
        start + profiles.iter().map(load).sum::<f64>()
    }

    fn load_s(&self, config: &Config, profile: &str) -> f64 {
        let learned = self.learned(profile);
        // the last thing that is asked: to foresee a load takes long
        let foreseen = |scale: f64| Some(scale * self.costs.guess.each.as_ref()?.load_s(config, profile)?);
        let unknown = || learned.mean.unwrap_or_else(|| self.costs.load_s(profile));
        learned.scale.and_then(foreseen).unwrap_or_else(unknown)
    }

    fn learned(&self, profile: &str) -> Learned {
        if let Some(learned) = self.profiles.borrow().get(profile) {
            return *learned;
        }
        let took = |own: &Own| own.loads.get(profile).copied().and_then(Mean::get);
        let measured: Vec<(&Config, f64)> =
            self.known.iter().filter_map(|(c, own)| Some((*c, took(own)?))).collect();
        let sum: f64 = measured.iter().map(|(_, s)| s).sum();
        let mean = (!measured.is_empty()).then(|| sum / measured.len() as f64);
        let learned = Learned { mean, scale: mean.and_then(|mean| self.scale(profile, &measured, mean)) };
        self.profiles.borrow_mut().insert(profile.to_owned(), learned);
        learned
    }

    /// `None` where the mean of what was measured is nearer to each than what was foreseen.
    fn scale(&self, profile: &str, measured: &[(&Config, f64)], mean: f64) -> Option<f64> {
        let each = self.costs.guess.each.as_ref()?;
        let mut pairs = Vec::new();
        for (config, took) in measured {
            pairs.push((*took, each.load_s(config, profile)?));
        }
        let (took, foreseen) = pairs.iter().fold((0.0, 0.0), |(a, b), (t, f)| (a + t, b + f));
        let scale = took / foreseen;
        let off = |of: &dyn Fn(f64) -> f64| pairs.iter().map(|(t, f)| (t - of(*f)).abs()).sum::<f64>();
        let better = off(&|f| scale * f) <= off(&|_| mean) + 1e-9;
        (scale.is_finite() && scale > 0.0 && better).then_some(scale)
    }

    /// Whether a configuration that was never launched will come to no load.
    fn will_fail(&self, config: &Config) -> bool {
        let blamed = self.blamed();
        if !blamed.is_empty() && settings(config).any(|s| blamed.contains(&s)) {
            return true;
        }
        let Some(each) = &self.costs.guess.each else { return false };
        // who foresees failures where there are none is not believed
        each.fails(config) && !self.known.iter().any(|(c, own)| !own.loads.is_empty() && each.fails(c))
    }

    /// Settings that failures come down to: of all that one which failed has, the only one that nobody ran with.
    fn blamed(&self) -> &HashSet<Setting> {
        self.blamed.get_or_init(|| {
            let failed = |own: &Own| own.loads.is_empty();
            let ran = self.known.iter().filter(|(_, own)| !failed(own));
            let ran: HashSet<Setting> = ran.flat_map(|(config, _)| settings(config)).collect();
            let only = |config: &Config| {
                let mut suspects = settings(config).filter(|s| !ran.contains(s));
                suspects.next().filter(|_| suspects.next().is_none())
            };
            self.known.iter().filter(|(_, own)| failed(own)).filter_map(|(config, _)| only(config)).collect()
        })
    }
}

fn settings(config: &Config) -> impl Iterator<Item = Setting> {
    config.flags().map(|s| (s.canonical.clone(), s.shown.clone()))
}
