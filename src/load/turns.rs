//! What conversations add to a load's numbers: each turn's own time to the first token.

use std::collections::BTreeMap;

use serde::Serialize;

use super::dist::Dist;
use super::record::RequestRecord;

/// One turn of all conversations that came to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnFacts {
    /// Its number, from 1.
    pub turn: u32,
    /// Requests that ended properly.
    pub completed: u64,
    /// Requests that did not: their conversations ended with them.
    pub failed: u64,
    /// Prompt tokens on average.
    pub input_tokens_mean: Option<f64>,
    /// From sending to the first token.
    pub ttft_ms: Option<Dist>,
}

/// The turns of a load's conversations; none where it had none.
pub fn turns(records: &[RequestRecord]) -> Vec<TurnFacts> {
    let mut by_turn: BTreeMap<u32, Vec<&RequestRecord>> = BTreeMap::new();
    for record in records {
        if let Some(place) = record.turn {
            by_turn.entry(place.turn).or_default().push(record);
        }
    }
    by_turn.into_iter().map(|(turn, records)| facts(turn, &records)).collect()
}

fn facts(turn: u32, records: &[&RequestRecord]) -> TurnFacts {
    let completed: Vec<&&RequestRecord> = records.iter().filter(|r| r.is_completed()).collect();
    let ttft = |r: &&&RequestRecord| Some(r.first_token_ns?.saturating_sub(r.sent_ns) as f64 / 1e6);
    let tokens: u64 = completed.iter().map(|r| u64::from(r.input_tokens())).sum();
    let count = completed.len() as u64;
    TurnFacts {
        turn,
        completed: count,
        failed: records.len() as u64 - count,
        input_tokens_mean: (count > 0).then(|| tokens as f64 / count as f64),
        ttft_ms: Dist::of(completed.iter().filter_map(ttft).collect()),
    }
}
