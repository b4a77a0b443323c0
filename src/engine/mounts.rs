//! Removing directories that others may have mounted something into: what lies behind a mount is somebody's, and is not removed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Removes a directory and all that is in it. With something mounted in it, or where that cannot be told, nothing of it.
pub(super) fn remove_tree(directory: &Path) -> io::Result<()> {
    match mount_in(directory)? {
        Some(mount) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("{} is mounted", mount.display())))
        }
        None => fs::remove_dir_all(directory),
    }
}

/// A place in a directory, or the directory itself, where something is mounted.
pub(super) fn mount_in(directory: &Path) -> io::Result<Option<PathBuf>> {
    let directory = fs::canonicalize(directory)?;
    let table = fs::read("/proc/self/mountinfo")?;
    Ok(mount_points(&table).find(|mount| mount.starts_with(&directory)))
}

/// The fifth field of each line of `/proc/PID/mountinfo`, in which blanks and the like are octal.
fn mount_points(table: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = table.split(|b| *b == b'\n');
    lines.filter_map(|line| line.split(|b| *b == b' ').nth(4)).map(|field| PathBuf::from(unescaped(field)))
}

fn unescaped(field: &[u8]) -> OsString {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|digits| digits.iter().all(|d| (b'0'..b'8').contains(d)));
        if let (b'\\', Some(digits)) = (first, digits) {
            out.push(digits.iter().fold(0_u8, |n, d| n.wrapping_mul(8).wrapping_add(d - b'0')));
            rest = &after[3..];
        } else {
            out.push(*first);
            rest = after;
        }
    }
    OsString::from_vec(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_as_the_kernel_writes_them() {
        let table = b"22 1 0:20 / /proc rw - proc proc rw\n35 22 8:1 /a /tmp/with\\040a\\134blank rw shared:1 - ext4 /dev/sda rw\n";
        let read: Vec<PathBuf> = mount_points(table).collect();
        assert_eq!(read, [Path::new("/proc"), Path::new("/tmp/with a\\blank")]);
    }

    #[test]
    fn a_directory_without_mounts_goes_and_one_with_them_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let inner = directory.path().join("inner");
        fs::create_dir_all(inner.join("deep")).expect("made");
        assert_eq!(mount_in(&inner).expect("read"), None);
        remove_tree(&inner).expect("removed");
        assert!(!inner.exists());
        assert_eq!(mount_in(Path::new("/")).expect("read").map(|m| m.is_absolute()), Some(true));
        assert!(remove_tree(Path::new("/proc")).is_err());
    }
}
