//! Which shared libraries a program is linked with: the loader's own rules, read from the files without running anything. What a program
//! opens by name later is not told there; such plug-ins lie beside it or are called `lib….so` in its own directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// More libraries than any program has.
const MOST: usize = 512;
/// Letters of a name.
const LEAST: usize = 4;
/// More than any table of names holds.
const MOST_BYTES: u64 = 16 << 20;

/// The libraries of a program by their names, with those that they need in turn. Empty for what is no program of 64 bits.
pub fn libraries(program: &Path, library_path: Option<&str>) -> BTreeMap<String, PathBuf> {
    let listed: Vec<PathBuf> =
        library_path.unwrap_or("").split(':').filter(|d| !d.is_empty()).map(PathBuf::from).collect();
    let usual = usual_directories();
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut missing: BTreeSet<String> = BTreeSet::new();
    let Ok(program) = program.canonicalize() else { return found };
    let mut open = vec![(program, Vec::new())];
    while let Some((file, inherited)) = open.pop() {
        let Some(linked) = Linked::of(&file) else { continue };
        let mut own = linked.directories(&file);
        // an old search path holds for the libraries of libraries too
        let handed: Vec<PathBuf> =
            if linked.run_path { Vec::new() } else { own.iter().cloned().chain(inherited).collect() };
        own.extend(handed.iter().cloned());
        for name in linked.needed {
            if found.contains_key(&name) || missing.contains(&name) || found.len() >= MOST {
                continue;
            }
            let mut places = own.iter().chain(&listed).chain(&usual).map(|dir| dir.join(&name));
            match places.find_map(|p| p.canonicalize().ok().filter(|p| p.is_file())) {
                Some(path) => {
                    open.push((path.clone(), handed.clone()));
                    found.insert(name, path);
                }
                None => drop(missing.insert(name)),
            }
        }
    }
    found
}

/// Where the loader finds a library that any program asks for by name.
pub fn find(name: &str, library_path: Option<&str>) -> Option<PathBuf> {
    let listed = library_path.unwrap_or("").split(':').filter(|d| !d.is_empty()).map(PathBuf::from);
    listed.chain(usual_directories()).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Whether a file is a program or a library, by how it begins.
pub fn is_program(path: &Path) -> bool {
    let mut head = [0; 4];
    File::open(path).is_ok_and(|f| f.read_exact_at(&mut head, 0).is_ok()) && head == *b"\x7fELF"
}

/// The names of files in a program, a line each: texts of it that hold nothing else, as far as they are no sections and no libraries.
pub fn names(program: &[u8]) -> Option<String> {
    if !program.starts_with(b"\x7fELF") {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+/".contains(c);
    let is_name = |text: &&str| {
        let is_source = [".c", ".cc", ".cpp", ".o"].iter().any(|end| text.ends_with(end));
        let is_of_linking = text.starts_with(['.', '/']) || text.starts_with("lib") && text.contains(".so");
        text.len() >= LEAST
            && text.chars().all(is_plain)
            && text.contains('.')
            && !is_source
            && !is_of_linking
    };
    let texts = program.split(|byte| *byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    Some(texts.filter(is_name).collect::<Vec<_>>().join("\n"))
}

/// What a file says of its linking.
#[derive(Debug, Default)]
struct Linked {
    needed: Vec<String>,
    path: Option<String>,
    /// the path is of the newer kind, for this file alone
    run_path: bool,
}

impl Linked {
    fn of(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let head = read(&file, 0, 64)?;
        let is_elf = head.starts_with(b"\x7fELF") && head[4] == 2 && head[5] == 1;
        if !is_elf {
            return None;
        }
        let (at, size, count) = (word(&head, 32)?, half(&head, 54)?, half(&head, 56)?);
        let table = read(&file, at, u64::from(size) * u64::from(count))?;
        let segments: Vec<&[u8]> = table.chunks_exact(usize::from(size).max(56)).collect();
        let kind = |s: &[u8]| s.get(..4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let dynamic = segments.iter().find(|s| kind(s) == Some(2))?;
        let entries = read(&file, word(dynamic, 8)?, word(dynamic, 32)?)?;
        let pairs: Vec<(u64, u64)> =
            entries.chunks_exact(16).filter_map(|e| Some((word(e, 0)?, word(e, 8)?))).collect();
        let one = |tag: u64| pairs.iter().find(|(t, _)| *t == tag).map(|(_, v)| *v);
        let loaded = |address: u64| {
            let holds = |s: &&&[u8]| {
                let (begin, len) = (word(s, 16).unwrap_or(0), word(s, 32).unwrap_or(0));
                kind(s) == Some(1) && address >= begin && address - begin < len
            };
            let segment = segments.iter().find(holds)?;
            (address - word(segment, 16)?).checked_add(word(segment, 8)?)
        };
        let names = read(&file, loaded(one(5)?)?, one(10)?)?;
        let text = |at: u64| {
            let tail = names.get(usize::try_from(at).ok()?..)?;
            let end = tail.iter().position(|b| *b == 0)?;
            String::from_utf8(tail[..end].to_vec()).ok()
        };
        let needed = pairs.iter().filter(|(t, _)| *t == 1).filter_map(|(_, v)| text(*v)).collect();
        let (newer, older) = (one(29).and_then(text), one(15).and_then(text));
        Some(Self { needed, run_path: newer.is_some(), path: newer.or(older) })
    }

    fn directories(&self, file: &Path) -> Vec<PathBuf> {
        let origin = file.parent().unwrap_or(Path::new("/")).to_string_lossy();
        let all = self.path.as_deref().unwrap_or("").split(':').filter(|d| !d.is_empty());
        all.map(|d| PathBuf::from(d.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))).collect()
    }
}

fn read(file: &File, at: u64, len: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len.min(MOST_BYTES)).ok()?];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

/// Where the loader looks last: the machine's list, then the system's own directories.
fn usual_directories() -> Vec<PathBuf> {
    let own = fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten().map(|e| e.path());
    let mut files: Vec<PathBuf> = own.collect();
    files.sort();
    files.insert(0, PathBuf::from("/etc/ld.so.conf"));
    let lines: Vec<String> = files
        .iter()
        .filter_map(|f| fs::read_to_string(f).ok())
        .flat_map(|text| text.lines().map(|l| l.trim().to_owned()).collect::<Vec<_>>())
        .collect();
    let listed = lines.iter().filter(|l| l.starts_with('/')).map(PathBuf::from);
    let system = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from);
    listed.chain(system).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_libraries_are_those_that_the_loader_takes() {
        let own = std::env::current_exe().unwrap();
        let found = libraries(&own, None);
        let libc = found.get("libc.so.6").expect("every program here has one");
        let mapped = fs::read_to_string("/proc/self/maps").unwrap();
        assert!(mapped.contains(&*libc.to_string_lossy()), "{libc:?}\n{mapped}");
        for path in found.values() {
            assert!(mapped.contains(&*path.to_string_lossy()), "{path:?} is not loaded");
        }
    }

    #[test]
    fn what_is_no_program_has_none() {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in [("script", &b"#!/bin/sh\n"[..]), ("torn", b"\x7fELF\x02\x01"), ("empty", b"")] {
            let path = dir.path().join(name);
            fs::write(&path, bytes).unwrap();
            assert_eq!(libraries(&path, Some("/lib")), BTreeMap::new());
        }
        let mut torn = fs::read(std::env::current_exe().unwrap()).unwrap();
        torn.truncate(4096);
        fs::write(dir.path().join("torn"), &torn).unwrap();
        assert_eq!(libraries(&dir.path().join("torn"), None), BTreeMap::new());
    }
}
