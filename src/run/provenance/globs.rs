//! Patterns of a shell that stand for files: `conf.d/*.env`. What counts is which files match, and what they hold.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::named::{may_be_shown, path_of};
use crate::hub;
use crate::plan::config::short_hash;

/// More files are data.
const MOST: usize = 256;

/// Whether a word stands for the files of one directory that match it. All of the directory in which engines run is none.
pub fn is_one(word: &str) -> bool {
    let (dir, name) = split(word);
    let is_open = |text: &str| text.contains(['*', '?']) || text.contains('[') && text.contains(']');
    let all = name.chars().all(|c| c == '*') && dir.is_empty();
    is_open(name) && !is_open(dir) && !all && !word.contains(['$', '{', '|', '\\']) && may_be_shown(word)
}

/// The files that match, in their order.
pub fn files(word: &str, study_dir: &Path) -> Vec<PathBuf> {
    let (dir, name) = split(word);
    let (Some(pattern), Ok(entries)) = (regex(name), fs::read_dir(at(dir, study_dir))) else {
        return Vec::new();
    };
    let matches = |path: &PathBuf| {
        let own = path.file_name().and_then(|n| n.to_str());
        own.is_some_and(|n| pattern.is_match(n) && n.starts_with('.') == name.starts_with('.'))
            && path.is_file()
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(matches).take(MOST).collect();
    files.sort();
    files
}

/// A hash over which files match and what they hold; `None` where none does.
pub fn identity(word: &str, study_dir: &Path) -> Option<String> {
    let files = if is_one(word) { files(word, study_dir) } else { Vec::new() };
    let held = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("{name} {}\n", hub::identity(path).unwrap_or_default())
    };
    (!files.is_empty()).then(|| short_hash(&files.iter().map(held).collect::<String>()))
}

fn split(word: &str) -> (&str, &str) {
    word.rsplit_once('/').unwrap_or(("", word))
}

fn at(dir: &str, study_dir: &Path) -> PathBuf {
    path_of(dir, study_dir).unwrap_or_else(|| study_dir.join(dir))
}

/// What a shell means by a pattern.
fn regex(name: &str) -> Option<Regex> {
    let mut text = String::from("^");
    for c in name.chars() {
        match c {
            '*' => text.push_str(".*"),
            '?' => text.push('.'),
            '[' | ']' | '-' => text.push(c),
            '!' if text.ends_with('[') => text.push('^'),
            c => text.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    Regex::new(&(text + "$")).ok()
}

#[cfg(test)]
mod tests {
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
        fs::write(at("flags.env"), "").expect("written");
        for word in ["flags.e?v", "./flags.*", "fl[a-z]gs.env", "[!a-e]lags.env"] {
            assert!(is_one(word) && files(word, dir.path()).len() == 1, "{word}");
        }
        for word in ["*", "a", "$A/*", "*/a", "conf.d/a.env"] {
            assert!(!is_one(word), "{word}");
        }
    }
}
