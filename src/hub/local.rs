//! A model that lies on this machine: what tells it from another under the same name.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::cache::{Place, cache_dir};
use crate::disk::{self, hex};

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

/// The commit of a directory of the hub's cache; else a hash over the names, sizes and contents of all files. Of a model in several
/// files the first is named, and all of them count.
pub fn identity(path: &Path) -> io::Result<String> {
    if let Some(commit) = snapshot_of(path) {
        return Ok(commit.to_owned());
    }
    match shards(path) {
        Some(all) => {
            let mut hash = Sha256::new();
            for shard in all {
                hash.update(disk::identity(&shard)?);
            }
            Ok(hex(&hash.finalize()))
        }
        None => disk::identity(path),
    }
}

/// `m-00001-of-00003.gguf`: all files of such a model that are there, if there are others.
fn shards(path: &Path) -> Option<Vec<PathBuf>> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
    let (begin, count) = stem.rsplit_once("-of-")?;
    let (name, number) = begin.rsplit_once('-')?;
    let is_number = |n: &str| n.len() == 5 && n.bytes().all(|b| b.is_ascii_digit());
    let count: usize = count.parse().ok().filter(|_| is_number(count) && is_number(number))?;
    let shard = |n: usize| path.with_file_name(format!("{name}-{n:05}-of-{count:05}.gguf"));
    let all: Vec<PathBuf> = (1..=count).map(shard).filter(|p| p.is_file()).collect();
    (all.len() > 1).then_some(all)
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

    #[test]
    fn all_files_of_a_model_count_where_the_first_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let shard = |n: usize| dir.path().join(format!("m-Q4-{n:05}-of-00002.gguf"));
        fs::write(shard(1), "a").unwrap();
        let alone = identity(&shard(1)).unwrap();
        assert_eq!(alone, disk::identity(&shard(1)).unwrap());
        fs::write(shard(2), "b").unwrap();
        let both = identity(&shard(1)).unwrap();
        fs::write(shard(2), "other").unwrap();
        assert!(both != alone && identity(&shard(1)).unwrap() != both);
    }
}
