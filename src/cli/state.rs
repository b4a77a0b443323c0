//! Where a study's state lies: `.perflab/STUDY/` beside the file, or the directory that `--dir` names.

use std::path::{Path, PathBuf};

use crate::journal;
use crate::run::LIVE_FILE;

/// The files of a state directory that are put in their place whole.
pub const PLACED: [&str; 4] = [LIVE_FILE, "report.json", "report.md", "recommended.sh"];
/// What else perflab keeps in a state directory.
pub const KEPT: [&str; 3] = [journal::FILE, "lock", "trials"];

/// The state directory; a replay has one of its own.
pub fn directory(file: &Path, study: &str, dir: Option<&Path>, replay: bool) -> PathBuf {
    if let Some(dir) = dir {
        return dir.to_owned();
    }
    let beside = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = if replay { format!("{study}.replay") } else { study.to_owned() };
    beside.join(".perflab").join(name)
}

/// Makes the directory; the error is a sentence with the path.
pub fn make(dir: &Path) -> Result<(), String> {
    std::fs::create_dir_all(dir)
        .map_err(|e| format!("the state directory {} cannot be made: {e}", dir.display()))
}
