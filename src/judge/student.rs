//! Student's t: the quantiles that intervals need, for real degrees of freedom as Welch's formula gives them.
//!
//! P(|T| ≤ t) = 1 − I(ν / (ν + t²); ν/2, 1/2), with the regularised incomplete beta function I (Abramowitz and Stegun 26.7.1).
//! It grows with t, so a quantile is found by halving. statrs has I; its own quantile, `inverse_cdf`, inverts I in steps that
//! lose digits with many degrees of freedom (at a million the fifth is wrong) and from a hundred million on never end.

use statrs::function::beta::checked_beta_reg;

/// The t that a share `within` (0 to 1) of the distribution with `freedom` degrees of freedom lies within, on both sides of zero.
/// `None` for less than half a degree of freedom, or a share that is none.
pub fn two_sided(within: f64, freedom: f64) -> Option<f64> {
    let sound = within > 0.0 && within < 1.0 && freedom >= 0.5 && !freedom.is_nan();
    if !sound {
        return None;
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    while share_within(high, freedom)? < within {
        (low, high) = (high, high * 2.0);
        if !high.is_finite() {
            return None;
        }
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if share_within(middle, freedom)? < within { low = middle } else { high = middle }
    }
    Some(f64::midpoint(low, high))
}

fn share_within(t: f64, freedom: f64) -> Option<f64> {
    let outside = checked_beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t)).ok()?;
    Some(1.0 - outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_one_and_two_degrees_of_freedom_have_formulas() {
        for within in [0.5, 0.9, 0.95, 0.99, 0.999] {
            let p = f64::midpoint(1.0, within);
            let one = (std::f64::consts::PI * (p - 0.5)).tan();
            let two = within * (2.0 / (4.0 * p * (1.0 - p))).sqrt();
            for (freedom, t) in [(1.0, one), (2.0, two)] {
                let found = two_sided(within, freedom).expect("a quantile");
                assert!((found / t - 1.0).abs() < 1e-9, "{within} {freedom}: {found} is not {t}");
            }
        }
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (0.95, 3.0, 3.182_446_305_284_263),
            (0.95, 5.0, 2.570_581_835_636_314),
            (0.95, 10.0, 2.228_138_851_964_939),
            (0.95, 30.0, 2.042_272_456_301_238),
            (0.98, 9.0, 2.821_437_924_895_797),
            // nearly the normal distribution: 1.959964 and a part in a million more
            (0.95, 1e6, 1.959_966_356_816),
        ];
        for (within, freedom, t) in table {
            let found = two_sided(within, freedom).expect("a quantile");
            assert!((found / t - 1.0).abs() < 1e-9, "{within} {freedom}: {found} is not {t}");
        }
    }

    #[test]
    fn quantiles_fall_with_freedom_and_grow_with_the_share() {
        let at = |within, freedom| two_sided(within, freedom).expect("a quantile");
        let mut last = f64::INFINITY;
        for i in 2..200 {
            let next = at(0.95, f64::from(i) / 2.0);
            assert!(next < last, "{i}");
            last = next;
        }
        assert!(at(0.5, 4.0) < at(0.9, 4.0) && at(0.9, 4.0) < at(0.999, 4.0));
    }

    #[test]
    fn what_is_no_share_or_no_freedom_has_no_quantile() {
        for (within, freedom) in [(0.0, 3.0), (1.0, 3.0), (f64::NAN, 3.0), (0.95, 0.0), (0.95, f64::NAN)] {
            assert_eq!(two_sided(within, freedom), None, "{within} {freedom}");
        }
    }
}
