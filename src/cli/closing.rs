//! Signals once nothing is launched any more, while the report is written and printed and the user is told. The first one must not cost
//! the report: it is noted, and what remains is short. The command of `--notify` is ended by it, and the printing to a
//! terminal that takes nothing. The second one, counted from the study's start, ends perflab as it ends any program.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use nix::errno::Errno;
use nix::libc::{SIGKILL, SIGTERM, alarm, c_int, kill, raise};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// The last signal, 0 before the first.
static HEARD: AtomicI32 = AtomicI32::new(0);
/// Whether the report is being printed.
static PRINTING: AtomicBool = AtomicBool::new(false);
/// The process group of the command that is told, 0 without one.
static TOLD: AtomicI32 = AtomicI32::new(0);

/// Seconds that the printing may take after a signal.
const PRINTING_ENDS: u32 = 1;

/// Takes SIGINT and SIGTERM over from the study. `heard`: it was a first signal that ended it. A terminal that is closed ends nothing
/// any more: it may have ended the study, and the rest of its echo is none of its report's.
pub fn keep_on(heard: bool) {
    if heard {
        HEARD.store(Signal::SIGTERM as c_int, Ordering::SeqCst);
    }
    handle(Signal::SIGALRM, too_late);
    handle(Signal::SIGINT, hear);
    handle(Signal::SIGTERM, hear);
}

/// Notes first signals while something goes on before the study begins; the second ends perflab. Dropped, signals do again what they
/// did before, unless one was heard.
pub struct Heard(Vec<(Signal, SigAction)>);

impl Heard {
    pub fn listen() -> Self {
        let action = SigAction::new(SigHandler::Handler(hear), SaFlags::SA_RESTART, SigSet::empty());
        let mut before = Vec::new();
        for which in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            // SAFETY: the handler touches atomics and calls async-signal-safe functions only
            let Ok(old) = (unsafe { sigaction(which, &action) }) else { continue };
            before.push((which, old));
            // as `nohup` wants it
            if matches!(old.handler(), SigHandler::SigIgn) {
                // SAFETY: puts back what was there
                let _ = unsafe { sigaction(which, &old) };
            }
        }
        Self(before)
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        for (which, old) in self.0.iter().filter(|_| heard() == 0) {
            // SAFETY: puts back what was there
            let _ = unsafe { sigaction(*which, old) };
        }
    }
}

/// Prints. It may wait for a terminal for ever, but not after a signal.
pub fn while_printing(print: impl FnOnce()) {
    PRINTING.store(true, Ordering::SeqCst);
    print();
    PRINTING.store(false, Ordering::SeqCst);
    // SAFETY: takes a timer back, and touches no memory
    unsafe { alarm(0) };
}

/// The last signal so far, 0 before the first.
pub fn heard() -> i32 {
    HEARD.load(Ordering::SeqCst)
}

/// Ends a process group on a signal as long as the guard lives, also on one that came since `before` was heard. By SIGTERM whatever came:
/// a shell may lose a SIGINT that comes while a command of it ends.
pub fn pass_on(group: u32, before: i32) -> PassedOn {
    TOLD.store(group as i32, Ordering::SeqCst);
    if heard() != before {
        // SAFETY: sends a signal, and touches no memory
        unsafe { kill(-(group as i32), SIGTERM) };
    }
    PassedOn
}

/// Signals go to a command.
pub struct PassedOn;

impl Drop for PassedOn {
    fn drop(&mut self) {
        TOLD.store(0, Ordering::SeqCst);
    }
}

fn handle(which: Signal, handler: extern "C" fn(c_int)) {
    let action = SigAction::new(SigHandler::Handler(handler), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handlers touch atomics and call async-signal-safe functions only
    let _ = unsafe { sigaction(which, &action) };
}

extern "C" fn hear(signal: c_int) {
    let errno = Errno::last_raw();
    let first = HEARD.swap(signal, Ordering::SeqCst) == 0;
    let told = TOLD.load(Ordering::SeqCst);
    // SAFETY: both are async-signal-safe; the group is that of a child of ours
    unsafe {
        if told != 0 {
            kill(-told, if first { SIGTERM } else { SIGKILL });
        }
        if first && PRINTING.load(Ordering::SeqCst) {
            alarm(PRINTING_ENDS);
        }
    }
    if !first {
        end_by(signal);
    }
    Errno::set_raw(errno);
}

extern "C" fn too_late(_: c_int) {
    if PRINTING.load(Ordering::SeqCst) {
        end_by(HEARD.load(Ordering::SeqCst));
    }
}

/// Ends this process as a signal does that nobody handles.
fn end_by(signal: c_int) {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    if let Ok(which) = Signal::try_from(signal) {
        // SAFETY: both are async-signal-safe; the signal comes when the handler returns
        unsafe {
            let _ = sigaction(which, &default);
            raise(signal);
        }
    }
}
