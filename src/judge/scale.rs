//! Means and gains: geometric, so that a gain and its inverse cancel.

/// The geometric mean of positive numbers; `None` if there is none, or one is not positive.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite() || *v <= 0.0) {
        return None;
    }
    // logarithms round: the mean of equal values is that value, so that a limit that is met exactly is met
    if values.iter().all(|v| v.total_cmp(&values[0]).is_eq()) {
        return values.first().copied();
    }
    Some((values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// The geometric mean of an objective's values, which may be 0: it is 0 where one of them is. `None` if there is none, or one is
/// negative.
pub fn objective_mean(values: &[f64]) -> Option<f64> {
    let zero = values.contains(&0.0) && values.iter().all(|v| v.is_finite() && *v >= 0.0);
    if zero { Some(0.0) } else { geometric_mean(values) }
}

/// What a metric of several runs is: their geometric mean, or the arithmetic one where a value is not positive.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    geometric_mean(values).or_else(|| Some(values.iter().sum::<f64>() / values.len() as f64))
}

/// How much better: candidate / incumbent − 1, or incumbent / candidate − 1 when less is better. Where that divides by 0 it is infinite,
/// better by no ratio that could be told; what is equal gains nothing, 0 over 0 neither.
pub fn gain(maximize: bool, candidate: f64, incumbent: f64) -> f64 {
    let (better, than) = if maximize { (candidate, incumbent) } else { (incumbent, candidate) };
    if better.total_cmp(&than).is_eq() { 0.0 } else { better / than - 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_turn_round_when_minimising() {
        assert!((gain(true, 110.0, 100.0) - 0.1).abs() < 1e-12);
        assert!((gain(false, 100.0, 110.0) - 0.1).abs() < 1e-12);
        assert!(gain(false, 110.0, 100.0) < 0.0);
    }

    #[test]
    fn nothing_is_no_ratio() {
        for maximize in [true, false] {
            assert!(gain(maximize, 0.0, 0.0).abs() < 1e-12);
            let (less, more) = if maximize { (0.0, 3.0) } else { (3.0, 0.0) };
            assert!(gain(maximize, more, less) > f64::MAX);
            assert!((gain(maximize, less, more) + 1.0).abs() < 1e-12);
        }
        assert_eq!(objective_mean(&[4.0, 0.0]), Some(0.0));
        assert_eq!(objective_mean(&[-4.0, 0.0]), None);
        assert_eq!(objective_mean(&[]), None);
    }

    #[test]
    fn means_are_geometric() {
        let m = geometric_mean(&[1.0, 4.0]).expect("positive");
        assert!((m - 2.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[110.0]), Some(110.0));
        assert_eq!(geometric_mean(&[0.3, 0.3, 0.3]), Some(0.3));
        assert_eq!(geometric_mean(&[110.0]), Some(110.0));
        assert_eq!(geometric_mean(&[0.3, 0.3, 0.3]), Some(0.3));
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }
}
