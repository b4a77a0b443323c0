//! Where results come from: what this machine and what is installed on it are, what a server says of itself, and which earlier results
//! still count because all of that is as it was.

mod answers;
mod as_measured;
mod beside;
mod blamed;
mod boxes;
mod build;
mod configs;
mod console;
mod edited;
mod effective;
mod elf;
mod environments;
#[cfg(test)]
mod folder;
mod globs;
mod inherited;
mod leads;
mod leaves;
mod libraries;
mod limits;
mod literal;
mod loose;
mod machine;
mod memory_policy;
mod named;
mod patched;
mod places;
mod prefix;
mod python;
mod quoted;
mod script_words;
mod scripts;
mod secrets;
mod shell;
mod stamps;
mod standing;
mod uses;
mod variants;
mod ways;
mod words;

pub use answers::{ask, contradiction, facts_of, hash_of, started};
pub use as_measured::as_measured;
pub use edited::edited;
pub use effective::differences;
pub use libraries::named as libraries_named;
pub use machine::machine;
pub use python::named_by as interpreter_named_by;
pub use secrets::masked_variables;
pub use stamps::Stamps;
pub use standing::{Outdated, Standing};
