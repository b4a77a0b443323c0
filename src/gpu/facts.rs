//! What is known of a GPU beside its name and memory. Cards differ in what they tell: what one does not tell is `None`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The driver of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// As `550.54.15`.
    pub version: String,
    /// The highest CUDA version that it serves, as `12.4`.
    pub cuda: Option<String>,
}

/// How a GPU is set up: what changes rarely, and what speed depends on.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Settings {
    /// Clock of the multiprocessors now, in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// The highest that the card can do.
    pub sm_clock_max_mhz: Option<u32>,
    /// What applications are given; below the highest where somebody has set it so.
    pub sm_clock_application_mhz: Option<u32>,
    pub memory_clock_mhz: Option<u32>,
    /// The limit that holds now, in watts.
    pub power_limit_w: Option<f64>,
    pub power_limit_default_w: Option<f64>,
    /// The lowest and the highest that may be set.
    pub power_limits_w: Option<(f64, f64)>,
    pub ecc: Option<bool>,
    /// Uncorrected memory errors since the driver was loaded.
    pub ecc_errors: Option<u64>,
    /// Split into instances.
    pub mig: Option<bool>,
    /// The driver stays loaded when nobody uses the card.
    pub persistence: Option<bool>,
    /// One process at a time, or none: engines with several workers need the default.
    pub exclusive: Option<bool>,
}

impl Settings {
    /// What somebody may have set otherwise since, and what a restart of the machine sets back: "power limit 700 W, ECC on".
    pub fn changed_by_people(&self) -> Option<String> {
        let power = self.power_limit_w.map(|w| format!("power limit {w:.0} W"));
        let clocks = self.sm_clock_application_mhz.map(|mhz| format!("application clock {mhz} MHz"));
        let ecc = self.ecc.map(|on| format!("ECC {}", if on { "on" } else { "off" }));
        let all: Vec<String> = [power, clocks, ecc].into_iter().flatten().collect();
        Some(all.join(", ")).filter(|all| !all.is_empty())
    }
}

/// A GPU at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub power_w: Option<f64>,
    /// Since the driver was loaded, in joules.
    pub energy_j: Option<f64>,
    pub sm_clock_mhz: Option<u32>,
    pub memory_clock_mhz: Option<u32>,
    pub temperature_c: Option<u32>,
    /// What holds the clocks back; an empty set says that nothing does.
    pub throttle: Option<BTreeSet<Throttle>>,
    /// In bytes, by whomever.
    pub memory_used: Option<u64>,
    /// Share of the last moments in which anything ran, from 0 to 1.
    pub utilisation: Option<f64>,
}

/// Why a clock is lower than it could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Throttle {
    /// nothing runs
    Idle,
    /// somebody has set lower clocks
    ApplicationClocks,
    /// the power limit
    PowerCap,
    /// the hardware halves its clocks, whatever the reason
    HwSlowdown,
    /// another GPU of its group is slower
    SyncBoost,
    /// too hot, by the driver's judgement
    SwThermal,
    /// too hot, by the hardware's
    HwThermal,
    /// the power supply asks for less
    PowerBrake,
    /// a display's clocks
    Display,
}

/// A process that computes on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuProcess {
    /// As the driver counts: in a container it may be a number of another table.
    pub pid: u32,
    /// In bytes.
    pub memory: Option<u64>,
    /// `None` for a process that cannot be seen from here.
    pub name: Option<String>,
    pub user: Option<String>,
}

impl GpuProcess {
    /// Whether it uses the card at all. One that holds none of its memory only asks the driver questions, as exporters of counters do;
    /// one whose memory the driver does not tell may hold any.
    pub fn uses_it(&self) -> bool {
        self.memory != Some(0)
    }
}

impl std::fmt::Display for GpuProcess {
    /// "4711 (python3, user alice) 3.0 GiB"
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.pid)?;
        match (&self.name, &self.user) {
            (Some(name), Some(user)) => write!(f, " ({name}, user {user})")?,
            (Some(name), None) => write!(f, " ({name})")?,
            (None, Some(user)) => write!(f, " (user {user})")?,
            (None, None) => write!(f, " (hidden from here)")?,
        }
        self.memory.map_or(Ok(()), |bytes| write!(f, " {}", gib(bytes)))
    }
}

/// "3.0 GiB", "12 MiB"
pub fn gib(bytes: u64) -> String {
    const MIB: f64 = (1 << 20) as f64;
    let mib = bytes as f64 / MIB;
    if mib >= 1000.0 { format!("{:.1} GiB", mib / 1024.0) } else { format!("{mib:.0} MiB") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_no_memory_is_no_user() {
        let p = |memory| GpuProcess { pid: 7, memory, name: Some("dcgm-exporter".into()), user: None };
        assert!(!p(Some(0)).uses_it() && p(Some(1)).uses_it() && p(None).uses_it());
    }

    #[test]
    fn a_holder_is_named_as_far_as_it_is_known() {
        let mut p = GpuProcess { pid: 7, memory: Some(3 << 30), name: None, user: None };
        assert_eq!(p.to_string(), "7 (hidden from here) 3.0 GiB");
        p.name = Some("python3".into());
        p.user = Some("alice".into());
        assert_eq!(p.to_string(), "7 (python3, user alice) 3.0 GiB");
        p.memory = Some(300 << 20);
        p.user = None;
        assert_eq!(p.to_string(), "7 (python3) 300 MiB");
    }
}
