//! A schema from an installed engine: what its own parser lists, made into flags, and written down in the language. Pure: who
//! asks the engine hands the answer in.

mod argparse;
mod held;
mod help;
mod rows;
mod write;

pub use argparse::rows_of_argparse;
pub use held::{Installed, held};
pub use help::rows_of_help;
pub use rows::{Row, schema};
pub use write::written;
