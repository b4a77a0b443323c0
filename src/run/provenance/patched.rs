//! What of installed files is not as their installer left it: files that somebody patched in place, and files that somebody added to an
//! installed package, as tuned settings are. A sweep asks the kernel for every recorded file and reads the few that may be others.
//!
//! A file is taken to be what its record says where its size is, and where it was neither written nor changed in any other way since
//! the record was. Where a whole environment was copied or linked anew, or its installer wrote records first, all of its files were: then
//! the ones of the recorded size and time are believed, since reading them takes longer than anybody waits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::disk::{self, Which, hex};

/// Seconds that may lie between an installer's files and its record of them.
const GRAIN: i64 = 2;
/// Bytes of files of one [`Doubt`] that are read.
const MOST_BYTES: u64 = 64 << 20;
/// Larger files are known by their time and some of their bytes.
const WHOLE: u64 = 64 << 20;
/// Added files of a package that are told one by one.
const MOST_ADDED: usize = 50;
const DEEPEST: usize = 32;
/// What takes less is looked at anew whenever it is asked for.
const QUICK: Duration = Duration::from_millis(50);
/// A sweep holds for so many times what it took: then at most a tenth of the time goes into sweeps.
const HOLDS: u32 = 10;
/// What a distribution offers to others, which read it at their start: plugins of an engine.
const ENTRY_POINTS: &str = "entry_points.txt";

/// What a directory of distributions holds beside what is recorded there.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// files that are others than recorded and what they are now, by the names of the directories of the records
    pub patched: BTreeMap<String, Vec<(String, String)>>,
    /// files in packages that no distribution recorded, each with a hash
    pub added: BTreeMap<String, String>,
}

/// When a sweep was made, what it took, and what it found.
type Made = (Instant, Duration, Arc<Sweep>);

static MADE: LazyLock<Mutex<HashMap<PathBuf, Made>>> = LazyLock::new(Mutex::default);

/// Sweeps a directory of distributions.
pub fn sweep(site: &Path) -> Arc<Sweep> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, took, found)) = made.get(site)
        && at.elapsed() < *took * HOLDS
    {
        return found.clone();
    }
    let at = Instant::now();
    let found = Arc::new(all(site));
    if at.elapsed() > QUICK {
        made.insert(site.to_owned(), (Instant::now(), at.elapsed(), found.clone()));
    }
    found
}

fn all(site: &Path) -> Sweep {
    let mut sweep = Sweep::default();
    let mut recorded = BTreeSet::new();
    let mut doubted: BTreeMap<Doubt, Vec<(String, Recorded, u64)>> = BTreeMap::new();
    for info in fs::read_dir(site).into_iter().flatten().flatten() {
        let name = info.file_name().to_string_lossy().into_owned();
        let record = info.path().join("RECORD");
        let Ok(text) = fs::read_to_string(&record) else { continue };
        let Ok(own) = fs::metadata(&record) else { continue };
        let files: Vec<Recorded> = text.lines().filter_map(Recorded::of).collect();
        let mut found: Vec<(String, String)> = Vec::new();
        for file in &files {
            match file.state(site, &own) {
                State::AsRecorded => {}
                State::Other(what) => found.push((file.name.clone(), what)),
                State::Doubted(why, bytes) => {
                    doubted.entry(why).or_default().push((name.clone(), file.clone(), bytes));
                }
            }
        }
        recorded.extend(files.into_iter().map(|file| file.name));
        let points = format!("{name}/{ENTRY_POINTS}");
        if let Some(is) = disk::of_file(&site.join(&points)).ok().filter(|_| !recorded.contains(&points)) {
            found.push((points, is));
        }
        if !found.is_empty() {
            sweep.patched.insert(name, found);
        }
    }
    doubted.retain(|_, files| files.iter().map(|(_, _, size)| size).sum::<u64>() <= MOST_BYTES);
    for (info, file, _) in doubted.into_values().flatten() {
        let is = file.other(site);
        sweep.patched.entry(info).or_default().extend(is.map(|is| (file.name, is)));
    }
    sweep.patched.retain(|_, files| !files.is_empty());
    sweep.added = added(site, &recorded);
    sweep
}

/// A line of a record.
#[derive(Debug, Clone)]
struct Recorded {
    name: String,
    /// in base64; not of what its installer did not know, as compiled files
    hash: Option<String>,
    size: Option<u64>,
}

enum State {
    AsRecorded,
    Other(String),
    /// of the recorded size and about the recorded time, and yet something may have been done to it; its size
    Doubted(Doubt, u64),
}

/// Why a file is read. Those of one kind may be many through no fault of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// written at once after its record, as by `pip install … && sed -i …`
    Written,
    /// changed in some other way at once after it, or in the same instant
    Soon,
    /// changed later
    Since,
}

impl Recorded {
    fn of(line: &str) -> Option<Self> {
        // the last two commas: a name may hold some, and then it is quoted
        let mut parts = line.rsplitn(3, ',');
        let (size, hash, name) = (parts.next()?, parts.next()?, parts.next()?);
        let name = name.strip_prefix('"').and_then(|n| n.strip_suffix('"')).unwrap_or(name);
        Some(Self {
            name: name.replace("\"\"", "\""),
            hash: hash.strip_prefix("sha256=").map(str::to_owned),
            size: size.parse().ok(),
        })
    }

    fn state(&self, site: &Path, record: &Metadata) -> State {
        // what installers note of themselves is nobody's business
        let is_note = self.name.contains(".dist-info/") && !self.name.ends_with(ENTRY_POINTS);
        if is_note || self.name.starts_with("../") || is_compiled(&self.name) {
            return State::AsRecorded;
        }
        let Ok(meta) = fs::metadata(site.join(&self.name)) else { return State::Other("gone".to_owned()) };
        let is_later = meta.mtime() > record.mtime() + 1;
        if self.hash.is_none() {
            // what it was is not known; what it is now is, where it was written since
            return if is_later { self.now(site) } else { State::AsRecorded };
        }
        if self.size != Some(meta.size()) || is_later {
            return self.other(site).map_or(State::AsRecorded, State::Other);
        }
        let doubt = Doubt::of(&meta, record).filter(|_| meta.size() <= WHOLE);
        doubt.map_or(State::AsRecorded, |why| State::Doubted(why, meta.size()))
    }

    fn now(&self, site: &Path) -> State {
        State::Other(disk::of_file(&site.join(&self.name)).unwrap_or_else(|_| "unread".to_owned()))
    }

    /// What it is now, if that is not what was recorded.
    fn other(&self, site: &Path) -> Option<String> {
        let Ok(now) = disk::of_file(&site.join(&self.name)) else { return Some("unread".to_owned()) };
        // hashes are compared by their beginning: an identity has forty digits
        let as_recorded = hex_of(self.hash.as_deref()?).is_some_and(|hash| hash.starts_with(&now));
        (!as_recorded).then_some(now)
    }
}

impl Doubt {
    fn of(file: &Metadata, record: &Metadata) -> Option<Self> {
        let written = |m: &Metadata| (m.mtime(), m.mtime_nsec());
        let changed = |m: &Metadata| (m.ctime(), m.ctime_nsec());
        if written(file) > written(record) {
            return Some(Self::Written);
        }
        let is_soon = file.ctime() <= record.ctime() + GRAIN;
        (changed(file) >= changed(record)).then_some(if is_soon { Self::Soon } else { Self::Since })
    }
}

pub(super) fn is_compiled(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == "pyc")
}

/// The digits of a hash in a record, which is base64 for URLs without its end.
fn hex_of(text: &str) -> Option<String> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for c in text.trim_end_matches('=').bytes() {
        let value = LETTERS.iter().position(|l| *l == c)?;
        bits = (bits << 6) | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    Some(hex(&bytes))
}

/// Code and settings within the packages of distributions that none of them recorded.
fn added(site: &Path, recorded: &BTreeSet<String>) -> BTreeMap<String, String> {
    let tops: BTreeSet<&str> = recorded.iter().filter_map(|name| Some(name.split_once('/')?.0)).collect();
    let mut found = BTreeMap::new();
    for top in tops.into_iter().filter(|top| is_package(top)) {
        let mut names = Vec::new();
        below(site, top, recorded, 0, &mut names);
        names.sort();
        let held = |name: &String| disk::of_file(&site.join(name)).unwrap_or_default();
        if names.len() <= MOST_ADDED {
            let told = |name: String| (name.clone(), held(&name).chars().take(8).collect());
            found.extend(names.into_iter().map(told));
        } else {
            let told: Vec<String> = names.iter().map(|name| format!("{name} {}\n", held(name))).collect();
            let told = told.concat();
            let hash = hex(&Sha256::digest(told));
            found.insert(format!("files that were added to {top}/"), hash[..8].to_owned());
        }
    }
    found
}

fn is_package(top: &str) -> bool {
    !top.starts_with('.') && !top.ends_with(".dist-info") && !top.ends_with(".egg-info")
}

fn below(site: &Path, dir: &str, recorded: &BTreeSet<String>, depth: usize, to: &mut Vec<String>) {
    if depth >= DEEPEST {
        return;
    }
    for entry in fs::read_dir(site.join(dir)).into_iter().flatten().flatten() {
        let own = entry.file_name().to_string_lossy().into_owned();
        let name = format!("{dir}/{own}");
        // a link may lead anywhere, and a directory that is one is no part of a package
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && own != "__pycache__" && !own.starts_with('.') {
            below(site, &name, recorded, depth + 1, to);
        } else if !is_dir && Which::Code.counts(&own) && !recorded.contains(&name) {
            to.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;

    use super::*;

    /// Of files with `1` in them.
    const RECORD: &str = "torch/a.py,sha256=a4ayc_80_OGda4BO_1o_V0etpOqiLx1JwB5S3beHW0s,1\n\
                          \"torch/E=8,N=7.json\",sha256=a4ayc_80_OGda4BO_1o_V0etpOqiLx1JwB5S3beHW0s,1\n";

    fn site() -> tempfile::TempDir {
        let dir = super::super::folder::of(&[
            ("torch/a.py", "1"),
            ("torch/E=8,N=7.json", "1"),
            ("torch-2.8.0.dist-info/RECORD", RECORD),
        ]);
        assert_eq!(all(dir.path()), Sweep::default());
        dir
    }

    fn patched(dir: &Path) -> Vec<String> {
        all(dir).patched.into_values().flatten().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_patched_file_is_seen_whatever_its_name_and_one_of_other_size_too() {
        let dir = site();
        for name in ["torch/a.py", "torch/E=8,N=7.json"] {
            fs::write(dir.path().join(name), "12").expect("written");
            assert_eq!(patched(dir.path()), [name]);
            fs::write(dir.path().join(name), "1").expect("written");
            assert_eq!(patched(dir.path()), [] as [&str; 0]);
        }
    }

    #[test]
    fn a_file_that_keeps_its_size_is_read_where_the_kernel_says_that_it_was_changed() {
        let dir = site();
        let path = dir.path().join("torch/a.py");
        let times = fs::metadata(&path).expect("there");
        let times = FileTimes::new().set_modified(times.modified().expect("a time"));
        // at once after its record, as whoever installs and patches in one line does
        fs::write(&path, "2").expect("written");
        assert_eq!(patched(dir.path()), ["torch/a.py"]);
        let file = fs::File::options().write(true).open(&path).expect("opens");
        file.set_times(times).expect("set");
        assert_eq!(patched(dir.path()), ["torch/a.py"]);
        fs::write(&path, "1").expect("written");
        assert_eq!(patched(dir.path()), [] as [&str; 0]);
    }

    #[test]
    fn a_file_whose_hash_its_installer_did_not_know_is_seen_once_it_is_written_again() {
        let dir = site();
        let record = dir.path().join("torch-2.8.0.dist-info/RECORD");
        fs::write(&record, "torch/a.py,,\ntorch/gone.py,,\ntorch/x.pyc,,\ntorch/E=8,N=7.json,,\n")
            .expect("written");
        assert_eq!(patched(dir.path()), ["torch/gone.py"]);
        fs::write(dir.path().join("torch/gone.py"), "").expect("written");
        let file = fs::File::options().write(true).open(dir.path().join("torch/a.py")).expect("opens");
        let later = std::time::SystemTime::now() + std::time::Duration::from_mins(10);
        file.set_times(FileTimes::new().set_modified(later)).expect("set");
        assert_eq!(patched(dir.path()), ["torch/a.py"]);
    }

    #[test]
    fn what_was_added_to_a_package_counts_and_what_lies_around_does_not() {
        let dir = site();
        for name in ["torch/configs/E=16.json", "torch/__pycache__/x.pyc", "torch/notes.txt", "own/x.py"] {
            fs::create_dir_all(dir.path().join(name).parent().expect("a folder")).expect("made");
            fs::write(dir.path().join(name), "{}").expect("written");
        }
        assert_eq!(all(dir.path()).added.keys().collect::<Vec<_>>(), ["torch/configs/E=16.json"]);
        for n in 0..=MOST_ADDED {
            fs::write(dir.path().join(format!("torch/{n}.json")), "{}").expect("written");
        }
        assert_eq!(all(dir.path()).added.keys().collect::<Vec<_>>(), ["files that were added to torch/"]);
    }

    #[test]
    fn a_plugin_that_is_announced_later_is_seen() {
        let dir = site();
        fs::write(dir.path().join("torch-2.8.0.dist-info/entry_points.txt"), "[x]\ny = z\n")
            .expect("written");
        assert_eq!(patched(dir.path()), ["torch-2.8.0.dist-info/entry_points.txt"]);
    }
}
