//! The filter that an engine is started under: of its system calls those that look for names wait for the guard, and no other one is
//! touched. It lasts as long as the engine's processes and passes to all that they start.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::libc::{self, c_ulong, seccomp_data, sock_filter, sock_fprog};

use super::call;

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCH: u32 = 0;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Made before the engine's process is there, in which nothing may be allocated.
pub(in super::super) struct Filter {
    program: Vec<sock_filter>,
}

impl Filter {
    pub fn new() -> Self {
        Self { program: program() }
    }

    /// Puts the calling process under it and sends the descriptor over which the kernel asks. Makes system calls only. Where it would cost
    /// an engine rights that it may have (`sudo` within a start script), nothing is done.
    pub fn install(&self, to: BorrowedFd<'_>) -> io::Result<()> {
        let asks = self.listener()?;
        send(to, asks)?;
        // closed when the program begins, as all that is opened so
        Ok(())
    }

    fn listener(&self) -> io::Result<RawFd> {
        let (plain, quick) =
            (libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW, 1 << 5);
        // whoever is waited for is woken by a kill alone, where the kernel can do that (5.19)
        match self.set(plain | quick) {
            Err(Errno::EINVAL) => Ok(self.set(plain)?),
            // somebody without privileges may not, unless no program that it starts can gain any. An administrator's has them all
            Err(Errno::EACCES) if nix::unistd::geteuid().is_root() => {
                nix::sys::prctl::set_no_new_privs()?;
                Ok(self.set(plain | quick).or_else(|_| self.set(plain))?)
            }
            other => Ok(other?),
        }
    }

    fn set(&self, flags: c_ulong) -> nix::Result<RawFd> {
        let of = sock_fprog { len: self.program.len() as u16, filter: self.program.as_ptr().cast_mut() };
        // SAFETY: the kernel reads the program and keeps nothing of it.
        let fd = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(&of))
        };
        Errno::result(fd).map(|fd| fd as RawFd)
    }
}

/// `openat`, `stat` and the like wait for the guard, all others go on at once.
fn program() -> Vec<sock_filter> {
    let statement = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let number = offset_of!(seccomp_data, nr) as u32;
    let mut all = vec![
        statement(LOAD, offset_of!(seccomp_data, arch) as u32),
        // of a program for another processor no call is known
        sock_filter { code: IF_EQUAL as u16, jt: 1, jf: 0, k: ARCH },
        statement(RETURN, libc::SECCOMP_RET_ALLOW),
        statement(LOAD, number),
    ];
    for call in call::all() {
        let mut asks = Vec::new();
        if let Some(at) = call.nameless {
            asks.extend([
                statement(LOAD, (offset_of!(seccomp_data, args) + 8 * at) as u32),
                sock_filter { code: IF_ANY_BIT as u16, jt: 0, jf: 1, k: libc::AT_EMPTY_PATH as u32 },
                statement(RETURN, libc::SECCOMP_RET_ALLOW),
            ]);
        }
        asks.push(statement(RETURN, libc::SECCOMP_RET_USER_NOTIF));
        let past = asks.len() as u8;
        all.push(sock_filter { code: IF_EQUAL as u16, jt: 0, jf: past, k: call.number as u32 });
        all.extend(asks);
    }
    all.push(statement(RETURN, libc::SECCOMP_RET_ALLOW));
    all
}

/// As `sendmsg` with `SCM_RIGHTS`, and nothing allocated.
fn send(to: BorrowedFd<'_>, what: RawFd) -> io::Result<()> {
    #[repr(C)]
    struct Rights {
        head: libc::cmsghdr,
        fd: RawFd,
        _pad: u32,
    }
    let mut byte = 0_u8;
    let mut text = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: plain data, of which all zeros is a value
    let (mut rights, mut message): (Rights, libc::msghdr) = unsafe { std::mem::zeroed() };
    // SAFETY: only computes
    let (length, space) = unsafe { (libc::CMSG_LEN(4), libc::CMSG_SPACE(4)) };
    rights.head.cmsg_len = length as _;
    rights.head.cmsg_level = libc::SOL_SOCKET;
    rights.head.cmsg_type = libc::SCM_RIGHTS;
    rights.fd = what;
    message.msg_iov = &raw mut text;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut rights).cast();
    message.msg_controllen = space as _;
    // SAFETY: all that the message points to lives until the call returns
    Errno::result(unsafe { libc::sendmsg(to.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) })?;
    Ok(())
}

/// The descriptor that was sent; an error where nothing was.
pub(super) fn receive(from: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;

    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
    let mut byte = [0_u8; 1];
    let mut text = [io::IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!([RawFd; 1]);
    let message = recvmsg::<()>(from.as_raw_fd(), &mut text, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
    let sent = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
        _ => None,
    });
    // SAFETY: it was just received, and nobody else knows of it
    sent.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
