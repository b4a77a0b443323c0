//! The one trait over everything that perflab wants to know of GPUs, whoever tells it: the driver, or a script.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::facts::{Driver, GpuProcess, Sample, Settings};
use super::inventory::Gpu;
use super::nvml::Nvml;
use super::scripted::Scripted;

/// Names a script that plays the GPUs of this machine; for tests. What runs on them is marked as such.
pub const SCRIPT: &str = "PERFLAB_GPUS";

/// A source of facts about GPUs. Each call asks anew; the driver may take tens of milliseconds to answer.
pub trait Gpus: Debug + Send + Sync {
    /// All GPUs of the machine that answer, by index.
    fn list(&self) -> Result<Vec<Gpu>, GpuError>;

    /// GPUs that the driver counts and that do not answer: their index, and why.
    fn broken(&self) -> Vec<(u32, String)>;

    fn driver(&self) -> Result<Driver, GpuError>;

    fn settings(&self, uuid: &str) -> Result<Settings, GpuError>;

    /// Pairs of indices, the lower one first, that are joined by NVLink.
    fn links(&self) -> Result<Vec<(u32, u32)>, GpuError>;

    /// Whether its device file can be opened here: a container may be given fewer GPUs than the driver counts.
    fn reachable(&self, uuid: &str) -> bool;

    /// Who uses it (see [`GpuProcess::uses_it`]). Processes of other containers may be missing.
    fn processes(&self, uuid: &str) -> Result<Vec<GpuProcess>, GpuError>;

    fn sample(&self, uuid: &str) -> Result<Sample, GpuError>;

    /// How long memory must be quiet and how long that is waited for.
    fn pace(&self) -> Pace {
        Pace::default()
    }

    /// How much neighbours may change results, as a fraction; a script may have another opinion than `usual`.
    fn tolerated(&self, usual: f64) -> f64 {
        usual
    }

    /// The script behind it, if it is no real machine.
    fn script(&self) -> Option<&Path> {
        None
    }
}

/// The rhythm of the wait for clean GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub every: Duration,
    /// so many samples in a row
    pub samples: u32,
    pub patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { every: Duration::from_millis(500), samples: 5, patience: Duration::from_mins(2) }
    }
}

/// Why GPUs are unknown.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    #[error("no NVIDIA driver on this machine")]
    NoDriver,
    #[error("the NVIDIA driver does not answer: {0}")]
    Driver(#[from] nvml_wrapper::error::NvmlError),
    #[error("the NVIDIA driver gave no answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("GPU {0} is lost: it has fallen off the bus, or its driver was reset")]
    Lost(String),
    #[error("CUDA_VISIBLE_DEVICES names {name}, which is no GPU of this machine: {known}")]
    Unknown { name: String, known: String },
    #[error("CUDA_VISIBLE_DEVICES names {name}, which may be more than one GPU of this machine: {known}")]
    Ambiguous { name: String, known: String },
    #[error("CUDA_VISIBLE_DEVICES names {name}, a part of a GPU (MIG); only whole GPUs can be measured")]
    Part { name: String },
    #[error("the GPU script {} cannot be used: {why}", path.display())]
    Script { path: PathBuf, why: String },
}

impl GpuError {
    /// What to do about a wrong variable; `None` where none is wrong.
    pub fn variable_help(&self) -> Option<&'static str> {
        match self {
            Self::Unknown { .. } | Self::Ambiguous { .. } | Self::Part { .. } => Some(VISIBLE_HELP),
            Self::Script { .. } => {
                Some("mend the script, or `unset PERFLAB_GPUS` to look at this machine's own GPUs")
            }
            _ => None,
        }
    }
}

/// How the set of GPUs that may be used is stated.
pub const VISIBLE_HELP: &str = "set CUDA_VISIBLE_DEVICES to numbers or UUIDs of `nvidia-smi -L`, as in `CUDA_VISIBLE_DEVICES=0,1`, or \
     `unset CUDA_VISIBLE_DEVICES` for all GPUs";

/// The GPUs of this machine, or those of the script that [`SCRIPT`] names.
pub fn open() -> Result<Arc<dyn Gpus>, GpuError> {
    match script() {
        Some(path) => Ok(Arc::new(Scripted::open(path)?)),
        None => Ok(Arc::new(Nvml::open()?)),
    }
}

/// The script that plays this machine's GPUs, if there is one.
pub fn script() -> Option<PathBuf> {
    std::env::var_os(SCRIPT).filter(|v| !v.is_empty()).map(PathBuf::from)
}
