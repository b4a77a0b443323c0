//! From the tree to a checked program: names, units, flags against schemas, studies. Each pass pushes into one sink.

mod asked;
mod axes;
pub mod bounds;
mod calls;
pub mod check;
mod derived;
mod engines;
mod equivalents;
mod exprs;
mod fits;
pub mod flags;
mod goodput;
mod gpus;
mod meant;
mod metrics;
mod picks;
pub mod problem;
mod profiles;
pub mod program;
pub mod schema;
pub mod scope;
pub mod settings;
mod sites;
mod step;
mod steps;
mod study;
mod template;
mod tracks;
mod unplaced;
mod unused;
mod values;
pub mod versions;

pub use check::check_program;
pub use metrics::{MetricKind, Stat, kind_of as metric_kind, unmeasured};
pub use scope::{Module, Modules, without_mark};
