//! A model that lies on this machine: what tells it from another under the same name. Weights of hundreds of gigabytes cannot be read
//! before each study: small files are hashed whole, large ones by their size, time and some of their bytes. A file that was touched
//! counts as another one; the price is a measurement made again.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use super::cache::{Place, cache_dir};
use super::fetch::{Feed, hex};

/// Up to here a file is hashed whole.
const WHOLE: u64 = 64 << 20;
/// Bytes that are read of a larger one, at its beginning, middle and end.
const SAMPLE: u64 = 1 << 20;

/// What a name means here, without asking the hub: a commit of its cache, or a hash over the files of a path. `at` is where a site
/// says that the model lies; `study_dir` is where a path is relative to.
pub fn known(name: &str, at: Option<&str>, study_dir: &Path) -> Option<String> {
    let path = at.map_or_else(|| study_dir.join(name), PathBuf::from);
    if path.exists() {
        return identity(&path).ok();
    }
    if at.is_some() {
        return None;
    }
    Place::of(&cache_dir()?, name).commit()
}

/// The commit of a directory of the hub's cache; else a hash over the names, sizes and contents of all files.
pub(super) fn identity(path: &Path) -> io::Result<String> {
    if let Some(commit) = snapshot_of(path) {
        return Ok(commit.to_owned());
    }
    let mut hash = Sha256::new();
    add(path, "", &mut hash)?;
    Ok(hex(&hash.finalize())[..40].to_owned())
}

/// A directory of the hub's cache is called by its commit: `models--ORG--NAME/snapshots/COMMIT`.
fn snapshot_of(path: &Path) -> Option<&str> {
    let commit = path.file_name()?.to_str()?;
    let in_cache = path.parent()?.file_name()? == "snapshots";
    let is_commit = commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
    (in_cache && is_commit).then_some(commit)
}

fn add(path: &Path, name: &str, hash: &mut Sha256) -> io::Result<()> {
    let meta = fs::metadata(path)?;
    if meta.is_dir() {
        let mut names: Vec<_> = fs::read_dir(path)?.map(|e| Ok(e?.file_name())).collect::<io::Result<_>>()?;
        names.sort();
        for entry in names {
            let entry = entry.to_string_lossy().into_owned();
            // what people and tools keep beside a model
            if !entry.starts_with('.') {
                add(&path.join(&entry), &format!("{name}/{entry}"), hash)?;
            }
        }
        return Ok(());
    }
    hash.update(format!("{name}\0{}\0", meta.len()).as_bytes());
    let mut file = File::open(path)?;
    if meta.len() <= WHOLE {
        io::copy(&mut file, &mut Feed(hash))?;
        return Ok(());
    }
    let changed = meta.modified()?.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    hash.update(changed.to_le_bytes());
    for from in [0, meta.len() / 2, meta.len() - SAMPLE] {
        file.seek(SeekFrom::Start(from))?;
        io::copy(&mut Read::by_ref(&mut file).take(SAMPLE), &mut Feed(hash))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_byte_name_or_file_is_another_model() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("config.json", "{}");
        let first = identity(dir.path()).unwrap();
        assert_eq!(first, identity(dir.path()).unwrap());
        write(".lock", "");
        assert_eq!(first, identity(dir.path()).unwrap());
        write("config.json", "{ }");
        let second = identity(dir.path()).unwrap();
        write("more.json", "");
        let third = identity(dir.path()).unwrap();
        assert!(first != second && second != third);
        fs::rename(dir.path().join("more.json"), dir.path().join("other.json")).unwrap();
        assert_ne!(identity(dir.path()).unwrap(), third);
    }

    #[test]
    fn large_files_are_known_by_size_time_and_samples() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        let file = File::create(&path).unwrap();
        file.set_len(WHOLE + 1).unwrap();
        let first = identity(dir.path()).unwrap();
        assert_eq!(first, identity(dir.path()).unwrap());
        file.set_modified(UNIX_EPOCH).unwrap();
        let touched = identity(dir.path()).unwrap();
        file.set_len(WHOLE + 2).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        assert!(first != touched && touched != identity(dir.path()).unwrap());
    }

    #[test]
    fn a_snapshot_is_called_by_its_commit() {
        let dir = tempfile::tempdir().unwrap();
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let snapshot = dir.path().join("models--org--m/snapshots").join(commit);
        fs::create_dir_all(&snapshot).unwrap();
        assert_eq!(known("org/m", snapshot.to_str(), dir.path()).as_deref(), Some(commit));
        assert_eq!(known("org/none", Some("/nowhere"), dir.path()), None);
    }
}
