//! Brings the server to its working state before anything is measured: the load's own arrivals with prompts
//! of their own, until the server's speed has settled or the time for it is over.

use std::collections::VecDeque;
use std::time::Duration;

/// When a warm-up has done its work: so many consecutive windows whose generated text agrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SettleRule {
    pub window: Duration,
    pub windows: usize,
    /// The largest window may exceed the smallest by this share.
    pub tolerance: f64,
    /// After this time it is over in any case.
    pub limit: Duration,
}

impl Default for SettleRule {
    fn default() -> Self {
        Self { window: Duration::from_secs(5), windows: 3, tolerance: 0.02, limit: Duration::from_mins(2) }
    }
}

/// The look back over what came. Windows slide: they end now, not at multiples of their length.
#[derive(Debug)]
pub(super) struct Settling {
    rule: SettleRule,
    seen: VecDeque<(Duration, u64)>,
}

impl Settling {
    pub(super) fn new(rule: SettleRule) -> Self {
        Self { rule, seen: VecDeque::new() }
    }

    /// Notes that `total` chunks had come by `now`, and says whether the last windows agree.
    pub(super) fn settled(&mut self, now: Duration, total: u64) -> bool {
        self.seen.push_back((now, total));
        let span = self.rule.window * self.rule.windows as u32;
        let Some(start) = now.checked_sub(span) else { return false };
        // one sample at or before the first window's start is kept to interpolate from
        while self.seen.get(1).is_some_and(|(at, _)| *at <= start) {
            self.seen.pop_front();
        }
        if self.seen.front().is_none_or(|(at, _)| *at > start) {
            return false;
        }
        let edges: Vec<f64> =
            (0..=self.rule.windows as u32).map(|i| self.at(start + self.rule.window * i)).collect();
        let windows = edges.windows(2).map(|pair| pair[1] - pair[0]);
        let (least, most) = windows.fold((f64::MAX, 0.0_f64), |(a, b), n| (a.min(n), b.max(n)));
        least > 0.0 && most <= least * (1.0 + self.rule.tolerance)
    }

    /// The total at a time, between samples by interpolation.
    fn at(&self, time: Duration) -> f64 {
        let after = self.seen.partition_point(|(at, _)| *at < time).min(self.seen.len() - 1);
        let (to, high) = self.seen[after];
        let (from, low) = self.seen[after.saturating_sub(1)];
        let length = to.saturating_sub(from).as_secs_f64();
        let share = if length > 0.0 { time.saturating_sub(from).as_secs_f64() / length } else { 1.0 };
        low as f64 + (high - low) as f64 * share.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second at which a rate (chunks per second, by time) is found settled, looking four times a second.
    fn settles(rate: impl Fn(f64) -> f64) -> Option<f64> {
        let mut settling = Settling::new(SettleRule::default());
        let mut total = 0.0;
        (0..480).map(|i| f64::from(i) * 0.25).find(|now| {
            total += rate(*now) * 0.25;
            settling.settled(Duration::from_secs_f64(*now), total as u64)
        })
    }

    #[test]
    fn a_steady_rate_settles_as_soon_as_three_windows_are_full() {
        assert_eq!(settles(|_| 4000.0), Some(15.0));
    }

    #[test]
    fn a_slow_beginning_is_waited_for() {
        let at = settles(|now| if now < 7.0 { 500.0 } else { 4000.0 }).expect("settles");
        assert!((21.75..23.0).contains(&at), "{at}");
    }

    #[test]
    fn neither_growth_nor_silence_settles() {
        assert_eq!(settles(|now| 1000.0 * (1.0 + now / 50.0)), None);
        assert_eq!(settles(|_| 0.0), None);
    }
}
