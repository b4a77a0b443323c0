//! What expressions read of a configuration that was measured: over its runs, of one run, of one request, and under a load that goes on.

use std::sync::Arc;

use super::latencies::Latency;
use super::metrics::Metrics;
use super::results::Run;
use super::scale;
use super::setup::Setup;
use super::trial::Peers;
use crate::lang::sema::Stat;
use crate::lang::sema::program::{Expr, Owner};
use crate::plan::eval::condition;
use crate::plan::{Config, Facts, Known};

/// Which of a configuration's runs are read.
#[derive(Clone, Copy)]
pub(super) enum Reads {
    /// all that count
    Counted,
    /// the first alone: a rule is settled by it, whatever later runs say
    First,
}

impl Reads {
    pub(super) fn of<'a>(self, setup: &'a Setup<'a>, config: &Config, profile: &str) -> &'a [Arc<Run>] {
        let counted = setup.counted(config, profile);
        match self {
            Self::Counted => counted,
            Self::First => &counted[..counted.len().min(1)],
        }
    }
}

/// The facts of one configuration under one profile.
pub(super) struct Measured<'a> {
    pub setup: &'a Setup<'a>,
    pub config: &'a Config,
    pub profile: &'a str,
    pub peers: Peers<'a>,
    pub gain: Known<f64>,
    pub reads: Reads,
}

impl Facts for Measured<'_> {
    fn config(&self) -> &Config {
        self.config
    }

    fn metric(&self, of: Owner, name: &str, stat: Option<Stat>) -> Known<f64> {
        self.mean_of(of, |run, _| run.metrics.read(name, stat))
    }

    fn gain(&self) -> Known<f64> {
        self.gain.clone()
    }

    fn goodput(&self, of: Owner, when: &Expr) -> Known<f64> {
        self.mean_of(of, |run, config| goodput(&run.metrics, config, when))
    }

    fn config_of(&self, of: Owner) -> Known<&Config> {
        self.peer(of).map_or(Known::Absent, Known::Value)
    }
}

impl<'a> Measured<'a> {
    fn peer(&self, of: Owner) -> Option<&'a Config> {
        match of {
            Owner::Own => Some(self.config),
            Owner::Best => self.peers.best,
            Owner::Baseline => self.peers.baseline,
        }
    }

    /// A value over runs; it is not there unless each of them has it.
    fn mean_of(&self, of: Owner, read: impl Fn(&Run, &Config) -> Option<f64>) -> Known<f64> {
        let Some(config) = self.peer(of) else { return Known::Absent };
        let runs = self.reads.of(self.setup, config, self.profile);
        let values: Option<Vec<f64>> = runs.iter().map(|run| read(run, config)).collect();
        values.and_then(|v| scale::mean(&v)).map_or(Known::Absent, Known::Value)
    }
}

/// Completed requests per second that meet a condition.
pub(super) fn goodput(metrics: &Metrics, config: &Config, when: &Expr) -> Option<f64> {
    metrics.goodput(|request| condition(when, &OneRequest { config, request }) == Some(true))
}

/// One request's own times.
pub(super) struct OneRequest<'a> {
    pub config: &'a Config,
    pub request: &'a Latency,
}

impl Facts for OneRequest<'_> {
    fn config(&self) -> &Config {
        self.config
    }

    fn metric(&self, _: Owner, name: &str, _: Option<Stat>) -> Known<f64> {
        self.request.read(name).map_or(Known::Absent, Known::Value)
    }

    fn gain(&self) -> Known<f64> {
        Known::Absent
    }
}

/// One run's own metrics.
pub(super) struct OneRun<'a> {
    pub setup: &'a Setup<'a>,
    pub config: &'a Config,
    pub profile: &'a str,
    pub run: &'a Run,
}

impl Facts for OneRun<'_> {
    fn config(&self) -> &Config {
        self.config
    }

    fn metric(&self, of: Owner, name: &str, stat: Option<Stat>) -> Known<f64> {
        // objectives read their own metrics only; the checker refuses the others
        debug_assert!(of == Owner::Own && !self.setup.study.name.is_empty() && !self.profile.is_empty());
        self.run.metrics.read(name, stat).map_or(Known::Absent, Known::Value)
    }

    fn goodput(&self, _: Owner, when: &Expr) -> Known<f64> {
        goodput(&self.run.metrics, self.config, when).map_or(Known::Absent, Known::Value)
    }

    fn gain(&self) -> Known<f64> {
        Known::Absent
    }
}

/// A load that is going on: the candidate's own metrics so far, and those that the others ended with.
pub(super) struct UnderLoad<'a> {
    pub so_far: &'a Metrics,
    pub measured: Measured<'a>,
}

impl Facts for UnderLoad<'_> {
    fn config(&self) -> &Config {
        self.measured.config
    }

    fn metric(&self, of: Owner, name: &str, stat: Option<Stat>) -> Known<f64> {
        match of {
            Owner::Own => self.so_far.read(name, stat).map_or(Known::Absent, Known::Value),
            _ => self.measured.metric(of, name, stat),
        }
    }

    fn goodput(&self, of: Owner, when: &Expr) -> Known<f64> {
        match of {
            Owner::Own => {
                goodput(self.so_far, self.measured.config, when).map_or(Known::Absent, Known::Value)
            }
            _ => self.measured.goodput(of, when),
        }
    }

    fn config_of(&self, of: Owner) -> Known<&Config> {
        self.measured.config_of(of)
    }

    fn gain(&self) -> Known<f64> {
        // a gain is between whole runs
        Known::Later
    }
}
