//! One socket and the answer that comes out of it.

use std::io::{self, IoSlice, Write as _};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use nix::sys::epoll::EpollFlags;

use super::decoder::{Decoder, HttpError};
use super::stamp;
use super::tls::Session;
use crate::load::answer::Answer;
use crate::trust::{Refusal, cut};

/// What went wrong with a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("{0}")]
    Tls(Refusal),
}

/// A socket whose bytes are taken to the awaited answer as they come, and the one task that waits for it.
#[derive(Debug)]
pub(super) struct Flow {
    socket: TcpStream,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    decoder: Decoder,
    /// Between the socket and the decoder, where the server wants it so.
    tls: Option<Session>,
    answer: Option<Answer>,
    /// When the last bytes came, or the request was begun.
    last: Instant,
    /// Something came, or the other side closed, while nothing was awaited; or a request was not written whole.
    spoiled: bool,
    /// The socket took no more of the request.
    blocked: bool,
    news: bool,
    broken: Option<Broken>,
    waiter: Option<Waker>,
}

impl Flow {
    pub(super) fn new(socket: TcpStream, tls: Option<Session>) -> Self {
        stamp::ask(&socket);
        let state = State {
            decoder: Decoder::default(),
            tls,
            answer: None,
            last: Instant::now(),
            spoiled: false,
            blocked: false,
            news: false,
            broken: None,
            waiter: None,
        };
        Self { socket, state: Mutex::new(state) }
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Awaits an answer: what comes from now on is its.
    pub(super) fn expect(&self, answer: Answer) {
        let mut state = self.state();
        state.last = Instant::now();
        state.answer = Some(answer);
    }

    /// Takes the answer out, as far as it has come.
    pub(super) fn take_answer(&self) -> Option<Answer> {
        self.state().answer.take()
    }

    /// Looks at the answer so far.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Answer) -> T) -> Option<T> {
        self.state().answer.as_ref().map(look)
    }

    /// Makes ready for the next request; false if there cannot be one.
    pub(super) fn reset(&self) -> bool {
        let mut state = self.state();
        let may_be_kept = state.decoder.may_be_kept() && state.broken.is_none();
        state.decoder.reset();
        may_be_kept && !state.spoiled
    }

    /// No other request may be written into it.
    pub(super) fn spoil(&self) {
        self.state().spoiled = true;
    }

    /// Whether nothing of an answer has come.
    pub(super) fn is_untouched(&self) -> bool {
        !self.state().decoder.has_begun()
    }

    /// Whether the server has neither said anything unasked nor closed.
    pub(super) fn is_silent(&self) -> bool {
        let state = self.state();
        // what lies there of TLS may be its own affair, such as a ticket for another session
        let silent = || matches!(self.socket.peek(&mut [0]), Err(e) if e.kind() == io::ErrorKind::WouldBlock);
        !state.spoiled && state.broken.is_none() && (state.tls.is_some() || silent())
    }

    /// When the last bytes came.
    pub(super) fn last(&self) -> Instant {
        self.state().last
    }

    /// Writes what the socket takes.
    pub(super) fn write(&self, head: &[u8], body: &[u8]) -> io::Result<usize> {
        if let Some(tls) = &mut self.state().tls {
            return tls.write(&self.socket, head, body);
        }
        (&self.socket).write_vectored(&[IoSlice::new(head), IoSlice::new(body)])
    }

    /// Whether something that was written has not gone out.
    pub(super) fn owes(&self) -> bool {
        self.state().tls.as_ref().is_some_and(Session::owes)
    }

    /// Waits until the socket takes more; ends with false where an answer comes, or the connection breaks, instead.
    pub(super) fn poll_room(&self, cx: &mut Context<'_>, waited: &mut bool) -> Poll<bool> {
        let mut state = self.state();
        if state.decoder.has_begun() || state.broken.is_some() {
            return Poll::Ready(false);
        }
        if *waited && !state.blocked {
            return Poll::Ready(true);
        }
        (*waited, state.blocked) = (true, true);
        state.wait(cx);
        Poll::Pending
    }

    /// Waits for what the task has to decide on: true for news of the answer, false at its proper end.
    pub(super) fn poll_news(&self, cx: &mut Context<'_>) -> Poll<Result<bool, Broken>> {
        let mut state = self.state();
        if std::mem::take(&mut state.news) {
            return Poll::Ready(Ok(true));
        }
        if let Some(broken) = state.broken.take() {
            return Poll::Ready(Err(broken));
        }
        if state.decoder.is_done() {
            return Poll::Ready(Ok(false));
        }
        state.wait(cx);
        Poll::Pending
    }

    /// The kernel has something to say of the socket. Returns who is to be woken for it.
    pub(super) fn turn(&self, said: EpollFlags, buffer: &mut [u8]) -> Option<Waker> {
        let mut state = self.state();
        let mut wakes = said.contains(EpollFlags::EPOLLOUT) && std::mem::take(&mut state.blocked);
        let ending = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        if said.intersects(ending | EpollFlags::EPOLLIN) {
            wakes |= state.read(&self.socket, buffer, said.intersects(ending));
        }
        if wakes { state.waiter.take() } else { None }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.waiter {
            Some(waiter) => waiter.clone_from(cx.waker()),
            None => self.waiter = Some(cx.waker().clone()),
        }
    }

    /// Reads all that is there, and says whether the task has to know. A read that does not fill the buffer has taken all, unless the
    /// other side is `ending`: then the end is still to be read.
    fn read(&mut self, socket: &TcpStream, buffer: &mut [u8], ending: bool) -> bool {
        let mut wakes = false;
        while self.broken.is_none() {
            let (bytes, at) = match stamp::read(socket, buffer) {
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return wakes,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    let broken = match &self.tls {
                        Some(_) if e.kind() == io::ErrorKind::ConnectionReset => Broken::Tls(cut(e.kind())),
                        _ => e.into(),
                    };
                    self.broken = Some(broken);
                    return true;
                }
            };
            wakes |= self.brought(socket, at, &buffer[..bytes]);
            if bytes == 0 || (bytes < buffer.len() && !ending) {
                return wakes;
            }
        }
        true
    }

    /// The socket brought these bytes; none at its end.
    fn brought(&mut self, socket: &TcpStream, at: Instant, bytes: &[u8]) -> bool {
        let Some(mut tls) = self.tls.take().filter(|_| !bytes.is_empty()) else {
            return self.came(at, bytes);
        };
        let mut wakes = false;
        let read = tls.read(bytes, &mut |said| wakes |= self.came(at, said));
        // a change of keys has an answer; one that finds no room goes out with the next request
        let _ = tls.flush(socket);
        self.tls = Some(tls);
        if let Err(e) = read {
            self.broken.get_or_insert(e.into());
            return true;
        }
        wakes
    }

    fn came(&mut self, at: Instant, bytes: &[u8]) -> bool {
        let Self { decoder, answer, last, .. } = self;
        let Some(answer) = answer else {
            self.spoiled = true;
            return false;
        };
        // two clocks are compared, and none of them may turn the order around
        let at = at.max(*last);
        *last = at;
        let fed = match bytes {
            [] => decoder.closed(),
            _ => decoder.feed(bytes, &mut |status, run| answer.take(at, status, run)),
        };
        if let (None, Some(head)) = (answer.headers, decoder.head()) {
            answer.begin(at, head);
        }
        self.news |= answer.has_news();
        let ended = decoder.is_done() || fed.is_err();
        self.broken = fed.err().map(Broken::Http).or(self.broken.take());
        self.news || ended
    }
}
