//! The hub's cache, in the layout that its own tools read and write: `models--ORG--NAME/{blobs,refs,snapshots}`.

use std::path::PathBuf;

/// Where models lie, whether it is there or not: as the hub's own tools look for it.
pub fn cache_dir() -> Option<PathBuf> {
    let place = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let named = place("HF_HUB_CACHE").or_else(|| place("HUGGINGFACE_HUB_CACHE"));
    let home = || place("HF_HOME").map(|home| home.join("hub"));
    let shared = || place("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub"));
    let own = || place("HOME").map(|home| home.join(".cache/huggingface/hub"));
    let dir = named.or_else(home).or_else(shared).or_else(own)?;
    std::path::absolute(dir).ok()
}
