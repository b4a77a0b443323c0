//! The guard: the process between perflab and an engine, whose only master is a pipe.
//!
//! It outlives a `kill -9` of perflab, because it has a session, a name and a command line of its own. It is
//! the reaper of its descendants, so that none can escape by a double fork, and it ends with the last of them.
//! Single-threaded and synchronous: everything it waits for is a descriptor.

mod doors;
mod entry;
mod outbox;
mod tree;
mod watch;

pub use entry::guard_main;
