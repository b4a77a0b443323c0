//! Failures of the machine are no results: the launch is made again, a few times, after a pause.

use std::collections::HashMap;
use std::time::Duration;

/// The pauses before a launch is made again. What took memory or a disk's room may be gone by then; after the last of
/// them the failure counts, so that a machine that stays broken does not hold a study up for ever.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// How often each configuration was set back in this invocation since it last came through.
#[derive(Debug, Default)]
pub struct Setbacks {
    counts: HashMap<String, usize>,
}

/// What follows from a setback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// the how manieth
    pub n: usize,
    pub of: usize,
    pub pause: Duration,
}

impl Setbacks {
    /// What would follow from another one; `None`: the launch will not be made again, whatever becomes of it.
    pub fn next(&self, config_id: &str) -> Option<Retry> {
        let count = self.counts.get(config_id).copied().unwrap_or(0);
        Some(Retry { n: count + 1, of: PAUSES.len(), pause: *PAUSES.get(count)? })
    }

    /// Counts one more.
    pub fn add(&mut self, config_id: &str) {
        *self.counts.entry(config_id.to_owned()).or_default() += 1;
    }

    /// The machine is well again.
    pub fn forget(&mut self, config_id: &str) {
        self.counts.remove(config_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_bounded_and_ever_later() {
        let mut setbacks = Setbacks::default();
        let first = setbacks.next("a").expect("a first retry");
        setbacks.add("a");
        let second = setbacks.next("a").expect("a second");
        assert_eq!((first.n, second.n, second.of), (1, 2, 2));
        assert!(first.pause < second.pause);
        setbacks.add("a");
        assert!(setbacks.next("a").is_none() && setbacks.next("b").is_some());
        setbacks.forget("a");
        assert!(setbacks.next("a").is_some());
    }
}
