//! The formatter as its users meet it: `perflab fmt` on files, directories and standard input; golden files beside it; properties
//! of every text.

mod command;
mod golden;
mod properties;

use std::path::{Path, PathBuf};

/// The folder of these tests: `NAME.plab` beside `NAME.expected`.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fmt")
}
