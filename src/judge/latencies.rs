//! What is kept of each completed request for metrics that ask every one of them: three times, in whole microseconds, column by column
//! so that a journal line stays short (some 20 bytes a request).
//!
//! A condition of `goodput` is no part of a result's identity. These times are, so an edited condition is decided over the runs there are.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// One completed request. A time that it does not have is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Latency {
    pub ttft_us: Option<u64>,
    pub tpot_us: Option<u64>,
    pub latency_us: Option<u64>,
}

impl Latency {
    /// One of its times in seconds, by the metric's name.
    pub fn read(&self, name: &str) -> Option<f64> {
        let us = match name {
            "ttft" => self.ttft_us,
            "tpot" => self.tpot_us,
            "latency" => self.latency_us,
            _ => None,
        };
        us.map(|us| us as f64 / 1e6)
    }
}

/// The completed requests of one load, in the order of their ends. Copies share them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Columns", into = "Columns")]
pub struct Latencies(Arc<[Latency]>);

impl Latencies {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Latency> {
        self.0.iter()
    }
}

impl FromIterator<Latency> for Latencies {
    fn from_iter<I: IntoIterator<Item = Latency>>(requests: I) -> Self {
        Self(requests.into_iter().collect())
    }
}

#[derive(Serialize, Deserialize)]
struct Columns {
    #[serde(rename = "ttft_us")]
    ttft: Vec<Option<u64>>,
    #[serde(rename = "tpot_us")]
    tpot: Vec<Option<u64>>,
    #[serde(rename = "latency_us")]
    latency: Vec<Option<u64>>,
}

impl From<Latencies> for Columns {
    fn from(requests: Latencies) -> Self {
        let column = |of: fn(&Latency) -> Option<u64>| requests.iter().map(of).collect();
        Self { ttft: column(|r| r.ttft_us), tpot: column(|r| r.tpot_us), latency: column(|r| r.latency_us) }
    }
}

impl TryFrom<Columns> for Latencies {
    type Error = &'static str;

    fn try_from(c: Columns) -> Result<Self, Self::Error> {
        if c.ttft.len() != c.tpot.len() || c.ttft.len() != c.latency.len() {
            return Err("the requests' times are of different lengths");
        }
        let rows = c.ttft.into_iter().zip(c.tpot).zip(c.latency);
        Ok(rows.map(|((ttft_us, tpot_us), latency_us)| Latency { ttft_us, tpot_us, latency_us }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_json_in_columns() {
        let requests: Latencies = [
            Latency { ttft_us: Some(1500), tpot_us: None, latency_us: Some(1500) },
            Latency { ttft_us: Some(7), tpot_us: Some(9), latency_us: Some(70) },
        ]
        .into_iter()
        .collect();
        let text = serde_json::to_string(&requests).expect("serialises");
        assert_eq!(text, r#"{"ttft_us":[1500,7],"tpot_us":[null,9],"latency_us":[1500,70]}"#);
        assert_eq!(serde_json::from_str::<Latencies>(&text).expect("reads back"), requests);
        let torn = r#"{"ttft_us":[1500],"tpot_us":[],"latency_us":[1]}"#;
        assert!(serde_json::from_str::<Latencies>(torn).is_err());
    }

    #[test]
    fn times_are_read_in_seconds() {
        let one = Latency { ttft_us: Some(500_000), tpot_us: None, latency_us: Some(1) };
        assert_eq!((one.read("ttft"), one.read("tpot"), one.read("itl")), (Some(0.5), None, None));
    }
}
