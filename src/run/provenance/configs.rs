//! The files that a configuration file names: `chat-template: chat.jinja` in the YAML of `--config`, scales and drafters in JSON. They count
//! like files that flags name; configuration files among them are followed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use saphyr_parser::{Event, Parser};
use serde_json::Value as Json;

use super::named::{Named, may_be_shown, path_of};
use super::uses::{Use, use_of};

/// Longer files are data.
const LONGEST: u64 = 1 << 20;
/// So are those that say more.
const MOST_LEAVES: usize = 4096;
/// Files that are read.
const MOST: usize = 64;

/// A text of a configuration file, and the name under which it stands.
type Leaf = (String, String);

/// What the configuration files among these words name. The model has an identity of its own.
pub fn named_by<'w>(words: impl Iterator<Item = &'w String>, model: &str, study_dir: &Path) -> Named {
    let mut reader =
        Reader { model, study_dir, found: Named::default(), seen: BTreeSet::new(), open: Vec::new() };
    words.filter_map(|word| path_of(word, study_dir)).for_each(|path| reader.follow(path));
    while let Some(path) = reader.open.pop() {
        for (name, text) in leaves(&path).unwrap_or_default() {
            reader.leaf(&name, &text, path.parent().unwrap_or(study_dir));
        }
    }
    reader.found
}

struct Reader<'a> {
    model: &'a str,
    study_dir: &'a Path,
    found: Named,
    seen: BTreeSet<PathBuf>,
    open: Vec<PathBuf>,
}

impl Reader<'_> {
    /// Remembers a file to be read, if it is one of these.
    fn follow(&mut self, path: PathBuf) {
        let is_one =
            is_json(&path) || ["yaml", "yml"].iter().any(|end| path.extension().is_some_and(|e| e == *end));
        let is_small = || fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= LONGEST);
        if !is_one || self.seen.len() >= MOST || !is_small() {
            return;
        }
        if path.canonicalize().is_ok_and(|real| self.seen.insert(real)) {
            self.open.push(path);
        }
    }

    fn leaf(&mut self, name: &str, text: &str, dir: &Path) {
        let how = use_of(name);
        let text = text.trim();
        if how == Use::Passed || text == self.model || self.word(text, dir, how) {
            return;
        }
        let pieces = text.split([',', '=', ':', '@', ' ']).filter(|p| !p.is_empty() && *p != text);
        for piece in pieces {
            self.word(piece, dir, how);
        }
    }

    /// Whether a word names something, from where engines run or from beside the file that says it.
    fn word(&mut self, word: &str, dir: &Path, how: Use) -> bool {
        if !may_be_shown(word) {
            return false;
        }
        let beside = dir.join(word);
        let beside = beside.strip_prefix(self.study_dir).unwrap_or(&beside).to_str().map(str::to_owned);
        let mut known = false;
        for key in BTreeSet::from([Some(word.to_owned()), beside]).into_iter().flatten() {
            let Some(path) = path_of(&key, self.study_dir) else { continue };
            let is_file = path.is_file();
            // a word of a file may be the name of a directory by accident
            if !is_file && (how == Use::Either || !word.contains('/') || !path.is_dir()) {
                continue;
            }
            known = true;
            if how == Use::Either {
                self.found.perhaps_written.insert(key.clone());
            }
            self.found.there.insert(key);
            self.follow(path);
        }
        known
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "json")
}

/// The texts of a file; `None` where it is not to be read as what its name says, or is data.
fn leaves(path: &Path) -> Option<Vec<Leaf>> {
    let text = fs::read_to_string(path).ok()?;
    let mut leaves = Vec::new();
    if is_json(path) {
        of_json("", &serde_json::from_str(&text).ok()?, &mut leaves);
    } else {
        of_yaml(&text, &mut leaves)?;
    }
    (leaves.len() <= MOST_LEAVES).then_some(leaves)
}

fn of_json(name: &str, json: &Json, leaves: &mut Vec<Leaf>) {
    match json {
        Json::String(text) => leaves.push((name.to_owned(), text.clone())),
        Json::Array(all) => all.iter().for_each(|one| of_json(name, one, leaves)),
        Json::Object(map) => map.iter().for_each(|(key, one)| of_json(key, one, leaves)),
        _ => {}
    }
}

/// Every scalar that is no key, under the nearest key above it.
fn of_yaml(text: &str, leaves: &mut Vec<Leaf>) -> Option<()> {
    // of each mapping the key whose value comes next; of each list the key that it stands under
    let mut open: Vec<(bool, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let name = open.last().and_then(|(_, name)| name.clone());
        match event.ok()?.0 {
            Event::MappingStart(..) => open.push((true, None)),
            Event::SequenceStart(..) => open.push((false, name)),
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                done(&mut open);
            }
            Event::Scalar(text, ..) => {
                if let Some((true, key @ None)) = open.last_mut() {
                    *key = Some(text.into_owned());
                } else {
                    leaves.push((name.unwrap_or_default(), text.into_owned()));
                    done(&mut open);
                }
            }
            Event::Alias(_) => done(&mut open),
            _ => {}
        }
        if leaves.len() > MOST_LEAVES {
            return None;
        }
    }
    Some(())
}

/// The value of a mapping's key was there.
fn done(open: &mut [(bool, Option<String>)]) {
    if let Some((true, key)) = open.last_mut() {
        *key = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    fn named(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let dir = folder::of(files);
        let words = [files[0].0.to_owned()];
        let found = named_by(words.iter(), "org/m", dir.path());
        (found.there.into_iter().collect(), found.perhaps_written.into_iter().collect())
    }

    #[test]
    fn what_yaml_names_counts_and_is_followed() {
        let (there, written) = named(&[
            (
                "conf/serve.yaml",
                "model: org/m\nchat-template: chat.jinja\nlora-modules:\n  - sql=adapters/sql\n  - other\nlog-file: engine.log\n\
                 lookup-cache: look.bin\ndtype: auto\nmore:\n  deep: [{path: next.json}]\n",
            ),
            ("chat.jinja", ""),
            ("adapters/sql/a.bin", ""),
            ("engine.log", ""),
            ("look.bin", ""),
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
                "look.bin"
            ]
        );
        assert_eq!(written, ["look.bin"]);
    }

    #[test]
    fn what_is_no_configuration_is_not_followed() {
        for (name, text) in [("a.txt", "path: b"), ("a.yaml", "{broken: [b"), ("a.json", "{\"path\": b}")] {
            assert_eq!(named(&[(name, text), ("b", "")]).0, [] as [&str; 0], "{name}");
        }
        let many = format!("[{}]", vec!["\"b\""; MOST_LEAVES + 1].join(","));
        assert_eq!(named(&[("a.json", &many), ("b", "")]).0, [] as [&str; 0]);
    }
}
