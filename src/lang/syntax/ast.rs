//! The syntax tree: owned, one node for each rule of the grammar that carries meaning, every node with its span.
//!
//! It holds what was written, not what it means: names are not resolved, units not known, flags not checked.

use crate::lang::source::{Span, Spanned};

mod engines;

pub use engines::{
    Change, ChangeKind, Engine, EngineLine, EngineLineKind, FlagDecl, FlagKind, KeyDecl, KeySource,
    LimitsRequests, Range, UsesGpus,
};

pub type Name = Spanned<String>;

/// A string literal; `value` has its escapes resolved, braces are left as written.
pub type Text = Spanned<String>;

/// A number as written: `32Ki` is 32 with the unit `Ki`.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    pub value: f64,
    pub unit: String,
    pub span: Span,
}

/// A file: its items in written order, and its comments in a table beside them, sorted by place.
#[derive(Debug, Clone, Default)]
pub struct File {
    pub items: Vec<Item>,
    pub comments: Vec<Span>,
}

#[derive(Debug, Clone)]
pub enum Item {
    Use(Use),
    Param(Param),
    Engine(Engine),
    Axis(Axis),
    Profile(Profile),
    Metric(Metric),
    Prune(Prune),
    Study(Study),
    Site(Site),
}

impl Item {
    /// The one of a file's items that a place is in; they stand in their order.
    pub fn at(items: &[Self], place: Span) -> Option<&Self> {
        let before = items.partition_point(|i| i.span().start <= place.start);
        let holds = |span: Span| span.file == place.file && place.start < span.end.max(span.start + 1);
        items[..before].last().filter(|i| holds(i.span()))
    }

    pub fn span(&self) -> Span {
        match self {
            Self::Use(i) => i.span,
            Self::Param(i) => i.span,
            Self::Engine(i) => i.span,
            Self::Axis(i) => i.span,
            Self::Profile(i) => i.span,
            Self::Metric(i) => i.span,
            Self::Prune(i) => i.span,
            Self::Study(i) => i.span,
            Self::Site(i) => i.span,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Use {
    pub from: UsePath,
    pub names: Vec<Name>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum UsePath {
    Std(Name),
    File(Text),
}

#[derive(Debug, Clone)]
pub struct Param {
    pub name: Name,
    pub value: Literal,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum Literal {
    Text(Text),
    Number(Number),
    Bool(Spanned<bool>),
}

impl Literal {
    pub fn span(&self) -> Span {
        match self {
            Self::Text(t) => t.span,
            Self::Number(n) => n.span,
            Self::Bool(b) => b.span,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Flag {
    pub name: Name,
    pub value: Option<Value>,
}

#[derive(Debug, Clone)]
pub enum Value {
    Single(Single),
    List(Vec<Single>, Span),
}

/// One value of a flag: a bare word, a string, or JSON as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Single {
    pub kind: SingleKind,
    /// the word itself, the string with its escapes resolved, or the JSON text as written
    pub text: String,
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SingleKind {
    Word,
    Text,
    Json,
}

#[derive(Debug, Clone)]
pub struct Axis {
    pub name: Name,
    pub title: Option<Text>,
    pub body: AxisBody,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum AxisBody {
    Points(Vec<Point>),
    Bundle(Vec<Change>),
    Algebra(Axes),
}

#[derive(Debug, Clone)]
pub struct Point {
    pub name: Name,
    pub title: Option<Text>,
    pub changes: Vec<Change>,
    pub span: Span,
}

/// A sum of products of factors.
#[derive(Debug, Clone)]
pub struct Axes {
    pub sum: Vec<Vec<Factor>>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum Factor {
    Group(Axes),
    Axis { name: Name, picks: Option<Vec<Single>>, span: Span },
}

#[derive(Debug, Clone)]
pub struct Profile {
    pub name: Name,
    pub title: Option<Text>,
    pub parent: Option<Name>,
    pub lines: Vec<WordLine>,
    /// settings whose lines could not be read: what they would say is not missing
    pub unread: Vec<&'static str>,
    pub span: Span,
}

/// `rate 8/s`, `concurrency 1, 4, 16`, `arrivals gamma 0.5`
#[derive(Debug, Clone)]
pub struct WordLine {
    pub word: Name,
    pub value: WordValue,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum WordValue {
    Range(Range),
    Numbers(Vec<Number>),
    Bool(Spanned<bool>),
    Text(Text),
    /// a JSON object as written
    Json(Spanned<String>),
    Word {
        word: Name,
        argument: Option<Literal>,
    },
}

impl WordValue {
    pub fn span(&self) -> Span {
        match self {
            Self::Range(r) => r.span,
            Self::Numbers(all) => match all.as_slice() {
                [] => Span::default(),
                [first, .., last] => first.span.to(last.span),
                [only] => only.span,
            },
            Self::Bool(b) => b.span,
            Self::Text(t) => t.span,
            Self::Json(j) => j.span,
            Self::Word { word, argument: None } => word.span,
            Self::Word { word, argument: Some(a) } => word.span.to(a.span()),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Metric {
    pub name: Name,
    pub title: Option<Text>,
    pub expr: Expr,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Prune {
    pub name: Name,
    pub reason: Text,
    pub when: Expr,
    pub after: Option<Number>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Study {
    pub name: Name,
    pub title: Option<Text>,
    pub lines: Vec<StudyLine>,
    /// settings whose lines could not be read: what they would say is not missing
    pub unread: Vec<&'static str>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct StudyLine {
    pub kind: StudyLineKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum StudyLineKind {
    Model(Text),
    Gpus { count: Number, of: Option<Text> },
    Baseline(Name),
    Objective { maximize: bool, expr: Expr, on: Vec<Name> },
    Require { expr: Expr, on: Option<Name> },
    Adopt(Number),
    Repeat(Option<Number>),
    Confirm(Vec<Name>),
    Curve(Vec<Name>),
    Budget(Budget),
    Note(Text),
    Prune(Prune),
    Step(Box<Step>),
    Track(Box<Track>),
}

#[derive(Debug, Clone)]
pub struct Budget {
    pub amount: Number,
    pub unit: Option<BudgetUnit>,
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetUnit {
    Trials,
    GpuHours,
}

#[derive(Debug, Clone)]
pub struct Track {
    pub engine: Name,
    pub title: Option<Text>,
    pub steps: Vec<Step>,
    /// one at most in a right track
    pub budgets: Vec<Budget>,
    pub notes: Vec<Text>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Step {
    pub name: Name,
    pub title: Option<Text>,
    pub from: Option<Name>,
    pub when: Option<Expr>,
    pub lines: Vec<StepLine>,
    /// settings whose lines could not be read: what they would say is not missing
    pub unread: Vec<&'static str>,
    pub span: Span,
}

impl Step {
    /// Whether it has lines of which none could be read, and none is surely its `vary`: what it varies may stand in any.
    pub fn is_unread(&self) -> bool {
        self.lines.is_empty() && !self.unread.is_empty() && !self.unread.contains(&"vary")
    }
}

#[derive(Debug, Clone)]
pub struct StepLine {
    pub kind: StepLineKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum StepLineKind {
    Vary { axes: Axes, by: Option<Spanned<Search>> },
    Pick { axes: Axes, because: Text },
    Budget(Budget),
    Note(Text),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    Grid,
    Staged,
    Guided,
}

/// Facts of one machine: `site lab { … }`.
#[derive(Debug, Clone)]
pub struct Site {
    pub name: Name,
    pub lines: Vec<SiteLine>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct SiteLine {
    pub kind: SiteLineKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum SiteLineKind {
    /// `engine vllm "0.17.1" via venv "~/venvs/vllm"`
    Engine {
        name: Name,
        version: Option<Text>,
        via: Name,
        argument: Option<Text>,
    },
    Model {
        model: Text,
        at: Text,
    },
    Data {
        data: Name,
        at: Text,
    },
    Env {
        name: Name,
        value: Value,
    },
    Price(Number),
    Runner {
        name: Name,
        lines: Vec<WordLine>,
    },
}

#[derive(Debug, Clone)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

impl Expr {
    /// Where the conditions stand that `and` and `or` join, in order.
    pub fn joined(&self) -> Vec<Span> {
        match &self.kind {
            ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
                [left.joined(), right.joined()].concat()
            }
            _ => vec![self.span],
        }
    }
}

#[derive(Debug, Clone)]
pub enum ExprKind {
    Number(Number),
    Text(Text),
    Bool(bool),
    /// the value of a flag in the configuration
    Flag(String),
    /// a variable of the server
    Env(String),
    /// whether a flag, or a key of one, is set
    Given(String),
    /// `gain`, `best.total_tps`, `p99(ttft)`
    Call {
        owner: Option<Name>,
        name: Name,
        args: Option<Vec<Expr>>,
    },
    Not(Box<Expr>),
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    Or,
    And,
    Le,
    Ge,
    Eq,
    Ne,
    Lt,
    Gt,
    Divides,
    Add,
    Sub,
    Mul,
    Div,
}

impl BinaryOp {
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Le => "<=",
            Self::Ge => ">=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Gt => ">",
            Self::Divides => "divides",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
        }
    }

    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Le | Self::Ge | Self::Eq | Self::Ne | Self::Lt | Self::Gt | Self::Divides)
    }
}
