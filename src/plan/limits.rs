//! What a load bounds by itself: how many requests a percentile stands on, and how many are in flight at most. Results are held against
//! it, and so is the file, before anything runs.

use crate::lang::sema::Stat;
use crate::lang::sema::program::{Expr, Load, Profile};

/// Requests that a percentile far out takes, to hold with 95 % confidence that one lies beyond it.
pub const FAR_OUT_NEEDS: u64 = 299;

/// The flag that says how many requests an engine serves at once.
pub const BATCH: &str = "--max-num-seqs";

/// Whether a percentile is so far out.
pub fn is_far_out(stat: Option<Stat>) -> bool {
    matches!(stat, Some(Stat::P99 | Stat::P999))
}

/// The first percentile far out that an expression reads, as people write it.
pub fn far_out(expr: &Expr) -> Option<String> {
    let mut found = None;
    expr.walk(&mut |e| {
        if let Expr::Metric { name, stat: Some(stat), .. } = e
            && is_far_out(Some(*stat))
        {
            found.get_or_insert_with(|| format!("{}({name})", stat.name()));
        }
    });
    found
}

/// How many requests the client keeps in flight at most.
pub fn most_in_flight(profile: &Profile) -> Option<u32> {
    match &profile.load {
        Some(Load::Concurrency(c)) => Some(*c),
        _ => profile.in_flight,
    }
}

/// The batch limit that never decides under so many requests in flight.
pub fn never_binds(batch: i64, in_flight: u32) -> bool {
    batch >= i64::from(in_flight)
}
