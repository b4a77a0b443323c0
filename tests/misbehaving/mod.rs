//! Engines that misbehave, each met by the real binary: what becomes of the trial, of the study, and of the processes.

mod deaths;
mod engine;
mod lab;
mod memories;
mod ports;
mod silence;
mod trees;

pub use engine::play_line;
