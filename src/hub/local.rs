//! A model that lies on this machine: what tells it from another under the same name.

use std::io;
use std::path::{Path, PathBuf};

use super::cache::{Place, cache_dir};
use crate::disk;

/// What a name means here, without asking the hub: a commit of its cache, or a hash over the files of a path. `at` is where a site
/// says that the model lies; `study_dir` is where a path is relative to.
pub fn known(
    name: &str,
    at: Option<&str>,
    study_dir: &Path,
    stated: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let path = at.map_or_else(|| study_dir.join(name), PathBuf::from);
    if path.exists() {
        return identity(&path).ok();
    }
    if at.is_some() {
        return None;
    }
    Place::of(&cache_dir(stated)?, name).commit()
}

/// The commit of a directory of the hub's cache; else a hash over the names, sizes and contents of all files.
pub fn identity(path: &Path) -> io::Result<String> {
    match snapshot_of(path) {
        Some(commit) => Ok(commit.to_owned()),
        None => disk::identity(path),
    }
}

/// A directory of the hub's cache is called by its commit: `models--ORG--NAME/snapshots/COMMIT`.
fn snapshot_of(path: &Path) -> Option<&str> {
    let commit = path.file_name()?.to_str()?;
    let in_cache = path.parent()?.file_name()? == "snapshots";
    let is_commit = commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
    (in_cache && is_commit).then_some(commit)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_snapshot_is_called_by_its_commit() {
        let dir = tempfile::tempdir().unwrap();
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let snapshot = dir.path().join("models--org--m/snapshots").join(commit);
        fs::create_dir_all(&snapshot).unwrap();
        assert_eq!(known("org/m", snapshot.to_str(), dir.path(), &|_| None).as_deref(), Some(commit));
        assert_eq!(known("org/none", Some("/nowhere"), dir.path(), &|_| None), None);
    }
}
