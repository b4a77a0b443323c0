//! What one run measured: numbers and distributions by name, the unit in the name.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::lang::sema::Stat;

/// Numbers in base units (`total_tps` in tokens per second, `duration_s`), distributions in milliseconds (`ttft_ms`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    pub numbers: IndexMap<String, f64>,
    pub distributions: IndexMap<String, Distribution>,
}

/// Milliseconds. What was not measured, or cannot be from so few samples, is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    pub mean: Option<f64>,
    pub stddev: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

impl Distribution {
    pub fn get(&self, stat: Stat) -> Option<f64> {
        match stat {
            Stat::Mean => self.mean,
            Stat::Stddev => self.stddev,
            Stat::Min => self.min,
            Stat::Max => self.max,
            Stat::P50 => self.p50,
            Stat::P90 => self.p90,
            Stat::P95 => self.p95,
            Stat::P99 => self.p99,
            Stat::P999 => self.p999,
        }
    }
}

impl Metrics {
    pub fn set(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.numbers.insert(name.to_owned(), value);
        }
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }

    pub fn distribution(&self, name: &str) -> Option<&Distribution> {
        self.distributions.get(name)
    }

    /// A metric of the language in the language's base units: times in seconds.
    pub fn read(&self, name: &str, stat: Option<Stat>) -> Option<f64> {
        match stat {
            Some(stat) => self.distribution(&format!("{name}_ms"))?.get(stat).map(|ms| ms / 1e3),
            None if name == "startup" => self.number("startup_s"),
            None => self.number(name),
        }
    }
}
