//! Whether launches on disjoint GPUs leave each other alone: an A/A check, made before arms of one comparison run side by side.
//!
//! One configuration runs alone and then in all slots at once, round after round. Neighbours are harmless if the interval of what they
//! change, the same that gains have, lies within what is tolerated; they are not if it lies outside, or if the noise of this machine
//! does not let that be told. The burden of proof is theirs: a comparison that is wrong costs more than one that takes longer.

use serde::{Deserialize, Serialize};

use super::results::{Run, RunOutcome};
use super::setup::Setup;
use super::{scale, spread, trial};
use crate::plan::Config;

/// A difference that is tolerated: what else would be called a loss.
pub const TOLERATED: f64 = 0.02;
/// Fewer rounds show no noise.
const FEWEST: u32 = 2;
/// So many are made before the noise is called too large.
const MOST: u32 = 4;

/// Launches that a check takes at least, with so many slots.
pub fn launches(slots: usize) -> usize {
    FEWEST as usize * (1 + slots)
}

/// Turns that a check takes at least, each as long as a launch.
pub const TURNS: usize = 2 * FEWEST as usize;

/// What one launch of the check measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// counts from 1
    pub round: u32,
    /// nothing ran beside it
    pub alone: bool,
    /// the objective; `None` if the launch failed
    pub value: Option<f64>,
}

/// What the check wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// one launch, and nothing beside it
    Alone {
        round: u32,
    },
    /// a launch in each slot at once
    Together {
        round: u32,
    },
    Settled(Verdict),
}

/// What came of the check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub passed: bool,
    /// between what the change by neighbours lies, as fractions; null if launches failed
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// so much is tolerated, up and down
    pub within: f64,
}

/// What one launch of a check comes down to: the objective over its profiles, else the throughput. `None` if a load failed.
pub fn value(setup: &Setup<'_>, config: &Config, runs: &[(String, Run)]) -> Option<f64> {
    let one = |(profile, run): &(String, Run)| {
        let objective = setup.study.objective.as_ref();
        let value = match objective {
            Some(o) => trial::objective_of(setup, config, o, profile, std::slice::from_ref(run)),
            None => run.metrics.number("total_tps"),
        };
        value.filter(|_| run.outcome == RunOutcome::Done)
    };
    scale::geometric_mean(&runs.iter().map(one).collect::<Option<Vec<f64>>>()?)
}

/// The next launches of a check with so many slots, or its end.
pub fn next(samples: &[Sample], slots: usize, within: f64) -> Next {
    if samples.iter().any(|s| s.value.is_none()) {
        return Next::Settled(Verdict { passed: false, low: None, high: None, within });
    }
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for round in 1..=MOST {
        let single = of(samples, round, true);
        let Some(last) = single.last() else { return Next::Alone { round } };
        alone.push(*last);
        let pair = of(samples, round, false);
        // a round that was cut short is made again, and what there was of it does not count
        let Some(first) = pair.len().checked_sub(slots) else { return Next::Together { round } };
        together.extend(&pair[first..]);
        if round >= FEWEST
            && let Some(verdict) = judge(&alone, &together, within, round == MOST)
        {
            return Next::Settled(verdict);
        }
    }
    Next::Settled(Verdict { passed: false, low: None, high: None, within })
}

fn of(samples: &[Sample], round: u32, alone: bool) -> Vec<f64> {
    samples.iter().filter(|s| (s.round, s.alone) == (round, alone)).filter_map(|s| s.value).collect()
}

/// `None`: it cannot be told yet.
fn judge(alone: &[f64], together: &[f64], within: f64, last: bool) -> Option<Verdict> {
    let (low, high) = change(alone, together)?;
    let inside = -within <= low && high <= within;
    let outside = high < -within || low > within;
    let verdict = Verdict { passed: inside, low: Some(low), high: Some(high), within };
    (inside || outside || last).then_some(verdict)
}

/// Between what the change by neighbours lies. Where no launch differs from another there is no noise, and the change is what it is.
fn change(alone: &[f64], together: &[f64]) -> Option<(f64, f64)> {
    if let Some(interval) = spread::interval(true, together, alone) {
        return Some((interval.low, interval.high));
    }
    let exact = scale::geometric_mean(together)? / scale::geometric_mean(alone)? - 1.0;
    Some((exact, exact))
}

impl std::fmt::Display for Verdict {
    /// "they change results by -0.4 % to +0.6 %, 2 % are tolerated"
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.low, self.high) {
            (Some(low), Some(high)) => write!(
                f,
                "they change results by {:+.1} % to {:+.1} %, {} % are tolerated",
                low * 100.0,
                high * 100.0,
                self.within * 100.0
            ),
            _ => write!(f, "a launch of the check failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rounds(alone: &[f64], together: &[[f64; 2]]) -> Vec<Sample> {
        let sample = |i: usize, alone: bool, v: f64| Sample { round: i as u32 + 1, alone, value: Some(v) };
        let singles = alone.iter().enumerate().map(|(i, v)| sample(i, true, *v));
        let pairs = together.iter().enumerate().flat_map(|(i, p)| p.map(|v| sample(i, false, v)));
        singles.chain(pairs).collect()
    }

    fn passed(samples: &[Sample]) -> Option<bool> {
        match next(samples, 2, TOLERATED) {
            Next::Settled(verdict) => Some(verdict.passed),
            _ => None,
        }
    }

    #[test]
    fn alone_and_together_take_turns() {
        assert_eq!(next(&[], 2, TOLERATED), Next::Alone { round: 1 });
        assert_eq!(next(&rounds(&[100.0], &[]), 2, TOLERATED), Next::Together { round: 1 });
        let half = Sample { round: 1, alone: false, value: Some(100.0) };
        let cut = [rounds(&[100.0], &[]), vec![half]].concat();
        assert_eq!(next(&cut, 2, TOLERATED), Next::Together { round: 1 });
        assert_eq!(next(&rounds(&[100.0], &[[100.0, 99.0]]), 2, TOLERATED), Next::Alone { round: 2 });
    }

    #[test]
    fn what_a_killed_round_left_does_not_count() {
        let left = Sample { round: 1, alone: false, value: Some(1.0) };
        let rest = rounds(&[100.0, 100.1], &[[100.0, 100.1], [100.1, 100.0]]);
        assert_eq!(passed(&[vec![left], rest].concat()), Some(true));
    }

    #[test]
    fn harmless_neighbours_pass_and_others_do_not() {
        assert_eq!(passed(&rounds(&[100.0, 100.2], &[[100.1, 99.9], [100.0, 100.2]])), Some(true));
        assert_eq!(passed(&rounds(&[100.0, 100.2], &[[90.1, 89.9], [90.0, 90.2]])), Some(false));
        // no noise at all
        assert_eq!(passed(&rounds(&[100.0, 100.0], &[[100.0, 100.0], [100.0, 100.0]])), Some(true));
    }

    #[test]
    fn noise_asks_for_more_rounds_and_then_for_none() {
        let noisy = [100.0, 120.0, 101.0, 119.0];
        let pairs = noisy.map(|v| [v, 220.0 - v]);
        assert_eq!(passed(&rounds(&noisy[..2], &pairs[..2])), None);
        assert_eq!(passed(&rounds(&noisy[..3], &pairs[..3])), None);
        assert_eq!(passed(&rounds(&noisy, &pairs)), Some(false));
    }

    #[test]
    fn a_launch_that_fails_settles_it() {
        let failed = Sample { round: 1, alone: false, value: None };
        let samples = [rounds(&[100.0], &[]), vec![failed]].concat();
        assert_eq!(passed(&samples), Some(false));
        let Next::Settled(verdict) = next(&samples, 2, TOLERATED) else { panic!("it is settled") };
        assert_eq!(verdict.to_string(), "a launch of the check failed");
    }

    proptest! {
        /// Whatever is measured, the check ends.
        #[test]
        fn every_check_ends(values in proptest::collection::vec(1.0..1000.0_f64, 32), slots in 2..5_usize) {
            let (mut samples, mut values) = (Vec::new(), values.into_iter().cycle());
            for _ in 0..=2 * MOST {
                let (round, alone, n) = match next(&samples, slots, TOLERATED) {
                    Next::Alone { round } => (round, true, 1),
                    Next::Together { round } => (round, false, slots),
                    Next::Settled(_) => return Ok(()),
                };
                samples.extend((0..n).map(|_| Sample { round, alone, value: values.next() }));
            }
            prop_assert!(false, "no end");
        }
    }
}
