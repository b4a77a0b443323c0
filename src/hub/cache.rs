//! The hub's cache, in the layout that its own tools read and write: `models--ORG--NAME/{blobs,refs,snapshots}`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::disk;

/// Where models lie, whether it is there or not: as the hub's own tools look for it, in an environment in which `stated` says otherwise.
pub fn cache_dir(stated: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let value = |name: &str| stated(name).map(OsString::from).or_else(|| std::env::var_os(name));
    let place = |name: &str| value(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let named = place("HF_HUB_CACHE").or_else(|| place("HUGGINGFACE_HUB_CACHE"));
    let home = || place("HF_HOME").map(|home| home.join("hub"));
    let shared = || place("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub"));
    let own = || place("HOME").map(|home| home.join(".cache/huggingface/hub"));
    let dir = named.or_else(home).or_else(shared).or_else(own)?;
    std::path::absolute(dir).ok()
}

/// One model's directory.
#[derive(Debug, Clone)]
pub(super) struct Place {
    dir: PathBuf,
}

impl Place {
    pub fn of(cache: &Path, name: &str) -> Self {
        Self { dir: cache.join(format!("models--{}", name.replace('/', "--"))) }
    }

    pub fn snapshot(&self, commit: &str) -> PathBuf {
        self.dir.join("snapshots").join(commit)
    }

    pub fn blob(&self, etag: &str) -> PathBuf {
        self.dir.join("blobs").join(etag)
    }

    pub fn part(&self, etag: &str) -> PathBuf {
        self.dir.join("blobs").join(format!("{etag}.incomplete"))
    }

    /// What `main` was when it was last fetched, if that lies there.
    pub fn commit(&self) -> Option<String> {
        let commit = fs::read_to_string(self.dir.join("refs/main")).ok()?.trim().to_owned();
        let there = !commit.is_empty() && fs::read_dir(self.snapshot(&commit)).ok()?.next().is_some();
        there.then_some(commit)
    }

    /// Whether a file of a commit lies there whole, as far as its size tells.
    pub fn has(&self, commit: &str, file: &str, size: Option<u64>) -> bool {
        let found = fs::metadata(self.snapshot(commit).join(file));
        found.is_ok_and(|m| m.is_file() && size.is_none_or(|s| s == m.len()))
    }

    /// Makes the directories that a fetch writes to.
    pub fn make(&self) -> io::Result<()> {
        fs::create_dir_all(self.dir.join("blobs"))?;
        fs::create_dir_all(self.dir.join("refs"))
    }

    pub fn blobs(&self) -> PathBuf {
        self.dir.join("blobs")
    }

    /// Puts a blob in the place of a file of a commit; a link appears whole or not at all.
    pub fn link(&self, commit: &str, file: &str, etag: &str) -> io::Result<()> {
        let link = self.snapshot(commit).join(file);
        if let Some(parent) = link.parent() {
            fs::create_dir_all(parent)?;
        }
        let up = "../".repeat(2 + file.matches('/').count());
        let draft = link.with_file_name(format!(".{etag}.{}", std::process::id()));
        let _ = fs::remove_file(&draft);
        symlink(format!("{up}blobs/{etag}"), &draft)?;
        fs::rename(&draft, &link)
    }

    /// Says that `main` is this commit, once all of it is there.
    pub fn set_commit(&self, commit: &str) -> io::Result<()> {
        disk::place(&self.dir.join("refs/main"), commit.as_bytes(), 0o644)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_as_the_hubs_own_tools_lay_them_out() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::of(dir.path(), "org/name");
        place.make().unwrap();
        fs::write(place.blob("abc"), "12345").unwrap();
        place.link("c0ffee", "sub/x.json", "abc").unwrap();
        assert!(place.has("c0ffee", "sub/x.json", Some(5)) && !place.has("c0ffee", "sub/x.json", Some(6)));
        assert_eq!(place.commit(), None);
        place.set_commit("c0ffee").unwrap();
        assert_eq!(place.commit().as_deref(), Some("c0ffee"));
        let at = dir.path().join("models--org--name/snapshots/c0ffee/sub/x.json");
        assert_eq!(fs::read_link(at).unwrap(), Path::new("../../../blobs/abc"));
    }
}
