//! The files that a configuration file names: `chat-template: chat.jinja` in the YAML of `--config`, scales and drafters in JSON, presets in
//! INI and TOML. They count like files that flags name; configuration files among them are followed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::named::{BETWEEN, Named, looks_like_a_file, may_be_shown, path_of};
use super::uses::{Use, is_of_place, use_of};
use super::{globs, leaves};

/// Longer files are data.
const LONGEST: u64 = 1 << 20;
/// Entries of a directory that are looked at.
const MOST_ENTRIES: usize = 256;
/// Files that are read.
const MOST: usize = 64;

/// What the configuration files among these words name. The model has an identity of its own. `is_stated` says of a word that a flag or
/// a variable names it, so that a file without an ending may be one too.
pub fn named_by<'w>(
    words: impl Iterator<Item = &'w String>,
    is_stated: impl Fn(&str) -> bool,
    model: &str,
    study_dir: &Path,
) -> Named {
    let mut reader =
        Reader { model, study_dir, found: Named::default(), seen: BTreeSet::new(), open: Vec::new() };
    for word in words {
        let has_form = |path: &PathBuf| path.extension().is_some() || path.is_dir() || is_stated(word);
        path_of(word, study_dir).filter(has_form).into_iter().for_each(|path| reader.enter(path));
    }
    while let Some(path) = reader.open.pop() {
        for (name, text) in leaves::of(&path).unwrap_or_default() {
            let from =
                From { dir: path.parent().unwrap_or(study_dir), by_grammar: leaves::have_grammar(&path) };
            reader.leaf(&name, &text, &from);
        }
    }
    reader.found
}

/// The file that says a word.
struct From<'f> {
    dir: &'f Path,
    /// it is of a form with a grammar: a line of another one may name the directory of anything
    by_grammar: bool,
}

struct Reader<'a> {
    model: &'a str,
    study_dir: &'a Path,
    found: Named,
    seen: BTreeSet<PathBuf>,
    open: Vec<PathBuf>,
}

impl Reader<'_> {
    /// A file, or the files of a directory: that of an adapter names its base.
    fn enter(&mut self, path: PathBuf) {
        if !path.is_dir() {
            return self.follow(path);
        }
        let entries = fs::read_dir(&path).into_iter().flatten().flatten().take(MOST_ENTRIES);
        let mut files: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.is_file()).collect();
        files.sort();
        // without an ending there are too many things that it may be
        files.retain(|p| p.extension().is_some());
        for file in files {
            self.follow(file);
        }
    }

    /// Remembers a file to be read, if it is one of these.
    fn follow(&mut self, path: PathBuf) {
        let is_small = || fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= LONGEST);
        if !leaves::are_in(&path) || self.seen.len() >= MOST || !is_small() {
            return;
        }
        if path.canonicalize().is_ok_and(|real| self.seen.insert(real)) {
            self.open.push(path);
        }
    }

    fn leaf(&mut self, name: &str, text: &str, from: &From<'_>) {
        let how = use_of(name);
        let text = text.trim();
        if how == Use::Passed || text == self.model || self.word(text, from, name) {
            return;
        }
        text.split(char::is_whitespace).for_each(|word| self.pattern(word, from));
        let pieces = text.split(BETWEEN).filter(|p| !p.is_empty() && *p != text);
        let known = pieces.filter(|piece| self.word(piece, from, name)).count() > 0;
        if !known && how == Use::Read && looks_like_a_file(text) && may_be_shown(text) {
            let is_missing = path_of(text, self.study_dir).is_some_and(|path| !path.exists());
            self.found.absent.extend(is_missing.then(|| text.to_owned()));
        }
    }

    /// Files that a line takes in by a pattern: `include conf.d/*.conf`. They are followed too.
    fn pattern(&mut self, word: &str, from: &From<'_>) {
        let word = word.rsplit(['=', ':']).next().unwrap_or(word).trim_matches(['"', '\'']);
        if !globs::is_one(word) || !word.contains('/') && !word.contains('.') {
            return;
        }
        let beside = from.dir.join(word);
        let beside = beside.strip_prefix(self.study_dir).unwrap_or(&beside).to_str().map(str::to_owned);
        for key in BTreeSet::from([Some(word.to_owned()), beside]).into_iter().flatten() {
            let files = globs::files(&key, self.study_dir);
            if files.is_empty() {
                continue;
            }
            self.found.there.insert(key);
            for path in files {
                self.enter(path);
            }
        }
    }

    /// Whether a word under a name names something, from where engines run or from beside the file that says it.
    fn word(&mut self, word: &str, from: &From<'_>, name: &str) -> bool {
        let how = use_of(name);
        if !may_be_shown(word) {
            return false;
        }
        let beside = from.dir.join(word);
        let beside = beside.strip_prefix(self.study_dir).unwrap_or(&beside).to_str().map(str::to_owned);
        let mut known = false;
        for key in BTreeSet::from([Some(word.to_owned()), beside]).into_iter().flatten() {
            let Some(path) = path_of(&key, self.study_dir) else { continue };
            let is_file = path.is_file();
            // a word of a file may be the name of a directory by accident, but not behind `plugin_dir`
            let is_path = from.by_grammar && word.contains('/') || is_of_place(name);
            let may_be_dir = how != Use::Either && is_path;
            if !(is_file || may_be_dir && path.is_dir()) {
                continue;
            }
            known = true;
            if how == Use::Either {
                self.found.perhaps_written.insert(key.clone());
            }
            self.found.there.insert(key);
            self.enter(path);
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    fn named(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let dir = folder::of(files);
        let words = [files[0].0.to_owned()];
        let found = named_by(words.iter(), |_| false, "org/m", dir.path());
        (found.there.into_iter().collect(), found.perhaps_written.into_iter().collect())
    }

    #[test]
    fn patterns_of_files_that_are_taken_in_count_and_are_followed() {
        let (there, _) = named(&[
            ("conf/serve.conf", "port=1\ninclude conf.d/*.conf\ninclude: none.d/*.conf\n"),
            ("conf/conf.d/a.conf", "scales=./scales.json\n"),
            ("conf/conf.d/scales.json", "[]"),
        ]);
        assert_eq!(there, ["conf/conf.d/*.conf", "conf/conf.d/./scales.json"]);
    }

    #[test]
    fn what_yaml_names_counts_and_is_followed() {
        let (there, written) = named(&[
            (
                "conf/serve.yaml",
                "model: org/m\nchat-template: chat.jinja\nlora-modules:\n  - sql=adapters/sql\n  - other\nlog-file: engine.log\n\
                 lookup-cache: look.bin\nplugin_dir: ext\ndtype: auto\nmore:\n  deep: [{path: next.json}]\n",
            ),
            ("chat.jinja", ""),
            ("adapters/sql/a.bin", ""),
            ("engine.log", ""),
            ("look.bin", ""),
            ("ext/a.py", ""),
            ("auto/x", ""),
            ("conf/next.json", r#"{"scales": "./scales.json", "back": "serve.yaml", "n": 1}"#),
            ("conf/scales.json", "[]"),
        ]);
        assert_eq!(
            there,
            [
                "adapters/sql",
                "chat.jinja",
                "conf/./scales.json",
                "conf/next.json",
                "conf/serve.yaml",
                "ext",
                "look.bin"
            ]
        );
        assert_eq!(written, ["look.bin"]);
    }

    #[test]
    fn what_is_no_configuration_is_not_followed() {
        for (name, text) in [("a.bin", "path: b"), ("a.yaml", "{broken: [b"), ("a.json", "{\"path\": b}")] {
            assert_eq!(named(&[(name, text), ("b", "")]).0, [] as [&str; 0], "{name}");
        }
        let many = format!("[{}]", vec!["\"b\""; leaves::MOST_LEAVES + 1].join(","));
        assert_eq!(named(&[("a.json", &many), ("b", "")]).0, [] as [&str; 0]);
    }
}
