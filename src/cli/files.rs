//! Study files from disk: what can be wrong with a path, in words, and the analysis of what is there.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::console::Console;
use super::used::{self, Homes};
use super::{stated, unreadable};
use crate::lang::given;
use crate::lang::sema::program::{NotYet, Study};
use crate::lang::sema::without_mark;
use crate::lang::source::Files;
use crate::lang::{Analysis, Given, Program, analyze_whole, fix, stdlib};
use crate::plan::config::short_hash;
use crate::plan::reviewed;
use crate::secrets;

/// The disk, for what a study uses.
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> Result<String, String> {
        read(Path::new(path))
    }

    fn beside(&self, path: &str) -> Vec<String> {
        let folder = Path::new(path).parent().filter(|p| !p.as_os_str().is_empty());
        let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().take(MOST_BESIDE);
        let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
        names.filter(|name| Path::new(name).extension().is_some_and(|e| e == "plab")).collect()
    }
}

/// Entries of a folder among which a name is looked for.
const MOST_BESIDE: usize = 1000;

/// The text of a file, or in words why there is none.
pub fn read(path: &Path) -> Result<String, String> {
    let bytes = bytes_of(path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::IsADirectory => "this is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        _ => e.to_string(),
    })?;
    text_of(bytes)
}

/// The beginning of a file that is larger than any study: that it is too large can be told from it, and a device has no end.
pub fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    const MOST_BYTES: u64 = 16 << 20;
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What bytes say, or in words why they are no text; the secrets that they state are known from here on.
pub fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("it is not UTF-8 text (byte {at} is not)")
    })?;
    secrets::learn_source(&text);
    Ok(text)
}

/// The analysis of a text as the file at a path, with far more diagnostics than are listed.
pub fn analysis_of(path: &Path, text: &str, set: &[Given]) -> Analysis {
    secrets::learn(set.iter().filter(|g| secrets::is_secret(&g.name)).map(|g| g.value.clone()));
    secrets::learn(set.iter().flat_map(|g| secrets::inside(&g.name, &g.value)));
    let mut analysis = analyze_whole(&Disk, &path.to_string_lossy(), text, set);
    stated::learn(&mut analysis.program);
    reviewed(analysis)
}

/// Reads and analyses a file. What keeps it from being read has been said.
pub fn analysis(path: &Path, set: &[Given], console: Console) -> Option<Analysis> {
    match read(path) {
        Ok(text) => analysed(path, &text, set, &mut Homes::default(), console),
        Err(why) => {
            console.error(&format!("{}: {why}", path.display()), "give the path of a .plab file");
            None
        }
    }
}

/// The same for `check`: that a file cannot be read is a diagnostic like others.
pub fn checked(path: &Path, set: &[Given], homes: &mut Homes, console: Console) -> Option<Analysis> {
    match read(path) {
        Ok(text) => analysed(path, &text, set, homes, console),
        Err(why) => Some(unreadable::analysis(path, &why)),
    }
}

/// The analysis of a file's text, unless a param was given that it does not take, which has been said.
fn analysed(path: &Path, text: &str, set: &[Given], homes: &mut Homes, console: Console) -> Option<Analysis> {
    let mut analysis = analysis_of(path, text, set);
    fix::complete(without_mark(text), &mut analysis, &|t| analysis_of(path, t, set));
    used::as_at_home(&mut analysis, homes);
    let analysis = analysis.listed();
    for refused in &analysis.refused {
        console.error(&refused.message, &refused.help);
    }
    analysis.refused.is_empty().then_some(analysis)
}

/// A hash of everything that the file says, that of the files which it uses included.
pub fn hash(analysis: &Analysis) -> String {
    let own = analysis.sources.iter().map(|(_, s)| s);
    let own = own.filter(|s| s.name != given::SOURCE && !stdlib::is_part(&s.name));
    short_hash(&own.map(|s| s.text.as_str()).collect::<Vec<_>>().join("\0"))
}

/// The study that is meant: the only one, or the one that is named.
pub fn study<'a>(
    program: &'a Program,
    name: Option<&str>,
    path: &Path,
    console: Console,
) -> Option<&'a Study> {
    let names: Vec<&str> = program.studies.iter().map(|s| s.name.as_str()).collect();
    let file = path.display();
    match (program.studies.as_slice(), name) {
        ([], _) => {
            console.error(&format!("{file} has no study"), "add `study NAME { … }`, or give another file");
            None
        }
        ([one], None) => Some(one),
        (_, None) => {
            let help = format!("name one of them: {}", names.join(", "));
            console.error(&format!("{file} has {} studies", names.len()), &help);
            None
        }
        (all, Some(wanted)) => {
            let found = all.iter().find(|s| s.name == wanted);
            if found.is_none() {
                let help = format!("it has {}", names.join(", "));
                console.error(&format!("{file} has no study `{wanted}`"), &help);
            }
            found
        }
    }
}

/// What of a study this version cannot carry out; in a replay only what decisions need counts.
pub fn refused<'a>(program: &'a Program, study: &'a Study, replay: bool) -> Vec<&'a NotYet> {
    program.not_yet.iter().chain(&study.not_yet).filter(|n| !(replay && n.live_only)).collect()
}
