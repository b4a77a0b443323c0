//! A study: its steps, rules, budgets and what it is after.

use super::expr::Expr;
use super::space::{Point, Space};
use super::whole::NotYet;
use crate::lang::source::Span;
use crate::lang::syntax::ast::Search;
use crate::lang::units::Dim;

#[derive(Debug, Clone)]
pub struct Study {
    pub name: String,
    pub title: String,
    pub model: String,
    pub gpus: Option<Gpus>,
    pub baseline: String,
    pub objective: Option<Objective>,
    /// the profiles that its objective names, also where what is said of them is wrong
    pub aimed_at: Vec<String>,
    pub require: Vec<Require>,
    /// the equivalence zone, a fraction
    pub adopt: f64,
    pub repeat: Repeat,
    pub prune: Vec<Prune>,
    pub confirm: Vec<String>,
    /// profiles whose curves are asked for
    pub curve: Vec<String>,
    pub notes: Vec<String>,
    /// what all of it may cost
    pub budget: Option<Budget>,
    /// budgets that need a site's price
    pub in_money: Vec<Span>,
    /// in the order in which they are taken, those of tracks and the contests between tracks in their place
    pub steps: Vec<Step>,
    pub tracks: Vec<Track>,
    pub not_yet: Vec<NotYet>,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpus {
    pub count: u32,
    /// must occur in the driver's device name
    pub of: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Objective {
    pub maximize: bool,
    pub expr: Expr,
    pub text: String,
    /// what its values are quantities of
    pub dim: Dim,
    pub profiles: Vec<String>,
    /// what is asked for
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Require {
    pub expr: Expr,
    pub text: String,
    /// the profile that it is about; `None`: each of the objective's
    pub on: Option<String>,
    /// true for the default that holds unless a study says otherwise
    pub implied: bool,
    pub span: Span,
    /// of what `and` and `or` join in it
    pub parts: Vec<Span>,
}

impl Require {
    /// Where the only part of it stands of which something is so, else all of it.
    pub fn place_of(&self, is_so: impl Fn(&Expr) -> bool) -> Span {
        self.expr.place_of(&self.parts, self.span, is_so)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    Auto,
    Times(u32),
}

#[derive(Debug, Clone)]
pub struct Prune {
    pub name: String,
    pub reason: String,
    pub when: Expr,
    pub text: String,
    /// decided during the load, after so many completed requests
    pub after: Option<u64>,
    /// of its condition
    pub span: Span,
    /// of what `and` and `or` join in that
    pub parts: Vec<Span>,
}

impl Prune {
    /// Where the only part of its condition stands of which something is so, else all of it.
    pub fn place_of(&self, is_so: impl Fn(&Expr) -> bool) -> Span {
        self.when.place_of(&self.parts, self.span, is_so)
    }
}

impl Study {
    /// What a step starts from, by name: `best`, a step, or an engine. A track begins at its engine.
    pub fn base_name(&self, step: usize) -> &str {
        match &self.steps[step].from {
            From::Best => self.begins(step).unwrap_or("best"),
            From::Step(i) => &self.steps[*i].name,
            From::Engine(name) => name,
        }
    }

    /// The engine of the track of which a step is the first.
    pub fn begins(&self, step: usize) -> Option<&str> {
        let track = self.steps[step].track.as_deref()?;
        let first = self.steps.iter().position(|s| s.track.as_deref() == Some(track));
        (first == Some(step)).then_some(track)
    }
}

/// An engine that is tuned apart. It is called by its engine's name.
#[derive(Debug, Clone)]
pub struct Track {
    pub engine: String,
    pub title: String,
    pub notes: Vec<String>,
    /// what its steps may cost together
    pub budget: Option<Budget>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Step {
    pub name: String,
    pub title: String,
    /// the name of the track that it belongs to
    pub track: Option<String>,
    /// of the step after a row of tracks: those whose winners are its candidates. Its space is empty
    pub contest: Vec<String>,
    pub from: From,
    pub when: Option<Guard>,
    pub space: Space,
    pub search: Search,
    pub pick: Option<Pick>,
    pub notes: Vec<String>,
    /// what its own candidates may cost
    pub budget: Option<Budget>,
    pub span: Span,
}

/// What something may cost. In a budget a trial is a configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    Seconds(f64),
    /// seconds times GPUs held
    GpuSeconds(f64),
    Usd(f64),
    Trials(f64),
}

impl Budget {
    pub fn amount(self) -> f64 {
        match self {
            Self::Seconds(n) | Self::GpuSeconds(n) | Self::Usd(n) | Self::Trials(n) => n,
        }
    }

    /// Another amount of the same.
    #[must_use]
    pub fn with(self, amount: f64) -> Self {
        match self {
            Self::Seconds(_) => Self::Seconds(amount),
            Self::GpuSeconds(_) => Self::GpuSeconds(amount),
            Self::Usd(_) => Self::Usd(amount),
            Self::Trials(_) => Self::Trials(amount),
        }
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // three digits that mean something, without zeros behind them
        let short = |n: f64| {
            // small amounts keep two digits: a budget that reads 0 is a riddle
            let digits = if n > 0.0 && n < 0.1 { (1.0 - n.log10().floor()).min(9.0) as usize } else { 2 };
            let text = format!("{n:.digits$}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        match self {
            Self::Seconds(s) if *s >= 3600.0 => write!(f, "{}h", short(s / 3600.0)),
            Self::Seconds(s) if *s >= 60.0 => write!(f, "{}min", short(s / 60.0)),
            Self::Seconds(s) => write!(f, "{}s", short(*s)),
            Self::GpuSeconds(s) => write!(f, "{} gpu_hours", short(s / 3600.0)),
            Self::Usd(n) => write!(f, "{}usd", short(*n)),
            Self::Trials(n) if (*n - 1.0).abs() < 1e-9 => f.write_str("1 trial"),
            Self::Trials(n) => write!(f, "{} trials", short(*n)),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Guard {
    pub expr: Expr,
    /// a part of it is decided by params alone, which another value may decide otherwise
    pub by_params: bool,
    pub text: String,
    pub span: Span,
}

/// Where a step starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    Best,
    /// the incumbent as that step (an index) left it
    Step(usize),
    /// that engine as declared
    Engine(String),
}

#[derive(Debug, Clone)]
pub struct Pick {
    pub choice: Choice,
    pub because: String,
}

#[derive(Debug, Clone)]
pub enum Choice {
    Base,
    Points(Vec<Point>),
}
