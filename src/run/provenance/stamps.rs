//! When files were last written, moved or given other rights, as the kernel notes it: one that is edited under a launch and put back before
//! the launch ends holds at its end what it held at its beginning, and another in between.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::named::path_of;
use super::ways::Way;
use super::{contents, globs};

/// Directories of more entries are data.
const MOST_ENTRIES: usize = 256;

/// The stamps of what words name: a file's own, and those of the files in a directory; and what the way there led through.
#[derive(Debug, Default)]
pub struct Stamps(BTreeMap<String, (Vec<Stamp>, Way)>);

/// Inode and time of the last change of anything, writing among it: of what a path leads to, and of a link on the way.
type Stamp = (PathBuf, [[i64; 3]; 2]);

impl Stamps {
    /// As they are now. `more` is what lies at paths and is no word.
    pub fn of<'w>(
        words: impl Iterator<Item = &'w String>,
        more: impl Iterator<Item = (String, PathBuf)>,
        study_dir: &Path,
    ) -> Self {
        let of = |word: &String| {
            if globs::is_one(word) {
                let files = globs::files(word, study_dir);
                return Some((stamps(&files), Way::to(path_of(word, study_dir)?.parent()?)));
            }
            path_of(word, study_dir).map(at)
        };
        let named = words.filter_map(|word| Some((word.clone(), of(word)?)));
        Self(named.chain(more.map(|(name, path)| (name, at(path)))).collect())
    }

    /// The words whose files somebody touched between the one and the other, or moved what lies on the way to them, whatever they hold now.
    pub fn touched<'s>(&'s self, now: &'s Self) -> impl Iterator<Item = &'s str> {
        let is_other = |(word, (files, way)): &(&String, &(Vec<Stamp>, Way))| {
            now.0.get(*word).is_some_and(|(is, leads)| is != files || way.led_elsewhere(leads))
        };
        self.0.iter().filter(is_other).map(|(word, _)| word.as_str())
    }
}

fn at(path: PathBuf) -> (Vec<Stamp>, Way) {
    let way = Way::to(&path);
    (stamps(&files(path)), way)
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    files.iter().filter_map(stamp).collect()
}

fn files(path: PathBuf) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(&path) else { return vec![path] };
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.is_file()).take(MOST_ENTRIES + 1).collect();
    files.sort();
    if files.len() > MOST_ENTRIES { Vec::new() } else { files }
}

fn stamp(path: &PathBuf) -> Option<Stamp> {
    if contents::is_secret(path) {
        return None;
    }
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
        fs::create_dir(at("model")).expect("made");
        for name in ["a", "b", "conf/c", "same"] {
            fs::write(at(name), "1").expect("written");
        }
        let words = ["a", "b", "conf", "conf/*", "same", "python3 on PATH"].map(str::to_owned);
        let stamps = || {
            let more = [("the model".to_owned(), at("model"))].into_iter();
            Stamps::of(words.iter(), more, dir.path())
        };
        let before = stamps();
        // the kernel's clock for files is coarse
        std::thread::sleep(std::time::Duration::from_millis(30));
        fs::write(at("a"), "1").expect("written");
        fs::rename(at("b"), at("away")).expect("moved");
        fs::rename(at("away"), at("b")).expect("moved");
        fs::write(at("conf/c"), "1").expect("written");
        let _: String = fs::read_to_string(at("same")).expect("read");
        fs::rename(at("model"), at("away")).expect("moved");
        fs::rename(at("away"), at("model")).expect("moved");
        let now = stamps();
        assert_eq!(before.touched(&now).collect::<Vec<_>>(), ["a", "b", "conf", "conf/*", "the model"]);
    }
}
