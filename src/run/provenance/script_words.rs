//! What the words of one script name, by the place in which they stand: what it sources and runs, what its variables and options hold.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::named::{looks_like_a_file, may_be_shown, path_of, shown};
use super::scripts::{Reader, is_of_system};
use super::shell::{KEYWORDS, MAKERS, RUNNERS, Word, assigned, commands, defaulted, first_of, rest_of};
use super::starts::{MAKE, ON_PATH, SOURCED, base, is_shell};
use super::uses::{Use, use_of};
use super::{globs, states};
use crate::disk;

/// Commands in which patterns are of texts, or of names alone.
const MATCHERS: [&str; 9] = ["case", "[", "[[", "test", "find", "grep", "ls", "echo", "printf"];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Endings of what engines write.
const WRITTEN: [&str; 4] = [".log", ".pid", ".sock", ".out"];

/// Whether everybody puts files into a directory, of which a script removes what is left over.
pub(super) fn is_for_everybody(dir: &Path) -> bool {
    let is = |known: &str| dir == Path::new(known);
    ["/tmp", "/var/tmp", "/dev/shm", "/run", "/var/run"].into_iter().any(is) || dir == std::env::temp_dir()
}

/// Where a word stands.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing that may be known of a place")]
pub(super) struct Place {
    /// a shell reads it
    pub is_script: bool,
    /// as a part of what it reads
    is_sourced: bool,
    /// it may be a program
    is_run: bool,
    /// it is one for sure, so that it counts wherever it lies
    is_meant: bool,
    /// behind a flag of what is started, so that it may be a directory
    is_flag: bool,
    /// its name leaves open whether it is read or written
    pub may_be_written: bool,
}

impl Place {
    /// Where what stands there may be read as well as written.
    pub(super) fn perhaps(may_be_written: bool) -> Self {
        Self { may_be_written, ..Self::default() }
    }

    /// Where a program stands that is started.
    pub(super) fn program() -> Self {
        Self { is_run: true, ..Self::default() }
    }
}

/// A script that is read.
pub(super) struct Script<'r, 'a, 's> {
    pub reader: &'r mut Reader<'a>,
    /// where its names are looked for
    pub bases: &'s [PathBuf],
    /// what it writes itself
    pub written: &'s BTreeSet<String>,
    /// what it waits for, which comes while it starts
    pub awaited: &'s BTreeSet<String>,
}

/// `until [ -e go ]`: the words of a command that is repeated until it fails or holds.
pub(super) fn awaited_by(command: &[Word]) -> impl Iterator<Item = String> + use<'_> {
    let waits = command.first().is_some_and(|word| ["until", "while"].contains(&word.text.as_str()));
    command.iter().filter(move |_| waits).map(|word| word.text.clone())
}

impl Script<'_, '_, '_> {
    pub fn command(&mut self, words: &[Word]) {
        let first = first_of(words);
        if base(first) == MAKE {
            let script = Place { is_script: true, ..Place::default() };
            // it takes the first that is there
            for name in MAKEFILES {
                if self.word(name, script) {
                    break;
                }
                self.perhaps_missing(name);
            }
        }
        self.reader.shells(words, self.bases);
        self.listed(first, words);
        if !MATCHERS.contains(&first) && !MAKERS.contains(&first) {
            for word in words {
                self.pattern(rest_of(&word.text), [".", "source"].contains(&first));
            }
        }
        let mut place = Place { is_run: true, ..Place::default() };
        let mut flag = String::new();
        for Word { text, .. } in words.iter().filter(|w| !w.is_written) {
            let (name, value) = assigned(text);
            if let Some(name) = name {
                self.value(
                    name,
                    value,
                    Place { is_run: false, is_flag: place.is_flag || text.starts_with("--"), ..place },
                );
            } else if text.starts_with('-') && text.len() > 1 {
                text.trim_start_matches('-').clone_into(&mut flag);
                place.is_flag = text.starts_with("--");
                continue;
            } else if place.is_run && (KEYWORDS.contains(&text.as_str()) || RUNNERS.contains(&text.as_str()))
            {
                place.is_meant |= RUNNERS.contains(&text.as_str());
            } else if place.is_run && MAKERS.contains(&text.as_str()) {
                return;
            } else if place.is_run && (text == "." || text == "source" || is_shell(text)) {
                place = Place { is_script: true, is_sourced: !is_shell(text), ..Place::default() };
            } else {
                self.value(&flag, text, place);
                // options of a runner have values, which may be taken for what it runs
                place = Place { is_script: false, is_sourced: false, is_run: place.is_meant, ..place };
            }
            flag.clear();
            place.is_flag = false;
        }
    }

    /// What a command goes through: a directory that it lists.
    fn listed(&mut self, first: &str, words: &[Word]) {
        if !["find", "ls"].contains(&first) {
            return;
        }
        let names = words.iter().map(|w| w.text.as_str()).filter(|w| !w.starts_with('-') && *w != first);
        if first == "ls" {
            for pattern in names.clone() {
                self.pattern(rest_of(pattern), false);
            }
        }
        let names = names
            .map(|name| rest_of(name).trim_start_matches("./").trim_end_matches('/'))
            .filter(|n| !n.is_empty() && !matches!(*n, "." | "..") && !n.contains(['$', '*']));
        let dirs = names.flat_map(|name| self.bases.iter().map(move |base| base.join(name)));
        let dirs: Vec<PathBuf> = dirs.filter(|dir| dir.is_dir()).collect();
        for dir in &dirs {
            self.all_of(dir, Place::perhaps(true));
        }
    }

    /// A name that a program of another language says. `is_sure` where it is one as it stands.
    pub fn literal(&mut self, name: &str, is_sure: bool) {
        let plain = Place::perhaps(true);
        // JavaScript leaves the ending out: `require("./conf")`
        let endings = [".js", ".mjs", ".json", "/index.js"];
        let known = self.word(name, plain)
            || name.starts_with('.') && endings.iter().any(|end| self.word(&format!("{name}{end}"), plain));
        if known {
            self.missing_elsewhere(name);
        }
        if known || !is_sure || !looks_like_a_file(name) || !may_be_shown(name) {
            return;
        }
        // it reads one where it runs as soon as there is one
        let is_missing = path_of(name, self.reader.ground.study_dir).is_some_and(|path| !path.exists());
        if is_missing && use_of(name) == Use::Read {
            self.reader.add_absent(name);
        }
    }

    /// All files of a directory that a program goes through.
    pub fn all_of(&mut self, dir: &Path, how: Place) {
        let below = dir.strip_prefix(self.reader.ground.study_dir).unwrap_or(dir);
        if let Some(dir) = below.to_str() {
            let all = format!("{dir}/*");
            if !self.matches(&all, how) {
                self.reader.add_absent(&all);
            }
        }
    }

    /// A pattern counts with the files that match it, or that none does.
    fn pattern(&mut self, word: &str, is_script: bool) {
        let is_one = globs::is_one(word) && !WRITTEN.iter().any(|end| word.ends_with(end));
        if is_one && !self.matches(word, Place { is_script, ..Place::default() }) {
            self.reader.add_absent(word.trim_start_matches("./"));
        }
    }

    /// A directory, with all that lies in it.
    pub fn whole(&mut self, dir: &Path) {
        let below = dir.strip_prefix(self.reader.ground.study_dir).unwrap_or(dir);
        if let Some(key) = below.to_str().map(str::to_owned) {
            self.reader.add(key, dir.to_owned(), Place::perhaps(true));
        }
    }

    /// Whether files match a pattern, which count then.
    pub fn matches(&mut self, word: &str, how: Place) -> bool {
        if !globs::is_one(word) {
            return false;
        }
        let study_dir = self.reader.ground.study_dir;
        let mut is_known = false;
        for base in self.bases {
            let path = base.join(word.trim_start_matches("./"));
            let below = path.strip_prefix(study_dir).unwrap_or(&path);
            let Some(key) = below.to_str().map(str::to_owned) else { continue };
            if path.parent().is_some_and(is_for_everybody) {
                is_known = true;
                continue;
            }
            let files = globs::files(&key, study_dir);
            is_known |= self.reader.add_matches(key, files, how);
        }
        is_known
    }

    /// What stands under a name, or under none.
    fn value(&mut self, name: &str, value: &str, place: Place) {
        if let Some(value) = defaulted(value) {
            self.value(name, &value, place);
        }
        let is_engines = use_of(name) == Use::Passed || WRITTEN.iter().any(|end| value.ends_with(end));
        let place = Place { may_be_written: use_of(name) == Use::Either, ..place };
        if value.is_empty() || is_engines || self.written.contains(value) || self.word(value, place) {
            return;
        }
        let may_be_dir = place.is_flag && use_of(name) == Use::Read;
        if may_be_dir && self.directory(value) {
            return;
        }
        if value.contains([' ', '\t']) {
            // a text for a shell, as behind `-c`
            let inner = commands(value);
            if inner.iter().flatten().count() > 1 {
                for command in &inner {
                    self.command(command);
                }
            }
            return;
        }
        if let Some(path) = value.strip_prefix('@') {
            return self.value(name, path, place);
        }
        let pieces: Vec<&str> = value.split([',', '=', ':', '@']).filter(|p| !p.is_empty()).collect();
        let none = Place { is_run: false, ..place };
        let is_there = |script: &mut Self, p: &str| script.word(p, none) || may_be_dir && script.directory(p);
        let known = pieces.len() > 1 && pieces.iter().filter(|p| is_there(self, p)).count() > 0;
        let is_expected = place.is_script || value.starts_with("./") || value.starts_with("../");
        if !known && place.is_script && value.starts_with('$') {
            return self.perhaps_missing(value);
        }
        let missing = !known && is_expected && !place.may_be_written && !value.contains(['$', '*', '?']);
        if missing
            && may_be_shown(value)
            && path_of(value, self.reader.ground.study_dir).is_some_and(|p| !p.exists())
        {
            self.reader.add_absent(value);
        }
    }

    /// Whether a directory of that name is there, other than an environment, which is known as such. What is written there is the engine's.
    fn directory(&mut self, word: &str) -> bool {
        let name = rest_of(word);
        if name.is_empty() || name.contains('$') || !may_be_shown(name) {
            return false;
        }
        let study_dir = self.reader.ground.study_dir;
        let mut known = false;
        for base in self.bases {
            let path = base.join(name.trim_start_matches("./"));
            let Some(key) = path.strip_prefix(study_dir).unwrap_or(&path).to_str().map(str::to_owned) else {
                continue;
            };
            let is_dir = |p: &PathBuf| p.is_dir() && !disk::is_environment(p);
            let found = path_of(&key, study_dir).filter(is_dir);
            known |= found.is_some_and(|path| self.reader.add(key, path, Place::perhaps(true)));
        }
        known
    }

    /// Whether files of that name are there.
    pub fn word(&mut self, word: &str, place: Place) -> bool {
        let name = rest_of(word);
        if let Some(pattern) = with_open_variables(name) {
            return self.matches(&pattern, Place { may_be_written: true, ..place });
        }
        if name.is_empty() || name.contains(['$', '\0']) || !may_be_shown(name) {
            return false;
        }
        let study_dir = self.reader.ground.study_dir;
        let mut known = false;
        for base in self.bases {
            let at_home = name.starts_with("~/");
            let path = base.join(name.trim_start_matches("./"));
            let below = path.strip_prefix(study_dir).ok().and_then(Path::to_str);
            let key = if at_home || base == study_dir { Some(name) } else { below.or_else(|| path.to_str()) };
            let Some(key) = key.map(str::to_owned) else { continue };
            let Some(path) = path_of(&key, study_dir).filter(|p| p.is_file()) else { continue };
            // where it may not, a script goes on with something else; of what a runner is given not all is run
            if place.is_run && !place.is_meant && name.contains('/') {
                self.reader.add_state(states::may_run(&key));
            }
            known |= self.reader.add(key, path, place);
        }
        if place.is_sourced && !name.contains('/') {
            known |= self.sourced(name, place);
        }
        let may_run = place.is_run && !known && !name.contains('/');
        if may_run && (place.is_meant || self.reader.by_path(name).is_some()) {
            self.before_on_its_path(name);
        }
        if let Some(path) = may_run.then(|| self.reader.by_path(name)).flatten() {
            let key = path.strip_prefix(study_dir).unwrap_or(&path).to_str().map(str::to_owned);
            return key.is_some_and(|key| self.reader.add(key, path, place));
        }
        if let Some(path) = may_run.then(|| self.reader.ground.program(name)).flatten() {
            let counts = place.is_meant || !path.parent().is_some_and(is_of_system);
            known = counts && self.reader.add(format!("{name}{ON_PATH}"), path, place);
        }
        known
    }
}

impl Script<'_, '_, '_> {
    /// What a shell reads that is found along the `PATH`, before the directory that it works in.
    fn sourced(&mut self, name: &str, place: Place) -> bool {
        if let Some(path) = self.reader.by_path(name) {
            let key =
                path.strip_prefix(self.reader.ground.study_dir).unwrap_or(&path).to_str().map(str::to_owned);
            return key.is_some_and(|key| self.reader.add(key, path, place));
        }
        let found = self.reader.ground.sourced(name).filter(|path| !path.parent().is_some_and(is_of_system));
        found.is_some_and(|path| self.reader.add(format!("{name}{SOURCED}"), path, place))
    }

    /// Where a program may be found before the one that is, by what the script itself puts before the `PATH`: which of several lines puts
    /// what first is left open.
    fn before_on_its_path(&mut self, name: &str) {
        for (key, path) in self.on_its_path(name) {
            if !path.is_file() && may_be_shown(&key) {
                self.reader.add_absent(&key);
            }
        }
    }

    /// Where a program would lie in each directory that the script puts before the `PATH`, by what that counts by.
    pub(super) fn on_its_path(&self, name: &str) -> Vec<(String, PathBuf)> {
        let paths = self.reader.programs.iter().map(|dir| dir.join(name));
        let study_dir = self.reader.ground.study_dir;
        paths.filter_map(|path| Some((shown(&path, study_dir)?, path))).collect()
    }
}

/// A name with an asterisk for each variable in it whose value the script does not say: `env/$STAGE.sh` is one of them.
pub(super) fn with_open_variables(name: &str) -> Option<String> {
    if !name.contains('$') || name.starts_with('$') {
        return None;
    }
    let (mut out, mut rest) = (String::new(), name);
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        out.push('*');
        let behind = &rest[at + 1..];
        rest = match behind.strip_prefix('{') {
            Some(inner) => inner.split_once('}').map_or("", |(_, after)| after),
            None => behind.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
        };
    }
    out.push_str(rest);
    // which directory a variable names is known by what is opened there: each of them would count otherwise
    if out.rsplit_once('/').is_some_and(|(dir, _)| dir.contains('*')) {
        return None;
    }
    // of a directory, or with an ending: else it may be anything
    let says_where = out.contains('/') || out.trim_start_matches('*').contains('.');
    (says_where && out.chars().any(char::is_alphanumeric)).then_some(out)
}
