//! The classes of failures by their names, and which of them say something about the configuration.
//!
//! A class is a name, because an engine's declaration may give any. What follows from the name is decided here, once.

/// What a failure says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// About the configuration on this machine: a result, and never tried again.
    Finding,
    /// About the machine at that moment: no result, and tried again a few times.
    Infrastructure,
}

/// Another process had the port, or shared it.
pub const PORT: &str = "port in use";
/// the engine's own program is not there
pub const ENGINE_NOT_FOUND: &str = "engine not found";
/// It is there, and this machine does not run it.
pub const ENGINE_NOT_RUN: &str = "engine cannot be run";
/// A file that the engine, or the script that starts it, asks for is not there.
pub const MISSING_FILE: &str = "missing file";
/// A card is no longer there, or its memory is broken.
pub const GPU_LOST: &str = "GPU lost";
/// The cards are there, and what joins them is not up yet, or no more.
pub const GPU_NOT_READY: &str = "GPUs not ready";
/// Others took the memory of this machine.
pub const MEMORY_TAKEN: &str = "host memory taken by others";
/// Somebody else's process came to a GPU of the launch and took its memory.
pub const GPU_MEMORY_TAKEN: &str = "GPU memory taken by others";
/// What every class of too little memory on a GPU begins with.
pub const GPU_MEMORY: &str = "out of GPU memory";
/// A file system that the engine writes to is full.
pub const DISK_FULL: &str = "disk full";
/// The memory that processes share, `/dev/shm`, which is small in containers and after a crash may be full of leftovers.
pub const SHARED_MEMORY: &str = "shared memory full";
/// A disk, or the server that a directory lies on, gives errors.
pub const STORAGE: &str = "storage failed";
/// This machine, or the user's limit on it, has no more processes or threads to give.
pub const THREADS: &str = "too many processes";
/// A model's hub, or another server that the engine asks, is out of reach or refuses everybody for a while; or this machine cannot even
/// reach itself.
pub const NETWORK: &str = "network";
/// Something that the engine asks for as it starts refuses connections: a store, a router, a license server.
pub const SERVICE: &str = "service not there";

/// This machine refused the load's client a connection: descriptors, ports or memory are used up.
pub const CLIENT_LIMIT: &str = "client at its limit";

/// The load's client could not make its requests: its files are away or cannot be read, whatever serves.
pub const LOAD_NOT_MADE: &str = "load not made";

/// Whoever killed the process that guards an engine killed the engine with it.
pub const GUARD_LOST: &str = "guard killed";
/// docker or podman could start no container at all.
pub const CONTAINER: &str = "container not started";

const INFRASTRUCTURE: [&str; 15] = [
    PORT,
    GPU_LOST,
    GPU_NOT_READY,
    MEMORY_TAKEN,
    GPU_MEMORY_TAKEN,
    DISK_FULL,
    SHARED_MEMORY,
    STORAGE,
    THREADS,
    NETWORK,
    SERVICE,
    CLIENT_LIMIT,
    LOAD_NOT_MADE,
    GUARD_LOST,
    CONTAINER,
];

/// The engine's own processes, or a limit of its container, wanted more memory than there is.
pub const HOST_MEMORY: &str = "out of host memory";
/// Its processes that answered ended while it was loaded.
pub const CRASH_UNDER_LOAD: &str = "crash under load";
/// It lives and does not answer.
pub const NO_ANSWER: &str = "no answer under load";
/// Part of the engine is gone, and the log does not say why.
pub const WORKER_LOST: &str = "worker lost";
/// The log says no more than that nothing came of it.
pub const DID_NOT_START: &str = "did not start";
/// The engine was not ready in time.
pub const NEVER_READY: &str = "never ready";
/// Somebody killed it, mostly the kernel for want of memory; nothing tells.
pub const KILLED: &str = "killed";
/// Its first process left without an error, as one does that goes on in the background.
pub const LEFT: &str = "ended without an error";
/// Nothing else is known.
pub const UNKNOWN: &str = "unknown";
/// A card or its libraries report an error.
pub const GPU_ERROR: &str = "GPU error";

/// Names that tell the consequence only. Their patterns are asked after everything that may be the cause.
const CONSEQUENCES: [&str; 4] = [WORKER_LOST, "engine died", SERVICE, DID_NOT_START];

impl Nature {
    /// Names that are not known are an engine's own and say something about it.
    pub fn of(class: &str) -> Self {
        if INFRASTRUCTURE.contains(&class) { Self::Infrastructure } else { Self::Finding }
    }
}

pub(super) fn is_consequence(class: &str) -> bool {
    CONSEQUENCES.contains(&class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_machine_s_failures_are_tried_again() {
        assert_eq!(Nature::of(PORT), Nature::Infrastructure);
        assert_eq!(Nature::of(GUARD_LOST), Nature::Infrastructure);
        assert_eq!(Nature::of("out of GPU memory"), Nature::Finding);
        assert_eq!(Nature::of("what a study calls it"), Nature::Finding);
    }
}
