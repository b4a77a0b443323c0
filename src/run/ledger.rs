//! The journal, as launches side by side write it: one line at a time, each on disk before its writer goes on.

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::journal::{History, JournalError, Kind, Writer};

/// One writer, many who have something to write.
pub struct Ledger(Mutex<Writer>);

impl Ledger {
    pub fn new(writer: Writer) -> Self {
        Self(Mutex::new(writer))
    }

    /// Writes one event; it is on disk when this returns.
    pub fn append(&self, kind: Kind) -> Result<(), JournalError> {
        self.writer().append(kind)
    }

    /// Sees that the journal is where it was made; the error says where it was written anew.
    pub fn keep_in_place(&self) -> Result<(), JournalError> {
        self.writer().keep_in_place()
    }

    /// Seconds since this invocation began.
    pub fn elapsed_s(&self) -> f64 {
        self.writer().elapsed_s()
    }

    /// When the journal was last written before this invocation, by the wall clock; `None` where there was none.
    pub fn last_word(&self) -> Option<SystemTime> {
        self.writer().last_word()
    }

    /// What it tells. Nobody can write while this is held: it lives for a statement, never over one that appends.
    pub fn history(&self) -> impl Deref<Target = History> + '_ {
        Reading(self.writer())
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Reading<'a>(MutexGuard<'a, Writer>);

impl Deref for Reading<'_> {
    type Target = History;

    fn deref(&self) -> &History {
        self.0.history()
    }
}
