//! The files that shell scripts name which start an engine: what they source, the programs and scripts that they run. They count like
//! files that flags name; scripts among them are followed. Names that a script puts together of variables stay unseen.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::build::is_shared_by_all;
use super::globs;
use super::named::{may_be_shown, passed_over, path_of};
use super::shell::{
    KEYWORDS, MAKERS, RUNNERS, Word, assigned, commands, defaulted, first_of, made_by, read_by, rest_of,
};

/// Longer files are no scripts of people.
const LONGEST: u64 = 1 << 20;
/// Scripts that are read.
const MOST: usize = 64;
/// Directories in which the names of a script are looked for.
const MOST_BASES: usize = 16;
/// Names that count.
const MOST_NAMES: usize = 256;
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "zsh", "ksh"];
/// Endings of scripts that need no first line: they are sourced.
const ENDINGS: [&str; 5] = ["sh", "bash", "zsh", "ksh", "env"];
/// Commands in which patterns are of texts, or of names alone.
const MATCHERS: [&str; 9] = ["case", "[", "[[", "test", "find", "grep", "ls", "echo", "printf"];
const MAKE: &str = "make";
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Endings of what engines write.
const WRITTEN: [&str; 4] = [".log", ".pid", ".sock", ".out"];
/// Ends the name of a program that the `PATH` leads to.
const ON_PATH: &str = " on PATH";

/// What scripts name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// files, as [`path_of`] and [`program`] find them
    pub there: BTreeSet<String>,
    /// files that are sourced or run, and are not there
    pub absent: BTreeSet<String>,
    /// where those that are there lie
    pub paths: BTreeSet<PathBuf>,
}

/// Where names lead.
pub struct Ground<'a> {
    /// where engines run
    pub study_dir: &'a Path,
    /// where programs are looked for
    pub path: &'a str,
}

impl Ground<'_> {
    fn program(&self, name: &str) -> Option<PathBuf> {
        let found = which::which_in(name, Some(self.path), self.study_dir).ok()?;
        // a shim leads anywhere
        let is_shim = found.parent().is_some_and(|dir| dir.ends_with("shims"));
        (!is_shim).then_some(found)
    }
}

/// Where a name of [`Said::there`] leads that is one of a program.
pub fn program(name: &str, ground: &Ground<'_>) -> Option<PathBuf> {
    ground.program(name.strip_suffix(ON_PATH)?)
}

/// What the scripts of a command name. The words of the command itself are not among it.
pub fn said_by(words: &[String], ground: &Ground<'_>) -> Said {
    let mut reader = Reader { ground, said: Said::default(), seen: BTreeSet::new(), open: Vec::new() };
    // whether the next word that is no option is what a shell reads
    let mut of_shell = false;
    for (i, text) in words.iter().enumerate() {
        let path = if i == 0 { ground.program(text) } else { Some(ground.study_dir.join(text)) };
        if of_shell && words[i - 1] == "-c" {
            reader.open.push((text.clone(), Vec::new()));
        } else if let Some(path) = path.filter(|p| p.is_file()) {
            reader.follow(&path, of_shell);
        }
        of_shell = is_shell(text) || of_shell && text.starts_with('-');
    }
    if words.first().is_some_and(|w| base(w) == MAKE) {
        reader.open.push((MAKE.to_owned(), Vec::new()));
    }
    while let Some((text, dirs)) = reader.open.pop() {
        reader.text(&text, dirs);
    }
    reader.said
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_shell(word: &str) -> bool {
    SHELLS.contains(&base(word))
}

struct Reader<'a> {
    ground: &'a Ground<'a>,
    said: Said,
    seen: BTreeSet<PathBuf>,
    /// scripts that are still to be read, each with the directories that it, and a link to it, lies in
    open: Vec<(String, Vec<PathBuf>)>,
}

/// Where a word stands.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// a shell reads it
    is_script: bool,
    /// it may be a program
    is_run: bool,
    /// it is one for sure, so that it counts wherever it lies
    is_meant: bool,
}

impl Reader<'_> {
    /// Remembers a script to be read, if it is one. `is_script` where a shell is told to read it.
    fn follow(&mut self, path: &Path, is_script: bool) {
        let Ok(real) = path.canonicalize() else { return };
        let is_small = fs::metadata(&real).is_ok_and(|m| m.is_file() && m.len() <= LONGEST);
        if !is_small || self.seen.len() >= MOST || !self.seen.insert(real.clone()) {
            return;
        }
        let Ok(text) = fs::read_to_string(&real) else { return };
        let first = text.lines().next().unwrap_or_default();
        let by_ending = real.extension().is_some_and(|e| ENDINGS.iter().any(|end| e == *end));
        let is_of_shell = match first.strip_prefix("#!") {
            Some(line) => line.split_whitespace().any(is_shell),
            None => is_script || by_ending,
        };
        if is_of_shell {
            let dirs = [path, &real].into_iter().filter_map(Path::parent).map(Path::to_owned).collect();
            self.open.push((text, dirs));
        }
    }

    fn text(&mut self, text: &str, dirs: Vec<PathBuf>) {
        let all = commands(text);
        let mut bases = vec![self.ground.study_dir.to_owned()];
        bases.extend(dirs);
        for command in all.iter().filter(|c| ["cd", "pushd"].contains(&c[0].text.as_str())) {
            let words = command.iter().skip(1).map(|w| rest_of(&w.text));
            let dirs: Vec<PathBuf> = words.flat_map(|w| bases.iter().map(move |b| b.join(w))).collect();
            bases.extend(dirs.into_iter().filter(|d| d.is_dir()).take(MOST_BASES));
        }
        let mut seen = BTreeSet::new();
        bases.retain(|dir| seen.insert(dir.clone()));
        bases.truncate(MOST_BASES);
        let read = read_by(&all);
        let written: BTreeSet<String> = all.iter().flat_map(|command| made_by(command, &read)).collect();
        let mut script = Script { reader: self, bases: &bases, written: &written };
        for command in &all {
            script.command(command);
        }
    }
}

/// A script that is read.
struct Script<'r, 'a, 's> {
    reader: &'r mut Reader<'a>,
    /// where its names are looked for
    bases: &'s [PathBuf],
    /// what it writes itself
    written: &'s BTreeSet<String>,
}

impl Script<'_, '_, '_> {
    fn command(&mut self, words: &[Word]) {
        let first = first_of(words);
        if base(first) == MAKE {
            let script = Place { is_script: true, ..Place::default() };
            for name in MAKEFILES {
                self.word(name, script);
            }
        }
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
                self.value(name, value, Place { is_run: false, ..place });
            } else if text.starts_with('-') && text.len() > 1 {
                text.trim_start_matches('-').clone_into(&mut flag);
                continue;
            } else if place.is_run && (KEYWORDS.contains(&text.as_str()) || RUNNERS.contains(&text.as_str()))
            {
                place.is_meant |= RUNNERS.contains(&text.as_str());
            } else if place.is_run && MAKERS.contains(&text.as_str()) {
                return;
            } else if place.is_run && (text == "." || text == "source" || is_shell(text)) {
                place = Place { is_script: true, ..Place::default() };
            } else {
                self.value(&flag, text, place);
                // options of a runner have values, which may be taken for what it runs
                place = Place { is_script: false, is_run: place.is_meant, ..place };
            }
            flag.clear();
        }
    }

    /// A pattern counts with the files that match it, or that none does.
    fn pattern(&mut self, word: &str, is_script: bool) {
        if !globs::is_one(word) || WRITTEN.iter().any(|end| word.ends_with(end)) {
            return;
        }
        let study_dir = self.reader.ground.study_dir;
        let mut is_known = false;
        for base in self.bases {
            let path = base.join(word.trim_start_matches("./"));
            let below = path.strip_prefix(study_dir).unwrap_or(&path);
            let Some(key) = below.to_str().map(str::to_owned) else { continue };
            let files = globs::files(&key, study_dir);
            if files.is_empty() || self.reader.said.there.len() >= MOST_NAMES {
                continue;
            }
            is_known = true;
            self.reader.said.there.insert(key);
            for file in &files {
                self.reader.follow(file, is_script);
            }
            self.reader.said.paths.extend(files);
        }
        if !is_known {
            self.reader.said.absent.insert(word.trim_start_matches("./").to_owned());
        }
    }

    /// What stands under a name, or under none.
    fn value(&mut self, name: &str, value: &str, place: Place) {
        if let Some(value) = defaulted(value) {
            self.value(name, &value, place);
        }
        let is_engines = passed_over(name) || WRITTEN.iter().any(|end| value.ends_with(end));
        if value.is_empty() || is_engines || self.written.contains(value) || self.word(value, place) {
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
        let pieces: Vec<&str> = value.split([',', '=', ':', '@']).filter(|p| !p.is_empty()).collect();
        let none = Place { is_run: false, ..place };
        let known = pieces.len() > 1 && pieces.iter().filter(|p| self.word(p, none)).count() > 0;
        let is_expected = place.is_script || value.starts_with("./") || value.starts_with("../");
        let missing = !known && is_expected && !value.contains(['$', '*', '?']);
        if missing
            && may_be_shown(value)
            && path_of(value, self.reader.ground.study_dir).is_some_and(|p| !p.exists())
        {
            self.reader.said.absent.insert(value.to_owned());
        }
    }

    /// Whether files of that name are there.
    fn word(&mut self, word: &str, place: Place) -> bool {
        let name = rest_of(word);
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
            let found = path_of(&key, study_dir).filter(|p| p.is_file());
            known |= found.is_some_and(|path| self.add(key, path, place));
        }
        let may_run = place.is_run && !known && !name.contains('/');
        if let Some(path) = may_run.then(|| self.reader.ground.program(name)).flatten() {
            let counts = place.is_meant || !path.parent().is_some_and(is_of_system);
            known = counts && self.add(format!("{name}{ON_PATH}"), path, place);
        }
        known
    }

    fn add(&mut self, key: String, path: PathBuf, place: Place) -> bool {
        let said = &mut self.reader.said;
        if said.there.len() >= MOST_NAMES {
            return false;
        }
        said.there.insert(key);
        self.reader.follow(&path, place.is_script);
        self.reader.said.paths.insert(path);
        true
    }
}

/// Tools of the system, which scripts use for this and that.
pub(super) fn is_of_system(dir: &Path) -> bool {
    is_shared_by_all(dir) && !dir.starts_with("/usr/local")
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;

    struct Dir(tempfile::TempDir);

    impl Dir {
        fn with(files: &[(&str, &str)]) -> Self {
            Self(folder::of(files))
        }

        fn said(&self, command: &str) -> Said {
            let words = shell_words::split(command).expect("words");
            let path = format!("{}:/usr/bin:/bin", self.0.path().join("bin").display());
            said_by(&words, &Ground { study_dir: self.0.path(), path: &path })
        }

        fn names(&self, command: &str) -> Vec<String> {
            self.said(command).there.into_iter().collect()
        }
    }

    #[test]
    fn what_a_script_sources_and_runs_counts_and_is_followed() {
        let dir = Dir::with(&[
            (
                "start.sh",
                "#!/bin/bash\nset -e\n. ./serve.env\nexec eng --n=$N --conf tuned.yaml \"$@\" > out.txt\n",
            ),
            ("serve.env", "N=2\nsource more\n"),
            ("more", "ENGINE=./real\n. ./serve.env\n"),
            ("real", "x"),
            ("tuned.yaml", "x"),
            ("out.txt", "x"),
            ("other", "x"),
            ("bin/eng", "#!/bin/sh\nexec python3 app/x.py; test -e no\n"),
            ("app/x.py", "import y\n"),
        ]);
        let expected =
            ["./real", "./serve.env", "app/x.py", "eng on PATH", "more", "python3 on PATH", "tuned.yaml"];
        let python = which::which_in("python3", Some("/usr/bin:/bin"), "/").is_ok();
        let expected: Vec<&str> =
            expected.into_iter().filter(|n| python || !n.starts_with("python3")).collect();
        for command in ["./start.sh --x", "bash start.sh", "env A=1 ./start.sh", "sh -c 'exec ./start.sh'"] {
            let found = dir.names(command);
            let found: Vec<&String> = found.iter().filter(|n| *n != "./start.sh").collect();
            assert_eq!(found, expected, "{command}");
        }
        assert_eq!(dir.names("./app/x.py"), [] as [&str; 0]);
    }

    #[test]
    fn patterns_defaults_and_makefiles_lead_to_files() {
        let dir = Dir::with(&[
            (
                "start.sh",
                "#!/bin/sh\ntouch kept.env read.env mark\n[ -e mark ] && cat read.env\nfor f in conf.d/*.env; do . $f; done\n. ./flags.e?v\n. ${CONF:-./more.cfg}\n. ./kept.env\n\
                 case $1 in *.cfg) ;; esac\nfor f in none/*.env; do . $f; done\nexec python3 x.py $(cat a.*) > a.out\n",
            ),
            ("conf.d/1.env", "X=./inner\n"),
            ("inner", ""),
            ("flags.env", ""),
            ("more.cfg", ""),
            ("kept.env", ""),
            ("read.env", ""),
            ("mark", ""),
            ("a.txt", ""),
            ("Makefile", "run:\n\texec ./start.sh $(shell cat a.txt)\n"),
        ]);
        let said = dir.said("./start.sh");
        let there: Vec<&str> =
            said.there.iter().map(String::as_str).filter(|n| !n.ends_with(ON_PATH)).collect();
        assert_eq!(
            there,
            ["./inner", "./kept.env", "./more.cfg", "a.*", "conf.d/*.env", "flags.e?v", "read.env"],
            "{:?}",
            said.absent
        );
        assert!(said.absent.contains("none/*.env"), "{:?}", said.absent);
        let made = dir.names("make run");
        for name in ["Makefile", "./start.sh", "a.txt", "conf.d/*.env"] {
            assert!(made.iter().any(|n| n == name), "{name}: {made:?}");
        }
        let shell = dir.names("sh -c 'exec python3 srv.py $(cat a.txt) --port={port}' --x=b");
        assert!(shell.iter().any(|n| n == "a.txt"), "{shell:?}");
    }

    #[test]
    fn names_are_looked_for_beside_the_script_and_where_it_goes() {
        let dir = Dir::with(&[
            (
                "tool/start",
                "#!/usr/bin/env bash\nHERE=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\n\
                 source \"$HERE/a.env\"\n. \"$(dirname \"$0\")/b.env\"\n. ${0%/*}/c.env\ncd lib && ./d\ncp f.txt copied\n\
                 [ -f local.env ] && . ./local.env\nif [ -e mark ]; then rm mark; fi\n./run$N.sh\nnohup bash -c './e --x' --log-file f.txt\n",
            ),
            ("tool/a.env", ""),
            ("tool/b.env", ""),
            ("tool/c.env", ""),
            ("lib/d", ""),
            ("e", ""),
            ("f.txt", ""),
            ("run1.sh", ""),
            ("mark", ""),
            ("copied", ""),
        ]);
        let said = dir.said("tool/start");
        let there: Vec<&str> = said.there.iter().map(String::as_str).collect();
        assert_eq!(there, ["./e", "f.txt", "lib/d", "tool/a.env", "tool/b.env", "tool/c.env"]);
        assert_eq!(said.absent.iter().collect::<Vec<_>>(), ["./local.env"]);
    }
}
