//! From text to the syntax tree. Parsing never fails: it returns the tree of what could be read, and a diagnostic for what could not.

pub mod ast;
mod bench;
mod blocks;
mod borrowed;
mod brackets;
mod build;
mod expected;
pub(in crate::lang) mod grammar;
mod habits;
mod hints;
mod imports;
mod joins;
mod lexical;
mod names;
mod opened;
mod parser;
mod phrases;
mod points;
mod quotes;
mod recover;
mod rename;
mod signs;
mod slips;
mod spaced;
mod synonyms;
mod unseen;
mod words;

pub use bench::load_setting;
pub use build::number_alone;
pub use imports::ANY;
pub use parser::{Parsed, parse};
pub use points::of_models;
pub use quotes::as_json;
pub use synonyms::of_profile as meant_in_profile;
pub use unseen::only_unseen;
pub use words::PROFILE_SETTINGS;
