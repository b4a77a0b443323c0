//! Which launched engines live now: processes that carry perflab's mark and whose command is one of the script's.

use std::collections::BTreeMap;
use std::fs;

/// Marks every process of a launch; the engine's side of perflab sets it.
const MARK: &str = "PERFLAB_LAUNCH";

/// A launch that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Living {
    /// its lowest process, as a rule the first
    pub pid: u32,
    /// the GPUs that it was given, as its environment names them; `None` for all
    pub visible: Option<String>,
}

/// The launches whose processes' command holds a text, by that text and their mark: several processes of one are one.
pub fn living(commands: &[&str]) -> BTreeMap<(String, String), Living> {
    let mut found: BTreeMap<(String, String), Living> = BTreeMap::new();
    let Ok(entries) = fs::read_dir("/proc") else { return found };
    let mut pids: Vec<u32> = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    for pid in pids {
        let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let Some(command) = commands.iter().find(|c| line.contains(**c)) else { continue };
        let Some((mark, visible)) = environment(pid) else { continue };
        found.entry(((*command).to_owned(), mark)).or_insert(Living { pid, visible });
    }
    found
}

/// The mark of a process, without which it is no engine, and the GPUs that it was given.
fn environment(pid: u32) -> Option<(String, Option<String>)> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let environ = String::from_utf8_lossy(&environ).into_owned();
    let value = |name: &str| {
        let of = |entry: &str| Some(entry.strip_prefix(name)?.strip_prefix('=')?.to_owned());
        environ.split('\0').find_map(of)
    };
    Some((value(MARK)?, value("CUDA_VISIBLE_DEVICES")))
}
