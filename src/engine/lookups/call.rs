//! The system calls that name files, and what each does with them.

use nix::libc;

/// A system call, and where its arguments stand that matter here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub number: i64,
    /// the names that it has: where the directory stands that each is relative to, if not the working directory, and where the name
    pub names: [Option<(Option<usize>, usize)>; 2],
    pub does: Does,
    /// where `AT_EMPTY_PATH` says that it is about an open file, and names none
    pub nameless: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// asks whether something is there, or what
    Ask,
    /// opens a file, how is in this argument
    Open(usize),
    /// opens a file, how lies in memory at this argument
    OpenAs(usize),
    /// runs a program
    Run,
    /// gives rights or times to what is open under this number
    Touch(usize),
    /// puts itself under a filter, how is in this argument
    Nest(usize),
    /// begins to do such things without calls of its own
    Queue,
    /// reads which entries a directory has, which is open under this number
    List(usize),
    /// makes, moves, removes, gives rights or times
    Write,
}

const fn of(number: i64, does: Does, at: usize) -> Call {
    Call { number, names: [Some((None, at)), None], does, nameless: None }
}

/// Of those whose first argument is a directory.
const fn at(number: i64, does: Does) -> Call {
    Call { number, names: [Some((Some(0), 1)), None], does, nameless: None }
}

const fn unless_nameless(call: Call, flags: usize) -> Call {
    Call { nameless: Some(flags), ..call }
}

const fn both(number: i64, one: (Option<usize>, usize), other: (Option<usize>, usize)) -> Call {
    Call { number, names: [Some(one), Some(other)], does: Does::Write, nameless: None }
}

/// Of Linux 6.6, by the number that it has everywhere.
const SYS_FCHMODAT2: i64 = 452;

/// Those that every processor has.
const ANYWHERE: [Call; 25] = [
    at(libc::SYS_openat, Does::Open(2)),
    at(libc::SYS_openat2, Does::OpenAs(2)),
    unless_nameless(at(libc::SYS_newfstatat, Does::Ask), 3),
    unless_nameless(at(libc::SYS_statx, Does::Ask), 2),
    at(libc::SYS_faccessat, Does::Ask),
    unless_nameless(at(libc::SYS_faccessat2, Does::Ask), 3),
    at(libc::SYS_readlinkat, Does::Ask),
    Call { number: libc::SYS_seccomp, names: [None, None], does: Does::Nest(1), nameless: None },
    Call { number: libc::SYS_io_uring_setup, names: [None, None], does: Does::Queue, nameless: None },
    Call { number: libc::SYS_getdents64, names: [None, None], does: Does::List(0), nameless: None },
    of(libc::SYS_execve, Does::Run, 0),
    unless_nameless(at(libc::SYS_execveat, Does::Run), 4),
    at(libc::SYS_unlinkat, Does::Write),
    at(libc::SYS_fchmodat, Does::Write),
    at(libc::SYS_fchownat, Does::Write),
    at(libc::SYS_utimensat, Does::Write),
    Call { number: libc::SYS_fchmod, names: [None, None], does: Does::Touch(0), nameless: None },
    Call { number: libc::SYS_fchown, names: [None, None], does: Does::Touch(0), nameless: None },
    at(SYS_FCHMODAT2, Does::Write),
    at(libc::SYS_mkdirat, Does::Write),
    at(libc::SYS_mknodat, Does::Write),
    both(libc::SYS_renameat, (Some(0), 1), (Some(2), 3)),
    both(libc::SYS_renameat2, (Some(0), 1), (Some(2), 3)),
    Call { number: libc::SYS_linkat, names: [Some((Some(2), 3)), None], does: Does::Write, nameless: None },
    Call {
        number: libc::SYS_symlinkat,
        names: [Some((Some(1), 2)), None],
        does: Does::Write,
        nameless: None,
    },
];

/// Their elders, which x86-64 has kept.
#[cfg(target_arch = "x86_64")]
const ELDERS: [Call; 19] = [
    of(libc::SYS_open, Does::Open(1), 0),
    of(libc::SYS_stat, Does::Ask, 0),
    of(libc::SYS_lstat, Does::Ask, 0),
    of(libc::SYS_access, Does::Ask, 0),
    of(libc::SYS_readlink, Does::Ask, 0),
    of(libc::SYS_creat, Does::Write, 0),
    of(libc::SYS_chmod, Does::Write, 0),
    of(libc::SYS_chown, Does::Write, 0),
    of(libc::SYS_lchown, Does::Write, 0),
    of(libc::SYS_utime, Does::Write, 0),
    of(libc::SYS_utimes, Does::Write, 0),
    at(libc::SYS_futimesat, Does::Write),
    of(libc::SYS_unlink, Does::Write, 0),
    of(libc::SYS_rmdir, Does::Write, 0),
    of(libc::SYS_mkdir, Does::Write, 0),
    of(libc::SYS_mknod, Does::Write, 0),
    both(libc::SYS_rename, (None, 0), (None, 1)),
    of(libc::SYS_link, Does::Write, 1),
    of(libc::SYS_symlink, Does::Write, 1),
];
#[cfg(not(target_arch = "x86_64"))]
const ELDERS: [Call; 0] = [];

pub(super) fn all() -> impl Iterator<Item = &'static Call> {
    ELDERS.iter().chain(&ANYWHERE)
}

pub(super) fn of_number(number: i32) -> Option<&'static Call> {
    all().find(|call| call.number == i64::from(number))
}
