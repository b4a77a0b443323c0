//! Who listens, asked of the kernel itself (`sock_diag`). Its list of listeners is short. The tables of `/proc` are walked through all
//! places for connections, however few there are, and a machine with much memory has many: that takes milliseconds.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
};
use nix::sys::time::TimeVal;

/// Of `linux/sock_diag.h` and `linux/netlink.h`.
const BY_FAMILY: u16 = 20;
const REQUEST_OF_ALL: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const TCP: u8 = 6;
/// Only sockets in the state `TCP_LISTEN`.
const LISTENING: u32 = 1 << 10;
const FAMILIES: [(u8, usize); 2] = [(2, 4), (10, 16)];

/// A message's head.
const HEAD: usize = 16;
/// What is told of a socket: its own address, and the number of its file.
const ADDRESS: usize = HEAD + 8;
const INODE: usize = HEAD + 68;
const TOLD: usize = INODE + 4;
/// The kernel answers at once.
const WITHIN_S: i64 = 1;

/// Where they are bound, and the inodes of the sockets that listen on a port; `None` where that cannot be asked.
pub(super) fn on(port: u16) -> Option<Vec<(IpAddr, u64)>> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let kernel =
        socket(AddressFamily::Netlink, SockType::Datagram, flags, SockProtocol::NetlinkSockDiag).ok()?;
    setsockopt(&kernel, ReceiveTimeout, &TimeVal::new(WITHIN_S, 0)).ok()?;
    let mut found = HashSet::new();
    for (family, length) in FAMILIES {
        ask(&kernel, family, port)?;
        hear(&kernel, |message| found.extend(socket_of(message, port, length))).ok()?;
    }
    Some(found.into_iter().collect())
}

fn ask(kernel: &OwnedFd, family: u8, port: u16) -> Option<()> {
    let mut words = Vec::with_capacity(72);
    words.extend(72_u32.to_ne_bytes());
    words.extend(BY_FAMILY.to_ne_bytes());
    words.extend(REQUEST_OF_ALL.to_ne_bytes());
    words.extend([0; 8]);
    words.extend([family, TCP, 0, 0]);
    words.extend(LISTENING.to_ne_bytes());
    words.extend(port.to_be_bytes());
    words.resize(72, 0);
    (send(kernel.as_raw_fd(), &words, MsgFlags::empty()).ok()? == words.len()).then_some(())
}

/// All messages up to the last.
fn hear(kernel: &OwnedFd, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 32 << 10];
    loop {
        let length = recv(kernel.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let mut rest = buffer.get(..length).filter(|r| !r.is_empty()).ok_or(io::ErrorKind::UnexpectedEof)?;
        while let Some(head) = rest.first_chunk::<HEAD>() {
            let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
            let message = rest.get(..length).filter(|m| m.len() >= HEAD).ok_or(io::ErrorKind::InvalidData)?;
            match u16::from_ne_bytes([head[4], head[5]]) {
                DONE => return Ok(()),
                ERROR => return Err(io::ErrorKind::Unsupported.into()),
                _ => take(message),
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

/// Where a socket on this port is bound, with its inode.
fn socket_of(message: &[u8], port: u16, length: usize) -> Option<(IpAddr, u64)> {
    let told = message.get(..TOLD)?;
    let own = u16::from_be_bytes(*told[HEAD + 4..].first_chunk()?);
    let bytes: &[u8] = &told[ADDRESS..ADDRESS + length];
    let ip = match <[u8; 4]>::try_from(bytes) {
        Ok(four) => IpAddr::from(four),
        Err(_) => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    (own == port).then_some((ip, u64::from(u32::from_ne_bytes(*told[INODE..].first_chunk()?))))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn sockets_that_listen_are_told_with_their_addresses() {
        for bound in ["127.0.0.1:0", "0.0.0.0:0", "[::]:0", "[::1]:0"] {
            // a machine may have no IPv6
            let Ok(listener) = TcpListener::bind(bound) else { continue };
            let at = listener.local_addr().unwrap();
            let Some(found) = on(at.port()) else { return };
            assert!(found.iter().any(|(ip, inode)| *ip == at.ip() && *inode > 0), "{bound}: {found:?}");
            let _client = std::net::TcpStream::connect(("localhost", at.port()));
            drop(listener);
            assert_eq!(on(at.port()), Some(Vec::new()), "{bound}");
        }
    }
}
