//! Which file a process means by a name: the text in its memory, and the directory that it is relative to.

use std::ffi::OsString;
use std::fs;
use std::io::IoSliceMut;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::libc;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// Memory is read up to the end of a page: the next one may be none.
const PAGE: usize = 4096;

/// The text at an address of a process; `None`: none is there. The error says that it may not be read.
pub(super) fn text(pid: u32, address: u64) -> Result<Option<OsString>, Errno> {
    let (mut text, mut from, of) = (Vec::new(), address as usize, Pid::from_raw(pid as i32));
    let mut page = [0_u8; PAGE];
    while text.len() < libc::PATH_MAX as usize {
        let length = PAGE - from % PAGE;
        let remote = [RemoteIoVec { base: from, len: length }];
        let read = match process_vm_readv(of, &mut [IoSliceMut::new(&mut page)], &remote) {
            Ok(read) => read,
            Err(e @ Errno::EPERM) => return Err(e),
            // the kernel will find nothing there either, or the process is gone
            Err(_) => return Ok(None),
        };
        let end = page[..read].iter().position(|byte| *byte == 0);
        text.extend(&page[..end.unwrap_or(read)]);
        if end.is_some() || read < length {
            break;
        }
        from += read;
    }
    Ok((!text.is_empty()).then(|| OsString::from_vec(text)))
}

/// The number at an address of a process.
pub(super) fn number(pid: u32, address: u64) -> Option<u64> {
    let mut bytes = [0_u8; 8];
    let remote = [RemoteIoVec { base: address as usize, len: bytes.len() }];
    let read =
        process_vm_readv(Pid::from_raw(pid as i32), &mut [IoSliceMut::new(&mut bytes)], &remote).ok()?;
    (read == bytes.len()).then(|| u64::from_ne_bytes(bytes))
}

/// What a process has open under a number.
pub(super) fn open(pid: u32, fd: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()
}

/// Whether it is Python, by the program that runs: scripts go by names of their own.
pub(super) fn is_python(pid: u32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok();
    let name = program.as_ref().and_then(|program| program.file_name());
    name.is_some_and(|name| name.as_encoded_bytes().starts_with(b"python"))
}

/// Whether names stand for the same files there as here.
pub(super) fn is_of_this_root(pid: u32) -> bool {
    fs::read_link(format!("/proc/{pid}/root")).is_ok_and(|root| root == Path::new("/"))
}

/// Where a name leads, as it stands, from the directory that it is relative to.
pub(super) fn resolved(pid: u32, dir: Option<i32>, name: &Path) -> Option<PathBuf> {
    let path = if name.is_absolute() {
        name.to_owned()
    } else {
        let dir = dir.filter(|dir| *dir != libc::AT_FDCWD);
        let link = dir.map_or_else(|| format!("/proc/{pid}/cwd"), |fd| format!("/proc/{pid}/fd/{fd}"));
        fs::read_link(link).ok()?.join(name)
    };
    Some(path)
}

/// Whether it is known without a look at the files where it leads.
pub(super) fn is_plain(path: &Path) -> bool {
    !path.components().any(|part| part == Component::ParentDir)
}

/// Without `.` and `..`.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                // what stands behind a link is beside what it leads to
                if plain.is_symlink() {
                    plain = plain.canonicalize().unwrap_or(plain);
                }
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_memory_and_from_where_they_are_relative_to() {
        let own = std::process::id();
        let long = format!("{}\0rest", "a/".repeat(PAGE / 4));
        let at = long.as_ptr() as u64;
        assert_eq!(text(own, at), Ok(Some(OsString::from(&long[..PAGE / 2]))));
        assert_eq!(text(own, 8), Ok(None), "no memory is there");
        let here = std::env::current_dir().expect("a directory");
        assert_eq!(resolved(own, None, Path::new("./x/../y")).map(|path| plain(&path)), Some(here.join("y")));
        assert_eq!(resolved(own, Some(libc::AT_FDCWD), Path::new("/x")), Some("/x".into()));
        let dir = fs::File::open("/usr").expect("there");
        let fd = std::os::fd::AsRawFd::as_raw_fd(&dir);
        assert_eq!(resolved(own, Some(fd), Path::new("x")), Some("/usr/x".into()));
        assert_eq!(open(own, fd), Some("/usr".into()));
    }
}
