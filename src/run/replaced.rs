//! Servers that somebody else runs on this machine: the kernel knows the sockets that listen there. One that is another after a load was
//! opened by another start of the server, also where each request succeeded and nothing that it says tells of that.

use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::engine::listeners_if_told;

/// What listened at an address of this machine before a load.
#[derive(Debug)]
pub struct Sockets {
    addresses: Vec<SocketAddr>,
    before: HashSet<u64>,
}

impl Sockets {
    /// `None` where they are not to be known: the address is another machine's, or the kernel does not tell.
    pub async fn of(url: &str) -> Option<Self> {
        let addresses = local(url)?;
        let before = listening(addresses.clone()).await?;
        (!before.is_empty()).then_some(Self { addresses, before })
    }

    /// Their names, none of which another start has. Those of the kernel's numbers begin again when the machine does.
    pub fn names(&self) -> BTreeSet<String> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let boot = boot.split('-').next().unwrap_or_default();
        self.before.iter().map(|inode| format!("{boot}:{inode}")).collect()
    }

    /// Whether others listen there now. One of several that is gone proves something only where requests `failed`.
    pub async fn replaced(&self, failed: bool) -> bool {
        let Some(now) = listening(self.addresses.clone()).await else { return false };
        is_another(&self.before, &now, failed)
    }
}

/// That nobody listens any more is told otherwise.
fn is_another(before: &HashSet<u64>, now: &HashSet<u64>, failed: bool) -> bool {
    !now.is_empty() && (before.is_disjoint(now) || failed && !before.is_subset(now))
}

async fn listening(addresses: Vec<SocketAddr>) -> Option<HashSet<u64>> {
    let all = move || addresses.into_iter().map(listeners_if_told).collect::<Option<Vec<_>>>();
    let all = tokio::task::spawn_blocking(all).await.ok().flatten()?;
    Some(all.into_iter().flatten().collect())
}

/// The addresses of a URL that leads to this machine alone.
fn local(url: &str) -> Option<Vec<SocketAddr>> {
    let url = reqwest::Url::parse(url).ok()?;
    let port = url.port_or_known_default()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let ips = match host.parse::<IpAddr>() {
        Ok(ip) => vec![ip],
        Err(_) if host == "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Err(_) => return None,
    };
    let all_local = ips.iter().all(|ip| ip.to_canonical().is_loopback());
    all_local.then(|| ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_tell_another_start() {
        let of = |before: &[u64], now: &[u64], failed| {
            is_another(&before.iter().copied().collect(), &now.iter().copied().collect(), failed)
        };
        assert!(of(&[1], &[2], false) && of(&[1, 2], &[2], true));
        assert!(!of(&[1], &[], true) && !of(&[1], &[1, 2], true) && !of(&[1, 2], &[2], false));
    }

    #[test]
    fn only_addresses_of_this_machine_are_looked_at() {
        let of = |url: &str| local(url).map(|a| a.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(of("http://127.0.0.1:80/x").unwrap(), ["127.0.0.1:80"]);
        assert_eq!(of("https://[::1]").unwrap(), ["[::1]:443"]);
        assert_eq!(of("http://localhost:8000").unwrap(), ["127.0.0.1:8000", "[::1]:8000"]);
        assert_eq!((of("http://10.0.0.1:80"), of("http://host:80"), of("no")), (None, None, None));
    }

    #[tokio::test]
    async fn another_listener_is_seen() {
        let first = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = first.local_addr().expect("an address");
        let sockets = Sockets::of(&format!("http://{address}")).await.expect("known");
        assert!(!sockets.replaced(true).await);
        let names = sockets.names();
        assert!(!names.is_empty());
        drop(first);
        let _second = std::net::TcpListener::bind(address).expect("the same port");
        assert!(sockets.replaced(false).await);
        let now = Sockets::of(&format!("http://{address}")).await.expect("known");
        assert!(names.is_disjoint(&now.names()));
    }
}
