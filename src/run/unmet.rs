//! Why a server that somebody else runs is not measured. One that is away may be back when the same command is run again; one that
//! answers and is not what the file and the site say will not.

use thiserror::Error;

/// A server that was asked before it was loaded, and is not.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{why}")]
pub struct Unmet {
    pub why: String,
    /// who waits may meet it: it cannot be reached, or is not ready
    pub may_pass: bool,
}

impl Unmet {
    /// It cannot be reached, or is not ready.
    pub fn away(why: impl Into<String>) -> Self {
        Self { why: why.into(), may_pass: true }
    }

    /// It answers, and somebody has to mend the file, the site or the server.
    pub fn wrong(why: impl Into<String>) -> Self {
        Self { why: why.into(), may_pass: false }
    }

    /// It answers with a status that is no success: one that has too much to do, or that starts, says another one later.
    pub fn of_status(status: u16, why: String) -> Self {
        Self { why, may_pass: matches!(status, 408 | 429 | 500..=599) }
    }
}
