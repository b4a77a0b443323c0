//! The formatter: the one layout of a file, as a person would align it. Pure: text in, text out; a tree that changes is refused.

mod align;
mod columns;
mod format;
mod json;
mod lists;
mod print;
mod rows;
mod same;
mod spacing;
mod tokens;
mod wrap;

pub use format::{Refusal, format};
