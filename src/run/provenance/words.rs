//! What the words of configurations stand for here: the files that flags, scripts and configuration files name, the programs that scripts run,
//! models of the hub. Each is looked at once, however many configurations name it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::beside::text_of;
use super::build::{Search, within};
use super::named::Named;
use super::scripts::Said;
use super::starts::{self, Ground, Start};
use super::{beside, configs, contents, globs, homes, named, prefix, scripts, states, whereabouts};
use crate::hub;
use crate::lang::Program;
use crate::lang::sema::program::{Site, Via};
use crate::plan::config::short_hash;
use crate::plan::{Config, command};
use crate::secrets::mask;

/// Longer texts are compared as a whole.
const MOST_LINES: usize = 512;
/// Digits of the hash over a line.
const DIGITS: usize = 8;

/// The scripts that are read first, and the serve line.
type Started = (Vec<Start>, String);

pub struct Words<'a> {
    program: &'a Program,
    site: &'a Site,
    study_dir: &'a Path,
    /// where what scripts run is looked for
    path: String,
    held: RefCell<HashMap<String, Option<String>>>,
    lines: RefCell<HashMap<String, Option<String>>>,
    models: RefCell<HashMap<String, Option<String>>>,
    /// what scripts and modules name, by the scripts that are read first and the serve line
    said: RefCell<HashMap<Started, Arc<Said>>>,
}

impl<'a> Words<'a> {
    pub fn new(program: &'a Program, site: &'a Site, study_dir: &'a Path) -> Self {
        let mut words = Self {
            program,
            site,
            study_dir,
            path: String::new(),
            held: RefCell::default(),
            lines: RefCell::default(),
            models: RefCell::default(),
            said: RefCell::default(),
        };
        words.path = words.programs();
        words
    }

    /// What a configuration names.
    pub fn of(&self, config: &Config) -> Named {
        let is_model = |word: &str| hub::is_name(word) && self.model(word).is_some();
        let mut found = named::named(config, self.site, self.study_dir, is_model);
        let stated = found.there.clone();
        let said = self.said(&command::to_read(config), &config.engine.serve);
        found.there.extend(said.there.iter().cloned());
        found.absent.extend(said.absent.iter().cloned());
        found.perhaps_written.extend(said.perhaps_written.iter().cloned());
        let inner = configs::named_by(
            found.there.iter(),
            |word| stated.contains(word),
            &config.model,
            self.study_dir,
        );
        found.there.extend(inner.there);
        found.absent.extend(inner.absent);
        found.perhaps_written.extend(inner.perhaps_written);
        for names in [&mut found.there, &mut found.absent, &mut found.perhaps_written] {
            *names =
                std::mem::take(names).into_iter().map(|name| homes::named(name, self.study_dir)).collect();
        }
        found
    }

    /// Whether a shell script of a configuration says this variable.
    pub fn say_variable(&self, config: &Config, name: &str) -> bool {
        let said = self.said(&command::to_read(config), &config.engine.serve);
        let says = |text: &String| {
            let mut behind = text.split('$').skip(1).map(|rest| rest.trim_start_matches('{'));
            let is_all = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            behind.any(|rest| rest.strip_prefix(name).is_some_and(is_all))
        };
        said.texts.iter().any(says)
    }

    /// What the scripts of a command name, and the modules that its serve line leads to.
    fn said(&self, command: &[String], serve: &str) -> Arc<Said> {
        let starts = (starts::starts(command, &self.ground()), serve.to_owned());
        if let Some(known) = self.said.borrow().get(&starts) {
            return known.clone();
        }
        let mut said = scripts::said_by(&starts.0, &self.ground());
        for path in self.named_by_modules(serve, &said) {
            let below = path.strip_prefix(self.study_dir).unwrap_or(&path);
            if let Some(key) = below.to_str().map(str::to_owned) {
                said.perhaps_written.insert(key.clone());
                said.there.insert(key);
            }
        }
        let said = Arc::new(said);
        self.said.borrow_mut().insert(starts, said.clone());
        said
    }

    /// Where a configuration's Python looks for modules, as far as texts tell: beside its scripts, and where these say.
    pub fn module_dirs(&self, config: &Config) -> BTreeSet<PathBuf> {
        let command = command::to_read(config);
        let said = self.said(&command, &config.engine.serve);
        let words = command.iter().map(|word| self.study_dir.join(word)).filter(|path| path.is_file());
        let scripts = words
            .chain(said.paths.iter().filter(|path| path.extension().is_some_and(|e| e == "py")).cloned());
        let beside = scripts.filter_map(|path| Some(path.canonicalize().ok()?.parent()?.to_owned()));
        beside.chain(said.modules.iter().cloned()).collect()
    }

    /// The files that a configuration's scripts write, of those that are there.
    pub fn rendered(&self, config: &Config) -> BTreeSet<PathBuf> {
        let said = self.said(&command::to_read(config), &config.engine.serve);
        said.rendered.iter().filter_map(|path| path.canonicalize().ok()).collect()
    }

    fn named_by_modules(&self, serve: &str, said: &Said) -> BTreeSet<PathBuf> {
        let words = shell_words::split(serve).unwrap_or_default();
        let words = prefix::behind(&words);
        let program = words.first().and_then(|first| self.ground().program(first)).unwrap_or_default();
        beside::modules(&program, words, said, self.study_dir).files
    }

    /// What a word stands for here: a hash over files, or a model's commit.
    pub fn held(&self, word: &str) -> Option<String> {
        if let Some(known) = self.held.borrow().get(word) {
            return known.clone();
        }
        let path = named::path_of(word, self.study_dir).filter(|p| p.exists());
        let found = match path {
            Some(path) => contents::identity(&path),
            None => self
                .model(word)
                .filter(|_| hub::is_name(word))
                .or_else(|| contents::identity(&starts::program(word, &self.ground())?))
                .or_else(|| states::identity(word, self.study_dir))
                .or_else(|| whereabouts::identity(word, self.study_dir))
                .or_else(|| globs::identity(word, self.study_dir)),
        };
        self.held.borrow_mut().insert(word.to_owned(), found.clone());
        found
    }

    /// The file that a word stands for here, if it stands for one.
    pub(super) fn file_of(&self, word: &str) -> Option<PathBuf> {
        let path = named::path_of(word, self.study_dir).filter(|path| path.is_file());
        path.or_else(|| starts::program(word, &self.ground()))
    }

    /// Hashes over the lines of a file, those of what is secret in words that say nothing; one over all that a name stands for where it
    /// is no short text.
    pub fn lines(&self, word: &str) -> Option<String> {
        let find = || {
            let path = named::path_of(word, self.study_dir).filter(|path| !contents::is_secret(path));
            let text = path.and_then(|path| text_of(&path));
            let text = text.filter(|text| text.lines().count() <= MOST_LINES);
            text.map_or_else(|| self.held(word), |text| Some(hashes(&text)))
        };
        self.lines.borrow_mut().entry(word.to_owned()).or_insert_with(find).clone()
    }

    pub fn model(&self, name: &str) -> Option<String> {
        let mut models = self.models.borrow_mut();
        let at = self.site.models.get(name).map(String::as_str);
        let stated = |variable: &str| self.site.variable(variable);
        models.entry(name.to_owned()).or_insert_with(|| hub::known(name, at, self.study_dir, &stated)).clone()
    }

    pub(super) fn ground(&self) -> Ground<'_> {
        Ground { study_dir: self.study_dir, path: &self.path }
    }

    /// Where what scripts run is looked for.
    fn programs(&self) -> String {
        let venvs = self.program.engines.values().filter_map(|e| match &e.via {
            Via::Venv(dir) => Some(format!("{}:", self.study_dir.join(dir).join("bin").display())),
            _ => None,
        });
        let serves = self.program.engines.values().filter_map(|e| shell_words::split(&e.serve).ok());
        let stated = serves.filter_map(|words| {
            prefix::stated(&words, "PATH").map(|list| within(list, self.study_dir) + ":")
        });
        let venvs: BTreeSet<String> = venvs.chain(stated).collect();
        venvs.into_iter().collect::<String>() + &self.search().path
    }

    /// Where programs and shared libraries are looked for.
    pub fn search(&self) -> Search {
        let variable = |name: &str| self.site.variable(name).or_else(|| std::env::var(name).ok());
        Search {
            path: variable("PATH").unwrap_or_default(),
            library_path: variable("LD_LIBRARY_PATH").map(|list| within(&list, self.study_dir)),
        }
    }
}

fn hashes(text: &str) -> String {
    let of_line = |line: &str| {
        if mask(line) == line { short_hash(line)[..DIGITS].to_owned() } else { "secret".to_owned() }
    };
    text.lines().map(of_line).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::hashes;

    #[test]
    fn a_line_with_a_secret_says_nothing_of_it() {
        let told = hashes("seqs: 16\nhf_token: hf_abcdefghijklmnopqrstuvwxyz\nport: 1\n");
        let told: Vec<&str> = told.split(' ').collect();
        assert_eq!((told.len(), told[1]), (3, "secret"));
        assert_ne!(told[0], told[2]);
    }
}
