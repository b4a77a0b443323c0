//! The files that a command line means: those named, and every `.plab` file in the directories named.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use super::console::Console;

/// Each file once, and whether every path gave one; what gave none has been said.
pub fn files(given: &[PathBuf], console: Console) -> (Vec<PathBuf>, bool) {
    let (mut found, mut whole) = (Vec::new(), true);
    for path in given {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let before = found.len();
        if let Err(e) = below(path, &mut found) {
            console.error(&format!("{}: {e}", path.display()), "");
            whole = false;
        } else if found.len() == before {
            let message = format!("{}: no .plab file is in this directory", path.display());
            console.error(&message, "give another directory, or the path of a file");
            whole = false;
        }
    }
    for path in &mut found {
        *path = plain(path);
    }
    let mut seen = HashSet::new();
    found.retain(|p| seen.insert(p.clone()));
    (found, whole)
}

/// A path as a file that uses it names it: `./lab.plab` is `lab.plab`.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Every `.plab` file below a directory, in order; hidden directories and links to others are left out.
fn below(dir: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut waiting = vec![dir.to_owned()];
    let first = found.len();
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if kind.is_dir() && !hidden {
                waiting.push(path);
            } else if !kind.is_dir()
                && !hidden
                && path.is_file()
                && path.extension().is_some_and(|e| e == "plab")
            {
                found.push(path);
            }
        }
    }
    found[first..].sort();
    Ok(())
}
