//! The sockets of a load: one queue of the kernel's says which of them have something. What came is read and measured right there, many
//! sockets in one turn; a task for each of them would be woken for every chunk.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

use super::flow::Flow;
use super::tls::Session;
use crate::load::worker::came;

/// Sockets that are read before anything else gets its turn: a request that is due does not wait longer.
const AT_ONCE: usize = 64;
const BUFFER: usize = 64 << 10;

/// All of them.
#[derive(Debug)]
pub(super) struct Sockets {
    queue: Epoll,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    flows: Vec<Option<Arc<Flow>>>,
    free: Vec<usize>,
}

/// A socket in its place among the others, until this is dropped.
#[derive(Debug)]
pub(super) struct Placed {
    sockets: Arc<Sockets>,
    place: usize,
    pub flow: Arc<Flow>,
}

impl Drop for Placed {
    fn drop(&mut self) {
        // what still lies there of it is nobody's
        let _ = self.sockets.queue.delete(self.flow.socket());
        let mut known = self.sockets.known();
        known.flows[self.place] = None;
        known.free.push(self.place);
    }
}

impl Sockets {
    pub(super) fn new() -> io::Result<Arc<Self>> {
        let queue = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Arc::new(Self { queue, known: Mutex::default() }))
    }

    /// Adds a socket, which does not block.
    pub(super) fn add(self: &Arc<Self>, socket: TcpStream, tls: Option<Session>) -> io::Result<Placed> {
        let flow = Arc::new(Flow::new(socket, tls));
        let place = self.known().place(&flow);
        let placed = Placed { sockets: Arc::clone(self), place, flow };
        let wanted =
            EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        self.queue.add(placed.flow.socket(), EpollEvent::new(wanted, place as u64))?;
        Ok(placed)
    }

    /// Serves them on a runtime, for as long as that is there.
    pub(super) fn serve(self: &Arc<Self>, on: &Handle) -> io::Result<()> {
        let _inside = on.enter();
        // SAFETY: the descriptor is the queue's own, and the queue is held as long as it is registered
        let queue = unsafe { AsyncFd::register_with_interest(Queue(Arc::clone(self)), Interest::READABLE) }?;
        on.spawn(async move {
            let (mut said, mut buffer) = ([EpollEvent::empty(); AT_ONCE], vec![0; BUFFER]);
            while let Ok(mut ready) = queue.readable().await {
                while queue.get_ref().0.turn(&mut said, &mut buffer) {
                    tokio::task::yield_now().await;
                }
                ready.clear_ready();
            }
        });
        Ok(())
    }

    /// Reads what is there; whether there may be more.
    fn turn(&self, said: &mut [EpollEvent], buffer: &mut [u8]) -> bool {
        let many = match self.queue.wait(said, EpollTimeout::ZERO) {
            Ok(many) => many,
            Err(e) => return e == Errno::EINTR,
        };
        let known = self.known();
        let woken =
            said[..many].iter().filter_map(|event| known.at(event.data())?.turn(event.events(), buffer));
        // whoever is woken may leave, and has the list for that: not before all were read
        let woken: Vec<Waker> = woken.collect();
        drop(known);
        came(many, woken.len());
        woken.into_iter().for_each(Waker::wake);
        many == said.len()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn place(&mut self, flow: &Arc<Flow>) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.flows.push(None);
            self.flows.len() - 1
        });
        self.flows[place] = Some(Arc::clone(flow));
        place
    }

    /// The socket in a place; none if it left meanwhile.
    fn at(&self, place: u64) -> Option<&Flow> {
        self.flows.get(usize::try_from(place).ok()?)?.as_deref()
    }
}

/// The queue as something that a runtime can wait for.
struct Queue(Arc<Sockets>);

impl AsRawFd for Queue {
    fn as_raw_fd(&self) -> RawFd {
        self.0.queue.0.as_raw_fd()
    }
}
