//! What this machine is, as the kernel tells it. A file that is not there leaves its fact out.

use std::fs;

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

/// All of the memory; 0 where the kernel does not tell.
pub fn memory_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = value(&text, "MemTotal").and_then(|v| v.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
