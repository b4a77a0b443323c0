//! Appends events: each line is written whole, then fsynced, before anything follows from it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::event::{Event, Kind, VERSION};
use super::history::History;
use super::plain;
use super::reader::{JournalError, Requests, read_whole};
use super::seal;
use super::spare::Spare;
use crate::secrets;

/// How long the journal of one that was killed may take to be free.
const GIVEN_BACK: Duration = Duration::from_secs(2);

/// The one writer of a journal; the state directory's lock sees to that.
pub struct Writer {
    path: PathBuf,
    file: File,
    history: History,
    session: u32,
    began: Instant,
    /// when earlier invocations last wrote, by the wall clock
    last_word: Option<SystemTime>,
    /// another file has its place, and it is kept beside
    moved: bool,
    /// bytes that it has, as it was written here
    length: u64,
    /// when it was last written, as far as is known
    written: Option<SystemTime>,
    /// what somebody might take away, from the first event on; `None` where there is no room for it
    spare: Option<Spare>,
    has_begun: bool,
}

impl Writer {
    /// Opens a journal for appending; a torn last line is cut off first. `began` is when this invocation began.
    pub fn open(path: &Path, requests: Requests, began: Instant) -> Result<Self, JournalError> {
        let last_word = std::fs::metadata(path).and_then(|m| m.modified()).ok();
        let io_error = |source: io::Error| JournalError::Io { path: path.to_owned(), source };
        let file = plain::open(OpenOptions::new().create(true).append(true), path).map_err(io_error)?;
        // one that was just killed gives its files back one after another
        let asked = Instant::now();
        while matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            if asked.elapsed() > GIVEN_BACK {
                return Err(JournalError::Owned { path: path.to_owned() });
            }
            thread::sleep(Duration::from_millis(20));
        }
        let (mut history, whole) = read_whole(path, requests)?;
        history.for_next_session();
        if whole < file.metadata().map_err(io_error)?.len() {
            file.set_len(whole).map_err(io_error)?;
            file.sync_all().map_err(io_error)?;
        }
        if let Some(dir) = path.parent() {
            // the file's own entry must survive too
            File::open(dir).and_then(|d| d.sync_all()).map_err(io_error)?;
        }
        let session = history.last_session() + 1;
        Ok(Self {
            path: path.to_owned(),
            file,
            history,
            session,
            began,
            last_word,
            moved: false,
            length: whole,
            written: None,
            spare: None,
            has_begun: false,
        })
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    /// When the journal was last written before this invocation, by the wall clock; `None` where there was none.
    pub fn last_word(&self) -> Option<SystemTime> {
        self.last_word
    }

    /// Seconds since this invocation began.
    pub fn elapsed_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Writes one event; it is on disk when this returns.
    pub fn append(&mut self, kind: Kind) -> Result<(), JournalError> {
        let event = Event {
            v: VERSION,
            seq: self.history.last_seq() + 1,
            at: jiff::Timestamp::now().to_string(),
            session: self.session,
            session_s: self.elapsed_s(),
            kind,
        };
        if !std::mem::replace(&mut self.has_begun, true) {
            // without one a journal is written all the same
            self.spare = Spare::of(&self.path, self.length).ok();
            self.written = self.file.metadata().and_then(|m| m.modified()).ok();
        }
        let overwritten = self.keep_whole();
        self.write(&event).map_err(|source| self.io_error(source))?;
        self.history.push(event);
        overwritten?;
        self.keep_in_place()
    }

    /// Sees that the file holds what was written into it, and nothing else. If not, all of it is written anew beside: what somebody
    /// emptied or overwrote, or another program wrote into, is left to them.
    fn keep_whole(&mut self) -> Result<(), JournalError> {
        let found = self.file.metadata().map_err(|e| self.io_error(e))?;
        if found.len() == self.length && self.is_as_written(found.modified().ok()) {
            return Ok(());
        }
        let kept = self.path.with_extension("kept.jsonl");
        let Some(mut spare) = self.spare.take() else {
            self.length = found.len();
            return Err(JournalError::Overwritten { path: self.path.clone(), kept: None });
        };
        self.file = placed(&kept, |to| spare.copy_to(to)).map_err(|e| self.io_error(e))?;
        self.length = self.file.metadata().map_err(|e| self.io_error(e))?.len();
        (self.moved, self.spare) = (true, Some(spare));
        Err(JournalError::Overwritten { path: self.path.clone(), kept: Some(kept) })
    }

    /// Whether a journal of the right length holds what was written. One that nobody has written to since does; else its content decides,
    /// since some file systems have a time of their own.
    fn is_as_written(&mut self, modified: Option<SystemTime>) -> bool {
        if self.written == modified {
            return true;
        }
        let Some(spare) = &mut self.spare else { return true };
        let there = File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let same = there.and_then(|file| spare.is_in(&file));
        self.written = modified;
        same.unwrap_or(true)
    }

    /// Sees that the journal is where it was made. If it was removed, or another file stands there, it is written anew, and the
    /// error says where: nobody else would ever find what is in a file without a name.
    pub fn keep_in_place(&mut self) -> Result<(), JournalError> {
        self.keep_whole()?;
        let identity = |m: std::fs::Metadata| (m.dev(), m.ino());
        let ours = self.file.metadata().map_err(|e| self.io_error(e))?;
        let there = std::fs::metadata(&self.path).ok().map(identity);
        if there == Some(identity(ours)) || self.moved {
            return Ok(());
        }
        let kept = if there.is_some() { self.path.with_extension("kept.jsonl") } else { self.path.clone() };
        // a descriptor reaches a file that has no name any more
        let old = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let copy = |to: &mut File| io::copy(&mut File::open(&old)?, to).map(drop);
        self.file = placed(&kept, copy).map_err(|e| self.io_error(e))?;
        self.moved = there.is_some();
        Err(JournalError::Removed { path: self.path.clone(), kept })
    }

    fn io_error(&self, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), source }
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        let mut line = secrets::mask_json(serde_json::to_vec(event)?);
        seal::seal(&mut line);
        line.push(b'\n');
        let before = self.length;
        let mut written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if written.is_err() && self.spare.take().is_some() {
            // on a full disk its copy makes room
            let _ = self.file.set_len(before);
            written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        }
        if written.is_err() {
            // a half line would hide the whole ones that follow it
            let _ = self.file.set_len(before);
            return written;
        }
        self.length += line.len() as u64;
        self.written = self.file.metadata()?.modified().ok();
        if self.spare.as_mut().is_some_and(|spare| spare.add(&line).is_err()) {
            self.spare = None;
        }
        Ok(())
    }
}

/// A file that is written as a whole, and then stands under its name.
fn placed(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<File> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let beside = path.with_extension("new");
    write(&mut File::create(&beside)?)?;
    let file = OpenOptions::new().append(true).open(&beside)?;
    file.sync_all()?;
    std::fs::rename(beside, path)?;
    // nobody else knows of it yet
    let _ = file.try_lock();
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::super::reader::read;
    use super::*;

    fn end() -> Kind {
        Kind::End { complete: true }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_the_rest_kept() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("journal.jsonl");
        let mut w = Writer::open(&path, Requests::Kept, Instant::now()).expect("opens");
        w.append(end()).expect("writes");
        drop(w);
        let mut text = std::fs::read(&path).expect("reads");
        text.extend_from_slice(b"{\"v\":1,\"seq\":2,\"at");
        std::fs::write(&path, &text).expect("writes");
        assert_eq!(read(&path, Requests::Kept).expect("tolerated").last_seq(), 1);
        let mut w = Writer::open(&path, Requests::Kept, Instant::now()).expect("opens");
        w.append(end()).expect("writes");
        assert_eq!(read(&path, Requests::Kept).expect("whole").last_seq(), 2);
    }

    #[test]
    fn a_journal_that_is_removed_or_replaced_is_written_anew() {
        let dir = tempfile::tempdir().expect("temp dir");
        let state = dir.path().join("state");
        let path = state.join("journal.jsonl");
        std::fs::create_dir(&state).expect("a directory");
        let mut w = Writer::open(&path, Requests::Kept, Instant::now()).expect("opens");
        w.append(end()).expect("writes");
        std::fs::remove_dir_all(&state).expect("removed");
        let removed = w.append(end());
        assert!(matches!(&removed, Err(JournalError::Removed { kept, .. }) if *kept == path), "{removed:?}");
        w.append(end()).expect("writes where it is now");
        assert_eq!(read(&path, Requests::Kept).expect("whole").last_seq(), 3);

        std::fs::rename(&path, state.join("old")).expect("moved");
        std::fs::write(&path, "another's\n").expect("writes");
        let Err(JournalError::Removed { kept, .. }) = w.append(end()) else { panic!("it was replaced") };
        assert_eq!(kept, state.join("journal.kept.jsonl"));
        w.append(end()).expect("writes where it is now");
        assert_eq!(read(&kept, Requests::Kept).expect("whole").last_seq(), 5);
        assert_eq!(std::fs::read_to_string(&path).expect("reads"), "another's\n");
    }

    #[test]
    fn a_journal_that_is_emptied_or_written_to_in_its_place_is_written_anew_beside() {
        type Edit = fn(&[u8]) -> Vec<u8>;
        let edits: [Edit; 4] = [
            // as long as it was
            |whole| whole.iter().map(|b| if *b == b'1' { b'7' } else { *b }).collect(),
            |_| Vec::new(),
            |whole| whole[..whole.len() / 2].to_vec(),
            |whole| [whole, b"junk\n".as_slice()].concat(),
        ];
        for edit in edits {
            let dir = tempfile::tempdir().expect("temp dir");
            let (path, kept) = (dir.path().join("journal.jsonl"), dir.path().join("journal.kept.jsonl"));
            let mut w = Writer::open(&path, Requests::Kept, Instant::now()).expect("opens");
            w.append(end()).expect("writes");
            drop(w);
            // of an earlier invocation too
            let mut w = Writer::open(&path, Requests::Kept, Instant::now()).expect("opens");
            w.append(end()).expect("writes");
            let theirs = edit(&std::fs::read(&path).expect("reads"));
            std::fs::write(&path, &theirs).expect("writes");
            let told = w.append(end()).expect_err("it is not as it was").to_string();
            assert!(
                told.contains("was written by somebody else") && told.contains("journal.kept.jsonl"),
                "{told}"
            );
            w.append(end()).expect("writes where it is now");
            assert_eq!(read(&kept, Requests::Kept).expect("whole").last_seq(), 4);
            assert_eq!(std::fs::read(&path).expect("reads"), theirs);
            let names = std::fs::read_dir(dir.path()).expect("reads").count();
            assert_eq!(names, 2, "the copy has no name");
        }
    }

    #[test]
    fn a_journal_has_one_writer() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("journal.jsonl");
        let first = Writer::open(&path, Requests::Kept, Instant::now()).expect("opens");
        let second = Writer::open(&path, Requests::Kept, Instant::now()).map(drop);
        assert!(matches!(second, Err(JournalError::Owned { .. })), "{second:?}");
        // of one that is just being killed it is free a moment later
        let freed = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(first);
        });
        Writer::open(&path, Requests::Kept, Instant::now()).expect("opens");
        freed.join().expect("freed");
    }

    #[test]
    fn a_journal_cut_at_any_byte_keeps_its_whole_lines_and_goes_on() {
        let dir = tempfile::tempdir().expect("temp dir");
        let (path, cut_path) = (dir.path().join("journal.jsonl"), dir.path().join("cut.jsonl"));
        let mut w = Writer::open(&path, Requests::Kept, Instant::now()).expect("opens");
        let (launch, class, line) =
            ("L001".to_owned(), "port in use".to_owned(), "schön \"besetzt\"".to_owned());
        w.append(Kind::Setback { launch: launch.clone(), class, line }).expect("writes");
        w.append(Kind::Lost { launch, after_s: 1.5, gpus: 1 }).expect("writes");
        w.append(end()).expect("writes");
        let whole = std::fs::read(&path).expect("reads");
        for cut in 0..=whole.len() {
            std::fs::write(&cut_path, &whole[..cut]).expect("writes");
            let lines = whole[..cut].split(|b| *b == b'\n').count() as u64 - 1;
            assert_eq!(read(&cut_path, Requests::Kept).expect("tolerated").last_seq(), lines, "cut at {cut}");
            let mut w = Writer::open(&cut_path, Requests::Kept, Instant::now()).expect("opens");
            w.append(end()).expect("writes");
            assert_eq!(read(&cut_path, Requests::Kept).expect("whole").last_seq(), lines + 1, "cut at {cut}");
        }
    }

    #[test]
    fn a_broken_line_in_the_middle_and_a_newer_version_are_refused() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("journal.jsonl");
        std::fs::write(&path, "nonsense\n").expect("writes");
        assert!(matches!(read(&path, Requests::Kept), Err(JournalError::Corrupt { line: 1, .. })));
        std::fs::write(&path, format!("{{\"v\":{}}}\n", VERSION + 1)).expect("writes");
        let newer = u64::from(VERSION) + 1;
        assert!(
            matches!(read(&path, Requests::Kept), Err(JournalError::Newer { found, .. }) if found == newer)
        );
    }
}
