//! The executor: one coordinator owns the state and the journal; a launch is carried out from a description to a result.

mod clean;
pub mod container;
mod coordinator;
mod devices;
pub mod event;
mod host;
mod launch;
mod loading;
mod lost;
mod measured;
mod order;
mod provenance;
mod records;
mod served;
mod setbacks;
mod signals;
mod spending;
mod stages;
mod surroundings;
mod target;

pub use clean::Held;
pub use coordinator::{Ended, Execution, RunError, execute, remaining, serve_ids_anywhere};
pub use event::{Event, Listener};
pub use host::{Host, HostError};
pub use lost::LIVE_FILE;
pub use order::missing_tokenizer;
pub use provenance::{Standing, as_measured};
pub use signals::Signals;

/// Which generation of the load generator made a result; results of another are not compared with.
pub const LOAD_GENERATION: u32 = 1;
