//! How many requests were in flight when: the peak, and the window in which the server was as loaded as it
//! got.

use super::record::RequestRecord;

/// Share of the peak from which on the load counts as full.
const FULL: f64 = 0.95;

/// Requests in flight over the time of a load.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct InFlight {
    /// The most at one time.
    pub peak: u64,
    /// From the first to the last moment with at least 95 % of the peak, in nanoseconds since the load's
    /// start.
    pub steady_ns: Option<(u64, u64)>,
}

impl InFlight {
    /// From the times of sending and ending; requests of any outcome were in flight.
    pub(super) fn of(records: &[RequestRecord]) -> Self {
        let mut steps: Vec<(u64, i64)> =
            records.iter().flat_map(|r| [(r.sent_ns, 1), (r.end_ns, -1)]).collect();
        // at the same moment ends come first: a client that sends its next request has one in flight, not two
        steps.sort_unstable();
        let levels: Vec<(u64, i64)> = steps
            .iter()
            .scan(0, |level, (at, step)| {
                *level += step;
                Some((*at, *level))
            })
            .collect();
        let peak = levels.iter().map(|(_, level)| *level).max().unwrap_or(0);
        let full = |level: i64| peak > 0 && level as f64 >= FULL * peak as f64;
        let from = levels.iter().find(|(_, level)| full(*level)).map(|(at, _)| *at);
        // the level stands until the next step
        let to = levels.windows(2).rev().find(|pair| full(pair[0].1)).map(|pair| pair[1].0);
        Self { peak: peak.max(0) as u64, steady_ns: from.zip(to).filter(|(from, to)| from < to) }
    }
}
