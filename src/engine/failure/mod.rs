//! Why an engine failed: a class, the one line that says so, and whether that is the engine's doing or the machine's.

mod class;
mod evidence;
mod general;
mod kernel;
mod lines;
mod part;
mod pattern;
mod said;
mod shell;
pub(super) mod text;

pub use class::{
    CLIENT_LIMIT, CONTAINER, CRASH_UNDER_LOAD, ENGINE_NOT_FOUND, ENGINE_NOT_RUN, GPU_LOST, GPU_MEMORY,
    GPU_MEMORY_TAKEN, LOAD_NOT_MADE, NETWORK, NEVER_READY, NO_ANSWER, Nature, PORT, STORAGE, WORKER_LOST,
};
pub use evidence::{Evidence, Failure, Moment, Witness, classify};
pub use kernel::Uptime;
pub use pattern::FailurePattern;
