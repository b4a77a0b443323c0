//! What this machine is, as the kernel tells it. A file that is not there leaves its fact out.

use std::fs;

use crate::engine::control_groups;
use crate::journal::Machine;

/// Kernel, processor, memory and name.
pub fn machine() -> Machine {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|s| s.trim().to_owned());
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|s| s.trim().to_owned());
    Machine { kernel, cpu: cpu(), cpus: cpus(), memory_bytes: memory_bytes(), name }
}

/// The processor's name.
pub fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    ["model name", "Model", "Hardware"].iter().find_map(|key| value(&text, key))
}

fn value(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|l| l.split(':').next().is_some_and(|k| k.trim() == key))?;
    line.split_once(':').map(|(_, v)| v.trim().to_owned()).filter(|v| !v.is_empty())
}

/// How many processors this process may use, as its affinity and its control group say; 0 where that is not told.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(0, std::num::NonZero::get)
}

/// How the kernel gives this process time, and the engines that it starts: its niceness, its class where that is not the usual one, and
/// how much its control group lets it have: two that may use one processor each may have a fifth of its time, and all of it.
pub fn scheduling() -> Option<String> {
    let given = scheduling_in(&fs::read_to_string("/proc/self/stat").ok()?)?;
    Some(match control_groups::processors() {
        Some(bound) => format!("{given}, at most {bound:.2} processors' time"),
        None => given,
    })
}

/// The 19th and the 41st field, the name in brackets being the second.
fn scheduling_in(stat: &str) -> Option<String> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let (nice, class) = (fields.get(16)?, fields.get(38)?);
    let class = match *class {
        "0" => "",
        "1" => ", first in first out",
        "2" => ", round robin",
        "3" => ", batch",
        "5" => ", idle",
        "6" => ", deadline",
        _ => ", a class of its own",
    };
    Some(format!("nice {nice}{class}"))
}

/// The memory that there is for this process and the engines that it starts: the machine's, or what its control group lets it have; 0 where
/// the kernel does not tell.
pub fn memory_bytes() -> u64 {
    let all = all_memory_bytes();
    control_groups::memory().map_or(all, |bound| bound.min(all))
}

fn all_memory_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = value(&text, "MemTotal").and_then(|v| v.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn niceness_and_class_are_read_behind_any_name() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 39 19 1 0 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 1 0 3 0 0 0 0\n";
        assert_eq!(scheduling_in(stat).as_deref(), Some("nice 19, batch"));
        assert_eq!(scheduling_in("7 (a) R 1"), None);
        assert!(scheduling().is_some_and(|s| s.starts_with("nice ")));
    }
}
