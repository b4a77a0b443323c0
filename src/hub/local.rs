//! A model that is a directory or a file: what tells it from another under the same path.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::fetch::{Feed, hex};

/// Of larger files the two ends count: hashing all weights would take minutes of every start.
const WHOLE: u64 = 4 << 20;
const END: u64 = 1 << 20;

/// A hash over names, sizes and contents; of a file over this size its first and last MiB.
pub(super) fn identity(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    add(path, "", &mut hash)?;
    Ok(hex(&hash.finalize())[..40].to_owned())
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
    } else {
        io::copy(&mut file.by_ref().take(END), &mut Feed(hash))?;
        file.seek(SeekFrom::End(-(END as i64)))?;
        io::copy(&mut file, &mut Feed(hash))?;
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
    }
}
