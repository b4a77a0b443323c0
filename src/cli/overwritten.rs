//! What `--events FILE` may not overwrite: what a study is read from or names, and what perflab keeps of it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::measure::study_dir;
use super::{site, state};
use crate::lang::comments::start_of_comment;
use crate::lang::given;
use crate::lang::sema::program::{Data, Program};
use crate::lang::source::Sources;
use crate::lang::stdlib;

/// Links to links, at most, as the kernel has it.
const LINKS: usize = 40;

/// Files that a study is read from: its own, those that it uses, its site and its data; and those that its lines name, which engines read.
pub fn read_from(
    file: &Path,
    named_site: Option<&Path>,
    sources: &Sources,
    program: &Program,
) -> Vec<PathBuf> {
    let own = sources.iter().map(|(_, s)| s.name.as_str());
    let own = own.filter(|n| *n != given::SOURCE && !stdlib::is_part(n)).map(PathBuf::from);
    let dir = study_dir(file);
    let data = program.profiles.values().flat_map(|p| {
        let data = match &p.data {
            Some(Data::Jsonl(path) | Data::Trace(path) | Data::Conversations(path)) => Some(path),
            _ => None,
        };
        data.into_iter().chain(&p.tokenizer)
    });
    let of_site = program.site.iter().flat_map(|s| s.data.values());
    let named = sources.iter().filter(|(_, s)| !stdlib::is_part(&s.name)).flat_map(|(_, s)| words(&s.text));
    let named = named.map(|word| dir.join(word)).filter(|path| path.is_file());
    let read = own.chain(site::file_for(named_site, file)).chain(data.chain(of_site).map(|p| dir.join(p)));
    read.chain(named).collect()
}

/// What of a study's text may be the name of a file: `--config=serve.yaml`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let in_path = |c: char| c.is_alphanumeric() || "._-+@/~".contains(c);
    let code = |line: &'_ str| start_of_comment(line).unwrap_or(line.len());
    text.lines()
        .flat_map(move |line| line[..code(line)].split(move |c| !in_path(c)))
        .filter(|w| w.contains(['.', '/']))
}

/// What is lost if a file is overwritten, as a sentence.
pub fn trouble(path: &Path, read_from: &[PathBuf], dir: &Path) -> Option<String> {
    let place = settled(path);
    let same =
        |other: &Path| place == settled(other) || identity(path).is_some_and(|i| identity(other) == Some(i));
    if let Some(used) = read_from.iter().find(|f| same(f)) {
        return Some(format!("{} is {}, which the study reads or names", path.display(), used.display()));
    }
    let kept = place.strip_prefix(settled(dir)).is_ok_and(is_kept) || below(dir).iter().any(|f| same(f));
    kept.then(|| format!("{} is a file that perflab keeps in {}", path.display(), dir.display()))
}

/// Whether a path within the state directory is one of perflab's own.
fn is_kept(within: &Path) -> bool {
    let name = within.iter().next().unwrap_or_default().to_string_lossy();
    let own = state::PLACED.iter().chain(&state::KEPT).any(|n| *n == name);
    own || name.starts_with("journal.") || name.starts_with("report.")
}

/// perflab's own files that are in the state directory now.
fn below(dir: &Path) -> Vec<PathBuf> {
    let (mut files, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.strip_prefix(dir).is_ok_and(is_kept) {
                continue;
            }
            let is_dir = entry.file_type().is_ok_and(|t| t.is_dir());
            if is_dir { dirs.push(path) } else { files.push(path) }
        }
    }
    files
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|m| (m.dev(), m.ino()))
}

/// Where a path leads, links followed, also where nothing is there yet.
fn settled(path: &Path) -> PathBuf {
    let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for _ in 0..LINKS {
        let Ok(to) = fs::read_link(&path) else { break };
        path = path.parent().map_or_else(|| to.clone(), |dir| dir.join(&to));
    }
    if let Ok(there) = path.canonicalize() {
        return there;
    }
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => settled(dir).join(name),
        _ => path,
    }
}
