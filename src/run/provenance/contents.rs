//! What a file or a directory holds, as it may be written down. Of a file that by its name holds a secret and nothing else only that it is
//! there: a hash over it would be masked wherever it is written, and a new token or key measures nothing anew.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::secrets::{self, MASKED, mask};
use crate::{disk, hub};

/// Endings of files of keys and certificates.
const OF_KEYS: [&str; 12] =
    ["key", "pem", "crt", "cer", "p12", "pfx", "jks", "keystore", "token", "secret", "password", "passwd"];

/// A hash over what is there, or a model's commit; the sign for a secret of a file that holds one. `None`: it cannot be read.
pub fn identity(path: &Path) -> Option<String> {
    if is_secret(path) && path.is_file() {
        return Some(MASKED.to_owned());
    }
    hub::identity(path).ok()
}

/// One of several that are gone through: its name, what it holds and whether it may be run, as hooks are switched on by that. `None` for a
/// directory that tools keep.
pub fn entry(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let is_kept = || name == "__pycache__" || disk::is_kept_by_tools(&name);
    if path.is_file() {
        let runs = if may_run(path) == Some(true) { " may be run" } else { "" };
        return Some(format!("{name} {}{runs}\n", identity(path).unwrap_or_default()));
    }
    (path.is_dir() && !is_kept()).then(|| format!("{name}/\n"))
}

/// Whether somebody may execute a file. `None`: there is none.
pub fn may_run(path: &Path) -> Option<bool> {
    fs::metadata(path).ok().map(|meta| meta.permissions().mode() & 0o111 != 0)
}

/// Whether a file holds a secret and nothing else, by its name: `hf_token`, `db_password.txt`, `server.key`.
pub fn is_secret(path: &Path) -> bool {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
    let name = if ending == "txt" { path.file_stem() } else { path.file_name() };
    let Some(name) = name.and_then(|n| n.to_str()) else { return false };
    // by the same rule by which what stands under the name is masked
    let hidden = format!("{{\"{name}\":\"e3b0c44298fc1c14\"}}");
    OF_KEYS.contains(&ending.as_str()) || secrets::is_secret(name) && mask(&hidden) != hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_secrets_are_known_by_their_names_and_others_are_not_taken_for_them() {
        let is = |name: &str| is_secret(Path::new(name));
        for name in
            ["secrets/hf_token", ".hf_token", "db_password.txt", "api_key", "tls/server.key", "ca.PEM"]
        {
            assert!(is(name), "{name}");
        }
        for name in [
            "monkey_patch.py",
            "keys.yaml",
            "auth.py",
            "tokenizer.json",
            "added_tokens.json",
            "special_tokens_map.json",
            "secrets.env",
            "start.sh",
            "keyword",
            "chat_template.txt",
        ] {
            assert!(!is(name), "{name}");
        }
    }
}
