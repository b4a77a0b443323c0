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

/// The `.plab` files of a folder, in order.
fn studies(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<_> =
        entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "plab")).collect();
    found.sort();
    found
}
