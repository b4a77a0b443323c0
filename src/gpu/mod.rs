//! The GPUs of this machine: which there are and may be used, what they do, who holds them. Nothing here changes a setting of one.

mod facts;
mod holders;
mod inventory;
mod islands;
mod nvml;
pub mod sampler;
mod scripted;
mod source;

pub use facts::{Driver, GpuProcess, Sample, Settings, Throttle, gib};
pub use holders::{belongs, hidden_here, in_container, who};
pub use inventory::{Gpu, listed, usable};
pub use islands::islands;
pub use nvml::Nvml;
pub use sampler::{Sampler, Taken};
pub use scripted::Scripted;
pub use source::{GpuError, Gpus, Pace, SCRIPT, VISIBLE_HELP, open, script};
