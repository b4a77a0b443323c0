//! A second copy of a journal while it is written, in a file without a name: whoever empties or overwrites the journal in its place
//! takes nothing away. It costs no sync, and is gone with the process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// A copy that is written along.
#[derive(Debug)]
pub struct Spare(File);

impl Spare {
    /// Of the first `length` bytes of a file in the same directory.
    pub fn of(path: &Path, length: u64) -> io::Result<Self> {
        let mut copy = nameless(path.parent().unwrap_or(Path::new(".")))?;
        let from = File::open(path)?;
        let copied = io::copy(&mut io::Read::take(from, length), &mut copy)?;
        if copied == length { Ok(Self(copy)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    pub fn add(&mut self, line: &[u8]) -> io::Result<()> {
        self.0.write_all(line)
    }

    /// Whether a file holds the same.
    pub fn is_in(&mut self, file: &File) -> io::Result<bool> {
        self.0.seek(SeekFrom::Start(0))?;
        let (mut own, mut other) = (BufReader::new(&self.0), BufReader::new(file));
        let same = loop {
            let (a, b) = (own.fill_buf()?, other.fill_buf()?);
            let both = a.len().min(b.len());
            if a[..both] != b[..both] || both == 0 {
                break a.is_empty() && b.is_empty();
            }
            own.consume(both);
            other.consume(both);
        };
        self.0.seek(SeekFrom::End(0))?;
        Ok(same)
    }

    /// Writes all of it to a file.
    pub fn copy_to(&mut self, to: &mut File) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.0, to).map(drop)
    }
}

fn nameless(dir: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    if let Ok(file) = options.clone().custom_flags(nix::libc::O_TMPFILE).open(dir) {
        return Ok(file);
    }
    // not all file systems have it
    let path = dir.join(format!(".journal.spare.{}", std::process::id()));
    let file = options.create(true).truncate(true).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}
