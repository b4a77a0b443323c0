//! Reports on their way to perflab, which may be stopped and not reading: the guard never waits for it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::super::protocol::Report;
use super::entry::set_nonblocking;

/// Lines not yet taken by the pipe.
pub(super) struct Outbox {
    pipe: File,
    pending: Vec<u8>,
    /// The reader is gone, and nothing needs to be said any more.
    closed: bool,
}

impl Outbox {
    pub fn on_stdout() -> io::Result<Self> {
        let pipe = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        set_nonblocking(&pipe)?;
        Ok(Self { pipe, pending: Vec::new(), closed: false })
    }

    /// Queues a report and sends what the pipe takes.
    pub fn push(&mut self, report: &Report) {
        if let Ok(mut line) = serde_json::to_vec(report) {
            line.push(b'\n');
            self.pending.extend(line);
        }
        self.flush();
    }

    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Bytes that wait for perflab to read.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    pub fn flush(&mut self) {
        while !self.pending.is_empty() && !self.closed {
            match self.pipe.write(&self.pending) {
                Ok(n) => drop(self.pending.drain(..n)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.closed = true,
            }
        }
        self.pending.clear();
    }

    /// Waits until all is sent or nobody reads, at most for `patience`.
    pub fn flush_for(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        self.flush();
        while !self.pending.is_empty() && Instant::now() < deadline {
            let _ = poll(&mut [PollFd::new(self.pipe.as_fd(), PollFlags::POLLOUT)], PollTimeout::from(50u8));
            self.flush();
        }
    }
}
