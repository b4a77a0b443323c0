//! What launches that are still to come will take: from those that were made, else from a guess that somebody else makes (the
//! simulator's). Pure, so that a budget is settled in a test as it is in a study.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use super::foresight::Foresight;
use super::setup::Setup;
use super::trial::Outcome;
use super::walk::{Role, Walk};
use crate::plan::Config;

/// Whoever foresees how configurations compare (the simulator).
pub trait Foresee: Debug + Send + Sync {
    /// Whether its engine does not start; asked of every configuration of a plan, so it has to be cheap.
    fn fails(&self, config: &Config) -> bool;

    /// Seconds of warm-up and load, of a profile by its settings; `None` where nothing is known, or the engine does not start.
    fn load_s(&self, config: &Config, profile: &str) -> Option<f64>;
}

/// What somebody guesses before anything was measured: seconds.
#[derive(Debug, Clone, Default)]
pub struct Guess {
    /// from the start of an engine until it is ready
    pub start_s: f64,
    /// warm-up and load, by the profile's settings
    pub load_s: HashMap<String, f64>,
    /// what was assumed for want of knowing it, or why nothing could be guessed, as half a sentence
    pub note: Option<String>,
    /// whether what is to come is simulated, as what was measured otherwise says nothing of it; none where everything counts
    pub simulated: Option<bool>,
    /// how configurations compare; what they take is learned from those that were measured
    pub each: Option<Arc<dyn Foresee>>,
}

/// What launches cost so far, and what is guessed of the others. Seconds.
#[derive(Debug, Clone, Default)]
pub struct Costs {
    /// start, stop and the wait for clean GPUs of each launch, by engine
    starts: HashMap<String, Mean>,
    start: Mean,
    /// perflab's own part of each, in which no GPU is held
    own: Mean,
    /// warm-up and load together, by the profile's settings
    loads: HashMap<String, Mean>,
    /// the same by configuration
    pub(super) of: HashMap<String, Own>,
    /// start and end of launches that came to no load
    pub(super) failed: Mean,
    pub(super) guess: Guess,
    launches: usize,
}

/// What launches of one configuration took.
#[derive(Debug, Clone, Default)]
pub(super) struct Own {
    /// of those that came to no load
    pub failed: Mean,
    /// by the profile's settings
    pub loads: HashMap<String, Mean>,
}

/// Where a prediction comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Journal,
    Simulator,
}

impl By {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Simulator => "simulator",
        }
    }
}

/// What is still to come, at most: steps may prune, and guards may leave out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Forecast {
    pub launches: usize,
    pub seconds: f64,
    /// seconds times GPUs needed
    pub gpu_s: f64,
}

impl Forecast {
    /// The part of the launches' seconds that passes on a clock where `room` says how many of so many GPUs each run at a time: those of
    /// one step and one round of repeats, and each round as long as its longest.
    pub fn share_of_wall(&self, walk: &Walk, room: impl Fn(u32) -> usize) -> f64 {
        let mut fronts: HashMap<(Option<usize>, bool, usize, u32), usize> = HashMap::new();
        for need in &walk.needs {
            for round in need.done..need.done + need.missing {
                *fronts.entry((need.step, need.confirming, round, need.config.gpus())).or_default() += 1;
            }
        }
        let launches: usize = fronts.values().sum();
        let turns: usize = fronts.iter().map(|((.., size), n)| n.div_ceil(room(*size).max(1))).sum();
        // those that are not known yet, offers and confirming ones, run one after another
        let later = self.launches.saturating_sub(launches);
        if self.launches == 0 { 1.0 } else { (turns + later) as f64 / (launches + later) as f64 }
    }
}

/// Whether an A/A check of neighbours saves more than it takes: launches of `baseline` with `room` beside it, turn by turn, against all
/// that is to come one after another. True while nothing is known of what launches take.
pub fn check_pays(
    setup: &Setup<'_>,
    walk: &Walk,
    costs: &Costs,
    baseline: &Config,
    room: impl Fn(u32) -> usize,
) -> bool {
    let Some(all) = forecast(setup, walk, costs) else { return true };
    let Some(one) = of_launch(setup, costs, baseline, &setup.profiles()) else { return true };
    let check = one * super::neighbours::TURNS as f64;
    check + all.seconds * all.share_of_wall(walk, room) < all.seconds
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Costs {
    pub fn guessed(guess: Guess) -> Self {
        Self { guess, ..Self::default() }
    }

    /// A launch that is over: of which engine and configuration (its id); start, stop and the wait for clean GPUs together; perflab's own
    /// part; and what each of its loads took. One without loads failed: it says nothing of how long others start.
    pub fn add<'p>(
        &mut self,
        (engine, config): (&str, &str),
        around_s: f64,
        own_s: f64,
        loads: impl Iterator<Item = (&'p str, f64)>,
    ) {
        self.launches += 1;
        self.own.add(own_s);
        let of = self.of.entry(config.to_owned()).or_default();
        let mut came_on = false;
        for (profile, seconds) in loads {
            came_on = true;
            self.loads.entry(profile.to_owned()).or_default().add(seconds);
            of.loads.entry(profile.to_owned()).or_default().add(seconds);
        }
        if came_on {
            self.starts.entry(engine.to_owned()).or_default().add(around_s);
            self.start.add(around_s);
        } else {
            of.failed.add(around_s);
            self.failed.add(around_s);
        }
    }

    /// How many launches it was learned from.
    pub fn launches(&self) -> usize {
        self.launches
    }

    pub fn by(&self) -> Option<By> {
        if self.launches > 0 {
            return Some(By::Journal);
        }
        (!self.guess.load_s.is_empty()).then_some(By::Simulator)
    }

    /// What a prediction that is no measurement assumes; of what cannot be predicted, why.
    pub fn note(&self) -> Option<&str> {
        self.guess.note.as_deref().filter(|_| self.by() != Some(By::Journal))
    }

    /// What a launch of an engine (named as it was added) takes, by its profiles' settings; `None` while nothing is known.
    pub fn launch_s<'p>(&self, engine: &str, profiles: impl Iterator<Item = &'p str>) -> Option<f64> {
        Some(self.held_s(engine, profiles)? + self.own.get().unwrap_or(0.0))
    }

    /// How long such a launch has its GPUs.
    pub fn held_s<'p>(&self, engine: &str, profiles: impl Iterator<Item = &'p str>) -> Option<f64> {
        self.by()?;
        Some(self.start_s(engine) + profiles.map(|p| self.load_s(p)).sum::<f64>())
    }

    /// Start, stop and the wait for clean GPUs of a launch that comes to its loads.
    pub(super) fn start_s(&self, engine: &str) -> f64 {
        let known = self.starts.get(engine).copied().and_then(Mean::get);
        known.or_else(|| self.start.get()).unwrap_or(self.guess.start_s)
    }

    /// perflab's own part of a launch.
    pub(super) fn own_s(&self) -> f64 {
        self.own.get().unwrap_or(0.0)
    }

    pub(super) fn load_s(&self, profile: &str) -> f64 {
        if let Some(seconds) = self.loads.get(profile).copied().and_then(Mean::get) {
            return seconds;
        }
        if let Some(guess) = self.guess.load_s.get(profile) {
            // the guess says how loads compare, the launches how long they take
            return guess * self.scale().unwrap_or(1.0);
        }
        let all: Vec<f64> = self.loads.values().filter_map(|m| m.get()).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }

    /// Measured over guessed, of the profiles for which both are known.
    fn scale(&self) -> Option<f64> {
        let both = self.loads.iter().filter_map(|(p, m)| Some((m.get()?, *self.guess.load_s.get(p)?)));
        let (measured, guessed) = both.fold((0.0, 0.0), |(a, b), (m, g)| (a + m, b + g));
        (guessed > 0.0 && measured > 0.0).then(|| measured / guessed)
    }
}

/// The name under which launches of a configuration's engine are added up.
pub fn engine_name(config: &Config) -> String {
    let version = config.engine.version.as_deref().unwrap_or_default();
    format!("{} {version}", config.engine.root())
}

/// Everything that a study still needs; `None` while nothing is known of what launches take.
pub fn forecast(setup: &Setup<'_>, walk: &Walk, costs: &Costs) -> Option<Forecast> {
    costs.by()?;
    let mut out = Forecast::default();
    let foresight = Foresight::of(walk, costs);
    let mut add = |config: &Config, profiles: &[String], times: usize| {
        let held_s = foresight.held_s(config, profiles.iter().map(|p| setup.load(p))) * times as f64;
        out.launches += times;
        out.seconds += held_s + costs.own_s() * times as f64;
        out.gpu_s += held_s * f64::from(config.gpus());
    };
    for need in &walk.needs {
        add(&need.config, &need.profiles, need.missing);
    }
    if !walk.needs.is_empty() && !walk.needs.iter().any(|n| n.confirming) {
        let (baseline, _) = walk.baseline.as_ref()?;
        // the winner so far stands for the one that will be
        let ahead =
            walk.winner.as_ref().or(walk.steps.last().map(|s| &s.incumbent_after)).unwrap_or(baseline);
        for config in [baseline, ahead] {
            add(config, &confirmed(setup), setup.repeat() * usize::from(confirms(setup)));
        }
        let elsewhere: Vec<String> = setup.elsewhere().map(str::to_owned).collect();
        add(baseline, &elsewhere, offers(setup, walk) * setup.repeat());
    }
    Some(out)
}

/// Seconds that one launch of a configuration takes on these profiles.
pub fn of_launch(setup: &Setup<'_>, costs: &Costs, config: &Config, profiles: &[String]) -> Option<f64> {
    costs.launch_s(&engine_name(config), profiles.iter().map(|p| setup.load(p)))
}

/// Seconds for which it has its GPUs, as they are booked when it is over.
pub fn held_by_launch(setup: &Setup<'_>, costs: &Costs, config: &Config, profiles: &[String]) -> Option<f64> {
    costs.held_s(&engine_name(config), profiles.iter().map(|p| setup.load(p)))
}

/// What the launches of `confirm on` will take, which a budget sets aside: all of their seconds, and those in which they hold GPUs.
pub fn confirming_s(setup: &Setup<'_>, costs: &Costs, baseline: &Config) -> Option<(f64, f64)> {
    if !confirms(setup) {
        return Some((0.0, 0.0));
    }
    let (profiles, times) = (confirmed(setup), (2 * setup.repeat()) as f64);
    let held = held_by_launch(setup, costs, baseline, &profiles)? * times;
    Some((of_launch(setup, costs, baseline, &profiles)? * times, held))
}

fn confirms(setup: &Setup<'_>) -> bool {
    setup.study.objective.is_some() && !setup.study.confirm.is_empty()
}

/// The profiles that confirming launches measure.
pub fn confirmed(setup: &Setup<'_>) -> Vec<String> {
    let mut profiles = setup.profiles();
    profiles.extend(setup.study.confirm.iter().filter(|p| !setup.profiles().contains(p)).cloned());
    profiles
}

/// Steps of which a candidate may still be offered, and is then measured on the profiles of `require … on`. Most steps offer one.
fn offers(setup: &Setup<'_>, walk: &Walk) -> usize {
    if setup.study.objective.is_none() || setup.elsewhere().next().is_none() {
        return 0;
    }
    let open = |view: &&super::walk::StepView| {
        view.rows
            .iter()
            .any(|r| r.role == Role::Candidate && r.judged.outcome == Outcome::Missing && r.same_as.is_none())
    };
    walk.steps.iter().filter(open).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_teach_what_launches_take() {
        let guess = Guess {
            simulated: None,
            note: None,
            start_s: 60.0,
            load_s: [("a".to_owned(), 100.0), ("b".to_owned(), 50.0)].into(),
            each: None,
        };
        let mut costs = Costs::guessed(guess);
        let of = |costs: &Costs, engine: &str, p: &[&str]| costs.launch_s(engine, p.iter().copied());
        assert_eq!((of(&costs, "x", &["a"]), costs.by()), (Some(160.0), Some(By::Simulator)));
        costs.add(("x", "1"), 39.0, 2.0, [("a", 200.0)].into_iter());
        costs.add(("x", "1"), 57.0, 2.0, [("a", 220.0)].into_iter());
        // its GPUs are not held in perflab's own part, as when it is booked
        assert_eq!(costs.held_s("x", ["a"].into_iter()), Some(48.0 + 210.0));
        assert_eq!(costs.by(), Some(By::Journal));
        assert_eq!(of(&costs, "x", &["a"]), Some(50.0 + 210.0));
        // a load that was never run takes what the guess says, as far as the guess is right elsewhere
        assert_eq!(of(&costs, "other", &["b"]), Some(50.0 + 50.0 * 2.1));
        assert_eq!(Costs::default().launch_s("x", ["a"].into_iter()), None);
    }
}
