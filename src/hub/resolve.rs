//! From a model's name to a commit whose files lie on this machine.

use std::path::{Path, PathBuf};

use super::api::{Api, File, Listing};
use super::cache::{Place, cache_dir};
use super::error::HubError;
use super::{fetch, local};

/// A model that an engine can load without asking anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// A commit of the hub, or a hash over a local directory's files.
    pub identity: String,
    pub dir: PathBuf,
    /// It lies in the hub's cache: engines find it there by its name.
    pub of_hub: bool,
}

impl Resolved {
    /// A directory or a file of this machine.
    pub fn local(path: &Path) -> Result<Self, HubError> {
        let identity =
            local::identity(path).map_err(|source| HubError::Io { path: path.to_owned(), source })?;
        Ok(Self { identity, dir: path.to_owned(), of_hub: false })
    }
}

/// What goes on, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// So many files and bytes are to be fetched.
    Fetching { name: String, files: usize, bytes: u64 },
    /// Bytes that have arrived since then.
    Arrived { bytes: u64 },
    /// A file broke off, and is asked for again: the how manieth time since it last came on, of how many.
    Again { why: String, attempt: u32, of: u32 },
    /// The hub does not answer; what lies here is taken.
    Unreached { name: String, why: String },
}

/// The hub that the environment names, and this machine's cache of it.
#[derive(Debug)]
pub struct Hub {
    api: Api,
    cache: PathBuf,
    offline: bool,
}

impl Hub {
    pub fn from_environment(stated: &dyn Fn(&str) -> Option<String>) -> Result<Self, HubError> {
        let on = |name: &str| {
            std::env::var(name)
                .is_ok_and(|v| ["1", "ON", "YES", "TRUE"].contains(&v.trim().to_uppercase().as_str()))
        };
        let offline = on("HF_HUB_OFFLINE") || on("TRANSFORMERS_OFFLINE");
        Ok(Self {
            api: Api::from_environment()?,
            cache: cache_dir(stated).ok_or(HubError::NoPlace)?,
            offline,
        })
    }

    /// Resolves a model, and fetches what of it is missing. `study_dir` is where a path is relative to.
    pub fn resolve(
        &self,
        name: &str,
        study_dir: &Path,
        download: bool,
        hear: &mut dyn FnMut(Phase),
    ) -> Result<Resolved, HubError> {
        let path = study_dir.join(name);
        if path.exists() {
            return Resolved::local(&path);
        }
        let place = Place::of(&self.cache, name);
        let here = |commit: String| Resolved { dir: place.snapshot(&commit), identity: commit, of_hub: true };
        if self.offline {
            return place.commit().map(here).ok_or_else(|| HubError::Offline { name: name.to_owned() });
        }
        let listing = match (self.api.list(name), place.commit()) {
            (
                Err(HubError::Unreachable { why, .. } | HubError::Overloaded { what: why, .. }),
                Some(commit),
            ) => {
                hear(Phase::Unreached { name: name.to_owned(), why });
                return Ok(here(commit));
            }
            // what is not here will not be while that is said
            (Err(HubError::Unreachable { name, endpoint, why }), None) if !download => {
                return Err(HubError::NotHere { name, endpoint, why });
            }
            (listing, _) => listing?,
        };
        self.fetch(name, &place, &listing, download, hear)?;
        Ok(here(listing.sha))
    }

    fn fetch(
        &self,
        name: &str,
        place: &Place,
        listing: &Listing,
        download: bool,
        hear: &mut dyn FnMut(Phase),
    ) -> Result<(), HubError> {
        let commit = listing.sha.as_str();
        let io = |source| HubError::Io { path: place.blobs(), source };
        let wanted = wanted(&listing.siblings);
        if wanted.is_empty() {
            let (name, endpoint) = (name.to_owned(), self.api.endpoint.clone());
            return Err(HubError::Strange { name, endpoint, what: "no files".to_owned() });
        }
        let missing: Vec<&File> =
            wanted.into_iter().filter(|f| !place.has(commit, &f.name, f.bytes())).collect();
        if missing.is_empty() && place.commit().as_deref() == Some(commit) {
            return Ok(());
        }
        let bytes_of = |f: &&File| f.bytes().unwrap_or(0);
        if !download && !missing.is_empty() {
            let bytes = size(missing.iter().map(bytes_of).sum());
            return Err(HubError::NotWanted { name: name.to_owned(), files: missing.len(), bytes });
        }
        place.make().map_err(io)?;
        let open = |f: &&&File| f.etag().is_none_or(|e| !place.blob(e).exists());
        let part = |f: &File| f.etag().and_then(|e| place.part(e).metadata().ok()).map_or(0, |m| m.len());
        let bytes = |f: &&File| f.bytes().unwrap_or(0).saturating_sub(part(f));
        let needed: u64 = missing.iter().filter(open).map(bytes).sum();
        enough_room(name, &place.blobs(), needed)?;
        if !missing.is_empty() {
            hear(Phase::Fetching { name: name.to_owned(), files: missing.len(), bytes: needed });
        }
        for file in missing {
            fetch::fetch(&self.api, place, (name, commit), file, hear)?;
        }
        place.set_commit(commit).map_err(io)
    }
}

/// `org/name`, as the hub calls models. Everything else is a path, or not ours to fetch.
pub fn is_name(model: &str) -> bool {
    let part = |p: &str| {
        p.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && p.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    model.split_once('/').is_some_and(|(org, name)| part(org) && part(name))
}

/// What an engine loads: configuration, tokenizer, code, and one form of the weights. Safetensors where there are any; never what
/// other programs read.
fn wanted(files: &[File]) -> Vec<&File> {
    let ends = |f: &File, all: &[&str]| all.iter().any(|e| f.name.to_lowercase().ends_with(e));
    let top = |f: &File| !f.name.contains('/');
    let safe = files.iter().any(|f| top(f) && ends(f, &[".safetensors"]));
    let sharded =
        files.iter().any(|f| f.name == "model.safetensors.index.json" || f.name == "model.safetensors");
    let fits = |f: &&File| {
        if !f.is_safe() || f.name.starts_with('.') {
            return false;
        }
        let foreign =
            [".gguf", ".onnx", ".h5", ".msgpack", ".ot", ".tflite", ".mlmodel", ".onnx_data", ".md"];
        let pictures = [".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".mp4", ".webp"];
        let folders =
            ["original/", "onnx/", "openvino/", "coreml/", "metal/", "gguf/", "assets/", "figures/"];
        let old = safe && ends(f, &[".bin", ".pt", ".pth", ".bin.index.json"]);
        let second = sharded && f.name.starts_with("consolidated");
        !(ends(f, &foreign)
            || ends(f, &pictures)
            || folders.iter().any(|d| f.name.starts_with(d))
            || old
            || second)
    };
    files.iter().filter(fits).collect()
}

fn enough_room(name: &str, dir: &Path, needed: u64) -> Result<(), HubError> {
    let free = free_bytes(dir);
    if free.is_none_or(|free| needed <= free) {
        return Ok(());
    }
    Err(HubError::DiskFull {
        name: name.to_owned(),
        dir: dir.to_owned(),
        needed: size(needed),
        free: self::free(dir),
    })
}

fn free_bytes(dir: &Path) -> Option<u64> {
    let stat = nix::sys::statvfs::statvfs(dir).ok()?;
    Some(stat.blocks_available() * stat.fragment_size())
}

pub(super) fn free(dir: &Path) -> String {
    free_bytes(dir).map_or_else(|| "less".to_owned(), size)
}

/// As people read it.
pub fn size(bytes: u64) -> String {
    let (unit, of) = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]
        .into_iter()
        .find(|(_, of)| bytes as f64 >= *of)
        .unwrap_or(("bytes", 1.0));
    if of > 1.0 { format!("{:.1} {unit}", bytes as f64 / of) } else { format!("{bytes} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> File {
        File { name: name.to_owned(), size: Some(1), blob_id: Some("ab".to_owned()), lfs: None }
    }

    #[test]
    fn names_of_the_hub_are_told_from_paths() {
        assert!(is_name("Qwen/Qwen3-8B") && is_name("meta-llama/Llama-3.1-8B"));
        for path in ["/models/x", "./x/y", "../x", "~/x", "x", "a/b/c", "org/", "a b/c", "https://x/y"] {
            assert!(!is_name(path), "{path}");
        }
    }

    #[test]
    fn one_form_of_the_weights_is_fetched() {
        let names = [
            "config.json",
            "model-1.safetensors",
            "model.safetensors.index.json",
            "pytorch_model.bin",
            "consolidated.safetensors",
            "original/x.pth",
            "x.gguf",
            "README.md",
            ".gitattributes",
            "../out",
            "tokenizer.json",
            "code/modeling.py",
        ];
        let files: Vec<File> = names.iter().map(|n| file(n)).collect();
        let got: Vec<&str> = wanted(&files).iter().map(|f| f.name.as_str()).collect();
        let expected = [
            "config.json",
            "model-1.safetensors",
            "model.safetensors.index.json",
            "tokenizer.json",
            "code/modeling.py",
        ];
        assert_eq!(got, expected);
        let old = [file("pytorch_model.bin"), file("config.json")];
        assert_eq!(wanted(&old).len(), 2);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(
            (size(12), size(1_500_000), size(140_000_000_000)),
            ("12 bytes".into(), "1.5 MB".into(), "140.0 GB".into())
        );
    }
}
