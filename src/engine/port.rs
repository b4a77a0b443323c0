//! Ports: finding a free one, and finding out whose socket it is that answers.
//!
//! Some engines bind with `SO_REUSEPORT`: two servers then share a port in silence, and the kernel deals the
//! connections out between them. So an answer proves nothing; the owner of the socket does.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{listening, processes};

/// A port of `host` that nobody listens on now. Another process may take it before the caller does.
pub fn free_port(host: &str) -> io::Result<u16> {
    let address = resolve(host, 0)?;
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..16 {
        let port = TcpListener::bind(address)?.local_addr()?.port();
        if was_given_away(port) {
            continue;
        }
        match TcpListener::bind(SocketAddr::new(address.ip(), port)) {
            Ok(_) => return Ok(port),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Whether a port was found shortly ago, for a launch that may still have to bind it; from now on it was.
fn was_given_away(port: u16) -> bool {
    const SHORTLY: usize = 64;
    static GIVEN: Mutex<VecDeque<u16>> = Mutex::new(VecDeque::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    if given.contains(&port) {
        return true;
    }
    if given.len() == SHORTLY {
        given.pop_front();
    }
    given.push_back(port);
    false
}

/// Whether a server could listen on this port of `host`.
pub fn is_free(host: &str, port: u16) -> io::Result<bool> {
    match TcpListener::bind(resolve(host, port)?) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::AddrInUse => Ok(false),
        Err(e) => Err(e),
    }
}

/// Whether a client of this machine reaches a server on it at all.
pub fn reach_self() -> io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    TcpStream::connect_timeout(&server.local_addr()?, PATIENCE).map(drop)
}

/// Where a client of this machine reaches a server that listens on `host`.
pub(super) fn reachable(host: &str, port: u16) -> io::Result<SocketAddr> {
    let address = resolve(host, port)?;
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Ok(SocketAddr::new(ip, port))
}

fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    let not_found = || io::Error::new(io::ErrorKind::NotFound, format!("no address for host {host}"));
    (host, port).to_socket_addrs()?.next().ok_or_else(not_found)
}

/// Whose sockets listen where we connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    /// Processes of the tree alone.
    Tree,
    /// Also, or only, somebody else.
    Stranger { pid: i32, name: String },
    /// The kernel does not tell us.
    Unknown,
}

/// Who listens on `address`: the processes below `root`, the `boxed` ones and those below them, or somebody else.
pub(super) fn owner(address: SocketAddr, root: i32, boxed: &[i32]) -> Owner {
    holder(&listeners(address), root, boxed)
}

/// Who holds these sockets. One that nobody is seen to hold may have been closed by now.
pub(super) fn holder(sockets: &HashSet<u64>, root: i32, boxed: &[i32]) -> Owner {
    if sockets.is_empty() {
        return Owner::Unknown;
    }
    if all_below(sockets, root, boxed) {
        return Owner::Tree;
    }
    let table = processes::all();
    let roots = boxed.iter().copied().chain([root]);
    let mut tree: HashSet<i32> = processes::descendants(&table, roots).iter().map(|p| p.pid).collect();
    tree.extend(boxed);
    let ours: HashSet<u64> = tree.iter().filter_map(|pid| processes::sockets(*pid)).flatten().collect();
    let foreign: HashSet<u64> = sockets.difference(&ours).copied().collect();
    if foreign.is_empty() {
        return Owner::Tree;
    }
    let holds = |pid: i32| processes::sockets(pid).is_some_and(|s| !s.is_disjoint(&foreign));
    let outside = |pid: i32| !tree.contains(&pid) && !stands_below(pid, root, boxed);
    let stranger = table.iter().filter(|p| holds(p.pid)).find(|p| outside(p.pid));
    stranger.map_or(Owner::Unknown, |p| Owner::Stranger { pid: p.pid, name: p.name.clone() })
}

/// The ports on which processes below `root` or the `boxed` ones listen, in order.
pub(super) fn listening_below(root: i32, boxed: &[i32]) -> Vec<u16> {
    let table = processes::all();
    let tree = processes::descendants(&table, boxed.iter().copied().chain([root]));
    let held: HashSet<u64> = tree
        .iter()
        .map(|p| p.pid)
        .chain(boxed.iter().copied())
        .filter_map(processes::sockets)
        .flatten()
        .collect();
    let tables = TABLES.map(|t| fs::read_to_string(t).unwrap_or_default());
    let lines = tables.iter().flat_map(|t| t.lines().skip(1));
    let ports: BTreeSet<u16> =
        lines.filter_map(listening).filter(|(_, inode)| held.contains(inode)).map(|(port, _)| port).collect();
    ports.into_iter().collect()
}

/// Where a port is listened on, if that is not where a client would ask for it: a sentence.
pub(super) fn other_address(host: &str, port: u16) -> Option<String> {
    let asked = reachable(host, port).ok()?;
    if !listeners(asked).is_empty() {
        return None;
    }
    let bound = listening::on(port)?.into_iter().map(|(ip, _)| SocketAddr::new(ip, port).to_string());
    let bound: BTreeSet<String> = bound.collect();
    let listed: Vec<String> = bound.into_iter().take(4).collect();
    (!listed.is_empty())
        .then(|| format!("it listens at {} alone, and is asked at {asked}", listed.join(", ")))
}

/// Port and inode of a socket that listens.
fn listening(line: &str) -> Option<(u16, u64)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (_, port) = fields.get(1)?.split_once(':')?;
    let inode = fields.get(9)?.parse().ok()?;
    (*fields.get(3)? == LISTEN).then_some((u16::from_str_radix(port, 16).ok()?, inode))
}

/// Asked of one process, upwards: a parent that ended while the table was read leaves its children without a place in it.
fn stands_below(pid: i32, root: i32, boxed: &[i32]) -> bool {
    const DEEPEST: usize = 64;
    let mut at = pid;
    for _ in 0..DEEPEST {
        if (at == root && pid != root) || boxed.contains(&at) {
            return true;
        }
        match processes::read(at) {
            Some(process) if process.parent > 0 => at = process.parent,
            // it ended in between; who it belonged to has another parent now
            None if at != pid => at = pid,
            _ => return false,
        }
    }
    false
}

/// Whether processes below `root` or the `boxed` ones hold all of these sockets. Who listens stands near the top of a tree as a rule,
/// and is found long before the whole table has been read.
fn all_below(sockets: &HashSet<u64>, root: i32, boxed: &[i32]) -> bool {
    let mut open = sockets.clone();
    let mut seen: HashSet<i32> = boxed.iter().copied().chain([root]).collect();
    let mut queue: VecDeque<i32> = boxed.iter().copied().chain(processes::children_of(root)).collect();
    while let Some(pid) = queue.pop_front() {
        let held = processes::sockets(pid).unwrap_or_default();
        open.retain(|socket| !held.contains(socket));
        if open.is_empty() {
            return true;
        }
        queue.extend(processes::children_of(pid).into_iter().filter(|child| seen.insert(*child)));
    }
    false
}

/// The inodes of the sockets at a server's end of connections to `address`; those that no process has accepted yet have none.
pub(super) fn answering(address: SocketAddr) -> HashSet<u64> {
    let mut found = HashSet::new();
    for table in TABLES {
        let Ok(file) = fs::File::open(table) else { continue };
        let lines = BufReader::with_capacity(64 << 10, file).lines().skip(1).map_while(Result::ok);
        found.extend(lines.filter_map(|line| socket_at(&line, ESTABLISHED, address)));
    }
    found.remove(&0);
    found
}

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// The inodes of the sockets that would take a connection to `address`.
pub(super) fn listeners(address: SocketAddr) -> HashSet<u64> {
    asked(address).unwrap_or_else(|| looked_up(address))
}

/// As the kernel answers, where it may be asked.
fn asked(address: SocketAddr) -> Option<HashSet<u64>> {
    let bound = listening::on(address.port())?.into_iter();
    Some(bound.filter(|(ip, _)| takes(*ip, address.ip())).map(|(_, inode)| inode).collect())
}

fn looked_up(address: SocketAddr) -> HashSet<u64> {
    let first: HashSet<u64> = TABLES.iter().flat_map(|table| first_listening(table, address)).collect();
    if !first.is_empty() {
        return first;
    }
    let tables = TABLES.map(|t| fs::read_to_string(t).unwrap_or_default());
    tables.iter().flat_map(|t| t.lines().skip(1)).filter_map(|line| listener(line, address)).collect()
}

/// The inodes of the sockets that would take a connection to `address`; `None` where that cannot be read now, as by a process that may open no more files.
pub fn listeners_if_told(address: SocketAddr) -> Option<HashSet<u64>> {
    if let Some(found) = asked(address) {
        return Some(found);
    }
    let found = looked_up(address);
    if !found.is_empty() {
        return Some(found);
    }
    let readable = fs::read_to_string(TABLES[0]).is_ok();
    readable.then(|| looked_up(address))
}

/// Kernels list those that listen first: thousands of connections behind them need not be read.
fn first_listening(table: &str, address: SocketAddr) -> Vec<u64> {
    let Ok(file) = fs::File::open(table) else { return Vec::new() };
    let lines = BufReader::new(file).lines().skip(1).map_while(Result::ok);
    let listens = |line: &String| line.split_ascii_whitespace().nth(3) == Some(LISTEN);
    lines.take_while(listens).filter_map(|line| listener(&line, address)).collect()
}

/// The states of a socket that listens, and of one end of a connection.
const LISTEN: &str = "0A";
const ESTABLISHED: &str = "01";

fn listener(line: &str, address: SocketAddr) -> Option<u64> {
    socket_at(line, LISTEN, address)
}

/// A line reads `sl local remote state queues timer retransmits uid timeout inode …`.
fn socket_at(line: &str, state: &str, address: SocketAddr) -> Option<u64> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (ip, port) = fields.get(1)?.split_once(':')?;
    let matches = *fields.get(3)? == state
        && u16::from_str_radix(port, 16).ok()? == address.port()
        && takes(parse_ip(ip)?, address.ip());
    matches.then(|| fields.get(9)?.parse().ok()).flatten()
}

/// Whether a socket bound to `bound` takes connections to `ip`.
fn takes(bound: IpAddr, ip: IpAddr) -> bool {
    let unspecified = match bound {
        IpAddr::V4(b) => b.is_unspecified() && ip.is_ipv4(),
        // one socket for both families, unless it was told otherwise
        IpAddr::V6(b) => b.is_unspecified(),
    };
    unspecified || bound.to_canonical() == ip.to_canonical()
}

/// Words in the byte order of the machine, in hexadecimal.
fn parse_ip(hex: &str) -> Option<IpAddr> {
    let word = |i: usize| Some(u32::from_str_radix(hex.get(8 * i..8 * i + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => Some(IpAddr::from(word(0)?)),
        32 => {
            let bytes: Vec<u8> = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            Some(IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::vigil::tests::eventually;
    use super::*;

    #[test]
    fn a_free_port_is_free_until_somebody_listens() {
        let port = free_port("127.0.0.1").unwrap();
        let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
        assert!(!is_free("127.0.0.1", port).unwrap());
        assert!(!is_free("0.0.0.0", port).unwrap());
        drop(taken);
        assert!(is_free("127.0.0.1", port).unwrap());
    }

    #[test]
    fn servers_on_all_addresses_are_reached_on_this_machine() {
        assert_eq!(reachable("0.0.0.0", 80).unwrap().to_string(), "127.0.0.1:80");
        assert_eq!(reachable("::", 80).unwrap().to_string(), "[::1]:80");
        assert_eq!(reachable("10.1.2.3", 80).unwrap().to_string(), "10.1.2.3:80");
    }

    #[test]
    fn a_socket_of_this_process_is_no_socket_of_its_descendants() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let me = std::process::id() as i32;
        assert!(matches!(owner(address, me, &[]), Owner::Stranger { pid, .. } if pid == me));
        // seen from the parent, this process is in the tree
        assert_eq!(owner(address, std::os::unix::process::parent_id() as i32, &[]), Owner::Tree);
        // and so it is when it stands in a container of ours
        assert_eq!(owner(address, i32::MAX, &[me]), Owner::Tree);
        drop(listener);
        // a process that another test starts holds all sockets until it is its own program
        eventually("nobody holds it", || owner(address, me, &[]) == Owner::Unknown);
    }

    #[test]
    fn the_server_s_end_of_a_connection_is_found_and_whose_it_is() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _client = std::net::TcpStream::connect(address).unwrap();
        assert!(answering(address).is_empty(), "nobody has accepted it");
        let accepted = listener.accept().unwrap();
        let ends = answering(address);
        assert_eq!(ends.len(), 1);
        let me = std::process::id() as i32;
        assert!(matches!(holder(&ends, me, &[]), Owner::Stranger { pid, .. } if pid == me));
        assert_eq!(holder(&ends, std::os::unix::process::parent_id() as i32, &[]), Owner::Tree);
        drop(accepted);
        // a process that another test starts holds all sockets until it is its own program
        eventually("nobody holds it", || holder(&ends, me, &[]) == Owner::Unknown);
    }

    #[test]
    fn the_kernel_s_answer_is_what_its_tables_hold() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _client = std::net::TcpStream::connect(address).unwrap();
        let found = looked_up(address);
        assert_eq!(found.len(), 1);
        assert!(asked(address).is_none_or(|told| told == found));
        drop(listener);
        assert_eq!(listeners_if_told(address), Some(HashSet::new()));
    }

    #[test]
    fn only_listeners_on_the_address_count() {
        let line = |local: &str, state: &str| {
            format!("   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  0   0 777 1")
        };
        let address: SocketAddr = "127.0.0.1:8000".parse().unwrap();
        assert_eq!(listener(&line("0100007F:1F40", "0A"), address), Some(777));
        assert_eq!(listener(&line("00000000:1F40", "0A"), address), Some(777));
        assert_eq!(listener(&line("0100007F:1F40", "01"), address), None);
        assert_eq!(listener(&line("0100007F:1F41", "0A"), address), None);
        assert_eq!(listener(&line("0200000A:1F40", "0A"), address), None);
        let all_v6 = "00000000000000000000000000000000:1F40";
        assert_eq!(listener(&line(all_v6, "0A"), address), Some(777));
        let mapped = "0000000000000000FFFF00000100007F:1F40";
        assert_eq!(listener(&line(mapped, "0A"), address), Some(777));
    }

    /// `cargo test --release --lib -- --ignored --nocapture what_a_look`
    #[test]
    #[ignore = "a measurement: it prints what a look costs"]
    fn what_a_look_at_who_listens_costs_beside_a_thousand_connections() {
        use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
        const LOOKS: i64 = 1000;
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = |_| (std::net::TcpStream::connect(address).unwrap(), listener.accept().unwrap());
        let held: Vec<_> = (0..1000).map(connect).collect();
        let spent_us = || {
            let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
            let us = |t: nix::sys::time::TimeVal| t.tv_sec() * 1_000_000 + t.tv_usec();
            us(usage.user_time()) + us(usage.system_time())
        };
        let before = spent_us();
        for _ in 0..LOOKS {
            assert_eq!(listeners_if_told(address).map(|found| found.len()), Some(1));
        }
        let found = (spent_us() - before) as f64 / LOOKS as f64;
        drop((held, listener));
        let before = spent_us();
        assert_eq!(listeners_if_told(address), Some(HashSet::new()));
        println!(
            "{found:.1} us of user and system time a look, {} us where nobody listens",
            spent_us() - before
        );
    }
}
