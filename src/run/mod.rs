//! The executor: one coordinator owns the state; launches are carried out from a description to a result, one after another or side by
//! side on GPUs of their own.

mod asking;
mod books;
mod clean;
mod cold;
pub mod container;
mod coordinator;
pub mod cores;
mod devices;
pub mod elsewhere;
pub mod event;
mod execution;
mod hits;
mod host;
mod key;
mod launch;
mod ledger;
mod leftovers;
mod loading;
mod lost;
mod measured;
pub mod neighbours;
mod opening;
mod options;
mod order;
mod provenance;
mod pulse;
mod questions;
mod records;
mod replaced;
mod reservation;
mod reset;
mod serve_id;
mod served;
mod setbacks;
mod sides;
mod signals;
mod slots;
mod spending;
mod stages;
mod surroundings;
mod taken;
mod target;
mod task;
mod unanswered;
mod undone;
mod vanished;
mod yard;

pub use coordinator::execute;
pub use event::{Event, Listener};
pub use execution::{Ended, Execution, RunError};
pub use host::{Host, HostError};
pub use ledger::Ledger;
pub use lost::LIVE_FILE;
pub use opening::{measured_again_still, remaining, told_last};
pub use order::{Around, OrderError, load_spec, missing_tokenizer, seed};
pub use provenance::{Standing, as_measured, edited, interpreter_named_by, machine};
pub use questions::{missing, prompt_cache};
pub use records::write as write_requests;
pub use serve_id::serve_ids_anywhere;
pub use signals::Signals;
pub use spending::recorded as spent;
pub use yard::Yard;

/// Which generation of the load generator made a result; results of another are not compared with.
pub const LOAD_GENERATION: u32 = 2;
