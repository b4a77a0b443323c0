//! One server process, from spawn to gone.
//!
//! perflab never spawns an engine itself. It re-executes itself as a small *guard* process that owns the
//! engine's whole tree: when perflab dies, however it dies, a pipe ends and the guard kills everything. This
//! side of the pipe knows the language of users: readiness, deadlines, reasons for a failed start.

pub mod caches;
mod capped_log;
pub mod container;
pub mod control_groups;
mod course;
pub mod environment;
mod error;
pub mod failure;
mod guard;
mod keeper;
pub mod lifecycle;
mod listening;
pub mod lookups;
mod masked_log;
mod memory;
mod mounts;
mod novelty;
mod originals;
mod port;
mod processes;
mod program;
mod progress;
mod protocol;
mod ready;
mod scratch;
mod server;
mod spec;
mod stamp;
mod start;
mod survivor;
mod sweep;
mod unstarted;
mod vigil;

pub use course::LaunchEvent;
pub use error::{Limit, StartError};
pub use failure::{Failure, FailurePattern, Nature};
pub use guard::guard_main;
pub use port::{free_port, is_free, listeners_if_told, reach_self};
pub use progress::{Milestone, Progress};
pub use protocol::Exit;
pub use scratch::{Kept, kept_scratch, sweep_scratch};
pub use server::{Server, StopReport};
pub use spec::{LOG_NAME, LaunchSpec, MARK, Ready, Stop};
pub use start::start;
pub use survivor::Survivor;
pub use sweep::{Marked, adopt_orphans, find_marked, kill_marked, sweep, tended_by};
pub use vigil::Vigil;
