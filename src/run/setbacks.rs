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
    /// The launch will not be made again, whatever becomes of it.
    pub fn is_last_try(&self, config_id: &str) -> bool {
        self.counts.get(config_id).is_some_and(|n| *n >= PAUSES.len())
    }

    /// Counts one more.
    pub fn add(&mut self, config_id: &str) -> Retry {
        let count = self.counts.entry(config_id.to_owned()).or_default();
        *count += 1;
        Retry { n: *count, of: PAUSES.len(), pause: PAUSES[(*count - 1).min(PAUSES.len() - 1)] }
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
        assert!(!setbacks.is_last_try("a"));
        let first = setbacks.add("a");
        let second = setbacks.add("a");
        assert_eq!((first.n, second.n, second.of), (1, 2, 2));
        assert!(first.pause < second.pause);
        assert!(setbacks.is_last_try("a") && !setbacks.is_last_try("b"));
        setbacks.forget("a");
        assert!(!setbacks.is_last_try("a"));
    }
}
