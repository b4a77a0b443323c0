//! What perflab and a guard say to each other: one JSON object a line, orders on the guard's standard input,
//! reports on its standard output.
//!
//! Pipes end by themselves when a process dies, which no file or socket on disk does. The order of life is:
//! one [`Launch`], then [`Order`]s until the end of the pipe, which itself is the order to kill.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::container::Container;
use super::lookups::{Lacks, Looked, Scope};
use super::originals::Spot;

/// The first line: what to run. On the pipe and not in the guard's arguments, because the environment may
/// hold secrets and arguments can be read by everybody.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Launch {
    /// The file to execute.
    pub program: PathBuf,
    /// The arguments, the name of the program first.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// The processors that it may run on; none means all.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Bytes that it may hold, where that can be limited; none means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Where both output streams go.
    pub log: PathBuf,
    /// Removed when everything is gone.
    pub scratch: PathBuf,
    /// Removed too, if the launch has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<PathBuf>,
    /// What the command starts that is no child of the guard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
    /// Where it is seen what it looks for; none means that nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Never written to the log.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Names the launch.
    pub nonce: String,
    /// Standard error is not that: it is a descriptor to be held open to the end.
    pub holds_descriptor: bool,
}

/// An order to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// Ask the engine to leave with this signal.
    Term { signal: i32 },
    /// Kill every process of the tree.
    Kill,
    /// Say at once what it looked for so far.
    Tell,
}

/// A report of the guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// The engine runs.
    Spawned { pid: i32 },
    /// It could not be started; nothing runs, and the guard leaves.
    Failed { message: String },
    /// The kernel does not run this program, whoever starts it; nothing runs, and the guard leaves.
    Refused { program: PathBuf, why: String },
    /// The engine has printed so many bytes in all.
    Log { bytes: u64 },
    /// What stands there in the log is not what the engine said. Said before anything that follows from it.
    Masked { spots: Vec<Spot> },
    /// What it looked for, since the last such report.
    Looked { looked: Vec<Looked>, lacks: Lacks },
    /// All that it looked for until it was asked for that has been said.
    Told,
    /// The leader of the tree has ended. Others may live on.
    Exited(Exit),
    /// No process of the tree is left, the log is complete and the guard leaves.
    Gone {
        /// Processes that had to be killed.
        killed: usize,
    },
}

impl Report {
    /// Whether its guard leaves after it, with nothing left undone.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Gone { .. } | Self::Failed { .. } | Self::Refused { .. })
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It left with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// Nobody saw: its guard was killed, and the engine with it.
    Unknown,
}

impl Exit {
    /// How the first process of a container ended, where its client ended so: that passes a signal on as shells do.
    #[must_use]
    pub fn in_container(self) -> Self {
        match self {
            Self::Code(code @ 129..=192) => Self::Signal(code - 128),
            other => other,
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => match nix::sys::signal::Signal::try_from(*number) {
                Ok(signal) => write!(f, "{signal}"),
                Err(_) => write!(f, "signal {number}"),
            },
            Self::Unknown => f.write_str("unknown, the guard process was killed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_lines_of_json() {
        let line = serde_json::to_string(&Report::Exited(Exit::Signal(9))).unwrap();
        assert_eq!(line, r#"{"exited":{"signal":9}}"#);
        assert_eq!(serde_json::from_str::<Report>(&line).unwrap(), Report::Exited(Exit::Signal(9)));
        assert_eq!(serde_json::to_string(&Order::Kill).unwrap(), r#""kill""#);
    }

    #[test]
    fn exits_read_like_a_shell_says_them() {
        assert_eq!(Exit::Code(2).to_string(), "exit code 2");
        assert_eq!(Exit::Signal(9).to_string(), "SIGKILL");
        assert_eq!(Exit::Signal(64).to_string(), "signal 64");
        assert_eq!(
            [Exit::Code(137), Exit::Code(2)].map(Exit::in_container),
            [Exit::Signal(9), Exit::Code(2)]
        );
    }
}
