//! The API server in front of the scheduler: one process that gives every request in it an equal share of its time,
//! as an event loop does. A lone request pays its own cost; a burst of N arrives at the scheduler together, after N
//! times that cost; more requests per second than it can parse pile up here and not in the waiting queue.

use std::collections::VecDeque;
use std::time::Duration;

/// The front end, holding requests of type `T` until they are parsed.
#[derive(Debug)]
pub struct FrontEnd<T> {
    /// Processor time that one request needs, in seconds.
    cost: f64,
    /// Until when the shares are dealt out.
    clock: Duration,
    /// Processor time in seconds that a request which was here all the time would have received.
    share: f64,
    /// Requests by the share at which they are done; costs are equal, so that is the order of arrival.
    parsing: VecDeque<(f64, T)>,
    /// Requests that are through, with the time when they were.
    parsed: VecDeque<(Duration, T)>,
}

impl<T> FrontEnd<T> {
    /// A front end that needs `cost` seconds for each request.
    pub fn new(cost: f64) -> Self {
        Self {
            cost: cost.max(0.0),
            clock: Duration::ZERO,
            share: 0.0,
            parsing: VecDeque::new(),
            parsed: VecDeque::new(),
        }
    }

    /// Takes a request that arrives at `at`; times may not run backwards, and one that does counts as the latest.
    pub fn arrive(&mut self, at: Duration, request: T) {
        self.advance(at);
        self.parsing.push_back((self.share + self.cost, request));
    }

    /// The next request that is through by `now`, with the time when it was.
    pub fn next_parsed(&mut self, now: Duration) -> Option<(Duration, T)> {
        self.advance(now);
        if self.parsed.front().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        self.parsed.pop_front()
    }

    /// When the next request will be through if no other arrives before.
    pub fn next_time(&self) -> Option<Duration> {
        self.parsed.front().map(|(at, _)| *at).or_else(|| self.next_completion())
    }

    /// Removes the requests that are not to be kept.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.parsing.retain(|(_, request)| keep(request));
        self.parsed.retain(|(_, request)| keep(request));
    }

    /// Number of requests in here.
    pub fn waiting(&self) -> usize {
        self.parsing.len() + self.parsed.len()
    }

    fn next_completion(&self) -> Option<Duration> {
        let (target, _) = self.parsing.front()?;
        let wait = (target - self.share).max(0.0) * self.parsing.len() as f64;
        Some(self.clock + Duration::try_from_secs_f64(wait).unwrap_or_default())
    }

    fn advance(&mut self, now: Duration) {
        while let Some(at) = self.next_completion().filter(|at| *at <= now) {
            if let Some((target, request)) = self.parsing.pop_front() {
                self.share = target.max(self.share);
                self.clock = at;
                self.parsed.push_back((at, request));
            }
        }
        if now > self.clock {
            if !self.parsing.is_empty() {
                self.share += now.saturating_sub(self.clock).as_secs_f64() / self.parsing.len() as f64;
            }
            self.clock = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(front: &mut FrontEnd<u32>) -> Vec<(u32, f64)> {
        std::iter::from_fn(|| front.next_parsed(Duration::from_secs(1000)))
            .map(|(at, request)| (request, at.as_secs_f64()))
            .collect()
    }

    #[test]
    fn a_lone_request_pays_its_own_cost() {
        let mut front = FrontEnd::new(0.01);
        front.arrive(Duration::from_secs(1), 1);
        assert_eq!(front.next_time(), Some(Duration::from_millis(1010)));
        assert_eq!(front.next_parsed(Duration::from_millis(1005)), None);
        assert_eq!(front.next_parsed(Duration::from_millis(1010)), Some((Duration::from_millis(1010), 1)));
        assert_eq!((front.waiting(), front.next_time()), (0, None));
    }

    #[test]
    fn a_burst_comes_out_together_after_the_whole_cost() {
        let mut front = FrontEnd::new(0.01);
        (0..100).for_each(|request| front.arrive(Duration::ZERO, request));
        let through = drain(&mut front);
        assert_eq!(through.len(), 100);
        assert!(through.iter().all(|(_, at)| (at - 1.0).abs() < 1e-6), "{through:?}");
    }

    #[test]
    fn arrivals_share_the_processor_in_order() {
        let mut front = FrontEnd::new(0.010);
        front.arrive(Duration::ZERO, 1);
        front.arrive(Duration::from_millis(5), 2);
        // request 1 has 5 ms left at 5 ms and half the processor: done at 15; request 2 has then had 5 of its 10
        let through = drain(&mut front);
        assert_eq!(through.iter().map(|(request, _)| *request).collect::<Vec<_>>(), [1, 2]);
        assert!((through[0].1 - 0.015).abs() < 1e-6 && (through[1].1 - 0.020).abs() < 1e-6, "{through:?}");
    }

    #[test]
    fn an_overload_passes_at_the_rate_of_the_front_end() {
        let mut front = FrontEnd::new(0.01);
        (0..1000).for_each(|request| front.arrive(Duration::from_millis(u64::from(request)), request));
        let through = drain(&mut front);
        assert!(through.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        assert!(
            through.last().is_some_and(|(last, at)| *last == 999 && (at - 10.0).abs() < 1e-3),
            "{through:?}"
        );
    }

    #[test]
    fn no_cost_means_no_wait() {
        let mut front = FrontEnd::new(0.0);
        front.arrive(Duration::from_secs(2), 9);
        assert_eq!(front.next_parsed(Duration::from_secs(2)), Some((Duration::from_secs(2), 9)));
    }
}
