//! Measured values by name: a number, or a distribution. Kept in the order in which they were entered.
//!
//! The JSON of a metric is the bare number or the bare object, so `jq .metrics.total_tps` and
//! `jq .metrics.ttft_ms.p99` work as one would guess; the two are told apart by hand because an untagged enum
//! would swallow the reason when a document is broken.

use std::fmt;

use indexmap::IndexMap;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Metrics of a run or a trial. Units stand in the names: `duration_s`, `ttft_ms`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metrics(IndexMap<String, Metric>);

/// One measured value.
#[derive(Debug, Clone, PartialEq)]
pub enum Metric {
    Number(f64),
    Distribution(Distribution),
}

/// A distribution in the unit of its name. What a source does not tell is `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

impl Metrics {
    /// Enters a number. What is not finite was not measured and is left out.
    pub fn number(&mut self, name: impl Into<String>, value: f64) {
        if value.is_finite() {
            self.0.insert(name.into(), Metric::Number(value));
        }
    }

    /// Enters a distribution.
    pub fn distribution(&mut self, name: impl Into<String>, value: Distribution) {
        self.0.insert(name.into(), Metric::Distribution(value));
    }

    /// The number of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        match self.0.get(name)? {
            Metric::Number(value) => Some(*value).filter(|v| v.is_finite()),
            Metric::Distribution(_) => None,
        }
    }

    /// The distribution of that name.
    pub fn get_distribution(&self, name: &str) -> Option<&Distribution> {
        match self.0.get(name)? {
            Metric::Number(_) => None,
            Metric::Distribution(distribution) => Some(distribution),
        }
    }

    /// Every metric in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Metric)> {
        self.0.iter().map(|(name, metric)| (name.as_str(), metric))
    }

    /// True when nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
