//! Distributions over exact samples: no histogram, so that a percentile is a measured value (or between two).

use serde::{Deserialize, Serialize};

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
        let at = |q| quantile(&samples, q);
        Some(Self {
            n: samples.len() as u64,
            mean,
            stddev: variance.sqrt(),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            min,
            max,
        })
    }
}

/// How many samples a quantile (0 to 1) needs so that with 95 % confidence one lies beyond it: 299 for 0.99.
pub fn samples_needed(quantile: f64) -> u64 {
    (0.05_f64.ln() / quantile.ln()).ceil() as u64
}

/// The type-7 quantile of ascending samples, of which there must be some.
fn quantile(ascending: &[f64], q: f64) -> f64 {
    let place = (ascending.len() - 1) as f64 * q;
    let below = place.floor() as usize;
    let (low, high) = (ascending[below], ascending[(below + 1).min(ascending.len() - 1)]);
    low + (high - low) * (place - below as f64)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn support_of_percentiles() {
        assert_eq!((samples_needed(0.95), samples_needed(0.99), samples_needed(0.999)), (59, 299, 2995));
    }
}
