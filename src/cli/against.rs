//! The other revision of a file: from a path, or from stdin (`git show HEAD:study.plab | perflab plan study.plab --against -`).

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::console::Console;
use super::files::{self, Disk};
use crate::lang::sema::program::Study;
use crate::lang::source::Files;
use crate::lang::{Analysis, Given, Program, analyze_with};

/// An older revision, checked.
pub struct Old {
    name: String,
    analysis: Analysis,
}

/// The study in it that is compared with.
#[derive(Clone, Copy)]
pub struct Revision<'a> {
    pub file: &'a str,
    pub program: &'a Program,
    pub study: &'a Study,
}

/// Reads and checks it. What keeps it from being compared with has been said.
pub fn read(path: &Path, file: &Path, set: &[Given], console: Console) -> Option<Old> {
    let stdin = path == Path::new("-");
    let text = if stdin { standard_input() } else { files::read(path) };
    let text = match text {
        Ok(text) => text,
        Err(why) => {
            let help = "give another revision of the file, or `-` for one from stdin";
            console.error(&format!("{}: {why}", path.display()), help);
            return None;
        }
    };
    // what comes from stdin uses the files that lie beside the file that it is a revision of
    let name = if stdin { beside(file, Path::new("(stdin)")) } else { path.to_owned() };
    let disk = TwoPlaces { old: folder(&name).to_owned(), new: folder(file).to_owned() };
    let name = name.to_string_lossy().into_owned();
    // a param that the old revision does not have yet is not its mistake
    let analysis = analyze_with(&disk, &name, &text, set);
    if analysis.has_errors() {
        console.diagnostics(&analysis.diagnostics, &analysis.sources);
        return None;
    }
    let shown = if stdin { "stdin".to_owned() } else { name };
    Some(Old { name: shown, analysis })
}

impl Old {
    /// The study of the same name, or the only one that there is.
    pub fn study(&self, new: &Study, console: Console) -> Option<Revision<'_>> {
        let program = &self.analysis.program;
        let named = program.studies.iter().find(|s| s.name == new.name);
        let only = || if let [one] = program.studies.as_slice() { Some(one) } else { None };
        let Some(study) = named.or_else(only) else {
            let message = format!("{} has no study `{}` to compare with", self.name, new.name);
            console.error(&message, "give a revision that has it, or leave `--against` out");
            return None;
        };
        Some(Revision { file: &self.name, program, study })
    }
}

fn standard_input() -> Result<String, String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    files::text_of(bytes)
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn beside(file: &Path, name: &Path) -> PathBuf {
    folder(file).join(name)
}

/// Files that the old revision uses: beside it, else beside the new one.
struct TwoPlaces {
    old: PathBuf,
    new: PathBuf,
}

impl Files for TwoPlaces {
    fn read(&self, path: &str) -> Result<String, String> {
        let found = Disk.read(path);
        let Ok(relative) = Path::new(path).strip_prefix(&self.old) else { return found };
        match found {
            Err(_) if self.old != self.new => Disk.read(&self.new.join(relative).to_string_lossy()),
            found => found,
        }
    }
}
