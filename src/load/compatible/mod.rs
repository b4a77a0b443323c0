//! The columns that other tools would have printed of the same requests, by their own definitions: to be held against older numbers, and
//! never to decide by.

mod column;
mod guidellm;
mod vllm;

#[cfg(test)]
mod tests;

pub use column::{Column, Columns, columns};
pub use vllm::{Times, Vllm};
