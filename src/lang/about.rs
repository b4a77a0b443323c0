//! What a diagnostic is about, as data. Passes that judge what others found go by its code and by this; its words are for people, and no
//! code reads them.

use super::sema::schema::Kind as Takes;
use super::sema::scope::Kind;
use super::source::Span;
use super::syntax::Block;
use super::units::Dim;

/// Which of the mistakes of its code it is, and of what, where some pass asks for that.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum About {
    /// nothing beyond its code
    #[default]
    Plain,
    /// a name that nothing declares, and what a file lacks of the standard library, if it is one of that
    Missing { kind: Kind, name: String, library: Option<Untaken> },
    /// a name of neither an earlier step nor an engine
    MissingBase { name: String },
    /// something of this kind that is called as another of it
    Second(Kind),
    /// a step that is called as another one of its study
    SecondStep,
    /// something of this kind that nothing uses
    Unused(Kind),
    /// something else stands where one of this kind was to be named
    Instead(Kind),
    /// what stands here against what a param is; of which kind that is
    OfParam { name: String, meets: Dim },
    /// one of this kind is named twice where each is named once
    Twice(Kind),
    /// a point that an axis does not have
    NoPoint { axis: String },
    /// an engine, by its name
    Engine(String),
    /// a variable, by its name
    Variable(String),
    /// a flag of other releases; the first that has it, where only older ones lack it
    Release { flag: String, since: Option<String> },
    /// a flag of its parent that an engine's version does not take, or not with that value
    Inherited { flag: String },
    /// a flag that engines lack, told at the use of the axis which sets it
    SetBy { axis: String },
    /// what a condition compares a flag with, and the flag never is
    Compared { flag: String },
    /// what a flag was to be set to, and what it takes instead
    NotTaken { flag: String, value: String, takes: Takes },
    /// a key that the JSON of a flag does not have
    NoKey { flag: String, key: String },
    /// a value of a switch; what stands for both
    TakesNone { right: Option<String> },
    /// an unknown flag that is like none
    LikeNone,
    /// an unknown flag that switches the other way what this one switches
    Opposite(String),
    /// an unknown flag of another engine; what does the same here, or is nearest to it
    Elsewhere { here: String, nearest: bool },
    /// a load with a rate and a concurrency
    TwoLoads,
    /// a range of loads that nothing searches
    Unsearched,
    /// a `since` behind all `versions`
    BeyondVersions,
    /// an `until` before all of them
    BeforeVersions,
    /// the engine of a track, from which the one that a step starts from derives
    Track(Option<Span>),
    /// what was to stand where the text could not be read
    Expected(Expected),
    /// `= PARENT {` was to stand there
    ParentExpected,
    /// a word that is like none of the settings of such a block
    NoSetting(Block),
    /// a setting of another kind of block
    NotHere,
    /// a call of something that is no function
    NoFunction,
    /// a param without a unit in a sum, where the sum may be the mistake
    InSum,
    /// metrics of GPUs in a study that does not say how many there are
    WithoutGpus,
    /// what is declared has a name that is none
    NoName,
    /// a character that nobody typed: one that is not seen, or a quote of a word processor
    Untyped,
    /// steps whose track has no first line
    LacksTrack,
    /// a `}` of which the `{` was to stand within its line
    LacksObject,
    /// lines that a merge left
    Conflict,
    /// a declaration that lacks a line which begins with one of these words
    Lacks(&'static [&'static str]),
}

/// Names of a library that a file uses and does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untaken {
    pub library: String,
    pub names: Vec<String>,
}

/// What was to stand where a text could not be read, as far as somebody asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each answers what another pass asks")]
pub struct Expected {
    pub name: bool,
    pub axis: bool,
    /// the brace that opens a block
    pub brace: bool,
    /// a part of an expression
    pub operand: bool,
    /// the help is no more than an example
    pub by_example: bool,
}

impl Expected {
    pub const NAME: Self = Self { name: true, axis: false, brace: false, operand: false, by_example: false };

    /// One sign.
    pub fn sign(sign: &str) -> Self {
        Self { brace: sign == "{", ..Self::default() }
    }
}

impl About {
    /// A name that nothing declares.
    pub fn missing(kind: Kind, name: &str) -> Self {
        Self::Missing { kind, name: name.to_owned(), library: None }
    }

    /// Whether nothing of a kind has this name.
    pub fn misses(&self, kind: Kind, name: &str) -> bool {
        matches!(self, Self::Missing { kind: k, name: n, .. } if *k == kind && n == name)
    }

    /// Of which kind something is missing.
    pub fn missing_kind(&self) -> Option<Kind> {
        if let Self::Missing { kind, .. } = self { Some(*kind) } else { None }
    }

    pub fn expected(&self) -> Expected {
        if let Self::Expected(expected) = self { *expected } else { Expected::default() }
    }
}
