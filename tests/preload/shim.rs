//! Loaded in front of the C library (`LD_PRELOAD`), it sets the wall clock of one process and lets its disk run full at a chosen write:
//! the real binary meets both, and the machine neither. Compiled by the tests, alone and without a dependency.
//!
//! * `SHIM_CLOCK=FILE`: the file holds seconds that are added to the wall clock; the monotonic clock is left alone.
//! * `SHIM_DISK=DIR`, `SHIM_FULL_AT=N`: the N-th write to a file below `DIR` writes its first half, and from then on there is no room.
//!   `SHIM_COUNT=FILE` is given a byte for every such write.

#![allow(clippy::all, reason = "one file of C in Rust's words")]

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn getenv(name: *const c_char) -> *const c_char;
    fn __errno_location() -> *mut c_int;
}

#[cfg(target_arch = "x86_64")]
mod number {
    pub const WRITE: i64 = 1;
    pub const READ: i64 = 0;
    pub const CLOSE: i64 = 3;
    pub const OPENAT: i64 = 257;
    pub const READLINKAT: i64 = 267;
    pub const CLOCK_GETTIME: i64 = 228;
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub const WRITE: i64 = 64;
    pub const READ: i64 = 63;
    pub const CLOSE: i64 = 57;
    pub const OPENAT: i64 = 56;
    pub const READLINKAT: i64 = 78;
    pub const CLOCK_GETTIME: i64 = 113;
}

const AT_FDCWD: c_long = -100;
const O_CLOEXEC: c_long = 0o2_000_000;
const O_APPEND: c_long = 0o2001;
const ENOSPC: c_int = 28;
const CLOCK_REALTIME: c_int = 0;
const CLOCK_REALTIME_COARSE: c_int = 5;

static WRITES: AtomicUsize = AtomicUsize::new(0);

fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the environment is not changed while the tests' binary runs
    let value = unsafe { getenv(name.as_ptr()) };
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// The number that a text begins with.
fn number_in(text: &[u8]) -> i64 {
    let (sign, digits) = text.strip_prefix(b"-").map_or((1, text), |rest| (-1, rest));
    let digits = digits.iter().take_while(|b| b.is_ascii_digit());
    sign * digits.fold(0, |n, b| n * 10 + i64::from(b - b'0'))
}

#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, out: *mut Timespec) -> c_int {
    let answer = unsafe { syscall(number::CLOCK_GETTIME, clock as c_long, out) };
    if answer == 0
        && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        && let Some(path) = variable(c"SHIM_CLOCK")
    {
        unsafe { (*out).seconds += offset(path) };
    }
    answer as c_int
}

fn offset(path: &CStr) -> i64 {
    let mut text = [0_u8; 24];
    unsafe {
        let file = syscall(number::OPENAT, AT_FDCWD, path.as_ptr(), O_CLOEXEC);
        if file < 0 {
            return 0;
        }
        let read = syscall(number::READ, file, text.as_mut_ptr(), text.len());
        syscall(number::CLOSE, file);
        number_in(&text[..read.max(0) as usize])
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(file: c_int, bytes: *const c_void, length: usize) -> isize {
    let mut allowed = length;
    if let Some(at) = full_at().filter(|_| is_on_disk(file)) {
        let turn = WRITES.fetch_add(1, Ordering::SeqCst) + 1;
        count();
        if turn > at || (turn == at && length < 2) {
            unsafe { *__errno_location() = ENOSPC };
            return -1;
        }
        if turn == at {
            allowed = length / 2;
        }
    }
    unsafe { syscall(number::WRITE, file as c_long, bytes, allowed) as isize }
}

fn full_at() -> Option<usize> {
    variable(c"SHIM_FULL_AT").map(|text| number_in(text.to_bytes()) as usize)
}

/// Whether a descriptor is a file below the directory that plays the disk.
fn is_on_disk(file: c_int) -> bool {
    let Some(disk) = variable(c"SHIM_DISK") else { return false };
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut digits = [0_u8; 11];
    let (mut rest, mut used) = (file.max(0), 0);
    loop {
        digits[used] = b'0' + (rest % 10) as u8;
        (rest, used) = (rest / 10, used + 1);
        if rest == 0 {
            break;
        }
    }
    for (i, digit) in digits[..used].iter().rev().enumerate() {
        link[14 + i] = *digit;
    }
    let mut path = [0_u8; 512];
    let read = unsafe {
        syscall(number::READLINKAT, AT_FDCWD, link.as_ptr(), path.as_mut_ptr(), path.len() as c_long)
    };
    path[..read.max(0) as usize].starts_with(disk.to_bytes())
}

fn count() {
    let Some(path) = variable(c"SHIM_COUNT") else { return };
    unsafe {
        let file = syscall(number::OPENAT, AT_FDCWD, path.as_ptr(), O_APPEND | O_CLOEXEC);
        if file >= 0 {
            syscall(number::WRITE, file, c".".as_ptr(), 1_usize);
            syscall(number::CLOSE, file);
        }
    }
}
