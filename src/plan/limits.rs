//! What a load bounds by itself: how many requests a percentile stands on, and how many are in flight at most. Results are held against
//! it, and so is the file, before anything runs.

use crate::lang::sema::Stat;
use crate::lang::sema::program::{Expr, Load, Profile};

/// Requests that a percentile far out takes, so that with 95 % confidence one lies beyond it: ln 0.05 / ln q. `None` of one further in.
pub fn far_out_needs(stat: Stat) -> Option<u64> {
    match stat {
        Stat::P99 => Some(299),
        Stat::P999 => Some(2995),
        _ => None,
    }
}

/// The flag that says how many requests an engine serves at once.
pub const BATCH: &str = "--max-num-seqs";

/// The percentile furthest out that an expression reads, as people write it, and how many requests it takes.
pub fn far_out(expr: &Expr) -> Option<(String, u64)> {
    let mut found: Option<(String, u64)> = None;
    expr.walk(&mut |e| {
        if let Expr::Metric { name, stat: Some(stat), .. } = e
            && let Some(needs) = far_out_needs(*stat)
            && found.as_ref().is_none_or(|(_, most)| needs > *most)
        {
            found = Some((format!("{}({name})", stat.name()), needs));
        }
    });
    found
}

/// How many requests a load sends, as far as the file says it: those that it states, or as many as come at its rate while it lasts, which
/// are an average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sent {
    Stated(u64),
    OnAverage(u64),
}

impl Sent {
    pub fn by(profile: &Profile) -> Option<Self> {
        match (profile.requests, profile.duration_s, &profile.load) {
            (Some(n), ..) => Some(Self::Stated(n)),
            (None, Some(s), Some(Load::Rate { per_s, .. })) => {
                Some(Self::OnAverage((per_s * s).round() as u64))
            }
            _ => None,
        }
    }

    pub fn count(self) -> u64 {
        let (Self::Stated(n) | Self::OnAverage(n)) = self;
        n
    }
}

impl std::fmt::Display for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n = self.count();
        let s = if n == 1 { "" } else { "s" };
        match self {
            Self::Stated(_) => write!(f, "{n} request{s}"),
            Self::OnAverage(_) => write!(f, "about {n} request{s}"),
        }
    }
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
