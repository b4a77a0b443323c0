//! What tells a file from another one under the same name. Weights of hundreds of gigabytes cannot be read before each study: small
//! files are hashed whole, large ones by their size, time and some of their bytes. A large file that was touched counts as another one;
//! the price is a measurement made again.
//!
//! Within a process a file is read once and then known by what the kernel says of it, so that asking again costs a system call.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use super::digest::{Feed, hex};
use super::tree::{Which, tree};

/// Up to here a file is hashed whole.
pub(super) const WHOLE: u64 = 64 << 20;
/// Bytes that are read of a larger one, at its beginning, middle and end.
const SAMPLE: u64 = 1 << 20;

/// A state of a file, as the kernel tells it: whatever changes its content changes this. Where it was moved to is no part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    device: u64,
    inode: u64,
    size: u64,
    written_ns: i128,
    changed_ns: i128,
}

impl Key {
    pub fn of(meta: &Metadata) -> Self {
        let ns = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            written_ns: ns(meta.mtime(), meta.mtime_nsec()),
            changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
        }
    }
}

static KNOWN: LazyLock<Mutex<HashMap<(Key, &'static str), String>>> = LazyLock::new(Mutex::default);

/// What was found out of a file in this state, found out once; `what` tells one finding from another.
pub fn remembered(
    path: &Path,
    what: &'static str,
    find: impl FnOnce(&Metadata) -> io::Result<String>,
) -> io::Result<String> {
    let meta = fs::metadata(path)?;
    let key = (Key::of(&meta), what);
    if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(known.clone());
    }
    let found = find(&meta)?;
    if !settled(&key.0) {
        return Ok(found);
    }
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found.clone());
    Ok(found)
}

/// Whether the next change of a file will be seen by its times, whose grain is some milliseconds.
fn settled(key: &Key) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let grain = 100_000_000;
    i128::try_from(now).is_ok_and(|now| key.changed_ns + grain < now && key.written_ns + grain < now)
}

/// A hash over what a file or a directory holds, forty digits. The error says that it cannot be read, is neither, or holds too much.
pub fn identity(path: &Path) -> io::Result<String> {
    let meta = fs::metadata(path)?;
    if meta.is_dir() {
        return tree(path, Which::All);
    }
    if meta.is_file() {
        return of_file(path);
    }
    // a socket or a pipe holds nothing, and opening one may wait for ever
    Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a directory"))
}

/// The same of a file. A pipe is none: reading it would take away what is in it.
pub fn of_file(path: &Path) -> io::Result<String> {
    remembered(path, "content", |meta| content(path, meta))
}

/// The same, read anew: the file is opened and closed once, and something is done just before it is closed.
pub fn afresh(path: &Path, before_closing: impl FnOnce()) -> io::Result<String> {
    let (hash, file) = read(path, &fs::metadata(path)?)?;
    before_closing();
    drop(file);
    Ok(hash)
}

fn content(path: &Path, meta: &Metadata) -> io::Result<String> {
    Ok(read(path, meta)?.0)
}

/// A hash over what a file holds, and the file, which is still open.
fn read(path: &Path, meta: &Metadata) -> io::Result<(String, File)> {
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no file"));
    }
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    if meta.len() <= WHOLE {
        io::copy(&mut file, &mut Feed(&mut hash))?;
    } else {
        hash.update(format!("{}\0{}\0", meta.len(), Key::of(meta).written_ns));
        for from in [0, meta.len() / 2, meta.len() - SAMPLE] {
            file.seek(SeekFrom::Start(from))?;
            io::copy(&mut Read::by_ref(&mut file).take(SAMPLE), &mut Feed(&mut hash))?;
        }
    }
    Ok((hex(&hash.finalize())[..40].to_owned(), file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_known_by_size_time_and_samples() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        let file = File::create(&path).unwrap();
        file.set_len(WHOLE + 1).unwrap();
        let first = identity(&path).unwrap();
        assert_eq!(first, identity(&path).unwrap());
        file.set_modified(UNIX_EPOCH).unwrap();
        let touched = identity(&path).unwrap();
        file.set_len(WHOLE + 2).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        assert!(first != touched && touched != identity(&path).unwrap());
    }

    #[test]
    fn a_small_file_is_its_content_and_a_change_is_seen_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jinja");
        fs::write(&path, "one").unwrap();
        let first = identity(&path).unwrap();
        for text in ["two", "six", "one"] {
            fs::write(&path, text).unwrap();
            assert_eq!(identity(&path).unwrap() == first, text == "one");
        }
        File::open(&path).unwrap().set_modified(UNIX_EPOCH).unwrap();
        assert_eq!(identity(&path).unwrap(), first, "a small file that was only touched is the same");
    }

    #[test]
    fn what_holds_nothing_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(identity(&pipe).is_err());
        assert!(identity(&dir.path().join("none")).is_err());
    }
}
