//! What the GPUs did during a load, as it stands in the journal: read by the checks and by people.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The GPUs of one load, each with means over its samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Devices {
    /// played by a script, as in tests: no number here is of a real GPU
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scripted: bool,
    pub gpus: Vec<Device>,
}

/// One GPU during a load. What the card does not tell is not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    pub index: u32,
    pub uuid: String,
    pub name: String,
    /// over the load, about one a second
    pub samples: u32,
    /// mean and highest, in watts
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_max_w: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<f64>,
    /// of the load, by the card's counter, else mean power times time
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// mean clock of the multiprocessors while anything ran
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_max_mhz: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_max_c: Option<f64>,
    /// first and last quarter of the load: mean temperature and mean clock
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarters: Option<Quarters>,
    /// share of the samples that each reason for lower clocks was seen in; `None` where the card tells none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<BTreeMap<String, f64>>,
    /// highest, by whomever, in bytes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_max: Option<u64>,
    /// before the study, held by no process, in bytes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_idle: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// processes of others that computed on it, as "4711 (python3, user alice) 3.0 GiB"
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<String>,
}

/// How a GPU changed in the course of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quarters {
    pub first_c: f64,
    pub last_c: f64,
    pub first_mhz: f64,
    pub last_mhz: f64,
}

impl Devices {
    /// The sum over all GPUs of what each has; `None` unless all have it.
    pub fn sum(&self, of: impl Fn(&Device) -> Option<f64>) -> Option<f64> {
        if self.gpus.is_empty() {
            return None;
        }
        self.gpus.iter().map(of).sum()
    }

    /// The highest over all GPUs of what each has.
    pub fn highest(&self, of: impl Fn(&Device) -> Option<f64>) -> Option<f64> {
        self.gpus.iter().filter_map(of).reduce(f64::max)
    }
}
