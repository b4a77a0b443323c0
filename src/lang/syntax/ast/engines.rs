//! The part of the tree that engines are: their settings, the flags that they declare, and changes of their configuration.

use super::{Expr, Flag, Name, Number, Single, Text, Value};
use crate::lang::source::Span;

#[derive(Debug, Clone)]
pub struct Engine {
    pub name: Name,
    pub title: Option<Text>,
    pub parent: Option<Name>,
    pub lines: Vec<EngineLine>,
    /// settings whose lines could not be read: what they would say is not missing
    pub unread: Vec<&'static str>,
    /// flags whose declarations could not be read: using them is no further mistake
    pub unread_flags: Vec<String>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct EngineLine {
    pub kind: EngineLineKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum EngineLineKind {
    Version(Text),
    /// the releases that the flags of this engine were read from
    Versions(Vec<Text>),
    Serve(Text),
    Image(Text),
    Probe(Text),
    Api(Name),
    Args {
        joined: bool,
    },
    Ready {
        path: Text,
        within: Option<Number>,
    },
    Metrics(Text),
    Reset {
        post: bool,
        path: Text,
    },
    Stop {
        signal: Name,
        within: Option<Number>,
    },
    /// where the key stands that the server asks for, the first that is stated winning
    Key(Vec<KeySource>),
    Failure {
        name: Text,
        pattern: Text,
    },
    /// variables that the engine reads, among all whose names begin so
    Variables {
        prefix: Text,
        since: Option<Text>,
        until: Option<Text>,
        names: Vec<Single>,
    },
    /// what it does not start with
    Refuses {
        reason: Text,
        since: Option<Text>,
        until: Option<Text>,
        when: Expr,
    },
    Flag(Box<FlagDecl>),
    Publish {
        changes: Vec<Change>,
        because: Text,
    },
    Changes(Vec<Change>),
}

impl EngineLineKind {
    /// Whether it sets no flag and no variable: it says how the server is started, spoken to or ended, or which variables it reads.
    pub fn sets_nothing(&self) -> bool {
        matches!(
            self,
            Self::Image(_)
                | Self::Serve(_)
                | Self::Probe(_)
                | Self::Api(_)
                | Self::Args { .. }
                | Self::Key(_)
                | Self::Ready { .. }
                | Self::Metrics(_)
                | Self::Reset { .. }
                | Self::Stop { .. }
                | Self::Failure { .. }
                | Self::Publish { .. }
                | Self::Variables { .. }
        )
    }
}

/// `--api-key`, `env VLLM_API_KEY`
#[derive(Debug, Clone)]
pub enum KeySource {
    Flag(Name),
    Env(Name),
}

/// `flag --max-num-seqs int 1.. since "0.17"`
#[derive(Debug, Clone)]
pub struct FlagDecl {
    pub names: Vec<Name>,
    pub kind: FlagKind,
    pub default: Option<Single>,
    pub since: Option<Text>,
    pub until: Option<Text>,
    pub negated: Vec<Name>,
    pub uses_gpus: Option<UsesGpus>,
    pub limits_requests: Option<LimitsRequests>,
    /// values that a text is known to take
    pub known: Vec<Single>,
    /// the keys that a JSON object may have
    pub keys: Vec<KeyDecl>,
    /// an attribute that stands a second time
    pub twice: Option<Span>,
    pub span: Span,
}

/// `num_speculative_tokens int`
#[derive(Debug, Clone)]
pub struct KeyDecl {
    pub name: Name,
    /// none: whatever it holds is right
    pub kind: Option<FlagKind>,
    /// the keys of the object that it holds
    pub keys: Vec<KeyDecl>,
}

#[derive(Debug, Clone)]
pub struct LimitsRequests {
    /// the flag that says among how many the tokens are shared out
    pub per: Option<Name>,
    /// a switch under which they are not shared out
    pub unless: Option<Name>,
}

#[derive(Debug, Clone)]
pub struct UsesGpus {
    /// it adds to others that do so, where most multiply
    pub adds: bool,
    pub unless: Option<Name>,
}

#[derive(Debug, Clone)]
pub enum FlagKind {
    Switch,
    Text,
    Path,
    Json,
    JsonFile,
    Words,
    /// words, each behind the flag
    Repeated,
    Int(Option<Range>),
    Float(Option<Range>),
    OneOf(Vec<Single>),
}

#[derive(Debug, Clone)]
pub struct Range {
    pub from: Number,
    pub to: Option<Number>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Change {
    pub kind: ChangeKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum ChangeKind {
    Flag(Flag),
    Raw(Flag),
    Env { name: Name, value: Value },
    Model(Text),
    UnsetFlag(Name),
    UnsetEnv(Name),
}
