//! When files were last written, moved or given other rights, as the kernel notes it: one that is edited under a launch and put back before
//! the launch ends holds at its end what it held at its beginning, and another in between.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::globs;
use super::named::path_of;

/// Directories of more entries are data.
const MOST_ENTRIES: usize = 256;

/// The stamps of what words name: a file's own, and those of the files in a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Stamps(BTreeMap<String, Vec<Stamp>>);

/// Inode and time of the last change of anything, writing among it: of what a path leads to, and of a link on the way.
type Stamp = (PathBuf, [[i64; 3]; 2]);

impl Stamps {
    /// As they are now.
    pub fn of<'w>(words: impl Iterator<Item = &'w String>, study_dir: &Path) -> Self {
        let paths = |word: &str| {
            let pattern = globs::is_one(word).then(|| globs::files(word, study_dir));
            pattern.or_else(|| path_of(word, study_dir).map(files))
        };
        let stamps = |word: &String| Some(paths(word)?.iter().filter_map(stamp).collect());
        Self(words.filter_map(|word| Some((word.clone(), stamps(word)?))).collect())
    }

    /// The words whose files somebody touched between the one and the other, whatever they hold now.
    pub fn touched<'s>(&'s self, now: &'s Self) -> impl Iterator<Item = &'s str> {
        self.0
            .iter()
            .filter(|(word, was)| now.0.get(*word).is_some_and(|is| is != *was))
            .map(|(w, _)| w.as_str())
    }
}

fn files(path: PathBuf) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(&path) else { return vec![path] };
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.is_file()).take(MOST_ENTRIES + 1).collect();
    files.sort();
    if files.len() > MOST_ENTRIES { Vec::new() } else { files }
}

fn stamp(path: &PathBuf) -> Option<Stamp> {
    let (to, own) = (fs::metadata(path).ok()?, fs::symlink_metadata(path).ok()?);
    let times = |m: &Metadata| [m.ino().cast_signed(), m.ctime(), m.ctime_nsec()];
    Some((path.clone(), [times(&to), times(&own)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_or_moved_and_put_back_was_touched() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("conf")).expect("made");
        for name in ["a", "b", "conf/c", "same"] {
            fs::write(at(name), "1").expect("written");
        }
        let words = ["a", "b", "conf", "conf/*", "same", "python3 on PATH"].map(str::to_owned);
        let before = Stamps::of(words.iter(), dir.path());
        // the kernel's clock for files is coarse
        std::thread::sleep(std::time::Duration::from_millis(30));
        fs::write(at("a"), "1").expect("written");
        fs::rename(at("b"), at("away")).expect("moved");
        fs::rename(at("away"), at("b")).expect("moved");
        fs::write(at("conf/c"), "1").expect("written");
        let _: String = fs::read_to_string(at("same")).expect("read");
        let now = Stamps::of(words.iter(), dir.path());
        assert_eq!(before.touched(&now).collect::<Vec<_>>(), ["a", "b", "conf", "conf/*"]);
    }
}
