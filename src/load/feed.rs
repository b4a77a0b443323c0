//! The queue that the clients of a closed loop take their requests from, and the rule by which it ends. How
//! many a timed load will take is not known beforehand: when the queue runs low, more are made beside it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::error::LoadError;
use super::kitchen::{Kitchen, Rendered};
use super::seeds::Purpose;

/// The most requests made ahead by an estimate: a wrong one must not fill the memory.
const MADE_AHEAD: u64 = 100_000;

/// When no further request is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StopRule {
    /// Goes on until so many are started …
    pub min_requests: u64,
    /// … and this time is over,
    pub min_time: Duration,
    /// but not beyond this time.
    pub max_time: Duration,
}

impl StopRule {
    /// Whether one more may be started.
    pub(super) fn goes_on(&self, started: u64, elapsed: Duration) -> bool {
        elapsed < self.max_time && (started < self.min_requests || elapsed < self.min_time)
    }
}

/// Requests for a closed loop.
#[derive(Debug)]
pub(super) struct Feed {
    kitchen: Arc<Kitchen>,
    purpose: Purpose,
    rule: StopRule,
    /// With fewer than this many left, more are made.
    low: usize,
    state: Mutex<State>,
    more: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Rendered>,
    began: Option<Instant>,
    started: u64,
    made: u64,
    making: bool,
    made_late: u64,
    error: Option<LoadError>,
}

enum Next {
    Take(u64, Rendered),
    Wait,
    End,
}

impl Feed {
    /// A feed for so many clients with its first requests made: all of them, where their number is known.
    pub(super) async fn new(
        kitchen: Arc<Kitchen>,
        purpose: Purpose,
        rule: StopRule,
        slots: usize,
    ) -> Result<Arc<Self>, LoadError> {
        let low = 2 * slots + 32;
        let feed = Self { kitchen, purpose, rule, low, state: Mutex::default(), more: Notify::new() };
        let timed = rule.min_time > Duration::ZERO;
        // how many there will be is not known: a warm-up of given questions is made of words, all else may need the tokenizer
        if timed && (purpose == Purpose::Load || feed.kitchen.given.is_none()) {
            feed.kitchen.get_ready().await?;
        }
        feed.make(if timed { rule.min_requests.max(2 * low as u64) } else { rule.min_requests }).await?;
        Ok(Arc::new(feed))
    }

    /// Makes requests until so many are there in all.
    async fn make(&self, total: u64) -> Result<(), LoadError> {
        let from = self.state().made;
        self.serve(self.kitchen.cook(self.purpose, from..total.max(from)).await?);
        Ok(())
    }

    fn serve(&self, cooked: Vec<Rendered>) {
        let mut state = self.state();
        state.made += cooked.len() as u64;
        state.queue.extend(cooked);
    }

    /// Makes as many requests as the rule's time will take at this rate, with a quarter to spare.
    pub(super) async fn expect_rate(&self, per_second: f64) -> Result<(), LoadError> {
        let expected = per_second * self.rule.min_time.as_secs_f64() * 1.25;
        self.make(self.low as u64 + (expected as u64).min(MADE_AHEAD)).await
    }

    /// The next request with its number; none when the rule says that it is enough.
    pub(super) async fn next(self: &Arc<Self>) -> Option<(u64, Rendered)> {
        loop {
            let mut more = std::pin::pin!(self.more.notified());
            more.as_mut().enable();
            match self.try_next() {
                Next::Take(index, rendered) => return Some((index, rendered)),
                Next::End => return None,
                Next::Wait => more.await,
            }
        }
    }

    /// How many requests were made while the load ran already.
    pub(super) fn made_late(&self) -> u64 {
        self.state().made_late
    }

    /// The error that ended the making of further requests.
    pub(super) fn take_error(&self) -> Option<LoadError> {
        self.state().error.take()
    }

    fn try_next(self: &Arc<Self>) -> Next {
        let mut state = self.state();
        let elapsed = state.began.get_or_insert_with(Instant::now).elapsed();
        if state.error.is_some() || !self.rule.goes_on(state.started, elapsed) {
            return Next::End;
        }
        let timed = self.rule.min_time > Duration::ZERO;
        if timed && state.queue.len() <= self.low && !state.making {
            state.making = true;
            tokio::spawn(Arc::clone(self).make_late());
        }
        match state.queue.pop_front() {
            None if timed => Next::Wait,
            None => Next::End,
            Some(rendered) => {
                state.started += 1;
                Next::Take(state.started - 1, rendered)
            }
        }
    }

    async fn make_late(self: Arc<Self>) {
        let from = self.state().made;
        let made = self.kitchen.cook_late(self.purpose, from..from + 4 * self.low as u64).await;
        let made = made.map(|cooked| self.serve(cooked));
        {
            let mut state = self.state();
            state.making = false;
            state.made_late += state.made - from;
            state.error = made.err();
        }
        self.more.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::BodyForm;
    use super::super::kitchen::Counts;
    use super::super::prompts::PromptMaker;
    use super::super::spec::LoadSpec;
    use super::*;

    fn kitchen() -> Arc<Kitchen> {
        let maker = PromptMaker { input: 3..=3, output: 2..=2, tokenizer: None, shared: None, seed: 1 };
        let form = BodyForm::of(&LoadSpec::new("http://h", "m"));
        Arc::new(Kitchen { maker, given: None, form, pantry: None, counts: Counts::default() })
    }

    #[test]
    fn the_rule_wants_both_minima_and_obeys_its_maximum() {
        let s = Duration::from_secs;
        let rule = StopRule { min_requests: 300, min_time: s(60), max_time: s(600) };
        assert!(rule.goes_on(299, s(61)) && rule.goes_on(5000, s(59)));
        assert!(!rule.goes_on(300, s(60)) && !rule.goes_on(2, s(600)));
        let counted = StopRule { min_requests: 3, min_time: Duration::ZERO, max_time: Duration::MAX };
        assert!(counted.goes_on(2, s(100_000)) && !counted.goes_on(3, Duration::ZERO));
    }

    #[tokio::test]
    async fn a_counted_feed_gives_each_request_once_in_order() {
        let rule = StopRule { min_requests: 5, min_time: Duration::ZERO, max_time: Duration::MAX };
        let feed = Feed::new(kitchen(), Purpose::Load, rule, 2).await.expect("made");
        let mut numbers = Vec::new();
        while let Some((index, _)) = feed.next().await {
            numbers.push(index);
        }
        assert_eq!((numbers, feed.made_late()), (vec![0, 1, 2, 3, 4], 0));
    }

    #[tokio::test]
    async fn a_timed_feed_makes_more_without_changing_what_is_sent() {
        let endless = StopRule { min_requests: 0, min_time: Duration::MAX, max_time: Duration::MAX };
        let feed = Feed::new(kitchen(), Purpose::Load, endless, 1).await.expect("made");
        let mut bodies = Vec::new();
        for wanted in 0..500 {
            let (index, rendered) = feed.next().await.expect("endless");
            assert_eq!(index, wanted);
            bodies.push(rendered.body);
        }
        assert!(feed.made_late() > 0);
        let before = kitchen().cook(Purpose::Load, 0..500).await.expect("made");
        assert!(before.iter().map(|rendered| &rendered.body).eq(&bodies));
    }
}
