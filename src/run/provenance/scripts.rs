//! The files that shell scripts name which start an engine: what they source, the programs and scripts that they run. They count like
//! files that flags name; scripts among them are followed. Names that a script puts together of variables stay unseen.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::build::is_shared_by_all;
use super::leads::{self, Leads};
use super::named::shown;
use super::places::{activated, gone_to, in_variable};
use super::quoted;
use super::script_words::{Place, Script, awaited_by};
use super::settled::put_in;
use super::shell::{Word, commands, made_by, read_by, rest_of};
use super::sought::Sought;
use super::starts::{Ground, MAKE, Start, base, is_of_shell, is_shell, starts};
use super::states;
use super::variants::spelled_out;
use super::whereabouts;

/// Longer files are no scripts of people.
const LONGEST: u64 = 1 << 20;
/// Scripts that are read.
const MOST: usize = 64;
/// Directories in which the names of a script are looked for.
const MOST_BASES: usize = 16;
/// Names that count.
const MOST_NAMES: usize = 256;
/// Names of which it counts that nothing is there.
const MOST_ABSENT: usize = 2048;

/// What scripts name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// files, as `path_of` and [`program`](super::starts::program) find them
    pub there: BTreeSet<String>,
    /// files that are sourced or run, and are not there
    pub absent: BTreeSet<String>,
    /// those that are there and may be what the engine writes
    pub perhaps_written: BTreeSet<String>,
    /// where those that are there lie
    pub paths: BTreeSet<PathBuf>,
    /// the scripts themselves
    pub texts: BTreeSet<String>,
    /// where what they run looks for modules of Python: where they `cd` to, and what they put into `PYTHONPATH`
    pub modules: BTreeSet<PathBuf>,
    /// what they put into `LD_LIBRARY_PATH`
    pub libraries: BTreeSet<PathBuf>,
    /// files that are there and that shells write: rendered settings
    pub rendered: BTreeSet<PathBuf>,
}

/// What these scripts name. The words of the command itself are not among it.
pub fn said_by(starts: &[Start], ground: &Ground<'_>) -> Said {
    let mut reader = Reader {
        ground,
        said: Said::default(),
        seen: BTreeSet::new(),
        open: Vec::new(),
        programs: Vec::new(),
    };
    for start in starts {
        match start {
            Start::File(path, is_script) => reader.follow(path, *is_script),
            Start::Text(text) => reader.open.push((text.clone(), Vec::new())),
            Start::Make => reader.open.push((MAKE.to_owned(), Vec::new())),
        }
    }
    while let Some((text, dirs)) = reader.open.pop() {
        reader.text(&text, dirs);
    }
    reader.said
}

/// Reads scripts, and those that they lead to.
pub(super) struct Reader<'a> {
    pub(super) ground: &'a Ground<'a>,
    said: Said,
    seen: BTreeSet<PathBuf>,
    /// scripts that are still to be read, each with the directories that it, and a link to it, lies in
    open: Vec<(String, Vec<PathBuf>)>,
    /// directories that a script puts before those of the `PATH`
    pub(super) programs: Vec<PathBuf>,
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
        self.interpreter(first);
        let ending = real.extension().and_then(|e| e.to_str());
        let is_of_shell = is_script && !first.starts_with("#!") || is_of_shell(first, ending);
        if leads::asks_for_its_place(&text) {
            self.led_here(path);
        }
        let dirs: Vec<PathBuf> =
            [path, &real].into_iter().filter_map(Path::parent).map(Path::to_owned).collect();
        if is_of_shell {
            self.open.push((text, dirs));
        } else if quoted::is_program(first, ending) {
            self.program(&text, dirs);
        }
    }

    /// What a script finds beside itself lies where a link to it leads, and what it calls by where it lies is called by where one on the
    /// way to it leads.
    fn led_here(&mut self, path: &Path) {
        let study_dir = self.ground.study_dir;
        let above =
            path.ancestors().skip(1).take_while(|dir| dir.starts_with(study_dir) && *dir != study_dir);
        for link in std::iter::once(path).chain(above).filter(|at| at.is_symlink()) {
            if let Some(name) = shown(link, study_dir) {
                self.add_state(states::leads(&name));
            }
        }
    }

    /// The program that a first line names, where that is somebody's own. An environment's is known as such, wherever it lies.
    fn interpreter(&mut self, first: &str) {
        let named =
            first.strip_prefix("#!").and_then(|line| line.split_whitespace().next()).map(PathBuf::from);
        let is_own = |path: &PathBuf| {
            let name = path.to_string_lossy();
            let is_known = base(&name).starts_with("python") || is_shell(&name);
            path.is_absolute() && !is_known && path.is_file() && !path.parent().is_some_and(is_of_system)
        };
        let Some(path) = named.filter(is_own) else { return };
        let key = path.strip_prefix(self.ground.study_dir).unwrap_or(&path).to_str().map(str::to_owned);
        if let Some(key) = key {
            self.add(key, path, Place::default());
        }
    }

    /// What a program of another language names.
    fn program(&mut self, text: &str, dirs: Vec<PathBuf>) {
        self.whereabouts(text);
        let leads = Leads::of(text, &self.bases(dirs));
        self.said.modules.extend(leads.modules.iter().cloned());
        let Sought { names: sought, written, awaited } = leads.sought();
        let mut script = Script { reader: self, bases: &leads.bases, written: &written, awaited: &awaited };
        // its name leaves open whether it reads there or writes
        let perhaps = Place::perhaps(true);
        for (name, is_sure) in leads.names() {
            script.literal(name, is_sure);
        }
        for name in leads.programs() {
            script.word(name, Place::program());
        }
        for name in leads.programs_at() {
            script.program_at(name);
        }
        for (name, is_directory) in leads.asked_for() {
            script.exists(name, is_directory);
        }
        if leads::asks_for_its_place(text) {
            script.followed(&leads.texts().collect::<Vec<_>>());
            let links = leads::links_said_by(text, &leads.bases);
            script.followed(&links.iter().map(String::as_str).collect::<Vec<_>>());
        }
        // the library looks for it by itself
        if text.contains("dotenv") {
            script.exists(".env", false);
        }
        for pattern in leads.patterns() {
            script.matches(&pattern, perhaps);
            script.perhaps_matches(&pattern);
        }
        for dir in &leads.whole {
            script.whole(dir);
        }
        for dir in &leads.listed {
            script.all_of(dir, perhaps);
        }
        script.sought(&sought, leads.places());
    }

    /// What of the machine and the repository a text asks for.
    fn whereabouts(&mut self, text: &str) {
        for name in whereabouts::asked_for(text) {
            self.add_state(name.to_owned());
        }
    }

    /// Where names are looked for, each once.
    fn bases(&self, more: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut seen = BTreeSet::new();
        let all = std::iter::once(self.ground.study_dir.to_owned()).chain(more);
        all.filter(|dir| seen.insert(dir.clone())).take(MOST_BASES).collect()
    }

    /// Where a script finds a program, by what it says of the `PATH`.
    pub(super) fn by_path(&self, name: &str) -> Option<PathBuf> {
        self.programs.iter().map(|dir| dir.join(name)).find(|path| path.is_file())
    }

    /// What a script says of where programs, modules and libraries are found, itself or by an environment that it activates.
    fn learn_places(&mut self, commands: &[Vec<Word>], bases: &[PathBuf]) {
        self.programs.extend(in_variable("PATH", commands, bases).filter(|dir| !is_of_system(dir)));
        self.programs.extend(activated(commands, bases));
        self.said.modules.extend(in_variable("PYTHONPATH", commands, bases));
        self.said.libraries.extend(in_variable("LD_LIBRARY_PATH", commands, bases));
    }

    /// Remembers the texts to be read that a command gives to a shell, and the profile of one that acts as at a login.
    pub(super) fn shells(&mut self, words: &[Word], bases: &[PathBuf]) {
        let Some(at) = words.iter().position(|w| is_shell(&w.text)) else { return };
        let words: Vec<String> = words[at..].iter().map(|w| w.text.clone()).collect();
        for start in starts(&words, self.ground) {
            if let Start::Text(text) = start {
                self.open.push((text, bases.to_vec()));
            }
        }
    }

    fn text(&mut self, text: &str, dirs: Vec<PathBuf>) {
        let all = spelled_out(put_in(commands(text), text));
        self.said.texts.insert(text.to_owned());
        self.whereabouts(text);
        let mut bases = vec![self.ground.study_dir.to_owned()];
        bases.extend(dirs);
        for command in &all {
            let dirs: Vec<PathBuf> =
                gone_to(command).iter().flat_map(|w| bases.iter().map(move |b| b.join(w))).collect();
            let dirs = dirs.into_iter().filter(|d| d.is_dir()).take(MOST_BASES);
            for dir in dirs {
                self.said.modules.insert(dir.clone());
                bases.push(dir);
            }
        }
        if text.contains("VIRTUAL_ENV") {
            let of_programs = activated(&all, &bases);
            bases.extend(of_programs.iter().filter_map(|bin| bin.parent()).map(Path::to_owned));
        }
        let bases = self.bases(bases);
        self.learn_places(&all, &bases);
        let read = read_by(&all);
        let written: BTreeSet<String> = all.iter().flat_map(|command| made_by(command, &read)).collect();
        let targets = written.iter().flat_map(|word| bases.iter().map(move |base| base.join(rest_of(word))));
        self.said.rendered.extend(targets.filter(|path| path.is_file()));
        let awaited: BTreeSet<String> = all.iter().flat_map(|command| awaited_by(command)).collect();
        let mut script = Script { reader: self, bases: &bases, written: &written, awaited: &awaited };
        for command in &all {
            script.command(command);
        }
        for command in &all {
            script.asked_for(command);
        }
        if leads::asks_for_its_place(text) {
            // `cd current && pwd -P`
            for command in &all {
                script.followed(&gone_to(command));
            }
        }
    }

    /// Takes a file in, and follows it if it is a script.
    pub(super) fn add(&mut self, key: String, path: PathBuf, how: Place) -> bool {
        if self.said.there.len() >= MOST_NAMES {
            return false;
        }
        if how.may_be_written {
            self.said.perhaps_written.insert(key.clone());
        }
        self.said.there.insert(key);
        self.follow(&path, how.is_script);
        self.said.paths.insert(path);
        true
    }

    /// Takes the files in that match a pattern.
    pub(super) fn add_matches(&mut self, key: String, files: Vec<PathBuf>, how: Place) -> bool {
        if files.is_empty() || self.said.there.len() >= MOST_NAMES {
            return false;
        }
        if how.may_be_written {
            self.said.perhaps_written.insert(key.clone());
        }
        self.said.there.insert(key);
        for file in &files {
            self.follow(file, how.is_script);
        }
        self.said.paths.extend(files);
        true
    }

    pub(super) fn is_there(&self, word: &str) -> bool {
        self.said.there.contains(word)
    }

    pub(super) fn is_absent(&self, word: &str) -> bool {
        self.said.absent.contains(word)
    }

    /// Takes in what holds of a file, or does not.
    pub(super) fn add_state(&mut self, name: String) {
        if self.said.there.len() < MOST_NAMES {
            self.said.there.insert(name);
        }
    }

    pub(super) fn add_absent(&mut self, word: &str) {
        if self.said.absent.len() < MOST_ABSENT {
            self.said.absent.insert(word.to_owned());
        }
    }
}

/// Tools of the system, which scripts use for this and that.
pub(super) fn is_of_system(dir: &Path) -> bool {
    is_shared_by_all(dir) && !dir.starts_with("/usr/local")
}

#[cfg(test)]
mod tests;
