//! Opening what has to be a plain file. A pipe in its place would be waited for until somebody writes into it, and a device has no end.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Opens a file as `options` say; anything else in its place is an error at once.
pub fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(nix::libc::O_NONBLOCK).open(path).map_err(|e| {
        match std::fs::metadata(path) {
            // a pipe that nobody reads, and a directory, are not opened for writing at all
            Ok(m) if !m.is_file() => no_file(m.file_type()),
            _ => e,
        }
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    Err(no_file(kind))
}

fn no_file(kind: FileType) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {}, and no file", named(kind)))
}

fn named(kind: FileType) -> &'static str {
    match kind {
        k if k.is_dir() => "a directory",
        k if k.is_fifo() => "a named pipe",
        k if k.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn what_is_no_file_is_said_at_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal.jsonl");
        let why = |path: &Path| open(OpenOptions::new().read(true), path).err().map(|e| e.to_string());
        std::fs::write(&path, "x").expect("written");
        assert_eq!(why(&path), None);
        std::fs::remove_file(&path).expect("removed");
        mkfifo(&path, Mode::S_IRWXU).expect("a pipe");
        assert_eq!(why(&path).as_deref(), Some("it is a named pipe, and no file"));
        let written = open(OpenOptions::new().read(true).write(true), &path).err();
        assert_eq!(written.map(|e| e.to_string()).as_deref(), Some("it is a named pipe, and no file"));
        let appended = open(OpenOptions::new().append(true), &path).err();
        assert_eq!(appended.map(|e| e.to_string()).as_deref(), Some("it is a named pipe, and no file"));
        assert_eq!(why(dir.path()).as_deref(), Some("it is a directory, and no file"));
        assert_eq!(why(Path::new("/dev/zero")).as_deref(), Some("it is a device, and no file"));
    }
}
