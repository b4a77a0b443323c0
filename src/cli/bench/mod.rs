//! `perflab bench`: one load against a server that runs already, with options that are called as in `vllm bench serve`
//! where they mean the same.

mod address;
mod args;
mod command;
mod compat;
mod data_args;
mod documents;
mod files;
mod goodput;
mod notes;
mod profile;
mod progress;
mod questions;
mod stated;
mod table;

pub use args::BenchArgs;
pub use command::run;
