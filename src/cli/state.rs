//! Where a study's state lies: `.perflab/STUDY/` beside the file, or the directory that `--dir` names.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::journal::{self, History};
use crate::report;
use crate::run::LIVE_FILE;

/// The files of a state directory that are put in their place whole.
pub const PLACED: [&str; 4] = [LIVE_FILE, "report.json", "report.md", "recommended.sh"];
/// What else perflab keeps in a state directory.
pub const KEPT: [&str; 3] = [journal::FILE, "lock", "trials"];

/// The state directory; a replay has one of its own.
pub fn directory(file: &Path, study: &str, dir: Option<&Path>, replay: bool) -> PathBuf {
    if let Some(dir) = dir {
        return dir.to_owned();
    }
    let beside = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = if replay { format!("{study}.replay") } else { study.to_owned() };
    beside.join(".perflab").join(name)
}

/// What helps where the directory is another study's.
pub const NAMES: &str = "give one of the two another name, or this one another directory with `--dir DIR`";

/// Whether another file beside this one has a study of the same name, and the directory that follows from it: what was measured there would
/// be taken for this one's. A file that is no more was renamed. A sentence.
pub fn of_another(file: &Path, study: &str, dir: Option<&Path>, history: &History) -> Option<String> {
    let other = other_file(file, study, history).filter(|_| dir.is_none())?;
    let dir = directory(file, study, None, false);
    Some(format!("{} is of the study `{study}` in {}", dir.display(), other.display()))
}

fn other_file(file: &Path, study: &str, history: &History) -> Option<PathBuf> {
    let last = &history.sessions().last()?.file;
    let name = Path::new(last).file_name().filter(|name| Some(*name) != file.file_name())?;
    let other = file.with_file_name(name);
    let text = std::fs::read_to_string(&other).ok()?;
    let words = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("study") && words.next().is_some_and(|w| w.trim_end_matches('{') == study)
    };
    text.lines().any(words).then_some(other)
}

/// Whether a journal is empty, or holds blanks or zeros alone as after a loss of power, and the logs of launches lie beside it: those are
/// begun after their lines in the journal.
pub fn was_emptied(journal: &Path) -> bool {
    let blank = |file: std::fs::File| {
        let said = |byte: std::io::Result<u8>| byte.is_ok_and(|b| b != 0 && !b.is_ascii_whitespace());
        !std::io::Read::bytes(std::io::BufReader::new(file)).any(said)
    };
    let is_empty = std::fs::metadata(journal).is_ok_and(|m| m.is_file())
        && std::fs::File::open(journal).is_ok_and(blank);
    is_empty && has_logs(journal)
}

/// What is to be known of a journal that is away, while the logs of launches lie where it was: nothing of them counts. A sentence.
pub fn was_removed(journal: &Path) -> Option<String> {
    let is_away = std::fs::symlink_metadata(journal).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    (is_away && has_logs(journal)).then(|| {
        let dir = journal.parent().unwrap_or(journal);
        format!(
            "{} holds logs of launches and no journal: nothing that they measured counts, and the study begins anew",
            dir.display()
        )
    })
}

/// Whether the logs of launches lie beside a journal.
fn has_logs(journal: &Path) -> bool {
    std::fs::read_dir(journal.with_file_name("trials")).is_ok_and(|mut d| d.next().is_some())
}

/// Whether the report in a state directory is another study's, which this one's will replace. A sentence.
pub fn report_of_another(dir: &Path, study: &str) -> Option<String> {
    let report = File::open(dir.join("report.json")).ok()?;
    let its = report::Head::read(BufReader::new(report))?;
    (its.study != study).then(|| {
        format!(
            "the report in {} is of the study `{}` in {}: that of this study takes its place, and the journal is both's (another \
             `--dir DIR` keeps them apart)",
            dir.display(),
            its.study,
            its.file
        )
    })
}

/// Engines and journals are told where they lie in words: a path of other bytes cannot be said. The error is a sentence and what helps.
pub fn can_be_said(study_dir: &Path, dir: &Path) -> Result<(), (String, &'static str)> {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    match [study_dir, &whole].into_iter().find(|path| path.to_str().is_none()) {
        None => Ok(()),
        Some(path) => {
            let message = format!("the path {} is not text in UTF-8", path.display());
            Err((message, "give its directories other names; `--dir DIR` keeps what is measured elsewhere"))
        }
    }
}

/// Makes the directory; the error is a sentence with the path.
pub fn make(dir: &Path) -> Result<(), String> {
    std::fs::create_dir_all(dir)
        .map_err(|e| format!("the state directory {} cannot be made: {e}", dir.display()))
}
