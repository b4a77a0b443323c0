//! What `/proc` says about processes: who descends from whom, and who owns a listening socket.
//!
//! Processes come and go while the table is read, so every reader takes a missing entry for "gone by now" and
//! callers repeat until nothing changes.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One line of the process table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    pub name: String,
    /// Dead, and only waiting to be collected by its parent.
    pub zombie: bool,
}

/// All processes that can be seen now.
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).filter_map(read).collect()
}

/// One process, unless it is gone.
pub(super) fn read(pid: i32) -> Option<Process> {
    // the name may hold any byte, so the line is not always UTF-8
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&stat))
}

/// The name stands in parentheses and may itself hold spaces and parentheses: fields count from the last one.
fn parse_stat(stat: &str) -> Option<Process> {
    let (head, tail) = stat.rsplit_once(')')?;
    let (pid, name) = head.split_once(" (")?;
    let mut fields = tail.split_ascii_whitespace();
    let state = fields.next()?;
    let mut number = || fields.next()?.parse::<i32>().ok();
    Some(Process {
        pid: pid.parse().ok()?,
        parent: number()?,
        group: number()?,
        session: number()?,
        name: name.to_owned(),
        zombie: matches!(state, "Z" | "X" | "x"),
    })
}

/// Those of `table` that descend from one of `roots`, without the roots.
pub(super) fn descendants(table: &[Process], roots: impl IntoIterator<Item = i32>) -> Vec<&Process> {
    let mut children: HashMap<i32, Vec<&Process>> = HashMap::new();
    for process in table {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found: Vec<&Process> = Vec::new();
    let mut parents: Vec<i32> = roots.into_iter().collect();
    let mut seen: HashSet<i32> = parents.iter().copied().collect();
    while let Some(parent) = parents.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            // a torn reading of a changing table may hold a cycle
            if seen.insert(child.pid) {
                parents.push(child.pid);
                found.push(child);
            }
        }
    }
    found
}

/// The children of the calling process, if the kernel lists them: some reads, where the table takes hundreds.
pub(super) fn own_children() -> Vec<i32> {
    children("self")
}

/// The same of any process.
pub(super) fn children_of(pid: i32) -> Vec<i32> {
    children(&pid.to_string())
}

fn children(process: &str) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|l| l.split_ascii_whitespace().filter_map(|p| p.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

/// The value of a variable in the environment that a process was started with. `None` also where the
/// environment is not ours to read, or was overwritten by a title (`setproctitle`).
pub(super) fn variable(pid: i32, name: &str) -> Option<String> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{name}=");
    let entry = environ.split(|b| *b == 0).find_map(|e| e.strip_prefix(prefix.as_bytes()))?;
    String::from_utf8(entry.to_vec()).ok()
}

/// When a process began, in the kernel's ticks since the machine did.
pub(super) fn began(pid: i32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, tail) = stat.rsplit_once(')')?;
    tail.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The files that a process holds open, with its working directory and its root; none where they are not ours to know.
pub(super) fn open_paths(pid: i32) -> Vec<PathBuf> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten().map(|e| e.path());
    let own = ["cwd", "root", "exe"].map(|name| PathBuf::from(format!("/proc/{pid}/{name}")));
    links.chain(own).filter_map(|link| fs::read_link(link).ok()).filter(|path| path.is_absolute()).collect()
}

/// The paths at which sockets of this machine are bound.
pub(super) fn bound_paths() -> Vec<PathBuf> {
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    let path = |line: &str| line.split_ascii_whitespace().nth(7).map(PathBuf::from);
    table.lines().filter_map(path).filter(|path| path.is_absolute()).collect()
}

/// The inodes of the sockets that a process holds open; `None` if its descriptors may not be read.
pub(super) fn sockets(pid: i32) -> Option<HashSet<u64>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    Some(
        entries
            .flatten()
            .filter_map(|e| socket_inode(fs::read_link(e.path()).ok()?.as_os_str().as_bytes()))
            .collect(),
    )
}

fn socket_inode(link: &[u8]) -> Option<u64> {
    let inode = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(inode).ok()?.parse().ok()
}

/// Bytes that a process has read so far, from anywhere; 0 if that is not ours to know.
pub(super) fn bytes_read(pid: i32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let field = |name| io.lines().find_map(|l| l.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or(0);
    // `rchar` counts reads and `read_bytes` the disk, also when a mapped file is paged in
    field("rchar:").max(field("read_bytes:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, group: pid, session: pid, name: "x".into(), zombie: false }
    }

    #[test]
    fn a_name_may_look_like_fields() {
        let p = parse_stat("42 (a) S 1 (b) Z 7 8 9 0").unwrap();
        assert_eq!((p.pid, p.parent, p.group, p.session, p.zombie), (42, 7, 8, 9, true));
        assert_eq!(p.name, "a) S 1 (b");
    }

    #[test]
    fn a_torn_line_is_no_process() {
        assert_eq!(parse_stat("42 (a"), None);
        assert_eq!(parse_stat("42 (a) S 7"), None);
    }

    #[test]
    fn descendants_leave_out_the_root_and_strangers_and_survive_cycles() {
        let table =
            [process(2, 1), process(3, 2), process(4, 3), process(9, 8), process(8, 9), process(5, 2)];
        let mut pids: Vec<_> = descendants(&table, [2]).iter().map(|p| p.pid).collect();
        pids.sort_unstable();
        assert_eq!(pids, [3, 4, 5]);
        assert_eq!(descendants(&table, [8]).len(), 1);
    }

    #[test]
    fn this_process_is_in_the_table_with_its_parent() {
        let me = std::process::id() as i32;
        let found = all().into_iter().find(|p| p.pid == me).unwrap();
        assert_eq!(found.parent, std::os::unix::process::parent_id() as i32);
        assert!(!found.zombie);
    }

    #[test]
    fn a_listening_socket_is_found_among_the_open_ones() {
        let before = sockets(std::process::id() as i32).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let during = sockets(std::process::id() as i32).unwrap();
        assert!(during.difference(&before).count() >= 1);
        drop(listener);
    }
}
