//! What one run measured: numbers and distributions by name, the unit in the name.

use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::latencies::{Latencies, Latency};
use super::name::Name;
use super::scale;
use super::table::Table;
use crate::lang::sema::Stat;

/// Numbers in base units (`total_tps` in tokens per second, `duration_s`), distributions in milliseconds (`ttft_ms`). Copies share
/// what they hold.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "Written")]
pub struct Metrics {
    /// both behind one pointer: ten thousand runs have them, and what tells of a run holds them too
    tables: Arc<Tables>,
    /// the completed requests; empty for a recording's
    pub requests: Latencies,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Tables {
    numbers: Table<f64>,
    distributions: Table<Packed>,
}

/// The form in which they are stored.
#[derive(Deserialize)]
struct Written {
    numbers: Table<f64>,
    distributions: Table<Packed>,
    #[serde(default)]
    requests: Latencies,
}

impl From<Written> for Metrics {
    fn from(Written { numbers, distributions, requests }: Written) -> Self {
        Self { tables: Arc::new(Tables { numbers, distributions }), requests }
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let more = usize::from(!self.requests.is_empty());
        let mut out = to.serialize_struct("Metrics", 2 + more)?;
        out.serialize_field("numbers", &self.tables.numbers)?;
        out.serialize_field("distributions", &self.tables.distributions)?;
        if more > 0 {
            out.serialize_field("requests", &self.requests)?;
        }
        out.end()
    }
}

/// Milliseconds. What was not measured, or cannot be from so few samples, is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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

/// A distribution in half the memory, in the order of [`Stat::ALL`]: what is absent is no number.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(from = "Distribution", into = "Distribution")]
struct Packed([f64; Stat::ALL.len()]);

impl From<Distribution> for Packed {
    fn from(d: Distribution) -> Self {
        Self(Stat::ALL.map(|stat| d.get(stat).unwrap_or(f64::NAN)))
    }
}

impl From<Packed> for Distribution {
    fn from(Packed(values): Packed) -> Self {
        let [mean, stddev, min, max, p50, p90, p95, p99, p999] =
            values.map(|v| Some(v).filter(|v| !v.is_nan()));
        Self { mean, stddev, p50, p90, p95, p99, p999, min, max }
    }
}

impl PartialEq for Packed {
    fn eq(&self, other: &Self) -> bool {
        Distribution::from(*self) == Distribution::from(*other)
    }
}

impl Metrics {
    pub fn set(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            Arc::make_mut(&mut self.tables).numbers.insert(Name::of(name), value);
        }
    }

    pub fn set_distribution(&mut self, name: &str, d: Distribution) {
        Arc::make_mut(&mut self.tables).distributions.insert(Name::of(name), d.into());
    }

    /// All numbers, in the order in which they were set.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        self.tables.numbers.iter().map(|(name, value)| (&**name, *value))
    }

    pub fn distributions(&self) -> impl Iterator<Item = (&str, Distribution)> {
        self.tables.distributions.iter().map(|(name, d)| (&**name, (*d).into()))
    }

    /// Gives back memory that nothing is in.
    pub fn shrink(&mut self) {
        let Tables { numbers, distributions } = Arc::make_mut(&mut self.tables);
        numbers.shrink_to_fit();
        distributions.shrink_to_fit();
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.tables.numbers.get(name).copied()
    }

    pub fn distribution(&self, name: &str) -> Option<Distribution> {
        self.tables.distributions.get(name).copied().map(Distribution::from)
    }

    /// Completed requests per second that meet a condition on their own times; `None` where these are not known.
    pub fn goodput(&self, meets: impl Fn(&Latency) -> bool) -> Option<f64> {
        let duration = self.number("duration_s").filter(|s| *s > 0.0)?;
        if self.requests.is_empty() {
            return None;
        }
        Some(self.requests.iter().filter(|r| meets(r)).count() as f64 / duration)
    }

    /// The means over several runs, of what each of them has.
    pub fn mean<'a>(runs: impl Iterator<Item = &'a Metrics>) -> Self {
        let all: Vec<&Metrics> = runs.collect();
        let [first, rest @ ..] = all.as_slice() else { return Self::default() };
        if rest.is_empty() {
            return (*first).clone();
        }
        let over = |get: &dyn Fn(&Metrics) -> Option<f64>| {
            all.iter().map(|m| get(m)).collect::<Option<Vec<f64>>>().and_then(|v| scale::mean(&v))
        };
        let mut out = Self::default();
        for name in first.tables.numbers.keys() {
            if let Some(mean) = over(&|m| m.number(name)) {
                out.set(name, mean);
            }
        }
        for name in
            first.tables.distributions.keys().filter(|n| all.iter().all(|m| m.distribution(n).is_some()))
        {
            let stat = |s: Stat| over(&|m| m.distribution(name)?.get(s));
            let d = Distribution {
                mean: stat(Stat::Mean),
                stddev: stat(Stat::Stddev),
                p50: stat(Stat::P50),
                p90: stat(Stat::P90),
                p95: stat(Stat::P95),
                p99: stat(Stat::P99),
                p999: stat(Stat::P999),
                min: stat(Stat::Min),
                max: stat(Stat::Max),
            };
            out.set_distribution(name, d);
        }
        out
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
