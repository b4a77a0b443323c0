//! The language: from text to a checked program and its diagnostics. Pure: no files, clock, processes or network of its own.

pub mod about;
mod analyze;
mod changes;
pub mod codes;
pub mod comments;
pub mod diag;
mod effort;
mod excerpt;
pub mod fix;
pub mod fmt;
pub mod given;
pub mod hidden;
pub mod invisible;
pub mod learn;
pub mod made;
mod near;
mod numbering;
pub mod of_launch;
mod pictures;
mod renamed;
pub mod render;
mod retold;
pub mod sema;
mod sink;
pub mod source;
mod stand_ins;
pub mod stdlib;
pub mod syntax;
pub mod unit_slips;
pub mod units;

pub use analyze::{Analysis, analyze, analyze_whole, analyze_with};
pub use diag::{Diagnostic, Severity};
pub use given::Given;
pub use sema::program::Program;
