//! An engine as a study has it: how it is launched, asked and stopped, and what it is set to.

use std::sync::Arc;

use super::super::keys::KeySource;
use super::super::schema::{Schema, Setting};
use super::refusal::Refusals;
use super::site::Via;
use super::space::Change;
use crate::lang::source::Span;

/// An engine with everything that it inherits.
#[derive(Debug, Clone)]
pub struct Engine {
    pub name: String,
    pub title: String,
    /// itself, its parent, … its root: `engine == vllm` holds for all that derive from it
    pub ancestry: Vec<String>,
    pub version: Option<String>,
    /// where it is stated
    pub version_span: Option<Span>,
    pub serve: String,
    /// the serve line is not the standard library's: where perflab's simulator stands in for it, that one's version says nothing
    pub own_serve: bool,
    /// how its root, as it is declared, is started and spoken to, and whether that is declared in a file which the study only uses
    pub declared: (Arc<str>, bool),
    /// how it is itself, if not as the root of its name: by lines of its own, or as another file's root, which may not be the only one of
    /// that name
    pub apart: Option<Arc<str>>,
    /// what its containers are made of where a site names nothing; `{version}` is its version
    pub image: Option<String>,
    pub api: Api,
    pub joined: bool,
    pub ready: Ready,
    pub reset: Option<Reset>,
    pub metrics: Option<String>,
    pub stop: Stop,
    /// where the key stands that the server asks for
    pub key: Vec<KeySource>,
    pub failures: Vec<Failure>,
    /// what it does not start with, of its parents and its own
    pub refusals: Arc<Refusals>,
    pub schema: Arc<Schema>,
    pub model: Option<String>,
    pub flags: Vec<Setting>,
    /// the changes that made them, as written, inherited ones first
    pub written: Vec<Change>,
    pub env: Vec<EnvSetting>,
    pub publish: Vec<Publish>,
    /// how it is launched on this machine
    pub via: Via,
    pub span: Span,
}

/// Where the version stands in the name of an image.
pub const IMAGE_VERSION: &str = "{version}";

impl Engine {
    pub fn root(&self) -> &str {
        self.ancestry.last().map_or(&self.name, |r| r)
    }

    /// What a run of it depends on beside its version, flags and variables.
    pub fn started(&self) -> String {
        // more than one space between words says nothing, but where a quoted word holds them
        let serve = if self.serve.contains(['"', '\'', '\\']) {
            self.serve.clone()
        } else {
            self.serve.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        // one that answers before it is ready is measured while it still loads; how long it may take changes nothing
        format!("{serve}\n{:?}\n{}\n{:?}\n{}", self.api, self.joined, self.reset, self.ready.path)
    }

    /// The image of its containers where a site names none: nothing is known where its name asks for a version and none is stated.
    pub fn image(&self) -> Option<String> {
        let image = self.image.as_deref()?;
        match &self.version {
            Some(version) => Some(image.replace(IMAGE_VERSION, version)),
            None => (!image.contains(IMAGE_VERSION)).then(|| image.to_owned()),
        }
    }

    /// Serve lines of the simulated engine make every result a simulated one.
    pub fn simulated(&self) -> bool {
        let mut words = self.serve.split_whitespace();
        words.next() == Some("perflab") && words.next() == Some("sim")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's chat completions, `/v1/chat/completions`: the engine applies its chat template
    OpenAi,
    /// OpenAI's completions, `/v1/completions`: the prompt as it is
    OpenAiCompletions,
    /// SGLang's own `/generate`: the prompt as it is, and the whole text so far in each event of the answer
    SglangGenerate,
}

impl Api {
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::OpenAiCompletions, Self::SglangGenerate];

    /// How files call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiCompletions => "openai_completions",
            Self::SglangGenerate => "sglang_generate",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    pub path: String,
    /// seconds since the last sign of progress
    pub within_s: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reset {
    pub post: bool,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    pub signal: String,
    pub within_s: f64,
}

#[derive(Debug, Clone)]
pub struct Failure {
    pub name: String,
    pub pattern: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvSetting {
    pub name: String,
    pub value: String,
    /// whether a launch inserts something
    pub template: bool,
}

/// What the recommended command says and the measured one did not.
#[derive(Debug, Clone)]
pub struct Publish {
    pub change: Change,
    pub because: String,
}
