//! The thread that a load's requests run on. One is enough for all of them, and nothing else runs there: what the rest of perflab does
//! meanwhile delays no time stamp.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::LoadError;

/// The thread goes to wait for sockets no more often than this, unless they are many.
const APART: Duration = Duration::from_micros(250);
/// Where so many sockets have something after a rest, the next one is twice as long: with that many streams each wake-up costs more than
/// what it brings sooner, and the server sends the next chunk of any of them much later.
const MANY: usize = 5;
/// Where it were so many, and all but one in [`FEW`] brought a further chunk only, it is four times as long: whoever waits to send a next
/// request is rare among them, and its last one took much longer than that.
const VERY_MANY: usize = 10;
const FEW: usize = 8;
/// It is awake by this much before a request is due.
const READY: Duration = Duration::from_micros(100);

/// A runtime on a thread of its own; it ends, with all that runs on it, when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    handle: Handle,
    due: Due,
    _stop: DropGuard,
}

/// When the next request has to be sent, where that is known.
#[derive(Debug, Clone)]
pub(super) struct Due {
    from: Instant,
    /// Nanoseconds.
    after: Arc<AtomicU64>,
}

impl Due {
    pub(super) fn never() -> Self {
        Self { from: Instant::now(), after: Arc::new(AtomicU64::new(u64::MAX)) }
    }

    pub(super) fn set(&self, at: Option<Instant>) {
        let ns = |at: Instant| at.saturating_duration_since(self.from).as_nanos();
        let after = at.map_or(u64::MAX, |at| u64::try_from(ns(at)).unwrap_or(u64::MAX));
        self.after.store(after, Ordering::Relaxed);
    }

    /// How long it is until it is nearly time.
    fn left(&self, now: Instant) -> Duration {
        let due = Duration::from_nanos(self.after.load(Ordering::Relaxed));
        due.saturating_sub(now.saturating_duration_since(self.from)).saturating_sub(READY)
    }
}

thread_local! {
    static CAME: Cell<Came> = const { Cell::new(Came { sockets: 0, news: 0 }) };
}

/// What came since the thread last rested.
#[derive(Debug, Clone, Copy, Default)]
struct Came {
    /// Sockets that had something.
    sockets: usize,
    /// Those of them whose requests had to decide on it: an answer began or ended.
    news: usize,
}

impl Came {
    /// How long after its last rest the thread goes to wait again.
    fn apart(self) -> Duration {
        match self.sockets {
            0..MANY => APART,
            VERY_MANY.. if self.news * FEW <= self.sockets => 4 * APART,
            _ => 2 * APART,
        }
    }
}

/// Notes that so many sockets had something, and for so many of them a request had to decide on it.
pub(super) fn came(sockets: usize, news: usize) {
    let before = CAME.get();
    CAME.set(Came { sockets: before.sockets + sockets, news: before.news + news });
}

/// Waits until it is some time since the thread last went to wait: chunks that come one after another are then read together, instead
/// of waking it one by one. What comes seldom waits for nothing, and neither does what is to be sent at a given time; and when bytes
/// came, the kernel says. A client of a closed loop may send its next request so much later.
fn rest(parked: &Mutex<Instant>, due: &Due) {
    let mut parked = parked.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let left = CAME.take().apart().saturating_sub(now.saturating_duration_since(*parked)).min(due.left(now));
    *parked = now;
    if !left.is_zero() {
        thread::sleep(left);
        *parked = Instant::now();
    }
}

impl Worker {
    /// Starts it, on some processors or on any.
    pub(super) fn start(cpus: &[usize]) -> Result<Self, LoadError> {
        let mut builder = Builder::new_current_thread();
        let (parked, due) = (Mutex::new(Instant::now()), Due::never());
        let next = due.clone();
        builder.on_thread_park(move || rest(&parked, &next));
        let runtime = builder.enable_all().build().map_err(LoadError::Thread)?;
        let (handle, stop) = (runtime.handle().clone(), CancellationToken::new());
        let stopped = stop.clone();
        let only = processors(cpus);
        // one that is not begun gives it back: within a runtime none may end
        let place = Arc::new(Mutex::new(Some(runtime)));
        let own = Arc::clone(&place);
        let run = move || {
            let Some(runtime) = own.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
            // sleeps end when they should; without it, some tens of microseconds later
            let _ = nix::sys::prctl::set_timerslack(1000);
            if let Some(only) = only {
                // one that is gone by now is no reason to stop
                let _ = sched_setaffinity(Pid::from_raw(0), &only);
            }
            runtime.block_on(stopped.cancelled());
        };
        if let Err(error) = thread::Builder::new().name("perflab-load".to_owned()).spawn(run) {
            let runtime = place.lock().unwrap_or_else(PoisonError::into_inner).take();
            runtime.into_iter().for_each(tokio::runtime::Runtime::shutdown_background);
            return Err(LoadError::Thread(error));
        }
        Ok(Self { handle, due, _stop: stop.drop_guard() })
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Where it is told when the next request has to be sent.
    pub(super) fn due(&self) -> &Due {
        &self.due
    }

    /// Runs something there to its end.
    pub(super) async fn run<F>(&self, work: F) -> Result<F::Output, LoadError>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        self.handle.spawn(work).await.map_err(|e| LoadError::Task(e.to_string()))
    }
}

/// They as a set; none where there are none.
fn processors(cpus: &[usize]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    let some = cpus.iter().filter(|id| set.set(**id).is_ok()).count();
    (some > 0).then_some(set)
}

#[cfg(test)]
mod tests {
    use nix::sched::sched_getaffinity;

    use super::*;

    #[tokio::test]
    async fn its_thread_stays_on_the_processors_that_it_is_given() {
        let here = || {
            let set = sched_getaffinity(Pid::from_raw(0)).expect("told");
            (0..CpuSet::count()).filter(|id| set.is_set(*id).unwrap_or(false)).collect::<Vec<_>>()
        };
        let all = here();
        for cpus in [all.clone(), all[..1].to_vec()] {
            let worker = Worker::start(&cpus).expect("started");
            assert_eq!(worker.run(async move { here() }).await.expect("run"), cpus);
        }
        assert_eq!(here(), all, "the rest of perflab goes where it likes");
    }

    #[test]
    fn it_rests_longest_where_streams_only_go_on() {
        for (sockets, news, times) in [
            (0, 0, 1),
            (4, 0, 1),
            (5, 0, 2),
            (9, 0, 2),
            (10, 0, 4),
            (10, 1, 4),
            (10, 2, 2),
            (64, 8, 4),
            (64, 9, 2),
        ] {
            assert_eq!(Came { sockets, news }.apart(), times * APART, "{sockets} with {news}");
        }
    }

    #[test]
    fn the_time_until_a_request_ends_when_it_is_nearly_due() {
        let due = Due::never();
        let at = |ms| due.from + Duration::from_millis(ms);
        assert!(due.left(at(0)) > Duration::from_hours(1));
        due.set(Some(at(20)));
        assert_eq!(due.left(at(5)) + READY, Duration::from_millis(15));
        assert_eq!((due.left(at(20)), due.left(at(90))), (Duration::ZERO, Duration::ZERO));
        due.set(None);
        assert!(due.left(at(0)) > Duration::from_hours(1));
    }
}
