//! What tells a directory from another one: the names, sizes and contents of its files. Links lead to what they name; what cannot be
//! read counts with what the kernel says of it. A directory with more than anybody puts beside a configuration (a disk, a home) is
//! given up, since nothing could be said of it in time.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::digest::hex;
use super::identity::{WHOLE, of_file};

/// Entries that are looked at; more is no input of an engine.
const MOST_ENTRIES: usize = 20_000;
/// Of small files so many bytes are read; the rest counts with size and time.
const MOST_BYTES: u64 = 1 << 30;
const DEEPEST: usize = 32;

/// Which files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// all but what tools keep beside them for themselves: caches, locks, version control, compiled Python; and what no engine reads:
    /// studies, with what they measured, and what is written for people
    All,
    /// the code and settings of a checkout, not what lies around in it
    Code,
}

const CODE: [&str; 14] =
    ["py", "so", "json", "toml", "yaml", "yml", "cu", "cuh", "h", "hpp", "c", "cc", "cpp", "jinja"];

/// Begin the names of what tools keep in a directory for themselves; `..data` and `..2026_11_27_1`, to which the names in a mounted ConfigMap
/// lead, are other ones with each refresh.
const KEPT_BY_TOOLS: [&str; 11] =
    [".cache", ".git", ".lock", ".nfs", ".DS_Store", ".ipynb", ".mypy", ".perflab", ".pytest", ".ruff", ".."];

/// Begin the names of what people write for people.
const FOR_PEOPLE: [&str; 4] = ["README", "LICENSE", "CHANGELOG", "NOTICE"];

/// A directory with such a file is perflab's own, wherever it was told to keep what it measures.
pub const JOURNAL: &str = "journal.jsonl";

impl Which {
    /// Whether what is called so may count.
    fn enters(self, name: &str) -> bool {
        name != "__pycache__" && (!name.starts_with('.') || self == Self::All && !is_kept_by_tools(name))
    }

    /// Whether a file of that name does.
    pub fn counts(self, name: &str) -> bool {
        let extension = name.rsplit_once('.').map_or("", |(_, e)| e);
        let is_for_people = FOR_PEOPLE.iter().any(|first| name.starts_with(first));
        let is_read = !matches!(extension, "pyc" | "plab") && !is_for_people;
        is_read && (self == Self::All || CODE.contains(&extension))
    }
}

/// Whether what is called so is kept by tools for themselves.
pub fn is_kept_by_tools(name: &str) -> bool {
    KEPT_BY_TOOLS.iter().any(|first| name.starts_with(first))
}

/// Whether a file is compiled Python without its source beside it: then it is the module itself, and no cache of one.
pub fn is_sourceless(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "pyc") && !path.with_extension("py").exists()
}

/// Whether a directory is an environment of Python or conda: what is installed in it tells one from another.
pub fn is_environment(dir: &Path) -> bool {
    dir.join("pyvenv.cfg").is_file() || dir.join("conda-meta").is_dir()
}

/// A hash over the files of a directory, forty digits.
pub fn tree(path: &Path, which: Which) -> io::Result<String> {
    let mut walk = Walk { which, hash: Sha256::new(), entries: 0, bytes: 0, above: Vec::new() };
    walk.directory(path, "")?;
    Ok(hex(&walk.hash.finalize())[..40].to_owned())
}

struct Walk {
    which: Which,
    hash: Sha256,
    entries: usize,
    bytes: u64,
    /// the directories that it is in: a link may lead back to one of them
    above: Vec<(u64, u64)>,
}

impl Walk {
    fn directory(&mut self, path: &Path, name: &str) -> io::Result<()> {
        let meta = fs::metadata(path)?;
        let own = (meta.dev(), meta.ino());
        if self.above.contains(&own) || self.above.len() >= DEEPEST {
            return Ok(());
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "more files than can be compared"));
            }
            names.push(entry?.file_name());
        }
        names.sort();
        self.above.push(own);
        for entry in names {
            let entry = entry.to_string_lossy();
            if self.which.enters(&entry) {
                self.entry(&path.join(&*entry), &entry, &format!("{name}/{entry}"))?;
            }
        }
        self.above.pop();
        Ok(())
    }

    fn entry(&mut self, path: &Path, own_name: &str, name: &str) -> io::Result<()> {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() && path.join(JOURNAL).is_file() => {}
            Ok(meta) if meta.is_dir() && self.which == Which::Code && is_environment(path) => {}
            Ok(meta) if meta.is_dir() => match self.directory(path, name) {
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => self.tell(name, "closed"),
                done => return done,
            },
            Ok(meta) if meta.is_file() && (self.which.counts(own_name) || is_sourceless(path)) => {
                self.file(path, name, &meta);
            }
            // a link that leads nowhere
            Err(_) if self.which.counts(own_name) => self.tell(name, "broken"),
            _ => {}
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &str, meta: &fs::Metadata) {
        let affordable = meta.len() > WHOLE || self.bytes + meta.len() <= MOST_BYTES;
        if affordable && meta.len() <= WHOLE {
            self.bytes += meta.len();
        }
        let held = affordable.then(|| of_file(path).ok()).flatten();
        let seen = || format!("{} {}.{}", meta.len(), meta.mtime(), meta.mtime_nsec());
        self.tell(name, &held.unwrap_or_else(seen));
    }

    fn tell(&mut self, name: &str, what: &str) {
        self.hash.update(format!("{name}\0{what}\0"));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_study_beside_a_model_is_no_part_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        };
        write("config.json");
        let before = tree(dir.path(), Which::All).unwrap();
        for name in ["s.plab", ".perflab/s/journal.jsonl", "state/journal.jsonl", "state/trials/a/log"] {
            write(name);
        }
        assert_eq!(tree(dir.path(), Which::All).unwrap(), before);
        write("inner/config.json");
        assert_ne!(tree(dir.path(), Which::All).unwrap(), before);
    }

    #[test]
    fn another_byte_name_or_file_is_another_directory() {
        let dir = tempfile::tempdir().unwrap();
        let of = || tree(dir.path(), Which::All).unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("config.json", "{}");
        let first = of();
        write(".lock", "");
        fs::create_dir(dir.path().join("__pycache__")).unwrap();
        write("__pycache__/x.pyc", "x");
        write("module.py", "x");
        let with_source = of();
        write("module.pyc", "x");
        assert_eq!(with_source, of());
        fs::remove_file(dir.path().join("module.py")).unwrap();
        let compiled = of();
        write("module.pyc", "y");
        assert!(compiled != first && compiled != of(), "without its source it is the module");
        fs::remove_file(dir.path().join("module.pyc")).unwrap();
        assert_eq!(first, of());
        write(".git", "x");
        fs::create_dir(dir.path().join(".cache")).unwrap();
        write(".cache/x", "x");
        assert_eq!(first, of());
        write(".tuned.json", "{}");
        let hidden = of();
        assert_ne!(first, hidden);
        write(".tuned.json", "{ }");
        assert_ne!(of(), hidden);
        write("config.json", "{ }");
        let second = of();
        write("more.json", "");
        let third = of();
        assert!(first != second && second != third);
        fs::rename(dir.path().join("more.json"), dir.path().join("other.json")).unwrap();
        assert_ne!(of(), third);
    }

    #[test]
    fn links_lead_to_what_they_name_and_a_circle_ends() {
        let (dir, blobs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (at, blob) = (dir.path(), blobs.path().join("abc"));
        fs::write(&blob, "one").unwrap();
        symlink(&blob, at.join("weights")).unwrap();
        fs::create_dir(at.join("below")).unwrap();
        symlink("..", at.join("below/up")).unwrap();
        symlink(at, at.join("itself")).unwrap();
        let first = tree(at, Which::Code).unwrap();
        symlink("/nowhere", at.join("broken.json")).unwrap();
        let broken = tree(at, Which::Code).unwrap();
        assert_ne!(first, broken);
        let all = tree(at, Which::All).unwrap();
        fs::write(&blob, "two").unwrap();
        assert_ne!(all, tree(at, Which::All).unwrap());
    }

    #[test]
    fn a_checkout_is_its_code() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("pkg")).unwrap();
        fs::write(dir.path().join("pkg/a.py"), "1").unwrap();
        let first = tree(dir.path(), Which::Code).unwrap();
        fs::write(dir.path().join("notes.txt"), "1").unwrap();
        assert_eq!(first, tree(dir.path(), Which::Code).unwrap());
        fs::write(dir.path().join("pkg/a.py"), "2").unwrap();
        assert_ne!(first, tree(dir.path(), Which::Code).unwrap());
    }

    #[test]
    fn a_disk_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        for i in 0..=MOST_ENTRIES {
            fs::File::create(dir.path().join(i.to_string())).unwrap();
        }
        assert_eq!(tree(dir.path(), Which::All).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
