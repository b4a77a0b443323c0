//! Distributions over exact samples: no histogram, so that a percentile is a measured value (or between two).

use serde::{Deserialize, Serialize};

/// So many samples are kept and sorted; more are gone through again and again.
const KEPT: usize = 1 << 17;
/// The quantiles of a [`Dist`].
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// A distribution of measured values; its unit is in the name of the field that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Dist {
    /// Number of samples.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the samples (divided by n, as numpy does).
    pub stddev: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile, between samples by linear interpolation (type 7), like all percentiles here.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
}

impl Dist {
    /// The distribution of `samples`; none if there are none.
    pub fn of(mut samples: Vec<f64>) -> Option<Self> {
        samples.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*samples.first()?, *samples.last()?);
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let [p50, p90, p95, p99, p999] = QUANTILES.map(|q| {
            let (below, above, part) = place(samples.len() as u64, q);
            between(samples[below as usize], samples[above as usize], part)
        });
        let n = samples.len() as u64;
        Some(Self { n, mean, stddev: variance.sqrt(), p50, p90, p95, p99, p999, min, max })
    }

    /// The same of samples that can be gone through anew: millions of them are not kept for it.
    pub fn over<I: Iterator<Item = f64>>(samples: impl Fn() -> I) -> Option<Self> {
        let few: Vec<f64> = samples().take(KEPT).collect();
        if few.len() < KEPT {
            return Self::of(few);
        }
        drop(few);
        Some(Self::of_many(samples))
    }

    /// Of samples of which there are some.
    fn of_many<I: Iterator<Item = f64>>(samples: impl Fn() -> I) -> Self {
        let (mut n, mut sum, mut min, mut max) = (0_u64, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for x in samples() {
            (n, sum, min, max) = (n + 1, sum + x, f64::min(min, x), f64::max(max, x));
        }
        let mean = sum / n as f64;
        let variance = samples().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        let places = QUANTILES.map(|q| place(n, q));
        let found = select(samples, &places.map(|(below, above, _)| [below, above]).concat());
        let at = |i: usize| between(found[2 * i], found[2 * i + 1], places[i].2);
        Self {
            n,
            mean,
            stddev: variance.sqrt(),
            p50: at(0),
            p90: at(1),
            p95: at(2),
            p99: at(3),
            p999: at(4),
            min,
            max,
        }
    }
}

/// How many samples a quantile (0 to 1) needs so that with 95 % confidence one lies beyond it: 299 for 0.99.
pub fn samples_needed(quantile: f64) -> u64 {
    (0.05_f64.ln() / quantile.ln()).ceil() as u64
}

/// The places of `n` ascending samples between which the type-7 quantile lies, and how far it is from the first to the second.
fn place(n: u64, q: f64) -> (u64, u64, f64) {
    let place = (n - 1) as f64 * q;
    let below = place.floor() as u64;
    (below, (below + 1).min(n - 1), place - below as f64)
}

fn between(low: f64, high: f64, part: f64) -> f64 {
    low + (high - low) * part
}

/// The samples that would lie at these places if all were sorted, exactly: sixteen bits of them are found in each of four passes, the
/// highest first, by counting those that begin alike.
fn select<I: Iterator<Item = f64>>(samples: impl Fn() -> I, places: &[u64]) -> Vec<f64> {
    // of each what is known of its key, and its place among the samples that begin so
    let mut found: Vec<(u64, u64)> = places.iter().map(|place| (0, *place)).collect();
    for shift in [48, 32, 16, 0] {
        let mut beginnings: Vec<u64> = found.iter().map(|(beginning, _)| *beginning).collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        let group = |beginning| beginnings.iter().position(|b| *b == beginning);
        let mut counts = vec![0_u64; beginnings.len() << 16];
        for sample in samples() {
            let digits = key(sample) >> shift;
            if let Some(group) = group(digits >> 16) {
                counts[group << 16 | (digits & 0xffff) as usize] += 1;
            }
        }
        for (beginning, place) in &mut found {
            let mut digit = group(*beginning).unwrap_or(0) << 16;
            while counts[digit] <= *place {
                *place -= counts[digit];
                digit += 1;
            }
            *beginning = *beginning << 16 | (digit & 0xffff) as u64;
        }
    }
    found.into_iter().map(|(key, _)| sample(key)).collect()
}

const SIGN: u64 = 1 << 63;

/// Keys are ordered as the samples are.
fn key(sample: f64) -> u64 {
    let bits = sample.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn sample(key: u64) -> f64 {
    f64::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_are_interpolated_as_numpy_does() {
        let dist = Dist::of(vec![4.0, 1.0, 3.0, 2.0]).expect("samples");
        assert_eq!((dist.n, dist.mean, dist.min, dist.max), (4, 2.5, 1.0, 4.0));
        assert!(
            (dist.p50 - 2.5).abs() < 1e-12
                && (dist.p90 - 3.7).abs() < 1e-12
                && (dist.p99 - 3.97).abs() < 1e-12
        );
        assert!((dist.stddev - 1.25_f64.sqrt()).abs() < 1e-12);
        let one = Dist::of(vec![7.0]).expect("a sample");
        assert_eq!((one.p50, one.p999, one.stddev), (7.0, 7.0, 0.0));
        assert_eq!(Dist::of(Vec::new()), None);
    }

    proptest! {
        #[test]
        fn many_samples_have_the_distribution_that_sorting_finds(
            all in proptest::collection::vec(prop_oneof![-1e3..1e9_f64, Just(0.0), Just(7.0), 24.9..25.1_f64], 1..300),
        ) {
            let many = Dist::of_many(|| all.iter().copied());
            let sorted = Dist::of(all.clone()).expect("samples");
            let exact = |d: &Dist| [d.p50, d.p90, d.p95, d.p99, d.p999, d.min, d.max];
            prop_assert_eq!((many.n, exact(&many)), (sorted.n, exact(&sorted)));
            // the order of a sum is another one
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e3);
            prop_assert!(near(many.mean, sorted.mean) && near(many.stddev, sorted.stddev), "{many:?} {sorted:?}");
        }
    }

    #[test]
    fn from_many_on_nothing_is_kept_and_nothing_is_another() {
        let at = |n: usize| move || (0..n).map(move |i| (i * 7919 % n) as f64 / 8.0);
        for n in [0, 1, KEPT - 1, KEPT, KEPT + 1] {
            assert_eq!(Dist::over(at(n)), Dist::of(at(n)().collect()), "{n}");
        }
    }

    #[test]
    fn support_of_percentiles() {
        assert_eq!((samples_needed(0.95), samples_needed(0.99), samples_needed(0.999)), (59, 299, 2995));
    }
}
