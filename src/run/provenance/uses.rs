//! What an engine does with what stands under a name: it reads it, it writes to it, or the name leaves that open. Where it does, a file that
//! is there and that a launch does not change was read.

use crate::secrets;

/// Parts of the names of flags, of keys and of variables under which an engine writes.
const WRITTEN: [&str; 15] = [
    "log", "logs", "logfile", "logging", "logdir", "output", "out", "save", "dump", "download", "tmp",
    "tmpdir", "temp", "export", "report",
];
/// Those of names under which no file stands that could change what is measured: addresses, keys, homes.
const PASSED: [&str; 14] = [
    "uds", "ipc", "socket", "sock", "pid", "port", "host", "url", "allowed", "served", "alias", "ssl",
    "home", "nonce",
];
/// Those of names under which engines read as well as write, and of places.
const EITHER: [&str; 12] = [
    "cache",
    "caches",
    "hicache",
    "trace",
    "traces",
    "profile",
    "profiler",
    "record",
    "storage",
    "root",
    "workspace",
    "base",
];
/// Parts that say of a root, a home or a workspace that what lies there is read: `--model-root`.
const OF_INPUT: [&str; 11] = [
    "model", "models", "data", "dataset", "lora", "adapter", "adapters", "asset", "assets", "weights",
    "config",
];
const PLACES: [&str; 4] = ["root", "home", "workspace", "base"];
/// Parts that say that a name is of what is read, whatever else it says: `--log-config-file`.
const READ: [&str; 10] =
    ["config", "conf", "input", "static", "template", "preset", "schema", "settings", "parser", "processor"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Read,
    /// a file there may be read or written
    Either,
    /// it is written, says only where something lies, or is secret
    Passed,
}

/// What an engine does with what stands under a name.
pub fn use_of(name: &str) -> Use {
    let lower = name.to_lowercase();
    let has = |of: &[&str]| lower.split(['-', '_', '.']).any(|part| of.contains(&part));
    if has(&PLACES) && has(&OF_INPUT) && !has(&WRITTEN) && !has(&["cache", "caches"]) {
        return Use::Read;
    }
    // nor is a hash over a file of keys written anywhere
    if is_of_keys(name) || has(&PASSED) {
        return Use::Passed;
    }
    match (has(&WRITTEN), has(&EITHER)) {
        (true, _) if has(&READ) => Use::Either,
        (true, _) => Use::Passed,
        (false, true) => Use::Either,
        (false, false) => Use::Read,
    }
}

/// Whether a key or a certificate stands under a name, or in the file that does.
pub fn is_of_keys(name: &str) -> bool {
    let lower = name.to_lowercase();
    let of_file = ["-file", "_file", "-path", "_path"].iter().find_map(|end| lower.strip_suffix(end));
    let is_of_tls = lower.split(['-', '_', '.']).any(|part| part == "ssl");
    secrets::is_secret(name) || of_file.is_some_and(secrets::is_secret) || is_of_tls
}

/// Whether an engine keeps under a name what may be lost: caches, of a hub or of compiled code, logs, what is temporary; or what is known by
/// itself: a home, an installation.
pub fn is_for_leftovers(name: &str) -> bool {
    const KNOWN: [&str; 5] = ["HOME", "HF_HOME", "TORCH_HOME", "CUDA_HOME", "CONDA_PREFIX"];
    let lower = name.to_lowercase();
    let has = |of: &[&str]| lower.split(['-', '_', '.']).any(|part| of.contains(&part));
    KNOWN.contains(&name) || has(&WRITTEN) || has(&["cache", "caches"]) || is_of_keys(name)
}

/// Whether what stands under a name is a file or a directory by it: `plugin-dir`.
pub fn is_of_place(name: &str) -> bool {
    let lower = name.to_lowercase();
    let last = lower.rsplit(['-', '_', '.']).next().unwrap_or_default();
    ["dir", "directory", "folder", "file", "path"].contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_becomes_of_what_they_name() {
        for name in [
            "log-file",
            "slot-save-path",
            "uds",
            "api-key",
            "api-key-file",
            "HF_TOKEN_PATH",
            "HF_HOME",
            "ssl-keyfile",
            "crash-dump-folder",
        ] {
            assert_eq!(use_of(name), Use::Passed, "{name}");
        }
        for name in [
            "lookup-cache-static",
            "prompt-cache",
            "log-config-file",
            "VLLM_LOGGING_CONFIG_PATH",
            "debug-tensor-dump-input-file",
            "VLLM_CACHE_ROOT",
            "torch_profiler_dir",
        ] {
            assert_eq!(use_of(name), Use::Either, "{name}");
        }
        for name in [
            "chat-template",
            "model-root",
            "DATA_ROOT",
            "lora-modules",
            "speculative-config",
            "VLLM_TUNED_CONFIG_FOLDER",
            "catalog",
            "LD_PRELOAD",
        ] {
            assert_eq!(use_of(name), Use::Read, "{name}");
        }
    }
}
