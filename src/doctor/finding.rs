//! One line of the doctor: about what, how bad, and how it is mended.

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Ok,
    /// studies run, and some of their results may be worse for it
    Warn,
    /// some studies cannot run
    Fail,
}

impl Level {
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What a line is about, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    Gpus,
    Engines,
    Containers,
    Machine,
    Disk,
    Limits,
    Client,
}

impl Topic {
    pub fn title(self) -> &'static str {
        match self {
            Self::Gpus => "GPUs",
            Self::Engines => "Engines",
            Self::Containers => "Containers",
            Self::Machine => "Machine",
            Self::Disk => "Disk",
            Self::Limits => "Limits",
            Self::Client => "Load generator",
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub topic: Topic,
    pub level: Level,
    pub text: String,
    /// what to do about it; `null` where it is well
    pub fix: Option<String>,
}

impl Finding {
    pub fn ok(topic: Topic, text: impl Into<String>) -> Self {
        Self { topic, level: Level::Ok, text: text.into(), fix: None }
    }

    pub fn warn(topic: Topic, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { topic, level: Level::Warn, text: text.into(), fix: Some(fix.into()) }
    }

    pub fn fail(topic: Topic, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { topic, level: Level::Fail, text: text.into(), fix: Some(fix.into()) }
    }
}
