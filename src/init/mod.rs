//! From what people have — a pasted serve command, another tool's sweep files — to a first study. Pure: text in, text out.
//!
//! In reading order: `pasted` and `shell` (with `vars`, `expand`, `branches`, `carry`, `heredoc` and `written`) make commands of a text, `launch` (with `container` and `slurm`) finds the serve command in
//! them, `reader` makes `arguments` of its
//! words by the engine's schema, `ideas` chooses axes, `draft` holds the study, `write` prints it,
//! `secret` keeps out of it what is nobody else's,
//! `settle` has the checker look at it until nothing is left to say. `files` has the other ways to a draft:
//! `sweep` (with `bench`, `sets`, `params` and `json`) and `auto_benchmark` (with `rates`, `yaml` and `keys`).

pub mod arguments;
pub mod arithmetic;
pub mod auto_benchmark;
pub mod bench;
pub mod branches;
pub mod carry;
pub mod container;
pub mod draft;
pub mod environment;
pub mod error;
pub mod expand;
pub mod files;
pub mod gpus;
pub mod heredoc;
pub mod ideas;
pub mod json;
pub mod keys;
pub mod known;
pub mod launch;
pub mod llama;
pub mod manifest;
pub mod mounts;
pub mod notes;
pub mod params;
pub mod pasted;
pub mod programs;
pub mod rates;
pub mod reader;
pub mod secret;
pub mod serves;
pub mod sets;
pub mod settle;
pub mod shell;
pub mod slurm;
pub mod study;
pub mod sweep;
pub mod value;
pub mod vars;
pub mod wrappers;
pub mod write;
pub mod written;
pub mod yaml;

#[cfg(test)]
mod tests;

pub use error::InitError;
pub use files::from_files;
pub use study::{Asked, Command, Written, from_command};
