//! The course of an open loop's rate over time: the same throughout, rising, or in steps. Arrivals are drawn for a rate of one and
//! then moved to where so many of them have come.

use std::time::Duration;

/// How many steps `steps` has.
pub const STEPS: u32 = 5;

/// A rate over time, in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// One rate throughout.
    Even {
        /// The rate.
        rate: f64,
    },
    /// From one rate to another in a straight line.
    Ramp {
        /// The rate at first.
        from: f64,
        /// The rate at last.
        to: f64,
        /// How long it takes.
        over: Duration,
    },
    /// From one rate to another in [`STEPS`] equal steps, each as long as the others.
    Steps {
        /// The rate of the first step.
        from: f64,
        /// The rate of the last step.
        to: f64,
        /// How long all of them take.
        over: Duration,
    },
}

impl Pace {
    /// The time by which `count` requests have come, the first at time zero; `None` after the end.
    pub(super) fn when(self, count: f64) -> Option<f64> {
        match self {
            Self::Even { rate } => Some(count / rate),
            Self::Ramp { from, to, over } => {
                let over = over.as_secs_f64();
                // count = from·t + (to − from)/(2·over)·t²
                let bend = (to - from) / over;
                let root = (from * from + 2.0 * bend * count).sqrt();
                Some(2.0 * count / (from + root)).filter(|t| t.is_finite() && *t <= over + SLACK)
            }
            Self::Steps { from, to, over } => {
                let each = over.as_secs_f64() / f64::from(STEPS);
                let mut left = count;
                for step in 0..STEPS {
                    let rate = step_rate(from, to, step);
                    if left <= rate * each + SLACK {
                        return Some(f64::from(step) * each + left / rate);
                    }
                    left -= rate * each;
                }
                None
            }
        }
    }

    /// The lowest and the highest rate, and the length where there is one.
    pub(super) fn bounds(self) -> (f64, f64, Option<Duration>) {
        match self {
            Self::Even { rate } => (rate, rate, None),
            Self::Ramp { from, to, over } | Self::Steps { from, to, over } => (from, to, Some(over)),
        }
    }

    /// The same with so many times the rate.
    pub(super) fn times(self, factor: f64) -> Self {
        match self {
            Self::Even { rate } => Self::Even { rate: rate * factor },
            Self::Ramp { from, to, over } => Self::Ramp { from: from * factor, to: to * factor, over },
            Self::Steps { from, to, over } => Self::Steps { from: from * factor, to: to * factor, over },
        }
    }

    /// The rate on average.
    pub(super) fn mean(self) -> f64 {
        let (from, to, _) = self.bounds();
        f64::midpoint(from, to)
    }

    /// How long so many requests take between two rates, in a line as in steps.
    pub fn length(from: f64, to: f64, requests: u64) -> Duration {
        let gaps = requests.saturating_sub(1) as f64;
        Duration::try_from_secs_f64(2.0 * gaps / (from + to)).unwrap_or(Duration::MAX)
    }
}

/// Seconds and requests by which sums of fractions may be off.
const SLACK: f64 = 1e-6;

fn step_rate(from: f64, to: f64, step: u32) -> f64 {
    from + (to - from) * f64::from(step) / f64::from(STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn a_ramp_brings_as_many_as_the_area_under_it() {
        for (from, to) in [(1.0, 9.0), (9.0, 1.0), (5.0, 5.0)] {
            let ramp = Pace::Ramp { from, to, over: MINUTE };
            assert!((ramp.when(300.0).expect("within") - 60.0).abs() < 1e-6);
            assert_eq!((ramp.when(0.0), ramp.when(300.1)), (Some(0.0), None), "{from} to {to}");
        }
        let half = Pace::Ramp { from: 1.0, to: 9.0, over: MINUTE }.when(30.0 * (1.0 + 5.0) / 2.0);
        assert!((half.expect("within") - 30.0).abs() < 1e-6);
    }

    #[test]
    fn steps_are_equally_long_and_equally_far_apart() {
        let steps = Pace::Steps { from: 2.0, to: 10.0, over: MINUTE };
        let ends = [24.0, 72.0, 144.0, 240.0, 360.0].map(|count| steps.when(count).expect("within"));
        for (end, wanted) in ends.iter().zip([12.0, 24.0, 36.0, 48.0, 60.0]) {
            assert!((end - wanted).abs() < 1e-6, "{ends:?}");
        }
        assert_eq!(steps.when(360.1), None);
        assert!((steps.when(12.0).expect("within") - 6.0).abs() < 1e-6);
    }

    #[test]
    fn a_number_of_requests_has_its_length() {
        assert_eq!(Pace::length(1.0, 9.0, 301), MINUTE);
        assert_eq!(Pace::length(1.0, 9.0, 1), Duration::ZERO);
    }
}
