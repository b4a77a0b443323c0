//! The GPUs of this machine: which there are, how full they are, and which of them may be used.

mod inventory;
mod nvml;

pub use inventory::{Gpu, GpuError, Gpus, usable};
pub use nvml::Nvml;
