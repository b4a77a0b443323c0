//! The journal, as launches side by side write it: one line at a time, each on disk before its writer goes on.

use std::cell::{Ref, RefCell};
use std::time::SystemTime;

use crate::journal::{History, JournalError, Kind, Writer};

/// One writer, many who have something to write, all of one thread: whoever reads may ask others who read too.
pub struct Ledger(RefCell<Writer>);

impl Ledger {
    pub fn new(writer: Writer) -> Self {
        Self(RefCell::new(writer))
    }

    /// Writes one event; it is on disk when this returns.
    pub fn append(&self, kind: Kind) -> Result<(), JournalError> {
        self.0.borrow_mut().append(kind)
    }

    /// Sees that the journal is where it was made; the error says where it was written anew.
    pub fn keep_in_place(&self) -> Result<(), JournalError> {
        self.0.borrow_mut().keep_in_place()
    }

    /// Seconds since this invocation began.
    pub fn elapsed_s(&self) -> f64 {
        self.0.borrow().elapsed_s()
    }

    /// When the journal was last written before this invocation, by the wall clock; `None` where there was none.
    pub fn last_word(&self) -> Option<SystemTime> {
        self.0.borrow().last_word()
    }

    /// What it tells. Nobody can write while this is held, which is a defect and ends perflab: it lives for a statement or is dropped by
    /// hand, never over one that appends.
    pub fn history(&self) -> Ref<'_, History> {
        Ref::map(self.0.borrow(), Writer::history)
    }
}
