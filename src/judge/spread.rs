//! What repeats say beside their mean: how far runs lie apart, and between what a gain lies.
//!
//! Everything is computed from y = ln(value of one launch), because gains are ratios. The interval is Welch's: it asks nothing of the two
//! arms but their own runs, so that a noisy candidate does not borrow the calm of the others. With two runs each it is wide, as it
//! should be. It does not know that a step chose the best of several: reports say so.

use super::{scale, student};

/// How sure an interval is.
pub const CONFIDENCE: f64 = 0.95;

/// How far the values of several launches lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub runs: usize,
    pub min: f64,
    pub max: f64,
    /// of the sample (n − 1), in the values' unit
    pub stddev: f64,
}

/// A gain's interval, as fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The spread of two values or more.
pub fn spread(values: &[f64]) -> Option<Spread> {
    let (_, variance) = moments(values)?;
    let bound = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    Some(Spread { runs: values.len(), min: bound(f64::min)?, max: bound(f64::max)?, stddev: variance.sqrt() })
}

/// Between what the gain of a candidate over an incumbent lies, from the values of their launches. `None` where one of them has a
/// single one, one is not positive, or none differs from another: then nothing is known of the noise.
pub fn interval(maximize: bool, candidate: &[f64], incumbent: &[f64]) -> Option<Interval> {
    let (ours, theirs) = (logs(candidate)?, logs(incumbent)?);
    let ((m1, v1), (m2, v2)) = (moments(&ours)?, moments(&theirs)?);
    let (s1, s2) = (v1 / ours.len() as f64, v2 / theirs.len() as f64);
    let squared = s1 + s2;
    if squared <= 0.0 {
        return None;
    }
    let each = |s: f64, n: usize| s * s / (n - 1) as f64;
    let freedom = squared * squared / (each(s1, ours.len()) + each(s2, theirs.len()));
    let half = student::two_sided(CONFIDENCE, freedom)? * squared.sqrt();
    let difference = if maximize { m1 - m2 } else { m2 - m1 };
    Some(Interval { low: (difference - half).exp_m1(), high: (difference + half).exp_m1() })
}

/// The standard deviation from launch to launch, as a fraction, pooled over all configurations that ran more than once.
pub fn noise<'a>(groups: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for group in groups {
        let Some((_, variance)) = logs(group).and_then(|y| moments(&y)) else { continue };
        let more = (group.len() - 1) as f64;
        squares += variance * more;
        freedom += more;
    }
    (freedom > 0.0).then(|| (squares / freedom).sqrt())
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    scale::geometric_mean(values)?;
    Some(values.iter().map(|v| v.ln()).collect())
}

/// Mean and variance of the sample; `None` for fewer than two.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    // equal values have no variance, whatever their sum was rounded to
    if values.iter().all(|v| v.total_cmp(&values[0]).is_eq()) {
        return Some((values[0], 0.0));
    }
    Some((mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_interval_computed_by_hand() {
        // y: 0 and 0.02 against 0.05 and 0.07: equal variances 2e-4, se² 2e-4, ν 2, t 4.303, half 0.06085
        let at = |y: &[f64]| y.iter().map(|y| y.exp()).collect::<Vec<_>>();
        let found = interval(true, &at(&[0.05, 0.07]), &at(&[0.0, 0.02])).expect("an interval");
        assert!((found.low - (0.05_f64 - 0.060_849).exp_m1()).abs() < 1e-5, "{found:?}");
        assert!((found.high - (0.05_f64 + 0.060_849).exp_m1()).abs() < 1e-5, "{found:?}");
        let turned = interval(false, &at(&[0.0, 0.02]), &at(&[0.05, 0.07])).expect("an interval");
        assert!((turned.low - found.low).abs() < 1e-12 && (turned.high - found.high).abs() < 1e-12);
    }

    #[test]
    fn a_single_run_or_no_noise_has_no_interval() {
        assert_eq!(interval(true, &[110.0], &[100.0, 101.0]), None);
        assert_eq!(interval(true, &[110.0, 110.0], &[100.0, 100.0]), None);
        assert_eq!(interval(true, &[110.0, 0.0], &[100.0, 101.0]), None);
        assert_eq!(spread(&[100.0]), None);
    }

    #[test]
    fn spreads_are_the_samples() {
        let s = spread(&[98.0, 102.0, 100.0]).expect("a spread");
        assert_eq!((s.runs, s.min, s.max), (3, 98.0, 102.0));
        assert!((s.stddev - 2.0).abs() < 1e-12);
    }

    #[test]
    fn noise_pools_what_ran_more_than_once() {
        let up = 100.0 * 0.02_f64.exp();
        let groups: [&[f64]; 3] = [&[100.0, up], &[50.0], &[200.0, 200.0]];
        // squares 2e-4 over two degrees of freedom
        assert!((noise(groups.into_iter()).expect("noise") - 1e-4_f64.sqrt()).abs() < 1e-12);
        assert_eq!(noise([&[1.0][..]].into_iter()), None);
    }

    fn values() -> impl proptest::strategy::Strategy<Value = Vec<f64>> {
        proptest::collection::vec(1.0..1e6_f64, 2..8)
    }

    proptest! {
        /// The gain lies in its interval, and means lie between the extremes.
        #[test]
        fn intervals_hold_the_gain_and_means_lie_between(a in values(), b in values(), maximize: bool) {
            let (ma, mb) = (scale::geometric_mean(&a).unwrap(), scale::geometric_mean(&b).unwrap());
            let gain = scale::gain(maximize, ma, mb);
            if let Some(i) = interval(maximize, &a, &b) {
                prop_assert!(i.low <= gain + 1e-9 * (1.0 + gain.abs()) && gain <= i.high + 1e-9 * (1.0 + gain.abs()));
                prop_assert!(i.low >= -1.0);
            }
            let s = spread(&a).unwrap();
            prop_assert!(s.min <= ma * (1.0 + 1e-12) && ma <= s.max * (1.0 + 1e-12));
        }

        /// Another unit changes nothing, and the order of runs does not matter.
        #[test]
        fn intervals_do_not_hang_on_units_or_order(a in values(), b in values(), unit in 0.001..1000.0_f64) {
            let Some(plain) = interval(true, &a, &b) else { return Ok(()) };
            let scaled = |v: &[f64]| v.iter().rev().map(|x| x * unit).collect::<Vec<_>>();
            let other = interval(true, &scaled(&a), &scaled(&b)).expect("an interval");
            let close = |x: f64, y: f64| (x - y).abs() <= 1e-6 * (1.0 + x.abs());
            prop_assert!(close(plain.low, other.low) && close(plain.high, other.high));
        }

        /// The same values seen twice as often leave less doubt.
        #[test]
        fn more_runs_of_the_same_spread_narrow_it(a in values(), b in values()) {
            let twice = |v: &[f64]| [v, v].concat();
            let (Some(few), Some(many)) = (interval(true, &a, &b), interval(true, &twice(&a), &twice(&b))) else {
                return Ok(());
            };
            prop_assert!(many.low >= few.low && many.high <= few.high);
        }
    }
}
