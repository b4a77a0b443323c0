//! Turns a spec into what is sent: for the load, and for the warm-up that precedes it in the same manner.

use std::sync::Arc;
use std::time::Duration;

use super::arrivals::{Arrivals, schedule, traced, traced_rate};
use super::drive::Source;
use super::error::LoadError;
use super::feed::{Feed, StopRule};
use super::kitchen::Kitchen;
use super::seeds::Purpose;
use super::spec::{LoadSpec, Stop, Warmup};
use super::talks::Talks;
use super::warmup::SettleRule;
use crate::data::{Content, Source as DataSource};

/// `Stop::Auto`: at least so many requests in all and per client, and within these times.
const AUTO_REQUESTS: u64 = 300;
const AUTO_PER_SLOT: u64 = 10;
const AUTO_TIME: Duration = Duration::from_mins(1);
const AUTO_MOST: Duration = Duration::from_mins(10);

/// Prepared requests and how many there are, where that is known.
#[derive(Debug)]
pub(super) struct Plan {
    pub source: Source,
    pub planned: Option<u64>,
}

/// How many requests the profile means to have in flight, as far as it says: its clients, else its cap, else
/// one.
pub(super) fn slots(spec: &LoadSpec) -> usize {
    match (spec.arrivals, spec.stop) {
        (Arrivals::Closed { concurrency }, _) => concurrency,
        (Arrivals::AllAtOnce, Stop::Requests(n)) => {
            usize::try_from(n).unwrap_or(usize::MAX).min(spec.in_flight.unwrap_or(usize::MAX))
        }
        _ => spec.in_flight.unwrap_or(1),
    }
}

/// How many connections the load begins with: one for each slot; where there are none, for what comes within a tenth of a second. A
/// request that has to open one of its own goes out late, and a connection without a request may hold up a small server.
pub(super) fn first_connections(spec: &LoadSpec, source: &Source) -> usize {
    const SOON: f64 = 0.1;
    const MOST: f64 = 64.0;
    if let (Arrivals::Trace { .. }, None, Source::Open { requests, .. }) =
        (spec.arrivals, spec.in_flight, source)
    {
        return busiest(requests, Duration::from_secs_f64(SOON)).clamp(1, MOST as usize);
    }
    let rate = match spec.arrivals {
        Arrivals::Through(pace) => Some(pace.mean()),
        arrivals => arrivals.rate(),
    };
    match (rate, spec.in_flight) {
        (Some(rate), None) => (rate * SOON).clamp(1.0, MOST) as usize,
        _ => slots(spec),
    }
}

/// The most requests that come within so long a time.
fn busiest<T>(requests: &[(Duration, T)], within: Duration) -> usize {
    let mut from = 0;
    let counts = requests.iter().enumerate().map(|(at, (time, _))| {
        while time.saturating_sub(requests[from].0) > within {
            from += 1;
        }
        at + 1 - from
    });
    counts.max().unwrap_or(0)
}

/// The load itself.
pub(super) async fn of_load(spec: &LoadSpec, kitchen: &Arc<Kitchen>) -> Result<Plan, LoadError> {
    let rule = load_rule(spec);
    if let Some(talks) = talks(spec, kitchen, rule).await? {
        return talking(spec, Arc::new(talks));
    }
    match spec.arrivals {
        Arrivals::Closed { concurrency } => closed(kitchen, Purpose::Load, rule, concurrency).await,
        arrivals => open(spec, kitchen, Purpose::Load, arrivals, rule).await,
    }
}

/// The load's conversations, if it has any.
async fn talks(spec: &LoadSpec, kitchen: &Arc<Kitchen>, rule: StopRule) -> Result<Option<Talks>, LoadError> {
    let Some(DataSource::Conversations(how)) = spec.data.as_deref().map(|data| &data.source) else {
        return Ok(None);
    };
    let Some(Content::Talks(all)) = kitchen.given.as_deref() else { return Ok(None) };
    let (all, how, form, seed) = (Arc::clone(all), how.clone(), kitchen.form.clone(), spec.seed);
    let made = tokio::task::spawn_blocking(move || Talks::new(all, &how, form, seed, rule)).await;
    made.map_err(|e| LoadError::Task(e.to_string()))?.map(Some)
}

/// What arrives are people.
fn talking(spec: &LoadSpec, talks: Arc<Talks>) -> Result<Plan, LoadError> {
    let (planned, conversations) = (talks.requests(), talks.planned());
    let source = match spec.arrivals {
        Arrivals::Closed { concurrency } => {
            let most = conversations.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
            Source::Talking { slots: concurrency.min(most), talks }
        }
        arrivals => {
            let more = |count, at| conversations.map_or_else(|| talks.rule.goes_on(count, at), |n| count < n);
            let times = schedule(arrivals, spec.seed, more)?;
            Source::Arriving { times, talks, cap: spec.in_flight }
        }
    };
    Ok(Plan { source, planned })
}

/// The warm-up; none if the spec wants none.
pub(super) async fn of_warmup(
    spec: &LoadSpec,
    kitchen: &Arc<Kitchen>,
    settle: SettleRule,
) -> Result<Option<Plan>, LoadError> {
    let rule = match spec.warmup {
        Warmup::None | Warmup::Requests(0) => return Ok(None),
        Warmup::Requests(n) => counted(n),
        Warmup::Time(time) => timed(time),
        Warmup::Auto => timed(settle.limit),
    };
    let endless = rule.min_time > Duration::ZERO;
    // its requests are single ones, and as many as those of the load
    let plan = match spec.arrivals.times(kitchen.requests_each()) {
        // a burst has no length in time: its clients are kept busy instead
        Arrivals::AllAtOnce if endless => closed(kitchen, Purpose::Warmup, rule, slots(spec)).await?,
        Arrivals::Closed { concurrency } => closed(kitchen, Purpose::Warmup, rule, concurrency).await?,
        // a rate that changes never settles
        Arrivals::Through(pace) => {
            let even = Arrivals::Poisson { rate: pace.mean() };
            open(spec, kitchen, Purpose::Warmup, even, rule).await?
        }
        Arrivals::Trace { slowdown } => match traced_rate(kitchen.trace(), slowdown) {
            Some(rate) => open(spec, kitchen, Purpose::Warmup, Arrivals::Poisson { rate }, rule).await?,
            None => closed(kitchen, Purpose::Warmup, rule, slots(spec)).await?,
        },
        arrivals => open(spec, kitchen, Purpose::Warmup, arrivals, rule).await?,
    };
    Ok(Some(plan))
}

fn counted(requests: u64) -> StopRule {
    StopRule { min_requests: requests, min_time: Duration::ZERO, max_time: Duration::MAX }
}

fn timed(time: Duration) -> StopRule {
    StopRule { min_requests: 0, min_time: time, max_time: time }
}

fn load_rule(spec: &LoadSpec) -> StopRule {
    match spec.stop {
        Stop::Requests(n) => counted(n),
        Stop::Duration(time) => timed(time),
        Stop::Auto => {
            let requests = AUTO_REQUESTS.max(AUTO_PER_SLOT.saturating_mul(slots(spec) as u64));
            // all at once has no time that could pass before the last is sent
            let min_time = if spec.arrivals == Arrivals::AllAtOnce { Duration::ZERO } else { AUTO_TIME };
            StopRule { min_requests: requests, min_time, max_time: AUTO_MOST }
        }
    }
}

async fn closed(
    kitchen: &Arc<Kitchen>,
    purpose: Purpose,
    rule: StopRule,
    clients: usize,
) -> Result<Plan, LoadError> {
    let planned =
        (rule.min_time == Duration::ZERO && rule.max_time == Duration::MAX).then_some(rule.min_requests);
    let slots = planned.map_or(clients, |n| clients.min(usize::try_from(n).unwrap_or(usize::MAX)));
    let feed = Feed::new(Arc::clone(kitchen), purpose, rule, slots).await?;
    Ok(Plan { source: Source::Closed { slots, feed }, planned })
}

async fn open(
    spec: &LoadSpec,
    kitchen: &Arc<Kitchen>,
    purpose: Purpose,
    arrivals: Arrivals,
    rule: StopRule,
) -> Result<Plan, LoadError> {
    let more = |count, at| rule.goes_on(count, at);
    let times = match arrivals {
        Arrivals::Trace { slowdown } => traced(kitchen.trace(), slowdown, more)?,
        arrivals => schedule(arrivals, spec.seed, more)?,
    };
    let planned = times.len() as u64;
    let rendered = kitchen.cook(purpose, 0..planned).await?;
    let requests = times.into_iter().zip(rendered).collect();
    Ok(Plan { source: Source::Open { requests, cap: spec.in_flight }, planned: Some(planned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(arrivals: Arrivals, stop: Stop) -> LoadSpec {
        LoadSpec { arrivals, stop, ..LoadSpec::new("http://h", "m") }
    }

    #[test]
    fn the_default_length_grows_with_the_clients() {
        let rule = |concurrency| load_rule(&spec(Arrivals::Closed { concurrency }, Stop::Auto));
        assert_eq!((rule(8).min_requests, rule(64).min_requests), (300, 640));
        assert_eq!((rule(8).min_time, rule(8).max_time), (AUTO_TIME, AUTO_MOST));
        let mut burst = spec(Arrivals::AllAtOnce, Stop::Auto);
        burst.in_flight = Some(50);
        assert_eq!((load_rule(&burst).min_requests, load_rule(&burst).min_time), (500, Duration::ZERO));
    }

    #[test]
    fn an_open_loop_begins_with_the_connections_of_its_first_moments() {
        let at = |rate, in_flight| {
            let spec = spec(Arrivals::Poisson { rate }, Stop::Requests(10));
            let source = Source::Open { requests: Vec::new(), cap: in_flight };
            first_connections(&LoadSpec { in_flight, ..spec }, &source)
        };
        assert_eq!((at(0.5, None), at(200.0, None), at(9000.0, None)), (1, 20, 64));
        assert_eq!(at(200.0, Some(8)), 8);
        let times = [0, 900, 950, 990, 1000, 1001, 2000].map(|ms| (Duration::from_millis(ms), ()));
        assert_eq!(busiest(&times, Duration::from_millis(100)), 4);
        assert_eq!(busiest::<()>(&[], Duration::from_millis(100)), 0);
    }

    #[test]
    fn default_schedules_have_both_minima() {
        let count = |rate| {
            let spec = spec(Arrivals::Constant { rate }, Stop::Auto);
            let rule = load_rule(&spec);
            schedule(spec.arrivals, 1, |count, at| rule.goes_on(count, at)).expect("sound").len()
        };
        assert_eq!(count(100.0), 6000, "60 s");
        assert_eq!(count(1.0), 300, "300 requests");
        assert_eq!(count(0.1), 60, "10 min");
    }
}
