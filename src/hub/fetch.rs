//! Fetches one file: into a part beside its place, going on where an earlier attempt broke off, checked before it is put in place.

use std::fs::{self, File as Disk, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use ureq::Body;
use ureq::http::Response;

use super::api::{Api, File};
use super::cache::Place;
use super::error::HubError;
use super::resolve::Phase;
use crate::disk::{Feed, hex};

/// A file that breaks off is asked for so often without this much more: a hub that sends a few bytes and hangs up never ends.
const ATTEMPTS: u32 = 4;
const COMES_ON: u64 = 1 << 20;
/// A hub that sends nothing for so long has stalled.
const SILENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(500);

/// Fetches a file of a commit. `hear` hears of every piece, and of each time that it is asked for again.
pub(super) fn fetch(
    api: &Api,
    place: &Place,
    (name, commit): (&str, &str),
    file: &File,
    hear: &mut dyn FnMut(Phase),
) -> Result<(), HubError> {
    let Some(etag) = file.etag() else {
        let what = format!("no hash of {}", file.name);
        return Err(HubError::Strange { name: name.to_owned(), endpoint: api.endpoint.clone(), what });
    };
    let blob = place.blob(etag);
    let here = fs::metadata(&blob).is_ok_and(|m| file.bytes().is_none_or(|s| s == m.len()));
    if !here {
        download(api, place, (name, commit), file, etag, hear)?;
    }
    place.link(commit, &file.name, etag).map_err(|source| HubError::Io { path: blob, source })
}

fn download(
    api: &Api,
    place: &Place,
    (name, commit): (&str, &str),
    file: &File,
    etag: &str,
    hear: &mut dyn FnMut(Phase),
) -> Result<(), HubError> {
    let path = place.part(etag);
    let io = |source| HubError::Io { path: path.clone(), source };
    let part = OpenOptions::new().create(true).read(true).append(true).open(&path).map_err(io)?;
    // two studies that begin at once do not write into each other's part
    let mut part = Flock::lock(part, FlockArg::LockExclusiveNonblock)
        .map_err(|_| HubError::Busy { name: name.to_owned(), file: file.name.clone() })?;
    let mut attempt = 1;
    loop {
        let before = part.metadata().map_err(io)?.len();
        match piece(api, (name, commit), file, &mut part, hear) {
            Ok(()) => break,
            Err(HubError::Io { source, .. }) if source.kind() == io::ErrorKind::StorageFull => {
                return Err(full(name, &path, file, &part));
            }
            Err(e @ (HubError::Cut { .. } | HubError::Unreachable { .. } | HubError::Overloaded { .. })) => {
                let came_on = part.metadata().map_err(io)?.len() >= before + COMES_ON;
                attempt = if came_on { 2 } else { attempt + 1 };
                if attempt > ATTEMPTS {
                    return Err(e);
                }
                hear(Phase::Again { why: e.to_string(), attempt: attempt - 1, of: ATTEMPTS - 1 });
                thread::sleep(PAUSE * attempt);
            }
            Err(e) => return Err(e),
        }
    }
    part.sync_all().map_err(io)?;
    if !is_whole(&path, file, etag).map_err(io)? {
        // going on from wrong bytes would never end well
        let _ = fs::remove_file(&path);
        return Err(HubError::WrongHash { name: name.to_owned(), file: file.name.clone() });
    }
    fs::rename(&path, place.blob(etag)).map_err(io)
}

/// One request's worth: until the file's end, or until it breaks off.
fn piece(
    api: &Api,
    (name, commit): (&str, &str),
    file: &File,
    part: &mut Disk,
    hear: &mut dyn FnMut(Phase),
) -> Result<(), HubError> {
    let path = Path::new(&file.name);
    let io = |source| HubError::Io { path: path.to_owned(), source };
    let mut got = part.metadata().map_err(io)?.len();
    let of = file.bytes();
    if of.is_some_and(|of| got > of) {
        part.set_len(0).map_err(io)?;
        got = 0;
    }
    if of == Some(got) {
        return Ok(());
    }
    let (answer, begins) = api.open(name, commit, &file.name, got)?;
    if begins != got {
        // it does not go on in the middle
        part.set_len(begins).map_err(io)?;
        got = begins;
    }
    let body = Pieces::of(answer);
    let cut = |got: u64, why: String| HubError::Cut {
        name: name.to_owned(),
        file: file.name.clone(),
        got,
        of: of.unwrap_or(got),
        why,
    };
    loop {
        match body.next() {
            Ok(None) if of.is_none_or(|of| got == of) => return Ok(()),
            Ok(None) => return Err(cut(got, "the connection ended".to_owned())),
            Ok(Some(bytes)) => {
                part.write_all(&bytes).map_err(io)?;
                got += bytes.len() as u64;
                hear(Phase::Arrived { bytes: bytes.len() as u64 });
            }
            Err(why) => return Err(cut(got, why)),
        }
    }
}

/// The pieces of an answer as they come. They are read by a thread, as the client knows no limit for the silence between two; of one
/// that is given up the thread ends with the answer's own limit.
struct Pieces(Receiver<io::Result<Vec<u8>>>);

impl Pieces {
    fn of(answer: Response<Body>) -> Self {
        let (found, pieces) = mpsc::sync_channel(2);
        thread::spawn(move || {
            let mut body = answer.into_body().into_reader();
            let mut buffer = vec![0; 1 << 18];
            loop {
                let piece = match body.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(n) => Ok(buffer[..n].to_vec()),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => Err(e),
                };
                let last = piece.is_err();
                if found.send(piece).is_err() || last {
                    return;
                }
            }
        });
        Self(pieces)
    }

    /// The next bytes; none at the end. The error says why there are no more.
    fn next(&self) -> Result<Option<Vec<u8>>, String> {
        match self.0.recv_timeout(SILENCE) {
            Ok(piece) => piece.map(Some).map_err(|e| e.to_string()),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(format!("nothing came for {} s", SILENCE.as_secs())),
        }
    }
}

fn full(name: &str, path: &Path, file: &File, part: &Disk) -> HubError {
    let got = part.metadata().map_or(0, |m| m.len());
    let dir = path.parent().unwrap_or(path).to_owned();
    let needed = super::resolve::size(file.bytes().unwrap_or(got).saturating_sub(got));
    HubError::DiskFull { name: name.to_owned(), needed, free: super::resolve::free(&dir), dir }
}

/// Large files are named by their SHA-256, small ones by git's hash of them.
fn is_whole(path: &Path, file: &File, etag: &str) -> io::Result<bool> {
    let mut from = Disk::open(path)?;
    let found = if file.lfs.is_some() {
        let mut hash = Sha256::new();
        io::copy(&mut from, &mut Feed(&mut hash))?;
        hex(&hash.finalize())
    } else {
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", from.metadata()?.len()).as_bytes());
        io::copy(&mut from, &mut Feed(&mut hash))?;
        hex(&hash.finalize())
    };
    Ok(found.eq_ignore_ascii_case(etag))
}
