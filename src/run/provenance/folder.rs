//! A folder with files, for tests of what is found in one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// Files below it by name and text, each of which may be run.
pub fn of(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("set");
    }
    dir
}
