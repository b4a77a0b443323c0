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
mod tests {
    use super::*;

    fn shelf(most: u64) -> (tempfile::TempDir, Shelf) {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf { dir: dir.path().join("made later"), most };
        (dir, shelf)
    }

    fn records(texts: &[&str]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    fn read(shelf: &Shelf, key: &str) -> Option<(String, Vec<Vec<u8>>)> {
        let kept = shelf.find(key)?;
        let all = (0..kept.len()).map(|n| kept.record(n)).collect::<io::Result<_>>().ok()?;
        Some((kept.note().to_owned(), all))
    }

    #[test]
    fn what_is_kept_is_found_under_its_key_alone() {
        let (_dir, shelf) = shelf(MOST);
        assert!(shelf.find("one").is_none());
        assert!(shelf.keep("one", "a note", None, &records(&["x", "", "yz"])));
        assert_eq!(read(&shelf, "one"), Some(("a note".to_owned(), records(&["x", "", "yz"]))));
        assert!(shelf.find("two").is_none());
        let before = shelf.find("one").unwrap();
        assert!(shelf.keep("one", "", Some((&before, 2)), &records(&["new"])));
        assert_eq!(read(&shelf, "one"), Some((String::new(), records(&["x", "", "new"]))));
        // who has it open reads on in what was there
        assert_eq!(before.record(2).unwrap(), b"yz");
        assert!(before.record(3).is_err());
        shelf.forget("one");
        assert!(shelf.find("one").is_none());
    }

    #[test]
    fn records_are_kept_as_they_come_in_their_order_or_not_at_all() {
        let (_dir, shelf) = shelf(MOST);
        let names = || fs::read_dir(&shelf.dir).map_or(0, Iterator::count);
        let mut keeping = shelf.begin("key", "note", None, 3).unwrap();
        let mut other = shelf.begin("key", "other", None, 1).unwrap();
        for (number, text) in [(2, "c"), (0, "a"), (1, "b")] {
            keeping.add(number, text.as_bytes());
        }
        other.add(0, b"x");
        assert!(keeping.end());
        assert_eq!(read(&shelf, "key"), Some(("note".to_owned(), records(&["a", "b", "c"]))));
        // one of its own for each that is at it at one time
        assert!(other.end());
        assert_eq!(read(&shelf, "key"), Some(("other".to_owned(), records(&["x"]))));
        let mut torn = shelf.begin("key", "", None, 2).unwrap();
        torn.add(1, b"y");
        assert!(!torn.end());
        drop(shelf.begin("key", "", None, 1));
        assert_eq!((read(&shelf, "key").unwrap().1, names()), (records(&["x"]), 1));
    }

    #[test]
    fn no_byte_can_change_unseen() {
        let (_dir, shelf) = shelf(MOST);
        let whole = records(&["some text", "more of it"]);
        assert!(shelf.keep("key", "note", None, &whole));
        let path = shelf.path("key");
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            fs::write(&path, damaged).unwrap();
            assert_eq!(read(&shelf, "key"), None, "byte {at}");
            fs::write(&path, &bytes[..at]).unwrap();
            assert_eq!(read(&shelf, "key"), None, "cut at {at}");
        }
        fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
        assert_eq!(read(&shelf, "key"), None, "longer");
        fs::write(&path, &bytes).unwrap();
        assert!(read(&shelf, "key").is_some());
    }

    #[test]
    fn a_file_under_anothers_name_is_not_taken_for_it() {
        let (_dir, shelf) = shelf(MOST);
        assert!(shelf.keep("key", "", None, &records(&["x"])));
        fs::rename(shelf.path("key"), shelf.path("kex")).unwrap();
        assert!(shelf.find("kex").is_none() && shelf.find("key").is_none());
    }

    #[test]
    fn the_oldest_go_first_and_what_is_read_is_young() {
        let (_dir, shelf) = shelf(1200);
        let record = vec![vec![b'x'; 250]];
        let aged = |key: &str, s: u64| {
            let then = SystemTime::now() - Duration::from_secs(s);
            File::open(shelf.path(key)).unwrap().set_modified(then).unwrap();
        };
        for (key, age) in [("a", 400), ("b", 300), ("c", 200)] {
            assert!(shelf.keep(key, "", None, &record));
            aged(key, age);
        }
        assert!(shelf.find("a").is_some());
        for key in ["d", "e"] {
            assert!(shelf.keep(key, "", None, &record));
        }
        let there = ["a", "b", "c", "d", "e"].map(|key| shelf.path(key).exists());
        assert_eq!(there, [true, false, true, true, true]);
        assert!(!shelf.keep("f", "", None, &[vec![0; 301]]), "more than its part of the shelf");
    }

    #[test]
    fn drafts_of_long_ago_are_swept() {
        let (_dir, shelf) = shelf(MOST);
        fs::create_dir_all(&shelf.dir).unwrap();
        let (old, new) = (shelf.dir.join(".x.1"), shelf.dir.join(".x.2"));
        for path in [&old, &new] {
            fs::write(path, "x").unwrap();
        }
        File::open(&old).unwrap().set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
        assert!(shelf.keep("key", "", None, &[]));
        assert_eq!((old.exists(), new.exists(), shelf.find("key").unwrap().len()), (false, true, 0));
    }

    #[test]
    fn where_nothing_can_be_written_nothing_fails() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        let shelf = Shelf::new(dir.path().join("file"));
        assert!(!shelf.keep("key", "", None, &records(&["x"])));
        assert!(shelf.find("key").is_none());
    }
}
