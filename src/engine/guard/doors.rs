//! Descriptors that whoever started perflab left open: an engine gets none of them. It would hold a lock, a pipe's end or a socket of
//! somebody else for as long as it lives.

use std::fs;
use std::os::fd::{BorrowedFd, RawFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// Closes everything but the standard streams when a program is started from here.
pub(super) fn close_at_exec() {
    let listed = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> = listed.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| *fd > 2) {
        // SAFETY: only a flag of it is set; one that is closed by now, as the directory that was just read, says so
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let _ = fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
    }
}
