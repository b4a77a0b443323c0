//! What a client that stood still for a while spoilt. The kernel keeps one time for bytes that wait together, that of the last of them:
//! chunks of one stream that are read together seem to have come at once.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::record::{Chunk, RequestRecord};

/// A client that is late by more stood still. Up to a millisecond it rests by itself.
pub(super) const STALL: Duration = Duration::from_millis(5);

/// How long a client stood still, and what came meanwhile of completed requests and has the time of a later chunk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stalled {
    /// How often it stood still for over 5 ms,
    pub times: u64,
    /// and the longest of it, in milliseconds.
    pub longest_ms: f64,
    /// Share of the first tokens that came together with what followed,
    pub first_tokens: f64,
    /// and share of all chunks that came together with another.
    pub chunks: f64,
}

/// Times at which a client read nothing, from and to, ascending.
pub(super) type Stalls = Vec<(Instant, Instant)>;

/// What they did to a load that began at `began`; none where there were none.
pub(super) fn of(stalls: &Stalls, began: Instant, records: &[RequestRecord]) -> Option<Stalled> {
    let ns = |at: &Instant| u64::try_from(at.saturating_duration_since(began).as_nanos()).unwrap_or(u64::MAX);
    let windows: Vec<(u64, u64)> = stalls.iter().map(|(from, to)| (ns(from), ns(to))).collect();
    let longest = windows.iter().map(|(from, to)| to - from).max()?;
    let inside = |at: u64| {
        let next = windows.partition_point(|(_, to)| *to < at);
        windows.get(next).is_some_and(|(from, _)| *from <= at)
    };
    let (mut first, mut requests, mut together, mut all) = (0_u64, 0_u64, 0_u64, 0_u64);
    for record in records.iter().filter(|r| r.is_completed()) {
        let lumps = lumps(record.chunks.iter(), inside);
        requests += 1;
        first += u64::from(lumps.first);
        together += lumps.chunks;
        all += lumps.all;
    }
    let share = |part: u64, of: u64| if of > 0 { part as f64 / of as f64 } else { 0.0 };
    Some(Stalled {
        times: windows.len() as u64,
        longest_ms: longest as f64 / 1e6,
        first_tokens: share(first, requests),
        chunks: share(together, all),
    })
}

/// Chunks of one stream that have the time of another, of a moment `inside` a stall.
struct Lumps {
    /// The first chunk is one of them.
    first: bool,
    chunks: u64,
    all: u64,
}

fn lumps(chunks: impl Iterator<Item = Chunk>, inside: impl Fn(u64) -> bool) -> Lumps {
    let mut found = Lumps { first: false, chunks: 0, all: 0 };
    // how many have the present time so far, where that is inside a stall
    let (mut at, mut alike) = (None, 0);
    for chunk in chunks {
        found.all += 1;
        if at != Some(chunk.at_ns()) {
            (at, alike) = (Some(chunk.at_ns()), 1);
            continue;
        }
        alike += 1;
        if !inside(chunk.at_ns()) {
            continue;
        }
        found.chunks += if alike == 2 { 2 } else { 1 };
        found.first |= alike == found.all;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_together_within_a_stall_is_spoilt() {
        let chunks = |times: &[u64]| {
            let chunk = |(n, at): (u32, &u64)| Chunk(*at, n);
            lumps((1..).zip(times).map(chunk).collect::<Vec<_>>().into_iter(), |at| (100..=200).contains(&at))
        };
        let seen = |times: &[u64]| {
            let lumps = chunks(times);
            (lumps.first, lumps.chunks, lumps.all)
        };
        assert_eq!(seen(&[]), (false, 0, 0));
        assert_eq!(seen(&[10, 110, 150, 300]), (false, 0, 4), "each was read by itself");
        assert_eq!(seen(&[10, 10, 10, 300]), (false, 0, 4), "the server sent them together");
        assert_eq!(seen(&[10, 150, 150, 150, 300]), (false, 3, 5));
        assert_eq!(seen(&[150, 150, 180, 300]), (true, 2, 4));
    }
}
