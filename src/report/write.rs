//! The report's files in the study's directory. Each is written beside its place and renamed into it, so that a
//! reader never meets half a file and a full disk leaves the old one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::document::Report;
use super::markdown::write_markdown;
use super::shell::shell;
use crate::{disk, secrets};

/// Where the files lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub markdown: PathBuf,
    pub json: PathBuf,
    /// `None` when nothing is recommended; an older script is removed then.
    pub script: Option<PathBuf>,
}

/// Why a file of the report could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A recommendation that no longer holds must not stay behind.
    #[error("cannot remove {}: {source}", path.display())]
    Remove { path: PathBuf, source: io::Error },
}

/// Writes `report.md`, `report.json` and an executable `recommended.sh` into the directory, which must exist.
pub fn write(report: &Report, dir: &Path) -> Result<Written, WriteError> {
    let json = document(dir, "report.json", report)?;
    let markdown = page(dir, "report.md", report)?;
    let script = match shell(report) {
        Some(text) => Some(place(dir, "recommended.sh", &text, 0o755)?),
        None => remove(dir.join("recommended.sh"))?,
    };
    Ok(Written { markdown, json, script })
}

/// Puts the document in its place, as it is made: that of a long study has tens of megabytes.
fn document(dir: &Path, name: &str, report: &Report) -> Result<PathBuf, WriteError> {
    let path = dir.join(name);
    let written = disk::place_by(&path, 0o644, |file| {
        let mut out = secrets::DocumentWriter::new(io::BufWriter::new(file));
        report.write_json(&mut out)?;
        out.finish()
    });
    written.map(|()| path.clone()).map_err(|source| WriteError::Write { path, source })
}

/// The same for the page.
fn page(dir: &Path, name: &str, report: &Report) -> Result<PathBuf, WriteError> {
    let path = dir.join(name);
    let written = disk::place_by(&path, 0o644, |file| {
        let mut out = secrets::MaskedWriter::new(io::BufWriter::new(file));
        write_markdown(report, &mut out)?;
        out.finish()
    });
    written.map(|()| path.clone()).map_err(|source| WriteError::Write { path, source })
}

/// Puts one file in its place; the mode is what the user's umask leaves of it.
fn place(dir: &Path, name: &str, text: &str, mode: u32) -> Result<PathBuf, WriteError> {
    let path = dir.join(name);
    match disk::place(&path, secrets::mask_document(text).as_bytes(), mode) {
        Ok(()) => Ok(path),
        Err(source) => Err(WriteError::Write { path, source }),
    }
}

fn remove(path: PathBuf) -> Result<Option<PathBuf>, WriteError> {
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(WriteError::Remove { path, source }),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::fixture;
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries =
            fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn writes_and_takes_back() {
        let dir = tempfile::tempdir().expect("a directory");
        let report = fixture::full();
        let written = write(&report, dir.path()).expect("written");
        assert_eq!(names(dir.path()), ["recommended.sh", "report.json", "report.md"]);
        // the rest is the user's umask
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o700;
        assert_eq!(mode(written.script.as_deref().expect("a script")), 0o700);
        assert_eq!(mode(&written.json), 0o600);
        let text = fs::read_to_string(&written.json).expect("text");
        assert_eq!(Report::from_json(&text).expect("reads"), report);

        let written = write(&fixture::nothing_recommended(), dir.path()).expect("written again");
        assert_eq!(written.script, None);
        assert_eq!(names(dir.path()), ["report.json", "report.md"]);
    }

    #[test]
    fn names_the_file_it_could_not_write() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join("report.md/inside")).expect("in the way");
        let error = write(&fixture::full(), dir.path()).expect_err("a directory is in the way").to_string();
        assert!(error.starts_with("cannot write ") && error.contains("report.md: "), "{error}");
        assert_eq!(names(dir.path()), ["report.json", "report.md"], "no draft stays behind");
        let error =
            write(&fixture::full(), &dir.path().join("absent")).expect_err("no directory").to_string();
        assert!(error.contains("absent/report.json: "), "{error}");
    }
}
