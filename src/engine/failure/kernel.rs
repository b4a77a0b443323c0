//! What the kernel said while an engine ran: processes that the OOM killer took, cards that the driver lost, and programs that their own
//! instructions ended.
//!
//! Often nobody may read it (`dmesg_restrict`, containers); then there is nothing to know and nothing to complain of.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::LazyLock;

use nix::fcntl::OFlag;
use regex::Regex;

use super::class;

/// A moment on the clock of kernel messages, in microseconds since boot, and how many processes the OOM killer had taken by then, which
/// everybody may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uptime {
    us: u64,
    oom_kills: Option<u64>,
}

impl Uptime {
    /// Now; 0 where the kernel does not say, so that every message counts as later.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
        let seconds = text.split(' ').next().and_then(|s| s.parse::<f64>().ok()).unwrap_or(0.0);
        Self { us: (seconds * 1e6) as u64, oom_kills: oom_kills() }
    }

    /// Whether the OOM killer has taken any process of this machine since.
    pub fn oom_killed_since(self) -> bool {
        self.oom_kills.zip(oom_kills()).is_some_and(|(then, now)| now > then)
    }
}

/// `None` where the kernel does not count them.
fn oom_kills() -> Option<u64> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// What the kernel said since `since` about processes of the engine (pid → name) or about any card.
pub fn finding(since: Uptime, family: &BTreeMap<i32, String>) -> Option<(&'static str, String)> {
    judge(&messages(since), family, total_memory_kib())
}

/// A process of the engine that died of its own instructions, by the signal's name and in the kernel's words. Its parent often says no more
/// than that it is gone.
pub fn trap(since: Uptime, family: &BTreeMap<i32, String>) -> Option<(&'static str, String)> {
    messages(since).into_iter().find_map(|message| Some((trapped(&message, family)?, message)))
}

/// One record a read; the ring is read to its end without waiting.
fn messages(since: Uptime) -> Vec<String> {
    let flags = OFlag::O_NONBLOCK.bits();
    let Ok(mut ring) = OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg") else {
        return Vec::new();
    };
    let mut record = [0_u8; 8192];
    let mut found = Vec::new();
    loop {
        match ring.read(&mut record) {
            Ok(0) => return found,
            Ok(n) => found.extend(parse(&String::from_utf8_lossy(&record[..n]), since)),
            // overwritten while it was read, or interrupted
            Err(e) if e.raw_os_error() == Some(nix::libc::EPIPE) || e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return found,
        }
    }
}

/// A record reads `priority,sequence,microseconds,flags;message`, then lines of details.
fn parse(record: &str, since: Uptime) -> Option<String> {
    let (head, message) = record.split_once(';')?;
    let at: u64 = head.split(',').nth(2)?.parse().ok()?;
    (at >= since.us).then(|| message.lines().next().unwrap_or_default().to_owned())
}

static KILLED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"([Oo]ut of memory): Killed process (\d+) \((.+?)\)(?:.*anon-rss:(\d+)kB)?").ok()
});
static XID: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"NVRM: Xid \([^)]+\): (\d+),").ok());

static TRAP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let what = "trap invalid opcode|trap divide error|segfault|general protection";
    Regex::new(&format!(r"^(?:traps: )?(.+?)\[(\d+)\]:? ({what})")).ok()
});

/// Errors after which a card, or its memory, is not what it was: ECC (48, 63, 64, 94, 95), the link (74), the bus (79),
/// its own processor (119, 120), recovery needed (140, 154). Others are programs' faults.
const LOST: [u32; 11] = [48, 63, 64, 74, 79, 94, 95, 119, 120, 140, 154];

fn judge(
    messages: &[String],
    family: &BTreeMap<i32, String>,
    total_kib: u64,
) -> Option<(&'static str, String)> {
    let lost = messages.iter().find(|m| xid(m).is_some_and(|x| LOST.contains(&x)));
    if let Some(message) = lost {
        return Some((class::GPU_LOST, message.clone()));
    }
    messages.iter().find_map(|m| Some((killed(m, family, total_kib)?, m.clone())))
}

fn xid(message: &str) -> Option<u32> {
    XID.as_ref()?.captures(message)?.get(1)?.as_str().parse().ok()
}

/// The signal by which a process of ours was ended. Threads have numbers of their own, and names that are mostly their process's.
fn trapped(message: &str, family: &BTreeMap<i32, String>) -> Option<&'static str> {
    let found = TRAP.as_ref()?.captures(message)?;
    let is_ours = |pid: i32, name: &str| family.contains_key(&pid) || family.values().any(|n| n == name);
    is_ours(found[2].parse().ok()?, &found[1]).then_some(match &found[3] {
        "trap invalid opcode" => "SIGILL",
        "trap divide error" => "SIGFPE",
        _ => "SIGSEGV",
    })
}

/// Whose fault it is that a process of ours was killed. In a container its number is another one, so its name counts too.
/// A limit of its own group is the engine's; on a full machine the engine is to blame if it held half of the memory.
fn killed(message: &str, family: &BTreeMap<i32, String>, total_kib: u64) -> Option<&'static str> {
    let found = KILLED.as_ref()?.captures(message)?;
    let pid: i32 = found.get(2)?.as_str().parse().ok()?;
    let name = found.get(3)?.as_str();
    if !family.contains_key(&pid) && !family.values().any(|n| n == name) {
        return None;
    }
    let own_limit = message.contains("cgroup");
    let held: u64 = found.get(4).and_then(|kib| kib.as_str().parse().ok()).unwrap_or(u64::MAX);
    Some(if own_limit || held >= total_kib / 2 { class::HOST_MEMORY } else { class::MEMORY_TAKEN })
}

fn total_memory_kib() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOBAL: &str = "Out of memory: Killed process 812 (VLLM::Worker) total-vm:90000000kB, anon-rss:20000000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0";

    fn family() -> BTreeMap<i32, String> {
        BTreeMap::from([(812, "VLLM::Worker".to_owned())])
    }

    fn of(message: &str, total_kib: u64) -> Option<&'static str> {
        judge(&[message.to_owned()], &family(), total_kib).map(|f| f.0)
    }

    #[test]
    fn the_oom_killer_takes_ours_for_our_own_hunger_or_for_that_of_others() {
        assert_eq!(of(GLOBAL, 32_000_000), Some(class::HOST_MEMORY));
        assert_eq!(of(GLOBAL, 64_000_000), Some(class::MEMORY_TAKEN));
        let limit = format!("Memory cgroup o{}", &GLOBAL[1..]);
        assert_eq!(of(&limit, 64_000_000), Some(class::HOST_MEMORY));
        assert_eq!(of(&GLOBAL.replace("812", "99"), 32_000_000), Some(class::HOST_MEMORY), "by its name");
        assert_eq!(of(&GLOBAL.replace("812 (VLLM::Worker)", "99 (firefox)"), 32_000_000), None);
    }

    #[test]
    fn a_lost_card_comes_before_everything_that_follows_from_it() {
        let bus =
            "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
        let messages = [GLOBAL.to_owned(), bus.to_owned()];
        assert_eq!(judge(&messages, &family(), 1), Some((class::GPU_LOST, bus.to_owned())));
        assert_eq!(of("NVRM: Xid (PCI:0000:41:00): 31, pid=812, MMU Fault", 1), None);
    }

    #[test]
    fn a_program_that_its_own_instructions_ended_is_known_by_its_signal() {
        for (message, signal) in [
            (
                "traps: VLLM::Worker[9] trap invalid opcode ip:7f17 sp:7ff error:0 in _C.abi3.so[2359cb,7f17+1d]",
                "SIGILL",
            ),
            ("python3[812]: segfault at 0 ip 00007f sp 00007f error 4 in libc.so.6[7f+1]", "SIGSEGV"),
            ("traps: a thread[812] general protection fault ip:7f sp:7f error:0 in libcuda.so", "SIGSEGV"),
            ("traps: a[812] trap divide error ip:1 sp:2 error:0", "SIGFPE"),
        ] {
            assert_eq!(trapped(message, &family()), Some(signal), "{message}");
            let other = message.replace("812", "813").replace("VLLM", "other");
            assert_eq!(trapped(&other, &family()), None, "{other}");
        }
        assert_eq!(trapped("VLLM::Worker[812] is fine", &family()), None);
    }

    #[test]
    fn only_what_was_said_since_the_start_counts() {
        let record = "6,1234,5000000,-;Out of memory: no\n SUBSYSTEM=x\n";
        let at = |us: u64| Uptime { us, oom_kills: None };
        assert_eq!(parse(record, at(5_000_000)).as_deref(), Some("Out of memory: no"));
        assert_eq!(parse(record, at(5_000_001)), None);
        assert_eq!(parse("torn", at(0)), None);
        assert!(Uptime::now().us > 0);
    }

    #[test]
    fn the_oom_killer_is_counted_where_its_messages_may_not_be_read() {
        let of = |oom_kills| Uptime { us: 0, oom_kills }.oom_killed_since();
        let Some(now) = oom_kills() else { return };
        assert!(!of(Some(now)) && !of(None));
        assert!(now == 0 || of(Some(now - 1)));
    }
}
