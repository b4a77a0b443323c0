//! From a checked program to the space of a study: configurations, their identity and commands, candidates on demand, static rules.

mod alike;
pub mod bases;
pub mod candidate;
pub mod command;
pub mod config;
mod dead;
mod defaults;
pub mod eval;
mod held;
pub mod identity;
mod idle;
mod itself;
mod labels;
mod normal;
mod overruled;
mod overwritten;
mod prepared;
pub mod profile;
mod reach;
mod refused;
mod required;
mod review;
mod room;
mod rulings;
#[cfg(test)]
mod same;
pub mod shell;
mod strangers;
mod torn;
mod undrafted;

pub use bases::never_holds;
pub use candidate::{Candidate, Ruling};
pub use command::Command;
pub use config::Config;
pub use eval::{Facts, Known};
pub use identity::Id;
pub use labels::Labels;
pub use normal::Normal;
pub use prepared::Prepared;
pub use reach::engines as named_engines;
pub use review::reviewed;
pub use rulings::OpenRules;
