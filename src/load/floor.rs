//! The least that a client of a streaming server can do: one queue of the kernel's for all streams, every event parsed as JSON, nothing
//! timed and nothing kept. What perflab's client takes from a server on its own machine is told by the difference.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// A server that says nothing for so many milliseconds is given up.
const SILENCE_MS: u16 = 30_000;

/// A server's queue for new connections is short, and who finds it full comes back a second later: after so many
const OPENED_AT_ONCE: usize = 32;
/// it has so long to take them.
const TAKEN_IN: Duration = Duration::from_millis(5);

/// A closed loop of equal requests.
#[derive(Debug)]
pub(super) struct Floor {
    pub address: SocketAddr,
    /// The path that is asked,
    pub path: &'static str,
    /// and the body of each request.
    pub body: String,
    /// Requests at one time,
    pub streams: u64,
    /// and in all.
    pub requests: u64,
}

impl Floor {
    /// Seconds from the first request to the end of the last answer. An answer that is no stream of events is an error.
    pub(super) fn run(&self) -> io::Result<f64> {
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
            self.path,
            self.address,
            self.body.len(),
            self.body
        );
        let queue = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut streams = Vec::new();
        for place in 0..self.streams.min(self.requests) {
            let socket = TcpStream::connect(self.address)?;
            socket.set_nodelay(true)?;
            socket.set_nonblocking(true)?;
            queue.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, place))?;
            streams.push(Stream { socket, pending: Vec::new(), done: false });
            if streams.len().is_multiple_of(OPENED_AT_ONCE) {
                thread::sleep(TAKEN_IN);
            }
        }
        let began = Instant::now();
        for stream in &mut streams {
            stream.socket.write_all(request.as_bytes())?;
        }
        let (mut sent, mut left) = (streams.len() as u64, self.requests);
        let mut ready = [EpollEvent::empty(); 256];
        while left > 0 {
            let many = queue.wait(&mut ready, EpollTimeout::from(SILENCE_MS))?;
            if many == 0 {
                return Err(ErrorKind::TimedOut.into());
            }
            for event in &ready[..many] {
                let Some(stream) = streams.get_mut(event.data() as usize) else { continue };
                if !stream.read()? {
                    continue;
                }
                left -= 1;
                if sent < self.requests {
                    stream.socket.write_all(request.as_bytes())?;
                    sent += 1;
                }
            }
        }
        Ok(began.elapsed().as_secs_f64())
    }
}

struct Stream {
    socket: TcpStream,
    /// the line that has not come whole
    pending: Vec<u8>,
    /// the last event of the answer has come
    done: bool,
}

impl Stream {
    /// Reads what has come; whether that ends an answer.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 16 << 10];
        let read = match self.socket.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(e) => return Err(e),
        };
        self.pending.extend_from_slice(&buffer[..read]);
        let (mut at, mut over) = (0, false);
        while let Some(length) = memchr::memchr(b'\n', &self.pending[at..]) {
            over |= line(&self.pending[at..at + length], &mut self.done)?;
            at += length + 1;
        }
        self.pending.drain(..at);
        Ok(over)
    }
}

/// Takes a line of an answer; whether it is the one that ends a body, the size of an empty last chunk.
fn line(line: &[u8], done: &mut bool) -> io::Result<bool> {
    if let Some(event) = line.strip_prefix(b"data: ") {
        if event == b"[DONE]" {
            *done = true;
        } else {
            serde_json::from_slice::<serde_json::Value>(event)?;
        }
    } else if line.starts_with(b"HTTP/1.1 ") && !line.starts_with(b"HTTP/1.1 200") {
        return Err(io::Error::other(String::from_utf8_lossy(line).trim().to_owned()));
    }
    Ok(*done && line == b"0\r" && std::mem::take(done))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::null_server::NullServer;

    #[test]
    fn every_answer_is_read_to_its_end() {
        let server = NullServer::start(5, Duration::from_millis(20)).expect("a server");
        let address = server.url.trim_start_matches("http://").parse().expect("an address");
        let floor = Floor { address, path: "/", body: "{}".to_owned(), streams: 3, requests: 6 };
        let took = floor.run().expect("answers");
        // two rounds of five steps each
        assert!(took > 0.15, "{took}");
    }

    #[test]
    fn a_refusal_and_an_answer_that_is_no_json_are_errors() {
        let mut done = false;
        assert!(line(b"HTTP/1.1 503 Service Unavailable\r", &mut done).is_err());
        assert!(line(b"data: {", &mut done).is_err());
        assert!(!line(b"0\r", &mut done).expect("a size"), "nothing was answered yet");
        assert!(!line(b"data: [DONE]", &mut done).expect("an event"));
        assert!(line(b"0\r", &mut done).expect("the end"));
    }
}
