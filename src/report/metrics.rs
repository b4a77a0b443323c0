//! Measured values by name: a number, or a distribution. Kept in the order in which they were entered.
//!
//! The JSON of a metric is the bare number or the bare object, so `jq .metrics.total_tps` and
//! `jq .metrics.ttft_ms.p99` work as one would guess; the two are told apart by hand because an untagged enum
//! would swallow the reason when a document is broken.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::judge;
pub use crate::judge::Distribution;

/// Metrics of a run or a trial. Units stand in the names: `duration_s`, `ttft_ms`. They are shared with the results that they were taken
/// from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics(judge::Metrics);

/// One measured value.
#[derive(Debug, Clone, PartialEq)]
pub enum Metric {
    Number(f64),
    Distribution(Distribution),
}

impl Metrics {
    /// What a run measured, without its single requests.
    pub fn of(measured: &judge::Metrics) -> Self {
        let mut shared = measured.clone();
        shared.requests = judge::Latencies::default();
        Self(shared)
    }

    /// Enters a number. What is not finite was not measured and is left out.
    pub fn number(&mut self, name: &str, value: f64) {
        self.0.set(name, value);
    }

    /// Enters a distribution.
    pub fn distribution(&mut self, name: &str, value: Distribution) {
        self.0.set_distribution(name, value);
    }

    /// The number of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.number(name)
    }

    /// The distribution of that name.
    pub fn get_distribution(&self, name: &str) -> Option<Distribution> {
        self.0.distribution(name)
    }

    /// Every metric, numbers first, each kind in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Metric)> {
        let numbers = self.0.numbers().map(|(name, value)| (name, Metric::Number(value)));
        numbers.chain(self.0.distributions().map(|(name, d)| (name, Metric::Distribution(d))))
    }

    /// True when nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetricsVisitor)
    }
}

struct MetricsVisitor;

impl<'de> Visitor<'de> for MetricsVisitor {
    type Value = Metrics;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metrics by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metrics, A::Error> {
        let mut metrics = Metrics::default();
        while let Some((name, metric)) = map.next_entry::<String, Metric>()? {
            match metric {
                Metric::Number(value) => metrics.number(&name, value),
                Metric::Distribution(d) => metrics.distribution(&name, d),
            }
        }
        Ok(metrics)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // counts read as counts: 1000, not 1000.0
            Self::Number(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
                serializer.serialize_i64(*value as i64)
            }
            Self::Number(value) => serializer.serialize_f64(*value),
            Self::Distribution(distribution) => distribution.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MetricVisitor)
    }
}

struct MetricVisitor;

impl<'de> Visitor<'de> for MetricVisitor {
    type Value = Metric;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a distribution")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Metric, E> {
        Ok(Metric::Number(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Metric, E> {
        Ok(Metric::Number(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Metric, E> {
        Ok(Metric::Number(value as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Metric, A::Error> {
        Distribution::deserialize(MapAccessDeserializer::new(map)).map(Metric::Distribution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let mut metrics = Metrics::default();
        metrics.number("total_tps", 11_527.141_592_653_59);
        metrics.number("completed", 1000.0);
        metrics.number("broken", f64::NAN);
        metrics.distribution(
            "ttft_ms",
            Distribution { mean: Some(0.1 + 0.2), p99: Some(5.0), ..Default::default() },
        );
        let text = serde_json::to_string(&metrics).expect("serializes");
        assert_eq!(
            text,
            r#"{"total_tps":11527.14159265359,"completed":1000,"ttft_ms":{"mean":0.30000000000000004,"stddev":null,"p50":null,"p90":null,"p95":null,"p99":5.0,"p999":null,"min":null,"max":null}}"#
        );
        assert_eq!(serde_json::from_str::<Metrics>(&text).expect("reads"), metrics);
    }

    #[test]
    fn says_what_it_expected() {
        let error = serde_json::from_str::<Metrics>(r#"{"ttft_ms":"fast"}"#).expect_err("not a metric");
        assert!(error.to_string().contains("expected a number or a distribution"), "{error}");
        let error =
            serde_json::from_str::<Metrics>(r#"{"ttft_ms":{"mean":"fast"}}"#).expect_err("not a mean");
        assert!(error.to_string().contains("line 1 column"), "{error}");
    }
}
