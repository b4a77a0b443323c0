//! What the load generator can do here: for `perflab doctor --client`, as lines of the doctor's page, and before a long study.

use std::fmt::Write as _;

use super::console::Console;
use super::descriptors;
use crate::doctor::{Finding, Level, Topic};
use crate::journal::ClientTrial;
use crate::lang::sema::program::{Load, Profile};
use crate::load::{LoadError, SelfTest, SelfTestFacts, self_test};
use crate::run::{self, Execution};

/// Above this, in milliseconds, results of the load would be flagged,
const LATE_MS: f64 = 5.0;
/// and above this refused.
const TOO_LATE_MS: f64 = 20.0;
/// Means that are off by more than this, in milliseconds, are told,
const OFF_MS: Errors = Errors { ttft: 1.0, itl: 0.2 };
/// and beyond this the client measures itself.
const FAR_OFF_MS: Errors = Errors { ttft: TOO_LATE_MS, itl: 2.0 };
/// A thread that is busy for more of the time has no room for what comes at once.
const BUSY: f64 = 0.8;
/// Share of the chunks that have to come in time.
const ENOUGH: f64 = 0.95;

/// What a stream brings where nothing says it, tokens a second; the doctor's own.
pub const TOKENS_PER_S: f64 = 40.0;

/// How far means may be off the server's own, in milliseconds.
struct Errors {
    ttft: f64,
    itl: f64,
}

impl Errors {
    /// What is further off: "the mean TTFT is off by 6.45 ms, over 1 ms".
    fn passed(&self, facts: &SelfTestFacts) -> Option<String> {
        let each = [("TTFT", facts.ttft_error_ms, self.ttft), ("ITL", facts.itl_error_ms, self.itl)];
        let over = each.into_iter().filter_map(|(name, error, limit)| {
            let error = error.filter(|error| error.abs() > limit)?;
            Some(format!("the mean {name} is off by {}, over {limit} ms", ms(error)))
        });
        over.reduce(|a, b| format!("{a}, and {b}"))
    }
}

/// Tries the client, on the processors that it will have, with the largest of these loads, unless an earlier invocation has found it to
/// be enough for as much on this machine as it is. What is not enough is told and goes on: each load is judged by its own client all the
/// same, and a machine may be busy for three seconds only.
pub(super) fn before<'p>(
    x: &Execution<'_>,
    profiles: impl Iterator<Item = &'p Profile>,
    cpus: Vec<usize>,
    console: Console,
) -> Option<ClientTrial> {
    // of a load that does not say how large it is, nothing would be shown
    let most = profiles.map(streams).max().filter(|most| *most > 0)?;
    let streams = u32::try_from(most).unwrap_or(u32::MAX);
    let tried = u32::try_from(descriptors::room().max(1)).unwrap_or(u32::MAX).min(streams);
    let here = run::machine();
    let known = x.journal.history().sessions().iter().any(|session| {
        let of_here = session.machine.as_ref() == Some(&here);
        of_here && session.client.as_ref().is_some_and(|trial| trial.enough && trial.streams >= streams)
    });
    if known {
        return None;
    }
    let test = SelfTest { streams: tried, tokens_per_s: TOKENS_PER_S, cpus };
    console.say(&format!(
        "trying the load generator for some seconds, with the {tried} streams of the study's largest load"
    ));
    let (enough, seen) = match run(&test) {
        Ok(facts) => {
            let line = findings(&test, &facts).remove(0);
            (line.level == Level::Ok, line.text)
        }
        Err(error) => (false, error.to_string()),
    };
    let mut said = format!("the load generator was tried before the study: {seen}");
    if tried < streams {
        let _ = write!(
            said,
            "; the study's largest load has {streams} streams, more than `ulimit -n` leaves for a trial"
        );
    }
    Some(ClientTrial { streams, tokens_per_s: TOKENS_PER_S, enough: enough && tried == streams, text: said })
}

/// Streams of a load at one time, as far as it says; of a rate, what comes while one answer is written.
fn streams(p: &Profile) -> u64 {
    const ANSWER: u32 = 200;
    let answer_s = f64::from(p.output.map_or(ANSWER, |(_, most)| most)) / TOKENS_PER_S;
    let per_s = match p.load {
        Some(Load::Rate { per_s, .. }) => per_s,
        Some(Load::RateRange { from, to, .. }) => to.unwrap_or(from),
        Some(Load::Rates(ref rates, _)) => rates.iter().copied().fold(0.0, f64::max),
        _ => 0.0,
    };
    let closed = match &p.load {
        Some(Load::Concurrencies(all)) => all.iter().max().map(|n| u64::from(*n)),
        Some(Load::ConcurrencyRange { from, to }) => Some(u64::from(to.unwrap_or(*from))),
        _ => descriptors::streams(p),
    };
    let at_once = closed.unwrap_or((per_s * answer_s).ceil() as u64);
    p.in_flight.map_or(at_once, |cap| at_once.min(u64::from(cap)))
}

/// Tries the client for some seconds.
pub(super) fn run(test: &SelfTest) -> Result<SelfTestFacts, LoadError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(LoadError::Thread)?.block_on(self_test(test))
}

/// What it means for such a load.
pub(super) fn findings(test: &SelfTest, facts: &SelfTestFacts) -> Vec<Finding> {
    let wanted = f64::from(test.streams) * test.tokens_per_s;
    let tried = facts.streams as f64 * test.tokens_per_s;
    let mut said = vec![format!(
        "{:.0} of {tried:.0} chunks/s in {} streams, where a load of {} has {wanted:.0}",
        facts.chunks_per_s, facts.streams, test.streams
    )];
    let numbers = [
        ("client", facts.client_cores.map(|cores| format!("{:.0} % of a core", cores * 100.0))),
        ("event-loop lag p99", facts.loop_lag_p99_ms.map(ms)),
        ("schedule lag p99", facts.schedule_lag_p99_ms.map(ms)),
        ("error of mean TTFT", facts.ttft_error_ms.map(ms)),
        ("error of mean ITL", facts.itl_error_ms.map(ms)),
        ("the null server late by p99", facts.server_late_p99_ms.map(ms)),
    ];
    said.extend(numbers.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))));
    vec![judged(facts, tried, &said.join("; "))]
}

fn judged(facts: &SelfTestFacts, tried: f64, said: &str) -> Finding {
    let late = facts.loop_lag_p99_ms.unwrap_or(0.0);
    let fix = "fewer streams, a machine that does nothing else, or cores of its own (`--pin-client`)";
    if facts.failed > 0 {
        let why = format!("{} requests failed: {said}", facts.failed);
        return Finding::fail(Topic::Client, why, "`ulimit -n` bounds the streams: raise it");
    }
    if late > TOO_LATE_MS {
        return Finding::fail(Topic::Client, format!("too slow, results would be refused: {said}"), fix);
    }
    if let Some(off) = FAR_OFF_MS.passed(facts) {
        return Finding::fail(Topic::Client, format!("too slow, {off}: {said}"), fix);
    }
    let slow = facts.chunks_per_s < tried * ENOUGH || facts.client_cores.is_some_and(|cores| cores > BUSY);
    if late > LATE_MS || slow {
        return Finding::warn(Topic::Client, format!("barely enough: {said}"), fix);
    }
    if let Some(off) = OFF_MS.passed(facts) {
        return Finding::warn(Topic::Client, format!("barely enough, {off}: {said}"), fix);
    }
    Finding::ok(Topic::Client, format!("enough: {said}"))
}

fn ms(value: f64) -> String {
    format!("{value:.2} ms")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn a_client_is_judged_by_its_lag_its_work_and_what_it_received() {
        let test = SelfTest { streams: 100, tokens_per_s: 40.0, cpus: Vec::new() };
        let well = SelfTestFacts {
            streams: 150,
            chunks_per_s: 5990.0,
            failed: 0,
            ttft_error_ms: Some(0.2),
            itl_error_ms: Some(0.0),
            schedule_lag_p99_ms: Some(0.1),
            loop_lag_p99_ms: Some(1.2),
            client_cores: Some(0.1),
            server_late_p99_ms: None,
        };
        let level = |facts| findings(&test, &facts)[0].level;
        assert_eq!(level(well), Level::Ok);
        assert_eq!(level(SelfTestFacts { loop_lag_p99_ms: Some(6.0), ..well }), Level::Warn);
        assert_eq!(level(SelfTestFacts { chunks_per_s: 5000.0, ..well }), Level::Warn);
        assert_eq!(level(SelfTestFacts { client_cores: Some(0.9), ..well }), Level::Warn);
        assert_eq!(level(SelfTestFacts { loop_lag_p99_ms: Some(30.0), ..well }), Level::Fail);
        assert_eq!(level(SelfTestFacts { failed: 1, ..well }), Level::Fail);
        for (error, judged) in
            [(0.9, Level::Ok), (6.45, Level::Warn), (-6.45, Level::Warn), (21.0, Level::Fail)]
        {
            assert_eq!(level(SelfTestFacts { ttft_error_ms: Some(error), ..well }), judged, "{error}");
        }
        for (error, judged) in [(0.1, Level::Ok), (0.3, Level::Warn), (2.1, Level::Fail)] {
            assert_eq!(level(SelfTestFacts { itl_error_ms: Some(error), ..well }), judged, "{error}");
        }
        let off = SelfTestFacts { ttft_error_ms: Some(6.45), ..well };
        let line = &findings(&test, &off)[0].text;
        assert!(line.starts_with("barely enough, the mean TTFT is off by 6.45 ms, over 1 ms: "), "{line}");
        let line = &findings(&test, &well)[0].text;
        assert!(line.starts_with("enough: 5990 of 6000 chunks/s in 150 streams"), "{line}");
        assert!(line.contains("10 % of a core") && !line.contains("null server"), "{line}");
    }
}
