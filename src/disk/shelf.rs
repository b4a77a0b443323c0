//! What took long to make and is made the same again: files of records, each under the hash of all that decided them. They only save
//! time. So nothing that goes wrong with them is an error, and what is damaged is as good as missing; a sum over each record tells.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::digest::hex;

/// What a file begins with. Another form of files has another one.
const MAGIC: &[u8; 8] = b"perfshf1";
/// Lengths of the key, of the note and of the list of records, four bytes each.
const LENGTHS: usize = 12;
/// Of each record its length and its sum.
const ENTRY: usize = 8;
/// The sum over all that stands before the records.
const SUM: usize = 4;
/// Bytes of all files; the ones that were read longest ago go first.
const MOST: u64 = 1 << 30;
/// A draft of this age has nobody who still writes it.
const ABANDONED: Duration = Duration::from_hours(1);

/// A directory of such files.
#[derive(Debug, Clone)]
pub struct Shelf {
    dir: PathBuf,
    most: u64,
}

/// A file of records, open.
#[derive(Debug)]
pub struct Kept {
    file: File,
    note: String,
    places: Vec<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    at: u64,
    length: u32,
    sum: u32,
}

impl Shelf {
    /// The shelf in a directory, which need not be there yet.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, most: MOST }
    }

    /// What is kept under a key; `None` where there is nothing, or nothing whole.
    pub fn find(&self, key: &str) -> Option<Kept> {
        let path = self.path(key);
        match Kept::open(&path, key) {
            Ok(kept) => {
                // by it the oldest are told; where it cannot be written, the time of making has to do
                let _ = kept.file.set_modified(SystemTime::now());
                Some(kept)
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(_) => {
                let _ = fs::remove_file(&path);
                None
            }
        }
    }

    /// Removes what is kept under a key.
    pub fn forget(&self, key: &str) {
        let _ = fs::remove_file(self.path(key));
    }

    /// Keeps records under a key: the first so many of what was kept before, then new ones. What lay there is replaced, whoever wrote it;
    /// more than a quarter of the shelf is not kept. Says whether it is there now.
    pub fn keep(&self, key: &str, note: &str, before: Option<(&Kept, usize)>, new: &[Vec<u8>]) -> bool {
        let Some(mut keeping) = self.begin(key, note, before, new.len()) else { return false };
        new.iter().enumerate().for_each(|(number, record)| keeping.add(number, record));
        keeping.end()
    }

    /// The same for so many new records that are written as they are made.
    pub fn begin(
        &self,
        key: &str,
        note: &str,
        before: Option<(&Kept, usize)>,
        new: usize,
    ) -> Option<Keeping> {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let (old, count) = before.map_or((None, 0), |(kept, count)| (Some(kept), count));
        let places = old.map_or(&[][..], |kept| &kept.places[..count.min(kept.places.len())]);
        let list = (places.len() + new).checked_mul(ENTRY)?;
        let begins = begins(key, note, list)?;
        fs::create_dir_all(&self.dir).ok()?;
        let place = self.path(key);
        let name = place.file_name()?.to_str()?;
        let draft = format!(".{name}.{}-{}", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
        let path = self.dir.join(draft);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        let mut keeping = Keeping {
            shelf: self.clone(),
            at: (begins.len() + list + SUM) as u64,
            begins,
            entries: Vec::with_capacity(list),
            bytes: 0,
            early: BTreeMap::new(),
            added: 0,
            new,
            draft: Draft { file, path, place },
            lost: false,
        };
        for place in places {
            keeping.write(&old?.bytes(*place).ok()?);
        }
        Some(keeping)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.dir.join(&hex(&Sha256::digest(key.as_bytes()))[..40])
    }

    /// Removes what is too much, the oldest first, and drafts that nobody ends.
    fn tidy(&self) {
        let now = SystemTime::now();
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            let written = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if !meta.is_file() {
                continue;
            }
            if !entry.file_name().to_string_lossy().starts_with('.') {
                files.push((written, meta.len(), entry.path()));
            } else if now.duration_since(written).is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(entry.path());
            }
        }
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in files {
            if bytes <= self.most {
                break;
            }
            if fs::remove_file(path).is_ok() {
                bytes -= length;
            }
        }
    }
}

impl Kept {
    /// How many records there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What was written beside them.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// A record. The error says that it cannot be read or is not what was written.
    pub fn record(&self, number: usize) -> io::Result<Vec<u8>> {
        let place = *self.places.get(number).ok_or_else(damaged)?;
        let bytes = self.bytes(place)?;
        if crc32fast::hash(&bytes) == place.sum { Ok(bytes) } else { Err(damaged()) }
    }

    fn bytes(&self, place: Place) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; place.length as usize];
        self.file.read_exact_at(&mut bytes, place.at)?;
        Ok(bytes)
    }

    fn open(path: &Path, key: &str) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut begins = [0; MAGIC.len() + LENGTHS];
        file.read_exact_at(&mut begins, 0)?;
        let (magic, lengths) = begins.split_at(MAGIC.len());
        let [of_key, of_note, of_list] = [0, 4, 8].map(|at| u64::from(number(&lengths[at..])));
        let head = begins.len() as u64 + of_key + of_note + of_list;
        // lengths that are damaged ask for any amount of memory
        if magic != MAGIC || head + SUM as u64 > length {
            return Err(damaged());
        }
        let mut bytes = vec![0; (head + 4) as usize];
        file.read_exact_at(&mut bytes, 0)?;
        let sum = number(&bytes[head as usize..]);
        bytes.truncate(head as usize);
        if crc32fast::hash(&bytes) != sum {
            return Err(damaged());
        }
        let rest = bytes.split_off(begins.len());
        let (own, rest) = rest.split_at(of_key as usize);
        let (note, list) = rest.split_at(of_note as usize);
        let mut at = head + 4;
        let places = list.chunks_exact(ENTRY).map(|entry| {
            let place = Place { at, length: number(entry), sum: number(&entry[4..]) };
            at += u64::from(place.length);
            place
        });
        let places = places.collect();
        let note = String::from_utf8(note.to_vec()).map_err(|_| damaged())?;
        if own == key.as_bytes() && at == length { Ok(Self { file, note, places }) } else { Err(damaged()) }
    }
}

/// Records that are being kept, written as they come. Dropped before its end, it leaves nothing.
#[derive(Debug)]
pub struct Keeping {
    shelf: Shelf,
    /// what the file begins with, up to the list of records
    begins: Vec<u8>,
    entries: Vec<u8>,
    /// where the next record begins in the file
    at: u64,
    /// of all records
    bytes: u64,
    /// those that came before one that stands before them
    early: BTreeMap<usize, Vec<u8>>,
    /// new ones, as written
    added: usize,
    new: usize,
    draft: Draft,
    /// the disk did not take it, or it is too much
    lost: bool,
}

#[derive(Debug)]
struct Draft {
    file: File,
    path: PathBuf,
    place: PathBuf,
}

impl Drop for Draft {
    fn drop(&mut self) {
        // what found its place is not there any more
        let _ = fs::remove_file(&self.path);
    }
}

impl Keeping {
    /// A new record by its number, counted from 0; they may come in any order.
    pub fn add(&mut self, number: usize, record: &[u8]) {
        if self.lost {
            return;
        }
        if number != self.added {
            self.early.insert(number, record.to_vec());
            return;
        }
        self.write(record);
        self.added += 1;
        while let Some(next) = self.early.remove(&self.added) {
            self.write(&next);
            self.added += 1;
        }
    }

    fn write(&mut self, record: &[u8]) {
        self.bytes += record.len() as u64;
        let length = u32::try_from(record.len()).ok().filter(|_| self.bytes <= self.shelf.most / 4);
        let written = length.filter(|_| self.draft.file.write_all_at(record, self.at).is_ok());
        let Some(length) = written.filter(|_| !self.lost) else {
            self.lost = true;
            self.early.clear();
            return;
        };
        self.at += record.len() as u64;
        self.entries.extend([length, crc32fast::hash(record)].map(u32::to_le_bytes).concat());
    }

    /// Puts the file in its place. Says whether it is there now.
    pub fn end(mut self) -> bool {
        let whole = !self.lost && self.added == self.new;
        let mut head = std::mem::take(&mut self.begins);
        head.append(&mut self.entries);
        head.extend(crc32fast::hash(&head).to_le_bytes());
        // nobody waits for the disk: what a power cut takes is noticed and made again
        let Draft { file, path, place } = &self.draft;
        let kept = whole && file.write_all_at(&head, 0).is_ok() && fs::rename(path, place).is_ok();
        self.shelf.tidy();
        kept
    }
}

/// What stands before the list of records; `None` where there is too much of it.
fn begins(key: &str, note: &str, list: usize) -> Option<Vec<u8>> {
    let mut begins = MAGIC.to_vec();
    for length in [key.len(), note.len(), list] {
        begins.extend(u32::try_from(length).ok()?.to_le_bytes());
    }
    begins.extend(key.bytes());
    begins.extend(note.bytes());
    Some(begins)
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
}

fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests;
