//! The plan as people review it: what a study would run, from the same walk that runs it. One document with its candidates
//! rendered on demand, and four renderings of it.

pub mod against;
mod budgets;
mod build;
mod candidate;
mod decides;
mod document;
mod engines;
mod json;
mod markdown;
mod mermaid;
mod shown;
mod states;
mod tree;
mod twins;

pub use budgets::Account;
pub use build::{Again, Material, plan};
pub use candidate::Candidate;
pub use document::{Launched, Plan, SideBySide};
pub use json::write as json;
pub use markdown::markdown;
pub use mermaid::mermaid;
pub use states::State;
pub use tree::tree;
