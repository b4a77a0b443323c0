//! What is never lost: the journal of a study, its lock, and recordings of runs that others made.

mod costs;
mod edits;
pub mod event;
mod history;
mod lean;
mod lines;
mod lock;
mod made;
pub mod moved;
mod plain;
mod reader;
pub mod recording;
mod records;
mod running;
mod seal;
mod spare;
mod writer;

pub use event::{Contained, Event, Installed, Kind, LaunchTimes, Neighbourhood, Opened, Says, Slot, Spelled};
pub use history::History;
pub use lock::{Lock, LockError, Owner};
pub use made::{ClientTrial, Conditions, Machine};
pub use moved::{Moved, PUT_BACK, between};
pub use reader::{JournalError, Requests, Tail, read};
pub use recording::{Recording, RecordingError};
pub use records::{Aside, FRESH, LaunchRecord, RunRecord, SessionRecord};
pub use running::Running;
pub use seal::seal;
pub use writer::Writer;

/// The journal's file in a state directory.
pub const FILE: &str = "journal.jsonl";
