//! What a model is, by its revision or its files. Weights of hundreds of gigabytes cannot be read before each study: small files are
//! hashed whole, large ones by their size, time and some of their bytes. A file that was touched counts as another one; the price is
//! a measurement made again.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

/// Up to here a file is hashed whole.
const WHOLE: u64 = 64 << 20;
/// Bytes that are read of a larger one, at its beginning, middle and end.
const SAMPLE: u64 = 1 << 20;
/// More files than any model has.
const MOST_FILES: usize = 10_000;

/// The model that a name means here: a revision of the hub's cache, or a hash over the files of a path.
pub fn model(name: &str, at: Option<&str>, study_dir: &Path) -> Option<String> {
    let path = at.map_or_else(|| study_dir.join(name), PathBuf::from);
    if path.exists() {
        return revision_of(&path).or_else(|| fingerprint(&path).ok());
    }
    if at.is_some() {
        return None;
    }
    cached_revision(name)
}

/// A hash over the content of files.
pub fn content<'a>(files: impl Iterator<Item = &'a Path>) -> io::Result<String> {
    let mut hash = Sha256::new();
    for file in files {
        read_into(&mut hash, File::open(file)?)?;
    }
    Ok(short(hash))
}

/// A directory of the hub's cache is called by its commit: `models--org--name/snapshots/COMMIT`.
fn revision_of(path: &Path) -> Option<String> {
    let commit = path.file_name()?.to_str()?;
    let in_cache = path.parent()?.file_name()? == "snapshots";
    (in_cache && is_commit(commit)).then(|| format!("revision {commit}"))
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.chars().all(|c| c.is_ascii_hexdigit())
}

fn cached_revision(name: &str) -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty()).map(PathBuf::from);
    let hub = variable("HF_HUB_CACHE")
        .or_else(|| variable("HF_HOME").map(|h| h.join("hub")))
        .or_else(|| variable("HOME").map(|h| h.join(".cache/huggingface/hub")))?;
    let folder = format!("models--{}", name.replace('/', "--"));
    let commit = fs::read_to_string(hub.join(folder).join("refs/main")).ok()?;
    let commit = commit.trim();
    is_commit(commit).then(|| format!("revision {commit}"))
}

/// A hash over names and bytes of a file, or of all files below a directory.
fn fingerprint(path: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    collect(path, &mut files)?;
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().into_owned();
        hash.update(name.as_bytes());
        hash.update([0]);
        add(&mut hash, &file)?;
    }
    Ok(short(hash))
}

fn collect(path: &Path, out: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        out.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // what loaders and people keep beside a model is no part of it
        if entry.file_name().to_string_lossy().starts_with('.') || out.len() >= MOST_FILES {
            continue;
        }
        collect(&entry.path(), out)?;
    }
    Ok(())
}

fn add(hash: &mut Sha256, path: &Path) -> io::Result<()> {
    let meta = fs::metadata(path)?;
    let mut file = File::open(path)?;
    if meta.len() <= WHOLE {
        return read_into(hash, file);
    }
    let changed = meta.modified()?.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    hash.update(meta.len().to_le_bytes());
    hash.update(changed.to_le_bytes());
    for from in [0, meta.len() / 2, meta.len() - SAMPLE] {
        file.seek(SeekFrom::Start(from))?;
        read_into(hash, Read::by_ref(&mut file).take(SAMPLE))?;
    }
    Ok(())
}

fn read_into(hash: &mut Sha256, mut from: impl Read) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            n => hash.update(&buffer[..n]),
        }
    }
}

fn short(hash: Sha256) -> String {
    let digest = hash.finalize();
    let bytes: [u8; 8] = std::array::from_fn(|i| digest.get(i).copied().unwrap_or_default());
    format!("{:016x}", u64::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_identity_follows_its_bytes_and_names() {
        let dir = tempfile::tempdir().expect("a folder");
        let of = || model("m", None, dir.path()).expect("a model");
        fs::create_dir(dir.path().join("m")).expect("a folder");
        fs::write(dir.path().join("m/config.json"), "{}").expect("written");
        let first = of();
        fs::write(dir.path().join("m/.cache"), "nobody reads this").expect("written");
        assert_eq!(of(), first);
        fs::write(dir.path().join("m/config.json"), "{ }").expect("written");
        let second = of();
        fs::rename(dir.path().join("m/config.json"), dir.path().join("m/other.json")).expect("renamed");
        assert!(first != second && second != of());
        assert_eq!(model("org/none", Some("/nowhere"), dir.path()), None);
    }

    #[test]
    fn a_snapshot_is_called_by_its_commit() {
        let dir = tempfile::tempdir().expect("a folder");
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let snapshot = dir.path().join("models--org--m/snapshots").join(commit);
        fs::create_dir_all(&snapshot).expect("a folder");
        let found = model("org/m", snapshot.to_str(), dir.path());
        assert_eq!(found, Some(format!("revision {commit}")));
    }
}
