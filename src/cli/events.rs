//! The event stream as JSON lines, for `--events`: what happens, as it happens, under a version of its own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::builder::{PathBufValueParser, TypedValueParser};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc::{ENXIO, O_NOCTTY, O_NONBLOCK};

use serde_json::{Map, Value as Json};

use crate::run::Event;
use crate::secrets;

/// The version of a line. Fields and events may be added within it; none changes its meaning.
const VERSION: u32 = 1;

/// So many lines wait for a reader that is behind. What comes beyond them is not written, and numbers are missing.
const WAITING: usize = 4096;
/// So long a reader that is behind, or yet to come, is waited for at the end.
const LAST: Duration = Duration::from_secs(1);
/// Between two looks at whether somebody reads a pipe.
const LOOK: Duration = Duration::from_millis(20);

/// The word of `--events`. Elsewhere `-` means standard output, where the report already goes: two documents would be mixed there.
pub fn parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path.as_os_str() == "-" {
            return Err("standard output holds the report; name a file or a pipe (in bash `--events >(jq .event)`), or `./-` for a \
                        file that is called so");
        }
        Ok(path)
    })
}

/// The events file. Its writing is never a reason for a study to stop.
pub struct EventsFile {
    to: To,
    began: Instant,
    seq: u64,
}

impl EventsFile {
    /// Begins a file; what it held is gone. The error is a sentence.
    pub fn create(path: &Path) -> Result<Self, String> {
        let to = To::open(path)
            .map_err(|e| format!("the events file {} cannot be written: {e}", path.display()))?;
        Ok(Self { to, began: Instant::now(), seq: 0 })
    }

    /// Appends one event as one line, written at once.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        self.seq += 1;
        let mut line = Map::new();
        line.insert("v".to_owned(), VERSION.into());
        line.insert("seq".to_owned(), self.seq.into());
        line.insert("at".to_owned(), jiff::Timestamp::now().to_string().into());
        line.insert("t_s".to_owned(), self.began.elapsed().as_secs_f64().into());
        if let Json::Object(own) = serde_json::to_value(event)? {
            line.extend(own);
        }
        let mut text = secrets::mask_json(serde_json::to_vec(&line)?);
        text.push(b'\n');
        match &mut self.to {
            To::File(file) => file.write_all(&text),
            To::Reader(reader) => reader.take(text),
        }
    }

    /// Ends it. The error is why some of what was taken is not written.
    pub fn end(self) -> io::Result<()> {
        match self.to {
            To::File(_) => Ok(()),
            To::Reader(reader) => reader.end(),
        }
    }
}

/// Where lines go.
enum To {
    /// takes what is written, or fails
    File(File),
    /// may take nothing for as long as it likes
    Reader(Reader),
}

impl To {
    fn open(path: &Path) -> io::Result<Self> {
        let Some(kind) = fs::metadata(path).ok().map(|m| m.file_type()).filter(|kind| !kind.is_file()) else {
            return File::create(path).map(Self::File);
        };
        let opened = if kind.is_fifo() {
            pipe(path)?
        } else {
            Some(OpenOptions::new().write(true).custom_flags(O_NOCTTY).open(path)?)
        };
        let path = path.to_owned();
        Reader::new(move || opened.map_or_else(|| once_read(&path), Ok)).map(Self::Reader)
    }
}

/// A named pipe; `None` where nobody reads it yet. To read it ourselves would spare the wait, and hide from us that its reader leaves.
fn pipe(path: &Path) -> io::Result<Option<File>> {
    let opened = OpenOptions::new().write(true).custom_flags(O_NOCTTY | O_NONBLOCK).open(path);
    let file = match opened {
        Err(e) if e.raw_os_error() == Some(ENXIO) => return Ok(None),
        opened => opened?,
    };
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
    Ok(Some(file))
}

fn once_read(path: &Path) -> io::Result<File> {
    loop {
        if let Some(file) = pipe(path)? {
            return Ok(file);
        }
        std::thread::sleep(LOOK);
    }
}

/// A pipe, a terminal or a device, written by a thread of its own: whoever does not read it holds up that thread alone.
struct Reader {
    lines: Option<SyncSender<Vec<u8>>>,
    /// why it took no more
    failed: Arc<OnceLock<io::Error>>,
    /// closed once everything is written
    ended: Receiver<()>,
}

impl Reader {
    fn new(open: impl FnOnce() -> io::Result<File> + Send + 'static) -> io::Result<Self> {
        let (lines, waiting) = sync_channel::<Vec<u8>>(WAITING);
        let (end, ended) = sync_channel(0);
        let failed = Arc::new(OnceLock::new());
        let why = failed.clone();
        std::thread::Builder::new().name("events".to_owned()).spawn(move || {
            let _end = end;
            let written =
                open().and_then(|mut file| waiting.iter().try_for_each(|line| file.write_all(&line)));
            if let Err(e) = written {
                let _ = why.set(e);
            }
        })?;
        Ok(Self { lines: Some(lines), failed, ended })
    }

    /// A line for which there is no room is left out; one that nobody will ever read is an error.
    fn take(&self, line: Vec<u8>) -> io::Result<()> {
        match self.lines.as_ref().map(|lines| lines.try_send(line)) {
            Some(Err(TrySendError::Disconnected(_))) => {
                Err(self.failure().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()))
            }
            _ => Ok(()),
        }
    }

    fn failure(&self) -> Option<io::Error> {
        let e = self.failed.get()?;
        Some(e.raw_os_error().map_or_else(|| e.kind().into(), io::Error::from_raw_os_error))
    }

    fn end(mut self) -> io::Result<()> {
        drop(self.lines.take());
        let _ = self.ended.recv_timeout(LAST);
        self.failure().map_or(Ok(()), Err)
    }
}
