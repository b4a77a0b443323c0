//! Reads a journal line by line: ten thousand trials take no more memory than what is kept of them.

use std::fs::OpenOptions;
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::{memchr, memmem};
use serde::Deserialize;
use thiserror::Error;

use super::event::{Event, SEALED, VERSION};
use super::history::{History, Recent};
use super::lean;
use super::lines::Lines;
use super::plain;
use super::seal::{self, Seal};

/// Why a journal cannot be read.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}, line {line}: {why}")]
    Corrupt { path: PathBuf, line: usize, why: String },
    /// somebody removed or replaced it under its writer; nothing of it is lost
    #[error("{path} was removed while the study ran; the journal was written anew to {kept}", kept = kept.display())]
    Removed { path: PathBuf, kept: PathBuf },
    /// somebody emptied it, put another text into it or wrote to it under its writer
    #[error("{path} was written by somebody else while the study ran; {}", kept_as(.kept.as_deref()))]
    Overwritten { path: PathBuf, kept: Option<PathBuf> },
    #[error("another perflab writes {path}, though the lock beside it is free: somebody removed that")]
    Owned { path: PathBuf },
    #[error(
        "{path}, line {line}: written by a newer perflab (journal version {found}, this one reads {VERSION})"
    )]
    Newer { path: PathBuf, line: usize, found: u64 },
}

fn kept_as(kept: Option<&Path>) -> String {
    let kept = kept.map(|path| format!("the journal was written anew to {}", path.display()));
    kept.unwrap_or_else(|| "there was no room to keep a copy of what it held".to_owned())
}

/// Whether the times of every single request are kept: only `goodput` asks for them, and they are most of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requests {
    Kept,
    LeftOut,
}

/// Reads a journal; a file that is not there is an empty one, and a torn last line is ignored.
pub fn read(path: &Path, requests: Requests) -> Result<History, JournalError> {
    read_whole(path, requests).map(|(history, _)| history)
}

/// Reads a journal, and says how many bytes of the file are whole lines.
pub(super) fn read_whole(path: &Path, requests: Requests) -> Result<(History, u64), JournalError> {
    let (mut history, mut recent) = (History::default(), Recent::default());
    let mut tail = Tail::new(path, requests);
    tail.follow(|tail, text, seal| {
        if seal == Seal::Whole
            && let Some(line) = lean::line(text)
            && let Ok(made) = history.made(&line, &mut recent)
        {
            tail.comes_next(line.v, line.seq)?;
            return history.take(line, made).map_err(|why| tail.corrupt(why));
        }
        let event = tail.event(text, seal)?;
        if let Some(why) = history.contradiction(&event) {
            return Err(tail.corrupt(why));
        }
        history.push(event);
        Ok(())
    })?;
    history.shrink();
    Ok((history, tail.offset))
}

/// Follows a journal that may still be written.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    requests: Requests,
    offset: u64,
    line: usize,
    seq: u64,
    /// of the line before: a newer perflab may go on with an older one's file, and never the other way
    version: u32,
}

impl Tail {
    /// From the first line on.
    pub fn new(path: &Path, requests: Requests) -> Self {
        Self { path: path.to_owned(), requests, offset: 0, line: 0, seq: 0, version: 0 }
    }

    /// Every whole line since the last time. What follows the last line end is being written, or was when its writer died.
    pub fn read(&mut self, mut hear: impl FnMut(Event)) -> Result<(), JournalError> {
        self.follow(|tail, text, seal| {
            hear(tail.event(text, seal)?);
            Ok(())
        })
    }

    /// The text of every line since the last time, and what its seal tells. What is broken is an error at once.
    fn follow(
        &mut self,
        mut take: impl FnMut(&mut Self, &[u8], Seal) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let mut file = match plain::open(OpenOptions::new().read(true), &self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(self.io_error(e)),
        };
        file.seek(SeekFrom::Start(self.offset)).map_err(|e| self.io_error(e))?;
        let mut lines = Lines::of(file);
        while let Some(line) = lines.next().map_err(|e| self.io_error(e))? {
            let length = line.len() as u64 + 1;
            self.line += 1;
            if !line.is_empty() {
                let seal = seal::check(line);
                if seal == Seal::Broken {
                    return Err(
                        self.corrupt("it is not as it was written: its checksum does not fit".to_owned())
                    );
                }
                let whole = line.len();
                let length =
                    if self.requests == Requests::LeftOut { leave_out_requests(line) } else { whole };
                take(self, &line[..length], seal)?;
            }
            self.offset += length;
        }
        Ok(())
    }

    fn io_error(&self, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), source }
    }

    fn corrupt(&self, why: String) -> JournalError {
        JournalError::Corrupt { path: self.path.clone(), line: self.line, why }
    }

    fn event(&mut self, line: &[u8], seal: Seal) -> Result<Event, JournalError> {
        let event = parse(line, &self.path, self.line)?;
        if seal == Seal::Missing && event.v >= SEALED {
            return Err(self.corrupt("it is not as it was written: it has no checksum".to_owned()));
        }
        self.comes_next(event.v, event.seq)?;
        Ok(event)
    }

    /// Sees that a line may follow on the one before.
    fn comes_next(&mut self, version: u32, seq: u64) -> Result<(), JournalError> {
        if version < self.version {
            return Err(self.corrupt(format!(
                "it is of version {version}, and follows a line of version {}: no perflab writes that",
                self.version
            )));
        }
        self.version = version;
        if seq != self.seq + 1 {
            let why = format!("event {seq} follows event {}: lines are missing or out of order", self.seq);
            return Err(self.corrupt(why));
        }
        self.seq = seq;
        Ok(())
    }
}

/// Cuts the requests' times out of a line before it is parsed, which is most of the work. Inside a text of JSON a quote has a
/// backslash before it, so the words below can only be a key; its object holds lists of numbers, and ends at the next brace. How long
/// the line is then.
fn leave_out_requests(line: &mut [u8]) -> usize {
    const KEY: &[u8] = b",\"requests\":{";
    let Some(from) = memmem::find(line, KEY) else { return line.len() };
    let Some(length) = memchr(b'}', &line[from..]) else { return line.len() };
    line.copy_within(from + length + 1.., from);
    line.len() - length - 1
}

fn parse(bytes: &[u8], path: &Path, line: usize) -> Result<Event, JournalError> {
    /// What every version's line begins with.
    #[derive(Deserialize)]
    struct Any {
        v: u64,
    }
    let corrupt = |why: String| JournalError::Corrupt { path: path.to_owned(), line, why };
    let strange = |e: serde_json::Error| corrupt(format!("this is not a journal line ({e})"));
    match serde_json::from_slice::<Event>(bytes) {
        Ok(event) if event.v <= VERSION => Ok(event),
        // only what does not fit is looked at twice: a newer version may differ in everything else
        read => match serde_json::from_slice::<Any>(bytes) {
            Ok(Any { v: found }) if found > u64::from(VERSION) => {
                Err(JournalError::Newer { path: path.to_owned(), line, found })
            }
            Ok(_) => read.map_err(strange),
            Err(e) => Err(strange(e)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rise_and_never_fall() {
        let end = |v: u32, seq: u32| {
            let at = "2026-01-01T00:00:00Z";
            let text = format!(
                r#"{{"v":{v},"seq":{seq},"at":"{at}","session":1,"session_s":0.0,"kind":{{"end":{{"complete":true}}}}}}"#
            );
            let mut line = text.into_bytes();
            if v >= SEALED {
                seal::seal(&mut line);
            }
            line.push(b'\n');
            line
        };
        let read = |lines: &[Vec<u8>]| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), lines.concat()).expect("written");
            super::read(file.path(), Requests::Kept).map(|h| h.last_seq()).map_err(|e| e.to_string())
        };
        // begun by an older version, continued by this one
        assert_eq!(read(&[end(1, 1), end(4, 2), end(5, 3)]), Ok(3));
        let refused = read(&[end(4, 1), end(5, 2), end(4, 3)]).expect_err("it falls");
        assert!(refused.ends_with(
            "line 3: it is of version 4, and follows a line of version 5: no perflab writes that"
        ));
        assert!(read(&[end(2, 1), end(1, 2)]).is_err());
    }

    #[test]
    fn requests_are_cut_out_of_a_line_and_nothing_else() {
        let cut = |text: &str| {
            let mut line = text.as_bytes().to_vec();
            let length = leave_out_requests(&mut line);
            line.truncate(length);
            String::from_utf8(line).expect("text")
        };
        let line = r#"{"numbers":{"a":1},"requests":{"ttft_us":[1,null],"tpot_us":[]},"notes":["x"]}"#;
        assert_eq!(cut(line), r#"{"numbers":{"a":1},"notes":["x"]}"#);
        let text = r#"{"notes":["he said ,\"requests\":{ and }"]}"#;
        assert_eq!(cut(text), text);
    }
}
