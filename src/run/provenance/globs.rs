//! Patterns of a shell that stand for files: `conf.d/*.env`. What counts is which files match, and what they hold.

use std::path::{Path, PathBuf};

use glob::{Pattern, glob};

use super::named::{may_be_shown, path_of};
use super::{contents, homes};
use crate::plan::config::short_hash;

/// More files are data.
const MOST: usize = 256;
/// Parts of a pattern.
const DEEPEST: usize = 4;

/// Whether a word stands for files that match it: in one directory (`conf.d/*.env`), or in those below it that match (`adapters/*/x.json`,
/// `conf/**/*.yaml`). All of the directory in which engines run is none.
pub fn is_one(word: &str) -> bool {
    let (dir, name) = split(word);
    let all = name.chars().all(|c| matches!(c, '*' | '/')) && dir.is_empty();
    let is_plain = !homes::rest_of(word).contains(['$', '{', '|', '\\']);
    // of a whole tree only one that is named
    let is_wide = name.contains('/') && dir.is_empty() && name.starts_with("**");
    is_open(name) && !all && !is_wide && name.matches('/').count() < DEEPEST && is_plain && may_be_shown(word)
}

fn is_open(text: &str) -> bool {
    text.contains(['*', '?']) || text.contains('[') && text.contains(']')
}

/// The files that match, in their order.
pub fn files(word: &str, study_dir: &Path) -> Vec<PathBuf> {
    matching(word, study_dir).filter(|path| path.is_file()).take(MOST).collect()
}

/// All that match, files and directories.
pub fn all(word: &str, study_dir: &Path) -> Vec<PathBuf> {
    matching(word, study_dir).take(MOST).collect()
}

/// Whatever matches, in its order.
fn matching(word: &str, study_dir: &Path) -> impl Iterator<Item = PathBuf> {
    let (dir, name) = split(word);
    let dir = at(dir, study_dir);
    let pattern = format!("{}/{}", Pattern::escape(&dir.to_string_lossy()), of_shell(name));
    let found = glob(&pattern).into_iter().flatten().flatten();
    // what is hidden is meant by its dot alone; the crate's own option for that finds no hidden file at all
    let is_hidden = |path: &Path| path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
    let with_dot = name.rsplit('/').next().is_some_and(|last| last.starts_with('.'));
    let lies_hidden = move |path: &Path| {
        let above = path.strip_prefix(&dir).unwrap_or(path).parent().unwrap_or(path);
        above.ancestors().any(is_hidden)
    };
    // `adapters/*/`
    let of_dirs = word.ends_with('/');
    let is_meant = move |path: &PathBuf| {
        is_hidden(path) == with_dot && !lies_hidden(path) && (!of_dirs || path.is_dir())
    };
    found.filter(is_meant)
}

/// A hash over which files match, what they hold and which of them may be run, and which directories do: of several a script may take
/// the newest (`ls -d v*`).
/// `None` where nothing matches.
pub fn identity(word: &str, study_dir: &Path) -> Option<String> {
    let (dir, _) = split(word);
    let dir = at(dir, study_dir);
    let entry = |path: PathBuf| {
        let above = path.strip_prefix(&dir).ok().and_then(Path::parent).filter(|p| !p.as_os_str().is_empty());
        let above = above.map(|above| format!("{}/", above.display())).unwrap_or_default();
        Some(above + &contents::entry(&path)?)
    };
    let found: Vec<String> = if is_one(word) {
        matching(word, study_dir).filter_map(entry).take(MOST).collect()
    } else {
        Vec::new()
    };
    (!found.is_empty()).then(|| short_hash(&found.concat()))
}

/// The directory that a pattern begins with, and what of it is open.
fn split(word: &str) -> (&str, &str) {
    let word = word.trim_end_matches('/');
    let mut at = 0;
    for part in word.split_inclusive('/') {
        if is_open(part) {
            break;
        }
        at += part.len();
    }
    if at < word.len() {
        (word[..at].trim_end_matches('/'), &word[at..])
    } else {
        word.rsplit_once('/').unwrap_or(("", word))
    }
}

fn at(dir: &str, study_dir: &Path) -> PathBuf {
    path_of(dir, study_dir).unwrap_or_else(|| study_dir.join(dir))
}

/// A name as a shell means it: two asterisks are one there, and bash has another sign for "none of these".
fn of_shell(name: &str) -> String {
    let part = |part: &str| {
        let mut text = part.replace("[^", "[!");
        // but where it is all of a part, and files of all directories below are meant
        while text.contains("**") && (part != "**" || name == "**") {
            text = text.replace("**", "*");
        }
        text
    };
    name.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_that_match_count_by_name_and_bytes() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("conf.d")).expect("made");
        assert_eq!(identity("conf.d/*.env", dir.path()), None);
        let mut seen = Vec::new();
        for (name, text) in
            [("conf.d/a.env", "1"), ("conf.d/a.env", "2"), ("conf.d/b.env", "2"), ("conf.d/b.txt", "2")]
        {
            fs::write(at(name), text).expect("written");
            seen.push(identity("conf.d/*.env", dir.path()).expect("some"));
        }
        assert!(seen[0] != seen[1] && seen[1] != seen[2] && seen[2] == seen[3], "{seen:?}");
        fs::create_dir(at("conf.d/v1.env")).expect("made");
        assert_ne!(identity("conf.d/*.env", dir.path()), seen.pop(), "a directory that matches");
        assert_eq!(files("conf.d/*.env", dir.path()).len(), 2);
        fs::write(at("flags.env"), "").expect("written");
        for word in ["flags.e?v", "./flags.*", "fl[a-z]gs.env", "[!a-e]lags.env", "[^a-e]lags.env", "**.env"]
        {
            assert!(is_one(word) && files(word, dir.path()).len() == 1, "{word}");
        }
        fs::write(at(".hidden.env"), "").expect("written");
        assert_eq!(files("*.env", dir.path()), [at("flags.env")], "what is hidden is meant by its dot alone");
        assert_eq!(files(".*.env", dir.path()), [at(".hidden.env")]);
        for word in ["*", "a", "$A/*", "**/a", "conf.d/a.env", "*/*/*/*/a"] {
            assert!(!is_one(word), "{word}");
        }
        fs::write(at("conf.d/v1.env/x.env"), "").expect("written");
        fs::create_dir(at("conf.d/.git")).expect("made");
        fs::write(at("conf.d/.git/x.env"), "").expect("written");
        for word in ["*/v1.env/x.env", "conf.d/*/x.env", "conf.d/*/*.env"] {
            assert_eq!(files(word, dir.path()), [at("conf.d/v1.env/x.env")], "{word}");
        }
        assert_eq!(files("conf.d/**/*.env", dir.path()).len(), 3);
        assert_eq!(all("conf.d/*/", dir.path()), [at("conf.d/v1.env")]);
    }
}
