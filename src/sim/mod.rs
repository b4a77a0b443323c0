//! The simulated engine: a discrete-event model of continuous batching (hardware, models, cost, blocks, scheduler),
//! run in virtual time by `predict` and in real time behind an OpenAI-compatible server by `server`. Whatever it
//! produces is simulated and says so.

mod args;
mod blocks;
mod config;
mod cost;
mod front_end;
mod hardware;
mod models;
mod predict;
mod scheduler;
mod sequence;
mod server;
mod simulation;
mod tokens;

#[cfg(test)]
mod tests;

pub use args::{KvCacheDtype, Quantization, SimArgs, normalise, usage_message};
pub use config::{EngineConfig, MemoryPlan, StartError};
pub use cost::{Batch, CostModel, CostOptions, Knobs};
pub use hardware::{Gpu, GpuSpec};
pub use models::{ModelShape, NamedModel, Precision, by_name, tells_size};
pub use predict::{Arrivals, Load, PredictError, Prediction, RequestShape, RequestTimes, predict};
pub use scheduler::{Counters, Limits, Refusal, Scheduler};
pub use sequence::{Emission, Ending, Request, RequestId};
pub use server::{TEMPLATE_TOKENS, command, main, serve};
pub use simulation::{Simulation, Snapshot, StepPlan};
pub use tokens::{BLOCK_TOKENS, Prompt};
