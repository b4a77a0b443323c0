//! Why an engine did not start, with the facts that its user needs.

use std::path::PathBuf;
use std::time::Duration;

use super::failure::{ENGINE_NOT_FOUND, ENGINE_NOT_RUN, Failure, Nature, PORT};
use super::protocol::Exit;
use super::survivor::Survivor;

/// Why an engine did not start. When it is returned, nothing of the launch is left running, unless it says so.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{name}: program not found{}", searched.as_ref().map(|p| format!(" in PATH={p}")).unwrap_or_default())]
    NotFound {
        name: String,
        /// The `PATH` that was searched; `None` if the name was a path itself.
        searched: Option<String>,
    },

    #[error("{} cannot be run: {why}", program.display())]
    NotRunnable { program: PathBuf, why: String },

    #[error("the launch cannot be made: {0}")]
    Impossible(String),

    #[error("port {port} of {host} is taken: another server listens on it")]
    PortTaken { host: String, port: u16 },

    #[error("port {port} is answered by a stranger, process {pid} ({name})")]
    Stranger { port: u16, pid: i32, name: String },

    #[error("the engine ended before it was ready, {exit}: {}", described(failure))]
    Exited {
        exit: Exit,
        failure: Failure,
        /// The last lines of the log.
        tail: Vec<String>,
    },

    #[error("the engine was not ready {} {}: {}", seconds(*after), limit.text(), described(failure))]
    NeverReady {
        /// Since the start.
        after: Duration,
        limit: Limit,
        /// What the log looks like, although the engine did not end.
        failure: Failure,
        /// The status of its last answer to the question whether it is ready.
        answered: Option<u16>,
        tail: Vec<String>,
    },

    #[error("a failed start could not be cleaned up: {}", listed(.0))]
    Unclean(Vec<Survivor>),

    #[error("the start was cancelled")]
    Cancelled,
}

impl StartError {
    /// What the failure is called, and the line that says it. `None` where nothing was found out about the engine.
    pub fn failure(&self) -> Option<Failure> {
        match self {
            Self::NotFound { name, .. } => {
                Some(Failure::new(ENGINE_NOT_FOUND, format!("there is no program `{name}`")))
            }
            Self::NotRunnable { .. } => Some(Failure::new(ENGINE_NOT_RUN, self.to_string())),
            Self::PortTaken { .. } | Self::Stranger { .. } => Some(Failure::new(PORT, self.to_string())),
            Self::Exited { failure, .. } | Self::NeverReady { failure, .. } => Some(failure.clone()),
            Self::Impossible(_) | Self::Unclean(_) | Self::Cancelled => None,
        }
    }

    /// Another port may do.
    pub fn is_about_the_port(&self) -> bool {
        self.failure().is_some_and(|f| f.class == PORT && f.nature == Nature::Infrastructure)
    }

    /// The last lines of the log.
    pub fn tail(&self) -> &[String] {
        match self {
            Self::Exited { tail, .. } | Self::NeverReady { tail, .. } => tail,
            _ => &[],
        }
    }
}

/// Which of the deadlines passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// No progress for this long.
    Silence(Duration),
    /// It printed, and nothing that was new, for this long.
    Idle(Duration),
    /// Too long in all.
    Overall,
}

impl Limit {
    fn text(self) -> String {
        match self {
            Self::Silence(d) => format!("after its start and made no progress for {}", seconds(d)),
            Self::Idle(d) => {
                format!("after its start and printed nothing that tells of progress for {}", seconds(d))
            }
            Self::Overall => "after its start".into(),
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn described(failure: &Failure) -> String {
    let line = if failure.line.is_empty() { "it printed nothing" } else { &failure.line };
    format!("{}: {line}", failure.class)
}

pub(super) fn listed(survivors: &[Survivor]) -> String {
    survivors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_as_fragments() {
        let exited = |class: &str, line: &str| StartError::Exited {
            exit: Exit::Code(2),
            failure: Failure::new(class, line),
            tail: vec![],
        };
        let start = "the engine ended before it was ready, exit code 2";
        assert_eq!(exited("unknown", "").to_string(), format!("{start}: unknown: it printed nothing"));
        assert_eq!(exited("bad value", "no").to_string(), format!("{start}: bad value: no"));

        let never = StartError::NeverReady {
            after: Duration::from_millis(1500),
            limit: Limit::Silence(Duration::from_secs(1)),
            failure: Failure::new("never ready", "loading"),
            answered: None,
            tail: vec![],
        };
        let expected = "the engine was not ready 1.5 s after its start and made no progress for 1.0 s: never ready: loading";
        assert_eq!(never.to_string(), expected);
    }

    #[test]
    fn only_the_port_is_worth_another_port() {
        let taken = StartError::PortTaken { host: "h".into(), port: 1 };
        assert!(taken.is_about_the_port());
        assert!(!StartError::Cancelled.is_about_the_port());
        let exited = |class: &str| StartError::Exited {
            exit: Exit::Code(1),
            failure: Failure::new(class, ""),
            tail: vec![],
        };
        assert!(exited("port in use").is_about_the_port());
        assert!(!exited("bad value").is_about_the_port());
    }
}
