//! Student's t: the quantiles that intervals need, for real degrees of freedom as Welch's formula gives them.
//!
//! P(|T| ≤ t) = 1 − I(ν / (ν + t²); ν/2, 1/2), with the regularised incomplete beta function I by its continued fraction
//! (Abramowitz and Stegun 26.7.1 and 26.5.8). It grows with t, so a quantile is found by halving.

/// The t that a share `within` (0 to 1) of the distribution with `freedom` degrees of freedom lies within, on both sides of zero.
/// `None` for less than half a degree of freedom, or a share that is none.
pub fn two_sided(within: f64, freedom: f64) -> Option<f64> {
    let sound = within > 0.0 && within < 1.0 && freedom >= 0.5 && !freedom.is_nan();
    if !sound {
        return None;
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    while share_within(high, freedom) < within {
        (low, high) = (high, high * 2.0);
        if !high.is_finite() {
            return None;
        }
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if share_within(middle, freedom) < within { low = middle } else { high = middle }
    }
    Some(f64::midpoint(low, high))
}

fn share_within(t: f64, freedom: f64) -> f64 {
    1.0 - incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // the fraction converges fast on this side of the mean, and the function is symmetric
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut above = 1.0;
    let mut below = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = below;
    for step in 1..1000 {
        let n = f64::from(step);
        let even = n * (b - n) * x / ((a + 2.0 * n - 1.0) * (a + 2.0 * n));
        let odd = -(a + n) * (a + b + n) * x / ((a + 2.0 * n) * (a + 2.0 * n + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            below = 1.0 / away_from_zero(1.0 + term * below);
            above = away_from_zero(1.0 + term / above);
            change = above * below;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function for positive arguments (Lanczos, g = 7, nine terms: about 15 digits).
fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        let reflected = std::f64::consts::PI / (std::f64::consts::PI * x).sin().abs();
        return reflected.ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + G + 0.5;
    let sum = TERMS.iter().enumerate().skip(1).fold(TERMS[0], |s, (i, c)| s + c / (x + i as f64));
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // two-sided 95 %, from any table of Student's t
        for (freedom, t) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (3.0, 3.182),
            (5.0, 2.571),
            (10.0, 2.228),
            (30.0, 2.042),
            (1e6, 1.960),
        ] {
            let found = two_sided(0.95, freedom).expect("a quantile");
            assert!((found - t).abs() < 6e-4, "{freedom}: {found}");
        }
        let one_in_a_hundred = two_sided(0.98, 9.0).expect("a quantile");
        assert!((one_in_a_hundred - 2.821).abs() < 6e-4, "{one_in_a_hundred}");
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
