//! Looks at files beside the thread that an engine waits for: a file system that does not answer, or that a process of the engine itself
//! serves, would hold up all of its calls otherwise.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

/// A file system that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_millis(50);

type Work = Box<dyn FnOnce() + Send>;

pub(super) struct Aside {
    work: Sender<Work>,
    is_busy: Arc<AtomicBool>,
}

impl Aside {
    pub fn new() -> io::Result<Self> {
        let (work, queue) = mpsc::channel::<Work>();
        let look = move || queue.into_iter().for_each(|work| work());
        thread::Builder::new().name("looks".to_owned()).spawn(look)?;
        Ok(Self { work, is_busy: Arc::default() })
    }

    /// What comes of it, if that comes soon; `None` also while an earlier look is still waited for.
    pub fn look<T: Send + 'static>(&self, of: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        if self.is_busy.swap(true, Ordering::AcqRel) {
            return None;
        }
        let (said, answer) = mpsc::channel();
        let is_busy = self.is_busy.clone();
        let work = move || {
            let found = of();
            is_busy.store(false, Ordering::Release);
            // who asked may have gone on
            let _ = said.send(found);
        };
        self.work.send(Box::new(work)).ok()?;
        answer.recv_timeout(PATIENCE).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_not_waited_for_and_holds_nothing_up() {
        let aside = Aside::new().expect("a thread");
        assert_eq!(aside.look(|| 1), Some(1));
        let (go, wait) = mpsc::channel::<()>();
        assert_eq!(aside.look(move || wait.recv().is_ok()), None);
        assert_eq!(aside.look(|| 2), None, "it waits for the one before");
        go.send(()).expect("heard");
        while aside.is_busy.load(Ordering::Acquire) {
            thread::yield_now();
        }
        assert_eq!(aside.look(|| 3), Some(3));
    }
}
