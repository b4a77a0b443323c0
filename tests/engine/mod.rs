//! Engines as real processes: trees that hide, servers that will not leave, parents that are killed.

mod death;
mod environment;
mod failure_tails;
mod failures;
mod lookups;
mod roles;
mod starting;
mod stopping;
mod workshop;

pub use roles::sharing_listener;
