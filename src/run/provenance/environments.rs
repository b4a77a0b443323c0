//! The Python environments in which an engine runs that is started by a shell script or behind another command: those of the interpreters
//! and of the installed programs that scripts run, and those that they activate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::python::Python;

/// Ends the path of what a shell sources to use an environment.
const ACTIVATE: &str = "bin/activate";

/// The environments that files lead to which scripts run or source, each once. `path` is where programs are looked for.
pub fn led_to<'p>(files: impl Iterator<Item = &'p PathBuf>, path: &str) -> Vec<Python> {
    let files: Vec<&PathBuf> = files.collect();
    let activated =
        files.iter().filter(|p| p.ends_with(ACTIVATE)).filter_map(|p| Python::beside(p, None, path));
    let run = files.iter().filter(|p| has_interpreter_beside(p)).filter_map(|p| Python::of(p, path));
    let mut found: Vec<Python> = activated.chain(run).collect();
    if found.is_empty() {
        // what says its interpreter itself may be run by another one, which would be among the files
        found = files.iter().filter_map(|p| Python::of(p, path)).collect();
    }
    let mut seen = BTreeSet::new();
    found.retain(|python| seen.insert(python.interpreter().parent().map(Path::to_owned)));
    found
}

/// Whether a program lies where an environment keeps its own.
fn has_interpreter_beside(program: &Path) -> bool {
    program.parent().is_some_and(|bin| ["python", "python3"].iter().any(|name| bin.join(name).exists()))
}
