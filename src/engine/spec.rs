//! What to launch, when it counts as ready and how it is asked to leave.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::FailurePattern;
use super::container::Container;
use super::lookups::{Lookups, Scope};
use crate::secrets::Key;

/// The environment variable that marks every process of a launch; its value is [`LaunchSpec::nonce`].
pub const MARK: &str = "PERFLAB_LAUNCH";

/// The name of the engine's log in [`LaunchSpec::dir`].
pub const LOG_NAME: &str = "server.log";

/// Everything that one start needs.
#[derive(Debug)]
pub struct LaunchSpec {
    /// The command, the program first.
    pub argv: Vec<String>,
    /// The engine's environment: this, [`MARK`] and `TMPDIR`, nothing else. See [`super::environment`].
    pub env: Vec<(String, String)>,
    /// The engine's working directory.
    pub cwd: PathBuf,
    /// The processors that the engine may run on; none means those of perflab.
    pub cpus: Vec<usize>,
    /// Bytes of the machine's memory that all its processes together may hold; `None`: all there are.
    pub memory: Option<u64>,
    /// The launch's own directory, made if it is missing. The log goes there.
    pub dir: PathBuf,
    /// A directory with files for this engine alone, removed with the last of its processes, also when perflab is killed.
    pub private: Option<PathBuf>,
    /// The address that the engine was told to listen on: a name or an address without brackets.
    pub host: String,
    pub port: u16,
    pub ready: Ready,
    /// What the server asks its clients for.
    pub key: Option<Key>,
    pub stop: Stop,
    /// What a failed start is called; the first that matches wins.
    pub failures: Vec<FailurePattern>,
    /// The command that runs [`super::guard_main`], as a rule perflab's own binary with `guard`.
    pub guard: Vec<OsString>,
    /// Held open until nothing of the engine is left, also when perflab is killed. Meant for a lock file: a
    /// `flock` stays taken as long as one duplicate of its descriptor is open.
    pub keep_fd: Option<OwnedFd>,
    /// The command is a client that starts a container; what it is removed by.
    pub container: Option<Container>,
    /// A number that grows as the start goes on, seen from outside: the memory on its GPUs, in bytes.
    pub grows: Option<Arc<AtomicU64>>,
    /// Where it is seen what it looks for in the file system, and who keeps that; `None`: nothing of it is of interest.
    pub lookups: Option<(Scope, Lookups)>,
    /// Names this launch among all that this machine may ever see.
    pub nonce: String,
}

/// When an engine counts as ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Where a 200 is to be had, as `/health`.
    pub path: String,
    /// Patience since the last sign of progress.
    pub within: Duration,
    /// Patience in all.
    pub overall: Duration,
}

impl Default for Ready {
    fn default() -> Self {
        let minutes = |n: u64| Duration::from_secs(60 * n);
        Self { path: "/health".into(), within: minutes(20), overall: minutes(120) }
    }
}

/// How an engine is asked to leave, and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    pub signal: Signal,
    pub within: Duration,
}

impl Default for Stop {
    fn default() -> Self {
        Self { signal: Signal::SIGTERM, within: Duration::from_secs(30) }
    }
}
