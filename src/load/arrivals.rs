//! When requests are sent. An open loop's schedule is drawn whole before the first request and in absolute
//! times, so that no delay of the client shifts what comes after it.

use std::time::Duration;

use rand_distr::{Distribution, Exp, Gamma};

use super::error::LoadError;
use super::seeds::arrivals_rng;

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// All at time zero (a batch job; with a cap in flight, as vLLM's `request-rate inf` with
    /// `max-concurrency`).
    AllAtOnce,
    /// Closed loop: so many clients, each sending its next request when its last is answered.
    Closed {
        /// Number of clients.
        concurrency: usize,
    },
    /// Open loop with equal gaps.
    Constant {
        /// Requests per second.
        rate: f64,
    },
    /// Open loop with exponential gaps.
    Poisson {
        /// Requests per second.
        rate: f64,
    },
    /// Open loop with gamma-distributed gaps.
    Gamma {
        /// Requests per second.
        rate: f64,
        /// Shape of the gaps: 1 is Poisson, below 1 bursts, above 1 is more regular; the squared coefficient
        /// of variation of the gaps is its inverse.
        burstiness: f64,
    },
}

impl Arrivals {
    /// Requests per second offered, where arrivals have a rate.
    pub fn rate(self) -> Option<f64> {
        match self {
            Self::AllAtOnce | Self::Closed { .. } => None,
            Self::Constant { rate } | Self::Poisson { rate } | Self::Gamma { rate, .. } => Some(rate),
        }
    }

    pub(super) fn check(self) -> Result<(), LoadError> {
        let refuse = |why: String| Err(LoadError::Spec(why));
        if let Some(rate) = self.rate()
            && !(rate.is_finite() && rate > 0.0)
        {
            return refuse(format!("a rate of {rate} requests per second cannot be kept"));
        }
        match self {
            Self::Closed { concurrency: 0 } => refuse("a closed loop of 0 clients sends nothing".to_owned()),
            Self::Gamma { burstiness, .. } if !(burstiness.is_finite() && burstiness > 0.0) => {
                refuse(format!("a burstiness of {burstiness} is not above 0"))
            }
            _ => Ok(()),
        }
    }
}

/// The scheduled times of an open loop, ascending, from the load's start: as many as `more(count, time)` asks
/// for, given how many stand already and when the next would be. A closed loop has no schedule: the list is
/// empty.
pub fn schedule(
    arrivals: Arrivals,
    seed: u64,
    more: impl Fn(u64, Duration) -> bool,
) -> Result<Vec<Duration>, LoadError> {
    arrivals.check()?;
    let mut rng = arrivals_rng(seed);
    let unusable =
        |what: &dyn std::fmt::Display| LoadError::Spec(format!("these arrivals cannot be drawn: {what}"));
    match arrivals {
        Arrivals::Closed { .. } => Ok(Vec::new()),
        Arrivals::AllAtOnce => Ok(collect(more, |_| 0.0)),
        Arrivals::Constant { rate } => Ok(collect(more, |i| i as f64 / rate)),
        Arrivals::Poisson { rate } => {
            let gaps = Exp::new(rate).map_err(|e| unusable(&e))?;
            Ok(collect(more, running(move || gaps.sample(&mut rng))))
        }
        Arrivals::Gamma { rate, burstiness } => {
            let gaps = Gamma::new(burstiness, 1.0 / (rate * burstiness)).map_err(|e| unusable(&e))?;
            Ok(collect(more, running(move || gaps.sample(&mut rng))))
        }
    }
}

/// Turns gaps into times since the start.
fn running(mut gap: impl FnMut() -> f64) -> impl FnMut(u64) -> f64 {
    let mut now = 0.0;
    move |_| {
        now += gap();
        now
    }
}

fn collect(more: impl Fn(u64, Duration) -> bool, mut at: impl FnMut(u64) -> f64) -> Vec<Duration> {
    let mut times = Vec::new();
    loop {
        let next = Duration::try_from_secs_f64(at(times.len() as u64)).unwrap_or(Duration::MAX);
        if next == Duration::MAX || !more(times.len() as u64, next) {
            return times;
        }
        times.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(times: &[Duration]) -> Vec<f64> {
        let starts = std::iter::once(0.0).chain(times.iter().map(Duration::as_secs_f64));
        starts.zip(times).map(|(from, to)| to.as_secs_f64() - from).collect()
    }

    fn mean_and_cv2(samples: &[f64]) -> (f64, f64) {
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        (mean, variance / (mean * mean))
    }

    fn first(arrivals: Arrivals, seed: u64, n: u64) -> Vec<Duration> {
        schedule(arrivals, seed, |count, _| count < n).expect("sound arrivals")
    }

    #[test]
    fn poisson_has_its_mean_and_variance_and_depends_on_the_seed_alone() {
        let arrivals = Arrivals::Poisson { rate: 20.0 };
        let times = first(arrivals, 7, 40_000);
        let (mean, cv2) = mean_and_cv2(&gaps(&times));
        // four standard errors: 1/sqrt(40000) is 0.5 % for the mean, sqrt(8/40000) is 1.4 % for the variance
        assert!((mean * 20.0 - 1.0).abs() < 0.02, "mean gap {mean}");
        assert!((cv2 - 1.0).abs() < 0.06, "squared coefficient of variation {cv2}");
        assert_eq!(times, first(arrivals, 7, 40_000));
        assert_ne!(times[..5], first(arrivals, 8, 5)[..]);
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn the_first_arrivals_of_a_seed_are_pinned() {
        let ns: Vec<u128> =
            first(Arrivals::Poisson { rate: 1.0 }, 42, 3).iter().map(Duration::as_nanos).collect();
        assert_eq!(
            ns, PINNED,
            "a new version of a dependency draws other arrivals: results are not comparable"
        );
    }

    const PINNED: [u128; 3] = [4_216_246_410, 4_601_915_996, 4_849_009_802];

    #[test]
    fn gamma_gaps_vary_by_the_inverse_of_the_burstiness() {
        for burstiness in [0.25, 1.0, 4.0] {
            let times = first(Arrivals::Gamma { rate: 5.0, burstiness }, 3, 60_000);
            let (mean, cv2) = mean_and_cv2(&gaps(&times));
            assert!((mean * 5.0 - 1.0).abs() < 0.04, "burstiness {burstiness}: mean gap {mean}");
            assert!((cv2 * burstiness - 1.0).abs() < 0.12, "burstiness {burstiness}: cv² {cv2}");
        }
    }

    #[test]
    fn constant_does_not_drift_and_a_duration_bounds_it() {
        let times = schedule(Arrivals::Constant { rate: 3.0 }, 1, |_, at| at < Duration::from_secs(1000))
            .expect("sound");
        assert_eq!(times.len(), 3000);
        assert_eq!(times[0], Duration::ZERO);
        assert_eq!(times[2997], Duration::from_secs(999));
    }

    #[test]
    fn all_at_once_is_at_zero_and_closed_has_no_schedule() {
        assert_eq!(first(Arrivals::AllAtOnce, 1, 4), vec![Duration::ZERO; 4]);
        assert!(first(Arrivals::Closed { concurrency: 3 }, 1, 4).is_empty());
    }
}
