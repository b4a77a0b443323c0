//! What the kernel lets an engine have, as perflab hands it on: a thread's stack, memory that may not be swapped out, the address space.
//! An engine that gets less than it asks for often goes on another way, and says so nowhere but in its log.

use std::collections::BTreeMap;
use std::fs;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

/// Limits that can change what an engine does. Those of core files, of signals and of what nothing here uses cannot.
const LIMITS: [(Resource, &str, Unit); 8] = [
    (Resource::RLIMIT_STACK, "stack limit", Unit::Bytes),
    (Resource::RLIMIT_MEMLOCK, "locked memory limit", Unit::Bytes),
    (Resource::RLIMIT_AS, "address space limit", Unit::Bytes),
    (Resource::RLIMIT_DATA, "data segment limit", Unit::Bytes),
    (Resource::RLIMIT_FSIZE, "file size limit", Unit::Bytes),
    (Resource::RLIMIT_CPU, "processor time limit", Unit::Seconds),
    (Resource::RLIMIT_NPROC, "process limit", Unit::Count),
    (Resource::RLIMIT_NOFILE, "open file limit", Unit::Count),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Bytes,
    Seconds,
    Count,
}

/// The limits and the mask of new files' rights, in words. What the kernel does not tell is left out.
pub fn here() -> BTreeMap<String, String> {
    let limits = LIMITS.iter().filter_map(|(of, name, unit)| {
        let (soft, hard) = getrlimit(*of).ok()?;
        // perflab raises its own to the hard one, and engines inherit that
        let value = if *of == Resource::RLIMIT_NOFILE { hard } else { soft };
        Some(((*name).to_owned(), shown(value, *unit)))
    });
    limits.chain(umask().map(|mask| ("umask".to_owned(), mask))).collect()
}

fn shown(value: u64, unit: Unit) -> String {
    match unit {
        _ if value == RLIM_INFINITY => "unlimited".to_owned(),
        // as `ulimit` says it
        Unit::Bytes if value.is_multiple_of(1024) => format!("{} KiB", value / 1024),
        Unit::Bytes => format!("{value} bytes"),
        Unit::Seconds => format!("{value} s"),
        Unit::Count => value.to_string(),
    }
}

/// Reading it otherwise would set it, for all threads.
fn umask() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("Umask:")).map(|mask| mask.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_as_people_set_them() {
        assert_eq!(shown(RLIM_INFINITY, Unit::Bytes), "unlimited");
        assert_eq!(shown(8 << 20, Unit::Bytes), "8192 KiB");
        assert_eq!(shown(1025, Unit::Bytes), "1025 bytes");
        assert_eq!(shown(60, Unit::Seconds), "60 s");
        let here = here();
        assert!(here.len() == LIMITS.len() + 1 && here["umask"].starts_with('0'), "{here:?}");
    }
}
