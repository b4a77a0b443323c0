//! The files that flags of a launch take their objects from. An object may hold a secret, so they are written for the launch alone, readable
//! by nobody else, and gone with it: perflab removes them, its guard where perflab was killed, and the next execution where both were.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::journal::History;
use crate::plan::command::OptionFile;

/// Where they lie in a launch's directory, and nothing else.
const DIRECTORY: &str = "options";

/// The directory of a launch's files; what is in it is removed with this.
pub struct Options(PathBuf);

impl Options {
    /// Of the launch with that directory.
    pub fn of(launch_dir: &Path) -> Self {
        Self(directory(launch_dir))
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // of most launches there is none
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Where a launch's files lie: an engine runs in another directory, so the path is absolute.
pub fn directory(launch_dir: &Path) -> PathBuf {
    let dir = launch_dir.join(DIRECTORY);
    std::path::absolute(&dir).unwrap_or(dir)
}

/// Writes a file that a flag of the launch names; its directory may not be there yet.
pub fn write(file: &OptionFile) -> io::Result<()> {
    if let Some(dir) = file.path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut out =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file.path)?;
    out.write_all(file.text.as_bytes())
}

/// Removes the files of launches whose end nobody saw; `dir` is the study's state directory.
pub fn sweep(dir: &Path, history: &History) {
    let lost: Vec<String> = history.unfinished().into_iter().map(|(launch, _)| launch).collect();
    if lost.is_empty() {
        return;
    }
    let trials = fs::read_dir(dir.join("trials")).into_iter().flatten().flatten().map(|e| e.path());
    trials.flat_map(|trial| lost.iter().map(move |launch| trial.join(launch))).for_each(|launch| {
        drop(Options::of(&launch));
    });
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_its_owner_s_alone_and_goes_with_the_launch() {
        let launch = tempfile::tempdir().unwrap();
        let path = directory(launch.path()).join("options.yaml");
        write(&OptionFile { path: path.clone(), text: "{}".into() }).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(launch.path().join("server.log"), "").unwrap();
        drop(Options::of(launch.path()));
        let left: Vec<_> = fs::read_dir(launch.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["server.log"]);
    }
}
