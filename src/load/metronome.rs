//! Ticks at absolute times, by a timer of the kernel's that the thread of the requests waits for itself: the runtime's timers are as
//! coarse as a millisecond, another thread has to be given the processor first, and spinning all along would take the core that reads the
//! streams. A processor that sleeps takes up to a tenth of a millisecond to wake up, and requests that are due closer together than that would go
//! out at once: so the last moment is waited for awake, and the streams are read meanwhile.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

use super::worker::Due;

/// No time is awaited awake for longer than this,
const AWAKE: Duration = Duration::from_micros(150);
/// nor for more than one in so many parts of the mean time between two ticks.
const SHARE: u32 = 20;

/// A running metronome.
#[derive(Debug)]
pub(super) struct Metronome {
    began: Instant,
    times: Vec<Duration>,
    next: usize,
    awake: Duration,
    alarm: AsyncFd<Timer>,
    due: Due,
}

#[derive(Debug)]
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Metronome {
    /// Ticks on a runtime at each of the ascending `times` after `began`. `due` is told of the next.
    pub(super) fn start(began: Instant, times: Vec<Duration>, on: &Handle, due: Due) -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let alarm = Timer(TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?);
        let _inside = on.enter();
        // SAFETY: the descriptor is the timer's own, and the timer is held as long as it is registered
        let alarm = unsafe { AsyncFd::register_with_interest(alarm, Interest::READABLE) }?;
        Ok(Self { began, awake: awake(&times), times, next: 0, alarm, due })
    }

    /// The number of the next time that has come; none after the last.
    pub(super) async fn tick(&mut self) -> Option<usize> {
        let at = self.began + *self.times.get(self.next)?;
        loop {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let asleep = left.saturating_sub(self.awake);
            if asleep.is_zero() {
                // sockets have their turn in between
                tokio::task::yield_now().await;
                continue;
            }
            self.due.set(at.checked_sub(self.awake));
            if self.wait(asleep).await.is_err() {
                // a coarse timer is better than none
                tokio::time::sleep(asleep).await;
            }
        }
        self.due.set(None);
        self.next += 1;
        // many that are due at once must not keep all others from their turn
        tokio::task::coop::consume_budget().await;
        Some(self.next - 1)
    }

    async fn wait(&self, left: Duration) -> io::Result<()> {
        let once = Expiration::OneShot(left.into());
        self.alarm.get_ref().0.set(once, TimerSetTimeFlags::empty())?;
        let mut rang = self.alarm.readable().await?;
        // whether it was this ring is said by the clock
        let _ = self.alarm.get_ref().0.wait();
        rang.clear_ready();
        Ok(())
    }
}

/// How long before each of the times it is awake.
fn awake(times: &[Duration]) -> Duration {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Duration::ZERO };
    let gaps = u32::try_from(times.len() - 1).unwrap_or(u32::MAX).max(1);
    (last.saturating_sub(*first) / gaps / SHARE).min(AWAKE)
}

impl Drop for Metronome {
    fn drop(&mut self) {
        self.due.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ticks_in_order_and_never_early() {
        let began = Instant::now();
        let times: Vec<Duration> = [0, 0, 20, 30].map(Duration::from_millis).to_vec();
        let on = Handle::current();
        let mut metronome = Metronome::start(began, times.clone(), &on, Due::never()).expect("a timer");
        let mut seen = Vec::new();
        while let Some(number) = metronome.tick().await {
            assert!(began.elapsed() >= times[number]);
            seen.push(number);
        }
        assert_eq!(seen, [0, 1, 2, 3]);
    }

    #[test]
    fn it_is_awake_for_a_small_part_of_the_time() {
        let every =
            |us: u64, count: u64| (0..count).map(|n| Duration::from_micros(n * us)).collect::<Vec<_>>();
        assert_eq!(awake(&every(5000, 2000)), AWAKE);
        assert_eq!(awake(&every(1000, 2000)), Duration::from_micros(50));
        assert_eq!(awake(&every(0, 9)), Duration::ZERO, "all at once");
        assert_eq!((awake(&every(9, 1)), awake(&[])), (Duration::ZERO, Duration::ZERO));
    }

    #[tokio::test]
    async fn a_wait_that_was_given_up_loses_no_tick() {
        let times = vec![Duration::from_millis(30)];
        let on = Handle::current();
        let mut metronome = Metronome::start(Instant::now(), times, &on, Due::never()).expect("a timer");
        let short = tokio::time::timeout(Duration::from_millis(5), metronome.tick()).await;
        assert!(short.is_err(), "{short:?}");
        assert_eq!(metronome.tick().await, Some(0));
        assert_eq!(metronome.tick().await, None);
    }
}
