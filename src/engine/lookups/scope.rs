//! Where it counts what an engine looks for. What belongs to the system, to an installation or to caches is known by itself, or says
//! nothing of how an engine runs.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where everybody leaves files: what lies there itself may be anybody's.
const FOR_EVERYBODY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// What belongs to the system.
const OF_SYSTEM: [&str; 14] = [
    "/proc", "/sys", "/dev", "/run", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot", "/nix",
    "/snap", "/var",
];
/// Of `/usr` only what was put there beside the system's own.
const BESIDE_SYSTEM: &str = "/usr/local";
/// Of settings of the system those that have a directory of their own, and are not for all programs.
const SETTINGS: &str = "/etc";
const FOR_ALL: [&str; 18] = [
    "ssl",
    "pki",
    "ca-certificates",
    "alternatives",
    "security",
    "pam.d",
    "ld.so.conf.d",
    "fonts",
    "apt",
    "default",
    "init.d",
    "systemd",
    "skel",
    "terminfo",
    "gss",
    "X11",
    "profile.d",
    "crypto-policies",
];
/// Directories of installed code, and those that tools keep for themselves.
const OF_TOOLS: [&str; 7] =
    ["site-packages", "dist-packages", "__pycache__", ".git", ".perflab", ".nv", ".triton"];

/// What of the names that are looked for is told.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Scope {
    /// where the study lies: what lies above it says nothing of what lies in it
    pub study_dir: PathBuf,
    /// directories and files that are known by themselves, with all below them
    pub spared: Vec<PathBuf>,
}

impl Scope {
    /// Whether a name may count that was not looked at closely: it may lead elsewhere.
    pub(super) fn may_count(&self, path: &Path) -> bool {
        path.components().any(|part| part == Component::ParentDir) || self.counts_if_made(path)
    }

    /// Whether a name counts; absolute, without `.` and `..`.
    pub fn counts(&self, path: &Path) -> bool {
        let dir = path.parent().map(|dir| dir.strip_prefix(&self.study_dir).unwrap_or(dir));
        self.counts_if_made(path) && !dir.is_some_and(|dir| dir.components().any(is_of_tools))
    }

    /// Whether it counts that an engine makes what is called so, a cache too: it may be gone again.
    pub(super) fn counts_if_made(&self, path: &Path) -> bool {
        let is_own = path.starts_with(&self.study_dir) && !self.study_dir.as_os_str().is_empty();
        (is_own || !is_of_system(path)) && !self.spared.iter().any(|s| path.starts_with(s))
    }
}

fn is_of_system(path: &Path) -> bool {
    let Some(parent) = path.parent() else { return true };
    if FOR_EVERYBODY.iter().any(|open| path.starts_with(open)) {
        return FOR_EVERYBODY.iter().any(|open| path == Path::new(open) || parent == Path::new(open));
    }
    OF_SYSTEM.iter().any(|dir| path.starts_with(dir))
        || path.starts_with("/usr") && !path.starts_with(BESIDE_SYSTEM)
        || path.starts_with(SETTINGS) && !is_setting_of_its_own(path)
}

fn is_setting_of_its_own(path: &Path) -> bool {
    let mut below = path.strip_prefix(SETTINGS).into_iter().flat_map(Path::components);
    let first = below.next();
    below.next().is_some() && !first.is_some_and(|dir| FOR_ALL.iter().any(|name| dir.as_os_str() == *name))
}

fn is_of_tools(part: Component<'_>) -> bool {
    let Component::Normal(name) = part else { return false };
    let Some(name) = name.to_str() else { return true };
    OF_TOOLS.contains(&name)
        || name.to_ascii_lowercase().contains("cache")
        || name.strip_prefix("python").is_some_and(|version| version.starts_with('3'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_count_and_what_belongs_to_the_system_does_not() {
        let scope =
            Scope { study_dir: "/var/lib/ci/cache/s".into(), spared: vec!["/srv/models/tiny".into()] };
        let counts = |path: &str| scope.counts(Path::new(path));
        for path in [
            "/home/ann/study/slow.flag",
            "/home/ann/.config/vllm/defaults.yaml",
            "/etc/llm/prod/server.env",
            "/opt/llm/conf",
            "/tmp/study/slow.flag",
            "/dev/shm/llm/x",
            "/var/lib/ci/cache/s/conf/x.env",
            "/usr/local/bin/tuner",
            "/srv/models/other",
        ] {
            assert!(counts(path), "{path}");
        }
        for path in [
            "/",
            "/proc/self/maps",
            "/usr/lib/x.so",
            "/etc/hosts",
            "/etc/ssl/openssl.cnf",
            "/tmp/x",
            "/dev/shm/sem.x",
            "/var/lib/ci/cache/s/.cache/x",
            "/srv/models/tiny/config.json",
            "/home/ann/.cache/vllm/x",
            "/home/ann/llm/my_cache/x",
            "/home/ann/venv/lib/python3.12/json.py",
            "/home/ann/venv/lib/python3.12/site-packages/torch/x.py",
        ] {
            assert!(!counts(path), "{path}");
        }
    }
}
