//! GPUs that a script plays: the same trait, so that whatever waits, samples and gives up on a real card can be tried without one.

mod engines;
mod script;
mod source;
mod world;

pub use source::Scripted;
