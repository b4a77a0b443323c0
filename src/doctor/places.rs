//! Room and rights where files go: the state beside studies, models, temporary files, shared memory.

use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

use super::engines::shown;
use super::finding::{Finding, Topic};

const DISK: Topic = Topic::Disk;
const GIB: u64 = 1 << 30;
/// A Unix socket's path may have 107 bytes; engines put names of some 60 below their temporary directory.
const LONGEST_TMPDIR: usize = 40;

pub fn findings() -> Vec<Finding> {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let mut out = vec![writable("here", &here, 200 << 20, 5 * GIB)];
    out.push(match models() {
        Some(dir) => writable("models", &dir, GIB, 50 * GIB),
        None => {
            Finding::warn(DISK, "models: there is no place for them", "set HF_HOME or HOME to a directory")
        }
    });
    let tmp = std::env::temp_dir();
    out.push(writable("temporary files", &tmp, 64 << 20, GIB));
    out.extend(long(&tmp));
    out.extend(shared_memory());
    out
}

/// Where Hugging Face keeps what it fetched.
fn models() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set("HF_HOME").or_else(|| Some(cache()?.join("huggingface")))
}

/// Free space where a directory is, or would be made.
fn writable(what: &str, dir: &Path, least: u64, enough: u64) -> Finding {
    let at = shown(dir);
    let there = dir.ancestors().find(|d| d.exists()).unwrap_or(Path::new("/"));
    if access(there, AccessFlags::W_OK).is_err() {
        let fix = "work where you may write, or make it yours with `chown`";
        return Finding::fail(DISK, format!("{what}: {at} cannot be written"), fix);
    }
    let Ok(fs) = statvfs(there) else {
        return Finding::ok(DISK, format!("{what}: {at}"));
    };
    let free = fs.blocks_available() * fs.fragment_size();
    let said = format!("{what}: {} free in {at}", amount(free));
    match free {
        f if f < least => Finding::fail(DISK, said, "make room, or use another disk"),
        f if f < enough => Finding::warn(DISK, said, format!("{} are on the safe side", amount(enough))),
        _ => Finding::ok(DISK, said),
    }
}

fn amount(bytes: u64) -> String {
    if bytes >= GIB { format!("{} GiB", bytes / GIB) } else { format!("{} MiB", bytes >> 20) }
}

fn long(tmp: &Path) -> Option<Finding> {
    let length = tmp.as_os_str().len();
    (length > LONGEST_TMPDIR).then(|| {
        let text = format!("TMPDIR has {length} bytes: paths of engines' sockets end at 107");
        Finding::warn(DISK, text, "use a shorter one: `export TMPDIR=/tmp`")
    })
}

/// Workers of one engine hand tensors over in it; containers get 64 MiB unless told otherwise.
fn shared_memory() -> Option<Finding> {
    let fs = statvfs("/dev/shm").ok()?;
    let size = fs.blocks() * fs.fragment_size();
    let said = format!("shared memory: {} in /dev/shm", amount(size));
    Some(if size < GIB {
        let fix = "engines on several GPUs need more: `docker run --shm-size=16g` or `--ipc=host`";
        Finding::warn(DISK, said, fix)
    } else {
        Finding::ok(DISK, said)
    })
}
