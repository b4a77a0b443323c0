//! When requests are sent. An open loop's schedule is drawn whole before the first request and in absolute
//! times, so that no delay of the client shifts what comes after it.

use std::time::Duration;

use rand_distr::{Distribution, Exp, Gamma};

use super::error::LoadError;
use super::pace::Pace;
use super::seeds::arrivals_rng;
use crate::data::Traced;

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
    /// Open loop through a range of rates, with gaps that are exponential at each of them.
    Through(Pace),
    /// Open loop at the times of the load's trace.
    Trace {
        /// Its times are multiplied by this: 2 is half as fast as it was.
        slowdown: f64,
    },
}

impl Arrivals {
    /// Requests per second offered, where arrivals have a rate.
    pub fn rate(self) -> Option<f64> {
        match self {
            Self::AllAtOnce | Self::Closed { .. } | Self::Through(_) | Self::Trace { .. } => None,
            Self::Constant { rate } | Self::Poisson { rate } | Self::Gamma { rate, .. } => Some(rate),
        }
    }

    /// The same with so many times the rate, where there is one.
    pub(super) fn times(self, factor: f64) -> Self {
        match self {
            Self::Constant { rate } => Self::Constant { rate: rate * factor },
            Self::Poisson { rate } => Self::Poisson { rate: rate * factor },
            Self::Gamma { rate, burstiness } => Self::Gamma { rate: rate * factor, burstiness },
            Self::Through(pace) => Self::Through(pace.times(factor)),
            Self::AllAtOnce | Self::Closed { .. } | Self::Trace { .. } => self,
        }
    }

    /// How the rate goes, where there is one.
    fn pace(self) -> Option<Pace> {
        match self {
            Self::Through(pace) => Some(pace),
            other => other.rate().map(|rate| Pace::Even { rate }),
        }
    }

    pub(super) fn check(self) -> Result<(), LoadError> {
        let refuse = |why: String| Err(LoadError::Spec(why));
        if let Some((from, to, over)) = self.pace().map(Pace::bounds) {
            if let Some(rate) = [from, to].into_iter().find(|rate| !(rate.is_finite() && *rate > 0.0)) {
                return refuse(format!("a rate of {rate} requests per second cannot be kept"));
            }
            if over == Some(Duration::ZERO) {
                return refuse("a range of rates takes a time to go through".to_owned());
            }
        }
        match self {
            Self::Closed { concurrency: 0 } => refuse("a closed loop of 0 clients sends nothing".to_owned()),
            Self::Gamma { burstiness, .. } if !(burstiness.is_finite() && burstiness > 0.0) => {
                refuse(format!("a burstiness of {burstiness} is not above 0"))
            }
            Self::Trace { slowdown } if !(slowdown.is_finite() && slowdown > 0.0) => {
                refuse(format!("a slowdown of {slowdown} is not above 0"))
            }
            _ => Ok(()),
        }
    }
}

/// The scheduled times of a trace, as far as `more` asks for them.
pub(super) fn traced(
    trace: &[Traced],
    slowdown: f64,
    more: impl Fn(u64, Duration) -> bool,
) -> Result<Vec<Duration>, LoadError> {
    let at = |request: &Traced| Duration::try_from_secs_f64(request.at.as_secs_f64() * slowdown);
    let times = trace.iter().map(at).collect::<Result<Vec<_>, _>>();
    let mut times =
        times.map_err(|_| LoadError::Spec(format!("a trace {slowdown} times as slow never ends")))?;
    let wanted = (0_u64..).zip(&times).take_while(|(count, at)| more(*count, **at)).count();
    times.truncate(wanted);
    Ok(times)
}

/// Requests per second of a trace on average; none where all of it comes at one time.
pub(super) fn traced_rate(trace: &[Traced], slowdown: f64) -> Option<f64> {
    let span = trace.last()?.at.as_secs_f64() * slowdown;
    Some((trace.len() - 1) as f64 / span).filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// The scheduled times of an open loop, ascending, from the load's start: as many as `more(count, time)` asks
/// for, given how many stand already and when the next would be if all gaps were equal. A closed loop has no
/// schedule, and a trace its own: the list is empty.
///
/// n requests take exactly (n − 1) / rate from the first to the last: drawn gaps are stretched to it. Otherwise
/// two thousand of them miss their rate by some percent, and every seed offers another load.
pub fn schedule(
    arrivals: Arrivals,
    seed: u64,
    more: impl Fn(u64, Duration) -> bool,
) -> Result<Vec<Duration>, LoadError> {
    arrivals.check()?;
    let mut rng = arrivals_rng(seed);
    let unusable =
        |what: &dyn std::fmt::Display| LoadError::Spec(format!("these arrivals cannot be drawn: {what}"));
    let Some(pace) = arrivals.pace() else {
        return Ok(match arrivals {
            Arrivals::AllAtOnce => collect(more, |_| Some(0.0)),
            _ => Vec::new(),
        });
    };
    let even = collect(more, |count| pace.when(count as f64));
    match arrivals {
        Arrivals::Poisson { .. } | Arrivals::Through(_) => {
            let gaps = Exp::new(1.0).map_err(|e| unusable(&e))?;
            stretched(even, pace, || gaps.sample(&mut rng))
        }
        Arrivals::Gamma { burstiness, .. } => {
            let gaps = Gamma::new(burstiness, 1.0 / burstiness).map_err(|e| unusable(&e))?;
            stretched(even, pace, || gaps.sample(&mut rng))
        }
        _ => Ok(even),
    }
}

/// As many times as the even ones, between the same first and last, with gaps in the proportions that are drawn.
fn stretched(
    mut times: Vec<Duration>,
    pace: Pace,
    mut gap: impl FnMut() -> f64,
) -> Result<Vec<Duration>, LoadError> {
    let Some((_, before)) = times.split_last_mut() else { return Ok(times) };
    let gaps = before.len() as f64;
    let mut sum = 0.0;
    let sums: Vec<f64> = before
        .iter()
        .map(|_| {
            sum += gap();
            sum
        })
        .collect();
    // a burstiness far below any use draws gaps that are all too small for a number
    if !(before.is_empty() || sum.is_finite() && sum > 0.0) {
        return Err(LoadError::Spec("these arrivals cannot be drawn: their gaps have no length".to_owned()));
    }
    for (time, so_far) in before.iter_mut().skip(1).zip(sums) {
        let at = pace.when(gaps * (so_far / sum)).unwrap_or_default();
        *time = Duration::from_secs_f64(at);
    }
    Ok(times)
}

fn collect(more: impl Fn(u64, Duration) -> bool, at: impl Fn(u64) -> Option<f64>) -> Vec<Duration> {
    let mut times = Vec::new();
    loop {
        let next = at(times.len() as u64).and_then(|at| Duration::try_from_secs_f64(at).ok());
        let next = next.unwrap_or(Duration::MAX);
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
        times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).as_secs_f64()).collect()
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

    /// The largest distance between the gaps' distribution and the exponential one of the rate.
    fn distance_from_exponential(times: &[Duration], rate: f64) -> f64 {
        let mut gaps = gaps(times);
        gaps.sort_unstable_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let off = gaps.iter().enumerate().map(|(i, gap)| {
            let (i, wanted) = (i as f64, 1.0 - (-gap * rate).exp());
            (wanted - i / n).max((i + 1.0) / n - wanted)
        });
        off.fold(0.0, f64::max)
    }

    #[test]
    fn poisson_is_exponential_and_depends_on_the_seed_alone() {
        let arrivals = Arrivals::Poisson { rate: 20.0 };
        let times = first(arrivals, 7, 40_000);
        let (_, cv2) = mean_and_cv2(&gaps(&times));
        // four standard errors: sqrt(8/40000) is 1.4 %
        assert!((cv2 - 1.0).abs() < 0.06, "squared coefficient of variation {cv2}");
        assert!(distance_from_exponential(&times, 20.0) < 0.01);
        assert_eq!(times, first(arrivals, 7, 40_000));
        assert_ne!(times[..5], first(arrivals, 8, 40_000)[..5]);
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        for seed in 0..20 {
            assert!(distance_from_exponential(&first(arrivals, seed, 2000), 20.0) < 0.03, "seed {seed}");
        }
    }

    #[test]
    fn every_seed_offers_the_same_rate() {
        let span = Duration::from_secs_f64(1999.0 / 200.0);
        for seed in 0..20 {
            for arrivals in [
                Arrivals::Constant { rate: 200.0 },
                Arrivals::Poisson { rate: 200.0 },
                Arrivals::Gamma { rate: 200.0, burstiness: 0.1 },
                Arrivals::Gamma { rate: 200.0, burstiness: 30.0 },
            ] {
                let times = first(arrivals, seed, 2000);
                let ends = (times.len(), times[0], times[1999]);
                assert_eq!(ends, (2000, Duration::ZERO, span), "{arrivals:?}, seed {seed}");
                let minute = schedule(arrivals, seed, |_, at| at < Duration::from_mins(1)).expect("sound");
                assert_eq!(minute.len(), 12_000, "{arrivals:?}, seed {seed}");
            }
        }
    }

    #[test]
    fn one_request_comes_at_once_and_gaps_without_length_are_refused() {
        assert_eq!(first(Arrivals::Poisson { rate: 0.01 }, 1, 1), [Duration::ZERO]);
        assert!(first(Arrivals::Poisson { rate: 0.01 }, 1, 0).is_empty());
        let flat = Arrivals::Gamma { rate: 1.0, burstiness: 1e-300 };
        assert!(
            matches!(schedule(flat, 1, |n, _| n < 3), Err(LoadError::Spec(why)) if why.contains("length"))
        );
    }

    #[test]
    fn the_first_arrivals_of_a_seed_are_pinned() {
        let ns: Vec<u128> =
            first(Arrivals::Poisson { rate: 1.0 }, 42, 5).iter().map(Duration::as_nanos).collect();
        assert_eq!(
            ns, PINNED,
            "a new version of a dependency draws other arrivals: results are not comparable"
        );
    }

    const PINNED: [u128; 5] = [0, 3_365_816_211, 3_673_695_025, 3_870_949_231, 4_000_000_000];

    #[test]
    fn gamma_gaps_vary_by_the_inverse_of_the_burstiness() {
        for burstiness in [0.25, 1.0, 4.0] {
            let times = first(Arrivals::Gamma { rate: 5.0, burstiness }, 3, 60_000);
            let (_, cv2) = mean_and_cv2(&gaps(&times));
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
    fn a_trace_keeps_its_times_and_their_proportions() {
        let at = |ms| Traced { at: Duration::from_millis(ms), input: 1, output: 1, blocks: Vec::new() };
        let trace = [at(0), at(100), at(100), at(1500)];
        let ms = |slowdown, most| -> Vec<u128> {
            let times = traced(&trace, slowdown, |n, at| n < most && at < Duration::from_secs(2));
            times.expect("sound").iter().map(Duration::as_millis).collect()
        };
        assert_eq!(ms(1.0, 9), [0, 100, 100, 1500]);
        assert_eq!(ms(0.5, 3), [0, 50, 50]);
        assert_eq!(ms(2.0, 9), [0, 200, 200], "what comes later than wanted is left out");
        assert_eq!((traced_rate(&trace, 2.0), traced_rate(&trace[..1], 1.0)), (Some(1.0), None));
        assert_eq!(traced_rate(&trace[1..2], 1.0), None);
    }

    #[test]
    fn all_at_once_is_at_zero_and_closed_has_no_schedule() {
        assert_eq!(first(Arrivals::AllAtOnce, 1, 4), vec![Duration::ZERO; 4]);
        assert!(first(Arrivals::Closed { concurrency: 3 }, 1, 4).is_empty());
    }

    #[test]
    fn a_range_of_rates_is_gone_through_whole_and_in_its_time() {
        let over = Duration::from_mins(1);
        for pace in [
            Pace::Ramp { from: 2.0, to: 18.0, over },
            Pace::Ramp { from: 18.0, to: 2.0, over },
            Pace::Steps { from: 2.0, to: 18.0, over },
        ] {
            for seed in 0..5 {
                let arrivals = Arrivals::Through(pace);
                let times = schedule(arrivals, seed, |_, at| at < over).expect("sound");
                assert!((600..=601).contains(&times.len()), "{pace:?}: {}", times.len());
                assert!(times.windows(2).all(|pair| pair[0] <= pair[1]), "{pace:?}");
                let counted = schedule(arrivals, seed, |count, _| count < 601).expect("sound");
                let last = counted[600].as_secs_f64();
                assert!(counted.len() == 601 && (last - 60.0).abs() < 1e-6, "{pace:?}: {last}");
                let first_half = times.iter().filter(|at| **at < over / 2).count() as f64 / 600.0;
                let wanted = if pace.bounds().0 < 10.0 { 0.3 } else { 0.7 };
                assert!((first_half - wanted).abs() < 0.08, "{pace:?}: {first_half}");
            }
        }
        let still = Pace::Ramp { from: 1.0, to: 2.0, over: Duration::ZERO };
        assert!(schedule(Arrivals::Through(still), 1, |n, _| n < 3).is_err());
    }
}
