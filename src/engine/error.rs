//! Why an engine did not start, with the facts that its user needs.

use std::time::Duration;

use super::Failure;
use super::protocol::Exit;

/// Why an engine did not start. When it is returned, nothing of the launch is left running.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{name}: program not found{}", searched.as_ref().map(|p| format!(" in PATH={p}")).unwrap_or_default())]
    NotFound {
        name: String,
        /// The `PATH` that was searched; `None` if the name was a path itself.
        searched: Option<String>,
    },

    #[error("the launch cannot be made: {0}")]
    Impossible(String),

    #[error("port {port} of {host} is taken: another server listens on it")]
    PortTaken { host: String, port: u16 },

    #[error("port {port} is answered by a stranger, process {pid} ({name})")]
    Stranger { port: u16, pid: i32, name: String },

    #[error("the engine ended before it was ready, {exit}{}", describe(failure.as_ref(), line.as_ref()))]
    Exited {
        exit: Exit,
        failure: Option<Failure>,
        /// The one line of the log that matters most.
        line: Option<String>,
        /// The last lines of the log.
        tail: Vec<String>,
    },

    #[error("the engine was not ready {} {}{}", seconds(*after), limit.text(), describe(failure.as_ref(), last_line.as_ref()))]
    NeverReady {
        /// Since the start.
        after: Duration,
        limit: Limit,
        /// What the log looks like, although the engine did not end.
        failure: Option<Failure>,
        last_line: Option<String>,
    },

    #[error("the start was cancelled")]
    Cancelled,
}

/// Which of the two deadlines passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// No progress for this long.
    Silence(Duration),
    /// Too long in all.
    Overall,
}

impl Limit {
    fn text(self) -> String {
        match self {
            Self::Silence(d) => format!("after its start and made no progress for {}", seconds(d)),
            Self::Overall => "after its start".into(),
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn describe(failure: Option<&Failure>, line: Option<&String>) -> String {
    match (failure, line) {
        (Some(f), _) => format!(" ({}): {}", f.class, f.line),
        (None, Some(line)) => format!(": {line}"),
        (None, None) => ": it printed nothing".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_as_fragments() {
        let exited = |failure, line: Option<&str>| StartError::Exited {
            exit: Exit::Code(2),
            failure,
            line: line.map(Into::into),
            tail: vec![],
        };
        let start = "the engine ended before it was ready, exit code 2";
        assert_eq!(exited(None, None).to_string(), format!("{start}: it printed nothing"));
        assert_eq!(exited(None, Some("no")).to_string(), format!("{start}: no"));
        let failure = Failure { class: "bad value".into(), line: "no".into() };
        assert_eq!(exited(Some(failure), Some("no")).to_string(), format!("{start} (bad value): no"));

        let never = StartError::NeverReady {
            after: Duration::from_millis(1500),
            limit: Limit::Silence(Duration::from_secs(1)),
            failure: None,
            last_line: Some("loading".into()),
        };
        let expected =
            "the engine was not ready 1.5 s after its start and made no progress for 1.0 s: loading";
        assert_eq!(never.to_string(), expected);
    }
}
