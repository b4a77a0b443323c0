//! Bytes with the time at which the kernel had them. A client with many streams comes to each of them a little later, and on a busy
//! machine much later; that is no time of the server's.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant, SystemTime};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};

/// A stamp of bytes that lay there longer was made before somebody set the clock, or is of no use to a measurement.
const OLD: Duration = Duration::from_secs(2);

thread_local! {
    static CLOCKS: Cell<Option<Clocks>> = const { Cell::new(None) };
    /// Room for what the kernel says beside the bytes: one for all reads of a thread.
    static STAMP: RefCell<Vec<u8>> = RefCell::new(nix::cmsg_space!(nix::sys::time::TimeSpec));
}

/// Asks the kernel to stamp what comes. Where it cannot, the time of reading stands.
pub(super) fn ask(socket: &impl AsFd) {
    let _ = setsockopt(socket, sockopt::ReceiveTimestampns, &true);
}

/// Reads what is there, and when the last of it came.
pub(super) fn read(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<(usize, Instant)> {
    let mut into = [IoSliceMut::new(buffer)];
    let (bytes, came) = STAMP.with_borrow_mut(|stamp| {
        let got = recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(stamp), MsgFlags::empty())?;
        let came = got.cmsgs().ok().and_then(|mut all| {
            all.find_map(|message| match message {
                ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
                _ => None,
            })
        });
        Ok::<_, Errno>((got.bytes, came))
    })?;
    let now = Instant::now();
    Ok((bytes, came.map_or(now, |came| Clocks::at(now).monotonic(came, now))))
}

/// The kernel stamps by the clock of the day, and all else here is measured by one that nobody sets: what they said at one moment.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    steady: Instant,
    of_day: Duration,
}

impl Clocks {
    /// As they were lately: the one of the day may be slewed by some millionths.
    fn at(now: Instant) -> Self {
        const LATELY: Duration = Duration::from_millis(10);
        let known = CLOCKS.get().filter(|c| now.saturating_duration_since(c.steady) < LATELY);
        known.unwrap_or_else(|| {
            let read = Self::read();
            CLOCKS.set(Some(read));
            read
        })
    }

    /// Reads both. Whoever is interrupted in between reads two moments: the closest of a few pairs is taken.
    fn read() -> Self {
        const CLOSE: Duration = Duration::from_micros(2);
        let pair = || {
            let before = Instant::now();
            let of_day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let apart = before.elapsed();
            (apart, Self { steady: before + apart / 2, of_day })
        };
        let (mut apart, mut best) = pair();
        for _ in 0..4 {
            if apart <= CLOSE {
                break;
            }
            let other = pair();
            if other.0 < apart {
                (apart, best) = other;
            }
        }
        best
    }

    /// The moment of a stamp, which is not after `now`.
    fn monotonic(self, stamp: Duration, now: Instant) -> Instant {
        let at = match stamp.checked_sub(self.of_day) {
            Some(after) => self.steady.checked_add(after),
            None => self.steady.checked_sub(self.of_day.saturating_sub(stamp)),
        };
        at.filter(|at| now.saturating_duration_since(*at) < OLD).map_or(now, |at| at.min(now))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_stamp_is_as_far_from_now_by_either_clock() {
        let ms = Duration::from_millis;
        let (steady, of_day) = (Instant::now(), ms(1_000_000));
        let (clocks, now) = (Clocks { steady, of_day }, steady + ms(50));
        assert_eq!(clocks.monotonic(ms(1_000_020), now), steady + ms(20));
        assert_eq!(clocks.monotonic(ms(999_990), now), steady.checked_sub(ms(10)).expect("a moment"));
        assert_eq!(clocks.monotonic(ms(1_000_090), now), now, "nothing comes later than now");
        assert_eq!(clocks.monotonic(ms(900_000), now), now, "somebody set the clock");
    }

    #[test]
    fn what_lay_there_is_no_younger_than_its_sending_and_no_older_than_its_reading() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (receiver, _) = listener.accept().expect("accepted");
        ask(&receiver);
        let mut buffer = [0; 16];
        for text in ["one", "three"] {
            let before = Instant::now();
            sender.write_all(text.as_bytes()).expect("sent");
            std::thread::sleep(Duration::from_millis(20));
            let (bytes, at) = read(&receiver, &mut buffer).expect("read");
            assert_eq!(&buffer[..bytes], text.as_bytes());
            // two clocks are compared: a moment of doubt on either side
            let (early, late) =
                (before.saturating_duration_since(at), at.saturating_duration_since(Instant::now()));
            assert!(early < Duration::from_millis(10) && late.is_zero(), "{early:?} {late:?}");
        }
        drop(sender);
        assert_eq!(read(&receiver, &mut buffer).expect("the end").0, 0);
        receiver.set_nonblocking(true).expect("set");
    }
}
