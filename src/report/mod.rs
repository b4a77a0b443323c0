//! What a study found, for people and for scripts: one versioned document, and every output rendered from it alone.
//!
//! The renderings know nothing of journals, plans or judges. What they may say stands in the document; what is not
//! there cannot be printed, and what is printed can be checked against the JSON beside it.

mod about;
mod asking;
mod build;
mod command;
mod costs;
mod document;
mod each;
mod entries;
mod evidence;
mod format;
mod gains;
mod head;
mod lookup;
mod markdown;
mod md;
mod metrics;
mod phrases;
pub mod preview;
mod resolved;
mod result_block;
mod results;
mod said;
mod shell;
mod sink;
mod style;
mod table;
mod terminal;
mod trials;
pub mod wrap;
mod write;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use asking::with_environment;
pub use build::{Material, build};
pub use command::{quote, wrapped};
pub use document::{
    By, Checks, Confirm, Direction, Engine, Gain, Gpus, Objective, Profile, Proof, Published, ReadError,
    Recommended, Replay, Report, Role, Row, SCHEMA, Step, Track, Verdict,
};
pub use evidence::{Config, ConfigText, Cost, Finding, Flag, Launch, Level, Outcome, Run, Trial};
pub use format::{decimals_for, duration, fixed, grouped, number, percent, share};
pub use head::Head;
pub use markdown::{markdown, write_markdown};
pub use metrics::{Distribution, Metric, Metrics};
pub use shell::shell;
pub use style::{Style, Tone};
pub use terminal::{terminal, write_terminal};
pub use write::{WriteError, Written, write};
