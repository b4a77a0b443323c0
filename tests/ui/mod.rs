//! The language as its users meet it: what `perflab check` says of files, right and wrong ones.

mod fixes;
mod forbidden;
mod golden;
mod later;
mod meant;
mod robust;
mod six;
mod strays;
mod torn;
mod whole;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use perflab::lang::source::NoFiles;
use perflab::lang::{Analysis, analyze};

/// The folder of these tests: `NAME.plab` beside `NAME.expected`.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui")
}

/// Runs the real binary in the folder of these tests, on a page of 100 columns without colour.
fn perflab(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perflab"));
    command.args(arguments).current_dir(folder()).env("NO_COLOR", "1").env("COLUMNS", "100");
    command
}

fn analysis(text: &str) -> Analysis {
    analyze(&NoFiles, "test.plab", text)
}

/// The codes that an analysis found, in order.
fn codes(analysis: &Analysis) -> Vec<&'static str> {
    analysis.diagnostics.iter().map(|d| d.code.id()).collect()
}
