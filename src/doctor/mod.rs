//! What a machine can do and what to mend before a night is spent on it. Only looks: nothing is changed, nothing is loaded.

mod ask;
mod capacity;
mod containers;
mod engines;
mod examine;
mod finding;
mod gpus;
mod limits;
mod places;
mod site;

pub use engines::{Found, Via};
pub use examine::{Examination, examine};
pub use finding::{Finding, Level, Topic};
pub use gpus::GpuFacts;
pub use site::site;
