//! What is kept of each launch, run and invocation of a journal.

use std::sync::Arc;

use indexmap::IndexMap;

use super::event::{Contained, LaunchTimes};
use super::made::{ClientTrial, Conditions, Machine};
use crate::judge::{Checks, Run, RunOutcome, machine};

/// One launch, as far as the journal knows it.
#[derive(Debug, Clone)]
pub struct LaunchRecord {
    pub id: Arc<str>,
    pub config_id: Arc<str>,
    /// the engine's root and version, by which predictions add launches up
    pub engine: Arc<str>,
    /// the configuration in normal form, as JSON
    pub config: Arc<str>,
    /// `None` for a launch whose end nobody saw
    pub times: Option<LaunchTimes>,
    /// seconds that a launch lived whose end nobody saw, as far as that is known
    pub lost_s: Option<f64>,
    pub gpus: u32,
    /// US dollars a second of one GPU, as the site of its invocation said
    pub price_per_s: Option<f64>,
    /// what its engine was put into
    pub container: Option<Box<Contained>>,
    /// most left none, and ten thousand are kept
    pub(super) traces: Option<Box<Traces>>,
    /// its invocation launched simulated engines alone, which say nothing of how long others take
    pub simulated: bool,
    /// it is one of the A/A check of neighbours, and has no results
    pub check: bool,
    /// the number of its slot among those of its size, counting from 1
    pub slot: Option<usize>,
    /// names it among all processes of the machine, for as long as some of them may be there
    pub(super) nonce: Box<str>,
    /// the invocation that began it, and how old that was
    pub(super) begun: (u32, f64),
    /// the events that begin and end it, by their numbers; 0 where no end was seen
    pub(super) span: (u64, u64),
}

/// What a launch did to the files that results are made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traces {
    /// what its end found changed, and new, of what its results are made of
    pub changed: Vec<String>,
    pub appeared: Vec<String>,
    /// what it made where engines read
    pub came: Vec<String>,
    /// what it made itself, as its calls tell
    pub made: Vec<String>,
    /// hashes over the lines that it found and left in settings that launches change, by name
    pub found: Vec<(String, String)>,
    pub left: Vec<(String, String)>,
}

impl Traces {
    /// As they are kept, if there are any.
    pub(super) fn kept(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl LaunchRecord {
    pub fn traces(&self) -> &Traces {
        static NONE: Traces = Traces {
            changed: Vec::new(),
            appeared: Vec::new(),
            came: Vec::new(),
            made: Vec::new(),
            found: Vec::new(),
            left: Vec::new(),
        };
        self.traces.as_deref().unwrap_or(&NONE)
    }

    /// Seconds in which its engine was there: an engine that was lost cost as much as any other.
    pub fn engine_s(&self) -> f64 {
        self.times.as_ref().map(LaunchTimes::engine_s).or(self.lost_s).unwrap_or(0.0)
    }

    /// Seconds in which it had its GPUs, times these: until their memory was free again nobody else had them.
    pub fn gpu_s(&self) -> f64 {
        (self.engine_s() + self.drain_s()) * f64::from(self.gpus)
    }

    /// Seconds of the wait for clean GPUs.
    pub fn drain_s(&self) -> f64 {
        self.times.as_ref().map_or(0.0, |times| times.drain_s)
    }
}

/// One run and what it was made of.
#[derive(Debug, Clone)]
pub struct RunRecord {
    pub config_id: Arc<str>,
    pub profile_id: Arc<str>,
    pub serve_id: Arc<str>,
    pub host_id: Arc<str>,
    /// `None` in journals from before it was written down
    pub made: Option<Arc<Conditions>>,
    pub seed: Option<u64>,
    /// the machine's failure, which is no result for a later invocation
    pub(super) infrastructure: bool,
    pub(super) session: u32,
    /// the user wants it measured again, and has said so since
    pub put_aside: Option<Aside>,
    /// shared with the results that are made of it
    pub run: Arc<Run>,
}

impl RunRecord {
    /// Whether an earlier invocation made it than another one.
    pub fn is_of_earlier(&self, other: &Self) -> bool {
        self.session < other.session
    }

    /// What this machine did to it, in words; `None` where it tells of its configuration.
    pub fn machine_s(&self, checks: Checks) -> Option<String> {
        if !self.is_the_machine_s(checks) {
            return None;
        }
        let fault = machine::fault(&self.run.outcome, &self.run.metrics, self.run.devices.as_deref());
        Some(match (&self.run.outcome, fault) {
            (RunOutcome::FailedStart { class, .. } | RunOutcome::FailedLoad { class, .. }, _) => {
                class.clone()
            }
            (_, Some(fault)) => format!("{}: {}", fault.check, fault.text),
            (_, None) => "this machine failed".to_owned(),
        })
    }

    /// Whether it tells of the machine at that moment, and not of the configuration.
    pub(super) fn is_the_machine_s(&self, checks: Checks) -> bool {
        self.infrastructure || machine::spoiled(&self.run, checks)
    }
}

/// What put a result aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside {
    Again,
    Fresh,
}

impl Aside {
    /// As the command line says it.
    pub fn option(self) -> &'static str {
        match self {
            Self::Again => "--again",
            Self::Fresh => FRESH,
        }
    }

    /// What a line of the journal says that was asked for.
    pub(super) fn of(asked: &[String]) -> Self {
        if asked.iter().any(|name| name == FRESH) { Self::Fresh } else { Self::Again }
    }
}

/// What the journal says was asked for where nothing is taken over; no trial is called so.
pub const FRESH: &str = "--fresh";

/// One invocation that measured.
#[derive(Debug, Clone, Default)]
pub struct SessionRecord {
    pub perflab: String,
    /// as the command line named it
    pub file: String,
    pub file_hash: String,
    /// params that the command line set
    pub set: IndexMap<String, String>,
    /// the name of the site that said how engines are launched
    pub site: Option<String>,
    pub machine: Option<Machine>,
    /// how the load generator fared, where it was tried
    pub client: Option<ClientTrial>,
    /// which results counted no more when it began, and why
    pub again: Vec<String>,
    pub(super) price_per_s: Option<f64>,
    pub(super) simulated: bool,
}
