//! What is never lost: the journal of a study, its lock, and recordings of runs that others made.

pub mod event;
mod lock;
mod reader;
pub mod recording;
mod writer;

pub use event::{Contained, Event, Kind, LaunchTimes};
pub use lock::{Lock, LockError};
pub use reader::{History, JournalError, LaunchRecord, read};
pub use recording::{Recording, RecordingError};
pub use writer::Writer;

/// The journal's file in a state directory.
pub const FILE: &str = "journal.jsonl";
