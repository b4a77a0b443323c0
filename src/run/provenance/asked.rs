//! What a shell script asks of files and does not read: whether they are there, may be run, or are newer than others, where links lead,
//! which programs there are.

use std::path::{Path, PathBuf};

use super::named::{looks_like_a_file, may_be_shown, path_of};
use super::opened::is_log;
use super::script_words::{Place, Script, is_for_everybody, with_open_variables};
use super::shell::{TESTS, Word, first_of, rest_of};
use super::sought::Name;
use super::starts::{ON_PATH, holds};
use super::uses::{Use, use_of};
use super::{globs, leads, quoted, states};
use crate::{disk, hub};

/// What asks whether a file is there, of some kind.
const FOR_FILES: [&str; 7] = ["-e", "-f", "-h", "-L", "-r", "-s", "-x"];
/// What asks which of two was written later.
const BY_AGE: [&str; 2] = ["-nt", "-ot"];
/// Commands that say where links lead.
const FOLLOWERS: [&str; 2] = ["readlink", "realpath"];
/// Commands that say whether there is a program.
const FINDERS: [&str; 3] = ["which", "type", "hash"];
/// Commands that read files, or say whether they are there.
const READERS: [&str; 12] =
    ["cat", "head", "tail", "grep", "egrep", "fgrep", "sed", "awk", "wc", "ls", ".", "source"];
/// Those of them whose first word says what is looked for in the files.
const MATCHERS: [&str; 5] = ["grep", "egrep", "fgrep", "sed", "awk"];
/// Names that one program may ask for, there or not, that count.
const MOST_SOUGHT: usize = 256;

impl<'s> Script<'_, '_, 's> {
    /// `[ -f slow.flag ]`, `readlink current`, `command -v tuner`, `cat extra.args`
    pub fn asked_for(&mut self, words: &[Word]) {
        let first = first_of(words);
        let texts: Vec<&str> = words.iter().filter(|w| !w.is_written).map(|w| w.text.as_str()).collect();
        for word in words.iter().filter(|w| w.is_read) {
            self.read_if_there(&word.text);
        }
        if TESTS.contains(&first) {
            self.tested(&texts);
        } else if FOLLOWERS.contains(&first) {
            self.followed(&texts);
        } else if READERS.contains(&first) {
            if first == "ls" && texts.iter().any(|w| holds(w, 't')) {
                self.listed_by_age(&texts);
            }
            for word in read_words(first, &texts) {
                self.read_if_there(word);
            }
        } else if first == "find" {
            self.looked_for(&texts);
        } else if let Some(at) = texts.iter().position(|w| FINDERS.contains(w) || *w == "-v") {
            let is_asked = at > 0 && texts[at - 1] == "command" || FINDERS.contains(&first);
            for name in texts[at + 1..].iter().filter(|w| is_asked && !w.starts_with('-')) {
                self.program_asked_for(name);
            }
        }
    }

    /// `cat extra.args`, `grep -qs fast modes`, `read -r line <mode`
    fn read_if_there(&mut self, word: &str) {
        let is_plain = |c: char| c.is_alphanumeric() || "._-+/@~$:,={}".contains(c);
        // a name without an ending says no more than that of a place
        let is_path = word.contains(['.', '/']);
        if word.chars().all(is_plain) && (is_path || use_of(word) == Use::Read && !word.contains('=')) {
            self.perhaps_missing(word);
        }
    }

    /// `find . -name turbo.flag`
    fn looked_for(&mut self, words: &[&str]) {
        let at = words.iter().position(|w| *w == "find").map_or(words.len(), |at| at + 1);
        let dirs: Vec<&str> =
            words[at..].iter().copied().take_while(|w| !w.starts_with(['-', '(', '!', '\\'])).collect();
        // what it removes is left over
        if words.iter().any(|w| *w == "-delete" || *w == "rm") {
            return;
        }
        for [option, name] in words[at..].array_windows() {
            for dir in dirs.iter().filter(|_| ["-name", "-path"].contains(option)) {
                let name = format!("{}/{name}", dir.trim_end_matches('/'));
                let name = name.trim_start_matches("./");
                if globs::is_one(name) {
                    self.perhaps_matches_none(name, name);
                } else {
                    self.perhaps_missing(name);
                }
            }
        }
    }

    /// `os.path.exists("slow.flag")`
    pub fn exists(&mut self, name: &str, is_directory: bool) {
        if is_directory {
            self.state(name, states::directory);
        } else {
            self.perhaps_missing(name);
        }
    }

    /// `subprocess.run(["./tune"])`
    pub fn program_at(&mut self, name: &str) {
        if !self.word(name, Place::program()) {
            self.perhaps_missing(name);
        }
    }

    /// `f"conf/{stage}.yaml"`, of which there is none yet in some of the directories in which it may lie.
    pub fn perhaps_matches(&mut self, pattern: &str) {
        let settings = [".yaml", ".yml", ".json", ".toml", ".env", ".ini", ".cfg", ".conf"];
        let is_of_settings = settings.iter().any(|end| pattern.ends_with(end));
        if is_of_settings
            && globs::is_one(pattern)
            && is_read_there(pattern)
            && !self.written.contains(pattern)
        {
            self.matches_nothing(pattern, self.bases);
        }
    }

    /// Takes in that no file matches a pattern, in those directories where none does.
    fn matches_nothing(&mut self, pattern: &str, bases: &[PathBuf]) {
        let study_dir = self.reader.ground.study_dir;
        for base in bases {
            let path = base.join(pattern.trim_start_matches("./"));
            let key = path.strip_prefix(study_dir).unwrap_or(&path).to_str();
            let counts = |key: &&str| globs::is_one(key) && globs::files(key, study_dir).is_empty();
            if let Some(key) = key.filter(counts).filter(|_| !path.parent().is_some_and(is_for_everybody)) {
                self.reader.add_absent(key);
            }
        }
    }

    /// What a program may ask for, where it runs and lies, and in the other directories that it names.
    pub fn sought(&mut self, names: &[Name], [own, others]: [&[PathBuf]; 2]) {
        let study_dir = self.reader.ground.study_dir;
        let mut left = MOST_SOUGHT;
        let (elsewhere, names): (Vec<_>, Vec<_>) =
            names.iter().partition(|name| name.text.starts_with(['/', '~']));
        for name in elsewhere {
            let path = path_of(&name.text, study_dir);
            if let Some(path) = path.filter(|path| left > 0 && !path.parent().is_some_and(is_for_everybody)) {
                left -= usize::from(self.sought_at(name.text.clone(), path, name.is_asked));
            }
        }
        for (dirs, is_own) in [(own, true), (others, false)] {
            // where a directory leads elsewhere a bare word is more often none
            let wanted = names.iter().filter(|name| is_own || name.is_asked || name.text.contains('.'));
            for (name, dir) in wanted.flat_map(|name| dirs.iter().map(move |dir| (name, dir))) {
                let path = leads::joined(dir, &name.text);
                let Some(key) = path.strip_prefix(study_dir).unwrap_or(&path).to_str().map(str::to_owned)
                else {
                    continue;
                };
                let is_open = path.parent().is_some_and(is_for_everybody);
                if left == 0 || is_open || path_of(&key, study_dir).is_none() {
                    continue;
                }
                left -= usize::from(self.sought_at(key, path, name.is_asked));
            }
        }
    }

    /// Whether what may be asked for is taken in.
    fn sought_at(&mut self, key: String, path: PathBuf, is_asked: bool) -> bool {
        if !path.exists() {
            // a model of the hub has a name of two words too
            let key = if hub::is_name(&key) && !looks_like_a_file(&key) { format!("./{key}") } else { key };
            if self.reader.is_absent(key.trim_start_matches("./")) {
                return false;
            }
            self.reader.add_absent(&key);
            return true;
        }
        let is_listed = self.reader.is_there(&key) || self.reader.is_there(&format!("{key}/*"));
        if is_asked && path.is_dir() && !is_listed && !disk::is_environment(&path) {
            self.reader.add_state(states::directory(&key));
        } else if is_asked && path.is_file() {
            self.reader.add(key, path, Place::perhaps(true));
        }
        is_asked
    }

    fn tested(&mut self, words: &[&str]) {
        for [option, name] in words.array_windows() {
            if *option == "-d" {
                self.state(name, states::directory);
            } else if FOR_FILES.contains(option) {
                self.perhaps_missing(name);
            }
            if *option == "-x" {
                self.state(name, states::may_run);
            } else if ["-h", "-L"].contains(option) {
                self.state(name, states::leads);
            }
        }
        for [one, sign, other] in words.array_windows() {
            if BY_AGE.contains(sign) && [one, other].iter().all(|name| may_be_named(name)) {
                let (one, other) = if *sign == "-nt" { (one, other) } else { (other, one) };
                self.reader.add_state(states::newer(one, other));
            }
        }
    }

    /// Takes in where links lead of which a text may ask that.
    pub fn followed(&mut self, words: &[&str]) {
        for word in words {
            if self.places(word).iter().any(|(_, path)| path.is_symlink()) {
                self.state(word, states::leads);
            }
        }
    }

    fn listed_by_age(&mut self, words: &[&str]) {
        for word in words.iter().filter(|w| !w.starts_with('-')) {
            let (name, study_dir) = (rest_of(word), self.reader.ground.study_dir);
            // the oldest logs are taken away
            if is_log(Path::new(name)) {
                continue;
            }
            if globs::is_one(name) || path_of(name, study_dir).is_some_and(|path| path.is_dir()) {
                self.reader.add_state(states::by_age(name));
            }
        }
    }

    /// `for d in ("override", "conf")`: a file that is in one of the directories that a program names may come into another one.
    pub fn missing_elsewhere(&mut self, name: &str) {
        let study_dir = self.reader.ground.study_dir;
        let is_plain = !name.contains('/') && may_be_named(name) && use_of(name) == Use::Read;
        // where it runs and lies come first
        let named =
            self.bases.iter().filter(|dir| is_plain && **dir != *study_dir && dir.starts_with(study_dir));
        let missing: Vec<PathBuf> = named.map(|dir| dir.join(name)).filter(|path| !path.exists()).collect();
        for path in missing {
            if let Some(key) = path.strip_prefix(study_dir).ok().and_then(|path| path.to_str()) {
                self.reader.add_absent(key);
            }
        }
    }

    /// A name with an open part (`conf/$STAGE.env`) that no file has yet in some of the directories in which it may lie.
    fn perhaps_matches_none(&mut self, word: &str, pattern: &str) {
        let is_own = self.written.contains(word) || self.awaited.contains(word);
        let is_written = quoted::WRITTEN.iter().any(|end| pattern.ends_with(end));
        if !is_own && !is_written && is_read_there(pattern) {
            self.matches_nothing(pattern, self.bases_of(word));
        }
    }

    /// A file that is not there, and changes what a script does once it is.
    pub fn perhaps_missing(&mut self, word: &str) {
        if let Some(pattern) = with_open_variables(rest_of(word)) {
            return self.perhaps_matches_none(word, &pattern);
        }
        let places = self.places(word);
        let is_made = |name: &str| {
            self.written.contains(name)
                || self.awaited.contains(name)
                || quoted::WRITTEN.iter().any(|end| name.ends_with(end))
        };
        // there programs leave word of themselves
        let is_open = |path: &PathBuf| path.parent().is_some_and(is_for_everybody);
        if is_made(word) || places.iter().any(|(_, path)| path.exists() || is_open(path)) {
            return;
        }
        for (name, _) in places {
            // `[ -f local.env ] && . ./local.env`
            if !self.reader.is_absent(&name) && !self.reader.is_absent(&format!("./{name}")) {
                self.reader.add_absent(&name);
            }
        }
    }

    /// `command -v tuner`: it may come into any of the directories in which it is looked for.
    fn program_asked_for(&mut self, name: &str) {
        if name.contains(['$', '/']) || !may_be_shown(name) || self.written.contains(name) {
            return;
        }
        self.reader.add_state(format!("{name}{ON_PATH}"));
        for (key, _) in self.on_its_path(name) {
            self.reader.add_state(key);
        }
    }

    fn state(&mut self, word: &str, of: fn(&str) -> String) {
        if self.written.contains(word) || self.awaited.contains(word) {
            return;
        }
        for (name, path) in self.places(word) {
            if !path.parent().is_some_and(is_for_everybody) {
                self.reader.add_state(of(&name));
            }
        }
    }

    /// In which directories a word may stand for something.
    fn bases_of(&self, word: &str) -> &'s [PathBuf] {
        if word.starts_with('$') { self.bases } else { &self.bases[..1.min(self.bases.len())] }
    }

    /// Where a word may stand for something, there or not, each with its name: behind a variable, most often the script's own directory, in
    /// each of those that the script is in.
    fn places(&self, word: &str) -> Vec<(String, PathBuf)> {
        let (name, study_dir) = (rest_of(word), self.reader.ground.study_dir);
        if !may_be_named(name) {
            return Vec::new();
        }
        let bases = self.bases_of(word);
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for base in bases {
            let path = base.join(name.trim_start_matches("./"));
            let key = path.strip_prefix(study_dir).unwrap_or(&path).to_str().map(str::to_owned);
            if let Some((key, path)) = key.and_then(|key| Some((key.clone(), path_of(&key, study_dir)?)))
                && !found.iter().any(|(known, _)| *known == key)
            {
                found.push((key, path));
            }
        }
        found
    }
}

/// The words behind a reading command that may be files.
fn read_words<'w>(first: &str, words: &[&'w str]) -> impl Iterator<Item = &'w str> {
    let at = words.iter().position(|w| *w == first).map_or(words.len(), |at| at + 1);
    let says = MATCHERS.contains(&first) && !words.iter().any(|w| ["-e", "-f"].contains(w));
    let names: Vec<&str> = words[at..].iter().copied().filter(|w| !w.starts_with('-')).collect();
    names.into_iter().skip(usize::from(says))
}

/// Whether engines read what is called so, and where it lies.
fn is_read_there(name: &str) -> bool {
    name.rsplit('/').take(2).all(|part| use_of(part) == Use::Read)
}

fn may_be_named(name: &str) -> bool {
    !name.is_empty() && name != "]" && !name.contains(['$', '*', '?', '\0']) && may_be_shown(name)
}
