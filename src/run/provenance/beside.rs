//! The modules that an engine's own script imports from beside it, or from where it is started (`python serve.py`, `python -m serve`): no
//! distribution knows of them, and an edit of one is another engine. Only those count whose names are said, by the script or by a module
//! that counts: what else lies in a study's directory is nobody's business.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::build::is_shared_by_all;
use super::leads::{Leads, says};
use super::patched::is_compiled;
use super::script_words::is_for_everybody;
use super::scripts::Said;
use super::{globs, loose};
use crate::disk;

/// Longer files are no scripts.
const LONGEST: u64 = 1 << 20;
/// Entries of a directory that are looked at.
const MOST: usize = 20_000;
/// Directories within a package.
const DEEPEST: usize = 8;
/// Bytes of packages that are read for what they import: what holds more is no part of one engine.
const MOST_READ: usize = 64 << 20;
/// Modules of one package in which names of files are looked for.
const MOST_MODULES: usize = 64;
/// What an entry costs at least: looking at it takes time too.
const LEAST_READ: usize = 4 << 10;

/// Modules, and what they name.
#[derive(Debug, Default)]
pub struct Modules {
    paths: Vec<PathBuf>,
    /// files that they name, which they may read or write
    pub files: BTreeSet<PathBuf>,
}

impl Modules {
    /// Each with a hash over its code, which takes reading all of it.
    pub fn code(&self) -> BTreeMap<String, String> {
        let shown = |path: &PathBuf| {
            let (name, hash) = loose::shown(&path.file_name().unwrap_or_default().to_string_lossy(), path);
            (format!("./{name}"), hash)
        };
        self.paths.iter().map(shown).collect()
    }
}

/// Those modules, and the files that they name. `words` are those of the command, the program's first;
/// `said` is what shell scripts among them name.
pub fn modules(program: &Path, words: &[String], said: &Said, study_dir: &Path) -> Modules {
    let mut start = Start::default();
    for script in said.paths.iter().filter(|p| is_python_script(p)) {
        start.file(script);
    }
    start.file(program);
    for (i, word) in words.iter().enumerate().skip(1) {
        match words[i - 1].as_str() {
            // both look for modules where they are started
            "-m" | "-c" => start.text(word.clone(), study_dir),
            _ if word.starts_with('-') => {}
            _ if is_reference(word) => start.text(word.clone(), study_dir),
            _ => start.file(&study_dir.join(word)),
        }
    }
    if start.is_of_shell {
        start.dirs.push(study_dir.to_owned());
    }
    start.texts.extend(said.texts.iter().cloned());
    // every start of Python runs these, wherever its path leads
    start.texts.push("import sitecustomize, usercustomize".to_owned());
    start.dirs.extend(said.modules.iter().cloned());
    start.found(study_dir)
}

/// `serve:app`, `app.serve:create`: what servers of applications are given, and look for where they are started.
pub(super) fn is_reference(word: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    word.split_once(':').is_some_and(|(module, object)| {
        module.split('.').all(is_name) && object.trim_end_matches("()").split('.').all(is_name)
    })
}

/// What is read first, and where modules are looked for.
#[derive(Default)]
struct Start {
    texts: Vec<String>,
    dirs: Vec<PathBuf>,
    /// what a shell starts looks for modules where the shell was started
    is_of_shell: bool,
}

impl Start {
    /// A script, or a directory that is run as one: beside it lies what it imports, wherever a link to it lies.
    fn file(&mut self, path: &Path) {
        let Ok(path) = path.canonicalize() else { return };
        let main = path.join("__main__.py");
        let script = if main.is_file() { main } else { path };
        let (Some(text), Some(dir)) = (text_of(&script), script.parent()) else { return };
        // the first line names an interpreter, and no module
        let (first, rest) = text.split_once('\n').filter(|_| text.starts_with("#!")).unwrap_or(("", &text));
        self.is_of_shell |= first.starts_with("#!") && !first.contains("python");
        self.text(rest.to_owned(), dir);
    }

    fn text(&mut self, text: String, dir: &Path) {
        self.dirs.push(dir.to_owned());
        self.dirs.extend(Leads::of(&text, &[dir.to_owned()]).modules);
        self.texts.push(text);
    }

    fn found(mut self, study_dir: &Path) -> Modules {
        let mut there = self.there();
        let mut found = Modules::default();
        let mut left = MOST_READ;
        while let Some(text) = self.texts.pop() {
            let said: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let is_named = |(name, paths): &(&String, &Vec<PathBuf>)| {
                // a directory that holds the study's own holds other things too
                let is_above = paths
                    .iter()
                    .filter_map(|p| p.parent())
                    .any(|dir| study_dir.starts_with(dir) && dir != study_dir);
                said.contains(name.as_str()) && (!is_above || imports(&text, name))
            };
            let named: Vec<String> = there.iter().filter(is_named).map(|(name, _)| name.clone()).collect();
            for path in named.iter().filter_map(|name| there.remove(name)).flatten() {
                let from = self.texts.len();
                read(&path, 0, &mut left, &mut self.texts);
                // a large package does not read what lies beside it
                let bases = [path.parent().unwrap_or(study_dir), study_dir];
                for text in self.texts[from..].iter().take(MOST_MODULES) {
                    found.files.extend(named_in(text, &path, &bases));
                }
                found.paths.push(path);
            }
        }
        found
    }

    /// Modules by the names under which they are imported; what stands in the first directory is found first, a package and a module of one
    /// name both.
    fn there(&self) -> BTreeMap<String, Vec<PathBuf>> {
        let mut there: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for dir in self.dirs.iter().filter(|d| !is_shared_by_all(d)) {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MOST);
            for (name, path) in entries.map(|e| (e.file_name().to_string_lossy().into_owned(), e.path())) {
                let counts = loose::is_module(&name)
                    && (!is_compiled(&name) || disk::is_sourceless(&path))
                    && if name.contains('.') { path.is_file() } else { has_code(&path) };
                if counts {
                    let imported = name.split('.').next().unwrap_or_default().to_owned();
                    let known = there.entry(imported).or_default();
                    if known.first().is_none_or(|first| first.parent() == Some(dir)) {
                        known.push(path);
                    }
                }
            }
        }
        there
    }
}

/// The files that a module names, where they lie in these directories or below. A package counts with all that lies in it.
fn named_in(text: &str, module: &Path, bases: &[&Path]) -> Vec<PathBuf> {
    let bases: Vec<PathBuf> = bases.iter().map(|dir| (*dir).to_owned()).collect();
    let leads = Leads::of(text, &bases);
    let named = leads.names().into_iter().map(|(name, _)| name);
    let one = named.flat_map(|name| leads.bases.iter().map(move |dir| dir.join(name)));
    let patterns: Vec<String> = leads.patterns().into_iter().filter(|p| globs::is_one(p)).collect();
    let many = patterns.iter().flat_map(|p| leads.bases.iter().flat_map(move |dir| globs::files(p, dir)));
    let listed = leads.listed.iter().flat_map(|dir| globs::files("*", dir));
    let several = many.chain(listed).filter(|path| !path.parent().is_some_and(is_for_everybody));
    let files = one.chain(several).filter(|path| path.is_file());
    files.chain(leads.whole.iter().cloned()).filter(|path| !path.starts_with(module)).collect()
}

/// Whether a text of Python imports a module, by a statement or by its name in quotes.
fn imports(text: &str, name: &str) -> bool {
    let quoted = [format!("'{name}'"), format!("\"{name}\"")];
    text.lines().map(str::trim_start).any(|line| {
        let is_import = line.starts_with("import ") || line.starts_with("from ");
        is_import && says(line, name)
            || line.contains("import_module") && quoted.iter().any(|q| line.contains(q.as_str()))
    })
}

pub(super) fn text_of(path: &Path) -> Option<String> {
    let is_script = fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= LONGEST);
    is_script.then(|| fs::read_to_string(path).ok()).flatten()
}

/// Whether a directory may be a package, and not one of results.
fn has_code(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MOST);
    entries.map(|e| e.path()).any(|p| is_python(&p) || disk::is_sourceless(&p))
}

fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "py")
}

/// Whether a file is Python by its name or by its first line.
fn is_python_script(path: &Path) -> bool {
    let by_line = || {
        text_of(path)
            .is_some_and(|t| t.starts_with("#!") && t.lines().next().is_some_and(|l| l.contains("python")))
    };
    is_python(path) || by_line()
}

/// The text of a module, or those of a package: they import others. `left` are the bytes that may still be read.
fn read(path: &Path, depth: usize, left: &mut usize, to: &mut Vec<String>) {
    if *left == 0 {
        return;
    }
    let text = if path.is_file() { text_of(path) } else { None };
    *left = left.saturating_sub(text.as_ref().map_or(0, String::len).max(LEAST_READ));
    to.extend(text);
    if depth < DEEPEST && path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten().take(MOST);
        // as a hash over code goes through it
        let is_hidden = |e: &fs::DirEntry| e.file_name().to_string_lossy().starts_with('.');
        let counts = |p: &PathBuf| is_python(p) || p.is_dir() && !disk::is_environment(p);
        let mut inner: Vec<PathBuf> =
            entries.filter(|e| !is_hidden(e)).map(|e| e.path()).filter(counts).collect();
        // where the bytes do not suffice, the same ones are read each time
        inner.sort();
        for path in inner {
            read(&path, depth + 1, left, to);
        }
    }
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

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }

        fn names(&self, command: &str) -> Vec<String> {
            self.modules(command).into_keys().collect()
        }

        fn modules(&self, command: &str) -> BTreeMap<String, String> {
            let words = shell_words::split(command).expect("words");
            let program = self.0.path().join(&words[0]);
            modules(&program, &words, &Said::default(), self.0.path()).code()
        }
    }

    #[test]
    fn what_is_imported_counts_with_what_that_imports() {
        let dir = Dir::with(&[
            ("app/serve.py", "import one\nfrom pkg.inner import x\n"),
            ("app/one.py", "import importlib\nimportlib.import_module('two')\n"),
            ("app/two.py", "x = 1\n"),
            ("app/other.py", "x = 1\n"),
            ("app/pkg/__init__.py", ""),
            ("app/pkg/inner.py", "import three\n"),
            ("app/three.py", "x = 1\n"),
            ("app/results/one.txt", "x"),
            ("app/x", "no module"),
            ("two.py", "x = 2\n"),
        ]);
        let expected = ["./one.py", "./pkg/", "./three.py", "./two.py"];
        assert_eq!(dir.names("python3 app/serve.py --port 1"), expected);
        assert_eq!(dir.names("python3 -u app/serve.py"), expected);
        let before = dir.modules("python3 app/serve.py");
        dir.write("app/other.py", "x = 2\n");
        dir.write("two.py", "x = 3\n");
        assert_eq!(dir.modules("python3 app/serve.py"), before);
        dir.write("app/pkg/inner.py", "import three  \n");
        let after = dir.modules("python3 app/serve.py");
        assert!(after != before && after["./two.py"] == before["./two.py"], "{after:?}");
    }

    #[test]
    fn a_package_that_comes_before_a_module_of_its_name_counts() {
        let dir = Dir::with(&[("serve.py", "import one\n"), ("one.py", "")]);
        assert_eq!(dir.names("python3 serve.py"), ["./one.py"]);
        dir.write("one/__init__.py", "");
        assert_eq!(dir.names("python3 serve.py"), ["./one.py", "./one/"]);
    }

    #[test]
    fn modules_above_a_study_count_where_they_are_imported() {
        let dir = Dir::with(&[
            ("lab/serve.py", "import sys\nsys.path.insert(0, '..')\nfrom shared import x\nnotes = 1\n"),
            ("shared.py", ""),
            ("notes.py", ""),
        ]);
        let study = dir.0.path().join("lab");
        let words = ["python3", "serve.py"].map(str::to_owned);
        let found = modules(Path::new("python3"), &words, &Said::default(), &study);
        assert_eq!(found.code().keys().collect::<Vec<_>>(), ["./shared.py"]);
    }

    #[test]
    fn what_lies_below_the_root_is_no_package_of_a_script_that_goes_there() {
        let dir = Dir::with(&[(
            "run.sh",
            "#!/bin/sh\n[ -e stop ] || (env -i sh -c 'cd /; tmp=1; usr=2; etc=3' &)\n",
        )]);
        let ground = super::super::starts::Ground { study_dir: dir.0.path(), path: "/usr/bin:/bin" };
        let start = super::super::starts::Start::File(dir.0.path().join("run.sh"), false);
        let said = super::super::scripts::said_by(&[start], &ground);
        assert!(said.modules.contains(Path::new("/")), "{said:?}");
        let words = ["run.sh".to_owned()];
        assert_eq!(modules(&dir.0.path().join("run.sh"), &words, &said, dir.0.path()).code().len(), 0);
    }

    #[test]
    fn an_environment_within_a_package_is_none_of_its_code() {
        let dir = Dir::with(&[
            ("serve.py", "import app\n"),
            ("app/__init__.py", ""),
            ("one.py", ""),
            ("app/env/pyvenv.cfg", ""),
            ("app/env/lib/it.py", "import one\n"),
            ("app/.tool/it.py", "import one\n"),
        ]);
        let before = dir.modules("python3 serve.py");
        assert_eq!(before.keys().collect::<Vec<_>>(), ["./app/"]);
        dir.write("app/env/lib/it.py", "");
        assert_eq!(dir.modules("python3 serve.py"), before);
        dir.write("app/inner/it.py", "import one\n");
        assert_eq!(dir.names("python3 serve.py"), ["./app/", "./one.py"]);
    }

    #[test]
    fn a_package_that_leads_back_to_itself_is_read_for_a_while_only() {
        let dir =
            Dir::with(&[("serve.py", "import pkg\n"), ("pkg/__init__.py", "import one\n"), ("one.py", "")]);
        for name in 0..12 {
            std::os::unix::fs::symlink(".", dir.0.path().join(format!("pkg/again{name}"))).expect("linked");
        }
        assert_eq!(dir.names("python3 serve.py"), ["./one.py", "./pkg/"]);
    }

    #[test]
    fn a_module_without_its_source_is_the_compiled_one() {
        let dir = Dir::with(&[
            ("serve.py", "import helper\nimport pkg\nimport other\n"),
            ("helper.pyc", "1"),
            ("pkg/__init__.pyc", "1"),
            ("other.py", "x = 1\n"),
            ("other.pyc", "1"),
        ]);
        assert_eq!(dir.names("python3 serve.py"), ["./helper.pyc", "./other.py", "./pkg/"]);
        let before = dir.modules("python3 serve.py");
        dir.write("helper.pyc", "2");
        dir.write("pkg/__init__.pyc", "2");
        dir.write("other.pyc", "2");
        let after = dir.modules("python3 serve.py");
        let changed: Vec<&str> = before
            .iter()
            .filter(|(name, hash)| after[*name] != **hash)
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(changed, ["./helper.pyc", "./pkg/"]);
    }

    #[test]
    fn modules_are_looked_for_where_python_looks() {
        let dir = Dir::with(&[
            ("serve.py", "import helper\n"),
            ("helper.py", "x = 1\n"),
            ("bin/run", "#!/usr/bin/env python3\nimport helper\n"),
            ("bin/helper.py", "x = 2\n"),
            ("bin/run.sh", "#!/bin/sh\ncd .. && exec python3 -m serve \"$@\"\n"),
            ("tool/__main__.py", "import own\n"),
            ("tool/own.py", "x = 3\n"),
        ]);
        assert_eq!(dir.names("python3 -m serve"), ["./helper.py", "./serve.py"]);
        assert_eq!(dir.names("python3 -c 'import serve'"), ["./helper.py", "./serve.py"]);
        assert_eq!(dir.names("bin/run.sh"), ["./helper.py", "./serve.py"]);
        assert_eq!(dir.names("python3 tool"), ["./own.py"]);
        let of_program = dir.modules("bin/run");
        assert_eq!(of_program.keys().collect::<Vec<_>>(), ["./helper.py"]);
        assert_ne!(of_program, dir.modules("python3 serve.py"), "beside the script, not where it is started");
        std::os::unix::fs::symlink("bin/run", dir.0.path().join("link")).expect("a link");
        assert_eq!(dir.modules("link"), of_program);
    }
}
