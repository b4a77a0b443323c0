//! The checked program: what a file means, in types that planner, judge and executor use. Spans stay where a later message needs them.

use std::sync::Arc;

use indexmap::IndexMap;

use super::keys::KeySource;
use super::metrics::Stat;
use super::schema::{Schema, Setting};
use crate::lang::source::Span;
use crate::lang::syntax::ast::{BinaryOp, Search};
use crate::lang::units::Dim;

#[derive(Debug, Clone, Default)]
pub struct Program {
    /// by name, imported ones included
    pub engines: IndexMap<String, Arc<Engine>>,
    pub profiles: IndexMap<String, Arc<Profile>>,
    pub studies: Vec<Study>,
    /// params and their values as written, in declared order
    pub params: IndexMap<String, String>,
    /// params that the command line set, as given there
    pub given: IndexMap<String, String>,
    /// what this version cannot carry out, whatever the study
    pub not_yet: Vec<NotYet>,
    /// the machine's facts: those of this file, until [`Program::settle`] gives others
    pub site: Option<Arc<Site>>,
}

impl Program {
    /// Takes the facts of a machine: every engine is launched as they say.
    pub fn settle(&mut self, site: Site) {
        for engine in self.engines.values_mut() {
            let via = site.via(engine);
            if via != engine.via {
                *engine = Arc::new(Engine { via, ..(**engine).clone() });
            }
        }
        self.site = Some(Arc::new(site));
    }
}

/// Facts of one machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Site {
    pub name: String,
    pub engines: Vec<SiteEngine>,
    /// directories of models, by the models' names
    pub models: IndexMap<String, String>,
    /// files of data sets, by their names
    pub data: IndexMap<String, String>,
    /// what every engine here gets, unless its configuration says otherwise
    pub env: Vec<EnvSetting>,
    /// US dollars a second, of one GPU
    pub price_per_s: Option<f64>,
    pub runner: Option<String>,
}

/// How engines are launched that derive from one, at a version or at any.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteEngine {
    pub name: String,
    pub version: Option<String>,
    pub via: Via,
}

/// A launch method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Via {
    /// the program on the `PATH`
    #[default]
    Path,
    /// the program of a virtual environment: its directory
    Venv(String),
    /// a server that runs already: where it answers
    Url(String),
    /// in a container
    Container(Boxed),
}

/// How an engine is put into a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boxed {
    pub runtime: BoxRuntime,
    /// the engine's official image where the site names none
    pub image: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxRuntime {
    Docker,
    Podman,
}

impl BoxRuntime {
    /// As it is written, and as its program is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

impl Site {
    /// How an engine is launched here: a line for its version says more than one for all, a nearer ancestor's more than a
    /// farther one's.
    pub fn via(&self, engine: &Engine) -> Via {
        let fits = |l: &&SiteEngine| l.version.is_none() || l.version == engine.version;
        let near = |l: &SiteEngine| engine.ancestry.iter().position(|a| *a == l.name);
        let lines = self.engines.iter().filter(fits).filter_map(|l| Some((l.version.is_none(), near(l)?, l)));
        lines
            .min_by_key(|(general, far, _)| (*general, *far))
            .map(|(.., l)| l.via.clone())
            .unwrap_or_default()
    }
}

/// Something that is checked but not carried out by this version.
#[derive(Debug, Clone, PartialEq)]
pub struct NotYet {
    pub what: String,
    pub span: Span,
    /// a replay can do it, a live run cannot
    pub live_only: bool,
}

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
    /// the serve line is not the standard library's: what such a server calls its version is its own affair
    pub own_serve: bool,
    pub api: Api,
    pub joined: bool,
    pub ready: Ready,
    pub reset: Option<Reset>,
    pub metrics: Option<String>,
    pub stop: Stop,
    /// where the key stands that the server asks for
    pub key: Vec<KeySource>,
    pub failures: Vec<Failure>,
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

impl Engine {
    pub fn root(&self) -> &str {
        self.ancestry.last().map_or(&self.name, |r| r)
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

/// One change to a configuration. Flags keep their value as written: what it means depends on the engine that they meet.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Engine(String),
    Flag { name: String, value: Option<WrittenValue>, span: Span },
    Raw { name: String, value: Option<WrittenValue>, span: Span },
    Env(EnvSetting),
    Model(String),
    UnsetFlag { name: String, span: Span },
    UnsetEnv(String),
}

/// A flag's value as written, params inserted.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenValue {
    pub text: String,
    pub json: bool,
    /// a string of an engine that inserts what only a launch knows
    pub template: bool,
    pub span: Span,
}

/// One point of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub axis: String,
    /// by which it is picked
    pub name: String,
    /// what is printed for it
    pub label: String,
    pub changes: Vec<Change>,
    /// where it is written
    pub span: Span,
}

/// The candidates of a step: sums and products over points, never written out.
#[derive(Debug, Clone)]
pub enum Space {
    Points(Arc<Vec<Point>>),
    Sum(Vec<Space>),
    Product(Vec<Space>),
}

impl Space {
    /// How many candidates; saturates.
    pub fn len(&self) -> usize {
        match self {
            Self::Points(p) => p.len(),
            Self::Sum(parts) => parts.iter().fold(0, |n, p| n.saturating_add(p.len())),
            Self::Product(parts) => parts.iter().fold(1, |n, p| n.saturating_mul(p.len())),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The points of one candidate, left factor first. The left factor changes slowest.
    pub fn candidate(&self, index: usize) -> Vec<&Point> {
        match self {
            Self::Points(points) => points.get(index).into_iter().collect(),
            Self::Sum(parts) => {
                let mut rest = index;
                for part in parts {
                    if rest < part.len() {
                        return part.candidate(rest);
                    }
                    rest -= part.len();
                }
                Vec::new()
            }
            Self::Product(parts) => {
                let mut picked = Vec::with_capacity(parts.len());
                let mut rest = index;
                for (i, part) in parts.iter().enumerate() {
                    let below = parts[i + 1..].iter().fold(1usize, |n, p| n.saturating_mul(p.len())).max(1);
                    picked.extend(part.candidate(rest / below));
                    rest %= below;
                }
                picked
            }
        }
    }

    /// No candidate: what a contest between tracks has beside their winners.
    pub fn none() -> Self {
        Self::Sum(Vec::new())
    }

    /// Whether some point is like this.
    pub fn any(&self, test: &dyn Fn(&Point) -> bool) -> bool {
        match self {
            Self::Points(points) => points.iter().any(test),
            Self::Sum(parts) | Self::Product(parts) => parts.iter().any(|p| p.any(test)),
        }
    }

    /// Every point that some candidate holds.
    /// The lists that its points stand in; steps that vary one axis share one.
    pub fn lists(&self) -> Vec<&Arc<Vec<Point>>> {
        match self {
            Self::Points(points) => vec![points],
            Self::Sum(parts) | Self::Product(parts) => parts.iter().flat_map(Space::lists).collect(),
        }
    }

    pub fn points(&self) -> Vec<&Point> {
        match self {
            Self::Points(points) => points.iter().collect(),
            Self::Sum(parts) | Self::Product(parts) => parts.iter().flat_map(Space::points).collect(),
        }
    }
}

/// One load. Times in seconds, rates per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    pub name: String,
    pub title: String,
    pub data: Option<Data>,
    pub input: Option<(u32, u32)>,
    pub output: Option<(u32, u32)>,
    /// tokens that a prompt begins with before its input, and shares with others
    pub prefix: Option<u32>,
    /// how many different prefixes there are
    pub prefixes: Option<u32>,
    pub load: Option<Load>,
    pub in_flight: Option<u32>,
    pub requests: Option<u64>,
    pub duration_s: Option<f64>,
    pub seed: u64,
    pub warmup: Option<Warmup>,
    pub timeout_s: Option<f64>,
    pub recipe: Option<String>,
    pub tokenizer: Option<String>,
    pub temperature: Option<f64>,
    pub ignore_eos: Option<bool>,
    /// what of it this version cannot measure
    pub not_yet: Vec<NotYet>,
    pub span: Span,
}

impl Profile {
    /// Tokens of a whole prompt, its prefix included: from, to.
    pub fn prompt_tokens(&self) -> Option<(u32, u32)> {
        let prefix = self.prefix.unwrap_or(0);
        self.input.map(|(from, to)| (from.saturating_add(prefix), to.saturating_add(prefix)))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    Random,
    ShareGpt,
    PrefixRepetition,
    Jsonl(String),
    Trace(String),
    Conversations(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// all requests at once
    Max,
    Rate {
        per_s: f64,
        arrivals: Arrivals,
    },
    RateRange {
        from: f64,
        to: Option<f64>,
        arrivals: Arrivals,
    },
    Rates(Vec<f64>, Arrivals),
    Concurrency(u32),
    ConcurrencyRange {
        from: u32,
        to: Option<u32>,
    },
    Concurrencies(Vec<u32>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    Poisson,
    Constant,
    Gamma(f64),
    Ramp,
    Steps,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Warmup {
    None,
    Requests(u64),
    Time(f64),
}

#[derive(Debug, Clone)]
pub struct Study {
    pub name: String,
    pub title: String,
    pub model: String,
    pub gpus: Option<Gpus>,
    pub baseline: String,
    pub objective: Option<Objective>,
    pub require: Vec<Require>,
    /// the equivalence zone, a fraction
    pub adopt: f64,
    pub repeat: Repeat,
    pub prune: Vec<Prune>,
    pub confirm: Vec<String>,
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
            Self::Trials(n) => write!(f, "{} trials", short(*n)),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Guard {
    pub expr: Expr,
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

/// A checked expression: names resolved, params and derived metrics inserted, dimensions right, numbers in base units.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Number(f64),
    Text(String),
    Bool(bool),
    Flag(String),
    Engine,
    /// an engine's name, which all that derive from it are equal to
    EngineName(String),
    Model,
    /// how many GPUs a configuration needs
    Gpus {
        of: Owner,
    },
    Gain,
    Metric {
        of: Owner,
        name: String,
        stat: Option<Stat>,
    },
    /// completed requests per second that meet a condition; in it, metrics are a request's own times
    Goodput {
        of: Owner,
        when: Box<Expr>,
    },
    Not(Box<Expr>),
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
}

impl Expr {
    /// Visits every node.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        match self {
            Self::Not(e) | Self::Goodput { when: e, .. } => e.walk(visit),
            Self::Binary { left, right, .. } => {
                left.walk(visit);
                right.walk(visit);
            }
            _ => {}
        }
    }

    /// How many parts it has.
    pub fn size(&self) -> usize {
        let mut count = 0;
        self.walk(&mut |_| count += 1);
        count
    }

    /// Whether it can be settled before anything runs.
    pub fn is_static(&self) -> bool {
        let mut known = true;
        self.walk(&mut |e| known &= !matches!(e, Expr::Metric { .. } | Expr::Goodput { .. } | Expr::Gain));
        known && !self.compares()
    }

    /// Whether it reads what a configuration is, beside what is measured of it.
    pub fn reads_configuration(&self) -> bool {
        let mut found = false;
        self.walk(&mut |e| {
            found |= matches!(e, Expr::Flag(_) | Expr::Engine | Expr::Model | Expr::Gpus { of: Owner::Own });
        });
        found
    }

    /// Whether it compares with the incumbent or the baseline.
    pub fn compares(&self) -> bool {
        let mut found = false;
        self.walk(&mut |e| {
            found |= match e {
                Expr::Gain => true,
                Expr::Metric { of, .. } | Expr::Goodput { of, .. } | Expr::Gpus { of } => *of != Owner::Own,
                _ => false,
            };
        });
        found
    }
}

/// Whose metric: the candidate's own, the incumbent's, the baseline's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Own,
    Best,
    Baseline,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, n: usize) -> Space {
        let point = |i: usize| Point {
            axis: name.into(),
            name: format!("{name}{i}"),
            label: format!("{name}{i}"),
            changes: vec![],
            span: Span::default(),
        };
        Space::Points(Arc::new((0..n).map(point).collect()))
    }

    #[test]
    fn candidates_are_indices_with_the_left_factor_slowest() {
        let space = Space::Product(vec![axis("a", 2), Space::Sum(vec![axis("b", 1), axis("c", 2)])]);
        assert_eq!(space.len(), 6);
        let labels: Vec<String> = (0..6)
            .map(|i| space.candidate(i).iter().map(|p| p.label.as_str()).collect::<Vec<_>>().join("+"))
            .collect();
        assert_eq!(labels, ["a0+b0", "a0+c0", "a0+c1", "a1+b0", "a1+c0", "a1+c1"]);
    }

    #[test]
    fn a_huge_product_costs_nothing_until_looked_at() {
        let space = Space::Product((0..40).map(|_| axis("x", 10)).collect());
        assert_eq!(space.len(), usize::MAX);
        assert_eq!(Space::Product(vec![axis("x", 1000); 3]).candidate(999_999_999)[2].name, "x999");
    }
}
