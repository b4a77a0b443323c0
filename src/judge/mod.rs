//! From results to what to run next, and to verdicts. Pure: no clock, file, process or device; the host's facts arrive with the result.

mod adoption;
mod broken;
pub mod budget;
pub mod checks;
mod confirm;
mod device_checks;
pub mod devices;
pub mod forecast;
pub mod latencies;
pub mod metrics;
mod name;
pub mod neighbours;
mod offers;
mod pages;
pub mod prefix;
pub mod results;
mod rows;
mod scale;
pub mod setup;
pub mod spread;
pub mod strategy;
mod student;
pub mod track;
pub mod trial;
pub mod walk;

pub use checks::{Finding, Level};
pub use devices::{Device, Devices, Quarters};
pub use latencies::{Latencies, Latency};
pub use metrics::{Distribution, Metrics};
pub use name::Name;
pub use pages::page;
pub use results::{Results, Run, RunOutcome};
pub use setup::{Checks, Setup};
pub use strategy::{Grid, Next, Strategy, Wanted};
pub use trial::{Judged, Outcome};
pub use walk::Walk;
