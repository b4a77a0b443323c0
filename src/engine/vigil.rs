//! Watches a server's port as long as it is loaded. Who shares a port for a moment takes connections that outlive the moment, and
//! answers them in the engine's name: looks before and after a load would see nothing of it.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::container::Container;
use super::port::{self, Owner};

/// Between two looks at who listens: some microseconds each.
const PAUSE: Duration = Duration::from_millis(100);
/// Thousands of connections take a while to read: so many times the last look's length passes before the next.
const REST: u32 = 100;

/// A thread that watches until this is dropped.
#[derive(Debug)]
pub struct Vigil {
    seen: Arc<OnceLock<(i32, String)>>,
    _end: Sender<()>,
}

impl Vigil {
    /// Watches the port of a server below `guard`, or in its `container`.
    pub(super) fn begin(address: SocketAddr, guard: i32, container: Option<Container>) -> Self {
        let (end, ended) = mpsc::channel();
        let seen = Arc::new(OnceLock::new());
        let found = Arc::clone(&seen);
        let watch = move || {
            // asked once: docker and podman take their time
            let boxed = container.map(|c| c.pids()).unwrap_or_default();
            let mut eyes = Eyes {
                address,
                guard,
                boxed,
                vetted: HashSet::new(),
                puzzling: HashSet::new(),
                next: Instant::now(),
            };
            while found.get().is_none() && ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                if let Some(stranger) = eyes.look() {
                    let _ = found.set(stranger);
                }
            }
        };
        // without a thread there are still the looks before and after a load
        let _ = thread::Builder::new().name("port watch".into()).spawn(watch);
        Self { seen, _end: end }
    }

    /// Who else took connections that were meant for the server, by process id and name.
    pub fn stranger(&self) -> Option<(i32, String)> {
        self.seen.get().cloned()
    }
}

struct Eyes {
    address: SocketAddr,
    guard: i32,
    boxed: Vec<i32>,
    /// sockets that were seen to be the server's
    vetted: HashSet<u64>,
    /// sockets that nobody was seen to hold; finding that out takes the whole table of processes
    puzzling: HashSet<u64>,
    /// when connections are looked at again
    next: Instant,
}

impl Eyes {
    fn look(&mut self) -> Option<(i32, String)> {
        let mut sockets = port::listeners(self.address);
        let began = Instant::now();
        let connections = began >= self.next;
        if connections {
            sockets.extend(port::answering(self.address));
            // numbers of closed ones are given to others
            self.vetted.retain(|socket| sockets.contains(socket));
            self.puzzling.clear();
        }
        sockets.retain(|socket| !self.vetted.contains(socket) && !self.puzzling.contains(socket));
        let new = sockets;
        let owner = if new.is_empty() { Owner::Unknown } else { port::holder(&new, self.guard, &self.boxed) };
        if connections {
            self.next = Instant::now() + began.elapsed() * REST;
        }
        match owner {
            Owner::Stranger { pid, name } => return Some((pid, name)),
            Owner::Tree => self.vetted.extend(new),
            Owner::Unknown => self.puzzling.extend(new),
        }
        None
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn eyes(address: SocketAddr, guard: i32) -> Eyes {
        Eyes {
            address,
            guard,
            boxed: Vec::new(),
            vetted: HashSet::new(),
            puzzling: HashSet::new(),
            next: Instant::now(),
        }
    }

    #[test]
    fn a_connection_betrays_who_has_stopped_listening() {
        let (parent, me) = (std::os::unix::process::parent_id() as i32, std::process::id() as i32);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut own = eyes(address, parent);
        assert_eq!(own.look(), None);
        assert_eq!(own.vetted.len(), 1);
        let _client = TcpStream::connect(address).unwrap();
        let _accepted = listener.accept().unwrap();
        drop(listener);
        // a process that another test starts holds all sockets until it is its own program
        eventually("this process is a stranger", || {
            eyes(address, me).look().is_some_and(|(pid, _)| pid == me)
        });
        eventually("the listener is gone, the connection is there", || {
            own.next = Instant::now();
            own.look().is_none() && own.vetted.len() == 1
        });
    }

    pub(in super::super) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
        let until = Instant::now() + Duration::from_secs(10);
        while !holds() {
            assert!(Instant::now() < until, "never seen: {what}");
            thread::sleep(PAUSE);
        }
    }

    #[test]
    fn the_thread_finds_a_stranger_who_comes_later() {
        let port = port::free_port("127.0.0.1").unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let vigil = Vigil::begin(address, std::process::id() as i32, None);
        thread::sleep(2 * PAUSE);
        assert_eq!(vigil.stranger(), None);
        let _listener = TcpListener::bind(address).unwrap();
        eventually("a stranger", || vigil.stranger().is_some());
    }
}
